//! Accepts worker connections and authenticates them with the token. Limits what an unauthenticated peer can send, and for how long.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sintonia_link::mac::MessageMac;
use sintonia_link::random::random_bytes;

use crate::Error;
use crate::protocol::{self, MAX_FRAME, MAX_UNAUTHENTICATED_FRAME, ProtocolRole, VERSION, WorkerMessage};

pub(crate) enum WorkerEvent {
    /// A worker has connected and authenticated.
    Connected(Box<AuthenticatedPeer>),
    /// A message from a worker.
    Message(usize, WorkerMessage),
    /// A connection has ended, and why.
    Disconnected(usize, String),
}

/// A worker that has proved that it holds the token.
pub(crate) struct AuthenticatedPeer {
    pub stream: TcpStream,
    /// Verifies MACs of received messages.
    pub receive_mac: MessageMac,
    /// Computes MACs of sent messages.
    pub send_mac: MessageMac,
    pub host: String,
    pub process: u64,
}

impl AuthenticatedPeer {
    /// Whether it runs on this host; only then is its process ID ours.
    pub(crate) fn is_local(&self) -> bool {
        let addresses = self.stream.peer_addr().and_then(|peer| Ok((peer.ip(), self.stream.local_addr()?.ip())));
        addresses.is_ok_and(|(peer, local)| peer == local)
    }
}

/// Accepts connections until dropped.
pub(crate) struct WorkerListener {
    pub address: SocketAddr,
    closed: Arc<AtomicBool>,
}

/// Time for the whole handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a blocked write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Most concurrent handshakes.
const MAX_HANDSHAKES: usize = 256;
/// Delay after a failed accept, for example without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(20);

impl WorkerListener {
    /// Listens on that address.
    pub(crate) fn bind(address: &str, token: String, events: Sender<WorkerEvent>) -> Result<WorkerListener, Error> {
        let socket = TcpListener::bind(address).map_err(Error::io(format!("cannot listen at {address}")))?;
        let listener = WorkerListener {
            address: socket.local_addr().map_err(Error::io("the address of the coordinator"))?,
            closed: Arc::new(AtomicBool::new(false)),
        };
        let closed = listener.closed.clone();
        thread::spawn(move || accept_loop(&socket, &closed, &token, &events));
        Ok(listener)
    }
}

impl Drop for WorkerListener {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // Wakes the thread blocked in accept.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(200));
    }
}

fn accept_loop(listener: &TcpListener, closed: &AtomicBool, token: &str, events: &Sender<WorkerEvent>) {
    let waiting = Arc::new(AtomicUsize::new(0));
    loop {
        let stream = listener.accept();
        if closed.load(Ordering::Relaxed) {
            return;
        }
        let Ok((stream, _)) = stream else {
            thread::sleep(ACCEPT_RETRY_DELAY);
            continue;
        };
        if waiting.fetch_add(1, Ordering::Relaxed) >= MAX_HANDSHAKES {
            waiting.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (token, events, waiting) = (token.to_owned(), events.clone(), waiting.clone());
        thread::spawn(move || {
            if let Some(peer) = handshake(stream, &token) {
                // The receiver is gone when the run is over.
                let _ = events.send(WorkerEvent::Connected(Box::new(peer)));
            }
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Authenticates a peer; none if it is not a worker of this run.
fn handshake(stream: TcpStream, token: &str) -> Option<AuthenticatedPeer> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT)).ok()?;
    stream.set_nodelay(true).ok()?;
    let mut from = DeadlineReader { stream: &stream, deadline: Instant::now() + HANDSHAKE_TIMEOUT };
    let Ok(WorkerMessage::Hello { version: VERSION, nonce: worker_nonce }) = protocol::receive_hello(&mut from) else { return None };
    let nonce = random_bytes().ok()?;
    (&stream).write_all(&protocol::encode_welcome(&nonce)).ok()?;
    let [mut hears, says] =
        [ProtocolRole::Worker, ProtocolRole::Coordinator].map(|side| protocol::session_mac(token, side, &worker_nonce, &nonce));
    let Ok(WorkerMessage::Identify { host, process }) = protocol::receive(&mut from, &mut hears, MAX_UNAUTHENTICATED_FRAME) else {
        return None;
    };
    stream.set_read_timeout(None).ok()?;
    Some(AuthenticatedPeer { stream, receive_mac: hears, send_mac: says, host, process })
}

/// Reads with a deadline for the whole handshake, however small the pieces are.
struct DeadlineReader<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(remaining))?;
        (&mut &*self.stream).read(into)
    }
}

/// When any byte came from a worker last.
#[derive(Debug, Clone)]
pub(crate) struct LastSeen(Arc<Mutex<Instant>>);

impl LastSeen {
    pub(crate) fn now() -> LastSeen {
        LastSeen(Arc::new(Mutex::new(Instant::now())))
    }

    pub(crate) fn time(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Records when bytes arrive.
struct TrackedStream {
    stream: TcpStream,
    last_seen: LastSeen,
}

impl Read for TrackedStream {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.stream.read(into)?;
        self.last_seen.touch();
        Ok(read)
    }
}

/// Forwards messages of a worker as events.
pub(crate) fn spawn_reader(worker: usize, stream: TcpStream, mut mac: MessageMac, last_seen: LastSeen, events: Sender<WorkerEvent>) {
    thread::spawn(move || {
        let mut reader = BufReader::with_capacity(1 << 16, TrackedStream { stream, last_seen });
        loop {
            let (event, last) = match protocol::receive(&mut reader, &mut mac, MAX_FRAME) {
                Ok(word) => (WorkerEvent::Message(worker, word), false),
                Err(error) => (WorkerEvent::Disconnected(worker, disconnect_reason(&error)), true),
            };
            if events.send(event).is_err() || last {
                return;
            }
        }
    });
}

/// The queue of messages to a worker, so that a slow worker does not block the coordinator.
pub(crate) fn spawn_writer(worker: usize, mut stream: TcpStream, mut mac: MessageMac, events: Sender<WorkerEvent>) -> Sender<Vec<u8>> {
    let (sender, messages) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        for message in messages {
            if let Err(error) = protocol::send(&mut stream, &mut mac, message) {
                // The receiver is gone when the run is over.
                let _ = events.send(WorkerEvent::Disconnected(worker, format!("it cannot be written to: {error}")));
                return;
            }
        }
    });
    sender
}

fn disconnect_reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => "its connection closed".into(),
        _ => format!("its connection broke: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "secret";

    fn open() -> (WorkerListener, mpsc::Receiver<WorkerEvent>) {
        let (sender, events) = mpsc::channel();
        (WorkerListener::bind("127.0.0.1:0", TOKEN.to_owned(), sender).unwrap(), events)
    }

    /// The bytes that a peer receives after sending `bytes`.
    fn answer(listener: &WorkerListener, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(listener.address).unwrap();
        // The other end may have closed already.
        let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received);
        received
    }

    fn hello() -> Vec<u8> {
        [&[0, 0, 0, 21, 1][..], &VERSION.to_be_bytes(), &[7; 16]].concat()
    }

    #[test]
    fn a_peer_that_violates_the_protocol_gets_no_answer() {
        let (listener, events) = open();
        for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &[0xFF; 4096], &[0, 0, 0, 1, 9], &hello()[..20]] {
            assert_eq!(answer(&listener, bytes), b"", "{bytes:?}");
        }
        let mut other_version = hello();
        other_version[8] += 1;
        assert_eq!(answer(&listener, &other_version), b"");
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn a_peer_without_the_token_gets_a_nonce_only() {
        let (listener, events) = open();
        let here = [&[0, 0, 0, 13, 3, 0, 0, 0, 0][..], &[0; 8]].concat();
        let first = answer(&listener, &[hello(), here.clone(), vec![0; 16]].concat());
        let second = answer(&listener, &[hello(), here, vec![0; 16]].concat());
        assert_eq!((first.len(), &first[..5]), (21, &[0, 0, 0, 17, 2][..]));
        assert_ne!(first, second);
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn a_worker_is_accepted_while_silent_peers_are_connected() {
        let (listener, events) = open();
        let _silent_peers: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(listener.address).unwrap()).collect();
        let mut stream = TcpStream::connect(listener.address).unwrap();
        stream.write_all(&hello()).unwrap();
        let mut welcome = [0; 21];
        stream.read_exact(&mut welcome).unwrap();
        let ours = welcome[5..].try_into().unwrap();
        let mut mac = protocol::session_mac(TOKEN, ProtocolRole::Worker, &[7; 16], &ours);
        let here = [&[0, 0, 0, 14, 3, 0, 0, 0, 1, b'h'][..], &5u64.to_be_bytes()].concat();
        protocol::send(&mut stream, &mut mac, here).unwrap();
        let Ok(WorkerEvent::Connected(peer)) = events.recv_timeout(Duration::from_secs(20)) else { panic!("no worker connected") };
        assert_eq!((peer.host.as_str(), peer.process, peer.is_local()), ("h", 5, true));
    }
}
