//! Rendering: Handlebars in strict mode, with one helper for each language that a value can land in.
//!
//! Nothing is escaped by itself: a template says `{{sh value}}`, `{{yaml value}}` and so on, and the standard ones are
//! tested to do so with values that break out of every quote.

pub mod contexts;
mod helpers;
pub mod quote;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use handlebars::{Handlebars, RenderError, RenderErrorReason};
use serde::Serialize;
use taskwright_language::check::TEMPLATES;

use crate::inputs::{Group, Kind, Recorder};
use crate::tree::Content;
use taskwright_base::Digest;
use taskwright_base::{Error, Result};

/// The standard template of each of [`TEMPLATES`], in the same order.
const STANDARD: [&str; TEMPLATES.len()] = [
    include_str!("../../templates/environment/Dockerfile.hbs"),
    include_str!("../../templates/environment/docker-compose.yaml.hbs"),
    include_str!("../../templates/environment/gateway/Dockerfile.hbs"),
    include_str!("../../templates/environment/sidecar/Dockerfile.hbs"),
    include_str!("../../templates/instruction.md.hbs"),
    include_str!("../../templates/solution/solve.sh.hbs"),
    include_str!("../../templates/tests/Dockerfile.hbs"),
    include_str!("../../templates/tests/docker-compose.yaml.hbs"),
    include_str!("../../templates/tests/test.sh.hbs"),
];

const PARTIALS: [(&str, &str); 2] = [
    ("apt", include_str!("../../templates/apt.hbs")),
    ("binary", include_str!("../../templates/binary.hbs")),
];

/// Templates, parsed once and shared by all tasks that use them.
pub struct Templates {
    registry: Handlebars<'static>,
    digests: BTreeMap<String, Digest>,
    /// Where each template comes from, and whether it is a spec's own.
    files: BTreeMap<String, (Utf8PathBuf, bool)>,
    pub group: Arc<Group>,
    /// Many tasks say the same to a template: what came out is kept by what went in.
    rendered: Mutex<HashMap<(String, Vec<u8>), Content>>,
}

impl Templates {
    /// The templates of a workspace: those in its folder, else the standard ones, and over them a spec's own.
    pub fn load(
        folder: &Utf8Path,
        own: &BTreeMap<String, Utf8PathBuf>,
        mut recorder: Recorder<'_>,
    ) -> Result<Self> {
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(handlebars::no_escape);
        helpers::register(&mut registry);
        let mut digests = BTreeMap::new();
        let mut files = BTreeMap::new();
        for (name, standard) in TEMPLATES.into_iter().zip(STANDARD).chain(PARTIALS) {
            let shared = folder.join(format!("{name}.hbs"));
            let (text, from) = match own.get(name) {
                Some(path) => {
                    (recorder.text(path).map_err(|error| error.at(&["templates", name]))?, path.clone())
                }
                None if recorder.kind_behind(&shared)? == Some(Kind::File) => {
                    (recorder.text(&shared)?, shared)
                }
                None => (standard.to_owned(), Utf8PathBuf::from(format!("{name}.hbs"))),
            };
            registry.register_template_string(name, &text).map_err(|error| {
                let place = error.pos().map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
                let reason = error.reason().to_string();
                // The parser lists everything that could have come: the list helps nobody.
                let reason = reason.split(": expected").next().unwrap_or(&reason);
                Error::new(format!("{from}{place}: the template is not valid: {reason}"))
                    .hint("every `{{#if}}` and its like needs its end, and every `{{` a `}}`")
            })?;
            files.insert(name.to_owned(), (from, own.contains_key(name)));
            digests.insert(name.to_owned(), Digest::of(text.as_bytes()));
        }
        Ok(Self { registry, digests, files, group: Arc::new(recorder.finish()), rendered: Mutex::default() })
    }

    /// The digest of each template by the file it makes.
    pub fn digests(&self) -> impl Iterator<Item = (&str, Digest)> {
        self.digests.iter().map(|(name, digest)| (name.as_str(), *digest))
    }

    /// The digest of all templates.
    pub fn digest(&self) -> Digest {
        let all: Vec<_> = self.digests.iter().map(|(name, digest)| format!("{name} {digest}\n")).collect();
        Digest::of(all.concat().as_bytes())
    }

    /// Renders a file that is like no other task's.
    pub fn render(&self, name: &str, context: &impl Serialize) -> Result<Content> {
        let text = self.registry.render(name, context).map_err(|error| self.located(name, &error))?;
        Ok(Content::bytes(text.into_bytes()))
    }

    /// A mistake in a template, with its place there, and at the field of the spec if the template is the spec's own.
    fn located(&self, name: &str, error: &RenderError) -> Error {
        let template = error.template_name.as_deref().unwrap_or(name);
        let (file, own) = self.files.get(template).cloned().unwrap_or_else(|| (template.into(), false));
        let place = match (error.line_no, error.column_no) {
            (Some(line), Some(column)) => format!(":{line}:{column}"),
            _ => String::new(),
        };
        let reason = match error.reason() {
            RenderErrorReason::MissingVariable(Some(name)) => format!("there is no variable `{name}`"),
            reason => reason.to_string(),
        };
        let error = Error::new(format!("{file}{place}: {reason}"))
            .hint("docs/templates.md lists the context of each template; correct the name in the template");
        if own { error.at(&["templates", template]) } else { error }
    }

    /// Renders a file that many tasks may have in common.
    pub fn render_shared(&self, name: &str, context: &impl Serialize) -> Result<Content> {
        let said =
            serde_json::to_vec(context).map_err(|error| Error::new(format!("rendering {name}: {error}")))?;
        let key = (name.to_owned(), said);
        if let Some(content) = self.rendered.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(content.clone());
        }
        let content = self.render(name, context)?;
        self.rendered.lock().unwrap_or_else(PoisonError::into_inner).insert(key, content.clone());
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::inputs::StatCache;

    fn with(template: &str) -> Result<Templates> {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        std::fs::write(root.join("own.hbs"), template).unwrap();
        let cache = StatCache::default();
        let own = [("tests/Dockerfile".to_owned(), Utf8PathBuf::from("own.hbs"))].into();
        Templates::load(Utf8Path::new("templates"), &own, Recorder::new(root, &cache))
    }

    fn render(template: &str, context: &serde_json::Value) -> Result<String> {
        match with(template)?.render("tests/Dockerfile", context)? {
            Content::Bytes(bytes, _) => Ok(String::from_utf8(bytes.to_vec()).unwrap()),
            Content::Blob(_) => panic!("rendered text is small"),
        }
    }

    #[test]
    fn an_undefined_variable_is_an_error_wherever_it_stands() {
        for template in [
            "FROM {{imag}}",
            "{{#if imag}}x{{/if}}",
            "{{#unless imag}}x{{/unless}}",
            "{{#each imag}}x{{/each}}",
            "{{sh imag}}",
        ] {
            let error = render(&format!("\n{template}"), &json!({"image": "a"})).unwrap_err();
            assert!(error.to_string().starts_with("own.hbs:2:"), "{template}: {error}");
            assert!(error.to_string().contains("imag"), "{template}: {error}");
        }
    }

    #[test]
    fn a_template_that_is_not_valid_is_named_with_its_place() {
        let error = with("FROM x\n{{#if a}}").err().unwrap();
        assert!(error.to_string().starts_with("own.hbs:"), "{error}");
    }

    #[test]
    fn conditions_know_true_and_false_only() {
        assert_eq!(render("{{#if a}}x{{else}}y{{/if}}", &json!({"a": false})).unwrap(), "y");
        assert_eq!(render("{{#if a}}x{{/if}}", &json!({"a": ["one"]})).unwrap(), "x");
        assert_eq!(render("{{#if a}}x{{/if}}", &json!({"a": []})).unwrap(), "");
        assert!(render("{{#if a}}x{{/if}}", &json!({"a": null})).is_err());
    }

    #[test]
    fn the_page_names_every_variable_that_a_standard_template_uses() {
        let page = include_str!("../../../../docs/templates.md");
        for (name, text) in TEMPLATES.into_iter().zip(STANDARD) {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("docs/templates.md says nothing of {name}"));
            for tag in text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()) {
                let word = tag.trim_matches(['{', '~']).split_whitespace().last().unwrap_or_default();
                let is_variable = !tag.starts_with(['/', '>', '!']) && !["else", "this"].contains(&word);
                assert!(!is_variable || row.contains(&format!("`{word}`")), "{name} uses {word}");
            }
        }
    }

    #[test]
    fn the_same_words_are_rendered_once() {
        let templates = with("FROM {{image}}").unwrap();
        let first = templates.render_shared("tests/Dockerfile", &json!({"image": "a"})).unwrap();
        let second = templates.render_shared("tests/Dockerfile", &json!({"image": "a"})).unwrap();
        let (Content::Bytes(first, _), Content::Bytes(second, _)) = (first, second) else { panic!() };
        assert!(Arc::ptr_eq(&first, &second));
    }
}
