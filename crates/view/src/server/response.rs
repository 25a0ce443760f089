//! What is sent back: never kept by anybody, packed where the asker can unpack.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Instant;

use flate2::Compression;

use super::limits::Limits;
use super::request::Request;
use crate::answer::{Answer, Refusal};
use crate::gzip::packed;

/// What is shorter is not worth packing.
const LEAST_PACKED: usize = 1024;

/// Headers of everything that is sent.
const ALWAYS: &str = "Cache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    X-Frame-Options: DENY\r\n\
    Content-Security-Policy: frame-ancestors 'none'\r\n";

/// What is sent back.
pub struct Response {
    status: (u16, &'static str),
    kind: &'static str,
    /// Methods that would do, where another was used.
    allow: Option<&'static str>,
    body: Vec<u8>,
    /// The body packed, where that was done beforehand.
    packed: Option<Vec<u8>>,
}

impl Response {
    /// The page.
    pub fn page(page: &str) -> Response {
        let packed = packed(page.as_bytes(), Compression::best());
        Response { packed: Some(packed), ..Response::new((200, "OK"), "text/html; charset=utf-8", page.as_bytes().to_vec()) }
    }

    /// An answer.
    pub fn answer(answer: Answer) -> Response {
        match answer {
            Answer::Json(text) => Response::json((200, "OK"), text),
            Answer::Binary { .. } => Response::new((200, "OK"), "application/octet-stream", answer.into_bytes()),
            Answer::Working { doing, done } => {
                Response::json((202, "Accepted"), serde_json::json!({"doing": doing, "done": done}).to_string())
            }
        }
    }

    /// Why a question has no answer.
    pub fn refusal(refusal: &Refusal) -> Response {
        let status = match refusal {
            Refusal::Unknown(_) | Refusal::NotThere(_) => (404, "Not Found"),
            Refusal::Query { .. } => (400, "Bad Request"),
        };
        Response::error(status, &refusal.to_string())
    }

    /// What is wrong.
    pub fn error(status: (u16, &'static str), why: &str) -> Response {
        Response::json(status, serde_json::json!({"error": why}).to_string())
    }

    /// The method is none that does anything here.
    pub fn wrong_method() -> Response {
        Response { allow: Some("GET, HEAD"), ..Response::error((405, "Method Not Allowed"), "only GET and HEAD do anything here") }
    }

    fn json(status: (u16, &'static str), text: String) -> Response {
        Response::new(status, "application/json", text.into_bytes())
    }

    fn new(status: (u16, &'static str), kind: &'static str, body: Vec<u8>) -> Response {
        Response { status, kind, allow: None, body, packed: None }
    }

    /// Sends it, as the answer to a request if there is one; `stays` says whether the connection does.
    pub fn send(&self, stream: &TcpStream, limits: &Limits, request: Option<&Request>, stays: bool) -> io::Result<()> {
        let now;
        let body = match (&self.packed, request.is_some_and(unpacks)) {
            (Some(packed), true) => Some(packed),
            (None, true) if self.body.len() >= LEAST_PACKED => {
                now = packed(&self.body, Compression::fast());
                Some(&now)
            }
            _ => None,
        };
        let (status, reason) = self.status;
        let mut text = format!("HTTP/1.1 {status} {reason}\r\nContent-Type: {}\r\n{ALWAYS}Vary: Accept-Encoding\r\n", self.kind);
        if let Some(methods) = self.allow {
            text += &format!("Allow: {methods}\r\n");
        }
        if body.is_some() {
            text += "Content-Encoding: gzip\r\n";
        }
        let body = body.unwrap_or(&self.body);
        text += &format!("Content-Length: {}\r\nConnection: {}\r\n\r\n", body.len(), if stays { "keep-alive" } else { "close" });
        let mut bytes = text.into_bytes();
        if request.is_none_or(|request| request.method != "HEAD") {
            bytes.extend_from_slice(body);
        }
        write_until(stream, &bytes, Instant::now() + limits.reading)
    }
}

/// Writes all of it before a moment: whoever reads a byte now and then does not hold the connection for ever.
fn write_until(mut stream: &TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        let patience = end.saturating_duration_since(Instant::now());
        if patience.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(patience))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the asker takes what is packed.
fn unpacks(request: &Request) -> bool {
    let accepts = |word: &str| {
        let (name, how) = word.split_once(';').unwrap_or((word, ""));
        let weight = how.trim().strip_prefix("q=").map_or(Some(1.0), |weight| weight.trim().parse::<f64>().ok());
        matches!(name.trim(), "gzip" | "*") && weight.is_some_and(|weight| weight > 0.0)
    };
    request.header("accept-encoding").is_some_and(|words| words.split(',').any(accepts))
}
