//! Where workers come in: whoever connects and holds the token is one. Of anybody else as little as possible is listened to, and not for long.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sintonia_link::seal::Seal;

use crate::Error;
use crate::launch::random;
use crate::protocol::{self, LONGEST, LONGEST_OF_STRANGERS, Side, VERSION, Word};

/// What the coordinator hears.
pub enum Event {
    /// A worker has come.
    Came(Box<Guest>),
    /// A worker says something.
    Said(usize, Word),
    /// A worker will say no more.
    Silent(usize, String),
}

/// A worker that has come, and has shown that it holds the token.
pub struct Guest {
    pub stream: TcpStream,
    /// What checks the seals of what it says.
    pub hears: Seal,
    /// What seals what it is told.
    pub says: Seal,
    pub host: String,
    pub process: u64,
}

impl Guest {
    /// Whether it runs on this host: only then its process is one of ours.
    pub fn is_here(&self) -> bool {
        let ends = self.stream.peer_addr().and_then(|peer| Ok((peer.ip(), self.stream.local_addr()?.ip())));
        ends.is_ok_and(|(there, here)| there == here)
    }
}

/// A door that is open as long as this lives.
pub struct Door {
    pub address: SocketAddr,
    closed: Arc<AtomicBool>,
}

/// Who connects shows within this time that it holds the token.
const MANNERS: Duration = Duration::from_secs(10);
/// Who takes no more for so long does not listen any more.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many may be at the door at a time, strangers among them.
const MOST: usize = 256;
/// When the system refuses a connection, it may have more to spare after this time.
const PAUSE: Duration = Duration::from_millis(20);

impl Door {
    /// Opens a door at that address.
    pub fn open(address: &str, token: String, events: Sender<Event>) -> Result<Door, Error> {
        let listener = TcpListener::bind(address).map_err(Error::io(format!("{address} cannot be listened at")))?;
        let door = Door {
            address: listener.local_addr().map_err(Error::io("the address of the coordinator"))?,
            closed: Arc::new(AtomicBool::new(false)),
        };
        let closed = door.closed.clone();
        thread::spawn(move || admit(&listener, &closed, &token, &events));
        Ok(door)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // Somebody must knock for the thread to see that the door is closed.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(200));
    }
}

fn admit(listener: &TcpListener, closed: &AtomicBool, token: &str, events: &Sender<Event>) {
    let waiting = Arc::new(AtomicUsize::new(0));
    loop {
        let stream = listener.accept();
        if closed.load(Ordering::Relaxed) {
            return;
        }
        let Ok((stream, _)) = stream else {
            thread::sleep(PAUSE);
            continue;
        };
        if waiting.fetch_add(1, Ordering::Relaxed) >= MOST {
            waiting.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (token, events, waiting) = (token.to_owned(), events.clone(), waiting.clone());
        thread::spawn(move || {
            if let Some(guest) = greet(stream, &token) {
                // Nobody hears it when the run is over.
                let _ = events.send(Event::Came(Box::new(guest)));
            }
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Hears who has connected; none if it is no worker of ours.
fn greet(stream: TcpStream, token: &str) -> Option<Guest> {
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.set_nodelay(true).ok()?;
    let mut from = Hurried { stream: &stream, until: Instant::now() + MANNERS };
    let Ok(Word::Hello { version: VERSION, nonce: theirs }) = protocol::receive_first(&mut from) else { return None };
    let ours = random().ok()?;
    (&stream).write_all(&protocol::welcome(&ours)).ok()?;
    let [mut hears, says] = [Side::Worker, Side::Coordinator].map(|side| protocol::seal(token, side, &theirs, &ours));
    let Ok(Word::Here { host, process }) = protocol::receive(&mut from, &mut hears, LONGEST_OF_STRANGERS) else { return None };
    stream.set_read_timeout(None).ok()?;
    Some(Guest { stream, hears, says, host, process })
}

/// A connection of which everything must come in time, however small the pieces are.
struct Hurried<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Read for Hurried<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        (&mut &*self.stream).read(into)
    }
}

/// When something came from a worker last, be it a part of a message.
#[derive(Debug, Clone)]
pub struct Heard(Arc<Mutex<Instant>>);

impl Heard {
    pub fn now() -> Heard {
        Heard(Arc::new(Mutex::new(Instant::now())))
    }

    pub fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn again(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// A connection that notes when something comes.
struct Noted {
    stream: TcpStream,
    heard: Heard,
}

impl Read for Noted {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.stream.read(into)?;
        self.heard.again();
        Ok(read)
    }
}

/// Hands on what a worker says.
pub fn listen(worker: usize, stream: TcpStream, mut seal: Seal, heard: Heard, events: Sender<Event>) {
    thread::spawn(move || {
        let mut reader = BufReader::with_capacity(1 << 16, Noted { stream, heard });
        loop {
            let (event, last) = match protocol::receive(&mut reader, &mut seal, LONGEST) {
                Ok(word) => (Event::Said(worker, word), false),
                Err(error) => (Event::Silent(worker, reason(&error)), true),
            };
            if events.send(event).is_err() || last {
                return;
            }
        }
    });
}

/// Where messages to a worker are put; the coordinator does not wait for one that takes them slowly, or not at all.
pub fn speak(worker: usize, mut stream: TcpStream, mut seal: Seal, events: Sender<Event>) -> Sender<Vec<u8>> {
    let (sender, messages) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        for message in messages {
            if let Err(error) = protocol::send(&mut stream, &mut seal, message) {
                // Nobody hears it when the run is over.
                let _ = events.send(Event::Silent(worker, format!("it cannot be sent anything: {error}")));
                return;
            }
        }
    });
    sender
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => "its connection closed".into(),
        _ => format!("its connection broke: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "secret";

    fn open() -> (Door, mpsc::Receiver<Event>) {
        let (sender, events) = mpsc::channel();
        (Door::open("127.0.0.1:0", TOKEN.to_owned(), sender).unwrap(), events)
    }

    /// What somebody gets who says these bytes and then no more.
    fn answer(door: &Door, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(door.address).unwrap();
        // The other end may have hung up already.
        let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        heard
    }

    fn hello() -> Vec<u8> {
        [&[0, 0, 0, 21, 1][..], &VERSION.to_be_bytes(), &[7; 16]].concat()
    }

    #[test]
    fn whoever_talks_rubbish_hears_nothing_and_is_no_worker() {
        let (door, events) = open();
        for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[0xFF; 4096], &[0, 0, 0, 1, 9], &hello()[..20]] {
            assert_eq!(answer(&door, bytes), b"", "{bytes:?}");
        }
        let mut other_version = hello();
        other_version[8] += 1;
        assert_eq!(answer(&door, &other_version), b"");
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn whoever_does_not_hold_the_token_hears_a_random_number_and_no_more() {
        let (door, events) = open();
        let here = [&[0, 0, 0, 13, 3, 0, 0, 0, 0][..], &[0; 8]].concat();
        let first = answer(&door, &[hello(), here.clone(), vec![0; 16]].concat());
        let second = answer(&door, &[hello(), here, vec![0; 16]].concat());
        assert_eq!((first.len(), &first[..5]), (21, &[0, 0, 0, 17, 2][..]));
        assert_ne!(first, second);
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn whoever_holds_the_token_comes_in_behind_strangers_that_say_nothing() {
        let (door, events) = open();
        let _strangers: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(door.address).unwrap()).collect();
        let mut stream = TcpStream::connect(door.address).unwrap();
        stream.write_all(&hello()).unwrap();
        let mut welcome = [0; 21];
        stream.read_exact(&mut welcome).unwrap();
        let ours = welcome[5..].try_into().unwrap();
        let mut seal = protocol::seal(TOKEN, Side::Worker, &[7; 16], &ours);
        let here = [&[0, 0, 0, 14, 3, 0, 0, 0, 1, b'h'][..], &5u64.to_be_bytes()].concat();
        protocol::send(&mut stream, &mut seal, here).unwrap();
        let Ok(Event::Came(guest)) = events.recv_timeout(Duration::from_secs(20)) else { panic!("nobody came") };
        assert_eq!((guest.host.as_str(), guest.process, guest.is_here()), ("h", 5, true));
    }
}
