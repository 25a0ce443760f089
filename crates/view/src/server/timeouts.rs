//! Timeouts, so that no client can hold a connection indefinitely.

use std::time::Duration;

/// Timeouts of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionTimeouts {
    /// Until the first request has arrived.
    pub first_request: Duration,
    /// Until the next request begins.
    pub idle: Duration,
    /// For a request to arrive, from its first byte to its last.
    pub request: Duration,
    /// To read a whole response.
    pub response: Duration,
}

impl Default for ConnectionTimeouts {
    fn default() -> ConnectionTimeouts {
        let seconds = Duration::from_secs;
        ConnectionTimeouts { first_request: seconds(10), idle: seconds(60), request: seconds(10), response: seconds(120) }
    }
}
