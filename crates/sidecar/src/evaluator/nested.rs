//! Mode B in the sidecar: each evaluation is a nested `harbor run` of a user of its own, in folders that go with it.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use taskwright_base::{Error, Result, failed};
use taskwright_eval::{
    Cancel, ModeB, ModeBOptions, Observer, Place, PlanB, SampleResult, Sandbox, SidecarPlace, Trials,
};
use taskwright_harbor::child::Environment;
use taskwright_language::model::InnerDocker;
use taskwright_language::serve::ServeConfig;

use super::models::{Finished, Way};
use crate::paths::Paths;
use crate::runner::{Job, Ran};

/// What Harbor's environment gets besides the secrets: how to reach programs, the network and its certificates.
const PASSED_ON: &[&str] = &[
    "PATH",
    "LANG",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_PYTHON_DOWNLOADS",
    "UV_SYSTEM_CERTS",
    "DOCKER_HOST",
];

pub struct Nested {
    serve: Arc<ServeConfig>,
    inner_tasks: PathBuf,
    jobs: PathBuf,
    environment: Environment,
    /// None if the inner trials need a Docker engine and there is none.
    place: Option<SidecarPlace>,
    next: AtomicU64,
    models: Option<Way>,
}

/// What is run, and where.
#[derive(Clone, Copy)]
struct Run<'a> {
    record: &'a Path,
    place: &'a SidecarPlace,
    candidate: &'a Path,
    samples: &'a [String],
}

impl Nested {
    /// Finds out what the container offers, and clears away what an earlier process left.
    pub fn open(
        serve: Arc<ServeConfig>,
        paths: &Paths,
        sandbox: Sandbox,
        models: Option<Way>,
    ) -> Result<Self> {
        let run =
            &serve.harbor.as_ref().ok_or_else(|| Error::new("the serve config says nothing of Harbor"))?.run;
        // Where trials run in the Docker engine outside, the folders have to have the same names there.
        let jobs =
            std::env::var_os("TASKWRIGHT_JOBS").map_or_else(|| paths.runtime.join("jobs"), PathBuf::from);
        fs::DirBuilder::new().recursive(true).mode(0o711).create(&jobs).map_err(failed("making", &jobs))?;
        let own = run.process_env.iter();
        let mut environment =
            own.fold(Environment::default(), |environment, (name, value)| environment.with(name, value));
        let models = models.filter(Way::is_candidates);
        let secrets = serve.secrets.iter().map(String::as_str);
        for name in PASSED_ON.iter().copied().chain(secrets) {
            if let Some(value) = std::env::var_os(name) {
                environment = environment.with(name, value);
            }
        }
        let docker = run.environment == "docker";
        let socket = (docker && run.inner_docker == InnerDocker::HostSocket)
            .then(|| PathBuf::from("/var/run/docker.sock"));
        let place = (!docker || socket.is_some()).then(|| SidecarPlace {
            harbor: "/opt/harbor".into(),
            requirements: "/opt/requirements.txt".into(),
            cache: "/opt/uv-cache".into(),
            sandbox,
            docker_socket: socket,
        });
        let inner_tasks = paths.image.join("inner-tasks");
        let nested = Self { serve, inner_tasks, jobs, environment, place, next: AtomicU64::new(1), models };
        nested.clear(docker);
        Ok(nested)
    }

    /// Removes the folders of evaluations that were cut short, with the containers of their trials.
    fn clear(&self, docker: bool) {
        let folders =
            |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        for left in folders(&self.jobs) {
            for job in folders(&left.join("jobs")) {
                if let Err(error) = taskwright_harbor::run::clean_up(&job, docker, &self.environment) {
                    eprintln!("taskwright: containers of an earlier evaluation may be left: {error}");
                }
            }
            remove(&left);
        }
    }

    /// Runs and scores samples, handing over each as it finishes.
    pub fn run(
        &self,
        job: &Job,
        candidate: &Path,
        samples: &[String],
        finished: &Finished<'_>,
        stop: &Cancel,
    ) -> Result<Ran> {
        let Some(place) = &self.place else {
            return Err(Error::new(
                "the inner tasks run in Docker, and this task was built without it: its spec says \
                 `inner_docker = \"off\"`",
            ));
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let record = self.jobs.join(format!("evaluation-{number}"));
        let run = Run { record: &record, place, candidate, samples };
        let result = match &self.models {
            Some(way) => way.metered(job, finished, stop, |open, finished, stop| {
                let environment =
                    open.variables().fold(self.environment.clone(), |environment, (name, value)| {
                        environment.with(name, value)
                    });
                self.run_in(&run, &environment, finished, stop)
            }),
            None => self.run_in(&run, &self.environment, finished, stop).map(|()| Ran::default()),
        };
        remove(&record);
        result
    }

    fn run_in(
        &self,
        run: &Run<'_>,
        environment: &Environment,
        finished: &Finished<'_>,
        stop: &Cancel,
    ) -> Result<()> {
        let Run { record, place, candidate, samples } = *run;
        let mode = ModeB::open(ModeBOptions {
            serve: Arc::clone(&self.serve),
            inner_tasks: self.inner_tasks.clone(),
            // Within the record, which is open to its own run alone.
            work: record.join("work"),
            environment: environment.clone(),
            registry_path: None,
            place: Place::Sidecar(place.clone()),
        })?;
        // Who may see samples is decided where they are shown; here is what there is to be seen.
        let bytes = usize::try_from(self.serve.feedback.max_bytes).unwrap_or(usize::MAX);
        let rules = mode.rules(Some(bytes));
        let name = record.file_name().and_then(|name| name.to_str()).unwrap_or("evaluation");
        let plan = PlanB { candidate, samples, rules: &rules, record, name };
        let evaluation = mode.evaluate(&plan, &Watcher { finished }, stop)?;
        if let Some(trouble) = evaluation.trouble {
            eprintln!("taskwright: {trouble}");
        }
        for note in evaluation.notes {
            eprintln!("taskwright: not counted: {note:?}");
        }
        Ok(())
    }
}

/// Removes a folder in which a candidate may have written anything.
fn remove(folder: &Path) {
    if let Err(error) = taskwright_eval::remove_folder(folder) {
        eprintln!("taskwright: removing `{}`: {error}", folder.display());
    }
}

struct Watcher<'a> {
    finished: &'a Finished<'a>,
}

impl Observer for Watcher<'_> {
    fn sample(&self, result: &SampleResult, _recorded: bool) {
        (self.finished)(result);
    }

    fn trials(&self, _trials: &Trials) {}

    fn say(&self, what: &str) {
        println!("taskwright: {what}");
    }
}
