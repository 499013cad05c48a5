//! `taskwright finalize` and `archive`: ask the server through the socket that only root can open.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use crate::cli::RootArguments;
use crate::exit;
use crate::places::Places;
use crate::server::admin::{Ask, Tell};

/// Asks, shows what is going on, and ends with what came out.
pub fn ask(ask: Ask, arguments: &RootArguments) -> ExitCode {
    let places = Places::under(&arguments.root);
    let answer = match UnixStream::connect(places.socket()) {
        Ok(stream) => over(&stream, ask),
        // Without a server the state lies still: it can be worked on from here.
        Err(_) => alone(&places, ask),
    };
    match answer {
        Ok(value) => {
            if arguments.output.json {
                println!("{value}");
            } else {
                summary(&value);
            }
            if unscored(&value) { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS }
        }
        Err((status, error)) => {
            eprintln!("taskwright: {error}");
            ExitCode::from(status)
        }
    }
}

fn over(mut stream: &UnixStream, ask: Ask) -> Result<serde_json::Value, (u8, String)> {
    let lost = |error: &dyn std::fmt::Display| {
        (exit::UNREACHABLE, format!("the service went away: {error}: ask again, it goes on where it was"))
    };
    let mut request = serde_json::to_vec(&ask).map_err(|error| lost(&error))?;
    request.push(b'\n');
    stream.write_all(&request).map_err(|error| lost(&error))?;
    for line in BufReader::new(stream).lines() {
        let line = line.map_err(|error| lost(&error))?;
        match serde_json::from_str(&line).map_err(|error| lost(&error))? {
            Tell::Progress(text) => eprintln!("{text}"),
            Tell::Done(value) => return Ok(value),
            Tell::Failed(error) => return Err((exit::FAILED, error)),
        }
    }
    Err(lost(&"the connection ended"))
}

fn alone(places: &Places, ask: Ask) -> Result<serde_json::Value, (u8, String)> {
    eprintln!("no service is running: working on its state from here");
    let opened = crate::serve::open(places).map_err(|error| (exit::UNREACHABLE, error))?;
    opened.act(places, ask, &|line| eprintln!("{line}")).map_err(|error| (exit::FAILED, error))
}

fn unscored(value: &serde_json::Value) -> bool {
    value.pointer("/verdict/outcome").is_some_and(|outcome| outcome != "scored")
}

fn summary(value: &serde_json::Value) {
    for reason in
        value.pointer("/verdict/reasons").and_then(|reasons| reasons.as_array()).into_iter().flatten()
    {
        println!("{}", reason.as_str().unwrap_or_default());
    }
    for target in
        value.pointer("/verdict/targets").and_then(|targets| targets.as_array()).into_iter().flatten()
    {
        println!("{}: {}", target["reward_key"].as_str().unwrap_or_default(), target["score"]);
    }
    println!("the evidence is in {}", value["evidence"].as_str().unwrap_or_default());
}
