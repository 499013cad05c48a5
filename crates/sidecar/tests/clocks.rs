//! A clock that jumps changes nothing: what is decided by time is decided by the clock that only goes forward.

use std::fs;
use std::path::{Path, PathBuf};

/// The one place that may ask for the time of day, to tell people when something was asked for.
const TELLS: &str = "sidecar/src/service/state.rs";

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn nothing_is_decided_by_the_time_of_day() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["sidecar/src", "eval/src/candidate", "eval/src/sandbox", "eval/src/mode_a"] {
        sources(&crates.join(folder), &mut files);
    }
    assert!(files.len() > 50, "{}", files.len());
    for file in files.iter().filter(|file| !file.ends_with(TELLS)) {
        let text = fs::read_to_string(file).unwrap();
        for word in
            ["SystemTime", "UNIX_EPOCH", "CLOCK_REALTIME", "ClockId::Realtime", ".modified()", ".created()"]
        {
            assert!(!text.contains(word), "{} asks for `{word}`", file.display());
        }
        // When something was asked for is shown and never looked at again.
        let shown = ["service/view.rs", "api.rs", "events.rs", "service/request.rs", "client/show.rs"];
        if !shown.iter().any(|name| file.ends_with(name)) {
            assert!(!text.contains(".created"), "{} looks at when something was asked for", file.display());
        }
    }
}
