//! What Harbor leaves out of a task's digest where no ignore file says anything else.

use super::pattern::IgnoreRules;

/// Whether Harbor's default ignore list keeps a file out of a task's digest.
///
/// The list is `__pycache__/`, `*.pyc`, `.DS_Store`, `*.swp`, `*.swo` and `*~`, as gitignore patterns, against the path
/// relative to the task directory. Such a file is still uploaded and built into images, so a task must not have one:
/// its content could change and the digest would not.
///
/// ```
/// use taskwright_harbor::digest::is_ignored_by_default;
///
/// assert!(is_ignored_by_default("environment/app/__pycache__/main.cpython-313.pyc"));
/// assert!(is_ignored_by_default("tests/notes~"));
/// assert!(!is_ignored_by_default("environment/app/main.py"));
/// ```
#[must_use]
pub fn is_ignored_by_default(path: &str) -> bool {
    // The patterns' own semantics have a corner at line breaks; the full matcher knows it, and is needed only there.
    if path.contains('\n') {
        return IgnoreRules::default_list().is_ignored(path.as_bytes());
    }
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    is_ignored_name(file) || folders.split('/').any(|name| name == "__pycache__" || is_ignored_name(name))
}

/// The patterns of the default list that fit files and folders alike.
fn is_ignored_name(name: &str) -> bool {
    name == ".DS_Store"
        || name.ends_with('~')
        || [".pyc", ".swp", ".swo"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn quick_and_full_ignore_rules_agree() {
        let names = [
            "__pycache__",
            ".DS_Store",
            "x.pyc",
            ".pyc",
            "x.swp",
            "x.swo",
            "~",
            "a~b",
            "x.py",
            "x.pycx",
            "pyc",
        ];
        let rules = IgnoreRules::default_list();
        for folder in names {
            for file in names {
                for path in
                    [file.to_owned(), format!("{folder}/{file}"), format!("tests/{folder}/deep/{file}")]
                {
                    assert_eq!(is_ignored_by_default(&path), rules.is_ignored(path.as_bytes()), "{path}");
                }
            }
        }
        // `$` stands before a final line break too, and `.` does not stand for one: so it is in Harbor.
        assert!(is_ignored_by_default("tests/x.pyc\n"));
        assert!(!is_ignored_by_default("tests/a\nb/c/x.pyc"));
    }
}
