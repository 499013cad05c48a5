//! A real browser, driven by its own protocol over a pair of pipes: no port, and it ends when the pipes close.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use taskwright_testing::{Need, not_run};
use tempfile::TempDir;

/// A browser with one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    /// What the page and the network said, in order.
    events: VecDeque<Value>,
    _profile: TempDir,
}

/// Names under which Chromium is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

impl Browser {
    /// Starts one.
    pub fn start() -> Self {
        let is_there = |name: &&str| {
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        let Some(name) = NAMES.into_iter().find(is_there) else {
            not_run(Need::Browser, "no Chromium is installed (`apt-get install chromium`)");
        };
        let profile = tempfile::tempdir().unwrap();
        // The browser reads commands from file 3 and writes answers to file 4; a shell hands them over.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1", "sh", name])
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
            ])
            .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars"])
            // Tests click faster than people do.
            .arg("--disable-ipc-flooding-protection")
            .args(["--force-color-profile=srgb", "--font-render-hinting=none"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut browser =
            Self { child, input, output, session: None, last: 0, events: VecDeque::new(), _profile: profile };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Calls a method of the protocol and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.input.write_all(&bytes).unwrap();
        loop {
            let message = self.read();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    /// Waits for an event and takes it.
    pub fn wait(&mut self, method: &str) -> Value {
        loop {
            if let Some(place) = self.events.iter().position(|event| event["method"] == method) {
                return self.events.remove(place).unwrap();
            }
            self.read();
        }
    }

    /// The next message; events are kept.
    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.output.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        if message["id"].is_null() {
            self.events.push_back(message.clone());
        }
        message
    }

    /// Opens a file, and forgets what was said before.
    pub fn open(&mut self, path: &Path) {
        self.events.clear();
        let url = format!("file://{}", path.display());
        let answer = self.call("Page.navigate", &json!({"url": url}));
        assert!(answer["errorText"].is_null(), "{answer}");
        self.wait("Page.loadEventFired");
    }

    /// What an expression of JavaScript comes to in the page. It runs outside of the page's own policy.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses and releases a key: `Tab`, `Enter`, an arrow.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => panic!("no such key: {key}"),
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let parameters = json!({
                "type": kind, "key": key, "code": key, "text": text, "windowsVirtualKeyCode": code,
            });
            self.call("Input.dispatchKeyEvent", &parameters);
        }
    }

    /// Clicks with the mouse in the middle of an element, after bringing it into view.
    pub fn click(&mut self, selector: &str) {
        let place = self.evaluate(&format!(
            "(() => {{ const element = document.querySelector({});
               element.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}});
               const box = element.getBoundingClientRect();
               return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
            json!(selector)
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let parameters =
                json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", &parameters);
        }
    }

    /// The size of the window in CSS pixels, and the colour scheme.
    pub fn look(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({"media": "", "features": features}));
    }

    /// A picture of a part of the page, as base64 of a PNG file.
    pub fn picture(&mut self, x: u32, y: u32, width: u32, height: u32) -> String {
        let clip = json!({"x": x, "y": y, "width": width, "height": height, "scale": 1});
        let parameters =
            json!({"format": "png", "clip": clip, "captureBeyondViewport": true, "optimizeForSpeed": false});
        self.call("Page.captureScreenshot", &parameters)["data"].as_str().unwrap().to_owned()
    }

    /// Errors of the console, exceptions, complaints of the policy, and requests for anything but the page itself.
    pub fn complaints(&mut self) -> Vec<String> {
        // Whatever has been said up to now has arrived before the answer to this.
        self.evaluate("0");
        let complaint = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(format!("exception: {parameters}")),
                "Runtime.consoleAPICalled" => Some(format!("console: {parameters}")),
                "Log.entryAdded" => Some(format!("log: {parameters}")),
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str()?;
                    let is_page = parameters["type"] == "Document" && url.starts_with("file://");
                    (!is_page && !url.starts_with("data:")).then(|| format!("request: {url}"))
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(complaint).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It is asked to close, so that it takes its own children along, and then waited for.
        let _ = self.input.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let mut rest = Vec::new();
        while self.output.read_until(0, &mut rest).is_ok_and(|read| read > 0) {
            rest.clear();
        }
        let _ = self.child.wait();
    }
}
