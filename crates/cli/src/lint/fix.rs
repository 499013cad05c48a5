//! Puts right what can only be meant in one way: texts of specs, and line endings of scripts.

use std::collections::BTreeMap;
use std::fs;

use camino::Utf8PathBuf;
use taskwright_base::write::{Durable, anew};
use taskwright_base::{Error, Result, failed};
use taskwright_builder::Workspace;
use taskwright_language::{Diagnostic, Fix, Label, Source};

/// What is to be written into one file: from where, to where, and what.
struct Texts<'a> {
    source: &'a Source,
    texts: BTreeMap<usize, (usize, &'a str)>,
}

/// Writes what puts mistakes right into their files, and says how many there were.
pub fn fix(workspace: &Workspace, found: &[Diagnostic]) -> Result<usize> {
    let mut files: BTreeMap<&str, Texts<'_>> = BTreeMap::new();
    let mut count = 0;
    for item in found {
        let Label { source, span, .. } = &item.primary;
        match &item.fix {
            None => {}
            Some(Fix::Text(text)) => {
                let texts =
                    files.entry(source.name().as_str()).or_insert(Texts { source, texts: BTreeMap::new() });
                // One place of a file that several specs extend is put right once.
                texts.texts.insert(span.start, (span.end, text));
            }
            Some(Fix::LineEndings(scripts)) => count += line_endings(workspace, source, scripts)?,
        }
    }
    for (name, texts) in files {
        count += write_texts(workspace, name, texts)?;
    }
    Ok(count)
}

fn write_texts(workspace: &Workspace, name: &str, Texts { source, texts }: Texts<'_>) -> Result<usize> {
    let path = workspace.root.join(name);
    let mut text = fs::read_to_string(&path).map_err(failed("reading", &path))?;
    // A mark at the beginning of a file is no part of what was read.
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    if text[mark..] != *source.text() {
        return Err(Error::new(format!("`{name}` was changed while it was looked at")).hint("try again"));
    }
    let count = texts.len();
    for (start, (end, new)) in texts.into_iter().rev() {
        text.replace_range(mark + start..mark + end, new);
    }
    anew(&path, Durable::Yes, text.as_bytes())?;
    Ok(count)
}

/// Gives scripts the line endings of Linux where they lie below the folder of the file that names them, and not behind a link:
/// what lies elsewhere is somebody else's to change.
fn line_endings(workspace: &Workspace, source: &Source, scripts: &[Utf8PathBuf]) -> Result<usize> {
    let root = workspace.root.canonicalize_utf8().map_err(failed("finding", &workspace.root))?;
    let Some(own) = source.name().parent() else { return Ok(0) };
    let mut count = 0;
    for script in scripts.iter().filter(|script| script.starts_with(own)) {
        let path = root.join(script);
        if path.canonicalize_utf8().map_err(failed("finding", &path))? != path {
            continue;
        }
        if let Some(text) = of_linux(&fs::read(&path).map_err(failed("reading", &path))?) {
            anew(&path, Durable::Yes, text.as_bytes())?;
            count += 1;
        }
    }
    Ok(count)
}

/// A script with the line endings of Linux. None where those that it has may be meant: it is no text, or its lines do not all
/// end in the same way.
fn of_linux(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok().filter(|text| text.starts_with("#!") && !text.contains('\0'))?;
    let ends = text.matches("\r\n").count();
    let text = text.replace("\r\n", "\n");
    (ends > 0 && ends == text.matches('\n').count() && !text.contains('\r')).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::Arc;

    use camino::Utf8Path;
    use taskwright_base::rule::Rule;

    use super::*;

    const SPEC: &str = "name = \"a\"\nconcurrency = \"4\"\nrun = \"python3 run.py\"\n";
    const PLACE: &str = "tasks/ä b/spec.toml";

    fn finding(what: &str, rule: Rule, fix: Fix) -> Diagnostic {
        let source = Arc::new(Source::new(PLACE, SPEC.to_owned()));
        let start = SPEC.find(what).unwrap();
        let found = Diagnostic::error(Label::new(source, start..start + what.len()), "wrong");
        Diagnostic { fix: Some(fix), ..found.of(rule) }
    }

    #[test]
    fn what_is_sure_is_put_right_in_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let workspace = Workspace::new(root);
        let path = root.join(PLACE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("\u{feff}{SPEC}")).unwrap();
        let text = |what, fix: &str| finding(what, Rule::CommandWords, Fix::Text(fix.to_owned()));
        let found =
            [text("\"4\"", "4"), text("\"python3 run.py\"", "[\"python3\", \"run.py\"]"), text("\"4\"", "4")];
        assert_eq!(fix(&workspace, &found).unwrap(), 2);
        let right = "name = \"a\"\nconcurrency = 4\nrun = [\"python3\", \"run.py\"]\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("\u{feff}{right}"));
        // It is another file now.
        assert!(fix(&workspace, &found).unwrap_err().to_string().contains("was changed"));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("\u{feff}{right}"));
    }

    #[test]
    fn scripts_of_the_spec_itself_get_line_endings_of_linux() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let workspace = Workspace::new(root);
        let own = root.join("tasks/ä b");
        fs::create_dir_all(own.join("bin")).unwrap();
        fs::create_dir_all(root.join("shared")).unwrap();
        let script = "#!/bin/sh\r\necho\r\n";
        let names = ["tasks/ä b/bin/run", "tasks/ä b/linked/run", "shared/run", "tasks/ä b/../../shared/run"];
        symlink("../../shared", own.join("linked")).unwrap();
        for name in [names[0], "shared/run"] {
            fs::write(root.join(name), script).unwrap();
        }
        fs::set_permissions(own.join("bin/run"), Permissions::from_mode(0o750)).unwrap();
        let scripts = names.map(Utf8PathBuf::from).to_vec();
        let found = [finding("\"4\"", Rule::LineEndings, Fix::LineEndings(scripts))];
        assert_eq!(fix(&workspace, &found).unwrap(), 1);
        assert_eq!(fs::read_to_string(own.join("bin/run")).unwrap(), "#!/bin/sh\necho\n");
        assert_eq!(fs::metadata(own.join("bin/run")).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::read_to_string(root.join("shared/run")).unwrap(), script);
        // And there is nothing left to do.
        assert_eq!(fix(&workspace, &found).unwrap(), 0);
    }

    #[test]
    fn line_endings_that_may_be_meant_stay() {
        assert_eq!(of_linux(b"#!/bin/sh\r\nexit\r\n").as_deref(), Some("#!/bin/sh\nexit\n"));
        assert_eq!(of_linux(b"#!/bin/sh\r\nexit").as_deref(), Some("#!/bin/sh\nexit"));
        for kept in [
            &b"#!/bin/sh\n"[..],
            b"#!/bin/sh\r",
            b"#!/bin/sh\r\nprintf a\n",
            b"#!/bin/sh\r\n\rover\r\n",
            b"#!/bin/sh\r\n\0\r\n",
            b"#!/bin/sh\r\n\xff\r\n",
            b"text\r\n",
            b"",
        ] {
            assert_eq!(of_linux(kept), None, "{kept:?}");
        }
    }
}
