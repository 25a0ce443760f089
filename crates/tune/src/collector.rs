//! The processes of the program on this host: they come to a door, prove that they belong to the run, and hand over the memory with their
//! events.

use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use sintonia_link::order::{Command, Order, Word};
use sintonia_link::ring::{Counters, Event, Reader};
use sintonia_link::session::{Receiver, Secret, Sender, SessionError, Side, begin};

/// Who does not prove itself within this time is shown out.
const PATIENCE: Duration = Duration::from_secs(5);

/// What comes from the door.
#[derive(Debug)]
pub enum News {
    /// A process has come.
    Came(Box<Process>),
    /// A process, by its number in the system, said something.
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
    /// Opens a door in a new folder that only this user can enter.
    pub fn open(folder: &Path, secret: &Secret) -> io::Result<Collector> {
        std::fs::DirBuilder::new().mode(0o700).create(folder)?;
        let listener = UnixListener::bind(Collector::door(folder))?;
        let (sender, news) = mpsc::channel();
        let secret = secret.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sender, secret) = (sender.clone(), secret.clone());
                std::thread::spawn(move || attend(&stream, &secret, &sender));
            }
        });
        Ok(Collector { folder: folder.to_owned(), news })
    }

    /// Where the door of a folder is.
    pub fn door(folder: &Path) -> PathBuf {
        folder.join("door")
    }

    /// What has come since the last time.
    pub fn news(&self) -> impl Iterator<Item = News> {
        self.news.try_iter()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A conversation with a process, from its beginning to its end.
fn attend(stream: &UnixStream, secret: &Secret, news: &mpsc::Sender<News>) {
    match welcome(stream, secret) {
        Ok((process, mut receiver)) => {
            let number = process.number;
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
        }
        Err(SessionError::Broken(_)) => {}
        Err(problem) => {
            let _ = news.send(News::Stranger(problem.to_string()));
        }
    }
}

fn welcome(stream: &UnixStream, secret: &Secret) -> Result<(Process, Receiver<UnixStream>), SessionError> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut receiver, sender) = begin(stream.try_clone()?, stream.try_clone()?, secret, Side::Server)?;
    let memory = take_over(stream)?;
    let unexpected = || SessionError::Broken(io::ErrorKind::InvalidData.into());
    let Ok(Word::Here { process, ring_bytes, ring_chunks, clock }) = postcard::from_bytes(&receiver.receive()?) else {
        return Err(unexpected());
    };
    if ring_chunks == 0 || ring_bytes == 0 {
        return Err(unexpected());
    }
    stream.set_read_timeout(None)?;
    let clock = Clock { first: clock, last: clock };
    Ok((Process { number: process, sender, memory, ring_bytes, ring_chunks, rings: Vec::new(), clock }, receiver))
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
        let rate = if last > first { (end - begin) as f64 / (last - first) as f64 } else { 1.0 };
        begin as f64 + ticks.wrapping_sub(first) as i64 as f64 * rate
    }
}

/// A process of the program.
#[derive(Debug)]
pub struct Process {
    /// Its number in the system.
    pub number: u32,
    sender: Sender<UnixStream>,
    memory: File,
    ring_bytes: u64,
    ring_chunks: u64,
    rings: Vec<Reader>,
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

    /// Gives every new event to `each`, with its time in nanoseconds of the host's clock.
    pub fn drain(&mut self, mut each: impl FnMut(f64, Event)) -> io::Result<usize> {
        let clock = self.clock;
        self.look_for_rings()?;
        let mut count = 0;
        for ring in &mut self.rings {
            count += ring.drain(|event| each(clock.nanoseconds(event.ticks), event))?;
        }
        Ok(count)
    }

    /// How many events were dropped because nobody read them in time.
    pub fn dropped(&self) -> u64 {
        self.rings.iter().filter_map(|ring| ring.counter(Counters::DROPPED).ok()).sum()
    }

    /// A thread that notes something takes the next ring.
    fn look_for_rings(&mut self) -> io::Result<()> {
        loop {
            let base = self.rings.len() as u64 * self.ring_bytes;
            if base + self.ring_bytes > self.memory.metadata()?.len() {
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
