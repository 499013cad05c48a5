//! What a file may look like, digested from the JSON Schema once, in a form that is quick to check against.

mod digest;
mod explain;
mod walk;
mod words;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;

pub use explain::words_of_command;
pub use walk::{PathProblem, Resolve, check};
pub use words::{show_path, table_name};

/// A shape's place among all shapes.
pub type ShapeId = usize;

/// What one value may look like.
#[derive(Debug, Clone)]
pub enum Shape {
    /// Anything at all.
    Any,
    /// A truth value.
    Boolean,
    /// A whole number.
    Integer {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A number, whole or not.
    Float {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// A string.
    Text {
        /// The only words allowed; empty if any text is.
        words: Vec<String>,
        /// Whether it must not be empty.
        filled: bool,
        /// Whether it is a path relative to the file that says it.
        path: bool,
    },
    /// A list.
    Array {
        /// What its elements look like.
        item: ShapeId,
    },
    /// A table.
    Table(TableShape),
    /// One of several forms.
    Choice(Vec<ShapeId>),
}

/// What a table may hold.
#[derive(Debug, Clone, Default)]
pub struct TableShape {
    /// The keys that have a meaning.
    pub fields: BTreeMap<String, FieldShape>,
    /// What other keys stand for; `None` if there may be no others.
    pub others: Option<ShapeId>,
    /// The mode in which the table as a whole means something.
    pub mode: Option<&'static str>,
}

/// One key of a table.
#[derive(Debug, Clone)]
pub struct FieldShape {
    /// What it stands for.
    pub shape: ShapeId,
    /// Whether it must be there.
    pub required: bool,
    /// The mode in which it means something.
    pub mode: Option<&'static str>,
    /// What it means, in one sentence.
    pub meaning: String,
}

/// All shapes of one kind of file, and where each key is known.
#[derive(Debug)]
pub struct Shapes {
    /// What such a file is called: "spec".
    noun: &'static str,
    /// Whether another tool reads such a file, which passes over keys that have no meaning to it.
    foreign: bool,
    all: Vec<Shape>,
    root: ShapeId,
    homes: BTreeMap<String, Vec<String>>,
}

impl Shapes {
    /// The shapes of a spec; made on first use.
    pub fn of_spec() -> &'static Self {
        static SHAPES: OnceLock<Shapes> = OnceLock::new();
        SHAPES.get_or_init(|| Self::of::<crate::model::Spec>("spec"))
    }

    /// The shapes of a type whose files are called `noun`.
    pub fn of<T: JsonSchema>(noun: &'static str) -> Self {
        digest::digest(&crate::schema::schema_of::<T>(), noun)
    }

    /// The same for a file that another tool reads: a key without a meaning is doubtful there, and no mistake.
    #[must_use]
    pub fn foreign(self) -> Self {
        Self { foreign: true, ..self }
    }

    /// What such a file is called.
    pub fn noun(&self) -> &'static str {
        self.noun
    }

    /// The shape of a whole spec.
    pub fn root(&self) -> &Shape {
        &self.all[self.root]
    }

    /// A shape.
    pub fn get(&self, id: ShapeId) -> &Shape {
        &self.all[id]
    }

    /// The tables in which a key has a meaning, as they are written in a spec.
    pub fn homes(&self, key: &str) -> &[String] {
        self.homes.get(key).map_or(&[], Vec::as_slice)
    }

    /// The shape of a table's key.
    pub fn field(&self, shape: &Shape, key: &str) -> Option<&Shape> {
        match shape {
            Shape::Table(table) => {
                table.fields.get(key).map(|field| field.shape).or(table.others).map(|id| self.get(id))
            }
            _ => None,
        }
    }

    /// Whether a shape is a choice between tables: two of those cannot be merged key by key.
    pub fn chooses_between_tables(&self, shape: &Shape) -> bool {
        match shape {
            Shape::Choice(forms) => {
                forms.iter().filter(|form| matches!(self.get(**form), Shape::Table(_))).count() > 1
            }
            _ => false,
        }
    }
}
