//! What is laid over the tasks' environments: that the backend takes it, and that each has its place.

use taskwright_harbor::backends::BACKENDS;
use taskwright_language::check::{Context, refuse_doubles};

use super::rules::filled;
use crate::model::{Experiment, Mount};

/// Backends whose containers run on this machine, so that they can have its files.
const HERE: [&str; 3] = ["docker", "kata", "podman"];

pub fn check(context: &mut Context<'_, Experiment>) {
    let compute = &context.value().compute;
    let backend = compute.backend.as_str();
    let own = backend.contains(':');
    let composes = BACKENDS.iter().any(|known| known.name == backend && known.compose.is_some());
    if !compute.compose.is_empty() && !own && !composes {
        context.error_with(
            &["compute", "compose"],
            format!("Harbor's environment `{}` runs no compose files", backend.escape_debug()),
            "take them out, or name another backend: docs/where-tasks-run.md has the table",
            (&["compute", "backend"], "the backend"),
        );
    }
    let files: Vec<String> = compute.compose.iter().map(|path| path.as_path().to_string()).collect();
    refuse_doubles(context, &["compute", "compose"], &files, "file");
    if !compute.mounts.is_empty() && !own && !HERE.contains(&backend) {
        context.error_with(
            &["compute", "mounts"],
            format!(
                "containers of `{}` run elsewhere, and have nothing of this machine",
                backend.escape_debug()
            ),
            "take them out, or run the trials on `docker`",
            (&["compute", "backend"], "the backend"),
        );
    }
    let targets: Vec<&str> = compute.mounts.iter().map(Mount::target).collect();
    for (index, mount) in compute.mounts.iter().enumerate() {
        let number = index.to_string();
        let at = |key: &'static str| ["compute", "mounts", &number, key].map(str::to_owned);
        let target = at("target");
        let target: Vec<&str> = target.iter().map(String::as_str).collect();
        if !mount.target().starts_with('/') || mount.target() == "/" {
            context.error(
                &target,
                format!("`{}` is not where a container can have something", mount.target().escape_debug()),
                "write an absolute path, such as `/opt/tools`",
            );
        } else if targets[..index].contains(&mount.target()) {
            context.error(&target, "two mounts have the same place", "give one of them another");
        }
        let (key, name) = match mount {
            Mount::Path(_) => continue,
            Mount::Volume(mount) => ("volume", &mount.volume),
            Mount::Image(mount) => ("image", &mount.image),
        };
        let place = at(key);
        let place: Vec<&str> = place.iter().map(String::as_str).collect();
        filled(context, &place, Some(name));
    }
}
