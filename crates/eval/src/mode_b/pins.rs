//! Looks at a candidate's package before anything is started: it must be one, and must not ask for another Harbor.
//!
//! What its own code does once it runs is out of our hands; but a Harbor that was asked for by mistake is found here, in
//! milliseconds and in plain words, and not by an installer.

use std::path::Path;

use toml::Value;

/// What is wrong with a candidate's package: the candidate's fault, and safe to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PackageFault(String);

/// Files of a package are short; one that is not is not read.
const MOST_BYTES: u64 = 16 << 20;

/// Checks a candidate's folder against the version of Harbor that is to run beside it.
pub fn check(candidate: &Path, harbor: &str) -> Result<(), PackageFault> {
    let project = read(candidate, "pyproject.toml")?;
    let Some(project) = project else {
        if candidate.join("setup.py").is_file() {
            return Ok(());
        }
        return Err(PackageFault(
            "there is neither a pyproject.toml nor a setup.py, so it cannot be installed beside Harbor"
                .to_owned(),
        ));
    };
    let name = project.get("project").and_then(|table| table.get("name")).and_then(Value::as_str);
    if name.is_some_and(is_harbor) {
        return Err(PackageFault(
            "pyproject.toml: the package calls itself `harbor`: give it a name of its own".to_owned(),
        ));
    }
    let dependencies = project.get("project").and_then(|table| table.get("dependencies"));
    for requirement in dependencies.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        check_requirement(requirement, harbor)?;
    }
    let sources = project.get("tool").and_then(|tool| tool.get("uv")).and_then(|uv| uv.get("sources"));
    if let Some(name) =
        sources.and_then(Value::as_table).and_then(|sources| sources.keys().find(|name| is_harbor(name)))
    {
        return Err(PackageFault(format!(
            "pyproject.toml: `tool.uv.sources.{name}` takes Harbor from elsewhere: take it out, Harbor {harbor} is \
             provided"
        )));
    }
    check_lock(candidate, harbor)
}

fn check_requirement(requirement: &str, harbor: &str) -> Result<(), PackageFault> {
    let text = requirement.split('#').next().unwrap_or_default();
    let (name, rest) = match text.find(|letter: char| !(letter.is_alphanumeric() || "-_.".contains(letter))) {
        Some(end) if end > 0 => text.split_at(end),
        Some(_) => return Ok(()),
        None => (text, ""),
    };
    if !is_harbor(name) {
        return Ok(());
    }
    let disagrees = |why: &str| {
        Err(PackageFault(format!(
            "pyproject.toml: the dependency `{}` {why}; Harbor {harbor} runs here: write `harbor=={harbor}`, or \
             leave it out",
            requirement.trim().escape_debug()
        )))
    };
    let (rest, marker) = rest.split_once(';').map_or((rest, ""), |(rest, marker)| (rest, marker.trim()));
    let rest = rest.trim();
    let rest = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((_, rest)) => rest.trim(),
        None => rest,
    };
    if rest.starts_with('@') {
        return disagrees("takes Harbor from elsewhere");
    }
    if !marker.is_empty() {
        // Whether it applies depends on the machine; the installer knows.
        return Ok(());
    }
    let specifiers = rest.trim_start_matches('(').trim_end_matches(')');
    for specifier in specifiers.split(',').map(str::trim).filter(|specifier| !specifier.is_empty()) {
        if admits(specifier, harbor) == Some(false) {
            return disagrees("wants another Harbor");
        }
    }
    Ok(())
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

fn check_lock(candidate: &Path, harbor: &str) -> Result<(), PackageFault> {
    let Some(lock) = read(candidate, "uv.lock")? else { return Ok(()) };
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    for package in packages {
        let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
        if is_harbor(text("name")) && text("version") != harbor {
            return Err(PackageFault(format!(
                "uv.lock: it locks Harbor {}, but Harbor {harbor} runs here: `uv lock --upgrade-package harbor=={harbor}`",
                text("version").escape_debug()
            )));
        }
    }
    Ok(())
}

/// Names of packages are the same whatever their case and separators.
fn is_harbor(name: &str) -> bool {
    name.trim().eq_ignore_ascii_case("harbor")
}

fn read(candidate: &Path, file: &str) -> Result<Option<Value>, PackageFault> {
    let path = candidate.join(file);
    let wrong = |what: &dyn std::fmt::Display| PackageFault(format!("{file}: it {what}"));
    match path.metadata() {
        Ok(metadata) if metadata.len() > MOST_BYTES => return Err(wrong(&"is too large to be read")),
        Ok(_) => {}
        Err(_) => return Ok(None),
    }
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| wrong(&format!("is not TOML: {}", error.message())))?;
    Ok(Some(Value::Table(table)))
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
        check(candidate(files).path(), "0.26.0")
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
}
