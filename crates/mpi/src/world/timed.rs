//! MPI as a benchmark needs it: every way to send, and the operations of groups, each as one call that can be timed.
//!
//! A [`World`] talks in parcels and letters of any size, which is no measure of anything. Here a message is one message. Memory that MPI
//! may use after a call has returned is never in the caller's hands before MPI is done with it, so nothing here is unsafe to use.

mod functions;
mod group;

use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

use super::library::{Handle, Library, PIECE, count, number};
use super::{World, WorldError, tag};
use functions::Functions;
pub use group::{Collective, Group};

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// `MPI_Send`
    Standard,
    /// `MPI_Ssend`
    Synchronous,
    /// `MPI_Bsend`; needs a buffer ([`Timed::with_buffer`])
    Buffered,
    /// `MPI_Rsend`; the receive must have been started
    Ready,
}

/// The calls of MPI that can be timed, of the library that connects a [`World`]. Messages have tags of their own, all from 100 on.
pub struct Timed<'w> {
    world: &'w World,
    functions: Functions,
    double: Handle,
    sum: Handle,
}

impl World {
    /// The calls that can be timed. The memory of each is limited: messages have at most 64 MiB.
    pub fn timed(&self) -> Result<Timed<'_>, WorldError> {
        let functions = Functions::find(&self.library)?;
        let double = self.library.constant(c"ompi_mpi_double", 0x4c00_080b, 0x214)?;
        let sum = self.library.constant(c"ompi_mpi_op_sum", 0x5800_0003, 0x21)?;
        Ok(Timed { world: self, functions, double, sum })
    }
}

impl<'w> Timed<'w> {
    /// The most bytes of a message.
    pub const LARGEST: usize = PIECE;

    /// The world whose calls these are.
    pub fn world(&self) -> &'w World {
        self.world
    }

    fn library(&self) -> &Library {
        &self.world.library
    }

    /// Sends one message.
    pub fn send(&self, how: Sending, bytes: &[u8], to: usize, topic: i32) -> Result<(), WorldError> {
        let (name, function) = match how {
            Sending::Standard => return self.library().send(bytes, to, tag::of_topic(topic)),
            Sending::Synchronous => ("MPI_Ssend", self.functions.ssend),
            Sending::Buffered => ("MPI_Bsend", self.functions.bsend),
            Sending::Ready => ("MPI_Rsend", self.functions.rsend),
        };
        let library = self.library();
        // SAFETY: the bytes are readable for their length, and MPI needs them no more when the call returns.
        let result =
            unsafe { function(bytes.as_ptr().cast(), count(bytes), library.byte(), number(to), tag::of_topic(topic), library.world()) };
        library.check(name, result)
    }

    /// Receives one message of at most the length of `place`.
    pub fn receive(&self, place: &mut [u8], from: usize, topic: i32) -> Result<(), WorldError> {
        self.library().receive(place, from, tag::of_topic(topic))
    }

    /// Starts sending a message (`MPI_Isend`), does something, and waits until it is sent (`MPI_Wait`).
    pub fn send_while<T>(&self, bytes: &[u8], to: usize, topic: i32, work: impl FnOnce() -> T) -> Result<T, WorldError> {
        // SAFETY: the bytes stay borrowed, unchanged, until `finish` has waited for the message.
        let started = unsafe { self.start_sending(bytes.as_ptr(), count(bytes), to, topic) }?;
        let done = work();
        started.finish().map(|()| done)
    }

    /// Starts sending a message and overwrites it at once with `with`, as no program may: who receives the old bytes learns that the
    /// library had copied them when `MPI_Isend` returned.
    pub fn send_and_overwrite(&self, bytes: &mut [u8], to: usize, topic: i32, with: u8) -> Result<(), WorldError> {
        let (place, length) = (bytes.as_mut_ptr(), count(bytes));
        // SAFETY: the bytes stay borrowed until `finish` has waited for the message.
        let started = unsafe { self.start_sending(place, length, to, topic) }?;
        for at in 0..bytes.len() {
            // SAFETY: inside the slice. The library may read the same bytes meanwhile, so they are written one by one, each as a whole.
            unsafe { place.add(at).write_volatile(with) };
        }
        started.finish()
    }

    /// # Safety
    /// `length` bytes are readable until the message is finished.
    unsafe fn start_sending(&self, bytes: *const u8, length: c_int, to: usize, topic: i32) -> Result<Underway<'_>, WorldError> {
        let (library, mut request) = (self.library(), 0);
        let (tag, place) = (tag::of_topic(topic), &raw mut request);
        // SAFETY: as the caller promises; there is room for a handle of any ABI.
        let result = unsafe { (self.functions.isend)(bytes.cast(), length, library.byte(), number(to), tag, library.world(), place) };
        library.check("MPI_Isend", result)?;
        Ok(Underway { timed: self, request })
    }

    /// Starts receiving a message (`MPI_Irecv`), does something, and waits until it has come (`MPI_Wait`).
    pub fn receive_while<T>(&self, place: &mut [u8], from: usize, topic: i32, work: impl FnOnce() -> T) -> Result<T, WorldError> {
        let (library, mut request) = (self.library(), 0);
        let (bytes, length, tag) = (place.as_mut_ptr().cast(), count(place), tag::of_topic(topic));
        // SAFETY: the place is writable and stays borrowed until `finish` has waited for the message; there is room for any handle.
        let result = unsafe { (self.functions.irecv)(bytes, length, library.byte(), number(from), tag, library.world(), &raw mut request) };
        library.check("MPI_Irecv", result)?;
        let started = Underway { timed: self, request };
        let done = work();
        started.finish().map(|()| done)
    }

    /// Does something while MPI has a buffer of so many bytes for messages sent with [`Sending::Buffered`]; all of them are delivered
    /// when it is over.
    pub fn with_buffer<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> Result<T, WorldError> {
        // Left to MPI for good should the work panic, because MPI keeps its address.
        let buffer = Box::leak(vec![0u8; bytes].into_boxed_slice());
        // SAFETY: the buffer is writable for its length and nobody else uses it until it is detached.
        let result = unsafe { (self.functions.buffer_attach)(buffer.as_mut_ptr().cast(), count(buffer)) };
        self.library().check("MPI_Buffer_attach", result)?;
        let done = work();
        let (mut address, mut length): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
        // SAFETY: MPI writes an address and a length.
        let result = unsafe { (self.functions.buffer_detach)((&raw mut address).cast(), &mut length) };
        self.library().check("MPI_Buffer_detach", result)?;
        // SAFETY: this is the buffer of above, which MPI has given back.
        drop(unsafe { Box::from_raw(buffer) });
        Ok(done)
    }

    /// Waits for the next letter of another process ([`World::send`]) as who has nothing to do until then: without taking a core
    /// from those who are being timed, longer than a moment.
    pub fn await_letter(&self) -> Result<(usize, Vec<u8>), WorldError> {
        const MOMENT: Duration = Duration::from_millis(1);
        const NAP: Duration = Duration::from_micros(200);
        let began = Instant::now();
        while !self.is_there(self.library().layout().any_source, tag::LETTER_LENGTH)? {
            if began.elapsed() > MOMENT {
                std::thread::sleep(NAP);
            }
        }
        self.world.receive()
    }

    /// Whether a message of another process comes within that time; it is not received. Meanwhile MPI does what it has to do.
    pub fn comes(&self, from: usize, topic: i32, within: Duration) -> Result<bool, WorldError> {
        let began = Instant::now();
        loop {
            if self.is_there(number(from), tag::of_topic(topic))? {
                return Ok(true);
            }
            if began.elapsed() >= within {
                return Ok(false);
            }
        }
    }

    fn is_there(&self, from: c_int, tag: c_int) -> Result<bool, WorldError> {
        let library = self.library();
        let mut flag: c_int = 0;
        // SAFETY: MPI writes the flag, and no status.
        let result = unsafe { (self.functions.iprobe)(from, tag, library.world(), &mut flag, library.no_status()) };
        library.check("MPI_Iprobe", result).map(|()| flag != 0)
    }
}

/// A message under way. MPI uses its bytes until it is finished, so nothing may go on without that.
struct Underway<'t> {
    timed: &'t Timed<'t>,
    request: Handle,
}

impl Underway<'_> {
    fn finish(mut self) -> Result<(), WorldError> {
        let library = self.timed.library();
        let request = &raw mut self.request;
        // SAFETY: the request was started, and not waited for.
        let result = unsafe { (self.timed.functions.wait)(request, library.no_status()) };
        std::mem::forget(self);
        library.check("MPI_Wait", result)
    }
}

impl Drop for Underway<'_> {
    /// The work beside the message panicked: its bytes are about to go away, and MPI would go on using them.
    fn drop(&mut self) {
        self.timed.library().abort(1)
    }
}
