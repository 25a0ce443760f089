//! The host above this one in the tree.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use sintonia_link::session::{Receiver, Secret, Sender, SessionError, Side, begin};

use super::child::{Down, Upward};
use super::door::{Card, Reception, pack, unpack};
use crate::station::now_ns;
use crate::talk::{Ask, Told};

/// How long one address is tried.
const REACH: Duration = Duration::from_secs(2);
/// How long whoever was reached may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a host may be sent on: no tree is deeper.
const MOST_MOVES: usize = 32;

/// No message tells more than this.
const MOST_AT_ONCE: usize = 10_000;

/// Why there is no host above.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    /// Nobody is there.
    #[error("none of {0} answers")]
    NoAnswer(String),
    /// Something went wrong on the way.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Sent from one to the next.
    #[error("every host sends on to another")]
    SentOn,
}

/// The host above.
pub struct Up {
    sender: Arc<Mutex<Sender<TcpStream>>>,
    heard: mpsc::Receiver<Down>,
    /// When the tuning began, in nanoseconds of our clock.
    began: f64,
}

impl Up {
    /// Goes to the first of these addresses that answers, or where one is sent from there.
    pub fn go(addresses: &[String], secret: &Secret, card: &Card) -> Result<Up, UpError> {
        let mut addresses = addresses.to_vec();
        for _ in 0..MOST_MOVES {
            let (stream, mut receiver, mut sender) = reach(&addresses, secret)?;
            send(&mut sender, card)?;
            match receive(&mut receiver)? {
                Reception::Stay => return Ok(Up::settle(&stream, receiver, sender)?),
                Reception::GoTo(others) => addresses = others,
            }
        }
        Err(UpError::SentOn)
    }

    /// Answers questions for the time until it is known when the tuning began.
    fn settle(stream: &TcpStream, mut receiver: Receiver<TcpStream>, mut sender: Sender<TcpStream>) -> Result<Up, SessionError> {
        let began = loop {
            match receive(&mut receiver)? {
                // The first answers are bare numbers: nothing else is said yet.
                Down::Time => send(&mut sender, &now_ns())?,
                Down::Began(began) => break began,
                Down::Ask(_) | Down::End => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
            }
        };
        stream.set_read_timeout(None)?;
        let sender = Arc::new(Mutex::new(sender));
        let (tell, heard) = mpsc::channel();
        let answers = sender.clone();
        std::thread::spawn(move || {
            while let Ok(down) = receive(&mut receiver) {
                // Answered at once, and not when there is nothing else to do: the clocks would seem apart.
                let answered = down != Down::Time || say(&answers, &Upward::Time(now_ns())).is_ok();
                if !answered || (down != Down::Time && tell.send(down).is_err()) {
                    return;
                }
            }
        });
        Ok(Up { sender, heard, began })
    }

    /// When the tuning began, in nanoseconds of our clock.
    pub fn began(&self) -> f64 {
        self.began
    }

    /// What was asked since the last time; `None` if the tuning is over, or nobody is there any more.
    pub fn asks(&mut self) -> Option<Vec<Ask>> {
        let mut asks = Vec::new();
        loop {
            match self.heard.try_recv() {
                Ok(Down::Ask(ask)) => asks.push(ask),
                Ok(Down::Began(began)) => self.began = began,
                Ok(Down::Time) => {}
                Ok(Down::End) | Err(mpsc::TryRecvError::Disconnected) => return None,
                Err(mpsc::TryRecvError::Empty) => return Some(asks),
            }
        }
    }

    /// Passes on what happened.
    pub fn tell(&self, mut told: Vec<Told>) -> Result<(), SessionError> {
        while !told.is_empty() {
            let rest = told.split_off(told.len().min(MOST_AT_ONCE));
            say(&self.sender, &Upward::Told(told))?;
            told = rest;
        }
        Ok(())
    }
}

type Reached = (TcpStream, Receiver<TcpStream>, Sender<TcpStream>);

/// Tries all addresses at once: a host has some that others cannot reach, and some that others have as well.
fn reach(addresses: &[String], secret: &Secret) -> Result<Reached, UpError> {
    let (sender, reached) = mpsc::channel();
    for address in addresses.iter().filter_map(|address| address.to_socket_addrs().ok()).flatten() {
        let (sender, secret) = (sender.clone(), secret.clone());
        std::thread::spawn(move || drop(sender.send(converse(address, &secret))));
    }
    drop(sender);
    reached.into_iter().find_map(Result::ok).ok_or_else(|| UpError::NoAnswer(addresses.join(", ")))
}

fn converse(address: SocketAddr, secret: &Secret) -> Result<Reached, SessionError> {
    let stream = TcpStream::connect_timeout(&address, REACH)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (receiver, sender) = begin(stream.try_clone()?, stream.try_clone()?, secret, Side::Client)?;
    Ok((stream, receiver, sender))
}

fn say(sender: &Mutex<Sender<TcpStream>>, upward: &Upward) -> Result<(), SessionError> {
    let message = pack(upward)?;
    sender.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).send(&message)
}

fn send(sender: &mut Sender<TcpStream>, message: &impl serde::Serialize) -> Result<(), SessionError> {
    sender.send(&pack(message)?)
}

fn receive<T: serde::de::DeserializeOwned>(receiver: &mut Receiver<TcpStream>) -> Result<T, SessionError> {
    Ok(unpack(&receiver.receive()?)?)
}
