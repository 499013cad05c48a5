//! How many files a process may have open, of which connections are some.

use anyhow::ensure;
use rustix::process::{Resource, getrlimit};
use taskwright_base::process;

/// Makes room for so many streams, of which each is two connections of the gateway's.
pub fn room_for(streams: usize) -> anyhow::Result<()> {
    process::raise_open_files();
    let needed = 2 * streams as u64 + 200;
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    ensure!(
        most >= needed,
        "{streams} streams need {needed} open files, and this machine allows a process {most} (`ulimit -Hn`): ask for fewer by \
         `--streams`"
    );
    Ok(())
}
