//! Quoting: any text as one value of a shell word, a YAML or Compose scalar, or a Dockerfile value.

pub use taskwright_base::text::shell_word as shell;

/// A double-quoted YAML scalar, which is a JSON string with the few characters that YAML does not take as they are.
pub fn yaml(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control()
                || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}') =>
            {
                let code = u32::from(c);
                quoted.push_str(&format!("\\u{code:04X}"));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A YAML scalar of a Compose file, where `$` would begin a variable.
pub fn compose(text: &str) -> String {
    yaml(&text.replace('$', "$$"))
}

/// A value in double quotes in a Dockerfile's `ENV`, `ARG` or `LABEL`. A line break cannot be said there.
pub fn dockerfile(text: &str) -> Option<String> {
    if text.contains(['\n', '\r']) {
        return None;
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    Some(quoted)
}

/// Text inside a cell of a Markdown table.
pub fn markdown_cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_reads_back_what_was_quoted(text in "[^\0]{0,40}") {
            let script = format!("printf %s {}", shell(&text));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }

        #[test]
        fn json_reads_back_what_yaml_quotes(text in "\\PC{0,40}") {
            // Printable text needs no escape that JSON does not know, and YAML 1.2 holds all of JSON.
            prop_assert_eq!(serde_json::from_str::<String>(&yaml(&text)).unwrap(), text);
        }
    }

    #[test]
    fn hard_cases() {
        assert_eq!(shell(""), "''");
        assert_eq!(shell("it's $HOME `x` \\"), "'it'\\''s $HOME `x` \\'");
        assert_eq!(yaml("a\"b\\c\n\u{7f}ü\u{2028}"), r#""a\"b\\c\n\u007Fü\u2028""#);
        assert_eq!(compose("${HOME}"), "\"$${HOME}\"");
        assert_eq!(dockerfile("a\"$b\\").unwrap(), r#""a\"\$b\\""#);
        assert_eq!(dockerfile("a\nb"), None);
        assert_eq!(markdown_cell("a|b\nc"), "a\\|b c");
    }
}
