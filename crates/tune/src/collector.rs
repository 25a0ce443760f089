//! The processes of the program on this host: they come to a door, prove that they belong to the run, and hand over the memory with their
//! events.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use sintonia_link::host_name;
use sintonia_link::order::{Command, Order, Word};
use sintonia_link::ring::{CHUNK_BYTES, Counters, Event, HEAD_BYTES, Reader};
use sintonia_link::session::{Receiver, Secret, Sender, SessionError, Side, begin};

/// Who does not prove itself within this time is shown out.
const PATIENCE: Duration = Duration::from_secs(5);

/// A process that does not take an order within this time is given up: the others wait as long.
const ORDER_PATIENCE: Duration = Duration::from_secs(1);
/// After a problem with the door itself, it is tried again so soon.
const PAUSE: Duration = Duration::from_millis(100);
/// No process has more rings, nor has a ring more chunks.
const MOST: u64 = 1 << 16;

/// Rings of new threads are looked for once in so many times that events are read.
const LOOK_EVERY: u32 = 16;

/// Numbers from here on are those of no process in the system.
const BEYOND: u32 = 1 << 31;

/// What comes from the door.
#[derive(Debug)]
pub enum News {
    /// A process has come.
    Came(Box<Process>),
    /// A process, by its number, said something.
    Said(u32, Word),
    /// It is gone.
    Gone(u32),
    /// Somebody came who does not belong to the run, or spoke in its name.
    Stranger(String),
}

/// The door to which the processes of this host come.
#[derive(Debug)]
pub struct Collector {
    folder: PathBuf,
    news: mpsc::Receiver<News>,
}

impl Collector {
    /// Opens a door in a folder that only this user can enter, made if it is not there yet.
    pub fn open(folder: &Path, secret: &Secret) -> io::Result<Collector> {
        match std::fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(problem) if problem.kind() != io::ErrorKind::AlreadyExists => return Err(problem),
            _ => {}
        }
        let about = std::fs::symlink_metadata(folder)?;
        if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o077 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} belongs to somebody else", folder.display())));
        }
        let door = folder.join(host_name());
        let listener = UnixListener::bind(&door)?;
        let (sender, news) = mpsc::channel();
        let secret = secret.clone();
        let guests = Arc::new(Guests::default());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    std::thread::sleep(PAUSE);
                    continue;
                };
                allow_many_files();
                let (sender, secret, guests) = (sender.clone(), secret.clone(), guests.clone());
                // Whoever cannot be attended to finds the door closed, and goes on without.
                drop(std::thread::Builder::new().spawn(move || attend(&stream, &secret, &guests, &sender)));
            }
        });
        Ok(Collector { folder: folder.to_owned(), news })
    }

    /// What has come since the last time.
    pub fn news(&self) -> impl Iterator<Item = News> {
        self.news.try_iter()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let own = host_name();
        for file in [own.clone(), format!("{own}.started")] {
            let _ = std::fs::remove_file(self.folder.join(file));
        }
        // Other hosts may have doors there as well; the last one takes it away.
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// The numbers of those that are there.
#[derive(Default)]
struct Guests(Mutex<HashSet<u32>>);

impl Guests {
    fn lock(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The number of one that comes: its own, unless another has it that may not have been seen off yet, as when a program takes the place of
    /// another in its process, or has it in a container of its own.
    fn come(&self, own: u32) -> u32 {
        let mut numbers = self.lock();
        let number = [own].into_iter().chain(BEYOND..).find(|number| !numbers.contains(number)).unwrap_or(own);
        numbers.insert(number);
        number
    }

    fn go(&self, number: u32) {
        self.lock().remove(&number);
    }
}

/// Every process takes a few files. Asked for when the first comes: what this command has started by then keeps the limits that it was given.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// A conversation with a process, from its beginning to its end.
fn attend(stream: &UnixStream, secret: &Secret, guests: &Guests, news: &mpsc::Sender<News>) {
    match welcome(stream, secret) {
        Ok((mut process, mut receiver)) => {
            let number = guests.come(process.number);
            process.number = number;
            if news.send(News::Came(Box::new(process))).is_err() {
                return;
            }
            loop {
                match receiver.receive().map(|message| postcard::from_bytes(&message)) {
                    Ok(Ok(word)) => {
                        if news.send(News::Said(number, word)).is_err() {
                            return;
                        }
                    }
                    Err(SessionError::Broken(_)) => break,
                    Err(problem) => {
                        let _ = news.send(News::Stranger(problem.to_string()));
                        break;
                    }
                    Ok(Err(_)) => break,
                }
            }
            let _ = news.send(News::Gone(number));
            guests.go(number);
        }
        Err(SessionError::Broken(_)) => {}
        Err(problem) => {
            let _ = news.send(News::Stranger(problem.to_string()));
        }
    }
}

fn welcome<'stream>(stream: &'stream UnixStream, secret: &Secret) -> Result<(Process, Receiver<&'stream UnixStream>), SessionError> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(ORDER_PATIENCE))?;
    let (mut receiver, sender) = begin(stream, Voice(stream.try_clone()?), secret, Side::Server)?;
    let memory = take_over(stream)?;
    let unexpected = || SessionError::Broken(io::ErrorKind::InvalidData.into());
    let Ok(Word::Here { process, ring_bytes, ring_chunks, clock, place }) = postcard::from_bytes(&receiver.receive()?) else {
        return Err(unexpected());
    };
    let is_room = |chunks: u64| HEAD_BYTES as u64 + chunks * CHUNK_BYTES as u64 <= ring_bytes;
    if !(1..=MOST).contains(&ring_chunks) || !is_room(ring_chunks) || ring_bytes > i64::MAX as u64 / MOST {
        return Err(unexpected());
    }
    stream.set_read_timeout(None)?;
    let clock = Clock { first: clock, last: clock };
    Ok((
        Process {
            number: process,
            in_system: process,
            place,
            sender,
            memory,
            ring_bytes,
            ring_chunks,
            rings: Vec::new(),
            drained: 0,
            clock,
        },
        receiver,
    ))
}

/// The way to a process. Who did not hear an order to its end would misunderstand all others: then nothing more is said, and it notices.
#[derive(Debug)]
struct Voice(UnixStream);

impl Write for Voice {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).inspect_err(|problem| {
            if problem.kind() != io::ErrorKind::Interrupted {
                let _ = self.0.shutdown(Shutdown::Both);
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file that comes with the next byte.
fn take_over(stream: &UnixStream) -> io::Result<File> {
    let mut mark = [0u8];
    let mut room = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    recvmsg(stream, &mut [io::IoSliceMut::new(&mut mark)], &mut with, RecvFlags::CMSG_CLOEXEC)?;
    let file = with.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next().map(File::from),
        _ => None,
    });
    file.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The clock of a process: two moments in ticks, and in nanoseconds of the host's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Clock {
    first: (u64, u64),
    last: (u64, u64),
}

impl Clock {
    /// A moment in ticks, in nanoseconds.
    fn nanoseconds(&self, ticks: u64) -> f64 {
        let ((first, begin), (last, end)) = (self.first, self.last);
        let rate = if last > first { end.saturating_sub(begin) as f64 / (last - first) as f64 } else { 1.0 };
        begin as f64 + ticks.wrapping_sub(first) as i64 as f64 * rate
    }
}

/// A process of the program.
#[derive(Debug)]
pub struct Process {
    /// The number by which it is known: that in the system, unless another with that is there as well.
    pub number: u32,
    /// Its number in the system.
    pub in_system: u32,
    /// Its rank, and how many there are, as its launcher says.
    pub place: Option<(u32, u32)>,
    sender: Sender<Voice>,
    memory: File,
    ring_bytes: u64,
    ring_chunks: u64,
    rings: Vec<Reader>,
    /// How often events were read.
    drained: u32,
    clock: Clock,
}

impl Process {
    /// Sends an order under a number.
    pub fn order(&mut self, number: u64, order: Order) -> Result<(), SessionError> {
        let message = postcard::to_allocvec(&Command { number, order }).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        self.sender.send(&message)
    }

    /// Another moment of its clock.
    pub fn set_clock(&mut self, clock: (u64, u64)) {
        self.clock.last = clock;
    }

    /// The seconds between two moments in its ticks.
    pub fn seconds_between(&self, first: u64, last: u64) -> f64 {
        (self.clock.nanoseconds(last) - self.clock.nanoseconds(first)) / 1e9
    }

    /// Gives every new event to `each`, with the number of its ring and its time in nanoseconds of the host's clock.
    pub fn drain(&mut self, mut each: impl FnMut(usize, f64, Event)) -> io::Result<usize> {
        let clock = self.clock;
        // A new thread may wait a little. What is known already is read in any case.
        self.drained = self.drained.wrapping_add(1);
        let is_due = self.rings.is_empty() || self.drained.is_multiple_of(LOOK_EVERY);
        let looked = if is_due { self.look_for_rings() } else { Ok(()) };
        let mut count = 0;
        for (number, ring) in self.rings.iter_mut().enumerate() {
            count += ring.drain(|event| each(number, clock.nanoseconds(event.ticks), event))?;
        }
        looked.map(|()| count)
    }

    /// How many events were dropped because nobody read them in time.
    pub fn dropped(&self) -> u64 {
        let counted = |which| self.rings.iter().filter_map(move |ring| ring.counter(which).ok()).sum::<u64>();
        counted(Counters::DROPPED) + counted(Counters::HOMELESS)
    }

    /// A thread that notes something takes the next ring.
    fn look_for_rings(&mut self) -> io::Result<()> {
        loop {
            let base = self.rings.len() as u64 * self.ring_bytes;
            if self.rings.len() as u64 == MOST || base + self.ring_bytes > self.memory.metadata()?.len() {
                return Ok(());
            }
            let reader = Reader::new(self.memory.try_clone()?, base, self.ring_chunks);
            if reader.counter(Counters::THREAD)? == 0 {
                return Ok(());
            }
            self.rings.push(reader);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_backwards_does_no_harm() {
        let clock = Clock { first: (1000, 500), last: (2000, 100) };
        assert_eq!(clock.nanoseconds(3000), 500.0);
        let clock = Clock { first: (1000, 500), last: (1000, 700) };
        assert_eq!(clock.nanoseconds(1500), 1000.0);
        assert_eq!(Clock { first: (1000, 500), last: (2000, 1000) }.nanoseconds(3000), 1500.0);
    }

    #[test]
    fn two_that_say_they_are_the_same_are_known_by_different_numbers() {
        let guests = Guests::default();
        let (first, second) = (guests.come(7), guests.come(7));
        assert!(first == 7 && second >= BEYOND);
        assert_eq!([guests.come(8), guests.come(7)], [8, second + 1]);
        guests.go(7);
        assert_eq!(guests.come(7), 7);
    }

    #[test]
    fn who_takes_no_orders_is_given_up_and_the_way_to_it_closed() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        ours.set_write_timeout(Some(Duration::from_millis(50))).expect("set");
        let mut voice = Voice(ours);
        while voice.write(&[0; 1 << 16]).is_ok() {}
        let mut rest = Vec::new();
        theirs.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
        io::Read::read_to_end(&mut &theirs, &mut rest).expect("the other end notices");
        assert!(!rest.is_empty());
    }
}
