//! The baseline: plain files of a git revision with overlays, and the commit that the optimizer will start from.

use std::io::Read;
use std::sync::Arc;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use taskwright_harbor::digest::is_ignored_by_default;
use taskwright_language::model::{Baseline, BaselineSource};

use super::repositories::{self, Located};
use super::{Context, git_identity, listing};
use crate::git::Repository;
use crate::inputs::{Group, Kind, Recorder};
use crate::key::Key;
use crate::observe::Boundary;
use crate::store::Store;
use crate::tree::{Blob, Entry, LARGE, Tree};
use taskwright_base::Digest;
use taskwright_base::text::clean;
use taskwright_base::{Error, Result};

/// What the first bytes of a file say that git-lfs keeps elsewhere.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// A baseline, ready to be put into tasks.
pub struct Node {
    pub tree: Tree,
    pub digest: Digest,
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

/// The baseline of a build that is the same for all tasks that say the same of it.
pub fn shared(context: &Context<'_>, baseline: &Baseline) -> Result<Arc<Node>> {
    context.shared.baselines.get(&id(baseline), || make(context, baseline))
}

/// Makes a baseline, or takes it from the store.
fn make(context: &Context<'_>, baseline: &Baseline) -> Result<Node> {
    let id = id(baseline);
    let remembered = context.state.baselines.get(&id).filter(|node| node.group.is_unchanged(context.root()));
    let mut recorder = context.recorder();
    let (mut tree, key, group) = match (remembered, baseline.source) {
        (_, BaselineSource::WorkTree) => {
            let tree = work_tree(context, baseline, &mut recorder)?;
            tree.check_scripts(
                &format!("the baseline `{}`", baseline.path.as_path()),
                baseline.path.as_path(),
            )
            .map_err(|error| error.at(&["baseline", "path"]))?;
            (tree, Key::new("work tree", 1), Arc::new(recorder.finish()))
        }
        (remembered, BaselineSource::Commit) => {
            let loaded = remembered.and_then(|node| Some((load(context, &node.key)?, node)));
            if let Some((tree, node)) = loaded {
                (tree, node.key.clone(), Arc::clone(&node.group))
            } else {
                let (tree, key) = commit(context, baseline, &mut recorder)?;
                (tree, key, Arc::new(recorder.finish()))
            }
        }
    };
    // Overlays are read on their own: only what the revision was read from spares us from asking git again.
    let mut recorder = context.recorder();
    let read_only = overlay(context, baseline, &mut recorder, &mut tree)?;
    tree.check(&format!("the baseline `{}`", baseline.path.as_path()))
        .map_err(|error| error.at(&["baseline", "path"]))?;
    if tree.is_empty() {
        return Err(Error::new(format!("the baseline `{}` holds no file", baseline.path.as_path()))
            .hint("commit at least one file that the optimizer can improve")
            .at(&["baseline", "path"]));
    }
    let tree_id = git_identity::tree(&tree, context.store)?;
    let commit = git_identity::commit(&tree_id);
    let digest = tree.digest();
    listing::remember(context.store, "baseline", &tree, digest)?;
    context.boundary(Boundary::Baseline)?;
    Ok(Node { tree, digest, tree_id, commit, read_only, group, overlays: Arc::new(recorder.finish()), key })
}

fn commit(context: &Context<'_>, baseline: &Baseline, recorder: &mut Recorder<'_>) -> Result<(Tree, Key)> {
    let at_path = |error: Error| error.at(&["baseline", "path"]);
    let place = locate(context, baseline, recorder)?;
    // What is looked at now can only be older than git's answer: a change in between is seen the next time.
    watch(context, &place, baseline, recorder)?;
    let has_files = place.repository()?.work_tree.is_some();
    if has_files && baseline.rev == "HEAD" {
        refuse_changes(context, &place, baseline)?;
    }
    let rev = baseline.rev.as_str();
    let commit = place.commit(rev).map_err(|error| error.at(&["baseline", "rev"]))?.ok_or_else(|| {
        let shown = baseline.git.as_ref().unwrap_or(&baseline.path).as_path();
        Error::new(format!("git knows no revision `{rev}` in the repository of `{shown}`"))
            .hint("commit first, fetch it, or correct `baseline.rev`")
            .at(&["baseline", "rev"])
    })?;
    if has_files && rev == "HEAD" {
        refuse_unrecorded(&place, baseline, &commit).map_err(at_path)?;
    }
    let tree_id = match place.object(context, rev, &commit).map_err(at_path)? {
        Some((kind, id)) if kind == "tree" => id,
        Some(_) => {
            return Err(at_path(Error::new(format!(
                "`{}` is not a folder in revision `{rev}`",
                place.inside
            ))));
        }
        None => {
            let short = &commit[..commit.len().min(12)];
            return Err(at_path(
                Error::new(format!("revision `{rev}` ({short}) has no folder `{}`", place.inside))
                    .hint("commit the folder, or correct `baseline.path`"),
            ));
        }
    };
    let mut key = Key::new("baseline", 1);
    key.add("baseline.tree", &tree_id);
    if let Some(tree) = load(context, &key) {
        return Ok((tree, key));
    }
    context.may_make(&format!("archiving `{}`", baseline.path.as_path()))?;
    let manifest = archive(context, place.repository()?, &tree_id).map_err(at_path)?;
    context.keep(&key, &manifest)?;
    let tree = load(context, &key).ok_or_else(|| {
        Error::new("the store lost a baseline that was just put into it")
            .hint("check the disk, and build again")
    })?;
    Ok((tree, key))
}

/// The repository, and the baseline's path from its root.
fn locate(context: &Context<'_>, baseline: &Baseline, recorder: &mut Recorder<'_>) -> Result<Located> {
    let path = baseline.path.as_path();
    if let Some(git) = &baseline.git {
        if !context.root().join(git.as_path()).is_dir() {
            return Err(Error::new(format!("`{}` does not exist", git.as_path()))
                .hint("`baseline.git` is the folder of a git repository on this machine: clone it first")
                .at(&["baseline", "git"]));
        }
        return repositories::place(context, baseline);
    }
    recorder.stay_inside(path).map_err(|error| error.at(&["baseline", "path"]))?;
    match recorder.kind(path)? {
        Some(Kind::Folder) => repositories::place(context, baseline),
        Some(_) => Err(Error::new(format!("`{path}` is not a folder")).at(&["baseline", "path"])),
        None => Err(Error::new(format!("`{path}` does not exist"))
            .hint("create the folder, add the files that the optimizer starts from, and commit them")
            .at(&["baseline", "path"])),
    }
}

fn refuse_changes(context: &Context<'_>, place: &Located, baseline: &Baseline) -> Result<()> {
    let changes = place.changes(context).map_err(|error| error.at(&["baseline", "path"]))?;
    if changes.is_empty() {
        return Ok(());
    }
    let shown: Vec<_> = changes.iter().take(10).map(|line| format!("  {}", clean(line))).collect();
    let more =
        if changes.len() > 10 { format!("\n  and {} more", changes.len() - 10) } else { String::new() };
    Err(Error::new(format!(
        "the baseline `{}` has uncommitted changes that would not be built:\n{}{more}",
        baseline.path.as_path(),
        shown.join("\n")
    ))
    .hint(match baseline.git {
        None => "commit them, or say `source = \"work-tree\"` to build the files as they are on disk",
        Some(_) => "commit them, or name the commit to be built in `baseline.rev`",
    })
    .at(&["baseline", "path"]))
}

/// Refuses a submodule that stands at another commit than the repository around it records: a fresh clone would build that
/// one.
fn refuse_unrecorded(place: &Located, baseline: &Baseline, commit: &str) -> Result<()> {
    let around = place.superproject()?;
    let Some((above, path)) = around.as_ref() else { return Ok(()) };
    let recorded = match above.commit("HEAD")? {
        Some(head) => above.objects(&head, &[path])?.remove(path).map(|(_, id)| id),
        None => None,
    };
    if recorded.as_deref() == Some(commit) {
        return Ok(());
    }
    let short = |id: &str| id.get(..12).unwrap_or(id).to_owned();
    let recorded = recorded.map_or_else(|| "no commit".to_owned(), |id| format!("commit {}", short(&id)));
    Err(Error::new(format!(
        "the baseline `{}` is in the submodule `{path}`, which is at commit {}, while the repository around it records \
         {recorded}",
        baseline.path.as_path(),
        short(commit)
    ))
    .hint("commit the submodule in the repository around it, run `git submodule update`, or name a commit in `baseline.rev`")
    .at(&["baseline", "path"]))
}

/// Remembers everything that the revision and the absence of changes were read from.
fn watch(
    context: &Context<'_>,
    place: &Located,
    baseline: &Baseline,
    recorder: &mut Recorder<'_>,
) -> Result<()> {
    let repository = place.repository()?;
    let rev = baseline.rev.as_str();
    let is_commit = rev.len() >= 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit {
        return Ok(());
    }
    let mut files = vec![repository.git_dir.join("HEAD"), repository.common_dir.join("packed-refs")];
    if rev != "HEAD" {
        // In git's order: a new tag can take over the name of a branch.
        let places = ["", "refs", "refs/tags", "refs/heads", "refs/remotes"];
        files.extend(places.iter().map(|place| repository.common_dir.join(place).join(rev)));
    }
    match place.reference(rev)?.as_deref() {
        _ if repository.common_dir.join("reftable").exists() => recorder.set_volatile(),
        None => recorder.set_volatile(),
        Some("HEAD") => {}
        Some(reference) => files.push(repository.common_dir.join(reference)),
    }
    if rev == "HEAD"
        && let Some(top) = &repository.work_tree
    {
        files.push(repository.git_dir.join("index"));
        // A rule in any of these can make an ignored file an uncommitted one.
        files.extend(place.inside.ancestors().map(|folder| top.join(folder).join(".gitignore")));
        files.push(repository.common_dir.join("info/exclude"));
        let folder = match baseline.git {
            None => baseline.path.as_path().to_owned(),
            Some(_) => relative(context.root(), &top.join(&place.inside)),
        };
        // Where the folder is not there, git's answer is the error.
        if recorder.kind(&folder)? == Some(Kind::Folder) {
            watch_folder(&folder, recorder)?;
        }
        // What the repository around a submodule records lies in files of its own.
        if place.superproject()?.is_some() {
            recorder.set_volatile();
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

fn watch_folder(folder: &Utf8Path, recorder: &mut Recorder<'_>) -> Result<()> {
    for (name, kind) in recorder.folder(folder)? {
        let path = folder.join(&name);
        match kind {
            // What git keeps for itself is no part of the work tree, and what is neither file nor folder git passes over.
            Kind::Folder if name == ".git" => {}
            Kind::Other => {}
            Kind::Folder => watch_folder(&path, recorder)?,
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
    let cleanroom = context.workspace.cache_dir();
    let (manifest, folders) =
        repository.archive(tree_id, &cleanroom, context.stop, |reader| unpack(reader, context.store))?;
    let empty = empty_folders(&folders, &manifest.files);
    if let Some((path, _)) =
        repository.objects(tree_id, &empty)?.into_iter().find(|(_, (kind, _))| kind == "commit")
    {
        return Err(Error::new(format!(
            "the baseline holds the submodule `{path}`, whose files git does not archive"
        ))
        .hint("copy its files in with an overlay, or commit them instead of the submodule"));
    }
    Ok(manifest)
}

/// Reads an archive into the store; what comes with the manifest are the folders, to tell submodules by.
fn unpack(reader: &mut dyn Read, store: &Store) -> Result<(Manifest, Vec<String>)> {
    let what = "the archive of the baseline";
    let broken = |error: std::io::Error| Error::new(format!("{what} cannot be read: {error}"));
    let mut files = Vec::new();
    let mut folders = Vec::new();
    let mut archive = tar::Archive::new(reader);
    for member in archive.entries().map_err(broken)? {
        let mut member = member.map_err(broken)?;
        let path = String::from_utf8(member.path_bytes().into_owned()).map_err(|error| {
            let name = String::from_utf8_lossy(error.as_bytes()).into_owned();
            Error::new(format!("the baseline holds a name that is not UTF-8: `{name}`")).hint("rename it")
        })?;
        let kind = member.header().entry_type();
        if kind.is_dir() {
            folders.push(path);
            continue;
        }
        if kind.is_pax_global_extensions() {
            continue;
        }
        let kind = if kind.is_symlink() {
            let target = member.link_name_bytes().unwrap_or_default().into_owned();
            let target = String::from_utf8(target).map_err(|_| {
                Error::new(format!("the symbolic link `{path}` has a target that is not UTF-8"))
            })?;
            MemberKind::Symlink { target }
        } else if kind.is_file() {
            let executable = member.header().mode().map_err(broken)? & 0o100 != 0;
            let size = member.size();
            let blob = if size < LARGE {
                let mut bytes = Vec::new();
                member.read_to_end(&mut bytes).map_err(broken)?;
                if bytes.starts_with(LFS_POINTER) {
                    return Err(Error::new(format!(
                        "the baseline's `{path}` is a git-lfs pointer, not the file"
                    ))
                    .hint("run `git lfs pull` and commit the file itself, or bring it in with an overlay"));
                }
                store.add_bytes(&bytes)?
            } else {
                store.add_stream(Utf8Path::new(&path), &mut member)?
            };
            if blob.size != size {
                return Err(Error::new(format!("{what} ends in the middle of `{path}`")));
            }
            MemberKind::File { blob, executable }
        } else {
            return Err(Error::new(format!(
                "the baseline holds `{path}`, which is neither a file nor a link"
            )));
        };
        files.push(Member { path, kind });
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok((Manifest { files }, folders))
}

/// Folders of an archive without a file: git knows no empty folders, so each is a submodule, or all of its files are kept
/// out by `export-ignore`.
fn empty_folders<'a>(folders: &'a [String], files: &[Member]) -> Vec<&'a Utf8Path> {
    let is_empty = |folder: &&String| {
        let at = files.partition_point(|file| file.path.as_str() < folder.as_str());
        !files.get(at).is_some_and(|file| file.path.starts_with(folder.as_str()))
    };
    folders.iter().filter(is_empty).map(|folder| Utf8Path::new(folder.trim_end_matches('/'))).collect()
}

/// The files of a remembered archive, unless some of it is lost or damaged; small ones are held in memory, because every
/// task that uses them writes them out.
fn load(context: &Context<'_>, key: &Key) -> Option<Tree> {
    let manifest: Manifest = context.known(key)?;
    let mut tree = Tree::default();
    for member in manifest.files {
        let entry = match member.kind {
            MemberKind::Symlink { target } => Entry::Symlink { target },
            MemberKind::File { blob, executable } => {
                if !context.store.holds(blob) {
                    return None;
                }
                Entry::File { content: context.store.content(blob).ok()?, executable }
            }
        };
        tree.insert(member.path, entry);
    }
    Some(tree)
}

fn work_tree(context: &Context<'_>, baseline: &Baseline, recorder: &mut Recorder<'_>) -> Result<Tree> {
    let place = locate(context, baseline, recorder)?;
    // Which files count depends on the index and on ignore rules, which only git can tell.
    recorder.set_volatile();
    let mut tree = Tree::default();
    for file in place.repository()?.work_tree_files(&place.inside)? {
        let Ok(member) = file.path.strip_prefix(&place.inside) else { continue };
        let path = baseline.path.as_path().join(member);
        if is_ignored_by_default(member.as_str()) {
            continue;
        }
        match recorder.kind(&path)? {
            None if file.is_hidden => {
                return Err(Error::new(format!(
                    "`{path}` is committed and not on disk: a sparse checkout leaves it out"
                ))
                .hint("`git sparse-checkout disable` brings it back; `source = \"commit\"` builds what is committed")
                .at(&["baseline", "path"]));
            }
            // Deleted on disk and still in the index: as on disk is what the spec asks for.
            None => {}
            Some(Kind::Folder) => {
                return Err(Error::new(format!("the baseline holds the submodule `{member}`"))
                    .hint("copy its files in with an overlay, or commit them instead of the submodule")
                    .at(&["baseline", "path"]));
            }
            Some(Kind::Other) => {
                return Err(Error::new(format!("`{path}` is neither a file, a folder nor a symbolic link"))
                    .at(&["baseline", "path"]));
            }
            Some(Kind::Symlink) => tree.insert(member.as_str(), recorder.symlink(&path)?),
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
        let at = |key: &'static str| {
            let index = index.clone();
            move |error: Error| error.at(&["baseline", "overlays", &index, key])
        };
        let from = overlay.from.as_path();
        let brought = recorder.tree(from, context.store).map_err(at("from"))?;
        let above = match recorder.kind_behind(from).map_err(at("from"))? {
            Some(Kind::Folder) => from,
            _ => from.parent().unwrap_or(from),
        };
        brought.check_scripts(&format!("the overlay `{from}`"), above).map_err(at("from"))?;
        let folder = folder_of_overlay(&overlay.to);
        refuse_file_as_folder(tree, &folder).map_err(at("to"))?;
        tree.graft(&folder, &brought);
        if overlay.read_only {
            let full =
                |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
            protected.extend(brought.iter().map(|(path, _)| full(path)));
        }
    }
    Ok(protected)
}

/// The folder that an overlay is put into, from the baseline's root, which is empty.
pub fn folder_of_overlay(to: &str) -> String {
    let names = Utf8Path::new(to).components().filter_map(|part| match part {
        Utf8Component::Normal(name) => Some(name),
        _ => None,
    });
    names.collect::<Vec<_>>().join("/")
}

/// Refuses a folder for an overlay that is a file of the baseline, or lies in one.
fn refuse_file_as_folder(tree: &Tree, folder: &str) -> Result<()> {
    let ends = folder.match_indices('/').map(|(end, _)| end).chain([folder.len()]);
    let Some(file) = ends.map(|end| &folder[..end]).find(|path| tree.get(path).is_some()) else {
        return Ok(());
    };
    let above = file.rsplit_once('/').map_or(".", |(above, _)| above);
    Err(Error::new(format!(
        "`{file}` is a file of the baseline, and `to` is the folder that the overlay is put into"
    ))
    .hint(format!("to put a file in its place write `to = \"{above}\"`")))
}
