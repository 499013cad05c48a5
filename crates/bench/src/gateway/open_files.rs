//! How many files a process may have open, of which connections are some.

use anyhow::ensure;
use rustix::process::{Resource, getrlimit, setrlimit};

/// As many as this machine allows, for this process and those that it starts.
pub fn raise() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // What is then missing is noticed by `room_for`, or where a connection fails.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Makes room for so many streams, of which each is two connections of the gateway's.
pub fn room_for(streams: usize) -> anyhow::Result<()> {
    raise();
    let needed = 2 * streams as u64 + 200;
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    ensure!(
        most >= needed,
        "{streams} streams need {needed} open files, and this machine allows a process {most} (`ulimit -Hn`): ask for fewer by \
         `--streams`"
    );
    Ok(())
}
