//! Communication between Sintonia's own processes with the user's MPI: `mpirun -n 16 sintonia ...`.
//!
//! Used for data that does not fit one machine. No MPI is needed to build Sintonia: the library that belongs to the launcher is loaded only
//! if a launcher started this process.

mod benchmark_calls;
mod error;
mod launcher;
mod library;
mod library_search;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, take};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub use benchmark_calls::{BenchmarkCalls, TimedCollective, TimedGroup, TimedSendMode};
pub use error::WorldError;
use launcher::DetectedLauncher;
use library::{LoadedMpi, MAX_MESSAGE_BYTES};

/// Message tags.
mod tag {
    pub(super) const ALL_TO_ALL: i32 = 1;
    pub(super) const MESSAGE_LENGTH: i32 = 2;
    pub(super) const MESSAGE: i32 = 3;

    /// Tag for a benchmark message.
    pub(super) fn for_topic(topic: i32) -> i32 {
        100 + topic
    }
}

/// Launchers kill all processes on a failure and may lose recent output; this is the time they get to forward it.
const OUTPUT_GRACE: Duration = Duration::from_millis(200);

/// `MPI_COMM_WORLD` of the processes that a launcher started together.
///
/// A process that is done calls [`CommWorld::finalize`]. Dropping the value otherwise (e.g. in a panic) aborts all processes, because the
/// others would wait forever. To report the reason first, keep the value where errors are reported and call [`CommWorld::abort`] there.
pub struct CommWorld {
    library: LoadedMpi,
    rank: usize,
    size: usize,
    self_messages: RefCell<VecDeque<Vec<u8>>>,
    /// MPI is initialised for calls from one thread only.
    not_send: PhantomData<*const ()>,
}

impl CommWorld {
    /// Initialises MPI if a launcher started this process as one of several; otherwise `None`, and no MPI library is loaded.
    ///
    /// On an error other processes may be waiting for this one: report it, then call [`CommWorld::abort_without_mpi`].
    pub fn init() -> Option<Result<CommWorld, WorldError>> {
        let launcher = DetectedLauncher::from_environment(|name| std::env::var(name).ok())?;
        CommWorld::init_with(launcher).transpose()
    }

    fn init_with(launcher: DetectedLauncher) -> Result<Option<CommWorld>, WorldError> {
        static JOINED: AtomicBool = AtomicBool::new(false);
        if JOINED.swap(true, Ordering::Relaxed) {
            return Err(WorldError::AlreadyInitialized);
        }
        let library = library_search::find(launcher)?;
        library.init()?;
        let (rank, size) = (library.rank()?, library.size()?);
        if size > 1 {
            return Ok(Some(CommWorld { library, rank, size, self_messages: RefCell::default(), not_send: PhantomData }));
        }
        library.finalize()?;
        match launcher.size {
            Some(started) => Err(WorldError::ForeignLibrary { library: library.name(), started }),
            None => Ok(None),
        }
    }

    /// Exits with this status when MPI could not be initialised, and makes the launcher end the waiting processes.
    pub fn abort_without_mpi(status: i32) -> ! {
        thread::sleep(OUTPUT_GRACE);
        launcher::report_failure(status);
        std::process::exit(status)
    }

    /// Rank of this process.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of processes: at least two.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Name, version and file of the MPI library.
    pub fn library(&self) -> String {
        self.library.name()
    }

    /// All-to-all exchange: buffer `i` is sent to process `i`; buffer `i` of the result was received from it. Collective. Buffers may have
    /// any size.
    pub fn all_to_all(&self, mut buffers: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, WorldError> {
        if buffers.len() != self.size {
            return Err(WorldError::BufferCount { given: buffers.len(), size: self.size });
        }
        let lengths: Vec<u64> = buffers.iter().map(|outgoing| outgoing.len() as u64).collect();
        let announced = self.library.all_to_all(&lengths)?;
        let mut received = vec![Vec::new(); self.size];
        received[self.rank] = take(&mut buffers[self.rank]);
        // In each step every process sends to one and receives from one process, to avoid congestion; sent buffers are freed at once.
        for step in 1..self.size {
            let (to, from) = ((self.rank + step) % self.size, (self.rank + self.size - step) % self.size);
            received[from] = vec![0; announced[from] as usize];
            self.exchange_chunks(&take(&mut buffers[to]), to, &mut received[from], from)?;
        }
        Ok(received)
    }

    /// Sends a buffer to one process while receiving one from another, in chunks. Cannot deadlock: a chunk is awaited only from a process
    /// that is at the same chunk of the same step, or will reach it without this process.
    fn exchange_chunks(&self, outgoing: &[u8], to: usize, incoming: &mut [u8], from: usize) -> Result<(), WorldError> {
        let (mut outgoing_chunks, mut incoming_chunks) = (outgoing.chunks(MAX_MESSAGE_BYTES), incoming.chunks_mut(MAX_MESSAGE_BYTES));
        loop {
            match (outgoing_chunks.next(), incoming_chunks.next()) {
                (Some(chunk), Some(incoming)) => self.library.sendrecv(chunk, to, incoming, from, tag::ALL_TO_ALL)?,
                (Some(chunk), None) => self.library.send(chunk, to, tag::ALL_TO_ALL)?,
                (None, Some(incoming)) => self.library.receive(incoming, from, tag::ALL_TO_ALL)?,
                (None, None) => return Ok(()),
            }
        }
    }

    /// Sends a message of any size. May block until it is received, unless the destination is this process.
    pub fn send(&self, to: usize, bytes: &[u8]) -> Result<(), WorldError> {
        if to == self.rank {
            self.self_messages.borrow_mut().push_back(bytes.to_vec());
            return Ok(());
        }
        self.library.send(&(bytes.len() as u64).to_le_bytes(), to, tag::MESSAGE_LENGTH)?;
        bytes.chunks(MAX_MESSAGE_BYTES).try_for_each(|chunk| self.library.send(chunk, to, tag::MESSAGE))
    }

    /// Receives the next message from any process: source and contents. Messages of one process arrive in order.
    pub fn receive(&self) -> Result<(usize, Vec<u8>), WorldError> {
        if let Some(message) = self.self_messages.borrow_mut().pop_front() {
            return Ok((self.rank, message));
        }
        let mut length = [0u8; 8];
        let from = self.library.receive_any(&mut length, tag::MESSAGE_LENGTH)?;
        let mut message = vec![0; u64::from_le_bytes(length) as usize];
        message.chunks_mut(MAX_MESSAGE_BYTES).try_for_each(|chunk| self.library.receive(chunk, from, tag::MESSAGE))?;
        Ok((from, message))
    }

    /// Logical or over all processes. Collective.
    pub fn any(&self, yes: bool) -> Result<bool, WorldError> {
        let all = self.library.all_gather(yes.into(), self.size)?;
        Ok(all.contains(&1))
    }

    /// Finalises MPI; returns when all processes do. For a process that has done its work.
    pub fn finalize(self) -> Result<(), WorldError> {
        ManuallyDrop::new(self).library.finalize()
    }

    /// Aborts all processes with this status. For a process that has failed.
    pub fn abort(&self, status: i32) -> ! {
        thread::sleep(OUTPUT_GRACE);
        self.library.abort(status)
    }
}

impl Drop for CommWorld {
    fn drop(&mut self) {
        self.abort(1);
    }
}
