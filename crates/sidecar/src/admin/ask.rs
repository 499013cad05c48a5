//! `taskwright finalize` and `archive`: ask the server through the socket that only root can open.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use serde_json::Value;
use taskwright_base::Error;

use super::protocol::{Reply, Request};
use crate::cli::RootArguments;
use crate::paths::Paths;
use crate::{container, exit};

/// An exit status, and why.
type Failure = (u8, Error);

/// Asks, shows what is going on, and ends with what came out.
pub fn ask(request: Request, arguments: &RootArguments) -> ExitCode {
    let paths = Paths::under(&arguments.root);
    let answer = match UnixStream::connect(paths.socket()) {
        Ok(stream) => over(&stream, request),
        // Without a server the state lies still: it can be worked on from here.
        Err(_) => alone(&paths, request),
    };
    match answer {
        Ok(value) => {
            if arguments.output.json {
                println!("{value}");
            } else {
                summary(&value);
            }
            let scored = value.pointer("/verdict/outcome").is_none_or(|outcome| outcome == "scored");
            ExitCode::from(if scored { exit::DONE } else { exit::FAILED })
        }
        Err((status, error)) => exit::after(status, &error),
    }
}

fn over(mut stream: &UnixStream, request: Request) -> Result<Value, Failure> {
    let lost = |error: &dyn Display| {
        let why = format!("the service went away: {error}: ask again, it goes on where it was");
        (exit::UNREACHABLE, Error::new(why))
    };
    let mut line = serde_json::to_vec(&request).map_err(|error| lost(&error))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(|error| lost(&error))?;
    for line in BufReader::new(stream).lines() {
        let line = line.map_err(|error| lost(&error))?;
        match serde_json::from_str(&line).map_err(|error| lost(&error))? {
            Reply::Progress(text) => eprintln!("{text}"),
            Reply::Done(value) => return Ok(value),
            Reply::Failed(error) => return Err((exit::FAILED, Error::new(error))),
        }
    }
    Err(lost(&"the connection ended"))
}

fn alone(paths: &Paths, request: Request) -> Result<Value, Failure> {
    eprintln!("no service is running: working on its state from here");
    let opened = container::open(paths).map_err(|error| (exit::UNREACHABLE, error))?;
    opened.act(paths, request, &|line| eprintln!("{line}")).map_err(|error| (exit::FAILED, error))
}

fn summary(value: &Value) {
    let list = |path: &str| value.pointer(path).and_then(Value::as_array).into_iter().flatten();
    for reason in list("/verdict/reasons") {
        println!("{}", reason.as_str().unwrap_or_default());
    }
    for target in list("/verdict/targets") {
        let left_out = match target["left_out"].as_u64() {
            Some(count @ 1..) => format!(" ({count} of {} samples left out)", target["samples"]),
            _ => String::new(),
        };
        println!("{}: {}{left_out}", target["reward_key"].as_str().unwrap_or_default(), target["score"]);
    }
    println!("the evidence is in {}", value["evidence"].as_str().unwrap_or_default());
}
