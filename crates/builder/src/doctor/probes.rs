//! What is looked for, as a table in the order in which somebody sets a machine up.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_harbor::{HARBOR_VERSION, Release, tried};

use super::version::Version;
use super::{Finding, Hint, Machine, Outcome, Probe, Purpose, Trouble};

const BUILD: &[Purpose] = &[Purpose::Build];
const IMAGES: &[Purpose] = &[Purpose::Bake, Purpose::Run];
const RUN: &[Purpose] = &[Purpose::Run];
const BENCH: &[Purpose] = &[Purpose::Bench];

const GIB: u64 = 1 << 30;
/// What compiling the workspace and a few tasks take.
const BUILD_SPACE: u64 = 2 * GIB;
/// What a workspace of 1,000 generated tasks takes.
const BENCH_SPACE: u64 = GIB;

/// Everything that is looked for: its name, what it is needed for and whether that fails without, how to look, and what
/// mends it on Linux and on a Mac. In the last, `{harbor}` and `{toolchain}` stand for the pinned versions.
#[rustfmt::skip]
pub const ALL: &[Probe] = &[
    need("system",      BUILD,  system,        "build on such a machine, or in a container of one", "").where_compiled(),
    need("git",         BUILD,  git,           "apt-get install git", "brew install git"),
    need("repository",  BUILD,  repository,    "git init && git add --all && git commit --message 'Start'", ""),
    need("cargo",       BUILD,  cargo,         "apt-get install rustup && {toolchain}", "brew install rustup && {toolchain}").where_compiled(),
    need("rustc",       BUILD,  rustc,         "apt-get install rustup && {toolchain}", "brew install rustup && {toolchain}").where_compiled(),
    need("static libc", BUILD,  static_libc,   "apt-get install gcc libc6-dev", "build on x86-64 Linux").where_compiled(),
    need("disk space",  BUILD,  disk_space,    "cargo xtask clean --store, or remove something else", ""),
    need("reflinks",    BUILD,  reflinks,      "", "").that_helps(),
    need("hard links",  BUILD,  hard_links,    "put `target` on another file system, such as ext4, xfs or btrfs", "").that_helps(),
    need("docker",      IMAGES, docker,        "apt-get install docker.io", "brew install --cask docker-desktop"),
    // Debian's own packages of these two are too old before its release 14.
    need("buildx",      IMAGES, buildx,        "apt-get install docker-buildx-plugin (from https://download.docker.com/linux/debian)", "brew install docker-buildx"),
    need("compose",     RUN,    compose,       "apt-get install docker-compose-plugin (from https://download.docker.com/linux/debian)", "brew install docker-compose"),
    need("uv",          RUN,    uv,            "curl -LsSf https://astral.sh/uv/install.sh | sh", "brew install uv").that_helps(),
    need("harbor",      RUN,    harbor,        "uv tool install --force harbor=={harbor}", ""),
    need("python3",     RUN,    python,        "apt-get install python3", "brew install python").that_helps(),
    need("/dev/shm",    BENCH,  shared_memory, "mount -o remount,size=2G /dev/shm (docker run --shm-size 2g)", "-").that_helps(),
];

type Look = fn(&dyn Machine, &Utf8Path) -> Finding;

/// What it is needed for does not work without it.
const fn need(
    name: &'static str,
    needed_for: &'static [Purpose],
    look: Look,
    linux: &'static str,
    macos: &'static str,
) -> Probe {
    Probe { name, needed_for, required: true, compiles: false, look, linux, macos }
}

impl Probe {
    /// Needed only where the binary for the images is compiled.
    const fn where_compiled(self) -> Self {
        Self { compiles: true, ..self }
    }

    /// It only helps.
    const fn that_helps(self) -> Self {
        Self { required: false, ..self }
    }
}

/// Runs a program that ends well, and gives what it prints. Why there is nothing comes with the table's hint, but for a
/// program that does not end: it is there, and installing it again would not help.
fn output(machine: &dyn Machine, command: &[&str]) -> Result<(String, String), Trouble> {
    let (program, line) = (command.first().copied().unwrap_or_default(), command.join(" "));
    match machine.run(command) {
        Outcome::Ended { success: true, stdout, stderr } => Ok((stdout, stderr)),
        Outcome::Ended { stderr, .. } => {
            Err(Trouble::new(format!("`{line}` fails: {}", first_line(&stderr))))
        }
        Outcome::NotFound => Err(Trouble::new(format!("`{program}` is not on PATH"))),
        Outcome::NotStarted(words) => Err(Trouble::new(format!("`{program}` cannot be run: {words}"))),
        Outcome::TimedOut(limit) => {
            Err(Trouble::new(format!("`{line}` did not end within {} s", limit.as_secs_f64()))
                .hint(Hint::None))
        }
    }
}

/// The version that a program prints.
fn version(machine: &dyn Machine, command: &[&str]) -> Result<Version, Trouble> {
    let (stdout, stderr) = output(machine, command)?;
    Version::find(&stdout).or_else(|| Version::find(&stderr)).ok_or_else(|| {
        let trouble = Trouble::new(format!("`{}` names no version", command.join(" ")));
        if stdout.trim().is_empty() { trouble } else { trouble.found(first_line(&stdout)) }
    })
}

/// The same, which has to be one that serves.
fn serving(
    machine: &dyn Machine,
    command: &[&str],
    serves: impl Fn(&Version) -> bool,
    otherwise: impl Into<String>,
) -> Finding {
    let version = version(machine, command)?;
    if serves(&version) { Ok(version.text) } else { Err(Trouble::new(otherwise).found(version.text)) }
}

/// The first line of what a program printed, short enough for a table and without what would disturb a terminal.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing was printed");
    line.chars().filter(|c| !c.is_control()).take(120).collect()
}

fn system(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let system = machine.system();
    let found = format!("{} {}", system.os, system.arch);
    match (system.os, system.arch) {
        ("linux", "x86_64") => Ok(found),
        _ => Err(Trouble::new("the taskwright binary in the images is built for x86-64 Linux").found(found)),
    }
}

fn git(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let why = "at least 2.30 is needed: older ones do not know `git rev-parse --end-of-options`";
    serving(machine, &["git", "--version"], |version| version.is_at_least(2, 30), why)
}

fn repository(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    let unknown = |what: String| Err(Trouble::new(what).hint(Hint::None));
    match machine.run(&["git", "rev-parse", "--is-inside-work-tree"]) {
        Outcome::Ended { success: true, stdout, .. } if stdout.trim() == "true" => {
            Ok("a git work tree".to_owned())
        }
        Outcome::Ended { stderr, .. } if stderr.contains("dubious ownership") => {
            Err(Trouble::new("the workspace belongs to another user, so git refuses to read it")
                .hint(Hint::Other(format!("git config --global --add safe.directory '{root}'"))))
        }
        Outcome::Ended { success: false, stderr, .. } if !stderr.contains("not a git repository") => {
            unknown(format!("git fails: {}", first_line(&stderr)))
        }
        Outcome::Ended { .. } => {
            Err(Trouble::new("the workspace is in no git work tree: a baseline is a revision of it"))
        }
        Outcome::TimedOut(limit) => {
            unknown(format!("`git rev-parse` did not end within {} s", limit.as_secs_f64()))
        }
        Outcome::NotFound | Outcome::NotStarted(_) => unknown("only git can tell".to_owned()),
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
    let Some(pinned) = pinned_toolchain(machine, root) else {
        return version(machine, &[program, "--version"]).map(|version| version.text);
    };
    let why = format!("rust-toolchain.toml pins {pinned}: another makes another binary");
    serving(machine, &[program, "--version"], |found| is_it(found, &pinned), why).map_err(|trouble| {
        // It is there: only its toolchain is missing.
        if trouble.found.is_some() {
            trouble.hint(Hint::Other(install_toolchain(machine, root)))
        } else {
            trouble
        }
    })
}

/// The toolchain's version; none if nothing, or a moving name such as `stable`, is pinned.
fn pinned_toolchain(machine: &dyn Machine, root: &Utf8Path) -> Option<Version> {
    let file: toml::Table = machine.read(&root.join("rust-toolchain.toml"))?.parse().ok()?;
    let channel = file.get("toolchain")?.get("channel")?.as_str()?;
    let version = Version::find(channel)?;
    (version.text == channel).then_some(version)
}

fn install_toolchain(machine: &dyn Machine, root: &Utf8Path) -> String {
    let pinned = pinned_toolchain(machine, root);
    format!("rustup toolchain install {}", pinned.as_ref().map_or("stable", |version| &version.text))
}

/// A hint of the table, with the versions that are pinned.
pub(super) fn filled(hint: &str, machine: &dyn Machine, root: &Utf8Path) -> String {
    let hint = hint.replace("{harbor}", HARBOR_VERSION);
    if hint.contains("{toolchain}") {
        hint.replace("{toolchain}", &install_toolchain(machine, root))
    } else {
        hint
    }
}

fn static_libc(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let (path, _) = output(machine, &["cc", "-print-file-name=libc.a"]).map_err(|trouble| {
        let problem = format!("{}: rustc links with it", trouble.problem);
        Trouble { problem, ..trouble }
    })?;
    // A compiler that does not find the file prints the bare name.
    let path = Utf8PathBuf::from(path.trim());
    if path.is_absolute() && machine.exists(&path) {
        return Ok("libc.a".to_owned());
    }
    Err(Trouble::new("there is no libc.a: the taskwright binary is linked with `+crt-static`"))
}

/// The folder that builds go to, or as much of it as is there.
fn target(machine: &dyn Machine, root: &Utf8Path) -> Utf8PathBuf {
    let target = root.join("target");
    if machine.exists(&target) { target } else { root.to_owned() }
}

fn disk_space(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    space(machine, &target(machine, root), BUILD_SPACE)
}

fn space(machine: &dyn Machine, folder: &Utf8Path, wanted: u64) -> Finding {
    match machine.free_bytes(folder) {
        Ok(free) if free >= wanted => Ok(gibibytes(free)),
        Ok(free) => Err(Trouble::new(format!("at least {} are needed in `{folder}`", gibibytes(wanted)))
            .found(gibibytes(free))),
        Err(error) => Err(Trouble::new(format!("`{folder}` cannot be looked at: {error}"))),
    }
}

/// Bytes as GiB with one decimal, rounded down: what is said to be free is.
fn gibibytes(bytes: u64) -> String {
    let tenths = u128::from(bytes) * 10 / u128::from(GIB);
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}

fn reflinks(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    // Most file systems cannot, and nobody has to do anything about it.
    let can = machine.can_reflink(&target(machine, root)).map_err(not_tried)?;
    Ok(if can { "yes" } else { "no: large files are hard-linked" }.to_owned())
}

fn hard_links(machine: &dyn Machine, root: &Utf8Path) -> Finding {
    if machine.can_hard_link(&target(machine, root)).map_err(not_tried)? {
        Ok("yes".to_owned())
    } else {
        Err(Trouble::new("large files are copied instead").found("no"))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn not_tried(error: io::Error) -> Trouble {
    Trouble::new(format!("cannot be tried: {error}")).hint(Hint::None)
}

fn docker(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let engine = |problem: String, linux: &'static str, macos: &'static str| {
        Err(Trouble::new(problem).hint(Hint::Each { linux, macos }))
    };
    match machine.run(&["docker", "version", "--format", "{{.Server.Version}}"]) {
        Outcome::Ended { success: true, stdout, .. } => {
            Ok(Version::find(&stdout).map_or_else(|| first_line(&stdout), |version| version.text))
        }
        Outcome::Ended { stderr, .. } if stderr.contains("permission denied") => engine(
            "you may not talk to the engine".to_owned(),
            "usermod --append --groups docker $USER, and log in again",
            "open -a Docker",
        ),
        Outcome::Ended { stderr, .. } => engine(
            format!("the engine cannot be reached: {}", first_line(&stderr)),
            "systemctl start docker",
            "open -a Docker",
        ),
        Outcome::TimedOut(limit) => engine(
            format!("the engine did not answer within {} s", limit.as_secs_f64()),
            "systemctl restart docker",
            "killall Docker && open -a Docker",
        ),
        Outcome::NotFound => Err(Trouble::new("`docker` is not on PATH")),
        Outcome::NotStarted(words) => {
            Err(Trouble::new(format!("`docker` cannot be run: {words}")).hint(Hint::None))
        }
    }
}

fn buildx(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let why = "at least 0.17 is needed: docker compose builds images with it, and refuses older ones";
    serving(machine, &["docker", "buildx", "version"], |version| version.is_at_least(0, 17), why)
}

fn compose(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let why = "at least 2.40 is needed: `harbor lint` calls it with `--no-env-resolution`";
    serving(machine, &["docker", "compose", "version", "--short"], |version| version.is_at_least(2, 40), why)
}

fn uv(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let found = version(machine, &["uv", "--version"]).map(|version| version.text);
    found.map_err(|trouble| off_path(machine, "uv", trouble))
}

fn harbor(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let why = format!("{} were tried: another may mean something else by its results", tried());
    let command = ["harbor", "--version"];
    let found = serving(machine, &command, |version| Release::of(&version.text).is_some(), why);
    found.map_err(
        |trouble| if trouble.found.is_some() { trouble } else { off_path(machine, "harbor", trouble) },
    )
}

/// A program that uv or pip installs may be there, and only the PATH not say so.
fn off_path(machine: &dyn Machine, program: &str, trouble: Trouble) -> Trouble {
    let is_there = machine.home().is_some_and(|home| machine.exists(&home.join(".local/bin").join(program)));
    if is_there {
        trouble.hint(Hint::Or(format!("export PATH=\"$HOME/.local/bin:$PATH\" ({program} is there)")))
    } else {
        trouble
    }
}

fn python(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    version(machine, &["python3", "--version"]).map(|version| version.text)
}

fn shared_memory(machine: &dyn Machine, _: &Utf8Path) -> Finding {
    let folder = Utf8Path::new("/dev/shm");
    if !machine.exists(folder) {
        return Err(Trouble::new("without a folder in memory a benchmark measures the disk").hint(Hint::None));
    }
    space(machine, folder, BENCH_SPACE)
}
