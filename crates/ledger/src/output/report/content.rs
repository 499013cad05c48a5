//! What a page is made of, and why it could not be.

use serde::Serialize;

use crate::rank::leaderboard::Rules;
use crate::rank::references::References;
use crate::record::{Agent, Evidence, Trial};

/// What a page is made of.
pub struct Content<'a> {
    /// Its title.
    pub title: &'a str,
    /// Every trial that was asked for, whatever its status.
    pub trials: &'a [Trial],
    /// The agents that they were made with.
    pub agents: &'a [Agent],
    /// What the rewards of their tasks are held against.
    pub references: &'a References,
    /// By what rules they become numbers.
    pub rules: &'a Rules,
    /// Where a file of evidence can be opened from the page: a relative URL, if there is one.
    pub link: &'a dyn Fn(&Trial, &Evidence) -> Option<String>,
    /// The ends of files that say what went wrong. Asked for trials that failed, or were graded and came to nothing.
    pub excerpts: &'a dyn Fn(&Trial) -> Vec<Excerpt>,
}

/// The end of a file of evidence, shown in the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The file's path.
    pub title: String,
    /// Its last lines.
    pub text: String,
}

/// Why a page could not be made: one of its own templates is wrong.
#[derive(Debug, thiserror::Error)]
#[error("rendering the report: {0}")]
pub struct ReportError(Box<handlebars::RenderError>);

impl From<handlebars::RenderError> for ReportError {
    fn from(error: handlebars::RenderError) -> Self {
        Self(Box::new(error))
    }
}
