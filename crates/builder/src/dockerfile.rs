//! What has to be understood of a Dockerfile: the bases that its stages start from, and the files that it copies.

use std::collections::{BTreeMap, BTreeSet};

/// A Dockerfile.
#[derive(Debug)]
pub struct Dockerfile {
    lines: Vec<String>,
    /// The line that names each base, and its name; a stage is no base.
    bases: Vec<(usize, String)>,
    sources: Sources,
}

/// What of its context a Dockerfile may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// These paths, and nothing else.
    Paths(BTreeSet<String>),
    /// All of it, as far as can be told without building.
    All,
}

impl Dockerfile {
    /// Reads one.
    pub fn parse(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut stages = BTreeSet::new();
        let mut bases = Vec::new();
        let mut sources = Some(BTreeSet::new());
        for (start, instruction) in instructions(&lines) {
            let mut words = instruction.split_whitespace();
            match words.next().unwrap_or_default().to_ascii_uppercase().as_str() {
                "FROM" => {
                    let words: Vec<&str> = words.filter(|word| !word.starts_with("--")).collect();
                    let base = words.first().copied().unwrap_or_default();
                    if !base.is_empty() && base != "scratch" && !stages.contains(&base.to_lowercase()) {
                        bases.push((start, base.to_owned()));
                    }
                    if let [_, word, stage] = words[..]
                        && word.eq_ignore_ascii_case("as")
                    {
                        stages.insert(stage.to_lowercase());
                    }
                }
                "COPY" | "ADD" => match (&mut sources, copied(&instruction)) {
                    (Some(sources), Some(paths)) => sources.extend(paths),
                    _ => sources = None,
                },
                "RUN" if instruction.contains("--mount=type=bind") => sources = None,
                _ => {}
            }
        }
        Self { lines, bases, sources: sources.map_or(Sources::All, Sources::Paths) }
    }

    /// The names of the bases, in the order in which stages start from them.
    pub fn bases(&self) -> impl Iterator<Item = &str> {
        self.bases.iter().map(|(_, base)| base.as_str())
    }

    /// What of its context it may read.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The same with a digest behind the name of each base. In the `FROM` line, and not as a named context: of those, the layers
    /// would get new times too, and would be no layers of the base any more.
    pub fn pinned(&self, digests: &BTreeMap<String, String>) -> String {
        let mut lines = self.lines.clone();
        for (line, base) in &self.bases {
            if let Some(digest) = digests.get(base) {
                lines[*line] = lines[*line].replacen(base.as_str(), &format!("{base}@{digest}"), 1);
            }
        }
        lines.join("\n") + "\n"
    }
}

/// Each instruction on one line, with the line that it starts in; what a here-document holds is left out.
fn instructions(lines: &[String]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = lines.iter().enumerate();
    while let Some((start, line)) = rest.next() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let mut instruction = line.trim().to_owned();
        while instruction.ends_with('\\') {
            instruction.pop();
            match rest.next() {
                // A comment inside is passed over, and does not end what it stands in.
                Some((_, next)) if next.trim_start().starts_with('#') => instruction.push('\\'),
                Some((_, next)) => instruction = format!("{instruction} {}", next.trim()),
                None => break,
            }
        }
        if let Some(end) = here_document(&instruction) {
            for (_, line) in rest.by_ref() {
                if line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
        found.push((start, instruction));
    }
    found
}

/// The word that ends a here-document which an instruction begins.
fn here_document(instruction: &str) -> Option<String> {
    let (_, rest) = instruction.split_once("<<")?;
    let word = rest.trim_start_matches('-').split_whitespace().next()?.trim_matches(['"', '\'']);
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word.then(|| word.to_owned())
}

/// The paths of the context that an instruction copies; none where that cannot be told.
fn copied(instruction: &str) -> Option<Vec<String>> {
    let rest = instruction.split_once(char::is_whitespace)?.1.trim();
    let mut words = rest;
    while let Some(flag) = words.strip_prefix("--") {
        if flag.starts_with("from=") {
            return Some(Vec::new());
        }
        words = flag.split_once(char::is_whitespace)?.1.trim_start();
    }
    let mut paths: Vec<String> = if words.starts_with('[') {
        serde_json::from_str(words).ok()?
    } else {
        words.split_whitespace().map(str::to_owned).collect()
    };
    paths.pop()?;
    let is_plain =
        |path: &String| !path.contains(['$', '*', '?', '[', '"', '\'', '\\', '<']) && !path.contains("://");
    paths.iter().all(is_plain).then(|| {
        let tidy = |path: &str| path.trim_start_matches("./").trim_matches('/').to_owned();
        paths.iter().map(|path| tidy(path)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Sources {
        Dockerfile::parse(text).sources
    }

    #[test]
    fn bases_are_pinned_where_they_are_named() {
        let text = "# syntax\nFROM --platform=$BUILDPLATFORM rust:1 AS make\nRUN a \\\n  b\nFROM debian@sha256:aa\nCOPY --from=make /x /y\n\
                    FROM make\nFROM scratch\nfrom debian:trixie as last";
        let file = Dockerfile::parse(text);
        assert_eq!(file.bases().collect::<Vec<_>>(), ["rust:1", "debian@sha256:aa", "debian:trixie"]);
        let digests = [("rust:1".to_owned(), "sha256:11".to_owned())].into();
        let pinned = file.pinned(&digests);
        assert!(pinned.contains("BUILDPLATFORM rust:1@sha256:11 AS make\n"), "{pinned}");
        assert_eq!(
            Dockerfile::parse("ARG A\nFROM $A AS One\nFROM one\n").bases().collect::<Vec<_>>(),
            ["$A"]
        );
        assert!(pinned.ends_with("FROM make\nFROM scratch\nfrom debian:trixie as last\n"), "{pinned}");
    }

    #[test]
    fn what_is_copied_is_known_or_it_is_everything() {
        let known = |paths: &[&str]| Sources::Paths(paths.iter().map(|path| (*path).to_owned()).collect());
        assert_eq!(
            paths("FROM a\nCOPY --chown=root:root ./bin/ b /x/\nADD [\"c d\", \"/y\"]\n"),
            known(&["b", "bin", "c d"])
        );
        assert_eq!(paths("FROM a\nCOPY \\\n # why\n one \\\n two /x\n"), known(&["one", "two"]));
        assert_eq!(paths("FROM a\nRUN <<END\nCOPY * /\nEND\nCOPY a /x\n"), known(&["a"]));
        assert_eq!(paths("FROM a\nCOPY . /x\n"), known(&["."]));
        for text in [
            "COPY *.py /x",
            "ADD https://a.b/c /x",
            "COPY $A /x",
            "COPY <<E /x\nhi\nE",
            "RUN --mount=type=bind,target=/s ls",
        ] {
            assert_eq!(paths(&format!("FROM a\n{text}\n")), Sources::All, "{text}");
        }
    }
}
