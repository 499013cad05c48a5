//! A Python project that is installed beside Harbor, before anything is started: it must be one, must not ask for another
//! Harbor, and is held to the versions that it and Harbor were locked to.
//!
//! What its own code does once it runs is out of our hands; but a Harbor that was asked for by mistake is found here, in
//! milliseconds and in plain words, and not by an installer.

use std::path::Path;

use toml::{Table, Value};

use crate::requirements::{Requirements, normal};

/// What is wrong with a project: its author's fault, and safe to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProjectFault(String);

/// Files of a project are short; one that is not is not read.
const MOST_BYTES: u64 = 16 << 20;

/// A Python project, as far as its files say what it is.
#[derive(Debug, Clone)]
pub struct Project {
    /// None if a `setup.py` says it.
    pyproject: Option<Table>,
    uv_lock: Option<Table>,
}

impl Project {
    /// The project in a folder.
    pub fn open(folder: &Path) -> Result<Self, ProjectFault> {
        Self::read(|file| {
            let path = folder.join(file);
            match path.metadata() {
                Ok(metadata) if metadata.len() > MOST_BYTES => Err("is too large to be read".to_owned()),
                Ok(metadata) if metadata.is_file() => {
                    std::fs::read(&path).map(Some).map_err(|error| format!("cannot be read: {error}"))
                }
                Ok(_) | Err(_) => Ok(None),
            }
        })
    }

    /// The project whose files are read by name: none for one that is not there, an error that says what it "is".
    pub fn read(mut file: impl FnMut(&str) -> Result<Option<Vec<u8>>, String>) -> Result<Self, ProjectFault> {
        let mut table = |name: &str| -> Result<Option<Table>, ProjectFault> {
            let wrong = |what: String| ProjectFault(format!("{name}: it {what}"));
            let Some(bytes) = file(name).map_err(wrong)? else { return Ok(None) };
            let text = String::from_utf8(bytes).map_err(|_| wrong("is not text".to_owned()))?;
            text.parse()
                .map(Some)
                .map_err(|error: toml::de::Error| wrong(format!("is not TOML: {}", error.message())))
        };
        let (pyproject, uv_lock) = (table("pyproject.toml")?, table("uv.lock")?);
        if pyproject.is_none() && !matches!(file("setup.py"), Ok(Some(_))) {
            return Err(ProjectFault(
                "there is neither a pyproject.toml nor a setup.py, so it cannot be installed beside Harbor"
                    .to_owned(),
            ));
        }
        Ok(Self { pyproject, uv_lock })
    }

    /// The file that says what the project needs.
    pub fn file(&self) -> &'static str {
        if self.pyproject.is_some() { "pyproject.toml" } else { "setup.py" }
    }

    fn table(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.pyproject.as_ref()?.get(*first)?, |value, key| value.get(key))
    }

    /// What it needs, as it is written; what a build backend adds is not known.
    fn dependencies(&self) -> impl Iterator<Item = &str> {
        let list = self.table(&["project", "dependencies"]).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Refuses a project that wants another Harbor than the one that is to run beside it.
    pub fn check(&self, harbor: &str) -> Result<(), ProjectFault> {
        if self.table(&["project", "name"]).and_then(Value::as_str).is_some_and(is_harbor) {
            return Err(ProjectFault(
                "pyproject.toml: the package calls itself `harbor`: give it a name of its own".to_owned(),
            ));
        }
        for dependency in self.dependencies() {
            check_harbor(dependency, harbor)?;
        }
        let sources = self.table(&["tool", "uv", "sources"]).and_then(Value::as_table);
        if let Some(name) = sources.and_then(|sources| sources.keys().find(|name| is_harbor(name))) {
            return Err(ProjectFault(format!(
                "pyproject.toml: `tool.uv.sources.{name}` takes Harbor from elsewhere: take it out, Harbor {harbor} is \
                 provided"
            )));
        }
        self.check_uv_lock(harbor)
    }

    fn check_uv_lock(&self, harbor: &str) -> Result<(), ProjectFault> {
        let packages = self.uv_lock.as_ref().and_then(|lock| lock.get("package")).and_then(Value::as_array);
        for package in packages.into_iter().flatten() {
            let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
            if is_harbor(text("name")) && text("version") != harbor {
                return Err(ProjectFault(format!(
                    "uv.lock: it locks Harbor {}, but Harbor {harbor} runs here: `uv lock --upgrade-package harbor=={harbor}`",
                    text("version").escape_debug()
                )));
            }
        }
        Ok(())
    }

    /// Refuses a project that needs what its locked versions do not have, as far as that can be told without an installer.
    pub fn check_locked(&self, locked: &Requirements) -> Result<(), ProjectFault> {
        for text in self.dependencies() {
            let Some(dependency) = Dependency::parse(text).filter(Dependency::applies) else {
                continue;
            };
            let shown = text.trim().escape_debug();
            match locked.version(dependency.name) {
                None => return Err(ProjectFault(format!("it has no version for the baseline's `{shown}`"))),
                Some(version) if !dependency.admits(version) => {
                    return Err(ProjectFault(format!(
                        "it has {} {version}, but the baseline wants `{shown}`",
                        dependency.name
                    )));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// A dependency, taken apart: `name[extra]>=1,<2; marker`.
struct Dependency<'a> {
    name: &'a str,
    /// What follows the name and its extras.
    wanted: &'a str,
    marker: &'a str,
}

impl<'a> Dependency<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.split('#').next().unwrap_or_default().trim_start();
        let end = text
            .find(|letter: char| !(letter.is_alphanumeric() || "-_.".contains(letter)))
            .unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
        let (rest, marker) = rest.split_once(';').map_or((rest, ""), |(rest, marker)| (rest, marker.trim()));
        let rest = rest.trim();
        let wanted = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((_, rest)) => rest.trim(),
            None => rest,
        };
        Some(Self { name, wanted, marker })
    }

    /// Whether it applies on every machine: of a marker only the installer knows.
    fn applies(&self) -> bool {
        self.marker.is_empty()
    }

    /// Whether it takes the package from elsewhere than an index.
    fn is_elsewhere(&self) -> bool {
        self.wanted.starts_with('@')
    }

    /// Whether it admits a version; what is not understood is left to the installer.
    fn admits(&self, version: &str) -> bool {
        let specifiers = self.wanted.trim_start_matches('(').trim_end_matches(')');
        let mut specifiers = specifiers.split(',').map(str::trim).filter(|specifier| !specifier.is_empty());
        self.is_elsewhere() || specifiers.all(|specifier| admits(specifier, version) != Some(false))
    }
}

fn check_harbor(text: &str, harbor: &str) -> Result<(), ProjectFault> {
    let Some(dependency) = Dependency::parse(text).filter(|dependency| is_harbor(dependency.name)) else {
        return Ok(());
    };
    let why = if dependency.is_elsewhere() {
        "takes Harbor from elsewhere"
    } else if dependency.applies() && !dependency.admits(harbor) {
        "wants another Harbor"
    } else {
        return Ok(());
    };
    Err(ProjectFault(format!(
        "pyproject.toml: the dependency `{}` {why}; Harbor {harbor} runs here: write `harbor=={harbor}`, or leave it out",
        text.trim().escape_debug()
    )))
}

/// Whether a specifier such as `>=0.20` admits a version of three numbers; none if it is not understood.
fn admits(specifier: &str, version: &str) -> Option<bool> {
    let end = specifier.find(|letter: char| !"<>=!~".contains(letter))?;
    let (operator, wanted) = (&specifier[..end], specifier[end..].trim());
    if let Some(prefix) = wanted.strip_suffix(".*") {
        let prefix = release(prefix)?;
        let starts = release(version)?.starts_with(&prefix);
        return match operator {
            "==" => Some(starts),
            "!=" => Some(!starts),
            _ => None,
        };
    }
    let (ours, theirs) = (padded(version)?, padded(wanted)?);
    Some(match operator {
        "==" | "===" => ours == theirs,
        "!=" => ours != theirs,
        ">=" => ours >= theirs,
        "<=" => ours <= theirs,
        ">" => ours > theirs,
        "<" => ours < theirs,
        "~=" => {
            let mut prefix = release(wanted)?;
            prefix.pop();
            ours >= theirs && release(version)?.starts_with(&prefix)
        }
        _ => return None,
    })
}

fn release(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|number| number.parse().ok()).collect()
}

fn padded(version: &str) -> Option<Vec<u64>> {
    let mut numbers = release(version)?;
    numbers.resize(numbers.len().max(6), 0);
    Some(numbers)
}

fn is_harbor(name: &str) -> bool {
    normal(name.trim()) == "harbor"
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    fn candidate(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn fault(files: &[(&str, &str)]) -> String {
        Project::open(candidate(files).path())
            .and_then(|project| project.check("0.26.0"))
            .map_or_else(|fault| fault.to_string(), |()| "none".to_owned())
    }

    fn with(dependency: &str) -> String {
        let text = format!("[project]\nname = \"x\"\ndependencies = [\"{dependency}\"]\n");
        fault(&[("pyproject.toml", &text)])
    }

    #[test]
    fn dependencies_that_agree() {
        for dependency in [
            "harbor",
            "harbor==0.26.0",
            "harbor == 0.26",
            "harbor[modal]>=0.20,<1",
            "Harbor~=0.26.0",
            "harbor~=0.20",
            "harbor==0.26.*",
            "harbor (>=0.20)",
            "harbor!=0.25.0",
            "harbor-extras==1.0",
            "requests",
            "a @ https://x",
            "harbor==0.25.0; sys_platform == 'win32'",
            "harbor>=0.25rc1",
        ] {
            assert_eq!(with(dependency), "none", "{dependency}");
        }
    }

    #[test]
    fn dependencies_that_do_not() {
        for dependency in [
            "harbor==0.25.0",
            "harbor<0.26",
            "harbor >0.26.0",
            "HARBOR[e2b]~=0.25.0",
            "harbor!=0.26.*",
            "harbor==0.25.*",
            "harbor>=0.20,<=0.25",
        ] {
            assert!(with(dependency).contains("wants another Harbor"), "{dependency}: {}", with(dependency));
        }
        assert!(with("harbor @ git+https://example.org/harbor").contains("from elsewhere"));
    }

    #[test]
    fn other_ways_to_another_harbor() {
        assert!(fault(&[("pyproject.toml", "[project]\nname = \"HARBOR\"\n")]).contains("name of its own"));
        let source = "[project]\nname = \"x\"\n[tool.uv.sources]\nharbor = { path = \"../h\" }\n";
        assert!(fault(&[("pyproject.toml", source)]).contains("tool.uv.sources.harbor"));
        let project = ("pyproject.toml", "[project]\nname = \"x\"\n");
        let lock =
            |version: &str| format!("version = 1\n[[package]]\nname = \"harbor\"\nversion = \"{version}\"\n");
        assert!(fault(&[project, ("uv.lock", &lock("0.25.0"))]).contains("locks Harbor 0.25.0"));
        assert_eq!(fault(&[project, ("uv.lock", &lock("0.26.0"))]), "none");
    }

    #[test]
    fn what_is_no_package() {
        assert!(fault(&[]).contains("cannot be installed"));
        assert_eq!(fault(&[("setup.py", "")]), "none");
        assert!(fault(&[("pyproject.toml", "[project")]).contains("is not TOML"));
        assert_eq!(fault(&[("pyproject.toml", "project = 3")]), "none");
    }

    #[test]
    fn a_project_is_held_to_its_lock() {
        let locked = Requirements::parse("harbor==0.26.0\nopenai==2.46.0\nA.b_c==1.5\n").unwrap();
        let said = |dependency: &str| {
            let text = format!("[project]\nname = \"x\"\ndependencies = [\"{dependency}\"]\n");
            let folder = candidate(&[("pyproject.toml", &text)]);
            let project = Project::open(folder.path()).unwrap();
            project.check_locked(&locked).map_or_else(|fault| fault.to_string(), |()| "none".to_owned())
        };
        for fits in ["openai==2.46.0", "OpenAI>=2", "a-b-c~=1.4", "harbor", "other; python_version < '3'"] {
            assert_eq!(said(fits), "none", "{fits}");
        }
        assert_eq!(said("openai==2.47.0"), "it has openai 2.46.0, but the baseline wants `openai==2.47.0`");
        assert_eq!(said("numpy>=2"), "it has no version for the baseline's `numpy>=2`");
    }
}
