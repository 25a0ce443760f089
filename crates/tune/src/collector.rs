//! Accepts connections from the program's processes on this host: authenticates them and maps the rings with their events.

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
use sintonia_link::call_sums::{CallSums, SumsReader};
use sintonia_link::host_name;
use sintonia_link::probe_protocol::{CommandEnvelope, ProbeCommand, ProbeMessage};
use sintonia_link::ring::{CHUNK_BYTES, HEADER_BYTES, HookEvent, RingCounters, RingReader};
use sintonia_link::session::{SessionError, SessionReceiver, SessionSender, SessionSide, SharedSecret, handshake};

/// Time for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// A process that does not accept a command within this time is given up; other processes wait meanwhile.
const ORDER_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay after a failed accept.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// Most rings of a process, and most chunks of a ring.
const MAX_RINGS: u64 = 1 << 16;

/// Rings of new threads are looked for once per this many reads.
const RING_SCAN_INTERVAL: u32 = 16;

/// IDs from here on are not process IDs of the system.
const FIRST_SYNTHETIC_ID: u32 = 1 << 31;

/// An event of a connection with a process.
#[derive(Debug)]
pub enum CollectorEvent {
    /// A process has connected.
    Connected(Box<ProcessConnection>),
    /// A message from a process, by ID.
    Message(u32, ProbeMessage),
    /// The connection has ended.
    Disconnected(u32),
    /// A connection was refused, or its message authentication failed.
    Rejected(String),
}

/// Listens for the processes of this host.
#[derive(Debug)]
pub struct ProcessCollector {
    folder: PathBuf,
    events: mpsc::Receiver<CollectorEvent>,
}

impl ProcessCollector {
    /// Listens in a folder that only this user can access; creates it if needed.
    pub fn open(folder: &Path, secret: &SharedSecret) -> io::Result<ProcessCollector> {
        match std::fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(problem) if problem.kind() != io::ErrorKind::AlreadyExists => return Err(problem),
            _ => {}
        }
        let metadata = std::fs::symlink_metadata(folder)?;
        if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} is accessible to other users", folder.display())));
        }
        let socket = folder.join(host_name());
        let listener = UnixListener::bind(&socket)?;
        let (sender, events) = mpsc::channel();
        let secret = secret.clone();
        let ids = Arc::new(ActiveProcessIds::default());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    std::thread::sleep(ACCEPT_RETRY_DELAY);
                    continue;
                };
                raise_file_limit();
                let (sender, secret, ids) = (sender.clone(), secret.clone(), ids.clone());
                // If no thread can be spawned, the connection is closed and the process continues untuned.
                drop(std::thread::Builder::new().spawn(move || serve_process(&stream, &secret, &ids, &sender)));
            }
        });
        Ok(ProcessCollector { folder: folder.to_owned(), events })
    }

    /// Events since the last call.
    pub fn events(&self) -> impl Iterator<Item = CollectorEvent> {
        self.events.try_iter()
    }
}

impl Drop for ProcessCollector {
    fn drop(&mut self) {
        let own = host_name();
        for file in [own.clone(), format!("{own}.started")] {
            let _ = std::fs::remove_file(self.folder.join(file));
        }
        // Other hosts may have sockets in the folder; the last one removes it.
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// IDs of the connected processes.
#[derive(Default)]
struct ActiveProcessIds(Mutex<HashSet<u32>>);

impl ActiveProcessIds {
    fn lock(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Registers a process: returns its PID, or a synthetic ID if that is taken. This happens when a process calls exec before its old connection
    /// is closed, or has the same PID in another container.
    fn register(&self, own: u32) -> u32 {
        let mut numbers = self.lock();
        let id = [own].into_iter().chain(FIRST_SYNTHETIC_ID..).find(|id| !numbers.contains(id)).unwrap_or(own);
        numbers.insert(id);
        id
    }

    fn unregister(&self, id: u32) {
        self.lock().remove(&id);
    }
}

/// Each process needs a few file descriptors. Raised on the first connection, so that children started before keep their limits.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Serves a connection from handshake to end.
fn serve_process(stream: &UnixStream, secret: &SharedSecret, ids: &ActiveProcessIds, events: &mpsc::Sender<CollectorEvent>) {
    match accept_process(stream, secret) {
        Ok((mut process, mut receiver)) => {
            let id = ids.register(process.id);
            process.id = id;
            if events.send(CollectorEvent::Connected(Box::new(process))).is_err() {
                return;
            }
            loop {
                match receiver.receive().map(|message| postcard::from_bytes(&message)) {
                    Ok(Ok(word)) => {
                        if events.send(CollectorEvent::Message(id, word)).is_err() {
                            return;
                        }
                    }
                    Err(SessionError::Connection(_)) => break,
                    Err(problem) => {
                        let _ = events.send(CollectorEvent::Rejected(problem.to_string()));
                        break;
                    }
                    Ok(Err(_)) => break,
                }
            }
            let _ = events.send(CollectorEvent::Disconnected(id));
            ids.unregister(id);
        }
        Err(SessionError::Connection(_)) => {}
        Err(problem) => {
            let _ = events.send(CollectorEvent::Rejected(problem.to_string()));
        }
    }
}

fn accept_process<'stream>(
    stream: &'stream UnixStream,
    secret: &SharedSecret,
) -> Result<(ProcessConnection, SessionReceiver<&'stream UnixStream>), SessionError> {
    stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    stream.set_write_timeout(Some(ORDER_TIMEOUT))?;
    let (mut receiver, sender) = handshake(stream, OrderWriter(stream.try_clone()?), secret, SessionSide::Server)?;
    let memory = receive_ring_file(stream)?;
    let unexpected = || SessionError::Connection(io::ErrorKind::InvalidData.into());
    let Ok(ProbeMessage::Hello { process, ring_bytes, ring_chunks, clock, rank_and_size }) = postcard::from_bytes(&receiver.receive()?)
    else {
        return Err(unexpected());
    };
    let is_room = |chunks: u64| HEADER_BYTES as u64 + chunks * CHUNK_BYTES as u64 <= ring_bytes;
    if !(1..=MAX_RINGS).contains(&ring_chunks) || !is_room(ring_chunks) || ring_bytes > i64::MAX as u64 / MAX_RINGS {
        return Err(unexpected());
    }
    stream.set_read_timeout(None)?;
    let clock = ProcessClock { first: clock, last: clock };
    Ok((
        ProcessConnection {
            id: process,
            pid: process,
            rank_and_size,
            sender,
            memory,
            ring_bytes,
            ring_chunks,
            rings: Vec::new(),
            sums: Vec::new(),
            drain_count: 0,
            clock,
        },
        receiver,
    ))
}

/// Writes commands. A partial write would desynchronise the stream, so the connection is shut down on any error.
#[derive(Debug)]
struct OrderWriter(UnixStream);

impl Write for OrderWriter {
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

/// Receives the file descriptor sent with the next byte.
fn receive_ring_file(stream: &UnixStream) -> io::Result<File> {
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

/// The clock of a process: two pairs of ticks and nanoseconds of the host's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProcessClock {
    first: (u64, u64),
    last: (u64, u64),
}

impl ProcessClock {
    /// Nanoseconds of one tick.
    fn rate(self) -> f64 {
        let ((first, begin), (last, end)) = (self.first, self.last);
        if last > first { end.saturating_sub(begin) as f64 / (last - first) as f64 } else { 1.0 }
    }

    /// Converts ticks to nanoseconds.
    fn to_nanoseconds(self, ticks: u64) -> f64 {
        self.first.1 as f64 + ticks.wrapping_sub(self.first.0) as i64 as f64 * self.rate()
    }
}

/// A connected process of the program.
#[derive(Debug)]
pub struct ProcessConnection {
    /// Its ID: the PID, unless that is taken.
    pub id: u32,
    /// Its PID.
    pub pid: u32,
    /// Its rank and the size of the program, according to the launcher.
    pub rank_and_size: Option<(u32, u32)>,
    sender: SessionSender<OrderWriter>,
    memory: File,
    ring_bytes: u64,
    ring_chunks: u64,
    rings: Vec<RingReader>,
    /// The sums beside each ring.
    sums: Vec<SumsReader>,
    /// Number of drains.
    drain_count: u32,
    clock: ProcessClock,
}

impl ProcessConnection {
    /// Sends a command.
    pub fn send_command(&mut self, number: u64, command: ProbeCommand) -> Result<(), SessionError> {
        let message =
            postcard::to_allocvec(&CommandEnvelope { number, command }).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        self.sender.send(&message)
    }

    /// Adds a clock sample.
    pub fn set_clock(&mut self, clock: (u64, u64)) {
        self.clock.last = clock;
    }

    /// Seconds of one tick.
    pub fn seconds_per_tick(&self) -> f64 {
        self.clock.rate() / 1e9
    }

    /// Nanoseconds of the host's clock at a tick count.
    pub fn nanoseconds_at(&self, ticks: u64) -> f64 {
        self.clock.to_nanoseconds(ticks)
    }

    /// Seconds between two tick counts.
    pub fn seconds_between(&self, first: u64, last: u64) -> f64 {
        (self.clock.to_nanoseconds(last) - self.clock.to_nanoseconds(first)) / 1e9
    }

    /// Passes every new event to `each`, with the index of its ring and its time in nanoseconds of the host's clock.
    pub fn drain(&mut self, mut each: impl FnMut(usize, f64, HookEvent)) -> io::Result<usize> {
        let clock = self.clock;
        // Rings of new threads can wait. Known rings are read in any case.
        self.drain_count = self.drain_count.wrapping_add(1);
        let is_due = self.rings.is_empty() || self.drain_count.is_multiple_of(RING_SCAN_INTERVAL);
        let looked = if is_due { self.discover_rings() } else { Ok(()) };
        let mut count = 0;
        for (index, ring) in self.rings.iter_mut().enumerate() {
            count += ring.drain(|event| each(index, clock.to_nanoseconds(event.ticks), event))?;
        }
        looked.map(|()| count)
    }

    /// Sums of the calls of a hook, or an MPI function, since the last time, over all threads.
    pub fn take_sums(&mut self, hook: u32) -> CallSums {
        let mut all = CallSums::default();
        // A process whose memory has no sums has none to read.
        self.sums.iter_mut().filter_map(|sums| sums.take(hook).ok()).for_each(|sums| all.add(sums));
        all
    }

    /// Looks for new threads, so that their sums are read.
    pub fn find_threads(&mut self) -> io::Result<()> {
        self.discover_rings()
    }

    /// Begins another interval for the maxima of the sums.
    pub fn begin_interval(&mut self) {
        for sums in &mut self.sums {
            let _ = sums.begin_interval();
        }
    }

    /// Number of events dropped because the ring was full.
    pub fn dropped(&self) -> u64 {
        let counted = |which| self.rings.iter().filter_map(move |ring| ring.counter(which).ok()).sum::<u64>();
        counted(RingCounters::DROPPED_RECORDS) + counted(RingCounters::DROPPED_WITHOUT_RING)
    }

    /// Each thread that writes events takes the next ring.
    fn discover_rings(&mut self) -> io::Result<()> {
        loop {
            let base = self.rings.len() as u64 * self.ring_bytes;
            if self.rings.len() as u64 == MAX_RINGS || base + self.ring_bytes > self.memory.metadata()?.len() {
                return Ok(());
            }
            let reader = RingReader::new(self.memory.try_clone()?, base, self.ring_chunks);
            if reader.counter(RingCounters::THREAD)? == 0 {
                return Ok(());
            }
            self.rings.push(reader);
            self.sums.push(SumsReader::new(self.memory.try_clone()?, base, self.ring_chunks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_backwards_is_tolerated() {
        let clock = ProcessClock { first: (1000, 500), last: (2000, 100) };
        assert_eq!(clock.to_nanoseconds(3000), 500.0);
        let clock = ProcessClock { first: (1000, 500), last: (1000, 700) };
        assert_eq!(clock.to_nanoseconds(1500), 1000.0);
        assert_eq!(ProcessClock { first: (1000, 500), last: (2000, 1000) }.to_nanoseconds(3000), 1500.0);
    }

    #[test]
    fn processes_with_the_same_pid_get_different_ids() {
        let ids = ActiveProcessIds::default();
        let (first, second) = (ids.register(7), ids.register(7));
        assert!(first == 7 && second >= FIRST_SYNTHETIC_ID);
        assert_eq!([ids.register(8), ids.register(7)], [8, second + 1]);
        ids.unregister(7);
        assert_eq!(ids.register(7), 7);
    }

    #[test]
    fn a_process_that_accepts_no_orders_is_disconnected() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        ours.set_write_timeout(Some(Duration::from_millis(50))).expect("set");
        let mut writer = OrderWriter(ours);
        while writer.write(&[0; 1 << 16]).is_ok() {}
        let mut rest = Vec::new();
        theirs.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
        io::Read::read_to_end(&mut &theirs, &mut rest).expect("the other end notices");
        assert!(!rest.is_empty());
    }
}
