//! One request as it stands on the wire, read within limits.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Instant;

use super::limits::Limits;

/// The most bytes that a request may have.
const MOST_BYTES: usize = 16 * 1024;
/// The most headers.
const MOST_HEADERS: usize = 64;

/// A request.
#[derive(Debug)]
pub struct Request {
    pub method: String,
    /// The path, as it was written.
    pub path: String,
    /// The query, decoded.
    pub query: BTreeMap<String, String>,
    /// Headers by their names in small letters; `None` where one came twice, so that nobody reads the one while somebody else reads the other.
    headers: BTreeMap<String, Option<String>>,
    /// Whether another request may follow.
    pub stays: bool,
}

/// Why there is no request.
#[derive(Debug)]
pub enum NoRequest {
    /// The other end has gone, or is silent.
    Gone,
    /// It is not HTTP as we understand it: the reason.
    Wrong(&'static str),
    /// It is too long.
    TooLong,
}

impl Request {
    /// Reads the next request; `rest` holds what has arrived and is not read yet.
    pub fn read(mut stream: &TcpStream, rest: &mut Vec<u8>, limits: &Limits, is_first: bool) -> Result<Request, NoRequest> {
        let mut has_begun = is_first || !rest.is_empty();
        let time = match (is_first, has_begun) {
            (true, _) => limits.first,
            (false, true) => limits.arriving,
            (false, false) => limits.silence,
        };
        let mut limit = Instant::now() + time;
        loop {
            if let Some((request, length)) = parse(rest)? {
                rest.drain(..length);
                return Ok(request);
            }
            let patience = limit.saturating_duration_since(Instant::now());
            if patience.is_zero() || stream.set_read_timeout(Some(patience)).is_err() {
                return Err(NoRequest::Gone);
            }
            let mut piece = [0; 4096];
            match stream.read(&mut piece) {
                Ok(0) => return Err(NoRequest::Gone),
                Ok(length) => rest.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Err(NoRequest::Gone),
            }
            if !has_begun {
                (has_begun, limit) = (true, Instant::now() + limits.arriving);
            }
        }
    }

    /// The value of a header that came once.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(Option::as_deref)
    }

    /// Whether a header came, once or more often.
    pub fn has(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }
}

/// The request that some bytes begin with and its length, or nothing if more of it has to come.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, NoRequest> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(&bytes[..bytes.len().min(MOST_BYTES)]) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() >= MOST_BYTES => return Err(NoRequest::TooLong),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(NoRequest::TooLong),
        Err(_) => return Err(NoRequest::Wrong("this is not a request of HTTP")),
    };
    request(&parsed).map(|request| Some((request, length)))
}

fn request(parsed: &httparse::Request) -> Result<Request, NoRequest> {
    let mut headers: BTreeMap<String, Option<String>> = BTreeMap::new();
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| NoRequest::Wrong("a header is not text"))?;
        let value = Some(value.trim().to_owned());
        headers.entry(header.name.to_ascii_lowercase()).and_modify(|known| *known = None).or_insert(value);
    }
    let has_body =
        headers.contains_key("transfer-encoding") || headers.get("content-length").is_some_and(|length| length.as_deref() != Some("0"));
    if has_body {
        return Err(NoRequest::Wrong("a request has no body here"));
    }
    let (path, query) = parsed.path.unwrap_or_default().split_once('?').unwrap_or((parsed.path.unwrap_or_default(), ""));
    let connection = headers.get("connection").cloned().flatten().unwrap_or_default().to_ascii_lowercase();
    Ok(Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query_of(query).ok_or(NoRequest::Wrong("the query cannot be read"))?,
        stays: parsed.version == Some(1) && !connection.split(',').any(|word| word.trim() == "close"),
        headers,
    })
}

/// The parts of a query; `None` if it is written in a wrong way, or names something twice.
fn query_of(text: &str) -> Option<BTreeMap<String, String>> {
    let mut query = BTreeMap::new();
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if query.insert(decoded(name)?, decoded(value)?).is_some() {
            return None;
        }
    }
    Some(query)
}

/// What stands for something else (`%20`, `+`) put right.
fn decoded(text: &str) -> Option<String> {
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

    fn read(text: &str) -> Result<Option<(Request, usize)>, NoRequest> {
        parse(text.as_bytes())
    }

    #[test]
    fn a_request_ends_where_its_headers_end() {
        let text = "GET /api/0/find?operation=MPI_Wait%20all&a=b+c HTTP/1.1\r\nHost: here\r\nCONNECTION: keep-alive\r\n\r\nGET /";
        let (request, length) = read(text).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str(), length), ("GET", "/api/0/find", text.len() - 5));
        assert_eq!((request.query["operation"].as_str(), request.query["a"].as_str()), ("MPI_Wait all", "b c"));
        assert_eq!((request.header("host"), request.stays), (Some("here"), true));
        assert!(read(&text[..30]).unwrap().is_none());
    }

    #[test]
    fn only_http_1_1_stays_and_not_if_it_says_that_it_goes() {
        let stays = |text: &str| read(text).unwrap().unwrap().0.stays;
        assert!(stays("GET / HTTP/1.1\r\n\r\n"));
        assert!(!stays("GET / HTTP/1.0\r\n\r\n"));
        assert!(!stays("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n"));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        let wrong = |text: &str| matches!(read(text), Err(NoRequest::Wrong(_)));
        assert!(wrong("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"));
        assert!(wrong("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
        assert!(wrong("GET /?a=%ff HTTP/1.1\r\n\r\n"));
        assert!(wrong("GET /?a=%4 HTTP/1.1\r\n\r\n"));
        assert!(wrong("GET /?a=1&a=2 HTTP/1.1\r\n\r\n"));
        assert!(wrong("nonsense\r\n\r\n"));
        let (twice, _) = read("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n").unwrap().unwrap();
        assert!(twice.header("host").is_none() && twice.has("host"));
    }

    #[test]
    fn a_request_has_a_limit() {
        let long = format!("GET /?a={} HTTP/1.1\r\n\r\n", "x".repeat(MOST_BYTES));
        assert!(matches!(read(&long), Err(NoRequest::TooLong)));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MOST_HEADERS + 1));
        assert!(matches!(read(&many), Err(NoRequest::TooLong)));
    }

    #[test]
    fn any_bytes_are_a_request_or_an_error() {
        let mut state = 1u64;
        for length in 0..2000 {
            let mut byte = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                b"GET /?%=&+ HTTP/1.1\r\n\r\n:a\xff\0"[(state >> 33) as usize % 26]
            };
            let bytes: Vec<u8> = (0..length % 200).map(|_| byte()).collect();
            let _ = parse(&bytes);
            let _ = parse(&[b"GET /?".as_slice(), &bytes, b" HTTP/1.1\r\n\r\n"].concat());
        }
    }
}
