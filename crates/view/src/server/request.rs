//! Reads HTTP requests, with limits.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Instant;

use super::timeouts::ConnectionTimeouts;

const MAX_REQUEST_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;

#[derive(Debug)]
pub(super) struct HttpRequest {
    pub method: String,
    /// The raw path.
    pub path: String,
    /// The decoded query.
    pub query: BTreeMap<String, String>,
    /// Headers by lower-case name; `None` if a header occurs more than once, because its meaning would be ambiguous.
    headers: BTreeMap<String, Option<String>>,
    /// Whether another request may follow on the connection.
    pub keep_alive: bool,
}

/// Why there is no request.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The peer closed the connection or timed out.
    Disconnected,
    /// Not a supported HTTP request: the reason.
    Malformed(&'static str),
    /// The request exceeds a limit.
    TooLong,
}

impl HttpRequest {
    /// Reads the next request; `rest` has the bytes that were received but not parsed.
    pub(super) fn read(
        mut stream: &TcpStream,
        rest: &mut Vec<u8>,
        timeouts: &ConnectionTimeouts,
        is_first: bool,
    ) -> Result<HttpRequest, RequestError> {
        let mut has_begun = is_first || !rest.is_empty();
        let timeout = match (is_first, has_begun) {
            (true, _) => timeouts.first_request,
            (false, true) => timeouts.request,
            (false, false) => timeouts.idle,
        };
        let mut deadline = Instant::now() + timeout;
        loop {
            if let Some((request, length)) = parse(rest)? {
                rest.drain(..length);
                return Ok(request);
            }
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() || stream.set_read_timeout(Some(remaining)).is_err() {
                return Err(RequestError::Disconnected);
            }
            let mut buffer = [0; 4096];
            match stream.read(&mut buffer) {
                Ok(0) => return Err(RequestError::Disconnected),
                Ok(length) => rest.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Err(RequestError::Disconnected),
            }
            if !has_begun {
                (has_begun, deadline) = (true, Instant::now() + timeouts.request);
            }
        }
    }

    /// The value of a header that occurs exactly once.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(Option::as_deref)
    }

    /// Whether a header occurs at least once.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }
}

/// Parses a request at the start of `bytes` and returns its length; `None` if it is incomplete.
fn parse(bytes: &[u8]) -> Result<Option<(HttpRequest, usize)>, RequestError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(&bytes[..bytes.len().min(MAX_REQUEST_BYTES)]) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() >= MAX_REQUEST_BYTES => return Err(RequestError::TooLong),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(RequestError::TooLong),
        Err(_) => return Err(RequestError::Malformed("not an HTTP request")),
    };
    convert_parsed(&parsed).map(|request| Some((request, length)))
}

fn convert_parsed(parsed: &httparse::Request) -> Result<HttpRequest, RequestError> {
    let mut headers: BTreeMap<String, Option<String>> = BTreeMap::new();
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| RequestError::Malformed("a header is not valid UTF-8"))?;
        let value = Some(value.trim().to_owned());
        headers.entry(header.name.to_ascii_lowercase()).and_modify(|known| *known = None).or_insert(value);
    }
    let has_body =
        headers.contains_key("transfer-encoding") || headers.get("content-length").is_some_and(|length| length.as_deref() != Some("0"));
    if has_body {
        return Err(RequestError::Malformed("request bodies are not supported"));
    }
    let (path, query) = parsed.path.unwrap_or_default().split_once('?').unwrap_or((parsed.path.unwrap_or_default(), ""));
    let connection = headers.get("connection").cloned().flatten().unwrap_or_default().to_ascii_lowercase();
    Ok(HttpRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: parse_query(query).ok_or(RequestError::Malformed("malformed query string"))?,
        keep_alive: parsed.version == Some(1) && !connection.split(',').any(|word| word.trim() == "close"),
        headers,
    })
}

/// Parses a query string; `None` if it is malformed or has duplicate names.
fn parse_query(text: &str) -> Option<BTreeMap<String, String>> {
    let mut query = BTreeMap::new();
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if query.insert(percent_decode(name)?, percent_decode(value)?).is_some() {
            return None;
        }
    }
    Some(query)
}

/// Decodes percent-encoding and `+`.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<(HttpRequest, usize)>, RequestError> {
        parse(text.as_bytes())
    }

    #[test]
    fn a_request_ends_where_its_headers_end() {
        let text = "GET /api/0/find?operation=MPI_Wait%20all&a=b+c HTTP/1.1\r\nHost: here\r\nCONNECTION: keep-alive\r\n\r\nGET /";
        let (request, length) = read(text).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str(), length), ("GET", "/api/0/find", text.len() - 5));
        assert_eq!((request.query["operation"].as_str(), request.query["a"].as_str()), ("MPI_Wait all", "b c"));
        assert_eq!((request.header("host"), request.keep_alive), (Some("here"), true));
        assert!(read(&text[..30]).unwrap().is_none());
    }

    #[test]
    fn only_http_1_1_is_kept_alive_unless_closed() {
        let stays = |text: &str| read(text).unwrap().unwrap().0.keep_alive;
        assert!(stays("GET / HTTP/1.1\r\n\r\n"));
        assert!(!stays("GET / HTTP/1.0\r\n\r\n"));
        assert!(!stays("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n"));
    }

    #[test]
    fn ambiguous_requests_are_rejected() {
        let wrong = |text: &str| matches!(read(text), Err(RequestError::Malformed(_)));
        assert!(wrong("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"));
        assert!(wrong("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
        assert!(wrong("GET /?a=%ff HTTP/1.1\r\n\r\n"));
        assert!(wrong("GET /?a=%4 HTTP/1.1\r\n\r\n"));
        assert!(wrong("GET /?a=1&a=2 HTTP/1.1\r\n\r\n"));
        assert!(wrong("nonsense\r\n\r\n"));
        let (twice, _) = read("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n").unwrap().unwrap();
        assert!(twice.header("host").is_none() && twice.has_header("host"));
    }

    #[test]
    fn a_request_has_a_limit() {
        let long = format!("GET /?a={} HTTP/1.1\r\n\r\n", "x".repeat(MAX_REQUEST_BYTES));
        assert!(matches!(read(&long), Err(RequestError::TooLong)));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MAX_HEADERS + 1));
        assert!(matches!(read(&many), Err(RequestError::TooLong)));
    }

    #[test]
    fn any_bytes_are_a_request_or_an_error() {
        let mut random = fastrand::Rng::with_seed(1);
        for length in 0..2000 {
            let mut byte = || b"GET /?%=&+ HTTP/1.1\r\n\r\n:a\xff\0"[random.usize(..26)];
            let bytes: Vec<u8> = (0..length % 200).map(|_| byte()).collect();
            let _ = parse(&bytes);
            let _ = parse(&[b"GET /?".as_slice(), &bytes, b" HTTP/1.1\r\n\r\n"].concat());
        }
    }
}
