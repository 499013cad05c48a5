//! `taskwright models`: how the optimizer asks a language model.

use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use taskwright_gateway::{Token, clients};

use super::failure::Failure;
use super::output::{end, print_json, print_line};
use super::remote::Remote;
use crate::cli::ModelsArguments;
use crate::exit;
use crate::paths::{PRODUCER_DOOR, Paths};

/// How long the gateway may take to list its models.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn models(arguments: &ModelsArguments) -> ExitCode {
    end((|| {
        let path = Paths::under(std::path::Path::new("/")).producer_token();
        let token = fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::here(
                "this task lets you ask no language model",
                "work without one: nothing is missing",
            ),
            _ => Failure::here(
                format!("reading `{}`: {error}", path.display()),
                "try again: the gateway may be starting",
            ),
        })?;
        let token = Token::shown(token.trim());
        let variables = clients::variables(PRODUCER_DOOR, &token, "OPENAI_BASE_URL", "OPENAI_API_KEY");
        if arguments.export {
            for (name, value) in variables {
                print_line(&format!("export {name}={value}"));
            }
            return Ok(exit::DONE);
        }
        let url = format!("http://{PRODUCER_DOOR}");
        let listed: Value = Remote::at(&url, Some(PATIENCE)).get_with(&token, "/models")?;
        let models: Vec<&str> = listed["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|model| model["id"].as_str())
            .collect();
        if arguments.output.json {
            print_json(&json!({ "url": format!("{url}/v1"), "key_file": path, "models": models }));
            return Ok(exit::DONE);
        }
        print_line(&format!("address: {url}/v1, or {url} where a client adds the version itself"));
        print_line(&format!("key: in {}", path.display()));
        print_line(&format!("models: {}", models.join(", ")));
        print_line("eval \"$(taskwright models --export)\" sets the variables that clients look for");
        print_line("what is left: `taskwright status`");
        Ok(exit::DONE)
    })())
}
