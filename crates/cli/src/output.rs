//! Printing: answers to standard output, talk to standard error, colour only on a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::LazyLock;

use crate::from_here::shown;

const XTASK: &str = "cargo xtask";
const INSTALLED: &str = "taskwright";

/// Whether standard error takes colours.
pub fn is_colored() -> bool {
    takes_colors(io::stderr().is_terminal())
}

/// Whether a stream takes colours: a terminal that can show them, unless none are wanted.
fn takes_colors(is_terminal: bool) -> bool {
    let value = |name: &str| std::env::var_os(name).unwrap_or_default();
    is_terminal && value("NO_COLOR").is_empty() && value("TERM") != "dumb"
}

/// Writes to standard output. That nobody reads it any more (`| head`) is no reason to fail, and none to leave undone or
/// unsaid what comes after.
///
/// # Errors
/// What else keeps it from being written, such as a full disk.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("writing to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes a line of talk to standard error, with the workspace's paths as they are from here. Nobody reading it is no reason
/// to fail.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", shown(&named(text)));
}

/// That another process, "process 17" or nobody known, has to come to its end first.
pub fn waiting(holder: &str, doing: &str) -> String {
    let who = if holder.is_empty() { "another process" } else { holder };
    format!("waiting: {who} is {doing} in this workspace")
}

/// What this program is called by who types it: an installed one by its name, every other one through cargo.
pub fn program() -> &'static str {
    static PROGRAM: LazyLock<&str> = LazyLock::new(|| {
        let called = std::env::args_os().next().unwrap_or_default();
        // Cargo says so to what it runs.
        let is_installed = std::env::var_os("CARGO").is_none()
            && Path::new(&called).file_stem().is_some_and(|name| name == INSTALLED);
        if is_installed { INSTALLED } else { XTASK }
    });
    &PROGRAM
}

/// A text that names commands as this repository's developers type them, with what they are called here.
pub fn named(text: &str) -> Cow<'_, str> {
    if program() == XTASK || !text.contains(XTASK) {
        return text.into();
    }
    text.replace(XTASK, program()).into()
}

/// An error with what to do about it.
pub fn error(message: &str, hint: Option<&str>) {
    say(&format!("{}: {message}", paint("error", RED)));
    if let Some(hint) = hint.filter(|hint| !hint.is_empty()) {
        say(&format!("  {}: {hint}", paint("help", CYAN)));
    }
}

/// Something odd that nothing fails by.
pub fn warning(message: &str) {
    say(&format!("{}: {message}", paint("warning", YELLOW)));
}

/// The colours, as ANSI numbers.
pub const RED: u8 = 31;
/// For what was done.
pub const GREEN: u8 = 32;
/// For what is odd.
pub const YELLOW: u8 = 33;
/// For help.
pub const CYAN: u8 = 36;

/// A word in colour for standard error, if that takes colours.
pub fn paint(word: &str, color: u8) -> String {
    painted(word, color, is_colored())
}

/// A word in colour for standard output, if that takes colours.
pub fn paint_answer(word: &str, color: u8) -> String {
    painted(word, color, takes_colors(io::stdout().is_terminal()))
}

fn painted(word: &str, color: u8, is_colored: bool) -> String {
    if is_colored { format!("\x1b[1;{color}m{word}\x1b[0m") } else { word.to_owned() }
}
