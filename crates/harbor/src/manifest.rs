//! `dataset.toml`: the set of tasks that is published together, each with the digest of its content.
//!
//! What is written here is what `harbor sync` writes, to the byte: Harbor changes nothing about it.

mod text;

use serde::Deserialize;
use taskwright_base::{Error, Result};
use toml::{Table, Value};

use crate::names::check_task_name;
use crate::task_toml::PackageInfo;

/// The name of the file.
pub const FILE: &str = "dataset.toml";

/// A set of tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The comments at its head, which Harbor keeps; it drops all others.
    header: String,
    /// The set's name, version and authorship.
    pub dataset: PackageInfo,
    /// The tasks.
    pub tasks: Vec<TaskRef>,
    /// Files that belong to the set as a whole.
    pub files: Vec<FileRef>,
    /// Whatever else is said of it.
    pub metadata: Table,
}

/// A task of a set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskRef {
    /// `organization/name`.
    pub name: String,
    /// The digest of its content, `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

/// A file of a set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FileRef {
    /// Its name, beside the manifest.
    pub path: String,
    /// The SHA-256 of its bytes; empty where nobody has looked yet.
    #[serde(default)]
    pub digest: String,
}

// Unlike `task.toml`'s, Harbor passes over what it does not know here as well: nothing is refused that Harbor takes.
#[derive(Deserialize)]
struct Document {
    dataset: Dataset,
    #[serde(default)]
    tasks: Vec<TaskRef>,
    #[serde(default)]
    files: Vec<FileRef>,
    #[serde(default)]
    metadata: Table,
}

#[derive(Deserialize)]
struct Dataset {
    name: String,
    version: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    authors: Vec<crate::task_toml::Author>,
    #[serde(default)]
    keywords: Vec<String>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// What Harbor refuses: text that is no TOML, a set without a name, a file in another folder.
    pub fn parse(text: &str) -> Result<Self> {
        let Document { dataset, tasks, files, metadata } =
            toml::from_str(text).map_err(|error| Error::new(error.to_string().trim_end().to_owned()))?;
        check_task_name(&dataset.name)
            .map_err(|error| Error::new(format!("the data set's name: {error}")))?;
        if let Some(file) = files.iter().find(|file| file.path.contains(['/', '\\'])) {
            return Err(Error::new(format!("the file `{}` is in another folder", file.path))
                .hint("files of a data set lie beside its `dataset.toml`"));
        }
        let Dataset { name, version, description, authors, keywords } = dataset;
        Ok(Self {
            header: text
                .split_inclusive('\n')
                .take_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
                .collect(),
            dataset: PackageInfo { name, version, description, authors, keywords },
            tasks,
            files,
            metadata,
        })
    }

    /// The file's text, as Harbor writes it.
    ///
    /// # Errors
    /// A text in it that Harbor's own writer damages.
    pub fn to_toml(&self) -> Result<String> {
        // Taken apart by name, so that a new field cannot be forgotten. The order is Harbor's.
        let PackageInfo { name, version, description, authors, keywords } = &self.dataset;
        let mut dataset = vec![("name", Value::from(name.as_str()))];
        dataset.extend(version.iter().map(|version| ("version", version.as_str().into())));
        dataset.push(("description", description.as_str().into()));
        if authors.is_empty() {
            dataset.push(("authors", Value::Array(Vec::new())));
        }
        dataset.push(("keywords", keywords.clone().into()));
        let author = |author: &crate::task_toml::Author| {
            let email = author.email.clone().map(|email| ("email", email));
            std::iter::once(("name", author.name.clone())).chain(email).collect()
        };
        let mut head = text::table("dataset", &dataset)?;
        if !authors.is_empty() {
            head.push_str(&text::list("dataset.authors", authors.iter().map(author))?);
        }
        let tasks =
            self.tasks.iter().map(|task| vec![("name", task.name.clone()), ("digest", task.digest.clone())]);
        let files =
            self.files.iter().map(|file| vec![("path", file.path.clone()), ("digest", file.digest.clone())]);
        let mut parts = vec![head, text::list("tasks", tasks)?];
        if !self.files.is_empty() {
            parts.push(text::list("files", files)?);
        }
        if !self.metadata.is_empty() {
            parts.push(text::tables("metadata", &self.metadata)?);
        }
        Ok(self.header.clone() + &parts.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python;
    use taskwright_testing::test;

    const WRITTEN: &str = "# Ours.\n\n[dataset]\nname = \"acme/sorting\"\nversion = \"1.0.0\"\n\
        description = '''it's \"fast\", 漢字, \u{200b}and\ttabs\nand lines \\ '''\nkeywords = [\"a\", \"b c\"]\n\
        authors = [{ name = \"Ä\" }, { name = \"B\", email = \"b@example.org\" }]\n\
        [[files]]\npath = \"metric.py\"\n[[tasks]] # gone\nname = \"acme/one\"\ndigest = \"sha256:DD\"\n\
        [metadata]\nday = 2026-01-02\nshare = 0.5\n\"odd key\" = true\n[metadata.harbor.lint]\nignore = [\"x\"]\n\
        [[metadata.list]]\na = 1\n[metadata.list.below]\nb = [[1, 2], []]\n[metadata.empty]\n";

    fn written() -> String {
        WRITTEN.replace("DD", &"d".repeat(64))
    }

    #[test]
    fn harbor_writes_the_same() {
        let harbor = python::of_harbor();
        let script = "import sys\nfrom harbor.models.dataset.manifest import DatasetManifest\n\
                      sys.stdout.write(DatasetManifest.from_toml(sys.stdin.read()).to_toml())";
        for text in [
            written(),
            format!(
                "[dataset]\nname = \"a/b\"\n[[tasks]]\nname = \"a/c\"\ndigest = \"sha256:{}\"\n",
                "0".repeat(64)
            ),
        ] {
            let ours = Manifest::parse(&text).unwrap().to_toml().unwrap();
            assert_eq!(python::run(&harbor, script, &ours), ours, "{text}");
            assert_eq!(Manifest::parse(&ours).unwrap().to_toml().unwrap(), ours);
        }
    }

    #[test]
    fn what_harbor_refuses_is_refused() {
        for (text, said) in [
            ("[dataset\n", "line 1"),
            ("[dataset]\ndescription = \"x\"\n", "missing field `name`"),
            ("[dataset]\nname = \"sorting\"\n", "the data set's name"),
            ("[dataset]\nname = \"a/b\"\n[[files]]\npath = \"x/y\"\n", "in another folder"),
        ] {
            let error = Manifest::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        let mut manifest = Manifest::parse("[dataset]\nname = \"a/b\"\n").unwrap();
        manifest.dataset.description = "a\\x41".to_owned();
        assert!(manifest.to_toml().unwrap_err().to_string().contains("damages"));
    }
}
