//! Serves the page to whoever has the token, and answers what it asks.
//!
//! One thread per connection, and not many of them: a page needs a handful. Requests are read by `httparse`; whatever is not a plain `GET` of
//! the page or of an answer is refused by [`gate`].

mod connection;
mod gate;
mod limits;
mod request;
mod response;
mod token;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::answer::{Answer, Answers, Question, Refusal};
use gate::Gate;
use limits::Limits;
use response::Response;
pub use token::Token;

/// Connections at a time; others wait until one of them is free.
const MOST_CONNECTIONS: usize = 64;

/// The page, at an address of this machine.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    gate: Gate,
    page: Response,
    limits: Limits,
    connections: Connections,
    is_stopped: AtomicBool,
}

/// Threads for answers that wait a moment for what is worked out: a browser asks no more than so many questions at a time.
const WAITING_THREADS: usize = 6;

/// Answers on threads of their own: what is worked out aside keeps all others busy, for minutes if a recording is long.
struct Apart<'a> {
    answers: &'a dyn Answers,
    threads: rayon::ThreadPool,
}

impl Answers for Apart<'_> {
    fn answer(&self, question: &Question) -> Result<Answer, Refusal> {
        self.threads.install(|| self.answers.answer(question))
    }
}

impl Server {
    /// Binds to a name or address of this machine; port 0 is any that is free. Whoever asks must name the machine by `name`, by one of
    /// `others`, or as its own.
    pub fn bind(name: &str, port: u16, others: &[String], token: Token, page: &str) -> io::Result<Server> {
        let addresses: Vec<SocketAddr> = (name, port).to_socket_addrs()?.collect();
        let listener = TcpListener::bind(&addresses[..])?;
        let address = listener.local_addr()?;
        let mut names = others.to_vec();
        names.push(name.to_owned());
        let gate = Gate::new(token, names, address.ip());
        Ok(Server {
            listener,
            address,
            gate,
            page: Response::page(page),
            limits: Limits::default(),
            connections: Connections::default(),
            is_stopped: AtomicBool::new(false),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is stopped.
    pub fn serve(&self, answers: &dyn Answers) -> io::Result<()> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) + WAITING_THREADS;
        let answers = &Apart { answers, threads: rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)? };
        std::thread::scope(|threads| {
            while let Some((number, stream)) = self.next()? {
                threads.spawn(move || {
                    connection::serve(&stream, &self.gate, &self.page, &self.limits, answers);
                    self.connections.end(number);
                });
            }
            Ok(())
        })
    }

    /// Ends [`Server::serve`], and every connection.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.connections.shut_all();
        // Whoever waits for the next connection gets one.
        let _ = TcpStream::connect((loopback(self.address.ip()), self.address.port()));
    }

    fn next(&self) -> io::Result<Option<(u64, TcpStream)>> {
        loop {
            self.connections.wait_for_room();
            let accepted = self.listener.accept();
            if self.is_stopped.load(Ordering::SeqCst) {
                self.connections.shut_all();
                return Ok(None);
            }
            match accepted {
                Ok((stream, _)) => match self.connections.begin(&stream) {
                    Ok(number) => return Ok(Some((number, stream))),
                    Err(_) => continue,
                },
                // Some connection failed before it began, or there are no files left for a moment.
                Err(error) if is_passing(&error) => std::thread::sleep(std::time::Duration::from_millis(10)),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Where a server can be reached from its own machine.
fn loopback(bound: IpAddr) -> IpAddr {
    match bound {
        IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        address => address,
    }
}

/// Whether the next connection may come all the same: only a listener that is none any more is beyond hope (accept(2)).
fn is_passing(error: &io::Error) -> bool {
    const BAD_FILE: i32 = 9;
    const INVALID: i32 = 22;
    const NO_SOCKET: i32 = 88;
    const NOT_SUPPORTED: i32 = 95;
    !matches!(error.raw_os_error(), Some(BAD_FILE | INVALID | NO_SOCKET | NOT_SUPPORTED))
}

/// The connections that there are, so that they can be counted and ended.
#[derive(Default)]
struct Connections {
    open: Mutex<HashMap<u64, TcpStream>>,
    changed: Condvar,
}

impl Connections {
    fn wait_for_room(&self) {
        let wait = self.changed.wait_while(self.lock(), |open| open.len() >= MOST_CONNECTIONS);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }

    fn begin(&self, stream: &TcpStream) -> io::Result<u64> {
        let stream = stream.try_clone()?;
        let mut open = self.lock();
        let number = open.keys().max().map_or(0, |last| last + 1);
        open.insert(number, stream);
        Ok(number)
    }

    fn end(&self, number: u64) {
        if let Some(stream) = self.lock().remove(&number) {
            // Its other end sees the end even while copies of it are open.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    fn shut_all(&self) {
        self.lock().values().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
