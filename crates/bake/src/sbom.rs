//! What is in an image: its packages, as an SPDX document (SPDX 2.3, JSON) beside the images.
//!
//! Debian's packages are those that `dpkg` knows, Python's those whose `METADATA` lies in a `.dist-info` folder. What an image
//! holds otherwise is not said. A layer is read once, however many images have it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use taskwright_base::Result;
use taskwright_base::error::failed;
use taskwright_base::write::{Durable, atomic};

use crate::layout::{Descriptor, Layout};

/// Where `dpkg` keeps what is installed.
const STATUS: &str = "var/lib/dpkg/status";
/// The longest file about packages that is read: Debian's whole archive takes less.
const LONGEST: u64 = 64 << 20;

/// A package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Package {
    /// `deb` or `pypi`, as package URLs have it.
    kind: String,
    name: String,
    version: String,
}

/// What a layer says of packages: for each file that names some, these; none where the layer removes it.
type Said = BTreeMap<String, Option<Vec<Package>>>;

/// Writes the document of an image, and says where.
///
/// # Errors
/// A layer cannot be read, or the document not written.
pub fn write(layout: &Layout, name: &str, image: &Descriptor) -> Result<Utf8PathBuf> {
    let mut files = Said::new();
    for layer in layout.layers(image)? {
        for (path, said) in of_layer(layout, &layer)? {
            // A whole folder that is removed takes along what it held.
            if said.is_none() {
                files.retain(|known, _| !known.starts_with(&format!("{path}/")) && *known != path);
            } else {
                files.insert(path, said);
            }
        }
    }
    let mut packages: Vec<Package> = files.into_values().flatten().flatten().collect();
    packages.sort();
    packages.dedup();
    let folder = layout.folder().join("sbom");
    fs::create_dir_all(&folder).map_err(failed("creating", &folder))?;
    let path = folder.join(format!("{}.spdx.json", name.replace('/', ".")));
    let text = serde_json::to_string_pretty(&document(name, image, &packages)).unwrap_or_default() + "\n";
    atomic(&path, Durable::No, text.as_bytes())?;
    Ok(path)
}

fn document(name: &str, image: &Descriptor, packages: &[Package]) -> Value {
    let id = |number: usize| format!("SPDXRef-Package-{number}");
    let contained = packages.iter().enumerate().map(|(number, package)| {
        let url = match package.kind.as_str() {
            "deb" => format!("pkg:deb/debian/{}@{}", package.name, package.version),
            kind => format!("pkg:{kind}/{}@{}", package.name, package.version),
        };
        json!({
            "SPDXID": id(number),
            "name": package.name,
            "versionInfo": package.version,
            "downloadLocation": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}],
        })
    });
    let itself = json!({
        "SPDXID": "SPDXRef-Image",
        "name": name,
        "versionInfo": image.digest.to_string(),
        "downloadLocation": "NOASSERTION",
        "primaryPackagePurpose": "CONTAINER",
        "checksums": [{"algorithm": "SHA256", "checksumValue": image.digest.hex()}],
    });
    let relations = (0..packages.len()).map(|number| {
        json!({"spdxElementId": "SPDXRef-Image", "relationshipType": "CONTAINS", "relatedSpdxElement": id(number)})
    });
    let described = json!({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Image"});
    json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        // A document is named by what it is about: the same image, the same document.
        "documentNamespace": format!("urn:taskwright:sbom:{}", image.digest),
        "creationInfo": {"created": "2001-09-09T01:46:40Z", "creators": [format!("Tool: taskwright-{}", env!("CARGO_PKG_VERSION"))]},
        "packages": std::iter::once(itself).chain(contained).collect::<Vec<_>>(),
        "relationships": std::iter::once(described).chain(relations).collect::<Vec<_>>(),
    })
}

/// What a layer says of packages, remembered by its digest.
fn of_layer(layout: &Layout, layer: &Descriptor) -> Result<Said> {
    let folder = layout.work().join("packages");
    let known = folder.join(layer.digest.hex());
    if let Some(said) = fs::read(&known).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        return Ok(said);
    }
    let said = read(layout, layer)?;
    fs::create_dir_all(&folder).map_err(failed("creating", &folder))?;
    atomic(&known, Durable::No, &serde_json::to_vec(&said).unwrap_or_default())?;
    Ok(said)
}

fn read(layout: &Layout, layer: &Descriptor) -> Result<Said> {
    let path = &layout.blob(&layer.digest);
    let mut said = Said::new();
    for entry in layout.contents(layer)?.entries().map_err(failed("reading", path))? {
        let entry = entry.map_err(failed("reading", path))?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
        let (above, last) = name.rsplit_once('/').unwrap_or(("", &name));
        // A file that a layer takes away is there as an empty one with this before its name.
        if let Some(gone) = last.strip_prefix(".wh.") {
            said.insert(format!("{above}/{gone}").trim_start_matches('/').to_owned(), None);
            continue;
        }
        let parse: fn(&str) -> Vec<Package> = if name == STATUS || above == "var/lib/dpkg/status.d" {
            debian
        } else if last == "METADATA" && above.ends_with(".dist-info") {
            python
        } else {
            continue;
        };
        let mut text = Vec::new();
        entry.take(LONGEST).read_to_end(&mut text).map_err(failed("reading", path))?;
        let packages = parse(&String::from_utf8_lossy(&text));
        said.insert(name, Some(packages));
    }
    Ok(said)
}

/// The installed packages of `dpkg`'s list.
fn debian(text: &str) -> Vec<Package> {
    let package = |paragraph: &str| {
        let field =
            |name: &str| paragraph.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let is_there = field("Status").is_none_or(|status| status.ends_with(" installed"));
        is_there.then(|| package("deb", field("Package")?, field("Version")?)).flatten()
    };
    text.split("\n\n").filter_map(package).collect()
}

/// The package that a `METADATA` is of.
fn python(text: &str) -> Vec<Package> {
    let head = text.split("\n\n").next().unwrap_or_default();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let found =
        field("Name").zip(field("Version")).and_then(|(name, version)| package("pypi", name, version));
    found.into_iter().collect()
}

fn package(kind: &str, name: &str, version: &str) -> Option<Package> {
    let (name, version) = (name.trim(), version.trim());
    (!name.is_empty() && !version.is_empty()).then(|| Package {
        kind: kind.to_owned(),
        name: name.to_owned(),
        version: version.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_that_are_installed() {
        let status = "Package: a\nStatus: install ok installed\nVersion: 1:2-3\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n";
        assert_eq!(debian(status), [package("deb", "a", "1:2-3").unwrap()]);
        let metadata = "Metadata-Version: 2.4\nName: numpy\nVersion: 2.1.0\n\nName: not this\n";
        assert_eq!(python(metadata), [package("pypi", "numpy", "2.1.0").unwrap()]);
        assert_eq!(python("\0\0"), []);
    }
}
