//! Working together under the user's own MPI: `mpirun -n 16 sintonia …`.
//!
//! What one machine cannot hold, the processes of an MPI job can. No MPI is there when Sintonia is built: the library that belongs to the
//! launcher is found and loaded when a launcher has started this process, and never otherwise.

mod error;
mod launcher;
mod library;
mod search;
mod timed;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, take};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub use error::WorldError;
use launcher::Launcher;
use library::{Library, PIECE};
pub use timed::{Collective, Group, Sending, Timed};

/// What a message is, so that none is taken for another.
mod tag {
    pub const PARCEL: i32 = 1;
    pub const LETTER_LENGTH: i32 = 2;
    pub const LETTER: i32 = 3;

    /// The tag of what a benchmark sends about this.
    pub fn of_topic(topic: i32) -> i32 {
        100 + topic
    }
}

/// A launcher that is told of a failure ends all processes at once, and may lose what they have just said: it gets so long to pass it on.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The processes that a launcher started together, seen from this one.
///
/// A process that is done calls [`World::leave`]. A world that is dropped otherwise (a panic, say) ends all processes, because the others
/// would wait for this one for ever. To say why first, keep the world where errors are reported, and call [`World::abort`] there.
pub struct World {
    library: Library,
    rank: usize,
    size: usize,
    letters_to_self: RefCell<VecDeque<Vec<u8>>>,
    /// MPI is told that only one thread calls it.
    of_one_thread: PhantomData<*const ()>,
}

impl World {
    /// Joins the other processes that the launcher started; `None` if there are none. Then no MPI library is loaded.
    ///
    /// If it fails, the others may be waiting for this process: say why, then call [`World::give_up`].
    pub fn join() -> Option<Result<World, WorldError>> {
        let launcher = Launcher::of(|name| std::env::var(name).ok())?;
        World::join_with(launcher).transpose()
    }

    fn join_with(launcher: Launcher) -> Result<Option<World>, WorldError> {
        static JOINED: AtomicBool = AtomicBool::new(false);
        if JOINED.swap(true, Ordering::Relaxed) {
            return Err(WorldError::JoinedBefore);
        }
        let library = search::find(launcher)?;
        library.start()?;
        let (rank, size) = (library.rank()?, library.size()?);
        if size > 1 {
            return Ok(Some(World { library, rank, size, letters_to_self: RefCell::default(), of_one_thread: PhantomData }));
        }
        library.finish()?;
        match launcher.size {
            Some(started) => Err(WorldError::Stranger { library: library.name(), started }),
            None => Ok(None),
        }
    }

    /// Ends a process that could not join, with this status, and the others that wait for it.
    pub fn give_up(status: i32) -> ! {
        thread::sleep(LAST_WORDS);
        launcher::report_failure(status);
        std::process::exit(status)
    }

    /// The number of this process, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many processes there are: at least two.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The name, version and file of the MPI library that connects them.
    pub fn library(&self) -> String {
        self.library.name()
    }

    /// Parcel `i` goes to process `i`; parcel `i` of the result came from there. All processes call it together. Parcels may have any size.
    pub fn exchange(&self, mut parcels: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, WorldError> {
        if parcels.len() != self.size {
            return Err(WorldError::Parcels { given: parcels.len(), size: self.size });
        }
        let lengths: Vec<u64> = parcels.iter().map(|parcel| parcel.len() as u64).collect();
        let announced = self.library.all_to_all(&lengths)?;
        let mut received = vec![Vec::new(); self.size];
        received[self.rank] = take(&mut parcels[self.rank]);
        // In each step everyone sends to one process and receives from one, so that nobody is flooded; what is sent is given up at once.
        for step in 1..self.size {
            let (to, from) = ((self.rank + step) % self.size, (self.rank + self.size - step) % self.size);
            received[from] = vec![0; announced[from] as usize];
            self.swap(&take(&mut parcels[to]), to, &mut received[from], from)?;
        }
        Ok(received)
    }

    /// Sends a parcel to one process while receiving one from another, piece by piece. Nobody waits in a circle: a piece is awaited only
    /// from a process that is at the same piece of the same step, or will come to it without needing this process.
    fn swap(&self, parcel: &[u8], to: usize, place: &mut [u8], from: usize) -> Result<(), WorldError> {
        let (mut pieces, mut places) = (parcel.chunks(PIECE), place.chunks_mut(PIECE));
        loop {
            match (pieces.next(), places.next()) {
                (Some(piece), Some(place)) => self.library.send_receive(piece, to, place, from, tag::PARCEL)?,
                (Some(piece), None) => self.library.send(piece, to, tag::PARCEL)?,
                (None, Some(place)) => self.library.receive(place, from, tag::PARCEL)?,
                (None, None) => return Ok(()),
            }
        }
    }

    /// Sends a letter of any size to a process. May wait until that one receives it, unless it goes to this process itself.
    pub fn send(&self, to: usize, bytes: &[u8]) -> Result<(), WorldError> {
        if to == self.rank {
            self.letters_to_self.borrow_mut().push_back(bytes.to_vec());
            return Ok(());
        }
        self.library.send(&(bytes.len() as u64).to_le_bytes(), to, tag::LETTER_LENGTH)?;
        bytes.chunks(PIECE).try_for_each(|piece| self.library.send(piece, to, tag::LETTER))
    }

    /// Waits for the next letter of any process: who sent it, and what is in it. Letters of one process come in their order.
    pub fn receive(&self) -> Result<(usize, Vec<u8>), WorldError> {
        if let Some(letter) = self.letters_to_self.borrow_mut().pop_front() {
            return Ok((self.rank, letter));
        }
        let mut length = [0u8; 8];
        let from = self.library.receive_any(&mut length, tag::LETTER_LENGTH)?;
        let mut letter = vec![0; u64::from_le_bytes(length) as usize];
        letter.chunks_mut(PIECE).try_for_each(|piece| self.library.receive(piece, from, tag::LETTER))?;
        Ok((from, letter))
    }

    /// Whether any process says yes. All processes call it together, and all get the same answer.
    pub fn any(&self, yes: bool) -> Result<bool, WorldError> {
        let all = self.library.all_gather(yes.into(), self.size)?;
        Ok(all.contains(&1))
    }

    /// Leaves, once all the others do: the end of a process that has done its work.
    pub fn leave(self) -> Result<(), WorldError> {
        ManuallyDrop::new(self).library.finish()
    }

    /// Ends all processes at once, with this status: the end of a process that has failed.
    pub fn abort(&self, status: i32) -> ! {
        thread::sleep(LAST_WORDS);
        self.library.abort(status)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.abort(1);
    }
}
