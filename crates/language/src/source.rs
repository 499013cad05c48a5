//! The text of one spec file, kept for diagnostics; nothing here knows TOML.

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

/// The most bytes of a spec. People write them; what is longer is a list that belongs in a file of its own.
pub const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A file's text and the name that diagnostics call it by.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    name: Utf8PathBuf,
    text: String,
}

/// A line and a column, both counted from one; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Source {
    /// A text under a name.
    pub fn new(name: impl Into<Utf8PathBuf>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// The file's path, relative to the workspace root.
    pub fn name(&self) -> &Utf8Path {
        &self.name
    }

    /// The text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The folder that the file's own paths are relative to.
    pub fn folder(&self) -> &Utf8Path {
        self.name.parent().unwrap_or(Utf8Path::new(""))
    }

    /// Where a byte offset stands. An offset past the end, or inside a character, counts as the nearest before it.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let before = &self.text[..offset];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[start..].chars().count() + 1,
        }
    }

    /// The line that holds a byte offset, without its end.
    pub fn line_around(&self, offset: usize) -> Range<usize> {
        let offset = self.text.floor_char_boundary(offset);
        let start = self.text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[offset..].find('\n').map_or(self.text.len(), |newline| offset + newline);
        let end = if self.text[start..end].ends_with('\r') { end - 1 } else { end };
        start..end.max(start)
    }

    /// The first line that says something: what a diagnostic about the whole file points at.
    pub fn first_line(&self) -> Range<usize> {
        let start = self.text.len() - self.text.trim_start().len();
        let line = self.line_around(start);
        if line.is_empty() { self.line_around(0) } else { line }
    }

    /// A span cut to the part of it that lies on its first line, and to the text.
    pub fn clip(&self, span: Range<usize>) -> Range<usize> {
        let start = self.text.floor_char_boundary(span.start);
        let line = self.line_around(start);
        let end = self.text.floor_char_boundary(span.end).clamp(start, line.end.max(start));
        start..end
    }
}

/// Why a spec could not be read: what went wrong, and what to do about it.
#[derive(Debug)]
pub struct Unreadable {
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// The text as far as it can be shown, and the place in it.
    pub shown: Option<(Arc<Source>, Range<usize>)>,
}

impl Unreadable {
    fn new(message: String, hint: impl Into<String>) -> Self {
        Self { message, hint: hint.into(), shown: None }
    }
}

/// Reads `name` under `root`.
pub fn read(root: &Utf8Path, name: &Utf8Path) -> Result<Arc<Source>, Unreadable> {
    let bytes = read_bytes(&root.join(name)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Unreadable::new(format!("`{name}` does not exist"), "create the file, or correct its name")
        }
        io::ErrorKind::PermissionDenied => Unreadable::new(
            format!("no permission to read `{name}`"),
            format!("give it with `chmod u+r {name}`, or look at the folders above it"),
        ),
        io::ErrorKind::IsADirectory => Unreadable::new(
            format!("`{name}` is a folder, not a file"),
            if root.join(name).join("spec.toml").is_file() {
                format!("did you mean `{name}/spec.toml`?")
            } else {
                "move the folder away, and put the file in its place".to_owned()
            },
        ),
        io::ErrorKind::InvalidInput => Unreadable::new(
            format!("`{name}` is neither a file nor a link to one"),
            "a spec is an ordinary file",
        ),
        _ => Unreadable::new(
            format!("cannot read `{name}`: {error}"),
            "see the operating system's reason above",
        ),
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Unreadable::new(
            format!("`{name}` is larger than {} MiB", MAX_BYTES / 1024 / 1024),
            "put long lists of samples in a file of their own: `samples = { file = \"...\" }`",
        ));
    }
    let bytes = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => rest.to_vec(),
        None => bytes,
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Arc::new(Source::new(name, text))),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let bad = valid..valid + char::REPLACEMENT_CHARACTER.len_utf8();
            Err(Unreadable {
                message: format!("`{name}` is not UTF-8 text"),
                hint: "save the file as UTF-8".to_owned(),
                shown: Some((Arc::new(Source::new(name, text)), bad)),
            })
        }
    }
}

fn read_bytes(path: &Utf8Path) -> io::Result<Vec<u8>> {
    // Before it is opened: a pipe would wait for somebody who writes to it.
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = File::open(path)?;
    let mut bytes =
        Vec::with_capacity(usize::try_from(metadata.len().min(MAX_BYTES)).unwrap_or_default() + 1);
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
