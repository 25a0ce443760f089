//! Accepts other hosts of the run: each proves that it knows the secret, and that it connects from its own address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sintonia_link::local_addresses;
use sintonia_link::session::{SessionError, SessionReceiver, SessionSender, SessionSide, SharedSecret, handshake};

use super::child::{ChildHost, ParentMessage};
use super::clock_offset::HostClockOffset;
use super::encoding::{decode, encode};
use crate::host_agent::now_ns;

/// Time for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// A host that does not accept a message within this time is given up; others wait meanwhile.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);
/// Delay after a failed accept.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// Clock queries before the first event is forwarded.
const INITIAL_CLOCK_QUERIES: u32 = 8;

/// First message of a host: its name, and where its own children can reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHello {
    /// Host name.
    pub host: String,
    /// All its addresses.
    pub addresses: Vec<Ipv4Addr>,
    /// Port of its own listener.
    pub port: u16,
}

/// Answer to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum JoinReply {
    /// Accepted as a child.
    Accepted,
    /// Redirected to another host, with these addresses.
    Redirect(Vec<String>),
}

/// A new connection.
pub enum IncomingHost {
    /// A host.
    Host(Box<ChildHost>),
    /// Refused, with the reason.
    Rejected(String),
}

/// Listens for child hosts.
pub struct HostListener {
    port: u16,
    incoming: mpsc::Receiver<IncomingHost>,
}

/// The child hosts, and where others are redirected to in turn.
struct ChildRegistry {
    capacity: usize,
    /// Names and addresses of the children.
    children: Vec<(String, Vec<String>)>,
    redirects: usize,
}

impl HostListener {
    /// Listens on all addresses of this host, for at most `capacity` children.
    pub fn bind(secret: &SharedSecret, capacity: usize) -> io::Result<HostListener> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let port = listener.local_addr()?.port();
        let (sender, incoming) = mpsc::channel();
        let children = Arc::new(Mutex::new(ChildRegistry { capacity: capacity.max(1), children: Vec::new(), redirects: 0 }));
        let secret = secret.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    std::thread::sleep(ACCEPT_RETRY_DELAY);
                    continue;
                };
                let (secret, sender, children) = (secret.clone(), sender.clone(), children.clone());
                // If no thread can be spawned, the connection is closed.
                drop(std::thread::Builder::new().spawn(move || serve_host(&stream, &secret, &sender, &children)));
            }
        });
        Ok(HostListener { port, incoming })
    }

    /// Addresses of the listener.
    pub fn addresses(&self) -> Vec<String> {
        socket_addresses(&local_addresses(), self.port)
    }

    /// The hello message of this host.
    pub fn hello(&self, host: String) -> HostHello {
        HostHello { host, addresses: local_addresses(), port: self.port }
    }

    /// New connections since the last call.
    pub fn incoming(&self) -> impl Iterator<Item = IncomingHost> {
        self.incoming.try_iter()
    }
}

fn socket_addresses(addresses: &[Ipv4Addr], port: u16) -> Vec<String> {
    addresses.iter().map(|address| format!("{address}:{port}")).collect()
}

/// Serves a connection from handshake to end.
fn serve_host(stream: &TcpStream, secret: &SharedSecret, incoming: &mpsc::Sender<IncomingHost>, children: &Mutex<ChildRegistry>) {
    let lock = || children.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let ended = accept_child(stream, secret).and_then(|(hello, receiver, mut sender)| {
        let reply = lock().admit(&hello);
        let ended = match sender.send(&encode(&reply)?) {
            Ok(()) if reply == JoinReply::Accepted => run_session(stream, hello.host.clone(), receiver, sender, incoming),
            sent => sent,
        };
        if reply == JoinReply::Accepted {
            lock().remove(&hello);
        }
        ended
    });
    if let Err(problem) = ended
        && !matches!(problem, SessionError::Connection(_))
    {
        let what = format!("a connection that does not belong to this run was refused: {problem}");
        let _ = incoming.send(IncomingHost::Rejected(what));
    }
}

type Handshake = (HostHello, SessionReceiver<TcpStream>, SessionSender<TcpStream>);

/// Authenticates a host.
fn accept_child(stream: &TcpStream, secret: &SharedSecret) -> Result<Handshake, SessionError> {
    let peer = stream.peer_addr()?.ip();
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    stream.set_write_timeout(Some(SEND_TIMEOUT))?;
    let (mut receiver, sender) = handshake(stream.try_clone()?, stream.try_clone()?, secret, SessionSide::Server)?;
    let hello: HostHello = decode(&receiver.receive()?)?;
    // A host must connect from one of its addresses: rules out a relay in between.
    if !peer.is_loopback() && !hello.addresses.iter().any(|address| IpAddr::V4(*address) == peer) {
        return Err(SessionError::Unauthenticated);
    }
    Ok((hello, receiver, sender))
}

/// Accepts a child and receives from it until it disconnects.
fn run_session(
    stream: &TcpStream,
    host: String,
    mut receiver: SessionReceiver<TcpStream>,
    mut sender: SessionSender<TcpStream>,
    incoming: &mpsc::Sender<IncomingHost>,
) -> Result<(), SessionError> {
    let mut clock_offset = HostClockOffset::default();
    for _ in 0..INITIAL_CLOCK_QUERIES {
        let sent = now_ns();
        sender.send(&encode(&ParentMessage::QueryClock)?)?;
        let child_time: f64 = decode(&receiver.receive()?)?;
        clock_offset.add_round_trip(sent, child_time, now_ns());
    }
    stream.set_read_timeout(None)?;
    let (child, child_receiver) = ChildHost::new(host, clock_offset, sender);
    if incoming.send(IncomingHost::Host(Box::new(child))).is_ok() {
        child_receiver.run(receiver);
    }
    Ok(())
}

impl ChildRegistry {
    fn admit(&mut self, hello: &HostHello) -> JoinReply {
        if self.children.len() < self.capacity {
            self.children.push((hello.host.clone(), socket_addresses(&hello.addresses, hello.port)));
            return JoinReply::Accepted;
        }
        self.redirects += 1;
        JoinReply::Redirect(self.children[self.redirects % self.children.len()].1.clone())
    }

    /// Removes a child: frees its place and ends redirects to it. Names may be ambiguous, addresses are not.
    fn remove(&mut self, hello: &HostHello) {
        let addresses = socket_addresses(&hello.addresses, hello.port);
        self.children.retain(|(host, others)| *host != hello.host || *others != addresses);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disconnected_host_frees_its_place() {
        let secret = SharedSecret::new().expect("randomness");
        let listener = HostListener::bind(&secret, 1).expect("a door");
        let connect = || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, listener.port)).expect("a door");
            let clone = || stream.try_clone().expect("a clone");
            let (mut receiver, mut sender) = handshake(clone(), clone(), &secret, SessionSide::Client).expect("begun");
            sender.send(&encode(&listener.hello("one".into())).expect("packed")).expect("sent");
            decode::<JoinReply>(&receiver.receive().expect("received")).expect("unpacked")
        };
        // Each disconnects before its clock was queried.
        let since = std::time::Instant::now();
        assert_eq!(connect(), JoinReply::Accepted);
        while connect() != JoinReply::Accepted {
            assert!(since.elapsed() < Duration::from_secs(20), "the place stays taken");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn hosts_beyond_the_capacity_are_redirected_in_turn() {
        let mut children = ChildRegistry { capacity: 2, children: Vec::new(), redirects: 0 };
        let hello = |number: u8| HostHello { host: format!("host{number}"), addresses: vec![Ipv4Addr::new(10, 0, 0, number)], port: 7 };
        let received: Vec<JoinReply> = (1..=4).map(|number| children.admit(&hello(number))).collect();
        let to = |number: u8| JoinReply::Redirect(vec![format!("10.0.0.{number}:7")]);
        assert_eq!(received[..2], [JoinReply::Accepted, JoinReply::Accepted]);
        assert!(received[2..].contains(&to(1)) && received[2..].contains(&to(2)), "{received:?}");
        children.remove(&HostHello { port: 8, ..hello(1) });
        children.remove(&hello(2));
        assert_eq!(children.admit(&hello(5)), JoinReply::Accepted);
        assert_eq!([children.admit(&hello(6)), children.admit(&hello(7))].into_iter().filter(|one| *one == to(1)).count(), 1);
    }
}
