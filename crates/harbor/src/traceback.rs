//! Whose code raised an exception, read from the traceback that Harbor recorded with it.
//!
//! The name of a type is anybody's to choose; where it was raised is not, as long as nobody lies about the names of their
//! files. So what counts as Harbor's is kept narrow, and whatever cannot be read is not Harbor's.

use crate::result::Exception;

const HEAD: &str = "Traceback (most recent call last):";
const FILE: &str = "  File \"";

/// Packages by which Harbor's own model layer reaches a service, so that what they raise below it is the service's answer.
const SERVICES: &[&str] = &["litellm", "openai", "anthropic", "httpx", "httpcore", "tenacity", "aiohttp"];
/// Parts of Harbor in which an agent's code runs, or code that an agent builds on and steers: what they raise is the
/// agent's doing.
const OF_AGENTS: &[&str] = &["agents", "trial"];

/// Whether Harbor itself raised an exception while an agent worked: its environments, its verifier, or its model layer and
/// the libraries that it calls; not the agent, and not what the agent called.
pub(crate) fn is_raised_by_harbor(exception: &Exception) -> bool {
    let Some(frames) = frames(&exception.traceback, &exception.message) else { return false };
    // The outermost is the trial's own, which no agent chooses: it says where Harbor is installed.
    let Some((packages, _)) = frames.first().and_then(|path| path.split_once("/harbor/trial/")) else {
        return false;
    };
    let part = |path: &str| {
        let below = path.strip_prefix(packages)?.strip_prefix('/')?;
        let (package, rest) = below.split_once('/')?;
        Some((package.to_owned(), rest.split('/').next().unwrap_or_default().to_owned()))
    };
    let mut is_service = false;
    for path in frames.iter().rev() {
        match part(path) {
            Some((package, module)) if package == "harbor" => {
                let is_own = !OF_AGENTS.contains(&module.as_str());
                return is_own && (!is_service || module == "llms");
            }
            Some((package, _)) if SERVICES.contains(&package.as_str()) => is_service = true,
            _ => return false,
        }
    }
    false
}

/// The files of an exception's own traceback, the outermost first; none if its text is not what Python writes.
fn frames<'a>(traceback: &'a str, message: &str) -> Option<Vec<&'a str>> {
    // What an exception says stands below its frames: a message that looks like frames would be read as such.
    if message.lines().any(|line| line.starts_with(FILE) || line == HEAD) {
        return None;
    }
    // Notes that were added to it would stand behind.
    let above = traceback.trim_end().strip_suffix(message.trim_end())?;
    let mut lines = above.lines().rev();
    // The type's name, and a colon if there is a message.
    let last = lines.next()?;
    let is_name = |character: char| character.is_alphanumeric() || "._:<> ".contains(character);
    if last.starts_with(' ') || !last.chars().all(is_name) {
        return None;
    }
    let mut frames = Vec::new();
    for line in lines {
        if line == HEAD {
            frames.reverse();
            return Some(frames);
        }
        if let Some(rest) = line.strip_prefix(FILE) {
            frames.push(rest.split_once("\", line ")?.0);
        } else if !line.starts_with("    ") && !line.starts_with("  [Previous line repeated") {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    const TRIAL: &str = "/v/lib/python3.13/site-packages/harbor/trial/trial.py";
    const AGENT: &str = "/run/candidates/1/agent.py";

    fn exception(files: &[&str], tail: &str, message: &str) -> Exception {
        let frames =
            files.iter().map(|file| format!("  File \"{file}\", line 7, in run\n    await it()\n    ~~^^\n"));
        let frames: String = frames.collect();
        Exception {
            kind: "RateLimitError".to_owned(),
            message: message.to_owned(),
            traceback: format!("{HEAD}\n{frames}{tail}"),
            occurred_at: None,
            policy: None,
            policy_overridden: false,
        }
    }

    fn is_harbors(files: &[&str]) -> bool {
        let tail = "litellm.exceptions.RateLimitError: quota\nexceeded\n";
        is_raised_by_harbor(&exception(files, tail, "quota\nexceeded"))
    }

    #[test]
    fn the_frame_that_raised_decides() {
        let package = |name: &str| format!("/v/lib/python3.13/site-packages/{name}");
        let (docker, llm) =
            (package("harbor/environments/docker/docker.py"), package("harbor/llms/lite_llm.py"));
        let (litellm, own) = (package("litellm/main.py"), package("my_agent/agent.py"));
        let installed = package("harbor/agents/installed/base.py");
        assert!(is_harbors(&[TRIAL, TRIAL, &docker]));
        // Called by the candidate, Harbor's environment is still Harbor's, and so is its model layer.
        assert!(is_harbors(&[TRIAL, "/usr/lib/python3.13/asyncio/tasks.py", AGENT, &docker]));
        assert!(is_harbors(&[TRIAL, AGENT, &llm, &litellm]));
        for own in [
            &[TRIAL, AGENT][..],
            &[TRIAL, &own],
            &[TRIAL],
            // What it calls itself, and what Harbor reads out of what it printed.
            &[TRIAL, AGENT, &litellm],
            &[TRIAL, &own, &litellm],
            &[TRIAL, AGENT, &installed],
            &[TRIAL, AGENT, &docker, &litellm],
            &[TRIAL, AGENT, &llm, AGENT],
            // Folders with such names elsewhere.
            &[TRIAL, "/run/candidates/1/site-packages/harbor/environments/docker.py"],
            &["/run/candidates/1/harbor/environments/docker.py"],
            &[],
        ] {
            assert!(!is_harbors(own), "{own:?}");
        }
    }

    #[test]
    fn what_an_exception_says_is_no_frame() {
        let frame =
            "  File \"/v/lib/python3.13/site-packages/harbor/environments/docker.py\", line 1, in exec";
        let raised =
            |tail: &str, message: &str| is_raised_by_harbor(&exception(&[TRIAL, AGENT], tail, message));
        let forged = format!("quota\n{HEAD}\n{frame}\nRateLimitError: quota");
        assert!(!raised(&format!("agent.RateLimitError: {forged}\n"), &forged));
        assert!(!raised(&format!("agent.RateLimitError: x\n{frame}\n"), "x"));
        assert!(!raised(&format!("agent.RateLimitError: x\n{HEAD}\n{frame}\nRateLimitError: x\n"), "x\n"));
        // Of a chain it is the last that was raised.
        let docker = "/v/lib/python3.13/site-packages/harbor/environments/docker.py";
        let chain = format!(
            "agent.Error: x\n\nDuring handling of the above exception, another exception occurred:\n\n{HEAD}\n\
             \x20 File \"{TRIAL}\", line 1, in run\n  File \"{docker}\", line 1, in exec\nRuntimeRequestError\n"
        );
        assert!(raised(&chain, ""));
        assert!(!is_raised_by_harbor(&exception(&[], "", "t")));
    }
}
