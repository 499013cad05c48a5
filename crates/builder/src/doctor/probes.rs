//! What is looked for, in the order in which somebody sets a machine up.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_harbor::HARBOR_VERSION;

use super::version::Version;
use super::{Finding, Machine, Outcome, Probe, Purpose, Remedy};

const BUILD: &[Purpose] = &[Purpose::Build];
const IMAGES: &[Purpose] = &[Purpose::Bake, Purpose::Run];
const RUN: &[Purpose] = &[Purpose::Run];
const BENCH: &[Purpose] = &[Purpose::Bench];

const GIB: u64 = 1 << 30;
/// What compiling the workspace and a few tasks take.
const BUILD_SPACE: u64 = 2 * GIB;
/// What a workspace of 1,000 generated tasks takes.
const BENCH_SPACE: u64 = GIB;

/// Everything that is looked for.
pub const ALL: &[Probe] = &[
    Probe { name: "system", needed_for: BUILD, required: true, look: system },
    Probe { name: "git", needed_for: BUILD, required: true, look: git },
    Probe { name: "repository", needed_for: BUILD, required: true, look: repository },
    Probe { name: "cargo", needed_for: BUILD, required: true, look: cargo },
    Probe { name: "rustc", needed_for: BUILD, required: true, look: rustc },
    Probe { name: "static libc", needed_for: BUILD, required: true, look: static_libc },
    Probe { name: "disk space", needed_for: BUILD, required: true, look: disk_space },
    Probe { name: "reflinks", needed_for: BUILD, required: false, look: reflinks },
    Probe { name: "hard links", needed_for: BUILD, required: false, look: hard_links },
    Probe { name: "docker", needed_for: IMAGES, required: true, look: docker },
    Probe { name: "buildx", needed_for: IMAGES, required: true, look: buildx },
    Probe { name: "compose", needed_for: RUN, required: true, look: compose },
    Probe { name: "uv", needed_for: RUN, required: false, look: uv },
    Probe { name: "harbor", needed_for: RUN, required: true, look: harbor },
    Probe { name: "python3", needed_for: RUN, required: false, look: python },
    Probe { name: "/dev/shm", needed_for: BENCH, required: false, look: shared_memory },
];

/// Runs a program and reads the version that it prints.
fn ask(machine: &dyn Machine, command: &[&str]) -> Result<Version, Finding> {
    let program = command.first().copied().unwrap_or_default();
    match machine.run(command) {
        Outcome::Ended { success: true, stdout, stderr } => {
            Version::find(&stdout).or_else(|| Version::find(&stderr)).ok_or_else(|| {
                let finding = Finding::bad(format!("`{}` names no version", command.join(" ")));
                if stdout.trim().is_empty() { finding } else { finding.found(line(&stdout)) }
            })
        }
        Outcome::Ended { success: false, stderr, .. } => {
            Err(Finding::bad(format!("`{}` fails: {}", command.join(" "), line(&stderr))))
        }
        Outcome::NotFound => Err(Finding::bad(format!("`{program}` is not on PATH"))),
        Outcome::NotStarted(words) => Err(Finding::bad(format!("`{program}` cannot be run: {words}"))),
        Outcome::TimedOut(limit) => {
            Err(Finding::bad(format!("`{}` did not end within {} s", command.join(" "), limit.as_secs_f64())))
        }
    }
}

/// A program that did not end: it is there, and installing it again would not help.
fn slow(command: &str, limit: Duration) -> Finding {
    Finding::Unknown(format!("`{command}` did not end within {} s", limit.as_secs_f64()))
}

/// The first line of what a program printed, short enough for a table and without what would disturb a terminal.
fn line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing was printed");
    line.chars().filter(|c| !c.is_control()).take(120).collect()
}

/// A program that has to have at least some version.
fn at_least(
    machine: &dyn Machine,
    command: &[&str],
    (major, minor): (u64, u64),
    why: &str,
    remedy: Remedy,
) -> Finding {
    match ask(machine, command) {
        Ok(version) if version.is_at_least(major, minor) => Finding::Good(version.text),
        Ok(version) => Finding::bad(format!("at least {major}.{minor} is needed: {why}"))
            .found(version.text)
            .remedy(remedy),
        Err(finding) => finding.remedy(remedy),
    }
}

fn system(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let system = machine.system();
    let found = format!("{} {}", system.os, system.arch);
    if (system.os, system.arch) == ("linux", "x86_64") {
        return Finding::good(found);
    }
    Finding::bad("the taskwright binary in the images is built for x86-64 Linux")
        .found(found)
        .remedy(Remedy::any("build on such a machine, or in a container of one"))
}

fn git(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let why = "older ones do not know `git rev-parse --end-of-options`";
    at_least(
        machine,
        &["git", "--version"],
        (2, 30),
        why,
        Remedy::new("apt-get install git", "brew install git"),
    )
}

fn repository(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    match machine.run(&["git", "rev-parse", "--is-inside-work-tree"]) {
        Outcome::Ended { success: true, stdout, .. } if stdout.trim() == "true" => {
            Finding::good("a git work tree")
        }
        Outcome::Ended { stderr, .. } if stderr.contains("dubious ownership") => {
            Finding::bad("the workspace belongs to another user, so git refuses to read it")
                .remedy(Remedy::any(format!("git config --global --add safe.directory '{root}'")))
        }
        Outcome::Ended { success: false, stderr, .. } if !stderr.contains("not a git repository") => {
            Finding::Unknown(format!("git fails: {}", line(&stderr)))
        }
        Outcome::Ended { .. } => {
            Finding::bad("the workspace is in no git work tree: a baseline is a revision of it")
                .remedy(Remedy::any("git init && git add --all && git commit --message 'Start'"))
        }
        Outcome::TimedOut(limit) => slow("git rev-parse", limit),
        Outcome::NotFound | Outcome::NotStarted(_) => Finding::Unknown("only git can tell".to_owned()),
    }
}

fn cargo(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    // Cargo does not always follow the last number.
    rust(machine, root, "cargo", |found, pinned| found.numbers[..2] == pinned.numbers[..2])
}

fn rustc(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    rust(machine, root, "rustc", |found, pinned| found == pinned)
}

/// A program of the toolchain that `rust-toolchain.toml` names: another one makes another binary.
fn rust(
    machine: &dyn Machine,
    root: &Utf8Path,
    program: &str,
    is_it: fn(&Version, &Version) -> bool,
) -> Finding {
    let pinned = pinned_toolchain(machine, root);
    let toolchain = pinned.as_ref().map_or("stable", |version| &version.text);
    let rustup = format!("rustup toolchain install {toolchain}");
    match (ask(machine, &[program, "--version"]), &pinned) {
        (Ok(version), Some(pinned)) if !is_it(&version, pinned) => {
            Finding::bad(format!("rust-toolchain.toml pins {pinned}: another makes another binary"))
                .found(version.text)
                .remedy(Remedy::any(rustup))
        }
        (Ok(version), _) => Finding::Good(version.text),
        (Err(finding), _) => finding.remedy(Remedy::new(
            format!("apt-get install rustup && {rustup}"),
            format!("brew install rustup && {rustup}"),
        )),
    }
}

/// The toolchain's version; none if nothing, or a moving name such as `stable`, is pinned.
fn pinned_toolchain(machine: &dyn Machine, root: &Utf8Path) -> Option<Version> {
    let file: toml::Table = machine.read(&root.join("rust-toolchain.toml"))?.parse().ok()?;
    let channel = file.get("toolchain")?.get("channel")?.as_str()?;
    let version = Version::find(channel)?;
    (version.text == channel).then_some(version)
}

fn static_libc(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let remedy = || Remedy::new("apt-get install gcc libc6-dev", "build on x86-64 Linux");
    match machine.run(&["cc", "-print-file-name=libc.a"]) {
        Outcome::Ended { success: true, stdout, .. } => {
            // A compiler that does not find the file prints the bare name.
            let path = Utf8PathBuf::from(stdout.trim());
            if path.is_absolute() && machine.exists(&path) {
                Finding::good("libc.a")
            } else {
                Finding::bad("there is no libc.a: the taskwright binary is linked with `+crt-static`")
                    .remedy(remedy())
            }
        }
        Outcome::Ended { success: false, stderr, .. } => {
            Finding::bad(format!("`cc` fails: {}", line(&stderr))).remedy(remedy())
        }
        Outcome::NotFound => Finding::bad("`cc` is not on PATH: rustc links with it").remedy(remedy()),
        Outcome::NotStarted(words) => Finding::bad(format!("`cc` cannot be run: {words}")).remedy(remedy()),
        Outcome::TimedOut(limit) => slow("cc", limit),
    }
}

/// The folder that builds go to, or as much of it as is there.
fn target(machine: &dyn Machine, root: &Utf8Path) -> Utf8PathBuf {
    let target = root.join("target");
    if machine.exists(&target) { target } else { root.to_owned() }
}

fn disk_space(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    space(machine, &target(machine, root), BUILD_SPACE)
        .remedy(Remedy::any("cargo xtask clean --store, or remove something else"))
}

fn space(machine: &dyn Machine, folder: &Utf8Path, wanted: u64) -> Finding {
    match machine.free_bytes(folder) {
        Ok(free) if free >= wanted => Finding::good(gibibytes(free)),
        Ok(free) => Finding::bad(format!("at least {} are needed in `{folder}`", gibibytes(wanted)))
            .found(gibibytes(free)),
        Err(error) => Finding::bad(format!("`{folder}` cannot be looked at: {error}")),
    }
}

/// Bytes as GiB with one decimal, rounded down: what is said to be free is.
fn gibibytes(bytes: u64) -> String {
    let tenths = u128::from(bytes) * 10 / u128::from(GIB);
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}

fn reflinks(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    match machine.can_reflink(&target(machine, root)) {
        Ok(true) => Finding::good("yes"),
        // Most file systems cannot, and nobody has to do anything about it.
        Ok(false) => Finding::good("no: large files are hard-linked"),
        Err(error) => Finding::bad(format!("cannot be tried: {error}")),
    }
}

fn hard_links(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    let folder = target(machine, root);
    match machine.can_hard_link(&folder) {
        Ok(true) => Finding::good("yes"),
        Ok(false) => Finding::bad("large files are copied instead").found("no").remedy(Remedy::any(format!(
            "put `{folder}` on another file system, such as ext4, xfs or btrfs"
        ))),
        Err(error) => Finding::bad(format!("cannot be tried: {error}")),
    }
}

fn docker(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let start = || Remedy::new("systemctl start docker", "open -a Docker");
    match machine.run(&["docker", "version", "--format", "{{.Server.Version}}"]) {
        Outcome::Ended { success: true, stdout, .. } => Finding::good(match Version::find(&stdout) {
            Some(version) => version.text,
            None => line(&stdout),
        }),
        Outcome::Ended { success: false, stderr, .. } if stderr.contains("permission denied") => {
            Finding::bad("you may not talk to the engine").remedy(Remedy::new(
                "usermod --append --groups docker $USER, and log in again",
                "open -a Docker",
            ))
        }
        Outcome::Ended { success: false, stderr, .. } => {
            Finding::bad(format!("the engine cannot be reached: {}", line(&stderr))).remedy(start())
        }
        Outcome::NotFound => Finding::bad("`docker` is not on PATH")
            .remedy(Remedy::new("apt-get install docker.io", "brew install --cask docker-desktop")),
        Outcome::NotStarted(words) => Finding::bad(format!("`docker` cannot be run: {words}")),
        Outcome::TimedOut(limit) => {
            Finding::bad(format!("the engine did not answer within {} s", limit.as_secs_f64()))
                .remedy(Remedy::new("systemctl restart docker", "killall Docker && open -a Docker"))
        }
    }
}

/// Debian's own packages are too old before its release 14.
fn from_docker(package: &str) -> String {
    format!("apt-get install {package} (from https://download.docker.com/linux/debian)")
}

fn buildx(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let why = "docker compose builds images with it, and refuses older ones";
    let remedy = Remedy::new(from_docker("docker-buildx-plugin"), "brew install docker-buildx");
    at_least(machine, &["docker", "buildx", "version"], (0, 17), why, remedy)
}

fn compose(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let why = "`harbor lint` calls it with `--no-env-resolution`";
    let remedy = Remedy::new(from_docker("docker-compose-plugin"), "brew install docker-compose");
    at_least(machine, &["docker", "compose", "version", "--short"], (2, 40), why, remedy)
}

fn harbor(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let install = Remedy::any(format!("uv tool install --force harbor=={HARBOR_VERSION}"));
    match ask(machine, &["harbor", "--version"]) {
        Ok(version) if version.text == HARBOR_VERSION => Finding::Good(version.text),
        Ok(version) => Finding::bad(format!(
            "{HARBOR_VERSION} is pinned: another may mean something else by its results"
        ))
        .found(version.text)
        .remedy(install),
        Err(finding) => finding.remedy(on_path_or(machine, "harbor", install)),
    }
}

/// What to do about a program that uv or pip installs: it may be there and only the PATH not say so.
fn on_path_or(machine: &dyn Machine, program: &str, install: Remedy) -> Remedy {
    let bin = machine.home().map(|home| home.join(".local/bin"));
    match bin {
        Some(bin) if machine.exists(&bin.join(program)) => Remedy::any(format!(
            "export PATH=\"$HOME/.local/bin:$PATH\" ({program} is there), or {}",
            install.linux
        )),
        _ => install,
    }
}

fn uv(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    match ask(machine, &["uv", "--version"]) {
        Ok(version) => Finding::Good(version.text),
        Err(finding) => {
            let install = Remedy::new("curl -LsSf https://astral.sh/uv/install.sh | sh", "brew install uv");
            finding.remedy(on_path_or(machine, "uv", install))
        }
    }
}

fn python(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    match ask(machine, &["python3", "--version"]) {
        Ok(version) => Finding::Good(version.text),
        Err(finding) => finding.remedy(Remedy::new("apt-get install python3", "brew install python")),
    }
}

fn shared_memory(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let folder = Utf8Path::new("/dev/shm");
    if !machine.exists(folder) {
        return Finding::bad("without a folder in memory a benchmark measures the disk");
    }
    space(machine, folder, BENCH_SPACE)
        .remedy(Remedy::new("mount -o remount,size=2G /dev/shm (docker run --shm-size 2g)", ""))
}
