//! Where other hosts of the run come to: each proves that it knows the secret, and that it comes from itself.

use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sintonia_link::local_addresses;
use sintonia_link::session::{Receiver, Secret, Sender, SessionError, Side, begin};

use super::child::{Child, Down};
use super::clock::Difference;
use crate::station::now_ns;

/// Who does not prove itself within this time is shown out.
const PATIENCE: Duration = Duration::from_secs(5);
/// A host that does not take what it is asked within this time is given up: the others wait as long.
const ASK_PATIENCE: Duration = Duration::from_secs(2);
/// After a problem with the door itself, it is tried again so soon.
const PAUSE: Duration = Duration::from_millis(100);
/// So often clocks are compared before the first event is passed on.
const FIRST_COMPARISONS: u32 = 8;

/// Who comes: its name, and where those that come to it can reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The host's name.
    pub host: String,
    /// All its addresses.
    pub addresses: Vec<Ipv4Addr>,
    /// The port of its own door.
    pub port: u16,
}

/// What whoever comes is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reception {
    /// It belongs here.
    Stay,
    /// It belongs to another host, with these addresses.
    GoTo(Vec<String>),
}

/// Somebody came.
pub enum Arrival {
    /// A host.
    Host(Box<Child>),
    /// Somebody who does not belong to the run.
    Stranger(String),
}

/// Where hosts come to.
pub struct Door {
    port: u16,
    arrivals: mpsc::Receiver<Arrival>,
}

/// The hosts that may stay, and where others are sent to in turn.
struct Guests {
    most: usize,
    /// The names of those who stay, and their addresses.
    staying: Vec<(String, Vec<String>)>,
    sent_on: usize,
}

impl Door {
    /// Opens a door on all addresses of this host, for at most so many hosts.
    pub fn open(secret: &Secret, most: usize) -> io::Result<Door> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let port = listener.local_addr()?.port();
        let (sender, arrivals) = mpsc::channel();
        let guests = Arc::new(Mutex::new(Guests { most: most.max(1), staying: Vec::new(), sent_on: 0 }));
        let secret = secret.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    std::thread::sleep(PAUSE);
                    continue;
                };
                let (secret, sender, guests) = (secret.clone(), sender.clone(), guests.clone());
                // Whoever cannot be attended to finds the door closed.
                drop(std::thread::Builder::new().spawn(move || attend(&stream, &secret, &sender, &guests)));
            }
        });
        Ok(Door { port, arrivals })
    }

    /// Where it can be reached.
    pub fn addresses(&self) -> Vec<String> {
        at(&local_addresses(), self.port)
    }

    /// The card of this host.
    pub fn card(&self, host: String) -> Card {
        Card { host, addresses: local_addresses(), port: self.port }
    }

    /// Who has come since the last time.
    pub fn arrivals(&self) -> impl Iterator<Item = Arrival> {
        self.arrivals.try_iter()
    }
}

fn at(addresses: &[Ipv4Addr], port: u16) -> Vec<String> {
    addresses.iter().map(|address| format!("{address}:{port}")).collect()
}

/// A conversation with a host, from its beginning to its end.
fn attend(stream: &TcpStream, secret: &Secret, arrivals: &mpsc::Sender<Arrival>, guests: &Mutex<Guests>) {
    let lock = || guests.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let ended = greet(stream, secret).and_then(|(card, receiver, mut sender)| {
        let reception = lock().receive(&card);
        let ended = match sender.send(&pack(&reception)?) {
            Ok(()) if reception == Reception::Stay => stay(stream, card.host.clone(), receiver, sender, arrivals),
            sent => sent,
        };
        if reception == Reception::Stay {
            lock().take_leave_of(&card);
        }
        ended
    });
    if let Err(problem) = ended
        && !matches!(problem, SessionError::Broken(_))
    {
        let what = format!("somebody who does not belong to this run was refused: {problem}");
        let _ = arrivals.send(Arrival::Stranger(what));
    }
}

type Greeted = (Card, Receiver<TcpStream>, Sender<TcpStream>);

/// Who has come, if it belongs to the run.
fn greet(stream: &TcpStream, secret: &Secret) -> Result<Greeted, SessionError> {
    let peer = stream.peer_addr()?.ip();
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(ASK_PATIENCE))?;
    let (mut receiver, sender) = begin(stream.try_clone()?, stream.try_clone()?, secret, Side::Server)?;
    let card: Card = unpack(&receiver.receive()?)?;
    // What is said by a host of the run must come from there: nobody in between passes it on.
    if !peer.is_loopback() && !card.addresses.iter().any(|address| IpAddr::V4(*address) == peer) {
        return Err(SessionError::Stranger);
    }
    Ok((card, receiver, sender))
}

/// Lets a host in, and listens to it until it goes.
fn stay(
    stream: &TcpStream,
    host: String,
    mut receiver: Receiver<TcpStream>,
    mut sender: Sender<TcpStream>,
    arrivals: &mpsc::Sender<Arrival>,
) -> Result<(), SessionError> {
    let mut difference = Difference::default();
    for _ in 0..FIRST_COMPARISONS {
        let sent = now_ns();
        sender.send(&pack(&Down::Time)?)?;
        let theirs: f64 = unpack(&receiver.receive()?)?;
        difference.note(sent, theirs, now_ns());
    }
    stream.set_read_timeout(None)?;
    let (child, ear) = Child::new(host, difference, sender);
    if arrivals.send(Arrival::Host(Box::new(child))).is_ok() {
        ear.listen(receiver);
    }
    Ok(())
}

impl Guests {
    fn receive(&mut self, card: &Card) -> Reception {
        if self.staying.len() < self.most {
            self.staying.push((card.host.clone(), at(&card.addresses, card.port)));
            return Reception::Stay;
        }
        self.sent_on += 1;
        Reception::GoTo(self.staying[self.sent_on % self.staying.len()].1.clone())
    }

    /// A host has gone: others may come, and nobody is sent there. Names may be the same, ways to reach a host are not.
    fn take_leave_of(&mut self, card: &Card) {
        let addresses = at(&card.addresses, card.port);
        self.staying.retain(|(host, others)| *host != card.host || *others != addresses);
    }
}

/// A message as bytes.
pub fn pack(message: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(message).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A message out of bytes.
pub fn unpack<'bytes, T: Deserialize<'bytes>>(bytes: &'bytes [u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_breaks_off_leaves_its_place_to_others() {
        let secret = Secret::new().expect("randomness");
        let door = Door::open(&secret, 1).expect("a door");
        let come = || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, door.port)).expect("a door");
            let clone = || stream.try_clone().expect("a clone");
            let (mut receiver, mut sender) = begin(clone(), clone(), &secret, Side::Client).expect("begun");
            sender.send(&pack(&door.card("one".into())).expect("packed")).expect("sent");
            unpack::<Reception>(&receiver.receive().expect("received")).expect("unpacked")
        };
        // Each goes away before its clock was compared.
        let since = std::time::Instant::now();
        assert_eq!(come(), Reception::Stay);
        while come() != Reception::Stay {
            assert!(since.elapsed() < Duration::from_secs(20), "the place stays taken");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn more_hosts_than_may_stay_are_sent_to_those_that_do_in_turn() {
        let mut guests = Guests { most: 2, staying: Vec::new(), sent_on: 0 };
        let card = |number: u8| Card { host: format!("host{number}"), addresses: vec![Ipv4Addr::new(10, 0, 0, number)], port: 7 };
        let received: Vec<Reception> = (1..=4).map(|number| guests.receive(&card(number))).collect();
        let to = |number: u8| Reception::GoTo(vec![format!("10.0.0.{number}:7")]);
        assert_eq!(received[..2], [Reception::Stay, Reception::Stay]);
        assert!(received[2..].contains(&to(1)) && received[2..].contains(&to(2)), "{received:?}");
        guests.take_leave_of(&Card { port: 8, ..card(1) });
        guests.take_leave_of(&card(2));
        assert_eq!(guests.receive(&card(5)), Reception::Stay);
        assert_eq!([guests.receive(&card(6)), guests.receive(&card(7))].into_iter().filter(|one| *one == to(1)).count(), 1);
    }
}
