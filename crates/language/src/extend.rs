//! Follows `extends` from a spec to its parents and lays the files over each other.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::diagnostic::{Diagnostic, Label};
use crate::paths;
use crate::shape::{Shape, Shapes};
use crate::source::{self, Source, Unreadable};
use crate::tree::{self, Node, Origin, Sources, Value};

/// The key that names the parent.
pub const KEY: &str = "extends";
/// How many files may follow each other. More is a mistake that no reader could follow either.
const MAX_FILES: usize = 16;

/// A spec and its parents, as read.
#[derive(Debug, Default)]
pub struct Chain {
    /// The texts.
    pub sources: Sources,
    /// Every file that was read or looked for.
    pub files: Vec<Utf8PathBuf>,
    trees: Vec<Node>,
}

/// Reads `file` under `root` and everything that it extends. The chain holds what could be read in either case.
pub fn read(root: &Utf8Path, file: &Utf8Path) -> (Chain, Vec<Diagnostic>) {
    let mut chain = Chain::default();
    let mut found = Vec::new();
    let mut next = Some((paths::normalize(file), None));
    while let Some((name, said)) = next.take() {
        chain.files.push(name.clone());
        match source::read(root, &name) {
            Ok(source) => next = chain.take(&source, &mut found),
            Err(problem) => {
                found.push(unreadable(name, problem, said.map(|origin| chain.sources.label(origin))));
            }
        }
    }
    (chain, found)
}

impl Chain {
    /// The chain of texts that were read before: the same trees without a look at the disk.
    pub fn again(sources: &Sources) -> Self {
        let mut chain = Self::default();
        for (_, source) in sources.iter() {
            chain.take(source, &mut Vec::new());
        }
        chain
    }

    /// Adds one file; gives the parent that it names and where.
    fn take(
        &mut self,
        source: &Arc<Source>,
        found: &mut Vec<Diagnostic>,
    ) -> Option<(Utf8PathBuf, Option<Origin>)> {
        let id = self.sources.push(Arc::clone(source));
        let tree = match tree::parse(id, source) {
            Ok(tree) => tree,
            Err(mistakes) => {
                found.extend(mistakes);
                return None;
            }
        };
        let parent = self.parent(&tree, source, found);
        self.trees.push(tree);
        parent
    }

    fn parent(
        &self,
        tree: &Node,
        source: &Source,
        found: &mut Vec<Diagnostic>,
    ) -> Option<(Utf8PathBuf, Option<Origin>)> {
        let node = tree.get(KEY)?;
        // Anything but a filled string is reported with the other mistakes of shape.
        let text = tree.get_text(KEY).filter(|text| !text.is_empty())?;
        let mut refuse = |message: String, hint: &str| {
            found.push(Diagnostic::error(self.sources.label(node.origin), message).with_hint(hint));
            None
        };
        if text.contains("${") {
            return refuse(
                "`extends` cannot use parameters".to_owned(),
                "parameters are known only once all the files are; write the path itself",
            );
        }
        let name = match paths::resolve(source.folder(), text) {
            Ok(name) => name,
            Err((message, hint)) => return refuse(message, &hint),
        };
        if let Some(first) = self.sources.iter().position(|(_, earlier)| earlier.name() == name) {
            let mut round: Vec<&str> =
                self.sources.iter().skip(first).map(|(_, source)| source.name().as_str()).collect();
            round.push(name.as_str());
            return refuse(
                format!("`extends` goes round in a circle: {}", round.join(" -> ")),
                "a file cannot inherit from itself; take out one of these lines",
            );
        }
        if self.trees.len() + 1 >= MAX_FILES {
            return refuse(
                format!("more than {MAX_FILES} files extend each other"),
                "put what they share into fewer",
            );
        }
        Some((name, Some(node.origin)))
    }

    /// The spec over its parents: tables are merged key by key, everything else is replaced. A table that chooses
    /// between several forms is replaced too, for half of one form and half of another is neither.
    pub fn merged(self, shapes: &Shapes) -> Option<Node> {
        let mut trees = self.trees.into_iter();
        let child = trees.next()?;
        let mut parents: Vec<Node> = trees.collect();
        for parent in &mut parents {
            if let Value::Table(table) = &mut parent.value {
                table.remove(KEY);
            }
        }
        let mut files = std::iter::once(child).chain(parents).rev();
        let base = files.next()?;
        Some(files.fold(base, |below, above| overlay(shapes, below, above, Some(shapes.root()))))
    }
}

/// Why a file could not be read, at the place in it or at the one that names it.
pub fn unreadable(name: Utf8PathBuf, problem: Unreadable, said: Option<Label>) -> Diagnostic {
    let label = match (problem.shown, said) {
        (Some((source, span)), _) => Label::new(source, span),
        (None, Some(label)) => label,
        (None, None) => Label::new(Arc::new(Source::new(name, "")), 0..0),
    };
    Diagnostic::error(label, problem.message).with_hint(problem.hint)
}

fn overlay(shapes: &Shapes, below: Node, above: Node, shape: Option<&Shape>) -> Node {
    let Node { value: above_value, origin, state } = above;
    let replaced = shape.is_some_and(|shape| shapes.chooses_between_tables(shape));
    let value = match (below.value, above_value) {
        (Value::Table(mut merged), Value::Table(above)) if !replaced => {
            for (key, mut field) in above {
                if let Some(inherited) = merged.remove(&key) {
                    let shape = shape.and_then(|shape| shapes.field(shape, &key));
                    field.node = overlay(shapes, inherited.node, field.node, shape);
                }
                merged.insert(key, field);
            }
            Value::Table(merged)
        }
        (_, above) => above,
    };
    Node { value, origin, state }
}
