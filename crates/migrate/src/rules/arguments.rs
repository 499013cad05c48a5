//! Arguments of the nested `harbor run`: those that a field says become that field.

use taskwright_base::Result;
use toml::{Table, Value as Toml};

use crate::kind::Kind;
use crate::mapping::{At, Mapping};

/// `extra_harbor_args`.
pub fn nested(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let Toml::Array(words) = mapping.value(entry, Kind::Texts)? else { return Ok(()) };
    let sorted = Sorted::of(words.iter().filter_map(Toml::as_str));
    let mut comments = entry.comments.as_slice();
    let mut set = |key: &str, value: Toml| {
        mapping.draft.set("harbor", key, value, std::mem::take(&mut comments));
    };
    if let Some(force_build) = sorted.force_build {
        set("force_build", force_build.into());
    }
    for (key, arguments) in [("environment_args", sorted.environment), ("agent_args", sorted.agent)] {
        if !arguments.is_empty() {
            set(key, Toml::Table(arguments));
        }
    }
    if !sorted.rest.is_empty() {
        set("extra_args", Toml::from(sorted.rest));
    }
    Ok(())
}

/// Arguments by the field that says them.
#[derive(Debug, Default, PartialEq)]
struct Sorted {
    force_build: Option<bool>,
    environment: Table,
    agent: Table,
    rest: Vec<String>,
}

impl Sorted {
    fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut sorted = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (flag, glued) = match word.split_once('=') {
                Some((flag, value)) if word.starts_with("--") => (flag, Some(value)),
                _ => (word, None),
            };
            let table = match flag {
                "--force-build" | "--no-force-build" => {
                    sorted.force_build = Some(flag == "--force-build");
                    continue;
                }
                "--ek" | "--environment-kwarg" => &mut sorted.environment,
                "--ak" | "--agent-kwarg" => &mut sorted.agent,
                _ => {
                    sorted.rest.push(word.to_owned());
                    continue;
                }
            };
            let argument = glued.or_else(|| words.next());
            match argument.and_then(|argument| argument.split_once('=')) {
                Some((key, value)) => {
                    table.insert(key.to_owned(), typed(value));
                }
                // The check of the spec says what is wrong with it.
                None => sorted.rest.extend([flag].into_iter().chain(argument).map(str::to_owned)),
            }
        }
        sorted
    }
}

/// Harbor reads a value as JSON where it is some, and as a text otherwise.
fn typed(value: &str) -> Toml {
    let json = serde_json::from_str::<serde_json::Value>(value).ok();
    json.and_then(|json| Toml::try_from(json).ok()).unwrap_or_else(|| Toml::from(value))
}

#[cfg(test)]
mod tests {
    use super::Sorted;

    #[test]
    fn every_spelling_of_an_argument_finds_its_field() {
        let sorted = Sorted::of([
            "--ek",
            "app_name=suite",
            "--environment-kwarg=idle=3600",
            "--ek",
            "keepalive=[\"-c\",\"sleep infinity\"]",
            "--ak=deep=true",
            "--agent-kwarg",
            "note=a=b",
            "--no-force-build",
            "--debug",
            "--ek",
            "broken",
        ]);
        let environment = "app_name = \"suite\"\nidle = 3600\nkeepalive = [\"-c\", \"sleep infinity\"]\n";
        assert_eq!(sorted.environment, environment.parse().unwrap());
        assert_eq!(sorted.agent, "deep = true\nnote = \"a=b\"\n".parse().unwrap());
        assert_eq!(sorted.force_build, Some(false));
        assert_eq!(sorted.rest, ["--debug", "--ek", "broken"]);
    }
}
