//! Images of a built task that may be others tomorrow: what its Dockerfiles, its compose files and its `task.toml` name without
//! a digest.

use std::fs;

use camino::Utf8Path;
use walkdir::WalkDir;

use crate::dockerfile::Dockerfile;
use crate::error::failed;
use taskwright_base::rule::Rule;
use taskwright_base::{Error, Result};

/// Why a task's images cannot go out.
pub(super) fn unpinned(name: &str, folder: &Utf8Path) -> Result<Vec<Error>> {
    let mut found = Vec::new();
    for path in ["task.toml", "environment", "tests"] {
        for file in WalkDir::new(folder.join(path)).sort_by_file_name().into_iter().flatten() {
            let Some(file) = Utf8Path::from_path(file.path()) else { continue };
            let inside = file.strip_prefix(folder).unwrap_or(file);
            let images: fn(&str) -> Vec<String> = match file.file_name() {
                Some("Dockerfile") => of_dockerfile,
                Some("docker-compose.yaml") => of_compose,
                Some("task.toml") if inside == "task.toml" => of_task_toml,
                _ => continue,
            };
            // What the optimizer starts from, and inner tasks, are files to a trial and not images of it.
            if inside.starts_with("environment/baseline")
                || inside.starts_with("environment/samples")
                || !file.is_file()
            {
                continue;
            }
            let text = fs::read_to_string(file).map_err(failed("reading", file))?;
            found.extend(images(&text).into_iter().filter(|image| !is_pinned(image)).map(|image| {
                Error::new(format!("`{name}`: `{inside}` takes `{image}`, which may be another image tomorrow"))
                    .hint("name it with its digest, `name:tag@sha256:...`, or let it be baked; `--allow unpinned-image` lets it go out as it is")
                    .of(Rule::UnpinnedImage)
            }));
        }
    }
    Ok(found)
}

fn is_pinned(image: &str) -> bool {
    image == "scratch" || image.contains("@sha256:")
}

/// The images that a Dockerfile begins with, without the names of its own stages.
fn of_dockerfile(text: &str) -> Vec<String> {
    Dockerfile::parse(text).bases().map(str::to_owned).collect()
}

/// The images that services of a compose file name, without those that are built.
fn of_compose(text: &str) -> Vec<String> {
    let images = text.lines().filter_map(|line| line.trim_start().strip_prefix("image:"));
    let images =
        images.map(|image| image.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']));
    images.filter(|image| !image.is_empty()).map(str::to_owned).collect()
}

/// The prebuilt images that a `task.toml` names.
fn of_task_toml(text: &str) -> Vec<String> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let verifier = table.get("verifier").and_then(|verifier| verifier.get("environment"));
    let environments = [table.get("environment"), verifier].into_iter().flatten();
    let image = |environment: &toml::Value| Some(environment.get("docker_image")?.as_str()?.to_owned());
    environments.filter_map(image).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_from_is_found() {
        let text = "# FROM no:1\nFROM --platform=linux/amd64 python:3 AS Base\nRUN echo FROM x\nfrom base\nFROM ${BASE}\nFROM a@sha256:00\n";
        assert_eq!(of_dockerfile(text), ["python:3", "${BASE}", "a@sha256:00"]);
        let text = "services:\n  main:\n    image: \"redis:7\" # cache\n  db:\n    image: x@sha256:11\n";
        assert_eq!(of_compose(text), ["redis:7", "x@sha256:11"]);
        let text = "[environment]\ndocker_image = \"a:1\"\n[verifier.environment]\ndocker_image = \"b:1\"\n";
        assert_eq!(of_task_toml(text), ["a:1", "b:1"]);
        assert!(is_pinned("a@sha256:00") && is_pinned("scratch") && !is_pinned("a:1"));
    }
}
