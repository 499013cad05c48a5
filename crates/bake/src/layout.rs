//! The folder of the images: an OCI image layout (the OCI image specification, "Image Layout"), whose layers are kept once however many
//! images have them.
//!
//! ```text
//!   images/oci-layout  index.json        what there is: a task's image, or a base, by its name
//!          blobs/sha256/...              manifests, configurations, layers
//!          sbom/ provenance/             for each image, what is in it and where it comes from
//!          .taskwright/                  the lock, and what BuildKit is writing
//! ```
//!
//! What comes from `BuildKit` is read in whole before it is taken in: a layer is what its name says, or it is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, Read};

use camino::{Utf8Path, Utf8PathBuf};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use taskwright_base::error::failed;
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Digest, Error, Result};

/// The annotation that names an image.
const NAME: &str = "org.opencontainers.image.ref.name";
/// The annotation that says what an image was made from.
const INPUTS: &str = "taskwright.inputs";
/// The longest manifest or configuration that is read; registries refuse longer ones than 4 MiB.
const LONGEST: u64 = 4 << 20;

/// What a manifest or a layer is called by: its kind, digest and size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What it is.
    pub media_type: String,
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// What else is said of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The platform that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Value>,
}

impl Descriptor {
    /// The name that it has in an index.
    pub fn name(&self) -> Option<&str> {
        self.annotations.get(NAME).map(String::as_str)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    #[serde(default)]
    schema_version: u64,
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

/// What a manifest names: an image's configuration and layers, or the images of an index.
#[derive(Debug, Deserialize)]
struct Manifest {
    #[serde(default)]
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

/// The folder of the images.
#[derive(Debug)]
pub struct Layout {
    folder: Utf8PathBuf,
    index: Index,
}

/// Where in a folder of images work is done.
pub fn work_in(folder: &Utf8Path) -> Utf8PathBuf {
    folder.join(".taskwright")
}

impl Layout {
    /// Opens the folder, or makes it.
    ///
    /// # Errors
    /// It cannot be made or read, or is something else.
    pub fn open(folder: &Utf8Path) -> Result<Self> {
        let blobs = folder.join("blobs/sha256");
        fs::create_dir_all(&blobs).map_err(failed("creating", &blobs))?;
        let path = folder.join("index.json");
        let index = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Error::new(format!("`{path}` is no index of images: {error}"))
                    .hint(format!("remove `{folder}`, and bake again: all in it can be made again"))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Index::default(),
            Err(error) => return Err(Error::io("reading", &path, &error)),
        };
        Ok(Self { folder: folder.to_owned(), index })
    }

    /// Where it is.
    pub fn folder(&self) -> &Utf8Path {
        &self.folder
    }

    /// Where work is done.
    pub fn work(&self) -> Utf8PathBuf {
        work_in(&self.folder)
    }

    /// An image by its name, if its manifest is still there.
    pub fn named(&self, name: &str) -> Option<&Descriptor> {
        let found = self.index.manifests.iter().find(|image| image.name() == Some(name))?;
        self.blob(&found.digest).exists().then_some(found)
    }

    /// An image that was made from the same.
    pub fn made_from(&self, inputs: &Digest) -> Option<&Descriptor> {
        let inputs = inputs.to_string();
        let found =
            self.index.manifests.iter().find(|image| image.annotations.get(INPUTS) == Some(&inputs))?;
        self.blob(&found.digest).exists().then_some(found)
    }

    /// Names an image, in the place of the one that had the name.
    pub fn name(&mut self, name: &str, image: &Descriptor, inputs: &Digest) {
        self.index.manifests.retain(|image| image.name() != Some(name));
        let mut image = image.clone();
        image.annotations.insert(NAME.to_owned(), name.to_owned());
        image.annotations.insert(INPUTS.to_owned(), inputs.to_string());
        self.index.manifests.push(image);
    }

    /// Forgets images by their names.
    pub fn keep(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.index.manifests.retain(|image| image.name().is_some_and(&is_kept));
    }

    /// Where a blob is, or would be.
    pub fn blob(&self, digest: &Digest) -> Utf8PathBuf {
        self.folder.join("blobs/sha256").join(digest.hex())
    }

    /// Gives `BuildKit` the layers of the bases, so that it does not write them again: a folder to export to.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn lend(&self, to: &Utf8Path, bases: &[Descriptor]) -> Result<()> {
        let blobs = to.join("blobs/sha256");
        fs::create_dir_all(&blobs).map_err(failed("creating", &blobs))?;
        for base in bases {
            for blob in self.all_of(base)? {
                let lent = blobs.join(blob.digest.hex());
                if !lent.exists() {
                    // What cannot be lent is written once more.
                    let _ = fs::hard_link(self.blob(&blob.digest), lent);
                }
            }
        }
        Ok(())
    }

    /// Takes in what `BuildKit` has exported to a folder, and says which image it is.
    ///
    /// # Errors
    /// Something is missing there, or is not what its name says.
    pub fn take(&self, from: &Utf8Path) -> Result<Descriptor> {
        let exported = Self { folder: from.to_owned(), index: Self::open(from)?.index };
        let [image] = exported.index.manifests.as_slice() else {
            return Err(Error::new(format!(
                "BuildKit exported {} images where one was asked for",
                exported.index.manifests.len()
            )));
        };
        for blob in exported.all_of(image)? {
            let (from, to) = (exported.blob(&blob.digest), self.blob(&blob.digest));
            if to.exists() {
                continue;
            }
            let found = Digest::of_file(&from).map_err(failed("reading", &from))?;
            if found != blob.digest {
                return Err(Error::new(format!("BuildKit exported {} as {}", found, blob.digest))
                    .hint("its cache is damaged: `docker builder prune`, and bake again"));
            }
            fs::rename(&from, &to).map_err(failed("moving", &from))?;
        }
        // When an image was made is not said, and what an export calls it means nothing here.
        Ok(Descriptor { annotations: BTreeMap::new(), ..image.clone() })
    }

    /// Everything that an image is made of, itself first.
    ///
    /// # Errors
    /// A manifest cannot be read.
    pub fn all_of(&self, image: &Descriptor) -> Result<Vec<Descriptor>> {
        let mut all = vec![image.clone()];
        let mut next = 0;
        while let Some(at) = all.get(next).cloned() {
            next += 1;
            if let Some(manifest) = self.manifest(&at)? {
                all.extend(manifest.config.into_iter().chain(manifest.layers).chain(manifest.manifests));
            }
        }
        Ok(all)
    }

    /// The layers of an image, of each of its platforms one after the other.
    ///
    /// # Errors
    /// A manifest cannot be read.
    pub fn layers(&self, image: &Descriptor) -> Result<Vec<Descriptor>> {
        let Some(manifest) = self.manifest(image)? else { return Ok(Vec::new()) };
        let mut layers = manifest.layers;
        for image in &manifest.manifests {
            layers.extend(self.layers(image)?);
        }
        Ok(layers)
    }

    /// The instruction that made each layer of an image for one platform, as its configuration has it.
    pub fn instructions(&self, image: &Descriptor) -> Vec<String> {
        #[derive(Deserialize)]
        struct Step {
            #[serde(default)]
            created_by: String,
            #[serde(default)]
            empty_layer: bool,
        }
        #[derive(Deserialize)]
        struct Config {
            #[serde(default)]
            history: Vec<Step>,
        }
        let config = self.manifest(image).ok().flatten().and_then(|manifest| manifest.config);
        let text = config.and_then(|config| self.read(&config).ok()).unwrap_or_default();
        let config = serde_json::from_slice::<Config>(&text);
        let steps = config.into_iter().flat_map(|config| config.history).filter(|step| !step.empty_layer);
        steps.map(|step| step.created_by).collect()
    }

    /// What a layer holds, entry by entry.
    ///
    /// # Errors
    /// It cannot be opened, or is of a kind that is not read.
    pub fn contents(&self, layer: &Descriptor) -> Result<tar::Archive<Box<dyn Read>>> {
        let path = self.blob(&layer.digest);
        let file = BufReader::new(File::open(&path).map_err(failed("reading", &path))?);
        let reader: Box<dyn Read> = if layer.media_type.ends_with("gzip") {
            Box::new(MultiGzDecoder::new(file))
        } else if layer.media_type.ends_with("tar") {
            Box::new(file)
        } else {
            return Err(Error::new(format!("layers of the kind `{}` are not read", layer.media_type)));
        };
        Ok(tar::Archive::new(reader))
    }

    fn manifest(&self, of: &Descriptor) -> Result<Option<Manifest>> {
        if !of.media_type.contains("manifest") && !of.media_type.contains("image.index") {
            return Ok(None);
        }
        let bytes = self.read(of)?;
        let manifest = serde_json::from_slice(&bytes)
            .map_err(|error| Error::new(format!("{} is no manifest: {error}", of.digest)))?;
        Ok(Some(manifest))
    }

    fn read(&self, blob: &Descriptor) -> Result<Vec<u8>> {
        let path = self.blob(&blob.digest);
        let size = fs::metadata(&path).map_err(failed("reading", &path))?.len();
        if size > LONGEST {
            return Err(Error::new(format!(
                "`{path}` is {size} bytes long, and a manifest is no longer than {LONGEST}"
            )));
        }
        fs::read(&path).map_err(failed("reading", &path))
    }

    /// Writes down what there is.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&mut self) -> Result<()> {
        self.index.schema_version = 2;
        "application/vnd.oci.image.index.v1+json".clone_into(&mut self.index.media_type);
        self.index.manifests.sort_by(|one, other| one.name().cmp(&other.name()));
        let text = serde_json::to_vec_pretty(&self.index).unwrap_or_default();
        atomic(self.folder.join("oci-layout"), Durable::No, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
        atomic(self.folder.join("index.json"), Durable::Yes, &text)
    }

    /// Removes the blobs that no image has, and what work has left.
    ///
    /// # Errors
    /// A manifest cannot be read, or a blob not removed.
    pub fn sweep(&self) -> Result<()> {
        let mut needed = BTreeSet::new();
        for image in &self.index.manifests {
            needed.extend(self.all_of(image)?.into_iter().map(|blob| blob.digest.hex()));
        }
        let blobs = self.folder.join("blobs/sha256");
        for entry in blobs.read_dir_utf8().map_err(failed("reading", &blobs))?.flatten() {
            if !needed.contains(entry.file_name()) {
                fs::remove_file(entry.path()).map_err(failed("removing", entry.path()))?;
            }
        }
        Ok(())
    }
}
