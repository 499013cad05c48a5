//! The verdicts, on machines that are made up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use super::*;

/// A machine on which everything is there, unless a test says otherwise.
struct Fake {
    system: System,
    programs: BTreeMap<&'static str, Outcome>,
    missing: Vec<&'static str>,
    free: u64,
    links: bool,
    hangs: Option<&'static str>,
}

fn says(stdout: &str) -> Outcome {
    Outcome::Ended { success: true, stdout: stdout.to_owned(), stderr: String::new() }
}

fn complains(stderr: &str) -> Outcome {
    Outcome::Ended { success: false, stdout: String::new(), stderr: stderr.to_owned() }
}

impl Fake {
    fn new() -> Self {
        let programs = [
            ("git --version", says("git version 2.47.3\n")),
            ("git rev-parse --is-inside-work-tree", says("true\n")),
            ("cargo --version", says("cargo 1.95.0 (f2d3ce0bd 2026-03-21)\n")),
            ("rustc --version", says("rustc 1.95.0 (59807616e 2026-04-14)\n")),
            ("cc -print-file-name=libc.a", says("/usr/lib/x86_64-linux-gnu/libc.a\n")),
            ("docker version --format {{.Server.Version}}", says("26.1.5+dfsg1\n")),
            ("docker buildx version", says("github.com/docker/buildx 0.29.1+ds1 0.29.1+ds1-4\n")),
            ("docker compose version --short", says("2.40.3-3\n")),
            ("harbor --version", says(&format!("{}\n", taskwright_harbor::HARBOR_VERSION))),
            ("uv --version", says("uv 0.13.9 (x86_64-unknown-linux-gnu)\n")),
            ("python3 --version", says("Python 3.13.0\n")),
        ];
        Self {
            system: System { os: "linux", arch: "x86_64" },
            programs: programs.into(),
            missing: vec!["/home/user/.local/bin/harbor", "/home/user/.local/bin/uv"],
            free: 50 << 30,
            links: true,
            hangs: None,
        }
    }

    fn with(mut self, command: &'static str, outcome: Outcome) -> Self {
        self.programs.insert(command, outcome);
        self
    }

    fn without(mut self, path: &'static str) -> Self {
        self.missing.push(path);
        self
    }

    fn examine(self) -> Diagnosis {
        let machine: Arc<dyn Machine> = Arc::new(self);
        examine(&machine, &Workspace::new("/specs"), Duration::from_secs(20))
    }

    /// The one line that is not well, as `name: state, found, problem, remedy`.
    fn trouble(self) -> String {
        let mut text = String::new();
        for check in self.examine().checks.into_iter().filter(|check| check.state != State::Ok) {
            let word = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let (found, problem, remedy) = (word(check.found), word(check.problem), word(check.remedy));
            let _ = writeln!(text, "{} {:?} | {found} | {problem} | {remedy}", check.name, check.state);
        }
        text
    }
}

impl Machine for Fake {
    fn run(&self, command: &[&str]) -> Outcome {
        if self.hangs == command.first().copied() {
            thread::sleep(Duration::from_mins(1));
        }
        self.programs.get(command.join(" ").as_str()).cloned().unwrap_or(Outcome::NotFound)
    }

    fn system(&self) -> System {
        self.system
    }

    fn home(&self) -> Option<Utf8PathBuf> {
        Some("/home/user".into())
    }

    fn exists(&self, path: &Utf8Path) -> bool {
        !self.missing.iter().any(|missing| path == *missing)
    }

    fn read(&self, path: &Utf8Path) -> Option<String> {
        (path == "/specs/rust-toolchain.toml").then(|| "[toolchain]\nchannel = \"1.95.0\"\n".to_owned())
    }

    fn free_bytes(&self, _: &Utf8Path) -> io::Result<u64> {
        Ok(self.free)
    }

    fn can_reflink(&self, _: &Utf8Path) -> io::Result<bool> {
        Ok(false)
    }

    fn can_hard_link(&self, _: &Utf8Path) -> io::Result<bool> {
        if self.links { Ok(true) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

#[test]
fn a_machine_that_has_everything() {
    let diagnosis = Fake::new().examine();
    assert!(diagnosis.is_ready(&Purpose::ALL));
    assert!(diagnosis.checks.iter().all(|check| check.state == State::Ok), "{diagnosis:?}");
    let names: Vec<_> = diagnosis.checks.iter().map(|check| check.name).collect();
    assert_eq!(names.len(), probes::ALL.len());
}

#[test]
fn an_empty_machine_says_what_to_install() {
    let mut fake = Fake::new();
    fake.programs.clear();
    insta::assert_snapshot!(fake.trouble(), @r"
    git Missing | - | `git` is not on PATH | apt-get install git
    repository Missing | - | only git can tell | -
    cargo Missing | - | `cargo` is not on PATH | apt-get install rustup && rustup toolchain install 1.95.0
    rustc Missing | - | `rustc` is not on PATH | apt-get install rustup && rustup toolchain install 1.95.0
    static libc Missing | - | `cc` is not on PATH: rustc links with it | apt-get install gcc libc6-dev
    docker Missing | - | `docker` is not on PATH | apt-get install docker.io
    buildx Missing | - | `docker` is not on PATH | apt-get install docker-buildx-plugin (from https://download.docker.com/linux/debian)
    compose Missing | - | `docker` is not on PATH | apt-get install docker-compose-plugin (from https://download.docker.com/linux/debian)
    uv Advice | - | `uv` is not on PATH | curl -LsSf https://astral.sh/uv/install.sh | sh
    harbor Missing | - | `harbor` is not on PATH | uv tool install --force harbor==0.26.0
    python3 Advice | - | `python3` is not on PATH | apt-get install python3
    ");
}

#[test]
fn a_mac_is_told_of_brew() {
    let mut fake = Fake::new().without("/dev/shm");
    fake.programs.clear();
    fake.system = System { os: "macos", arch: "aarch64" };
    let text = fake.trouble();
    assert!(text.contains("brew install git") && !text.contains("apt-get"), "{text}");
    assert!(text.contains("system Missing | macos aarch64 |"), "{text}");
}

#[test]
fn versions_that_are_too_old_or_other() {
    let fake = Fake::new()
        .with("git --version", says("git version 2.29.9 (Apple Git-143)"))
        .with("rustc --version", says("rustc 1.95.0-nightly (abc 2026-03-01)"))
        .with("cargo --version", says("cargo 1.97.0 (abc 2026-09-01)"))
        .with("docker compose version --short", says("v2.26.1-4\n"))
        .with("docker buildx version", says("github.com/docker/buildx v0.13.1 788433953af1\n"))
        .with("harbor --version", says("0.26.0rc1\n"));
    insta::assert_snapshot!(fake.trouble(), @r"
    git Missing | 2.29.9 | at least 2.30 is needed: older ones do not know `git rev-parse --end-of-options` | apt-get install git
    cargo Missing | 1.97.0 | rust-toolchain.toml pins 1.95.0: another makes another binary | rustup toolchain install 1.95.0
    rustc Missing | 1.95.0-nightly | rust-toolchain.toml pins 1.95.0: another makes another binary | rustup toolchain install 1.95.0
    buildx Missing | 0.13.1 | at least 0.17 is needed: docker compose builds images with it, and refuses older ones | apt-get install docker-buildx-plugin (from https://download.docker.com/linux/debian)
    compose Missing | 2.26.1-4 | at least 2.40 is needed: `harbor lint` calls it with `--no-env-resolution` | apt-get install docker-compose-plugin (from https://download.docker.com/linux/debian)
    harbor Missing | 0.26.0rc1 | 0.20.0, 0.21.0, 0.22.0, 0.23.0 and 0.26.0 were tried: another may mean something else by its results | uv tool install --force harbor==0.26.0
    ");
}

#[test]
fn answers_that_say_nothing() {
    let fake = Fake::new()
        .with("git --version", says(""))
        .with("uv --version", says("\u{1b}[31mdev\u{1b}[0m\n"))
        .with("python3 --version", complains("xcrun: error: invalid active developer path"))
        .with("docker compose version --short", complains("unknown flag: --short\n\nUsage: docker"))
        .with("docker version --format {{.Server.Version}}", says("dev\n"))
        .with("harbor --version", Outcome::NotStarted("Exec format error".to_owned()));
    insta::assert_snapshot!(fake.trouble(), @r"
    git Missing | - | `git --version` names no version | apt-get install git
    compose Missing | - | `docker compose version --short` fails: unknown flag: --short | apt-get install docker-compose-plugin (from https://download.docker.com/linux/debian)
    uv Advice | [31mdev[0m | `uv --version` names no version | curl -LsSf https://astral.sh/uv/install.sh | sh
    harbor Missing | - | `harbor` cannot be run: Exec format error | uv tool install --force harbor==0.26.0
    python3 Advice | - | `python3 --version` fails: xcrun: error: invalid active developer path | apt-get install python3
    ");
}

#[test]
fn engines_that_cannot_be_reached() {
    let docker = "docker version --format {{.Server.Version}}";
    for (outcome, expected) in [
        (
            complains("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?"),
            "systemctl start docker",
        ),
        (complains("permission denied while trying to connect to the Docker daemon socket"), "usermod"),
        (Outcome::TimedOut(Duration::from_secs(10)), "did not answer within 10 s"),
        (complains(""), "nothing was printed"),
        (Outcome::NotFound, "apt-get install docker.io"),
    ] {
        let text = Fake::new().with(docker, outcome).trouble();
        assert!(text.starts_with("docker Missing") && text.contains(expected), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn a_repository_of_another_user_or_none() {
    let command = "git rev-parse --is-inside-work-tree";
    let text =
        Fake::new().with(command, complains("fatal: detected dubious ownership in repository")).trouble();
    assert!(text.contains("safe.directory '/specs'"), "{text}");
    let text = Fake::new().with(command, complains("fatal: not a git repository")).trouble();
    assert!(text.contains("git init"), "{text}");
    let text = Fake::new().with(command, complains("error: bad config line 1")).trouble();
    assert!(text.contains("git fails: error: bad config line 1 | -"), "{text}");
    let text = Fake::new().with(command, says("false\n")).trouble();
    assert!(text.contains("git init"), "{text}");
}

#[test]
fn libc_that_is_not_there() {
    let command = "cc -print-file-name=libc.a";
    for fake in [
        Fake::new().with(command, says("libc.a\n")),
        Fake::new().with(command, says("")),
        Fake::new().without("/usr/lib/x86_64-linux-gnu/libc.a"),
        Fake::new().with(command, Outcome::NotFound),
    ] {
        let text = fake.trouble();
        assert!(text.starts_with("static libc Missing") && text.contains("libc6-dev"), "{text}");
    }
}

#[test]
fn what_only_helps_keeps_nobody_from_anything() {
    let mut fake = Fake::new().without("/dev/shm").with("uv --version", Outcome::NotFound);
    fake.links = false;
    let diagnosis = fake.examine();
    assert!(diagnosis.is_ready(&Purpose::ALL));
    let advice =
        |name| diagnosis.checks.iter().any(|check| check.name == name && check.state == State::Advice);
    assert!(advice("hard links") && advice("/dev/shm") && advice("uv"));
}

#[test]
fn harbor_that_is_only_not_on_path() {
    let mut fake = Fake::new().with("harbor --version", Outcome::NotFound);
    fake.missing.clear();
    assert!(fake.trouble().contains("export PATH=\"$HOME/.local/bin:$PATH\""));
}

#[test]
fn purposes_are_told_apart() {
    let mut fake = Fake::new().with("harbor --version", Outcome::NotFound);
    fake.free = 1 << 20;
    let diagnosis = fake.examine();
    assert_eq!(diagnosis.missing_for(Purpose::Build), ["disk space"]);
    assert_eq!(diagnosis.missing_for(Purpose::Run), ["harbor"]);
    assert!(diagnosis.is_ready(&[Purpose::Bake]) && !diagnosis.is_ready(&[Purpose::Bake, Purpose::Run]));
}

#[test]
fn what_hangs_costs_only_its_own_answer() {
    let mut fake = Fake::new();
    fake.hangs = Some("docker");
    let machine: Arc<dyn Machine> = Arc::new(fake);
    let started = Instant::now();
    // Long enough for all others to answer on a busy machine, and nowhere near the minute that the one hangs.
    let diagnosis = examine(&machine, &Workspace::new("/specs"), Duration::from_secs(5));
    assert!(started.elapsed() < Duration::from_secs(50));
    assert_eq!(diagnosis.missing_for(Purpose::Run), ["docker", "buildx", "compose"]);
    assert!(diagnosis.is_ready(&[Purpose::Build]));
}
