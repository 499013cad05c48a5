//! Ends a process group when we are gone, however we went.
//!
//! A shell reads from a pipe that only we hold open. If we end well we say so; if we are killed the pipe ends without a
//! word, and the shell asks the group to stop as we would have done. (The kernel's own way, a signal at the death of the
//! parent, reaches one process and not what that has started.)

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// The steps of [`super::Patience`], in fifths of a second.
const SCRIPT: &str = "\
trap '' HUP INT TERM
read -r word
[ \"$word\" = done ] && exit 0
kill -s INT \"$1\"
step=0
while kill -s 0 -- \"-$1\" && [ $step -lt 300 ]; do
  step=$((step + 1))
  [ $step = 200 ] && kill -s TERM -- \"-$1\"
  [ $step = 250 ] && kill -s KILL -- \"-$1\"
  sleep 0.2
done
";

/// The shell that watches us.
#[derive(Debug)]
pub(super) struct Watchdog(Option<Child>);

impl Watchdog {
    pub fn over(group: Pid, hold: Option<&File>) -> io::Result<Self> {
        let stdout = match hold {
            Some(file) => Stdio::from(file.try_clone()?),
            None => Stdio::null(),
        };
        let child = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "watchdog", &group.to_string()])
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0)
            .spawn()?;
        Ok(Self(Some(child)))
    }

    /// The group is gone: there is nothing to watch any more.
    pub fn dismiss(&mut self) {
        if let Some(mut child) = self.0.take() {
            if let Some(mut pipe) = child.stdin.take() {
                let _ = pipe.write_all(b"done\n");
            }
            let _ = child.wait();
        }
    }
}
