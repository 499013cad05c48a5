//! A task's containers: the sidecar and the optimizer's, on a network without a way out.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use taskwright_testing::{IMAGE, needs_engine};

use crate::task::{self, LABEL, SECRET};

/// Tells the stages of one run apart.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The containers of a task.
pub struct Stage {
    name: String,
    _files: tempfile::TempDir,
}

/// What a command in a container did.
#[derive(Debug)]
pub struct Ran {
    /// Its exit status.
    pub status: i32,
    /// What it printed.
    pub out: String,
    /// What it complained.
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// What the optimizer sees must hold no label and no secret.
pub fn shows_nothing(text: &str) {
    assert!(!text.contains(LABEL) && !text.contains(SECRET), "{text}");
}

fn docker(arguments: &[&str]) -> Ran {
    Command::new("docker").args(arguments).stdin(Stdio::null()).output().unwrap().into()
}

fn must(arguments: &[&str]) -> String {
    let ran = docker(arguments);
    assert_eq!(ran.status, 0, "docker {arguments:?}: {}", ran.err);
    ran.out.trim().to_owned()
}

impl Stage {
    /// The containers, or none where they cannot be had.
    pub fn set() -> Self {
        Self::set_with(&[], |_| ())
    }

    /// The same with options for the volume that holds the sidecar's state, and changes to the serve config.
    pub fn set_with(volume: &[&str], change: impl FnOnce(&mut Value)) -> Self {
        needs_engine();
        let name = format!("taskwright-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst));
        let files = tempfile::tempdir().unwrap();
        let (image, repository) = (files.path().join("taskwright"), files.path().join("workspace"));
        task::write(&image, &repository, change);
        let stage = Self { name, _files: files };
        must(&["network", "create", "--internal", &stage.name]);
        must(&[&["volume", "create"], volume, &[&stage.name]].concat());
        let sidecar = stage.sidecar();
        let volume = format!("{}:/var/lib/taskwright", stage.name);
        let secret = format!("TASK_SECRET={SECRET}");
        must(&[
            "create",
            "--init",
            "--restart",
            "unless-stopped",
            "--name",
            &sidecar,
            "--network",
            &stage.name,
            "--network-alias",
            "eval-sidecar",
            "-v",
            &volume,
            "-e",
            &secret,
            IMAGE,
            "/usr/local/bin/taskwright",
            "serve",
        ]);
        let binary = env!("CARGO_BIN_EXE_taskwright-sidecar");
        let to = |container: &str, path: &str| format!("{container}:{path}");
        must(&["cp", binary, &to(&sidecar, "/usr/local/bin/taskwright")]);
        must(&["cp", image.to_str().unwrap(), &to(&sidecar, "/taskwright")]);
        must(&["start", &sidecar]);
        let main = stage.main();
        must(&[
            "create",
            "--init",
            "--name",
            &main,
            "--network",
            &stage.name,
            "-e",
            "TASKWRIGHT_URL=http://eval-sidecar:8700",
            IMAGE,
            "sleep",
            "infinity",
        ]);
        must(&["cp", binary, &to(&main, "/usr/local/bin/taskwright")]);
        must(&["cp", repository.to_str().unwrap(), &to(&main, "/workspace")]);
        must(&["start", &main]);
        must(&["exec", &main, "sh", "-c", "useradd -m agent && chown -R agent /workspace"]);
        stage.healthy();
        must(&["exec", &sidecar, "chmod", "700", "/taskwright"]);
        stage
    }

    fn sidecar(&self) -> String {
        format!("{}-sidecar", self.name)
    }

    fn main(&self) -> String {
        format!("{}-main", self.name)
    }

    /// Waits until the service answers.
    pub fn healthy(&self) {
        let deadline = Instant::now() + Duration::from_mins(3);
        while self.in_sidecar("taskwright health").status != 0 {
            assert!(Instant::now() < deadline, "{}", docker(&["logs", &self.sidecar()]).err);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Runs a shell command as the optimizer's user.
    pub fn agent(&self, script: &str) -> Ran {
        docker(&["exec", "-u", "agent", "-w", "/workspace", &self.main(), "bash", "-c", script])
    }

    /// Starts a shell command as the optimizer's user, whose output is read as it comes.
    pub fn start(&self, script: &str) -> Child {
        Command::new("docker")
            .args(["exec", "-u", "agent", "-w", "/workspace", &self.main(), "bash", "-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Runs a shell command as root in the sidecar.
    pub fn in_sidecar(&self, script: &str) -> Ran {
        docker(&["exec", &self.sidecar(), "sh", "-c", script])
    }

    /// Puts a text into a file of the optimizer's workspace.
    pub fn write(&self, path: &str, text: &str) {
        let mut child = Command::new("docker")
            .args([
                "exec",
                "-i",
                "-u",
                "agent",
                "-w",
                "/workspace",
                &self.main(),
                "sh",
                "-c",
                "cat > \"$0\"",
                path,
            ])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }

    /// Commits a program as the candidate.
    pub fn commit(&self, program: &str) {
        self.write("main.py", program);
        let ran = self.agent("git -c user.name=a -c user.email=a@b commit -qam change --allow-empty");
        assert_eq!(ran.status, 0, "{}", ran.err);
    }

    /// Runs `taskwright` with `--json` as the optimizer, which must end with a status, and returns what it says.
    pub fn taskwright(&self, arguments: &str, status: i32) -> Value {
        let ran = self.agent(&format!("taskwright {arguments} --json"));
        assert_eq!(ran.status, status, "taskwright {arguments}: {} {}", ran.out, ran.err);
        shows_nothing(&ran.out);
        shows_nothing(&ran.err);
        let last = ran.out.lines().last().unwrap_or("null");
        serde_json::from_str(last).unwrap()
    }

    /// Waits until something holds, and for so long that a busy machine is no reason to give up.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_mins(3);
        while !holds(self) {
            assert!(Instant::now() < deadline, "waited too long until {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Finalizes, and returns the verdict and the reward.
    pub fn finalize(&self) -> (Value, Value) {
        let ran = self.in_sidecar("taskwright finalize --json");
        assert_eq!(ran.status, 0, "{} {}", ran.out, ran.err);
        let read = |name: &str| {
            let ran = self.in_sidecar(&format!("cat /evidence/{name}"));
            serde_json::from_str(&ran.out).unwrap()
        };
        (read("verdict.json"), read("reward.json"))
    }

    /// Kills the sidecar as a power cut would, and starts it again.
    pub fn kill_and_restart(&self) {
        must(&["kill", "-s", "KILL", &self.sidecar()]);
        must(&["start", &self.sidecar()]);
        self.healthy();
    }

    /// Kills the server alone, as the kernel does when memory runs out; the container comes back by itself.
    pub fn kill_server(&self) {
        self.in_sidecar("kill -9 $(pidof taskwright)");
    }

    /// Gives the sidecar so little memory.
    pub fn limit_memory(&self, megabytes: u32) {
        let memory = format!("{megabytes}m");
        must(&["update", "--memory", &memory, "--memory-swap", &memory, &self.sidecar()]);
    }

    /// How often the sidecar was started again by itself.
    pub fn restarts(&self) -> u32 {
        must(&["inspect", "--format", "{{.RestartCount}}", &self.sidecar()]).parse().unwrap()
    }

    /// Restarts the sidecar, which must not serve, and returns what it says instead.
    pub fn restart_refuses(&self) -> String {
        must(&["kill", "-s", "KILL", &self.sidecar()]);
        must(&["start", &self.sidecar()]);
        let deadline = Instant::now() + Duration::from_mins(3);
        loop {
            let ran = self.in_sidecar("taskwright health");
            assert_ne!(ran.status, 0);
            if !ran.err.contains("cannot be reached") || Instant::now() > deadline {
                return ran.err;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Processes in the sidecar that do not belong to root, with their user.
    pub fn foreign_processes(&self) -> Vec<String> {
        let list = "for p in /proc/[0-9]*; do u=$(stat -c %u $p 2>/dev/null) || continue; \
                    [ \"$u\" = 0 ] || echo \"$u $(tr '\\0' ' ' < $p/cmdline)\"; done";
        self.in_sidecar(list).out.lines().map(str::to_owned).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let logs = docker(&["logs", &self.sidecar()]);
            let _ = std::io::stderr().write_all(format!("{}{}", logs.out, logs.err).as_bytes());
        }
        docker(&["rm", "-f", "-v", &self.sidecar(), &self.main()]);
        docker(&["network", "rm", &self.name]);
        docker(&["volume", "rm", &self.name]);
    }
}
