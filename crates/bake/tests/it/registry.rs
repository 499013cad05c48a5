//! Images in a registry: Debian's `docker-registry`, on this machine.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use taskwright_bake::{Intent, Output};
use taskwright_builder::Workspace;
use taskwright_testing::{Need, needs_engine, not_run, test, works};

use crate::support::{Space, options};

/// A registry that ends with the value.
struct Registry {
    process: Child,
    host: String,
}

impl Registry {
    fn start(space: &Space) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let root = &space.workspace.root;
        let config = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {root}/registry}}}}\nhttp: {{addr: \"{host}\"}}\n"
        );
        fs::write(root.join("registry.yml"), config).unwrap();
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(root.join("registry.yml")).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().unwrap();
        let start = Instant::now();
        while std::net::TcpStream::connect(&host).is_err() {
            assert!(start.elapsed() < Duration::from_secs(20), "the registry does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { process, host }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn docker(words: &[&str]) -> (bool, String) {
    let output = Command::new("docker").args(words).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_registry_has_what_the_lock_names() {
    needs_engine();
    if !works("docker-registry", &["--version"]) {
        not_run(Need::System, "there is no `docker-registry` here");
    }
    let mut space = Space::new(&["pushed"]);
    let registry = Registry::start(&space);
    let toml = format!("[bake]\nregistry = \"{}/some/tasks\"\n", registry.host);
    fs::write(space.workspace.root.join("taskwright.toml"), toml).unwrap();
    space.workspace = Workspace::open(&space.workspace.root).unwrap();

    let pushed = taskwright_bake::Options { output: Output::Registry, ..options(Intent::Bake) };
    let report = space.bake(&pushed).unwrap();
    for (service, name) in &report.tasks[0].images {
        // What this machine holds goes, and comes again by its digest alone.
        let (tagged, digest) = name.split_once('@').unwrap();
        assert_eq!(digest, space.digest("pushed", service));
        assert!(docker(&["image", "rm", "--force", tagged]).0);
        let repository = tagged.rsplit_once(':').unwrap().0;
        let (is_there, said) = docker(&["pull", "--quiet", &format!("{repository}@{digest}")]);
        assert!(is_there, "{name}: {said}");
        docker(&["image", "rm", "--force", &format!("{repository}@{digest}")]);
    }

    // One that is down is an error with the registry's name, and what was baked stays.
    drop(registry);
    fs::write(space.task("pushed").join("environment/files/a.txt"), "changed\n").unwrap();
    let before = fs::read(space.workspace.lock_file()).unwrap();
    let error = space.bake(&pushed).unwrap_err();
    assert!(error.to_string().contains("pushing `127.0.0.1:"), "{error}");
    let lock = space.lock();
    let before: taskwright_builder::lock::Lock = {
        fs::write(space.workspace.root.join("before.lock"), before).unwrap();
        taskwright_builder::lock::Lock::read(&space.workspace.root.join("before.lock")).unwrap().unwrap()
    };
    assert_eq!(lock.tasks["pushed"].images, before.tasks["pushed"].images);
}
