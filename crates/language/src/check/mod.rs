//! What must hold between the fields of a spec: each rule with its place, its message and what to do.

mod advice;
mod args;
mod baseline;
mod gateway;
mod harbor;
mod identity;
mod images;
mod inner_time;
mod limits;
mod objective;
mod rules;
mod scorer;
mod secrets;
mod splits;
mod targets;
mod task;
mod templates;
mod time;

use std::collections::BTreeSet;

use camino::Utf8Path;

pub use gateway::rules as gateway_rules;
pub use harbor::{class_name, environment_name, exceptions, extras, keyword_arguments, registry};
pub use rules::{at_least_one, refuse_doubles};
pub use secrets::{environment_variables, variable, variable_names};
pub use templates::TEMPLATES;

pub use crate::env::is_env_name;
pub use time::{Counts, FinalizeWork, TimeProblem, evaluation_problem, finalize_problem, finalize_work};

use crate::diagnostic::{Diagnostic, Label};
use crate::model::{Mode, Spec};
use crate::tree::{Node, Sources};
use taskwright_base::rule::Rule;

/// One file under examination, a spec if nothing else is said, and what was found so far.
pub struct Context<'a, T = Spec> {
    /// The workspace root.
    root: &'a Utf8Path,
    /// What the file says, defaults included.
    spec: &'a T,
    /// What is written, and where.
    tree: &'a Node,
    sources: &'a Sources,
    /// Top-level keys of which something was refused already: what is said about them would be guesswork.
    doubtful: &'a BTreeSet<String>,
    found: Vec<Diagnostic>,
    /// What is being held against it.
    rule: Rule,
    /// Values that are not to be shown.
    hidden: Vec<Label>,
}

impl<'a, T> Context<'a, T> {
    pub(crate) fn new(
        root: &'a Utf8Path,
        spec: &'a T,
        tree: &'a Node,
        sources: &'a Sources,
        doubtful: &'a BTreeSet<String>,
    ) -> Self {
        Self { root, spec, tree, sources, doubtful, found: Vec::new(), rule: Rule::Shape, hidden: Vec::new() }
    }

    pub(crate) fn into_found(mut self) -> Vec<Diagnostic> {
        for found in &mut self.found {
            for label in std::iter::once(&mut found.primary).chain(&mut found.secondary) {
                let is_same = |hidden: &Label| hidden.span == label.span && hidden.source == label.source;
                label.hidden |= self.hidden.iter().any(is_same);
            }
        }
        self.found
    }

    /// Says that the value at `path` may be a secret: whatever is said of it, it is not shown.
    pub fn hide(&mut self, path: &[&str]) {
        self.hidden.push(self.sources.label(self.tree.place(path)));
    }

    /// The workspace root.
    pub fn root(&self) -> &'a Utf8Path {
        self.root
    }

    /// What the file says, defaults included.
    pub fn value(&self) -> &'a T {
        self.spec
    }

    /// Whether the field at `path` is written, rather than left to its default.
    pub fn is_written(&self, path: &[&str]) -> bool {
        self.tree.at(path).is_some()
    }

    /// Whether a top-level table was taken as it is written, so that others may be compared with it.
    fn trusts(&self, section: &str) -> bool {
        !self.doubtful.contains(section)
    }

    /// An error at the value at `path`.
    pub fn error(&mut self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        let label = self.sources.label(self.tree.place(path));
        self.add(&[path], Diagnostic::error(label, message).with_hint(hint));
    }

    /// A warning at the value at `path`.
    pub fn warning(&mut self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        let label = self.sources.label(self.tree.place(path));
        self.add(&[path], Diagnostic::warning(label, message).with_hint(hint));
    }

    /// Advice about the value at `path`, by a rule that gives nothing else.
    fn advice(&mut self, rule: Rule, path: &[&str], message: impl Into<String>, hint: &str) {
        let label = self.sources.label(self.tree.place(path));
        self.add(&[path], Diagnostic::warning(label, message).with_hint(hint).of(rule).as_advice());
    }

    /// A warning about what happens in the eval sidecar.
    fn sidecar_warning(&mut self, path: &[&str], message: &str, hint: &str) {
        let label = self.sources.label(self.tree.place(path));
        let warning = Diagnostic::warning(label, message).with_hint(hint);
        self.add(&[path], Diagnostic { in_sidecar: true, ..warning });
    }

    /// An error at the last key of `path` rather than at its value.
    pub fn error_at_key(&mut self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        let place = self.tree.key_place(path).unwrap_or_else(|| self.tree.place(path));
        self.add(&[path], Diagnostic::error(self.sources.label(place), message).with_hint(hint));
    }

    /// An error that a second place explains.
    pub fn error_with(
        &mut self,
        path: &[&str],
        message: impl Into<String>,
        hint: impl Into<String>,
        other: (&[&str], &str),
    ) {
        let label = self.sources.label(self.tree.place(path));
        let second = self.sources.label(self.tree.place(other.0)).saying(other.1);
        self.add(&[path, other.0], Diagnostic::error(label, message).with_hint(hint).with_label(second));
    }

    /// Whether `first` is written after `second`: a child says what it says after its parents.
    fn is_later(&self, first: &[&str], second: &[&str]) -> bool {
        let rank = |path: &[&str]| {
            let place = self.tree.place(path);
            (std::cmp::Reverse(place.file), place.span().start)
        };
        rank(first) > rank(second)
    }

    fn add(&mut self, paths: &[&[&str]], found: Diagnostic) {
        if !paths.iter().filter_map(|path| path.first()).any(|top| self.doubtful.contains(*top)) {
            self.found.push(found.of(self.rule));
        }
    }
}

/// What holds a spec against a rule.
type Check = fn(&mut Context<'_>);

/// Applies every rule.
pub(crate) fn check(context: &mut Context<'_>) {
    // What is wrong within a section of the other mode would only hide that it does not belong here.
    let mode: (Rule, Check) = match context.spec.mode {
        Mode::A => (Rule::Scorer, scorer::check),
        Mode::B => (Rule::Nested, harbor::check),
    };
    let rules: [(Rule, Check); 15] = [
        (Rule::Identity, identity::check),
        (Rule::Objective, objective::check),
        (Rule::Baseline, baseline::check),
        (Rule::Images, images::check),
        mode,
        (Rule::Splits, splits::check),
        (Rule::Objective, objective::check_selection),
        (Rule::Objective, objective::check_controls),
        (Rule::Targets, targets::check),
        (Rule::Limits, limits::check),
        (Rule::Secrets, secrets::check),
        (Rule::Gateway, gateway::check),
        (Rule::Templates, templates::check),
        (Rule::TaskToml, task::check),
        (Rule::Shape, advice::check),
    ];
    for (rule, check) in rules {
        context.rule = rule;
        check(context);
    }
}
