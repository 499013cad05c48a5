//! Rules that several tables share.

use taskwright_language::check::Context;

use crate::model::Experiment;

/// Reports a number of seconds, or a factor, that is not greater than zero.
pub fn positive(context: &mut Context<'_, Experiment>, path: &[&str], value: Option<f64>, hint: &str) {
    if value.is_some_and(|value| value <= 0.0) {
        let name = path.last().copied().unwrap_or_default();
        context.error(path, format!("`{name}` must be greater than 0"), hint);
    }
}

/// Reports texts that are empty or hold what no name does.
pub fn filled(context: &mut Context<'_, Experiment>, path: &[&str], text: Option<&str>) {
    if text.is_some_and(|text| text.trim() != text || text.is_empty() || text.contains(char::is_control)) {
        let name = path.last().copied().unwrap_or_default();
        context.error(path, format!("`{name}` has no proper value"), "leave it out if there is none");
    }
}
