//! Mistakes with their places: what was found, where, and what to do, for people and for programs.

mod shown;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, renderer::DecorStyle};
use camino::Utf8PathBuf;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use self::shown::Shown;
use crate::source::Source;
use taskwright_base::rule::Rule;

/// How many diagnostics are written out in full: more of them only hide the first.
const MOST_RENDERED: usize = 50;
/// The longest line, in bytes, that is shown whole.
const LONG_LINE: usize = 1_000;
/// How many bytes of a longer line are shown before a label; after it twice as many.
const AROUND: usize = 40;

/// Whether a diagnostic stops the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It does.
    Error,
    /// It does not.
    Warning,
    /// It is not even said in one: only who asks for advice hears it.
    Advice,
}

/// A place in a file, with a word about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The file.
    pub source: Arc<Source>,
    /// The bytes of it.
    pub span: Range<usize>,
    /// What is to be said of them; may be empty.
    pub text: String,
    /// Whether they may be a secret, and are not to be shown.
    pub hidden: bool,
}

impl Label {
    /// A place without a word.
    pub fn new(source: Arc<Source>, span: Range<usize>) -> Self {
        let span = source.clip(span);
        Self { source, span, text: String::new(), hidden: false }
    }

    /// The same place with a word about it.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }
}

/// What would put a mistake right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// A text in the place of the first label.
    Text(String),
    /// The line endings of Linux in these files, from the workspace's root.
    LineEndings(Vec<Utf8PathBuf>),
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether it stops the build.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub primary: Label,
    /// What else one has to look at to understand it.
    pub secondary: Vec<Label>,
    /// What to do about it.
    pub hint: Option<String>,
    /// What would put it right, where that is sure to be what was meant.
    pub fix: Option<Fix>,
    /// The rule that was broken, as far as it was said.
    pub rule: Option<Rule>,
    /// Whether it is only about what happens in the eval sidecar, and so means nothing where there is none.
    pub in_sidecar: bool,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(primary: Label, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            primary,
            secondary: Vec::new(),
            hint: None,
            fix: None,
            rule: None,
            in_sidecar: false,
        }
    }

    /// A warning at a place.
    pub fn warning(primary: Label, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(primary, message) }
    }

    /// The same as a piece of advice.
    #[must_use]
    pub fn as_advice(self) -> Self {
        Self { severity: Severity::Advice, ..self }
    }

    /// Says which rule was broken, unless that was said before.
    #[must_use]
    pub fn of(self, rule: Rule) -> Self {
        Self { rule: self.rule.or(Some(rule)), ..self }
    }

    /// The rule that was broken.
    pub fn rule(&self) -> Rule {
        self.rule.unwrap_or(Rule::Inputs)
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint: &String| !hint.is_empty());
        self
    }

    /// The same with one more place.
    #[must_use]
    pub fn with_label(mut self, label: Label) -> Self {
        self.secondary.push(label);
        self
    }

    /// Its places, the first one first.
    fn labels(&self) -> impl Iterator<Item = &Label> {
        std::iter::once(&self.primary).chain(&self.secondary)
    }

    /// The text for people: message, place, source line, caret, help. What may be a secret is masked.
    pub fn render(&self, color: bool) -> String {
        self.render_with(&Shown::of(std::iter::once(self)), color, None)
    }

    /// The same with the name of its rule.
    pub fn render_named(&self, color: bool) -> String {
        self.render_with(&Shown::of(std::iter::once(self)), color, Some(self.rule().name()))
    }

    fn render_with(&self, shown: &Shown, color: bool, rule: Option<&str>) -> String {
        let (level, renderer) = match self.severity {
            Severity::Error => (Level::ERROR, Renderer::styled()),
            Severity::Warning => (Level::WARNING, Renderer::styled()),
            Severity::Advice => (Level::NOTE, Renderer::styled()),
        };
        let renderer = if color { renderer } else { Renderer::plain() };
        let renderer = renderer.decor_style(DecorStyle::Ascii);

        let first = vec![(AnnotationKind::Primary, &self.primary)];
        let mut files = vec![(shown.source(&self.primary), first)];
        for label in &self.secondary {
            let source = shown.source(label);
            match files.iter_mut().find(|(known, _)| *known == source) {
                Some((_, labels)) => labels.push((AnnotationKind::Context, label)),
                None => files.push((source, vec![(AnnotationKind::Context, label)])),
            }
        }
        let title = level.primary_title(self.message.as_str());
        let mut group = Group::with_title(match rule {
            Some(rule) => title.id(rule),
            None => title,
        });
        for (source, labels) in &files {
            if labels.iter().all(|(_, label)| source.line_around(label.span.start).len() <= LONG_LINE) {
                group = group.element(snippet(source, labels));
                continue;
            }
            for (kind, label) in labels {
                let place = source.position(label.span.start);
                let path = Origin::path(source.name().as_str()).line(place.line).char_column(place.column);
                group = group.element(path).element(excerpt(source, *kind, label, place.line));
            }
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        renderer.render(&[group])
    }

    /// What tells two diagnostics apart, in the order in which they are shown.
    fn key(&self) -> (usize, &str, Severity) {
        (self.primary.span.start, &self.message, self.severity)
    }
}

/// The lines of one file from the first to the last label; the renderer folds what lies between.
fn snippet<'a>(
    source: &'a Source,
    labels: &[(AnnotationKind, &'a Label)],
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let first = labels.iter().map(|(_, label)| label.span.start).min().unwrap_or_default();
    let last = labels.iter().map(|(_, label)| label.span.end).max().unwrap_or_default();
    let (start, end) = (source.line_around(first).start, source.line_around(last).end);
    Snippet::source(&source.text()[start..end])
        .path(source.name().as_str())
        .line_start(source.position(first).line)
        .annotations(labels.iter().map(|(kind, label)| {
            let annotation = kind.span(label.span.start - start..label.span.end - start);
            if label.text.is_empty() { annotation } else { annotation.label(label.text.as_str()) }
        }))
}

/// A label's surroundings within a line that is too long to show.
fn excerpt<'a>(
    source: &'a Source,
    kind: AnnotationKind,
    label: &'a Label,
    line: usize,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let whole = source.line_around(label.span.start);
    let around =
        source.clip(label.span.start.saturating_sub(AROUND).max(whole.start)..label.span.start + 2 * AROUND);
    let end = label.span.end.min(around.end);
    let annotation = kind.span(label.span.start - around.start..end - around.start);
    Snippet::source(&source.text()[around]).line_start(line).annotation(if label.text.is_empty() {
        annotation
    } else {
        annotation.label(label.text.as_str())
    })
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(false))
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let position = self.source.position(self.span.start);
        let mut fields = serializer.serialize_struct("Label", 4)?;
        fields.serialize_field("file", self.source.name())?;
        fields.serialize_field("line", &position.line)?;
        fields.serialize_field("column", &position.column)?;
        fields.serialize_field("text", &self.text)?;
        fields.end()
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let source = &self.primary.source;
        let (start, end) = (source.position(self.primary.span.start), source.position(self.primary.span.end));
        let mut fields = serializer.serialize_struct("Diagnostic", 10)?;
        fields.serialize_field("severity", &self.severity)?;
        fields.serialize_field("rule", self.rule().name())?;
        fields.serialize_field("file", source.name())?;
        fields.serialize_field("line", &start.line)?;
        fields.serialize_field("column", &start.column)?;
        fields.serialize_field("end_column", &end.column)?;
        fields.serialize_field("message", &self.message)?;
        fields.serialize_field("hint", &self.hint)?;
        fields.serialize_field("label", &self.primary.text)?;
        fields.serialize_field("related", &self.secondary)?;
        fields.end()
    }
}

/// Everything that was found in one spec and its parents, in the order of the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    files: Vec<Utf8PathBuf>,
}

impl Diagnostics {
    /// These diagnostics of these files (the spec first, then its parents), put in order, each once.
    pub fn new(mut items: Vec<Diagnostic>, files: Vec<Utf8PathBuf>) -> Self {
        let rank = |item: &Diagnostic| {
            files.iter().position(|file| file == item.primary.source.name()).unwrap_or(files.len())
        };
        items.sort_by(|left, right| (rank(left), left.key()).cmp(&(rank(right), right.key())));
        items.dedup_by(|left, right| {
            left.key() == right.key() && left.primary.source.name() == right.primary.source.name()
        });
        Self { items, files }
    }

    /// Every file that was read or looked for, relative to the workspace root: what to watch.
    pub fn files(&self) -> &[Utf8PathBuf] {
        &self.files
    }

    /// The diagnostics, in the order of the source.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }

    /// The same, each of a rule unless it is of another.
    #[must_use]
    pub fn of(mut self, rule: Rule) -> Self {
        self.items = self.items.into_iter().map(|item| item.of(rule)).collect();
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether one of them stops the build.
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(|item| item.severity == Severity::Error)
    }

    /// One more, at the end.
    pub fn push(&mut self, item: Diagnostic) {
        self.items.push(item);
    }

    /// The text for people, one diagnostic after the other.
    pub fn render(&self, color: bool) -> String {
        let shown = Shown::of(self.items.iter());
        let items = self.items.iter().take(MOST_RENDERED);
        let mut parts: Vec<String> = items.map(|item| item.render_with(&shown, color, None)).collect();
        if self.items.len() > MOST_RENDERED {
            parts.push(format!("... and {} more", self.items.len() - MOST_RENDERED));
        }
        parts.join("\n\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(item: Diagnostic) -> Self {
        let files = vec![item.primary.source.name().to_owned()];
        Self { items: vec![item], files }
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl Serialize for Diagnostics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.items)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}
