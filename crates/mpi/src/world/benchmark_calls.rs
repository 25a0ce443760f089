//! MPI calls for benchmarks: all send modes and the collectives, each as a single call that can be timed.
//!
//! [`CommWorld`] splits messages, which makes it useless for measurements; here every message is one MPI message. Buffers that MPI may use
//! after a call has returned are never accessible to the caller until MPI is done with them, so the interface is safe.

mod functions;
mod group;

use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

use super::library::{Handle, LoadedMpi, MAX_MESSAGE_BYTES, message_count, rank_to_int};
use super::{CommWorld, WorldError, tag};
use functions::BenchmarkFunctions;
pub use group::{TimedCollective, TimedGroup};

/// Communication mode of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedSendMode {
    /// `MPI_Send`
    Standard,
    /// `MPI_Ssend`
    Synchronous,
    /// `MPI_Bsend`; needs a buffer ([`BenchmarkCalls::with_attached_buffer`])
    Buffered,
    /// `MPI_Rsend`; the receive must have been posted
    Ready,
}

/// Timed calls on a [`CommWorld`]. Their messages use tags from 100 on.
pub struct BenchmarkCalls<'w> {
    world: &'w CommWorld,
    functions: BenchmarkFunctions,
    double: Handle,
    sum: Handle,
}

impl CommWorld {
    /// The timed calls. Messages are limited to 64 MiB.
    pub fn timed(&self) -> Result<BenchmarkCalls<'_>, WorldError> {
        let functions = BenchmarkFunctions::load(&self.library)?;
        let double = self.library.constant(c"ompi_mpi_double", 0x4c00_080b, 0x214)?;
        let sum = self.library.constant(c"ompi_mpi_op_sum", 0x5800_0003, 0x21)?;
        Ok(BenchmarkCalls { world: self, functions, double, sum })
    }
}

impl<'w> BenchmarkCalls<'w> {
    /// Maximum size of a message in bytes.
    pub const MAX_BYTES: usize = MAX_MESSAGE_BYTES;

    /// The underlying world.
    pub fn world(&self) -> &'w CommWorld {
        self.world
    }

    fn library(&self) -> &LoadedMpi {
        &self.world.library
    }

    /// Sends one message.
    pub fn send(&self, mode: TimedSendMode, bytes: &[u8], to: usize, topic: i32) -> Result<(), WorldError> {
        let (name, function) = match mode {
            TimedSendMode::Standard => return self.library().send(bytes, to, tag::for_topic(topic)),
            TimedSendMode::Synchronous => ("MPI_Ssend", self.functions.ssend),
            TimedSendMode::Buffered => ("MPI_Bsend", self.functions.bsend),
            TimedSendMode::Ready => ("MPI_Rsend", self.functions.rsend),
        };
        let library = self.library();
        // SAFETY: the bytes are readable for their length, and MPI no longer needs them when the call returns.
        let result = unsafe {
            function(bytes.as_ptr().cast(), message_count(bytes), library.byte(), rank_to_int(to), tag::for_topic(topic), library.world())
        };
        library.check(name, result)
    }

    /// Receives one message of at most the length of `buffer`.
    pub fn receive(&self, buffer: &mut [u8], from: usize, topic: i32) -> Result<(), WorldError> {
        self.library().receive(buffer, from, tag::for_topic(topic))
    }

    /// `MPI_Isend`, then `work`, then `MPI_Wait`.
    pub fn isend_overlapped<T>(&self, bytes: &[u8], to: usize, topic: i32, work: impl FnOnce() -> T) -> Result<T, WorldError> {
        // SAFETY: the bytes stay borrowed and unchanged until `wait` has returned.
        let started = unsafe { self.start_isend(bytes.as_ptr(), message_count(bytes), to, topic) }?;
        let done = work();
        started.wait().map(|()| done)
    }

    /// Starts a send and at once overwrites the message with `with`, which MPI forbids: a receiver that gets the old bytes shows that the
    /// library had copied them when `MPI_Isend` returned.
    pub fn isend_then_overwrite(&self, bytes: &mut [u8], to: usize, topic: i32, with: u8) -> Result<(), WorldError> {
        let (buffer, length) = (bytes.as_mut_ptr(), message_count(bytes));
        // SAFETY: the bytes stay borrowed until `wait` has returned.
        let started = unsafe { self.start_isend(buffer, length, to, topic) }?;
        for at in 0..bytes.len() {
            // SAFETY: inside the slice. The library may read the same bytes concurrently, so they are written one by one with volatile
            // stores.
            unsafe { buffer.add(at).write_volatile(with) };
        }
        started.wait()
    }

    /// # Safety
    /// `length` bytes are readable until the request is complete.
    unsafe fn start_isend(&self, bytes: *const u8, length: c_int, to: usize, topic: i32) -> Result<StartedRequest<'_>, WorldError> {
        let (library, mut request) = (self.library(), 0);
        let (tag, request_ptr) = (tag::for_topic(topic), &raw mut request);
        // SAFETY: as the caller promises; a handle of any ABI fits.
        let result =
            unsafe { (self.functions.isend)(bytes.cast(), length, library.byte(), rank_to_int(to), tag, library.world(), request_ptr) };
        library.check("MPI_Isend", result)?;
        Ok(StartedRequest { timed: self, request })
    }

    /// `MPI_Irecv`, then `work`, then `MPI_Wait`.
    pub fn irecv_overlapped<T>(&self, buffer: &mut [u8], from: usize, topic: i32, work: impl FnOnce() -> T) -> Result<T, WorldError> {
        let (library, mut request) = (self.library(), 0);
        let (bytes, length, tag) = (buffer.as_mut_ptr().cast(), message_count(buffer), tag::for_topic(topic));
        // SAFETY: the buffer is writable and stays borrowed until `wait` has returned; a handle of any ABI fits.
        let result =
            unsafe { (self.functions.irecv)(bytes, length, library.byte(), rank_to_int(from), tag, library.world(), &raw mut request) };
        library.check("MPI_Irecv", result)?;
        let started = StartedRequest { timed: self, request };
        let done = work();
        started.wait().map(|()| done)
    }

    /// Runs `work` with a buffer of `bytes` attached for [`TimedSendMode::Buffered`]; detaching waits until all messages are delivered.
    pub fn with_attached_buffer<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> Result<T, WorldError> {
        // Leaked if `work` panics, because MPI keeps its address.
        let buffer = Box::leak(vec![0u8; bytes].into_boxed_slice());
        // SAFETY: the buffer is writable for its length and not used elsewhere until it is detached.
        let result = unsafe { (self.functions.buffer_attach)(buffer.as_mut_ptr().cast(), message_count(buffer)) };
        self.library().check("MPI_Buffer_attach", result)?;
        let done = work();
        let (mut address, mut length): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
        // SAFETY: MPI writes an address and a length.
        let result = unsafe { (self.functions.buffer_detach)((&raw mut address).cast(), &mut length) };
        self.library().check("MPI_Buffer_detach", result)?;
        // SAFETY: this is the buffer from above, which MPI has returned.
        drop(unsafe { Box::from_raw(buffer) });
        Ok(done)
    }

    /// Waits for the next message of another process ([`CommWorld::send`]) as an idle process: after a short spin it sleeps between polls,
    /// so as not to take a core from the processes being timed.
    pub fn wait_for_message(&self) -> Result<(usize, Vec<u8>), WorldError> {
        const MOMENT: Duration = Duration::from_millis(1);
        const NAP: Duration = Duration::from_micros(200);
        let began = Instant::now();
        while !self.iprobe(self.library().layout().any_source, tag::MESSAGE_LENGTH)? {
            if began.elapsed() > MOMENT {
                std::thread::sleep(NAP);
            }
        }
        self.world.receive()
    }

    /// Whether a message of another process arrives within that time; it is not received. Polling gives MPI progress.
    pub fn probe_within(&self, from: usize, topic: i32, within: Duration) -> Result<bool, WorldError> {
        let began = Instant::now();
        loop {
            if self.iprobe(rank_to_int(from), tag::for_topic(topic))? {
                return Ok(true);
            }
            if began.elapsed() >= within {
                return Ok(false);
            }
        }
    }

    fn iprobe(&self, from: c_int, tag: c_int) -> Result<bool, WorldError> {
        let library = self.library();
        let mut flag: c_int = 0;
        // SAFETY: MPI writes the flag, and no status.
        let result = unsafe { (self.functions.iprobe)(from, tag, library.world(), &mut flag, library.status_ignore()) };
        library.check("MPI_Iprobe", result).map(|()| flag != 0)
    }
}

/// A started request. MPI uses its buffer until the wait, so it must not be dropped before.
struct StartedRequest<'t> {
    timed: &'t BenchmarkCalls<'t>,
    request: Handle,
}

impl StartedRequest<'_> {
    fn wait(mut self) -> Result<(), WorldError> {
        let library = self.timed.library();
        let request = &raw mut self.request;
        // SAFETY: the request was started, and not waited for.
        let result = unsafe { (self.timed.functions.wait)(request, library.status_ignore()) };
        std::mem::forget(self);
        library.check("MPI_Wait", result)
    }
}

impl Drop for StartedRequest<'_> {
    /// The overlapped work panicked: the buffer is about to be freed while MPI still uses it.
    fn drop(&mut self) {
        self.timed.library().abort(1)
    }
}
