//! The parent host in the tree.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use sintonia_link::session::{SessionError, SessionReceiver, SessionSender, SessionSide, SharedSecret, handshake};

use super::child::{ChildMessage, ParentMessage};
use super::encoding::{decode, encode};
use super::listener::{HostHello, JoinReply};
use crate::host_agent::now_ns;
use crate::protocol::{AgentReport, AgentRequest};

/// Time to connect to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for an answer during the handshake.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// Most redirects: no tree is deeper.
const MAX_REDIRECTS: usize = 32;

/// Most reports of one message.
const MAX_REPORTS_PER_MESSAGE: usize = 10_000;

/// Why no parent can be reached.
#[derive(Debug, thiserror::Error)]
pub enum ParentError {
    /// No address answers.
    #[error("none of {0} answers")]
    NoAnswer(String),
    /// The session failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Redirected too often.
    #[error("every host redirects to another")]
    RedirectLoop,
}

/// The parent host.
pub struct ParentHost {
    sender: Arc<Mutex<SessionSender<TcpStream>>>,
    messages: mpsc::Receiver<ParentMessage>,
    /// Start of the tuning, in nanoseconds of our clock.
    begin_ns: f64,
}

impl ParentHost {
    /// Connects to the first of these addresses that answers, and follows redirects.
    pub fn connect(addresses: &[String], secret: &SharedSecret, hello: &HostHello) -> Result<ParentHost, ParentError> {
        let mut addresses = addresses.to_vec();
        for _ in 0..MAX_REDIRECTS {
            let (stream, mut receiver, mut sender) = connect_any(&addresses, secret)?;
            send(&mut sender, hello)?;
            match receive(&mut receiver)? {
                JoinReply::Accepted => return Ok(ParentHost::start_session(&stream, receiver, sender)?),
                JoinReply::Redirect(others) => addresses = others,
            }
        }
        Err(ParentError::RedirectLoop)
    }

    /// Answers clock queries until the start of the tuning is known.
    fn start_session(
        stream: &TcpStream,
        mut receiver: SessionReceiver<TcpStream>,
        mut sender: SessionSender<TcpStream>,
    ) -> Result<ParentHost, SessionError> {
        let begin_ns = loop {
            match receive(&mut receiver)? {
                // These answers are plain numbers: nothing else is sent yet.
                ParentMessage::QueryClock => send(&mut sender, &now_ns())?,
                ParentMessage::Start(begin_ns) => break begin_ns,
                ParentMessage::Request(_) | ParentMessage::End => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
            }
        };
        stream.set_read_timeout(None)?;
        let sender = Arc::new(Mutex::new(sender));
        let (message_sender, messages) = mpsc::channel();
        let answers = sender.clone();
        std::thread::spawn(move || {
            while let Ok(message) = receive(&mut receiver) {
                // Answered at once by this thread, so that the delay stays small.
                let answered = message != ParentMessage::QueryClock || send_message(&answers, &ChildMessage::Clock(now_ns())).is_ok();
                if !answered || (message != ParentMessage::QueryClock && message_sender.send(message).is_err()) {
                    return;
                }
            }
        });
        Ok(ParentHost { sender, messages, begin_ns })
    }

    /// Start of the tuning, in nanoseconds of our clock.
    pub fn begin_ns(&self) -> f64 {
        self.begin_ns
    }

    /// Requests since the last call; `None` if the tuning is over or the connection has ended.
    pub fn take_requests(&mut self) -> Option<Vec<AgentRequest>> {
        let mut requests = Vec::new();
        loop {
            match self.messages.try_recv() {
                Ok(ParentMessage::Request(request)) => requests.push(request),
                Ok(ParentMessage::Start(begin_ns)) => self.begin_ns = begin_ns,
                Ok(ParentMessage::QueryClock) => {}
                Ok(ParentMessage::End) | Err(mpsc::TryRecvError::Disconnected) => return None,
                Err(mpsc::TryRecvError::Empty) => return Some(requests),
            }
        }
    }

    /// Sends reports.
    pub fn send_reports(&self, mut reports: Vec<AgentReport>) -> Result<(), SessionError> {
        while !reports.is_empty() {
            let rest = reports.split_off(reports.len().min(MAX_REPORTS_PER_MESSAGE));
            send_message(&self.sender, &ChildMessage::Reports(reports))?;
            reports = rest;
        }
        Ok(())
    }
}

type OpenSession = (TcpStream, SessionReceiver<TcpStream>, SessionSender<TcpStream>);

/// Tries all addresses at once: a host has some that others cannot reach, and some that others have as well.
fn connect_any(addresses: &[String], secret: &SharedSecret) -> Result<OpenSession, ParentError> {
    let (sender, reached) = mpsc::channel();
    for address in addresses.iter().filter_map(|address| address.to_socket_addrs().ok()).flatten() {
        let (sender, secret) = (sender.clone(), secret.clone());
        std::thread::spawn(move || drop(sender.send(open_session(address, &secret))));
    }
    drop(sender);
    reached.into_iter().find_map(Result::ok).ok_or_else(|| ParentError::NoAnswer(addresses.join(", ")))
}

fn open_session(address: SocketAddr, secret: &SharedSecret) -> Result<OpenSession, SessionError> {
    let stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
    let (receiver, sender) = handshake(stream.try_clone()?, stream.try_clone()?, secret, SessionSide::Client)?;
    Ok((stream, receiver, sender))
}

fn send_message(sender: &Mutex<SessionSender<TcpStream>>, message: &ChildMessage) -> Result<(), SessionError> {
    let message = encode(message)?;
    sender.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).send(&message)
}

fn send(sender: &mut SessionSender<TcpStream>, message: &impl serde::Serialize) -> Result<(), SessionError> {
    sender.send(&encode(message)?)
}

fn receive<T: serde::de::DeserializeOwned>(receiver: &mut SessionReceiver<TcpStream>) -> Result<T, SessionError> {
    Ok(decode(&receiver.receive()?)?)
}
