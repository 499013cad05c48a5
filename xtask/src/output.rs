//! Printing: answers to standard output, talk to standard error, colour only on a terminal.

use std::io::{self, IsTerminal, Write};

/// Whether standard error takes colours.
pub fn is_colored() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes to standard output; an error is the caller's, who ends quietly on a broken pipe.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a line of talk to standard error. Nobody reading it is no reason to fail.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// An error with what to do about it.
pub fn error(message: &str, hint: Option<&str>) {
    say(&format!("{}: {message}", paint("error", RED)));
    if let Some(hint) = hint.filter(|hint| !hint.is_empty()) {
        say(&format!("  {}: {hint}", paint("help", CYAN)));
    }
}

/// The colours, as ANSI numbers.
pub const RED: u8 = 31;
/// For what was done.
pub const GREEN: u8 = 32;
/// For what is odd.
pub const YELLOW: u8 = 33;
/// For help.
pub const CYAN: u8 = 36;

/// A word in colour, if colours are taken.
pub fn paint(word: &str, color: u8) -> String {
    if is_colored() { format!("\x1b[1;{color}m{word}\x1b[0m") } else { word.to_owned() }
}
