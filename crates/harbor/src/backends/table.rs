//! The table: what Harbor 0.26.0 says of its environment backends, and since which release they are there.

use super::Answer::{Depends as D, No as N, Yes as Y};
use super::{Able, Answer, Backend, Compose, Network};

const fn able(gpus: Answer, tpus: Answer, no_network: Answer, allowlist: Answer, windows: Answer) -> Able {
    Able { gpus, tpus, no_network, allowlist, windows }
}

const fn single(name: &'static str, since: &'static str, alone: Able, note: &'static str) -> Backend {
    Backend { name, since, alone, compose: None, note }
}

const fn composed(name: &'static str, since: &'static str, alone: Able, compose: Compose) -> Backend {
    Backend { name, since, alone, compose: Some(compose), note: "" }
}

const fn compose(since: &'static str, able: Able, network: Network) -> Compose {
    Compose { since, able, network }
}

/// The backends, by name. Answers are: GPUs, TPUs, no network, allow-list, Windows.
#[rustfmt::skip]
pub const BACKENDS: &[Backend] = &[
    single("aca-sandbox", "0.26.0", able(N, N, Y, Y, N), ""),
    single("ack", "0.20.0", able(N, N, N, N, N), ""),
    single("apple-container", "0.20.0", able(N, N, N, N, N), ""),
    composed("beam", "0.20.0", able(Y, N, Y, Y, N), compose("0.20.0", able(Y, N, Y, Y, N), Network::Host)),
    composed("blaxel", "0.20.0", able(N, N, Y, Y, N), compose("0.20.0", able(N, N, Y, N, N), Network::Own)),
    composed("boxd", "0.26.0", able(N, N, Y, N, N), compose("0.26.0", able(N, N, Y, N, N), Network::Own)),
    single("cua-cloud", "0.20.0", able(N, N, N, N, D), "it starts a desktop of its pool, not the task's image"),
    composed("cwsandbox", "0.20.0", able(Y, N, Y, N, N), compose("0.26.0", able(N, N, N, N, N), Network::Own)),
    composed("daytona", "0.20.0", able(Y, N, Y, Y, Y), compose("0.20.0", able(Y, N, Y, N, Y), Network::Own)),
    composed("docker", "0.20.0", able(Y, N, D, D, Y), compose("0.20.0", able(Y, N, D, D, Y), Network::Own)),
    single("e2b", "0.20.0", able(N, N, Y, Y, N), ""),
    composed("ec2", "0.20.0", able(N, N, Y, N, N), compose("0.20.0", able(N, N, Y, N, N), Network::Own)),
    composed("gke", "0.20.0", able(Y, Y, N, N, N), compose("0.20.0", able(N, N, Y, N, N), Network::Own)),
    single("hf-sandbox", "0.21.0", able(N, N, N, N, N), "it takes a prebuilt image only, and runs every command as the image's user"),
    composed("hyperbrowser", "0.22.0", able(N, N, Y, Y, N), compose("0.22.0", able(N, N, Y, Y, N), Network::Own)),
    composed("islo", "0.20.0", able(N, N, Y, Y, N), compose("0.20.0", able(N, N, Y, Y, N), Network::Own)),
    composed("kata", "0.23.0", able(N, N, N, N, N), compose("0.23.0", able(N, N, N, N, N), Network::Nameless)),
    composed("kernel", "0.26.0", able(N, N, N, N, N), compose("0.26.0", able(N, N, N, N, N), Network::Own)),
    composed("langsmith", "0.20.0", able(N, N, Y, Y, N), compose("0.20.0", able(N, N, Y, Y, N), Network::Own)),
    composed("modal", "0.20.0", able(Y, N, Y, Y, N), compose("0.20.0", able(Y, N, Y, Y, N), Network::HostWithGpus)),
    single("mosaic", "0.26.0", able(N, N, Y, Y, N), ""),
    composed("novita", "0.20.0", able(N, N, Y, Y, N), compose("0.20.0", able(N, N, Y, N, N), Network::Own)),
    single("opensandbox", "0.20.0", able(Y, N, Y, N, N), "it runs commands as the image's user where its service takes no `uid`"),
    single("openshift", "0.20.0", able(N, N, N, N, N), ""),
    composed("podman", "0.23.0", able(N, N, D, D, N), compose("0.23.0", able(N, N, D, D, N), Network::Own)),
    composed("prime", "0.26.0", able(Y, N, Y, Y, N), compose("0.26.0", able(N, N, Y, Y, N), Network::Own)),
    single("runloop", "0.20.0", able(N, N, Y, Y, N), ""),
    composed("runta", "0.23.0", able(N, N, Y, Y, N), compose("0.23.0", able(N, N, Y, Y, N), Network::Own)),
    composed("sail", "0.26.0", able(N, N, Y, Y, N), compose("0.26.0", able(N, N, Y, Y, N), Network::Own)),
    composed("sbx", "0.26.0", able(N, N, Y, D, N), compose("0.26.0", able(N, N, Y, D, N), Network::Own)),
    single("singularity", "0.20.0", able(N, N, N, N, N), ""),
    single("skypilot", "0.20.0", able(N, N, Y, N, N), ""),
    single("smol", "0.26.0", able(D, N, Y, Y, N), ""),
    single("snowflake", "0.26.0", able(N, N, N, N, N), ""),
    composed("superserve", "0.26.0", able(N, N, Y, Y, N), compose("0.26.0", able(N, N, Y, Y, N), Network::Own)),
    composed("tensorlake", "0.20.0", able(N, N, Y, Y, N), compose("0.23.0", able(N, N, Y, Y, N), Network::Own)),
    single("use-computer", "0.20.0", able(N, N, N, N, D), "it starts a desktop of its own, not the task's image"),
    composed("vercel", "0.22.0", able(N, N, Y, Y, N), compose("0.22.0", able(N, N, Y, N, N), Network::Own)),
];
