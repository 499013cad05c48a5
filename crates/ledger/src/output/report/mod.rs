//! The report: one page of HTML that holds everything it shows, and asks nothing of a network.
//!
//! The page is a function of what is handed in: no clock, no random number, no name of this machine reaches it. Every
//! number of agents and tasks is taken from the leaderboard of the trials, so that the page cannot say something else than the
//! command line. Texts of trials are somebody else's: the templates escape them, and the page's own policy keeps
//! whatever might slip through from running or from calling home.

mod content;
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

pub use content::{Content, Excerpt, ReportError};
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

/// The context of the templates.
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

/// The templates, parsed. Handlebars escapes for HTML by default.
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
