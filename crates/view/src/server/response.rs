//! HTTP responses: not cacheable, compressed if the client accepts it.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Instant;

use flate2::Compression;

use super::request::HttpRequest;
use super::timeouts::ConnectionTimeouts;
use crate::answer::{QueryAnswer, QueryError};
use crate::gzip::compress;

/// Shorter bodies are not worth compressing.
const MIN_GZIP_BYTES: usize = 1024;

/// Headers of every response.
const COMMON_HEADERS: &str = "Cache-Control: no-store\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n\
    X-Frame-Options: DENY\r\n\
    Content-Security-Policy: frame-ancestors 'none'\r\n";

/// An HTTP response.
pub(super) struct HttpResponse {
    status: (u16, &'static str),
    content_type: &'static str,
    /// Value of the `Allow` header, for status 405.
    allowed_methods: Option<&'static str>,
    body: Vec<u8>,
    /// The body compressed in advance, if at all.
    gzipped_body: Option<Vec<u8>>,
}

impl HttpResponse {
    /// The response with the page.
    pub(super) fn page(page: &str) -> HttpResponse {
        let gzipped = compress(page.as_bytes(), Compression::best());
        HttpResponse { gzipped_body: Some(gzipped), ..HttpResponse::new((200, "OK"), "text/html; charset=utf-8", page.as_bytes().to_vec()) }
    }

    /// The response with an answer.
    pub(super) fn from_answer(answer: QueryAnswer) -> HttpResponse {
        match answer {
            QueryAnswer::Json(text) => HttpResponse::json((200, "OK"), text),
            QueryAnswer::Binary { .. } => HttpResponse::new((200, "OK"), "application/octet-stream", answer.into_bytes()),
            QueryAnswer::Pending { activity: doing, progress: done } => {
                HttpResponse::json((202, "Accepted"), serde_json::json!({"doing": doing, "done": done}).to_string())
            }
        }
    }

    /// The response for a failed query.
    pub(super) fn from_query_error(error: &QueryError) -> HttpResponse {
        let status = match error {
            QueryError::Unknown(_) | QueryError::Unavailable(_) => (404, "Not Found"),
            QueryError::InvalidParameter { .. } => (400, "Bad Request"),
        };
        HttpResponse::error(status, &error.to_string())
    }

    /// An error response.
    pub(super) fn error(status: (u16, &'static str), reason: &str) -> HttpResponse {
        HttpResponse::json(status, serde_json::json!({"error": reason}).to_string())
    }

    /// The response to an unsupported method.
    pub(super) fn method_not_allowed() -> HttpResponse {
        HttpResponse {
            allowed_methods: Some("GET, HEAD"),
            ..HttpResponse::error((405, "Method Not Allowed"), "only GET and HEAD are supported")
        }
    }

    fn json(status: (u16, &'static str), text: String) -> HttpResponse {
        HttpResponse::new(status, "application/json", text.into_bytes())
    }

    fn new(status: (u16, &'static str), content_type: &'static str, body: Vec<u8>) -> HttpResponse {
        HttpResponse { status, content_type, allowed_methods: None, body, gzipped_body: None }
    }

    /// Sends the response to a request, if there is one; `keep_alive` says whether the connection stays open.
    pub(super) fn send(
        &self,
        stream: &TcpStream,
        timeouts: &ConnectionTimeouts,
        request: Option<&HttpRequest>,
        keep_alive: bool,
    ) -> io::Result<()> {
        let now;
        let body = match (&self.gzipped_body, request.is_some_and(accepts_gzip)) {
            (Some(gzipped), true) => Some(gzipped),
            (None, true) if self.body.len() >= MIN_GZIP_BYTES => {
                now = compress(&self.body, Compression::fast());
                Some(&now)
            }
            _ => None,
        };
        let (status, reason) = self.status;
        let mut text =
            format!("HTTP/1.1 {status} {reason}\r\nContent-Type: {}\r\n{COMMON_HEADERS}Vary: Accept-Encoding\r\n", self.content_type);
        if let Some(methods) = self.allowed_methods {
            text += &format!("Allow: {methods}\r\n");
        }
        if body.is_some() {
            text += "Content-Encoding: gzip\r\n";
        }
        let body = body.unwrap_or(&self.body);
        text += &format!("Content-Length: {}\r\nConnection: {}\r\n\r\n", body.len(), if keep_alive { "keep-alive" } else { "close" });
        let mut bytes = text.into_bytes();
        if request.is_none_or(|request| request.method != "HEAD") {
            bytes.extend_from_slice(body);
        }
        write_with_deadline(stream, &bytes, Instant::now() + timeouts.response)
    }
}

/// Writes all bytes before a deadline, so that a slow reader does not hold the connection indefinitely.
fn write_with_deadline(mut stream: &TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(remaining))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the client accepts gzip.
fn accepts_gzip(request: &HttpRequest) -> bool {
    let accepts = |word: &str| {
        let (name, how) = word.split_once(';').unwrap_or((word, ""));
        let weight = how.trim().strip_prefix("q=").map_or(Some(1.0), |weight| weight.trim().parse::<f64>().ok());
        matches!(name.trim(), "gzip" | "*") && weight.is_some_and(|weight| weight > 0.0)
    };
    request.header("accept-encoding").is_some_and(|words| words.split(',').any(accepts))
}
