//! The calls of a process on their way into a recording.
//!
//! What other tools write tells the communicator of a nonblocking receive or collective only where it completes; so calls wait in a window
//! until that is known, and no longer than the window is long.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use sintonia_mpi::Mode;
use sintonia_recording::raw::RequestRef;
use sintonia_recording::sealed::{Writer, Written};
use sintonia_recording::table::{RequestId, Shape};

use crate::error::Error;
use crate::otf2::meaning::{self, Handle, Outcome, Teller};
use crate::requests::Requests;

/// The most calls that wait for one of them to be understood.
const WINDOW: usize = 1 << 15;

/// A call that waits to be written.
struct Row {
    thread: u16,
    enter: u64,
    leave: u64,
    shape: Shape,
    /// Whether something of it is told only by a later call.
    open: bool,
}

/// A request that was made.
#[derive(Clone, Copy)]
struct Known {
    id: RequestId,
    persistent: bool,
    /// The call that made it, counted from 0.
    row: u64,
}

/// The calls of a process on their way into a recording.
pub struct Calls {
    writer: Writer,
    window: VecDeque<Row>,
    /// How many calls have left the window.
    written: u64,
    requests: Requests<Handle, Known>,
    next_request: HashMap<u16, u64>,
    /// Whether calls that complete something tell what others began: Sintonia tells it at once.
    told_later: bool,
    /// The threads that made calls.
    threads: HashSet<u16>,
}

impl Calls {
    /// Begins the file of a process in the folder of a recording.
    pub fn create(folder: &Path, rank: u32, told_later: bool) -> Result<Calls, Error> {
        Ok(Calls {
            writer: Writer::create(folder, rank)?,
            window: VecDeque::new(),
            written: 0,
            requests: Requests::default(),
            next_request: HashMap::new(),
            told_later,
            threads: HashSet::new(),
        })
    }

    /// What a request is called in a call of a thread.
    pub fn reference(&self, handle: Handle, thread: u16) -> Option<RequestRef> {
        let id = self.requests.get(&handle)?.id;
        let next = self.next_request.get(&thread).copied().unwrap_or(0);
        Some(if id.thread == thread { RequestRef::Ago(next.wrapping_sub(1 + id.number)) } else { RequestRef::Of(id.thread, id.number) })
    }

    /// Adds a call, whose request has this name; says whether an earlier one can wait no longer to be told something.
    pub fn add(&mut self, thread: u16, [enter, leave]: [u64; 2], mut shape: Shape, made: Option<Handle>) -> Result<bool, Error> {
        if shape.makes_request() {
            // What it lists is counted back from its own request.
            for listed in &mut shape.requests {
                if let RequestRef::Ago(ago) = &mut listed.request {
                    *ago += 1;
                }
            }
            let next = self.next_request.entry(thread).or_default();
            let id = RequestId { thread, number: *next };
            *next += 1;
            let persistent = shape.operation.function().mode == Mode::Persistent;
            let row = self.written + self.window.len() as u64;
            let known = Known { id, persistent, row };
            let replaced = made.and_then(|made| match persistent {
                true => self.requests.insert_persistent(made, known),
                false => self.requests.insert(made, known),
            });
            // Of an operation whose name is given to another one, nothing more will be told.
            if let Some(row) = replaced.and_then(|known| self.waiting(known)) {
                row.open = false;
            }
        }
        let open = self.told_later && made.is_some() && meaning::is_open(&shape);
        self.window.push_back(Row { thread, enter, leave, shape, open });
        let overfull = self.window.len() > WINDOW && self.window.front().is_some_and(|row| row.open);
        if overfull {
            self.window[0].open = false;
        }
        self.write_settled()?;
        Ok(overfull)
    }

    /// Tells a waiting call what became of it.
    pub fn settle(&mut self, handle: Handle, outcome: Outcome, teller: Teller) {
        let Some(known) = self.requests.get(&handle).copied() else { return };
        if let Some(row) = self.waiting(known) {
            meaning::settle(&mut row.shape, outcome, teller);
            row.open = false;
        }
    }

    /// The call that made a request, if it waits to be told something.
    fn waiting(&mut self, known: Known) -> Option<&mut Row> {
        let place = known.row.checked_sub(self.written)?;
        self.window.get_mut(place as usize).filter(|row| row.open)
    }

    /// A request is no more.
    pub fn forget(&mut self, handle: Handle) {
        if self.requests.get(&handle).is_some_and(|known| !known.persistent) {
            self.requests.remove(&handle);
        }
    }

    /// Writes the calls that still wait; says how many calls of how many threads there are, and of how many something was never told.
    pub fn finish(mut self) -> Result<(Written, u32, u64), Error> {
        let unsettled = self.window.iter().filter(|row| row.open).count() as u64;
        self.window.iter_mut().for_each(|row| row.open = false);
        self.write_settled()?;
        Ok((self.writer.finish()?, self.threads.len() as u32, unsettled))
    }

    fn write_settled(&mut self) -> Result<(), Error> {
        while let Some(row) = self.window.front().filter(|row| !row.open) {
            self.threads.insert(row.thread);
            self.writer.call(row.thread, row.enter, row.leave, &row.shape)?;
            self.window.pop_front();
            self.written += 1;
        }
        Ok(())
    }
}
