//! The baseline: plain files of a git revision with overlays, and the commit that the optimizer will start from.

use std::fs::{self, File};
use std::io::Read;
use std::sync::Arc;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use sha1::{Digest as _, Sha1};
use taskwright_harbor::names::is_ignored_by_default;
use taskwright_spec::model::{Baseline, BaselineSource};

use super::Context;
use crate::error::{BuildError, Result, failed};
use crate::git::Repository;
use crate::inputs::{Group, Kind, Recorder};
use crate::key::Key;
use crate::observe::Boundary;
use crate::store::Store;
use crate::tree::{Blob, Content, Entry, LARGE, Tree, check_member};

/// Who made the baseline's commit, and when: the same for every task, so that the commit depends on the files alone.
pub const COMMIT_IDENTITY: &str = "Taskwright <taskwright@localhost>";
/// Seconds since 1970, in UTC.
pub const COMMIT_TIME: u64 = 1_000_000_000;
/// The baseline commit's message.
pub const COMMIT_MESSAGE: &str = "Baseline";

/// What the first bytes of a file say that git-lfs keeps elsewhere.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// A baseline, ready to be put into tasks.
pub struct Node {
    /// Its files.
    pub tree: Tree,
    /// The identifier of the git tree of these files.
    pub tree_id: String,
    /// The identifier of the commit that the optimizer starts from.
    pub commit: String,
    /// Paths that overlays brought and that a candidate must leave as they are.
    pub read_only: Vec<String>,
    /// What the files before overlays were read from.
    pub group: Arc<Group>,
    /// What the overlays were read from.
    pub overlays: Arc<Group>,
    /// The key of the files before overlays.
    pub key: Key,
}

/// What the store remembers of an archive.
#[derive(Serialize, Deserialize)]
struct Manifest {
    files: Vec<Member>,
}

#[derive(Serialize, Deserialize)]
struct Member {
    path: String,
    kind: MemberKind,
}

#[derive(Serialize, Deserialize)]
enum MemberKind {
    File { blob: Blob, executable: bool },
    Symlink { target: String },
}

/// A name for a baseline: two specs that say the same of it share the node.
pub fn id(baseline: &Baseline) -> String {
    serde_json::to_string(baseline).unwrap_or_default()
}

/// Makes a baseline, or takes it from the store.
pub fn make(context: &Context<'_>, baseline: &Baseline) -> Result<Node> {
    let id = id(baseline);
    let remembered = context.state.baselines.get(&id).filter(|node| node.group.is_unchanged(context.root()));
    let mut recorder = Recorder::new(context.root(), context.cache);
    let (mut tree, key, group) = match (remembered, baseline.source) {
        (_, BaselineSource::WorkTree) => {
            let tree = work_tree(context, baseline, &mut recorder)?;
            (tree, Key::new("work tree", 1), Arc::new(recorder.finish()))
        }
        (Some(node), BaselineSource::Commit) if context.store.step::<Manifest>(&node.key).is_some() => {
            (load(context, &node.key)?, node.key.clone(), Arc::clone(&node.group))
        }
        (_, BaselineSource::Commit) => {
            let (tree, key) = commit(context, baseline, &mut recorder)?;
            (tree, key, Arc::new(recorder.finish()))
        }
    };
    // Overlays are read on their own: only what the revision was read from spares us from asking git again.
    let mut recorder = Recorder::new(context.root(), context.cache);
    let read_only = overlay(context, baseline, &mut recorder, &mut tree)?;
    tree.check(&format!("the baseline `{}`", baseline.path.as_path()))
        .map_err(|error| error.at(&["baseline", "path"]))?;
    if tree.is_empty() {
        return Err(BuildError::new(format!("the baseline `{}` holds no file", baseline.path.as_path()))
            .hint("commit at least one file that the optimizer can improve")
            .at(&["baseline", "path"]));
    }
    let tree_id = git_tree(&tree, context.store)?;
    let commit = git_commit(&tree_id);
    context.boundary(Boundary::Baseline)?;
    Ok(Node { tree, tree_id, commit, read_only, group, overlays: Arc::new(recorder.finish()), key })
}

fn commit(context: &Context<'_>, baseline: &Baseline, recorder: &mut Recorder<'_>) -> Result<(Tree, Key)> {
    let at_path = |error: BuildError| error.at(&["baseline", "path"]);
    let (repository, inside) = locate(context, baseline, recorder)?;
    if baseline.git.is_none() && baseline.rev == "HEAD" {
        refuse_changes(&repository, &inside, baseline)?;
    }
    let tree_id = repository.tree(&baseline.rev, &inside).map_err(|error| {
        let field = if error.to_string().contains("knows no revision") { "rev" } else { "path" };
        error.at(&["baseline", field])
    })?;
    watch(context, &repository, &inside, baseline, recorder)?;
    let mut key = Key::new("baseline", 1);
    key.add("baseline.tree", &tree_id);
    if context.store.step::<Manifest>(&key).is_none() {
        context.may_make(&format!("archiving `{}`", baseline.path.as_path()))?;
        let manifest = archive(context, &repository, &tree_id).map_err(at_path)?;
        context.store.remember(&key, &manifest)?;
    }
    Ok((load(context, &key)?, key))
}

/// The repository, and the baseline's path from its root.
fn locate(
    context: &Context<'_>,
    baseline: &Baseline,
    recorder: &mut Recorder<'_>,
) -> Result<(Repository, Utf8PathBuf)> {
    let path = baseline.path.as_path();
    if let Some(git) = &baseline.git {
        let folder = context.root().join(git.as_path());
        if !folder.is_dir() {
            return Err(BuildError::new(format!("`{}` does not exist", git.as_path()))
                .hint("`baseline.git` is the folder of a git repository on this machine: clone it first")
                .at(&["baseline", "git"]));
        }
        let repository = Repository::containing(&folder).map_err(|error| error.at(&["baseline", "git"]))?;
        let inside = if path == "." { Utf8PathBuf::new() } else { path.to_owned() };
        return Ok((repository, inside));
    }
    match recorder.kind(path)? {
        Some(Kind::Folder) => {}
        Some(_) => {
            return Err(BuildError::new(format!("`{path}` is not a folder")).at(&["baseline", "path"]));
        }
        None => {
            return Err(BuildError::new(format!("`{path}` does not exist"))
                .hint("create the folder, add the files that the optimizer starts from, and commit them")
                .at(&["baseline", "path"]));
        }
    }
    let folder = context.root().join(path);
    let repository = Repository::containing(&folder).map_err(|error| error.at(&["baseline", "path"]))?;
    let Some(top) = &repository.work_tree else {
        return Err(BuildError::new(format!(
            "`{path}` is in a bare repository, which has no files to look at"
        ))
        .hint("name the bare repository in `baseline.git`, and the folder inside it in `baseline.path`")
        .at(&["baseline", "path"]));
    };
    let real = folder.canonicalize_utf8().map_err(failed("resolving", &folder))?;
    let real_top = top.canonicalize_utf8().map_err(failed("resolving", top))?;
    let inside = real.strip_prefix(&real_top).map(Utf8Path::to_owned).map_err(|_| {
        BuildError::new(format!("`{path}` is not inside the git work tree `{top}`")).at(&["baseline", "path"])
    })?;
    Ok((repository, inside))
}

fn refuse_changes(repository: &Repository, inside: &Utf8Path, baseline: &Baseline) -> Result<()> {
    let changes = repository.changes(inside).map_err(|error| error.at(&["baseline", "path"]))?;
    if changes.is_empty() {
        return Ok(());
    }
    let shown: Vec<_> = changes.iter().take(10).map(|line| format!("  {line}")).collect();
    let more =
        if changes.len() > 10 { format!("\n  and {} more", changes.len() - 10) } else { String::new() };
    Err(BuildError::new(format!(
        "the baseline `{}` has uncommitted changes that would not be built:\n{}{more}",
        baseline.path.as_path(),
        shown.join("\n")
    ))
    .hint("commit them, or say `source = \"work-tree\"` to build the files as they are on disk")
    .at(&["baseline", "path"]))
}

/// Remembers everything that the revision and the absence of changes were read from.
fn watch(
    context: &Context<'_>,
    repository: &Repository,
    inside: &Utf8Path,
    baseline: &Baseline,
    recorder: &mut Recorder<'_>,
) -> Result<()> {
    let rev = baseline.rev.as_str();
    let is_commit = rev.len() >= 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit {
        return Ok(());
    }
    let mut files = vec![repository.git_dir.join("HEAD"), repository.common_dir.join("packed-refs")];
    match (rev, repository.reference(rev)) {
        _ if repository.common_dir.join("reftable").exists() => recorder.set_volatile(),
        ("HEAD", None) | (_, None) => recorder.set_volatile(),
        (_, Some(reference)) if reference == "HEAD" => {}
        (_, Some(reference)) => files.push(repository.common_dir.join(reference)),
    }
    if baseline.git.is_none() && rev == "HEAD" {
        files.push(repository.git_dir.join("index"));
        if let Some(top) = &repository.work_tree {
            // A rule in any of these can make an ignored file an uncommitted one.
            files.extend(inside.ancestors().map(|folder| top.join(folder).join(".gitignore")));
            files.push(repository.common_dir.join("info/exclude"));
            watch_folder(context, baseline.path.as_path(), recorder)?;
        }
    }
    for file in files {
        let path = relative(context.root(), &file);
        if recorder.kind(&path)?.is_some() {
            recorder.digest(&path)?;
        }
    }
    Ok(())
}

fn watch_folder(context: &Context<'_>, folder: &Utf8Path, recorder: &mut Recorder<'_>) -> Result<()> {
    for (name, kind) in recorder.folder(folder)? {
        let path = folder.join(&name);
        match kind {
            Kind::Folder => watch_folder(context, &path, recorder)?,
            Kind::File => {
                recorder.digest(&path)?;
            }
            Kind::Symlink => recorder.link(&path)?,
        }
    }
    Ok(())
}

/// A path relative to the root where it is below it.
fn relative(root: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    path.strip_prefix(root).map_or_else(|_| path.to_owned(), Utf8Path::to_owned)
}

fn archive(context: &Context<'_>, repository: &Repository, tree_id: &str) -> Result<Manifest> {
    let listed = repository.list(tree_id)?;
    if let Some((_, path)) = listed.iter().find(|(mode, _)| mode == "160000") {
        return Err(BuildError::new(format!(
            "the baseline holds the submodule `{path}`, whose files git does not archive"
        ))
        .hint("copy its files in with an overlay, or commit them instead of the submodule"));
    }
    let cleanroom = context.workspace.cache_dir();
    repository.archive(tree_id, &cleanroom, context.stop, |reader| unpack(reader, context.store))
}

fn unpack(reader: &mut dyn Read, store: &Store) -> Result<Manifest> {
    let what = "the archive of the baseline";
    let broken = |error: std::io::Error| BuildError::new(format!("{what} cannot be read: {error}"));
    let mut files = Vec::new();
    let mut archive = tar::Archive::new(reader);
    for member in archive.entries().map_err(broken)? {
        let mut member = member.map_err(broken)?;
        let path = String::from_utf8(member.path_bytes().into_owned()).map_err(|error| {
            let name = String::from_utf8_lossy(error.as_bytes()).into_owned();
            BuildError::new(format!("the baseline holds a name that is not UTF-8: `{name}`"))
                .hint("rename it")
        })?;
        let kind = member.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        check_member("the baseline", &path)?;
        let kind = if kind.is_symlink() {
            let target = member.link_name_bytes().unwrap_or_default().into_owned();
            let target = String::from_utf8(target).map_err(|_| {
                BuildError::new(format!("the symbolic link `{path}` has a target that is not UTF-8"))
            })?;
            MemberKind::Symlink { target }
        } else if kind.is_file() {
            let executable = member.header().mode().map_err(broken)? & 0o100 != 0;
            let size = member.size();
            let blob = if size < LARGE {
                let mut bytes = Vec::new();
                member.read_to_end(&mut bytes).map_err(broken)?;
                if bytes.starts_with(LFS_POINTER) {
                    return Err(BuildError::new(format!(
                        "the baseline's `{path}` is a git-lfs pointer, not the file"
                    ))
                    .hint("run `git lfs pull` and commit the file itself, or bring it in with an overlay"));
                }
                store.add_bytes(&bytes)?
            } else {
                store.add_stream(Utf8Path::new(&path), &mut member)?
            };
            if blob.size != size {
                return Err(BuildError::new(format!("{what} ends in the middle of `{path}`")));
            }
            MemberKind::File { blob, executable }
        } else {
            return Err(BuildError::new(format!(
                "the baseline holds `{path}`, which is neither a file nor a link"
            )));
        };
        files.push(Member { path, kind });
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(Manifest { files })
}

/// The files of a remembered archive; small ones are held in memory, because every task that uses them writes them out.
fn load(context: &Context<'_>, key: &Key) -> Result<Tree> {
    let manifest: Manifest = context
        .store
        .step(key)
        .ok_or_else(|| BuildError::new("the store lost a baseline").hint("build again"))?;
    let mut tree = Tree::default();
    for member in manifest.files {
        let entry = match member.kind {
            MemberKind::Symlink { target } => Entry::Symlink { target },
            MemberKind::File { blob, executable } => {
                let content = if blob.size < LARGE {
                    Content::Bytes(context.store.read(blob)?.into(), blob.digest)
                } else if context.store.holds(blob) {
                    Content::Blob(blob)
                } else {
                    return Err(lost(context, key));
                };
                Entry::File { content, executable }
            }
        };
        tree.insert(member.path, entry);
    }
    Ok(tree)
}

/// Forgets a remembered archive whose bytes are gone.
fn lost(context: &Context<'_>, key: &Key) -> BuildError {
    context.store.forget(key);
    BuildError::new("the store lost a file of a baseline").hint("build again: it will be archived anew")
}

fn work_tree(context: &Context<'_>, baseline: &Baseline, recorder: &mut Recorder<'_>) -> Result<Tree> {
    let (repository, inside) = locate(context, baseline, recorder)?;
    // Which files count depends on the index and on ignore rules, which only git can tell.
    recorder.set_volatile();
    let mut tree = Tree::default();
    for file in repository.work_tree_files(&inside)? {
        let Ok(member) = file.strip_prefix(&inside) else { continue };
        let path = baseline.path.as_path().join(member);
        check_member("the baseline", member.as_str())?;
        if is_ignored_by_default(member.as_str()) {
            continue;
        }
        match recorder.kind(&path)? {
            // Deleted on disk and still in the index: as on disk is what the spec asks for.
            None => {}
            Some(Kind::Folder) => {
                return Err(BuildError::new(format!("the baseline holds the submodule `{member}`"))
                    .hint("copy its files in with an overlay, or commit them instead of the submodule")
                    .at(&["baseline", "path"]));
            }
            Some(Kind::Symlink) => {
                let target =
                    fs::read_link(context.root().join(&path)).map_err(failed("reading the link", &path))?;
                let target = target.to_string_lossy().into_owned();
                tree.insert(member.as_str(), Entry::Symlink { target });
            }
            Some(Kind::File) => tree.insert(member.as_str(), recorder.entry(&path, context.store)?),
        }
    }
    Ok(tree)
}

/// Copies the overlays over the files, and says which paths they protect.
fn overlay(
    context: &Context<'_>,
    baseline: &Baseline,
    recorder: &mut Recorder<'_>,
    tree: &mut Tree,
) -> Result<Vec<String>> {
    let mut protected = Vec::new();
    for (index, overlay) in baseline.overlays.iter().enumerate() {
        let index = index.to_string();
        let brought = recorder
            .tree(overlay.from.as_path(), context.store)
            .map_err(|error| error.at(&["baseline", "overlays", &index, "from"]))?;
        let folder: Vec<_> = Utf8Path::new(&overlay.to)
            .components()
            .filter_map(|part| match part {
                Utf8Component::Normal(name) => Some(name),
                _ => None,
            })
            .collect();
        let folder = folder.join("/");
        tree.graft(&folder, &brought);
        if overlay.read_only {
            let full =
                |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
            protected.extend(brought.iter().map(|(path, _)| full(path)));
        }
    }
    Ok(protected)
}

/// The identifier that git gives to a tree of these files, by the object format of git's own documentation: a blob is
/// `blob SIZE\0BYTES`, a tree is `tree SIZE\0` and `MODE NAME\0ID` for each entry, sorted as if folders ended in `/`.
fn git_tree(tree: &Tree, store: &Store) -> Result<String> {
    let mut blobs = Vec::new();
    for (path, entry) in tree.iter() {
        let (mode, id) = match entry {
            Entry::Symlink { target } => ("120000", git_object("blob", target.as_bytes())),
            Entry::File { content, executable } => {
                let mode = if *executable { "100755" } else { "100644" };
                (mode, git_blob(content, store)?)
            }
        };
        blobs.push((path, mode, id));
    }
    Ok(hex(&git_folder(&blobs, "")))
}

/// The tree of the entries below a folder, which `blobs` holds in path order.
fn git_folder(blobs: &[(&str, &str, [u8; 20])], folder: &str) -> [u8; 20] {
    let mut entries: Vec<(String, &str, &str, [u8; 20])> = Vec::new();
    let mut rest = blobs;
    while let Some((path, mode, id)) = rest.first() {
        let name = &path[folder.len()..];
        if let Some((child, _)) = name.split_once('/') {
            let below = format!("{folder}{child}/");
            let count = rest.iter().take_while(|(path, ..)| path.starts_with(&below)).count();
            entries.push((format!("{child}/"), "40000", child, git_folder(&rest[..count], &below)));
            rest = &rest[count..];
        } else {
            entries.push((name.to_owned(), mode, name, *id));
            rest = &rest[1..];
        }
    }
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    let mut bytes = Vec::new();
    for (_, mode, name, id) in entries {
        bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        bytes.extend_from_slice(&id);
    }
    git_object("tree", &bytes)
}

fn git_blob(content: &Content, store: &Store) -> Result<[u8; 20]> {
    let blob = match content {
        Content::Bytes(bytes, _) => return Ok(git_object("blob", bytes)),
        Content::Blob(blob) => blob,
    };
    let path = store.blob_path(blob.digest, false);
    let mut file = File::open(&path).map_err(failed("opening", &path))?;
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", blob.size));
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match file.read(&mut buffer).map_err(failed("reading", &path))? {
            0 => return Ok(hasher.finalize().into()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn git_object(kind: &str, bytes: &[u8]) -> [u8; 20] {
    let mut hasher = Sha1::new();
    hasher.update(format!("{kind} {}\0", bytes.len()));
    hasher.update(bytes);
    hasher.finalize().into()
}

/// The identifier of the baseline's commit of a tree.
fn git_commit(tree_id: &str) -> String {
    let who = format!("{COMMIT_IDENTITY} {COMMIT_TIME} +0000");
    let text = format!("tree {tree_id}\nauthor {who}\ncommitter {who}\n\n{COMMIT_MESSAGE}\n");
    hex(&git_object("commit", text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
