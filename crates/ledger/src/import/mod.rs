//! Importing trials that Harbor has run: each on its own, so that a damaged one costs nothing but itself.
//!
//! ```text
//!  walk          portions        several threads             batches        one thread
//!  find ------------------> read: parse, redact, ------------------> apply: a transaction a batch
//!                           store evidence (packs)
//!                                                  seal: packs on the disk, then Commit
//! ```
//!
//! A trial goes `found -> read -> applied -> committed`. Whenever the import is killed, the trials of committed batches are
//! there with all that they left, and all others not at all: the database rolls their transaction back, and what their packs hold
//! is mentioned nowhere (the next import removes it). A batch ends after some seconds, so that no more than these are lost. The same import again finds the former by the stamp of their result and reads the
//! others anew. What a job misses is written with the end of its folder, so a killed import leaves it for the next one.

mod apply;
mod evidence;
mod find;
mod model;
mod plan;
mod read;
mod reader;
mod seen;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;
use std::thread;

use taskwright_base::Result;

use crate::db::{Ledger, layout};
use crate::evidence::store::Fresh;
pub use model::{Event, JobDescription, JobSeen, Options, Outcome, Report};
use reader::{Message, Reader};

impl Ledger {
    /// Imports what lies at some paths: trials, jobs, folders of jobs at any depth, single results. `tell` hears of each
    /// trial, in the order of their names.
    ///
    /// An error means that the import ended early; what it told of before is in the ledger, or is imported next time.
    pub fn import(
        &mut self,
        paths: &[PathBuf],
        options: &Options<'_>,
        mut tell: impl FnMut(Event),
    ) -> Result<Report> {
        let waiting = |_: &str| options.waiting.map_or((), |waiting| waiting());
        let _lock = self.lock(&waiting, &|| options.is_stopped())?;
        let swept = layout::sweep(self.directory())?;
        if options.replace && !options.reference {
            self.forget_damaged(options.stop)?;
        }
        let directory = self.directory().to_owned();
        let database = self.database();
        let (send, receive) = sync_channel(1);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let send = send;
                Reader {
                    options,
                    directory: &directory,
                    send: &send,
                    workers: Mutex::default(),
                    fresh: Fresh::default(),
                }
                .run(paths)
            });
            let mut apply = apply::Apply::new(&mut self.connection, &database, options, &mut tell);
            let mut written = Ok(());
            for message in receive {
                // After a failure the reader's sends fail too, once the receiver is gone.
                written = match message {
                    Message::Done(portion) => apply.take(portion),
                    Message::Commit(packs) => apply.commit(&packs),
                };
                if written.is_err() {
                    break;
                }
            }
            let report = apply.finish();
            let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written.and(read).map(|()| Report { swept, ..report })
        })
    }
}

#[cfg(test)]
mod tests;
