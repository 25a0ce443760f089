//! Handles a connection: one request after the other.

use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::access::{AccessControl, AuthorizedRequest};
use super::request::{HttpRequest, RequestError};
use super::response::HttpResponse;
use super::timeouts::ConnectionTimeouts;
use crate::answer::QueryHandler;

/// Serves all requests of a connection.
pub(super) fn serve(
    stream: &TcpStream,
    access: &AccessControl,
    page: &HttpResponse,
    timeouts: &ConnectionTimeouts,
    handler: &dyn QueryHandler,
) {
    // Responses are written in one piece, so there is nothing to coalesce.
    let _ = stream.set_nodelay(true);
    let mut rest = Vec::new();
    let mut is_first = true;
    loop {
        let request = match HttpRequest::read(stream, &mut rest, timeouts, is_first) {
            Ok(request) => request,
            Err(error) => return send_error(stream, timeouts, error),
        };
        is_first = false;
        let sent = match access.authorize(&request) {
            Ok(AuthorizedRequest::Page) => page.send(stream, timeouts, Some(&request), request.keep_alive),
            Ok(AuthorizedRequest::Query(query)) => {
                // A panic in one query must not end the server.
                let answer = catch_unwind(AssertUnwindSafe(|| handler.handle(&query)));
                let response = match answer {
                    Ok(Ok(answer)) => HttpResponse::from_answer(answer),
                    Ok(Err(error)) => HttpResponse::from_query_error(&error),
                    Err(_) => HttpResponse::error((500, "Internal Server Error"), "internal error while answering this query"),
                };
                response.send(stream, timeouts, Some(&request), request.keep_alive)
            }
            Err(response) => response.send(stream, timeouts, Some(&request), request.keep_alive),
        };
        if sent.is_err() || !request.keep_alive {
            return;
        }
    }
}

fn send_error(stream: &TcpStream, timeouts: &ConnectionTimeouts, error: RequestError) {
    let response = match error {
        RequestError::Disconnected => return,
        RequestError::Malformed(reason) => HttpResponse::error((400, "Bad Request"), reason),
        RequestError::TooLong => HttpResponse::error((431, "Request Header Fields Too Large"), "the request is too long"),
    };
    // The connection is closed in any case.
    if response.send(stream, timeouts, None, false).is_ok() {
        drain(stream);
    }
}

/// Reads for a moment before closing: closing with unread data would reset the connection and lose the response.
fn drain(mut stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let mut buffer = [0; 4096];
    for _ in 0..256 {
        if !matches!(stream.read(&mut buffer), Ok(1..)) {
            return;
        }
    }
}
