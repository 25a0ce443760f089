//! How long others may take: nobody holds a connection for nothing.

use std::time::Duration;

/// How long others may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until the first request of a connection has arrived.
    pub first: Duration,
    /// Until the next request begins.
    pub silence: Duration,
    /// For a request to arrive, from its first byte to its last.
    pub arriving: Duration,
    /// To read all of a response.
    pub reading: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits { first: seconds(10), silence: seconds(60), arriving: seconds(10), reading: seconds(120) }
    }
}
