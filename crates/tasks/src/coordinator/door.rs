//! Where workers come in: whoever connects and knows the token is one.

use std::io::BufReader;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use crate::Error;
use crate::protocol::{self, VERSION, Word};

/// What the coordinator hears.
pub enum Event {
    /// A worker has come.
    Came { stream: TcpStream, host: String, process: u64 },
    /// A worker says something.
    Said(usize, Word),
    /// A worker will say no more.
    Silent(usize, String),
}

/// A door that is open as long as this lives.
pub struct Door {
    pub address: SocketAddr,
    closed: Arc<AtomicBool>,
}

/// Who connects says who it is within this time.
const MANNERS: Duration = Duration::from_secs(10);
/// Who takes no more for so long does not listen any more.
const PATIENCE: Duration = Duration::from_secs(10);

impl Door {
    /// Opens a door at that address.
    pub fn open(address: &str, token: String, events: Sender<Event>) -> Result<Door, Error> {
        let listener = TcpListener::bind(address).map_err(Error::io(format!("{address} cannot be listened at")))?;
        let door = Door {
            address: listener.local_addr().map_err(Error::io("the address of the coordinator"))?,
            closed: Arc::new(AtomicBool::new(false)),
        };
        let closed = door.closed.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if closed.load(Ordering::Relaxed) {
                    return;
                }
                let (token, events) = (token.clone(), events.clone());
                thread::spawn(move || {
                    if let Some(event) = greet(stream, &token) {
                        // Nobody hears it when the run is over.
                        let _ = events.send(event);
                    }
                });
            }
        });
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

/// Hears who has connected; none if it is no worker of ours.
fn greet(mut stream: TcpStream, token: &str) -> Option<Event> {
    stream.set_read_timeout(Some(MANNERS)).ok()?;
    let Ok(Word::Hello { version: VERSION, token: shown, host, process }) = protocol::receive(&mut stream) else { return None };
    if shown != token {
        return None;
    }
    stream.set_read_timeout(None).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.set_nodelay(true).ok()?;
    Some(Event::Came { stream, host, process })
}

/// Hands on what a worker says.
pub fn listen(worker: usize, stream: TcpStream, events: Sender<Event>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        loop {
            let (event, last) = match protocol::receive(&mut reader) {
                Ok(word) => (Event::Said(worker, word), false),
                Err(error) => (Event::Silent(worker, reason(&error)), true),
            };
            if events.send(event).is_err() || last {
                return;
            }
        }
    });
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => "its connection closed".into(),
        _ => format!("its connection broke: {error}"),
    }
}
