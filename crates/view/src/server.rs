//! The HTTP server of the page.
//!
//! It uses one thread per connection, and a small number of them, which is enough for a page. Requests are parsed by `httparse`; everything
//! but a plain `GET` of the page or of an answer is rejected by [`access`].

mod access;
mod connection;
mod request;
mod response;
mod timeouts;
mod token;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::answer::{PageQuery, QueryAnswer, QueryError, QueryHandler};
use access::AccessControl;
use response::HttpResponse;
use timeouts::ConnectionTimeouts;
pub use token::AccessToken;

/// Maximum number of open connections; further ones wait.
const MAX_CONNECTIONS: usize = 64;

/// Serves the page on a local address.
pub struct PageServer {
    listener: TcpListener,
    address: SocketAddr,
    access: AccessControl,
    page: HttpResponse,
    timeouts: ConnectionTimeouts,
    connections: OpenConnections,
    is_stopped: AtomicBool,
}

/// Extra threads for answers that block for a moment; browsers send no more requests than this at a time.
const BLOCKED_THREADS: usize = 6;

/// Handles queries in a separate thread pool, because background work may occupy the global pool for minutes.
struct PooledHandler<'a> {
    handler: &'a dyn QueryHandler,
    threads: rayon::ThreadPool,
}

impl QueryHandler for PooledHandler<'_> {
    fn handle(&self, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
        self.threads.install(|| self.handler.handle(query))
    }
}

impl PageServer {
    /// Binds to a local host name or address; port 0 selects a free port. Requests must address the machine as `name`, one of `others`, or
    /// `localhost`.
    pub fn bind(name: &str, port: u16, others: &[String], token: AccessToken, page: &str) -> io::Result<PageServer> {
        let addresses: Vec<SocketAddr> = (name, port).to_socket_addrs()?.collect();
        let listener = TcpListener::bind(&addresses[..])?;
        let address = listener.local_addr()?;
        let mut names = others.to_vec();
        names.push(name.to_owned());
        let access = AccessControl::new(token, names, address.ip());
        Ok(PageServer {
            listener,
            address,
            access,
            page: HttpResponse::page(page),
            timeouts: ConnectionTimeouts::default(),
            connections: OpenConnections::default(),
            is_stopped: AtomicBool::new(false),
        })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is stopped.
    pub fn serve(&self, answers: &dyn QueryHandler) -> io::Result<()> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from) + BLOCKED_THREADS;
        let answers = &PooledHandler {
            handler: answers,
            threads: rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?,
        };
        std::thread::scope(|threads| {
            while let Some((number, stream)) = self.accept_next()? {
                threads.spawn(move || {
                    connection::serve(&stream, &self.access, &self.page, &self.timeouts, answers);
                    self.connections.close(number);
                });
            }
            Ok(())
        })
    }

    /// Stops [`PageServer::serve`] and closes all connections.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.connections.shut_down_all();
        // Wakes up the blocking `accept`.
        let _ = TcpStream::connect((loopback_address(self.address.ip()), self.address.port()));
    }

    fn accept_next(&self) -> io::Result<Option<(u64, TcpStream)>> {
        loop {
            self.connections.wait_for_slot();
            let accepted = self.listener.accept();
            if self.is_stopped.load(Ordering::SeqCst) {
                self.connections.shut_down_all();
                return Ok(None);
            }
            match accepted {
                Ok((stream, _)) => match self.connections.register(&stream) {
                    Ok(number) => return Ok(Some((number, stream))),
                    Err(_) => continue,
                },
                // A connection failed before it was accepted, or file descriptors are temporarily exhausted.
                Err(error) if is_transient(&error) => std::thread::sleep(std::time::Duration::from_millis(10)),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The address for connections from the same machine.
fn loopback_address(bound: IpAddr) -> IpAddr {
    match bound {
        IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        address => address,
    }
}

/// Whether accepting further connections can succeed; see accept(2).
fn is_transient(error: &io::Error) -> bool {
    const BAD_FILE: i32 = 9;
    const INVALID: i32 = 22;
    const NO_SOCKET: i32 = 88;
    const NOT_SUPPORTED: i32 = 95;
    !matches!(error.raw_os_error(), Some(BAD_FILE | INVALID | NO_SOCKET | NOT_SUPPORTED))
}

/// The open connections, to count and close them.
#[derive(Default)]
struct OpenConnections {
    open: Mutex<HashMap<u64, TcpStream>>,
    changed: Condvar,
}

impl OpenConnections {
    fn wait_for_slot(&self) {
        let wait = self.changed.wait_while(self.lock(), |open| open.len() >= MAX_CONNECTIONS);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }

    fn register(&self, stream: &TcpStream) -> io::Result<u64> {
        let stream = stream.try_clone()?;
        let mut open = self.lock();
        let number = open.keys().max().map_or(0, |last| last + 1);
        open.insert(number, stream);
        Ok(number)
    }

    fn close(&self, number: u64) {
        if let Some(stream) = self.lock().remove(&number) {
            // The peer sees the end even while clones of the stream are open.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    fn shut_down_all(&self) {
        self.lock().values().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
