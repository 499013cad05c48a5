//! Where a built task runs: what its files say that it needs, and what can give it that.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use camino::Utf8Path;
use serde_json::json;
use taskwright_base::{Error, Result, failed};
use taskwright_builder::Workspace;
use taskwright_harbor::HARBOR_VERSION;
use taskwright_harbor::backends::{Judged, Needs, Verdict, judge};
use taskwright_harbor::task_toml::MAIN_SERVICE;
use taskwright_migrate::yaml::{self, Map, Value};

use crate::exit::{self, Status};
use crate::output::{self, GREEN, RED, YELLOW, paint_answer};

/// Says of a task which releases and backends of Harbor run it; the exit status is 1 where none does.
pub fn run(workspace: &Workspace, name: &str, json: bool) -> anyhow::Result<Status> {
    let folder = workspace.out.join(name);
    if !folder.join("task.toml").is_file() {
        let error = Error::new(format!("there is no built task `{folder}`"));
        return Err(error
            .hint("`cargo xtask build-tasks` builds them; this is said of what is built")
            .usage()
            .into());
    }
    let needs = needs(&folder)?;
    let judged = judge(&needs);
    output::print(&if json {
        let answer = json!({"task": name, "harbor": HARBOR_VERSION, "needs": needs, "backends": judged});
        format!("{}\n", serde_json::to_string_pretty(&answer)?)
    } else {
        table(name, &needs, &judged)
    })?;
    let runs = judged.iter().any(|judged| !matches!(judged.verdict, Verdict::Cannot(_)));
    Ok(if runs { exit::SUCCESS } else { exit::FAILURE })
}

fn table(name: &str, needs: &Needs, judged: &[Judged]) -> String {
    let words = needs.words();
    let words =
        if words.is_empty() { "one container, and nothing else".to_owned() } else { words.join(", ") };
    let mut text = format!("{name} needs {words}\n\n");
    let width = judged.iter().map(|judged| judged.backend.len()).max().unwrap_or_default();
    for judged in judged {
        let (word, color, why) = match &judged.verdict {
            Verdict::Runs => ("runs", GREEN, &[][..]),
            Verdict::Doubtful(why) => ("doubtful", YELLOW, why.as_slice()),
            Verdict::Cannot(why) => ("cannot", RED, why.as_slice()),
        };
        let releases = match judged.releases.as_slice() {
            [] => String::new(),
            [only] => format!("Harbor {only}"),
            [first, .., last] => format!("Harbor {first} to {last}"),
        };
        let said = [
            Some(releases).filter(|said| !said.is_empty()),
            Some(why.join("; ")).filter(|why| !why.is_empty()),
        ];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(": ");
        let _ = writeln!(
            text,
            "{}  {:width$}  {said}",
            paint_answer(&format!("{word:>8}"), color),
            judged.backend
        );
    }
    text + &format!("\nas Harbor {HARBOR_VERSION} says of itself: docs/where-tasks-run.md\n")
}

/// What a task needs, from its `task.toml` and its compose files.
fn needs(folder: &Utf8Path) -> Result<Needs> {
    let path = folder.join("task.toml");
    let text = fs::read_to_string(&path).map_err(failed("reading", &path))?;
    // Not as the type that we write: a task that somebody wrote may say what Harbor passes over.
    let task: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| Error::new(format!("`{path}`: {}", error.message())))?;
    let task = toml::Value::Table(task);
    let mut needs = Needs::default();
    of_task_toml(&task, &mut needs);
    for place in ["environment", "tests"] {
        let path = folder.join(place).join("docker-compose.yaml");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::io("reading", &path, &error)),
        };
        needs.compose = true;
        of_compose(&yaml::read(&text).map_err(|fault| fault.in_file(&path))?, &mut needs);
    }
    needs.separate_verifier = match at(&task, &["verifier", "environment_mode"]).and_then(toml::Value::as_str)
    {
        Some(mode) => mode == "separate",
        None => at(&task, &["verifier", "environment"]).is_some(),
    };
    Ok(needs)
}

fn at<'a>(value: &'a toml::Value, path: &[&str]) -> Option<&'a toml::Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

fn of_task_toml(task: &toml::Value, needs: &mut Needs) {
    let text =
        |value: &toml::Value, key: &str| value.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let list =
        |value: Option<&toml::Value>| value.and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let steps = list(task.get("steps"));
    let (mut services, mut users) = (BTreeSet::new(), BTreeSet::new());
    for part in std::iter::once(task).chain(&steps) {
        let hooks = list(at(part, &["verifier", "collect"]));
        services.extend(
            hooks.iter().chain(&list(part.get("artifacts"))).filter_map(|entry| text(entry, "service")),
        );
        let environments = [part.get("environment"), at(part, &["verifier", "environment"])];
        for environment in environments.into_iter().flatten() {
            let gpus = environment.get("gpus").and_then(toml::Value::as_integer).unwrap_or_default();
            needs.gpus = needs.gpus.max(u64::try_from(gpus).unwrap_or_default());
            needs.tpu |= environment.get("tpu").is_some();
            needs.windows |= text(environment, "os").as_deref() == Some("windows");
            needs.no_network |=
                environment.get("allow_internet").and_then(toml::Value::as_bool) == Some(false);
        }
        let phases = [part.get("agent"), part.get("verifier")];
        for phase in environments.into_iter().chain(phases).flatten() {
            match text(phase, "network_mode").as_deref() {
                Some("no-network") => needs.no_network = true,
                Some("allowlist") => needs.allowlist = true,
                _ => {}
            }
        }
        for phase in phases.into_iter().flatten() {
            users.extend(
                phase.get("user").map(|user| user.as_str().map_or_else(|| user.to_string(), str::to_owned)),
            );
        }
    }
    services.remove(MAIN_SERVICE);
    needs.collected = services.into_iter().collect();
    needs.users = users.into_iter().collect();
}

fn of_compose(file: &Map, needs: &mut Needs) {
    let maps = |key: &str| match file.get(key).map(|entry| &entry.node.value) {
        Some(Value::Map(map)) => map.0.iter().filter_map(|entry| map_of(&entry.node.value)).collect(),
        _ => Vec::new(),
    };
    let services: Vec<&Map> = maps("services");
    needs.services |= services.len() > 1;
    let is_internal = |network: &&Map| matches!(field(network, "internal"), Some(Value::Bool(true)));
    needs.internal_network |= maps("networks").iter().any(is_internal);
    for service in services {
        needs.internal_network |=
            matches!(field(service, "network_mode"), Some(Value::Text(mode)) if mode == "none");
        let Some(Value::List(volumes)) = field(service, "volumes") else { continue };
        for volume in volumes {
            let source = match &volume.value {
                Value::Text(text) => text.split(':').next().unwrap_or_default().to_owned(),
                Value::Map(map) => match field(map, "source") {
                    Some(Value::Text(source)) => source.clone(),
                    _ => continue,
                },
                _ => continue,
            };
            // A name without a slash is that of a volume; a path below the task comes along.
            if source.starts_with(['/', '~']) && !needs.host_mounts.contains(&source) {
                needs.host_mounts.push(source);
            }
        }
    }
}

fn field<'a>(map: &'a Map, key: &str) -> Option<&'a Value> {
    map.get(key).map(|entry| &entry.node.value)
}

fn map_of(value: &Value) -> Option<&Map> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "[agent]\nuser = \"agent\"\n[verifier]\nenvironment_mode = \"separate\"\n\
        [[verifier.collect]]\ncommand = \"x\"\nservice = \"judge\"\n[[artifacts]]\nsource = \"/e\"\nservice = \"judge\"\n";
    const COMPOSE: &str = "services:\n  main:\n    networks: [default, inner]\n  judge:\n    image: x\n    environment:\n      \
        KEY: \"${KEY:?set it}\"\n    volumes:\n      - state:/var\n      - /var/run/docker.sock:/var/run/docker.sock\n\
        networks:\n  inner:\n    internal: true\nvolumes:\n  state:\n";

    fn of(task: &str, compose: Option<&str>) -> Needs {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        fs::write(folder.join("task.toml"), task).unwrap();
        if let Some(compose) = compose {
            fs::create_dir(folder.join("environment")).unwrap();
            fs::write(folder.join("environment/docker-compose.yaml"), compose).unwrap();
        }
        needs(folder).unwrap()
    }

    #[test]
    fn the_files_say_what_a_task_needs() {
        let needs = of(TASK, Some(COMPOSE));
        assert_eq!(needs.collected, ["judge"]);
        assert_eq!(needs.users, ["agent"]);
        assert_eq!(needs.host_mounts, ["/var/run/docker.sock"]);
        assert!(needs.compose && needs.separate_verifier && needs.internal_network && needs.services);
        let text = table("a", &needs, &judge(&needs));
        assert!(text.contains("  doubtful  daytona") || text.contains("doubtful  daytona"), "{text}");
        assert!(text.contains("cannot  e2b"), "{text}");
    }

    #[test]
    fn a_task_of_one_container_needs_little() {
        assert_eq!(of("", None), Needs::default());
        let needs = of(
            "[environment]\ngpus = 2\nnetwork_mode = \"allowlist\"\n[verifier]\nnetwork_mode = \"no-network\"\n",
            None,
        );
        assert_eq!((needs.gpus, needs.allowlist, needs.no_network), (2, true, true));
    }
}
