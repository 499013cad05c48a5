//! The report: one page of HTML that holds everything it shows, and asks nothing of a network.
//!
//! The page is a function of what is handed in: no clock, no random number, no name of this machine reaches it. Every
//! number of agents and tasks is taken from the leaderboard of the trials, so that the page cannot say something else than the
//! command line. Texts of trials are somebody else's: the templates escape them, and the page's own policy keeps
//! whatever might slip through from running or from calling home.

mod cost;
mod failures;
mod leaderboard;
mod numbers;
mod overview;
mod policy;
mod rewards;
mod scale;
mod subject;
mod tasks;
mod trials;

use handlebars::Handlebars;
use serde::Serialize;
use taskwright_base::text::brief;

use crate::rank::leaderboard::Rules;
use crate::record::{Agent, Evidence, Trial};
use subject::Subject;

/// The page and its parts.
const TEMPLATES: [(&str, &str); 9] = [
    ("page", include_str!("page/page.html.hbs")),
    ("link", include_str!("page/link.hbs")),
    ("leaderboard", include_str!("page/leaderboard.hbs")),
    ("tasks", include_str!("page/tasks.hbs")),
    ("cost", include_str!("page/cost.hbs")),
    ("rewards", include_str!("page/rewards.hbs")),
    ("failures", include_str!("page/failures.hbs")),
    ("trials", include_str!("page/trials.hbs")),
    ("trial", include_str!("page/trial.hbs")),
];
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// What a page is made of.
pub struct Content<'a> {
    /// Its title.
    pub title: &'a str,
    /// Every trial that was asked for, whatever its status.
    pub trials: &'a [Trial],
    /// The agents that they were made with.
    pub agents: &'a [Agent],
    /// By what rules they become numbers.
    pub rules: &'a Rules,
    /// Where a file of evidence can be opened from the page: a relative URL, if there is one.
    pub link: &'a dyn Fn(&Trial, &Evidence) -> Option<String>,
    /// The end of a file that says what went wrong, if there is one. Asked for trials that failed.
    pub excerpt: &'a dyn Fn(&Trial) -> Option<Excerpt>,
}

/// The end of a file of evidence, shown in the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The file's path.
    pub title: String,
    /// Its last lines.
    pub text: String,
}

/// Why a page could not be made: a template of ours is wrong.
#[derive(Debug, thiserror::Error)]
#[error("rendering the report: {0}")]
pub struct ReportError(Box<handlebars::RenderError>);

impl From<handlebars::RenderError> for ReportError {
    fn from(error: handlebars::RenderError) -> Self {
        Self(Box::new(error))
    }
}

/// All that the templates are told.
#[derive(Serialize)]
struct Page {
    policy: String,
    style: &'static str,
    script: &'static str,
    title: String,
    #[serde(flatten)]
    overview: overview::Overview,
    agents: Vec<subject::Agent>,
    leaderboard: leaderboard::Section,
    tasks: tasks::Section,
    cost: cost::Section,
    rewards: rewards::Section,
    failures: failures::Section,
    trials: trials::Section,
}

/// Makes the page.
pub fn render(content: &Content<'_>) -> Result<String, ReportError> {
    let board = subject::leaderboard(content);
    let subject = Subject::new(content, &board);
    let registry = registry();
    let page = Page {
        policy: policy::policy(STYLE, SCRIPT),
        style: STYLE,
        script: SCRIPT,
        title: brief(content.title, 200),
        overview: overview::overview(&subject),
        leaderboard: leaderboard::section(&subject),
        tasks: tasks::section(&subject),
        cost: cost::section(&subject),
        rewards: rewards::section(&subject),
        failures: failures::section(&subject),
        trials: trials::section(&subject, &registry)?,
        agents: subject.agents,
    };
    Ok(registry.render("page", &page)?)
}

/// The templates, parsed. Handlebars escapes for HTML unless it is told otherwise.
fn registry() -> Handlebars<'static> {
    let mut registry = Handlebars::new();
    registry.set_strict_mode(true);
    for (name, text) in TEMPLATES {
        // They are part of this program, and a test renders each.
        if let Err(error) = registry.register_template_string(name, text) {
            unreachable!("template `{name}`: {error}");
        }
    }
    registry
}
