//! A connection: one request after the other, until one end has enough.

use std::io::Read;
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::gate::{Gate, Wanted};
use super::limits::Limits;
use super::request::{NoRequest, Request};
use super::response::Response;
use crate::answer::Answers;

/// Answers all requests of a connection.
pub fn serve(stream: &TcpStream, gate: &Gate, page: &Response, limits: &Limits, answers: &dyn Answers) {
    // Answers are written in one piece: there is nothing to wait for.
    let _ = stream.set_nodelay(true);
    let mut rest = Vec::new();
    let mut is_first = true;
    loop {
        let request = match Request::read(stream, &mut rest, limits, is_first) {
            Ok(request) => request,
            Err(why) => return refuse(stream, limits, why),
        };
        is_first = false;
        let sent = match gate.wanted(&request) {
            Ok(Wanted::Page) => page.send(stream, limits, Some(&request), request.stays),
            Ok(Wanted::Answer(question)) => {
                // A question that nobody thought of must not end the others.
                let answer = catch_unwind(AssertUnwindSafe(|| answers.answer(&question)));
                let response = match answer {
                    Ok(Ok(answer)) => Response::answer(answer),
                    Ok(Err(refusal)) => Response::refusal(&refusal),
                    Err(_) => Response::error((500, "Internal Server Error"), "something went wrong while answering this question"),
                };
                response.send(stream, limits, Some(&request), request.stays)
            }
            Err(refused) => refused.send(stream, limits, Some(&request), request.stays),
        };
        if sent.is_err() || !request.stays {
            return;
        }
    }
}

fn refuse(stream: &TcpStream, limits: &Limits, why: NoRequest) {
    let response = match why {
        NoRequest::Gone => return,
        NoRequest::Wrong(reason) => Response::error((400, "Bad Request"), reason),
        NoRequest::TooLong => Response::error((431, "Request Header Fields Too Large"), "the request is too long"),
    };
    // The connection ends in any case.
    if response.send(stream, limits, None, false).is_ok() {
        drain(stream);
    }
}

/// Reads on for a moment: closed with something unread, the other end would lose what was sent to it.
fn drain(mut stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let mut piece = [0; 4096];
    for _ in 0..256 {
        if !matches!(stream.read(&mut piece), Ok(1..)) {
            return;
        }
    }
}
