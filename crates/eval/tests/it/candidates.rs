//! Commits of hostile and of honest repositories, packed by real git and imported.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use taskwright_eval::sandbox::SandboxOptions;
use taskwright_eval::{
    Candidate, CommitId, ImportError, ImportLimits, IsolationMode, Refusal, Sandbox, Store,
};
use taskwright_language::model::Limits;
use taskwright_language::serve::ServeBaseline;
use taskwright_testing::test;

use crate::common::{TASKWRIGHT, folder, write};

/// A store, and an optimizer's repository beside it.
struct World {
    folder: tempfile::TempDir,
    baseline: ServeBaseline,
    store: Store,
}

impl World {
    fn new() -> Self {
        Self::with_read_only(&[])
    }

    fn with_read_only(patterns: &[&str]) -> Self {
        let folder = folder();
        let files = folder.path().join("baseline");
        write(files.join("main.py"), "print('baseline')\n");
        write(files.join("data/train.txt"), "one\r\ntwo\n");
        write(files.join(".gitattributes"), "* text eol=crlf ident\n*.txt filter=evil\n");
        write(files.join(".gitignore"), "*.txt\n");
        write(files.join("run.sh"), "#!/bin/sh\n");
        std::fs::set_permissions(files.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        let repo = folder.path().join("repo");
        copy(&files, &repo);
        git(&repo, &["init", "-q", "-b", "main"]);
        write(repo.join(".git/info/attributes"), "* -text -filter -ident -working-tree-encoding\n");
        git(&repo, &["add", "--all", "--force"]);
        git(&repo, &["commit", "-q", "-m", "Baseline"]);
        let baseline = ServeBaseline {
            commit: git(&repo, &["rev-parse", "HEAD"]),
            tree: git(&repo, &["rev-parse", "HEAD^{tree}"]),
            read_only: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
        };
        let store = open(folder.path(), &baseline).unwrap();
        Self { folder, baseline, store }
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.repo(), arguments)
    }

    /// Commits everything in the optimizer's work tree.
    fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "-q", "--no-verify", "-m", "change", "--allow-empty"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Commits a tree that was made by hand.
    fn commit_tree(&self, tree: &str) -> String {
        self.git(&["commit-tree", "-m", "by hand", "-p", &self.baseline.commit, tree])
    }

    /// Writes an object, however wrong it is.
    fn object(&self, kind: &str, content: &[u8]) -> String {
        let arguments = ["hash-object", "-w", "-t", kind, "--literally", "--stdin"];
        String::from_utf8(git_with(&self.repo(), &arguments, content)).unwrap().trim().to_owned()
    }

    fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut content = Vec::new();
        for (mode, name, object) in entries {
            content.extend(mode.as_bytes());
            content.push(b' ');
            content.extend(*name);
            content.push(0);
            content.extend((0..20).map(|i| u8::from_str_radix(&object[2 * i..2 * i + 2], 16).unwrap()));
        }
        self.object("tree", &content)
    }

    fn pack(&self, commit: &str) -> Vec<u8> {
        let range = format!("{commit}\n^{}\n", self.baseline.commit);
        git_with(&self.repo(), &["pack-objects", "-q", "--revs", "--stdout"], range.as_bytes())
    }

    fn import(&self, commit: &str, pack: &[u8], limits: &ImportLimits) -> Result<Candidate, ImportError> {
        self.store.import(&commit.parse().unwrap(), &mut &*pack, limits)
    }

    fn take_in(&self, commit: &str) -> Candidate {
        match self.import(commit, &self.pack(commit), &limits()) {
            Ok(candidate) => candidate,
            Err(error) => panic!("{error}"),
        }
    }

    fn refused(&self, commit: &str) -> Refusal {
        self.refused_with(commit, &self.pack(commit), &limits())
    }

    /// That a commit is refused, and leaves nothing behind.
    fn refused_with(&self, commit: &str, pack: &[u8], limits: &ImportLimits) -> Refusal {
        let refusal = match self.import(commit, pack, limits) {
            Err(ImportError::Refused(refusal)) => refusal,
            other => panic!("{other:?}"),
        };
        let id: CommitId = commit.parse().unwrap();
        assert_eq!(self.store.find(&id).unwrap(), None);
        let left = std::fs::read_dir(self.folder.path().join("store/incoming")).unwrap().count();
        assert_eq!(left, 0);
        let shown = Command::new("git")
            .args(["cat-file", "-e", commit])
            .env("GIT_DIR", self.folder.path().join("store/git"))
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!shown.success(), "{commit} was stored");
        refusal
    }
}

fn open(folder: &Path, baseline: &ServeBaseline) -> taskwright_base::Result<Store> {
    let sandbox = Sandbox::open(SandboxOptions {
        taskwright: TASKWRIGHT.into(),
        runtime: folder.join("run"),
        isolation: IsolationMode::BestEffort,
        path: Some("/usr/local/bin:/usr/bin:/bin".to_owned()),
        hidden: Vec::new(),
    })?;
    Store::open(&folder.join("store"), baseline, &folder.join("baseline"), sandbox)
}

fn limits() -> ImportLimits {
    ImportLimits { seconds: 600, ..ImportLimits::from(&Limits { candidate_mb: 8, ..Limits::default() }) }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(git_with(folder, arguments, b"")).unwrap().trim().to_owned()
}

fn git_with(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Taskwright")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "taskwright@localhost")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_DATE"), "1000000000 +0000")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("git ends");
    let _ = writer.join();
    assert!(output.status.success(), "git {arguments:?}");
    output.stdout
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([from, to]).status().expect("cp starts");
    assert!(status.success());
}

#[test]
fn an_honest_commit_comes_out_as_it_went_in() {
    let world = World::new();
    write(world.repo().join("main.py"), "print('$Id$')\r\n");
    write(world.repo().join("sub/deep/new.txt"), "new\n");
    write(world.repo().join("sub/tool"), "#!/bin/sh\n");
    std::fs::set_permissions(world.repo().join("sub/tool"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("../sub/deep", world.repo().join("sub/link")).unwrap();
    std::fs::remove_file(world.repo().join("run.sh")).unwrap();
    let commit = world.commit();
    let candidate = world.take_in(&commit);
    assert_eq!(candidate.tree.as_str(), world.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!((candidate.files, candidate.added_bytes), (7, 15 + 4 + 11));
    let checkout = world.store.checkout(&candidate).unwrap();
    let at = |path: &str| checkout.path().join(path);
    let read = |path: &str| std::fs::read_to_string(at(path)).unwrap();
    assert_eq!(read("main.py"), "print('$Id$')\r\n");
    assert_eq!(read("data/train.txt"), "one\r\ntwo\n");
    assert_eq!(read("sub/link/new.txt"), "new\n");
    assert!(!at("run.sh").exists() && !at(".git").exists());
    let mode = |path: &str| at(path).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("sub/tool"), mode("main.py"), mode("sub"), mode("")], [0o755, 0o644, 0o755, 0o755]);
    // The same tree is the same folder; taking it in again changes nothing, whatever is uploaded.
    assert_eq!(world.store.checkout(&candidate).unwrap().path(), checkout.path());
    assert_eq!(world.import(&commit, b"rubbish", &limits()).unwrap(), candidate);
    let diff = world.store.diff(&world.store.baseline().tree, &candidate.tree, 10_000).unwrap();
    assert!(diff.contains("+print('$Id$')") && diff.contains("sub/link"), "{diff}");
    assert_eq!(world.store.diff(&world.store.baseline().tree, &candidate.tree, 10).unwrap().len(), 10);
}

#[test]
fn what_was_taken_in_survives_and_can_be_bundled() {
    let world = World::new();
    write(world.repo().join("main.py"), "one\n");
    let one = world.commit();
    write(world.repo().join("main.py"), "two\n");
    let two = world.commit();
    let candidates = [world.take_in(&one), world.take_in(&two)];
    let World { folder, baseline, store } = world;
    drop(store);
    let store = open(folder.path(), &baseline).unwrap();
    for candidate in &candidates {
        assert_eq!(store.find(&candidate.commit).unwrap().as_ref(), Some(candidate));
        let checkout = store.checkout(candidate).unwrap();
        assert!(checkout.path().join("main.py").is_file());
    }
    let bundle = folder.path().join("candidates.bundle");
    store.bundle(&candidates.map(|candidate| candidate.commit), &bundle).unwrap();
    let listed = git(folder.path(), &["ls-remote", &bundle.to_string_lossy()]);
    for reference in [&one, &two] {
        assert!(listed.contains(&format!("{reference}\trefs/candidates/{reference}")), "{listed}");
    }
    assert!(listed.contains(&format!("{}\trefs/heads/baseline", baseline.commit)));
    git(folder.path(), &["clone", "-q", "--bare", &bundle.to_string_lossy(), "clone"]);
    let never: CommitId = "1".repeat(40).parse().unwrap();
    assert!(store.bundle(&[never], &bundle).unwrap_err().to_string().contains("never imported"));
}

#[test]
fn another_baseline_than_the_task_was_built_for_is_an_error() {
    let world = World::new();
    let World { folder, mut baseline, store } = world;
    drop(store);
    std::fs::remove_dir_all(folder.path().join("store")).unwrap();
    write(folder.path().join("baseline/main.py"), "changed\n");
    let error = open(folder.path(), &baseline).unwrap_err().to_string();
    assert!(error.contains("build the task again"), "{error}");
    "x".clone_into(&mut baseline.tree);
    assert!(open(folder.path(), &baseline).unwrap_err().to_string().contains("40 hexadecimal digits"));
}

#[test]
fn read_only_files_are_compared_with_the_baseline() {
    let world = World::with_read_only(&["data/**", "*.sh"]);
    write(world.repo().join("main.py"), "fine\n");
    world.take_in(&world.commit());
    let base = world.git(&["rev-parse", "HEAD"]);
    let restore = || world.git(&["reset", "-q", "--hard", &base]);
    let expect = |path: &str, change: &str| {
        let refusal = world.refused(&world.commit());
        assert_eq!(refusal, Refusal::ReadOnly { path: path.to_owned(), change: change.to_owned() });
        restore();
    };
    write(world.repo().join("data/train.txt"), "three\n");
    expect("data/train.txt", "changed");
    std::fs::set_permissions(world.repo().join("run.sh"), PermissionsExt::from_mode(0o644)).unwrap();
    expect("run.sh", "changed");
    std::fs::remove_file(world.repo().join("run.sh")).unwrap();
    expect("run.sh", "removed");
    write(world.repo().join("data/more.txt"), "more\n");
    expect("data/more.txt", "added");
    // A folder in place of a file, a link in place of a folder.
    std::fs::remove_dir_all(world.repo().join("data")).unwrap();
    symlink("sub", world.repo().join("data")).unwrap();
    expect("data/train.txt", "removed");
}

#[test]
fn every_commit_of_a_history_obeys_the_rules_of_the_last_one() {
    let world = World::with_read_only(&["data/**"]);
    let base = world.git(&["rev-parse", "HEAD"]);
    let outside = world.object("blob", b"/taskwright/dataset");
    let blob = world.object("blob", b"x");
    let baseline_tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    // Each stands below a commit with the baseline's own files.
    let below = |tree: &str| {
        let bad = world.commit_tree(tree);
        let tip = world.git(&["commit-tree", "-m", "clean again", "-p", &bad, &baseline_tree]);
        let objects = [tip.as_str(), &bad, tree, &outside, &blob].join("\n");
        let pack = git_with(&world.repo(), &["pack-objects", "-q", "--stdout"], objects.as_bytes());
        (bad, world.refused_with(&tip, &pack, &limits()).to_string())
    };
    for (mode, name, object, reason) in [
        ("160000", "module", world.baseline.commit.as_str(), "submodule"),
        ("120000", "link", &outside, "absolute"),
        // Everything else that the baseline has is gone.
        ("100644", "main.py", &blob, "`data/train.txt` is read-only and was removed"),
    ] {
        let (bad, said) = below(&world.tree(&[(mode, name.as_bytes(), object)]));
        assert!(said.contains(reason) || said.contains("read-only"), "{said}");
        assert!(said.contains(&bad), "{said}");
    }
    // What was changed is refused where it was, and what is restored is as good as new from there on.
    write(world.repo().join("data/train.txt"), "three\n");
    let changed = world.commit();
    world.git(&["checkout", "-q", &base, "--", "data/train.txt"]);
    let restored = world.commit();
    let said = world.refused(&restored).to_string();
    assert!(said.contains(&changed) && said.contains("`data/train.txt` is read-only"), "{said}");
    world.git(&["reset", "-q", "--soft", &base]);
    world.take_in(&world.commit());
    // Merges and many commits are as welcome as one.
    for number in 0..5 {
        write(world.repo().join("main.py"), format!("{number}\n"));
        world.commit();
    }
    world.git(&["checkout", "-q", "-b", "side", &base]);
    write(world.repo().join("side.txt"), "side\n");
    world.commit();
    world.git(&["merge", "-q", "--no-edit", "main"]);
    world.take_in(&world.git(&["rev-parse", "HEAD"]));
}

#[test]
fn objects_are_charged_with_what_they_take_of_the_disk() {
    let world = World::new();
    for number in 0..200 {
        write(world.repo().join(format!("tiny/{number}")), number.to_string());
    }
    let commit = world.commit();
    let pack = world.pack(&commit);
    assert!(pack.len() < 100_000);
    let few = ImportLimits { disk_bytes: 500_000, ..limits() };
    let refusal = world.refused_with(&commit, &pack, &few);
    assert!(matches!(refusal, Refusal::NoRoom { room: 500_000, .. }), "{refusal}");
    let enough = ImportLimits { disk_bytes: 2_000_000, ..limits() };
    world.import(&commit, &pack, &enough).unwrap();
    assert!(world.store.kept_bytes() > 500_000);
}

#[test]
fn hostile_trees_are_refused_by_name() {
    let world = World::new();
    let blob = world.object("blob", b"x");
    let outside = world.object("blob", b"/taskwright/dataset");
    let above = world.object("blob", b"../../etc");
    let empty = world.object("tree", b"");
    let inner = world.tree(&[("100644", b"config", &blob)]);
    let up = world.tree(&[("120000", b"link", &above)]);
    let cases: &[(&str, &[u8], &str, &str)] = &[
        ("160000", b"module", &world.baseline.commit, "submodule"),
        ("120000", b"link", &outside, "absolute"),
        ("40000", b"dir", &up, "leaves the tree"),
        ("40000", b".GIT", &inner, ""),
        ("40000", b".git", &inner, ""),
        ("40000", b"..", &inner, ""),
        ("40000", b".", &inner, ""),
        ("100644", b"a/b", &blob, ""),
        ("100644", b"", &blob, ""),
        ("100644", b"caf\xe9", &blob, "not UTF-8"),
        ("100644", b"a\nb", &blob, "control character"),
        ("100644", &[b'x'; 300], &blob, "too long"),
        ("10644", b"odd", &blob, ""),
        ("100644", b"missing", "1234567890123456789012345678901234567890", ""),
    ];
    for (mode, name, object, reason) in cases {
        let tree = world.tree(&[(mode, name, object)]);
        let commit = world.commit_tree(&tree);
        // Not by --revs, which would stumble over what is missing.
        let objects = [commit.as_str(), &tree, &blob, &outside, &above, &empty, &inner, &up].join("\n");
        let pack = git_with(&world.repo(), &["pack-objects", "-q", "--stdout"], objects.as_bytes());
        let refusal = world.refused_with(&commit, &pack, &limits()).to_string();
        assert!(refusal.contains(reason), "{}: {refusal}", String::from_utf8_lossy(name));
    }
    let twice = world.tree(&[("100644", b"a", &blob), ("120000", b"a", &outside)]);
    let commit = world.commit_tree(&twice);
    let objects = [commit.as_str(), &twice, &blob, &outside].join("\n");
    let pack = git_with(&world.repo(), &["pack-objects", "-q", "--stdout"], objects.as_bytes());
    world.refused_with(&commit, &pack, &limits());
}

#[test]
fn what_is_too_large_is_refused() {
    let world = World::new();
    // Ten million files in ten objects.
    let blob = world.object("blob", b"x");
    let mut tree = world.tree(&[("100644", b"x", &blob)]);
    for _ in 0..7 {
        let names: Vec<String> = (0..10).map(|i| i.to_string()).collect();
        let entries: Vec<(&str, &[u8], &str)> =
            names.iter().map(|name| ("40000", name.as_bytes(), tree.as_str())).collect();
        tree = world.tree(&entries);
    }
    let refusal = world.refused(&world.commit_tree(&tree));
    assert!(refusal.to_string().contains("the number of files and folders"), "{refusal}");
    // A file that packs to nothing.
    let zeros = world.object("blob", &vec![0; 9 << 20]);
    let refusal = world.refused(&world.commit_tree(&world.tree(&[("100644", b"zeros", &zeros)])));
    assert!(refusal.to_string().contains("an object of 9 MiB"), "{refusal}");
    // One that is there many times.
    let some = world.object("blob", &vec![1; 3 << 20]);
    let tree = world.tree(&[("100644", b"a", &some), ("100644", b"b", &some), ("100644", b"c", &some)]);
    let refusal = world.refused(&world.commit_tree(&tree));
    assert!(refusal.to_string().contains("9 MiB of files beside the baseline's"), "{refusal}");
    // Too deep.
    let mut deep = world.tree(&[("100644", b"x", &blob)]);
    for _ in 0..100 {
        deep = world.tree(&[("40000", b"d", &deep)]);
    }
    assert!(world.refused(&world.commit_tree(&deep)).to_string().contains("too deep"));
    // A large history behind a small tree.
    for byte in 0..8_u8 {
        let noise: Vec<u8> =
            (0..4_u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 ^ byte).collect();
        write(world.repo().join("noise"), noise);
        world.commit();
    }
    std::fs::remove_file(world.repo().join("noise")).unwrap();
    let refusal = world.refused_with(
        &world.commit(),
        &world.pack("HEAD"),
        &ImportLimits { unpacked_bytes: 16 << 20, pack_bytes: 1 << 30, ..limits() },
    );
    assert!(refusal.to_string().contains("history included"), "{refusal}");
}

#[test]
fn incomplete_and_damaged_uploads_are_refused() {
    let world = World::new();
    write(world.repo().join("main.py"), "one\n");
    let one = world.commit();
    write(world.repo().join("main.py"), "two\n");
    let two = world.commit();
    let whole = world.pack(&two);
    // The commit before it, or its files, are missing.
    for objects in [vec![two.as_str()], vec![two.as_str(), &world.git(&["rev-parse", "HEAD^{tree}"])]] {
        let pack =
            git_with(&world.repo(), &["pack-objects", "-q", "--stdout"], objects.join("\n").as_bytes());
        let refusal = world.refused_with(&two, &pack, &limits());
        assert!(matches!(refusal, Refusal::Incomplete { .. }), "{refusal}");
    }
    let never = "1".repeat(40);
    assert!(world.refused_with(&never, &whole, &limits()).to_string().contains("does not hold it"));
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    assert!(
        world.refused_with(&tree, &whole, &limits()).to_string().contains("something else than a commit")
    );
    for length in [0, 11, 12, 40, whole.len() - 21, whole.len() - 1] {
        let refusal = world.refused_with(&two, &whole[..length], &limits());
        assert!(matches!(refusal, Refusal::Damaged { .. }), "{refusal}");
    }
    let mut flipped = whole.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    assert!(matches!(world.refused_with(&two, &flipped, &limits()), Refusal::Damaged { .. }));
    // Differences to objects that are not in the pack.
    let thin = git_with(
        &world.repo(),
        &["pack-objects", "-q", "--revs", "--thin", "--stdout"],
        format!("{two}\n^{one}\n").as_bytes(),
    );
    world.refused_with(&two, &thin, &limits());
    // And all that was no obstacle to the honest upload.
    world.take_in(&two);
    world.take_in(&one);
}

#[test]
fn a_hostile_repository_has_no_say() {
    let world = World::new();
    let repo = world.repo();
    let proof = world.folder.path().join("proof");
    let evil = format!("#!/bin/sh\ntouch {}\n", proof.display());
    for hook in ["post-index-change", "pre-auto-gc", "reference-transaction", "post-checkout"] {
        write(repo.join(".git/hooks").join(hook), &evil);
        std::fs::set_permissions(repo.join(".git/hooks").join(hook), PermissionsExt::from_mode(0o755))
            .unwrap();
    }
    write(repo.join("main.py"), "print('changed')\n");
    write(repo.join(".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch%20/tmp/x\n");
    write(repo.join(".lfsconfig"), "[lfs]\n\turl = http://attacker\n");
    let commit = world.git(&["-c", "core.hooksPath=/dev/null", "rev-parse", "HEAD"]);
    let parent = commit.clone();
    world.git(&["-c", "core.hooksPath=/dev/null", "add", "--all", "--force"]);
    world.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "change"]);
    let commit = world.git(&["rev-parse", "HEAD"]);
    // Replaced objects, grafts, alternates and settings stay in the optimizer's repository.
    world.git(&["replace", "-f", &commit, &parent]);
    write(repo.join(".git/info/grafts"), format!("{commit}\n"));
    for (name, value) in [
        ("core.fsmonitor", proof.to_string_lossy().as_ref()),
        ("uploadpack.packObjectsHook", "touch"),
        ("filter.evil.smudge", &format!("touch {}", proof.display())),
        ("include.path", "/taskwright/serve.json"),
    ] {
        world.git(&["config", name, value]);
    }
    let pack = {
        let mut child = Command::new("git")
            .args(["pack-objects", "-q", "--revs", "--stdout"])
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .current_dir(&repo)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let range = format!("{commit}\n");
        child.stdin.take().unwrap().write_all(range.as_bytes()).unwrap();
        child.wait_with_output().unwrap().stdout
    };
    let _ = std::fs::remove_file(&proof);
    match world.import(&commit, &pack, &limits()) {
        Ok(candidate) => {
            let checkout = world.store.checkout(&candidate).unwrap();
            let main = std::fs::read_to_string(checkout.path().join("main.py")).unwrap();
            assert_eq!(main, "print('changed')\n");
        }
        // Git itself finds fault with such a .gitmodules.
        Err(ImportError::Refused(refusal)) => {
            assert!(refusal.to_string().contains("gitmodules"), "{refusal}");
        }
        Err(error) => panic!("{error}"),
    }
    assert!(!proof.exists());
    let git_dir = world.folder.path().join("store/git");
    for absent in ["info/grafts", "objects/info/alternates", "refs/replace", "hooks"] {
        assert!(!git_dir.join(absent).exists(), "{absent}");
    }
}

#[test]
fn many_at_once() {
    let world = World::new();
    let commits: Vec<(String, Vec<u8>)> = (0..8)
        .map(|i| {
            write(world.repo().join("main.py"), format!("print({i})\n"));
            let commit = world.commit();
            let pack = world.pack(&commit);
            (commit, pack)
        })
        .collect();
    std::thread::scope(|scope| {
        for (commit, pack) in commits.iter().chain(&commits) {
            let world = &world;
            scope.spawn(move || {
                let candidate = world.import(commit, pack, &limits()).unwrap();
                let checkout = world.store.checkout(&candidate).unwrap();
                assert!(checkout.path().join("main.py").is_file());
            });
        }
    });
}

#[test]
fn a_folder_is_taken_in_by_the_same_rules() {
    let world = World::with_read_only(&["data/**"]);
    let limits = ImportLimits::from(&Limits::default());
    let mine = world.folder.path().join("mine");
    copy(&world.folder.path().join("baseline"), &mine);
    assert_eq!(&world.store.take_folder(&mine, &limits).unwrap(), world.store.baseline());

    write(mine.join("main.py"), "print('mine')\n");
    let taken = world.store.take_folder(&mine, &limits).unwrap();
    assert_eq!(world.store.take_folder(&mine, &limits).unwrap(), taken);
    assert_eq!(world.store.find(&taken.commit).unwrap(), Some(taken.clone()));
    write(world.repo().join("main.py"), "print('mine')\n");
    world.commit();
    assert_eq!(taken.tree.as_str(), world.git(&["rev-parse", "HEAD^{tree}"]));
    let checkout = world.store.checkout(&taken).unwrap();
    assert_eq!(std::fs::read(checkout.path().join("main.py")).unwrap(), b"print('mine')\n");
    assert_eq!(std::fs::read(checkout.path().join("data/train.txt")).unwrap(), b"one\r\ntwo\n");

    write(mine.join("data/train.txt"), "other\n");
    let refused = world.store.take_folder(&mine, &limits).unwrap_err();
    assert!(matches!(refused, ImportError::Refused(Refusal::ReadOnly { .. })), "{refused}");
}
