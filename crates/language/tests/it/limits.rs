//! Mistakes in limits and timeouts, with their arithmetic.

use crate::support::{a, b};

#[test]
fn counts_of_zero() {
    let said = a(&[(
        "",
        "[limits]\nsample_timeout_sec = 0\nfinalize_timeout_sec = 0\nconcurrency = 0\ninfrastructure_max_attempts = 0\nmemory_mb = 0\nprocesses = 0\nfile_size_mb = 0\noutput_mb = 0\ncandidate_mb = 0\nstate_mb = 0\n",
    )]);
    insta::assert_snapshot!(said, @"
    error 35:22 <0> `sample_timeout_sec` must be at least 1
      help: it is a number of seconds
    error 36:24 <0> `finalize_timeout_sec` must be at least 1
      help: it is a number of seconds
    error 37:15 <0> `concurrency` must be at least 1
      help: 1 runs the samples one after the other
    error 38:31 <0> `infrastructure_max_attempts` must be at least 1
      help: 1 tries each sample once
    error 39:13 <0> `memory_mb` must be at least 1
      help: it is a number of mebibytes
    error 40:13 <0> `processes` must be at least 1
      help: the command itself is one
    error 41:16 <0> `file_size_mb` must be at least 1
      help: it is a number of mebibytes
    error 42:13 <0> `output_mb` must be at least 1
      help: answers are output
    error 43:16 <0> `candidate_mb` must be at least 1
      help: it is a number of mebibytes
    error 44:12 <0> `state_mb` must be at least 1
      help: it is a number of mebibytes
    ");
}

#[test]
fn evaluation_timeout_of_zero() {
    let said = a(&[("", "[limits]\nevaluation_timeout_sec = 0\n")]);
    insta::assert_snapshot!(said, @"
    error 35:26 <0> `evaluation_timeout_sec` must be at least 1
      help: it is a number of seconds
    ");
}

#[test]
fn share_out_of_range() {
    let said = a(&[("", "[limits]\nerror_rate_threshold = -0.1\n")]);
    insta::assert_snapshot!(said, @"
    error 35:24 <-0.1> `error_rate_threshold` must lie between 0 and 1, but is -0.1
      help: it is a share: 0.1 is 10 %
    ");
}

#[test]
fn sample_longer_than_the_evaluation() {
    let said = a(&[("", "[limits]\nsample_timeout_sec = 7200\n")]);
    insta::assert_snapshot!(said, @"
    error 35:22 <7200> one sample may take 7200 s, but a whole evaluation only 3600 s
      help: raise `evaluation_timeout_sec`, or lower `sample_timeout_sec`
    ");
}

#[test]
fn finalize_too_short() {
    let said = a(&[("", "[limits]\nfinalize_timeout_sec = 300\n")]);
    insta::assert_snapshot!(said, @"
    error 35:24 <300> `finalize_timeout_sec` is 300 s, but finalizing can take target `reward` ceil(2 samples x 1 / 2) x 60 s + rescoring the best 3 ceil(3 samples x 3 / 2) x 60 s = 360 s
      help: write `finalize_timeout_sec = 360` or more, or raise `concurrency`: a verdict that comes too late is lost
    ");
}

#[test]
fn less_for_all_candidates_than_for_one() {
    let said = a(&[("", "[limits]\nstate_mb = 100\n")]);
    insta::assert_snapshot!(said, @"
    error 35:12 <100> one candidate may have 256 MiB, but all of them together only 100 MiB
      help: raise `state_mb`, or lower `candidate_mb`
    ");
}

#[test]
fn finalize_too_short_with_a_floor() {
    let said = a(&[("", "[limits]\nfinalize_timeout_sec = 400\n[selection]\nbaseline_floor = true\n")]);
    insta::assert_snapshot!(said, @"
    error 35:24 <400> `finalize_timeout_sec` is 400 s, but finalizing can take target `reward` ceil(2 samples x 1 / 2) x 60 s + rescoring the best 3 ceil(3 samples x 3 / 2) x 60 s + the baseline for comparison ceil(3 samples x 1 / 2) x 60 s = 480 s
      help: write `finalize_timeout_sec = 480` or more, or raise `concurrency`: a verdict that comes too late is lost
    ");
}

#[test]
fn finalize_too_short_with_baseline() {
    let said = a(&[("", "[limits]\nfinalize_timeout_sec = 330\n[selection]\nscore_baseline = true\n")]);
    insta::assert_snapshot!(said, @"
    error 35:24 <330> `finalize_timeout_sec` is 330 s, but finalizing can take target `reward` ceil(2 samples x 1 / 2) x 60 s + the baseline on `reward` ceil(2 samples x 1 / 2) x 60 s + rescoring the best 3 ceil(3 samples x 3 / 2) x 60 s = 420 s
      help: write `finalize_timeout_sec = 420` or more, or raise `concurrency`: a verdict that comes too late is lost
    ");
}

#[test]
fn finalize_just_long_enough() {
    let said = a(&[("", "[limits]\nfinalize_timeout_sec = 360\n")]);
    insta::assert_snapshot!(said, @"fine");
}

#[test]
fn finalize_too_short_for_repetition() {
    let said = a(&[("", "[limits]\nfinalize_timeout_sec = 600\ninfrastructure_max_attempts = 3\n")]);
    insta::assert_snapshot!(said, @"
    warning 35:24 <600> `finalize_timeout_sec` is 600 s, but finalizing can take target `reward` ceil(2 samples x 1 x 3 tries / 2) x 60 s + rescoring the best 3 ceil(3 samples x 3 x 3 tries / 2) x 60 s = 1020 s
      help: write `finalize_timeout_sec = 1020` or more, or raise `concurrency`: a verdict that comes too late is lost
    ");
}

#[test]
fn evaluation_too_short() {
    let said = a(&[("", "[limits]\nevaluation_timeout_sec = 90\n")]);
    insta::assert_snapshot!(said, @"
    warning 35:26 <90> `evaluation_timeout_sec` is 90 s, but the whole split `validation` can take ceil(3 samples x 1 / 2) x 60 s = 120 s
      help: write `evaluation_timeout_sec = 120` or more, or raise `concurrency`
    ");
}

#[test]
fn each_samples_own_time() {
    let said = a(&[("", "[limits]\nsample_timeout_sec = \"task\"\n")]);
    insta::assert_snapshot!(said, @r#"
    error 35:22 <"task"> in Mode A no sample has a time of its own
      help: write a number of seconds; `"task"` is for inner Harbor tasks
    "#);
    let registry =
        ("source = { path = \"inner-tasks\" }", "source = { registry = \"sums\", version = \"1.0\" }");
    let said =
        b(&[registry, ("", "[limits]\nsample_timeout_sec = \"task\"\nevaluation_timeout_sec = 9000\n")]);
    insta::assert_snapshot!(said, @r#"
    error 26:22 <"task"> how long the tasks of a registry take is not known here, so `finalize_timeout_sec` cannot be left to its default
      help: write a number of seconds that covers them: the longest task's agent, verifier, set-up and image, for all samples and attempts, divided by `concurrency`
    "#);
    let whole = "[limits]\nsample_timeout_sec = \"task\"\nevaluation_timeout_sec = 9000\nfinalize_timeout_sec = 9000\n";
    assert_eq!(b(&[registry, ("", whole)]), "fine");
    let said = a(&[("", "[limits]\nsample_timeout_sec = \"tasks\"\n")]);
    assert!(said.contains("`limits.sample_timeout_sec`"), "{said}");
}
