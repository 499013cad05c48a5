//! Pictures of the demonstration, for the documentation.

use std::fs;
use std::path::{Path, PathBuf};

use taskwright_testing::{Need, not_run, test};

use crate::chromium::Browser;
use crate::{demonstration, page};

/// Takes the pictures anew: `TASKWRIGHT_PICTURES=$PWD/docs/images cargo test -p taskwright-ledger --test report pictures`.
#[test]
fn pictures_of_the_documentation() {
    let Some(folder) = std::env::var_os("TASKWRIGHT_PICTURES").map(PathBuf::from) else {
        not_run(Need::Asking, "pictures are taken anew only with TASKWRIGHT_PICTURES=FOLDER");
    };
    let mut browser = Browser::start();
    let demonstration = demonstration::demonstration(4);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.html");
    fs::write(&file, page(&demonstration.agents, &demonstration.trials)).unwrap();
    for (name, width, height, scheme, from) in [
        ("light", 1280, 960, "light", "body"),
        ("dark", 1280, 820, "dark", "#tasks"),
        ("phone", 360, 1080, "light", "body"),
    ] {
        browser.look(width, height, scheme);
        browser.open(&file);
        // The bar that stays at the top would lie across a picture of what is below it.
        browser.evaluate("document.querySelector('nav').style.position = 'static'");
        let top = browser
            .evaluate(&format!("Math.floor(document.querySelector('{from}').getBoundingClientRect().top)"));
        let top = u32::try_from(top.as_u64().unwrap()).unwrap();
        write(&folder.join(format!("report-{name}.png")), &browser.picture(0, top, width, height));
    }
}

fn write(path: &Path, base64: &str) {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = base64.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let bytes: Vec<u8> = digits
        .chunks(4)
        .flat_map(|chunk| {
            let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
            let bits = at(0) << 18 | at(1) << 12 | at(2) << 6 | at(3);
            bits.to_be_bytes()[1..chunk.len()].to_vec()
        })
        .collect();
    fs::write(path, bytes).unwrap();
}
