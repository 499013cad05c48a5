//! `taskwright health`: asks the server of this container, over loopback.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::RootArguments;
use crate::client::remote::Remote;
use crate::exit;
use crate::paths::{PORT, Paths};

pub fn health(arguments: &RootArguments) -> ExitCode {
    let noted = fs::read_to_string(Paths::under(&arguments.root).address()).ok();
    let port = noted.and_then(|address| address.rsplit(':').next()?.parse().ok()).unwrap_or(PORT);
    let service = Remote::at(&format!("http://127.0.0.1:{port}"), Some(Duration::from_secs(4)));
    match service.get::<serde_json::Value>("/health") {
        Ok(answer) => {
            if arguments.output.json {
                println!("{answer}");
            } else {
                println!("ok");
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("taskwright: {failure}");
            ExitCode::from(exit::UNREACHABLE)
        }
    }
}
