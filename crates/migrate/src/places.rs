//! Where the configuration lies, where its spec will, and paths from the one as the other has to write them.

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_language::normalize;

/// Where the configuration and its spec lie. All paths are absolute and without links as far as they exist.
#[derive(Debug, Clone)]
pub struct Places {
    /// The workspace's root.
    pub root: Utf8PathBuf,
    /// The folder that gets a folder for the spec.
    pub specs: Utf8PathBuf,
    /// The configuration.
    pub file: Utf8PathBuf,
}

impl Places {
    /// What a path of the configuration names.
    pub fn named(&self, path: &str) -> Utf8PathBuf {
        let folder = self.file.parent().unwrap_or(Utf8Path::new("/"));
        Utf8Path::new("/").join(normalize(&folder.join(path)))
    }

    /// What a path of the spec names, whose folder need not be there yet.
    pub fn named_by_spec(&self, name: &str, path: &Utf8Path) -> Utf8PathBuf {
        Utf8Path::new("/").join(normalize(&self.specs.join(name).join(path)))
    }

    /// Whether something lies in the workspace.
    pub fn holds(&self, path: &Utf8Path) -> bool {
        path.starts_with(&self.root)
    }

    /// A path from the folder of the spec, which lies `name` deep among the specs.
    pub fn from_spec(&self, name: &str, path: &Utf8Path) -> String {
        relative(&self.specs.join(name), path)
    }

    /// A path as somebody at the workspace's root would type it.
    pub fn shown<'a>(&self, path: &'a Utf8Path) -> &'a Utf8Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

fn relative(folder: &Utf8Path, path: &Utf8Path) -> String {
    let common = folder.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| "..");
    let down = path.components().skip(common).map(|component| component.as_str());
    let parts: Vec<&str> = up.chain(down).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_from_the_spec() {
        let places = Places {
            root: "/w".into(),
            specs: "/w/harbor-tasks".into(),
            file: "/w/suite/a/build.yaml".into(),
        };
        for (path, from_spec) in [
            ("target", "../../suite/a/target"),
            ("../tasks/", "../../suite/tasks"),
            ("../../harbor-tasks/x/y", "y"),
            ("../../harbor-tasks/x", "."),
            ("/elsewhere", "../../../elsewhere"),
        ] {
            assert_eq!(places.from_spec("x", &places.named(path)), from_spec);
            assert_eq!(places.named_by_spec("x", from_spec.into()), places.named(path));
        }
        assert!(!places.holds(&places.named("../../../up")));
        assert_eq!(places.shown(&places.named("target")), "suite/a/target");
    }
}
