//! Where a task runs: which releases of Harbor, and which of its environment backends, can run what a task needs.
//!
//! The table is Harbor's own, of the release that we pin: what each backend's class says of its capabilities, and what is written
//! beside it. A test reads that source again, where Harbor is installed.

mod table;

use serde::Serialize;

pub use self::table::BACKENDS;
use crate::version::{HARBOR_VERSION, TRIED};

taskwright_base::words! {
    /// Whether a backend can do something.
    Answer {
        /// It can.
        Yes = "yes",
        /// It cannot, and refuses a task that asks for it.
        No = "no",
        /// That hangs on its options, or on the machine.
        Depends = "depends",
    }
}

/// What a backend can do for a task, either one of a single container or one of several services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Able {
    /// Graphics processors.
    pub gpus: Answer,
    /// Slices of a TPU.
    pub tpus: Answer,
    /// `network_mode = "no-network"`.
    pub no_network: Answer,
    /// `network_mode = "allowlist"`.
    pub allowlist: Answer,
    /// Windows containers.
    pub windows: Answer,
}

/// Which network the services of a compose file get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// The networks that the file says.
    Own,
    /// That of the machine they run on, all of them: an internal network keeps nothing in.
    Host,
    /// The same where graphics processors are asked for.
    HostWithGpus,
    /// Those that the file says, and no service finds another by its name.
    Nameless,
}

/// How a backend runs tasks of several services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Compose {
    /// The earliest release of those we tried that can.
    pub since: &'static str,
    /// What it can do then.
    pub able: Able,
    /// Which network the services get.
    pub network: Network,
}

/// One of Harbor's environment backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Backend {
    /// As `harbor run --env` takes it.
    pub name: &'static str,
    /// The earliest release of those we tried that has it.
    pub since: &'static str,
    /// What it can do for a task of one container.
    pub alone: Able,
    /// How it runs tasks of several services; none if it does not.
    pub compose: Option<Compose>,
    /// What else has to be known of it; empty if nothing.
    pub note: &'static str,
}

/// What a task needs of whatever runs it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// Whether its environment, or its verifier's, is a compose file.
    pub compose: bool,
    /// The services besides `main` from which hooks and artifacts are collected.
    pub collected: Vec<String>,
    /// Whether the verifier runs in containers of its own.
    pub separate_verifier: bool,
    /// Whether a service is kept off networks by the compose file itself.
    pub internal_network: bool,
    /// Whether it is of several services, which find each other by their names.
    pub services: bool,
    /// Accounts that Harbor runs commands as.
    pub users: Vec<String>,
    /// How many graphics processors it asks for.
    pub gpus: u64,
    /// Whether it asks for a TPU.
    pub tpu: bool,
    /// Whether a phase is to have no network.
    pub no_network: bool,
    /// Whether a phase may only reach some hosts.
    pub allowlist: bool,
    /// Whether its containers are of Windows.
    pub windows: bool,
    /// What is mounted from the machine that the containers run on.
    pub host_mounts: Vec<String>,
}

/// Whether a backend runs a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "why")]
pub enum Verdict {
    /// It does.
    Runs,
    /// It starts it, and something of it may not be as it is meant.
    Doubtful(Vec<String>),
    /// It does not.
    Cannot(Vec<String>),
}

/// What a backend makes of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The backend.
    pub backend: &'static str,
    /// Whether it runs the task, under the release that we pin.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The releases we tried that run it there.
    pub releases: Vec<&'static str>,
}

/// What each backend makes of a task, in the order of the table.
#[must_use]
pub fn judge(needs: &Needs) -> Vec<Judged> {
    BACKENDS.iter().map(|backend| backend.judge(needs)).collect()
}

impl Needs {
    /// In words, the most particular last.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        // Taken apart by name, so that a new need cannot be forgotten.
        let Self {
            compose,
            collected,
            separate_verifier,
            internal_network,
            services: _,
            users,
            gpus,
            tpu,
            no_network,
            allowlist,
            windows,
            host_mounts,
        } = self;
        let quoted =
            |words: &[String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let said = [
            (*compose, "Docker Compose".to_owned()),
            (!collected.is_empty(), format!("hooks and artifacts of {}", quoted(collected))),
            (*separate_verifier, "a verifier of its own".to_owned()),
            (*internal_network, "a network without a way out".to_owned()),
            (!users.is_empty(), format!("commands as {}", quoted(users))),
            (*gpus > 0, format!("{gpus} GPUs")),
            (*tpu, "a TPU".to_owned()),
            (*no_network, "`no-network`".to_owned()),
            (*allowlist, "`allowlist`".to_owned()),
            (*windows, "Windows".to_owned()),
            (!host_mounts.is_empty(), format!("{} of the machine", quoted(host_mounts))),
        ];
        said.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, words)| words).collect()
    }

    /// Whether it is more than what a backend has from its first release on: of that only the table's release is known.
    fn is_more(&self) -> bool {
        self.gpus > 0 || self.tpu || self.no_network || self.allowlist || self.windows
    }
}

impl Backend {
    fn judge(&self, needs: &Needs) -> Judged {
        let (able, since, network) = match (&self.compose, needs.compose) {
            (None, true) => {
                let why = match needs.collected.as_slice() {
                    [] => "it runs no compose files".to_owned(),
                    services => format!("it runs no compose files, and so no `{}`", services.join("`, `")),
                };
                let verdict = Verdict::Cannot(vec![why]);
                return Judged { backend: self.name, verdict, releases: Vec::new() };
            }
            (Some(compose), true) => (compose.able, compose.since, compose.network),
            (_, false) => (self.alone, self.since, Network::Own),
        };
        let asked = [
            (needs.gpus > 0, able.gpus, "GPUs"),
            (needs.tpu, able.tpus, "TPUs"),
            (needs.no_network, able.no_network, "`no-network`"),
            (needs.allowlist, able.allowlist, "`allowlist`"),
            (needs.windows, able.windows, "Windows containers"),
        ];
        let (mut cannot, mut doubts) = (Vec::new(), Vec::new());
        for (_, answer, what) in asked.into_iter().filter(|(is_asked, ..)| *is_asked) {
            match answer {
                Answer::Yes => {}
                Answer::No => cannot.push(format!("it has no {what} for such a task")),
                Answer::Depends => {
                    doubts.push(format!("whether it has {what} hangs on its options or on the machine"));
                }
            }
        }
        let is_on_host = network == Network::Host || (network == Network::HostWithGpus && needs.gpus > 0);
        if is_on_host && needs.internal_network {
            doubts.push("every service is on the network of its machine: a network without a way out keeps nothing in".to_owned());
        }
        if network == Network::Nameless && needs.services {
            cannot.push("services do not find each other by their names".to_owned());
        }
        if !needs.host_mounts.is_empty() && self.name != "docker" {
            doubts.push(
                "what is mounted is of the machine that the backend runs containers on, and not of this one"
                    .to_owned(),
            );
        }
        if !self.note.is_empty() && !needs.compose {
            doubts.push(self.note.to_owned());
        }
        let only_known = needs.is_more() || (needs.compose && network != Network::Own);
        let is_known = |version: &&str| !only_known || *version == HARBOR_VERSION;
        let versions = TRIED.iter().map(|release| release.version).skip_while(|version| *version != since);
        let releases = if cannot.is_empty() { versions.filter(is_known).collect() } else { Vec::new() };
        let verdict = if !cannot.is_empty() {
            Verdict::Cannot(cannot)
        } else if doubts.is_empty() {
            Verdict::Runs
        } else {
            Verdict::Doubtful(doubts)
        };
        Judged { backend: self.name, verdict, releases }
    }
}

const HEAD: &str = "\
# Where tasks run

<!-- Generated from the table in crates/harbor/src/backends/table.rs: edit that. -->

`taskwright doctor --task NAME` says it of one task: what it needs, which of Harbor's environment backends run it, from which
release on, and why the others do not. This is the table behind it: what Harbor VERSION itself says of each backend
(`harbor/environments/*.py`). The releases are those that Taskwright is tried with: TRIED; *since* is the earliest of them. Of
earlier releases than VERSION only is looked at whether they have a backend, and whether it runs compose files.

A task that a spec builds is of several services (`main`, `eval-sidecar`), with a collect hook and an artifact of the sidecar, a
separate verifier with a compose file of its own, a network without a way out, and the account `agent`: it runs wherever *compose*
says a release and *networks* says `own`. On `host` every service is on one network, so that an optimizer could reach what the sidecar listens on
for others; where services are `nameless` the sidecar is not found. `GPUs` to `Windows` are for tasks of one container / of several services.

| backend | since | compose | networks | GPUs | TPUs | `no-network` | `allowlist` | Windows | besides |
|---|---|---|---|---|---|---|---|---|---|
";

/// The page of the table, as Markdown.
#[must_use]
pub fn page() -> String {
    let head = HEAD.replace("VERSION", HARBOR_VERSION).replace("TRIED", &crate::tried());
    let row = |backend: &Backend| {
        let compose = backend.compose;
        let both = |of: fn(&Able) -> Answer| match compose {
            Some(compose) if of(&compose.able) != of(&backend.alone) => {
                format!("{} / {}", of(&backend.alone), of(&compose.able))
            }
            _ => of(&backend.alone).to_string(),
        };
        let network = compose.map_or("", |compose| match compose.network {
            Network::Own => "own",
            Network::Host => "host",
            Network::HostWithGpus => "own; host with GPUs",
            Network::Nameless => "nameless",
        });
        format!(
            "| `{}` | {} | {} | {network} | {} | {} | {} | {} | {} | {} |\n",
            backend.name,
            backend.since,
            compose.map_or("no", |compose| compose.since),
            both(|able| able.gpus),
            both(|able| able.tpus),
            both(|able| able.no_network),
            both(|able| able.allowlist),
            both(|able| able.windows),
            backend.note,
        )
    };
    head + &BACKENDS.iter().map(row).collect::<String>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::python;
    use taskwright_testing::test;

    fn ours() -> Needs {
        Needs {
            compose: true,
            collected: vec!["eval-sidecar".to_owned()],
            separate_verifier: true,
            internal_network: true,
            services: true,
            users: vec!["agent".to_owned()],
            ..Needs::default()
        }
    }

    fn of(needs: &Needs, name: &str) -> Judged {
        judge(needs).into_iter().find(|judged| judged.backend == name).unwrap()
    }

    #[test]
    fn the_table_is_what_harbors_source_says() {
        let harbor = python::of_harbor();
        let place = "import harbor; print(harbor.__path__[0])";
        let place = python::run(&harbor, place, "");
        let script = include_str!("backends/source.py");
        let said = python::run(&harbor, script, place.trim());
        let said: BTreeMap<String, Value> = serde_json::from_str(&said).unwrap();
        let facts = |able: &Able| {
            json!({"gpus": able.gpus, "tpus": able.tpus, "disable_internet": able.no_network,
                   "network_allowlist": able.allowlist, "windows": able.windows})
        };
        let ours: BTreeMap<String, Value> = BACKENDS
            .iter()
            .map(|backend| {
                let network = backend.compose.map(|compose| compose.network);
                let ours = json!({
                    "alone": facts(&backend.alone),
                    "compose": backend.compose.map(|compose| facts(&compose.able)),
                    "host_network": matches!(network, Some(Network::Host | Network::HostWithGpus)),
                    "host_with_gpus": network == Some(Network::HostWithGpus),
                    "nameless": network == Some(Network::Nameless),
                    "ignores_user": backend.note.contains("the image's user"),
                });
                (backend.name.to_owned(), ours)
            })
            .collect();
        assert_eq!(ours.keys().collect::<Vec<_>>(), said.keys().collect::<Vec<_>>());
        for (name, facts) in &said {
            assert_eq!(ours[name], *facts, "{name}");
        }
    }

    #[test]
    fn releases_are_those_we_tried() {
        let is_tried = |version: &str| TRIED.iter().any(|release| release.version == version);
        for backend in BACKENDS {
            assert!(is_tried(backend.since), "{}", backend.name);
            assert!(backend.compose.is_none_or(|compose| is_tried(compose.since)), "{}", backend.name);
        }
        assert!(BACKENDS.is_sorted_by_key(|backend| backend.name));
    }

    #[test]
    fn a_task_of_ours_runs_where_compose_does() {
        let docker = of(&ours(), "docker");
        assert_eq!((docker.verdict, docker.releases.len()), (Verdict::Runs, TRIED.len()));
        assert_eq!(of(&ours(), "tensorlake").releases, ["0.23.0", "0.26.0"]);
        let Verdict::Cannot(why) = of(&ours(), "e2b").verdict else { panic!() };
        assert_eq!(why, ["it runs no compose files, and so no `eval-sidecar`"]);
        assert!(
            matches!(of(&ours(), "beam").verdict, Verdict::Doubtful(why) if why[0].contains("keeps nothing in"))
        );
        assert!(matches!(of(&ours(), "kata").verdict, Verdict::Cannot(why) if why[0].contains("names")));
        assert_eq!(of(&Needs::default(), "e2b").verdict, Verdict::Runs);
    }

    #[test]
    fn what_is_asked_for_decides() {
        let gpus = Needs { gpus: 1, ..ours() };
        assert_eq!(of(&gpus, "daytona").verdict, Verdict::Runs);
        assert_eq!(of(&gpus, "daytona").releases, [HARBOR_VERSION]);
        assert!(matches!(of(&gpus, "modal").verdict, Verdict::Doubtful(_)));
        assert!(matches!(of(&gpus, "islo").verdict, Verdict::Cannot(_)));
        let mounts = Needs { host_mounts: vec!["/var/run/docker.sock".to_owned()], ..ours() };
        assert_eq!(of(&mounts, "docker").verdict, Verdict::Runs);
        assert!(matches!(of(&mounts, "daytona").verdict, Verdict::Doubtful(_)));
        assert_eq!(gpus.words().len(), 6);
    }
}
