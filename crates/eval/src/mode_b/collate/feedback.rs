//! What may be shown of attempts where samples may be seen: bounded, and read from the trial's own files only.

use taskwright_harbor::job::TrialFolder;

use crate::attempts::{Attempt, Attempts};
use crate::tail::Tail;

/// What an agent's transcript is looked for among: what people read before what programs read.
const TRANSCRIPTS: [&[&str]; 2] = [&[".txt", ".log", ".md"], &[".jsonl", ".json"]];

/// The ends of the agent's transcript and of what the verifier printed, at most so many bytes each.
pub(super) fn tails(folder: &TrialFolder, most: usize) -> (String, String) {
    let tail = |inside: &str, file: &str| {
        let mut tail = Tail::new(most);
        if let Some(bytes) = folder.tail(inside, file, most.saturating_add(1)) {
            tail.add(&bytes);
        }
        tail.whole().trim_end().to_owned()
    };
    let files = folder.files("agent");
    let transcript = TRANSCRIPTS.iter().find_map(|ends| {
        let fits = files.iter().filter(|(name, _)| ends.iter().any(|end| name.ends_with(end)));
        // The longest; of several that long the first by name.
        fits.min_by_key(|(name, size)| (std::cmp::Reverse(*size), name.as_str()))
    });
    let transcript = transcript.map(|(name, _)| tail("agent", name)).unwrap_or_default();
    (transcript, tail("verifier", "test-stdout.txt"))
}

/// What is said of the attempts at a sample, at most so many bytes.
pub(super) fn text(counts: &Attempts, attempts: &[&Attempt], most: usize) -> String {
    let mut text = String::new();
    if counts.expected > 1 {
        text += &format!(
            "{} of {} attempts graded, {} dead, {} missing\n",
            counts.graded, counts.expected, counts.dead, counts.missing
        );
    }
    for attempt in attempts {
        text += &line(attempt);
    }
    if let Some(attempt) = attempts.iter().find(|attempt| !attempt.verifier_output.is_empty()) {
        let title = if counts.expected > 1 {
            format!("verifier output of {}:\n", attempt.trial)
        } else {
            "verifier output:\n".to_owned()
        };
        let room = most.saturating_sub(text.len() + title.len());
        let mut tail = Tail::new(room);
        tail.add(attempt.verifier_output.as_bytes());
        if room > 0 {
            text += &title;
            text += &tail.whole();
        }
    }
    text.truncate(text.floor_char_boundary(most));
    text.trim_end().to_owned()
}

fn line(attempt: &Attempt) -> String {
    let mut said =
        vec![attempt.reward.map_or_else(|| "no reward".to_owned(), |reward| format!("reward {reward}"))];
    if let Some(exception) = &attempt.exception {
        said.push(format!("{exception} {}", attempt.message));
    } else if !attempt.message.is_empty() {
        said.push(attempt.message.clone());
    }
    let phases = [
        ("environment", attempt.phases.environment_setup),
        ("agent set-up", attempt.phases.agent_setup),
        ("agent", attempt.phases.agent_execution),
        ("verifier", attempt.phases.verifier),
    ];
    said.extend(phases.iter().filter_map(|(name, seconds)| Some(format!("{name} {:.1} s", (*seconds)?))));
    said.extend(attempt.claimed.words());
    format!("{}: {}\n", attempt.trial, said.join(", "))
}
