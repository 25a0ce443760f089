//! Sends raw requests and checks the responses.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rayon::prelude::*;

use super::*;
use crate::answer::{PageQuery, QueryAnswer, QueryError};

/// Answers with the query itself.
struct Echo;

impl QueryHandler for Echo {
    fn handle(&self, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
        match question.subject.as_str() {
            "panic" => panic!("on purpose"),
            "binary" => Ok(QueryAnswer::Binary { header: "{}".into(), bytes: vec![1, 2, 3] }),
            "working" => Ok(QueryAnswer::Pending { activity: "counting".into(), progress: 0.5 }),
            "longer" => Ok(QueryAnswer::Binary { header: "{}".into(), bytes: vec![0; 64 << 20] }),
            "long" => Ok(QueryAnswer::Json(format!("\"{}\"", "x".repeat(100_000)))),
            "parallel" => Ok(QueryAnswer::json(&(0..4).into_par_iter().sum::<u32>())),
            "nothing" => Err(QueryError::Unavailable("it cannot tell".into())),
            "query" => question.parse_param::<u32>("n").map(|number| QueryAnswer::json(&number)),
            subject => Ok(QueryAnswer::json(&(question.recording, subject, &question.params))),
        }
    }
}

/// Runs a test with a server, given its address and token.
fn with_server(test: impl FnOnce(SocketAddr, &str)) {
    with_limits(ConnectionTimeouts::default(), test);
}

/// The same with other timeouts.
fn with_limits(limits: ConnectionTimeouts, test: impl FnOnce(SocketAddr, &str)) {
    let token = AccessToken::new().unwrap();
    let text = token.to_string();
    let server = PageServer::bind("127.0.0.1", 0, &[], token, "<!doctype html><p>the page").unwrap();
    let server = PageServer { timeouts: limits, ..server };
    std::thread::scope(|threads| {
        let serving = threads.spawn(|| server.serve(&Echo));
        let result = catch(|| test(server.address(), &text));
        server.stop();
        serving.join().unwrap().unwrap();
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
}

fn catch(test: impl FnOnce()) -> std::thread::Result<()> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(test))
}

/// Everything received until the peer closes.
fn answer_to(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn get(address: SocketAddr, path: &str, headers: &str) -> String {
    answer_to(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n"))
}

fn status(response: &str) -> u16 {
    response.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{response}"))
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn page_and_answers_require_the_token() {
    with_server(|address, token| {
        let page = get(address, &format!("/?token={token}"), "");
        assert_eq!((status(&page), body(&page)), (200, "<!doctype html><p>the page"));
        for header in ["no-store", "nosniff", "no-referrer", "frame-ancestors 'none'", "text/html; charset=utf-8"] {
            assert!(page.contains(header), "{header}: {page}");
        }
        let own = format!("X-Sintonia-Token: {token}\r\n");
        let answer = get(address, "/api/1/calls?from=5&ranks=0-3%2C7", &own);
        assert_eq!((status(&answer), body(&answer)), (200, r#"[1,"calls",{"from":"5","ranks":"0-3,7"}]"#));
        let mut wrong = token.to_owned();
        wrong.replace_range(..1, if token.starts_with('0') { "1" } else { "0" });
        for refused in [
            get(address, "/", ""),
            get(address, &format!("/?token={wrong}"), ""),
            get(address, "/", &own),
            get(address, "/api/0/calls", ""),
            get(address, "/api/0/calls", &format!("X-Sintonia-Token: {wrong}\r\n")),
            get(address, &format!("/api/0/calls?token={token}"), ""),
            get(address, "/api/0/calls", &format!("{own}{own}")),
        ] {
            assert_eq!(status(&refused), 403, "{refused}");
            assert!(!refused.contains(token));
        }
    });
}

#[test]
fn foreign_host_names_are_rejected() {
    with_server(|address, token| {
        let ask =
            |host: &str| status(&answer_to(address, &format!("GET /?token={token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")));
        for own in ["127.0.0.1", "localhost:9999", "LOCALHOST", "[::1]:80", &address.to_string()] {
            assert_eq!(ask(own), 200, "{own}");
        }
        for other in ["evil.example", "localhost.evil.example:80", "10.0.0.1", "", "127.0.0.1.evil.example", "[::1].evil.example"] {
            assert_ne!(ask(other), 200, "{other}");
        }
        let none = answer_to(address, &format!("GET /?token={token} HTTP/1.1\r\nConnection: close\r\n\r\n"));
        assert_eq!(status(&none), 403);
    });
}

#[test]
fn cross_origin_requests_are_rejected_even_with_the_token() {
    with_server(|address, token| {
        let own = format!("X-Sintonia-Token: {token}\r\n");
        let api = |headers: &str| status(&get(address, "/api/0/about", &format!("{own}{headers}")));
        assert_eq!(api(&format!("Origin: http://{address}\r\nSec-Fetch-Site: same-origin\r\n")), 200);
        for other in ["http://evil.example", "null", "http://127.0.0.1:1", &format!("https://{address}")] {
            assert_eq!(api(&format!("Origin: {other}\r\n")), 403, "{other}");
        }
        for site in ["cross-site", "same-site"] {
            assert_eq!(api(&format!("Sec-Fetch-Site: {site}\r\n")), 403, "{site}");
            assert_eq!(api(&format!("Sec-Fetch-Site: {site}\r\nSec-Fetch-Dest: document\r\n")), 403, "{site}");
        }
        let page = |headers: &str| status(&get(address, &format!("/?token={token}"), headers));
        assert_eq!(page("Sec-Fetch-Site: none\r\nSec-Fetch-Dest: document\r\n"), 200);
        assert_eq!(page("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n"), 200, "a link was followed");
        assert_eq!(page("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: iframe\r\n"), 403);
        assert_eq!(page("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: script\r\n"), 403);
    });
}

#[test]
fn other_methods_and_paths_are_rejected() {
    with_server(|address, token| {
        let own = format!("X-Sintonia-Token: {token}\r\n");
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE"] {
            let text = format!("{method} /api/0/about HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{own}\r\n");
            let refused = answer_to(address, &text);
            assert_eq!(status(&refused), 405, "{method}");
            assert!(refused.contains("Allow: GET, HEAD\r\n"));
        }
        let paths = [
            "/etc/passwd",
            "/../../etc/passwd",
            "/api",
            "/api/",
            "/api/0",
            "/api/0/",
            "/api/x/about",
            "/api/-1/about",
            "/api/0/../about",
            "/api/0/about/x",
            "/api/0/%61bout",
            "//",
            "/index.html",
            "/api/99999999999999999999999/about",
            "/favicon.ico",
        ];
        for path in paths {
            assert_eq!(status(&get(address, path, &own)), 404, "{path}");
        }
    });
}

#[test]
fn long_and_malformed_requests_are_rejected() {
    with_server(|address, _| {
        assert_eq!(status(&get(address, "/", &format!("X-Long: {}\r\n", "x".repeat(20_000)))), 431);
        assert_eq!(status(&get(address, &format!("/?{}", "x".repeat(20_000)), "")), 431);
        assert_eq!(status(&answer_to(address, "what?\r\n\r\n")), 400);
        assert_eq!(status(&answer_to(address, "GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")), 400);
        assert_eq!(answer_to(address, "\r\n\r\n\x16\x03\x01\x02\0").split(' ').nth(1), Some("400"));
    });
}

#[test]
fn a_panic_does_not_end_the_server() {
    with_server(|address, token| {
        let own = format!("X-Sintonia-Token: {token}\r\n");
        for _ in 0..2 * MAX_CONNECTIONS {
            assert_eq!(status(&get(address, "/api/0/panic", &own)), 500);
        }
        assert_eq!(status(&get(address, "/api/0/about", &own)), 200);
    });
}

#[test]
fn answers_do_not_wait_for_background_work() {
    let (over, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Arc::new(Mutex::new(waits));
    for _ in 0..rayon::current_num_threads() {
        let waits = waits.clone();
        rayon::spawn(move || {
            let _ = waits.lock().unwrap().recv();
        });
    }
    with_server(|address, token| {
        let response = get(address, "/api/0/parallel", &format!("X-Sintonia-Token: {token}\r\n"));
        assert_eq!((status(&response), body(&response)), (200, "6"));
    });
    drop(over);
}

#[test]
fn the_status_reflects_the_result_of_a_query() {
    with_server(|address, token| {
        let ask = |path: &str| get(address, path, &format!("X-Sintonia-Token: {token}\r\n"));
        let working = ask("/api/0/working");
        assert_eq!((status(&working), body(&working)), (202, r#"{"doing":"counting","done":0.5}"#));
        let nothing = ask("/api/0/nothing");
        assert_eq!((status(&nothing), body(&nothing)), (404, r#"{"error":"it cannot tell"}"#));
        assert_eq!(status(&ask("/api/0/query?n=many")), 400);
        assert_eq!(body(&ask("/api/0/query?n=5")), "5");
        assert_eq!(body(&ask("/api/0/binary")), "\u{2}\0\0\0{}\u{1}\u{2}\u{3}");
    });
}

#[test]
fn connections_are_kept_alive_and_answers_compressed_on_request() {
    with_server(|address, token| {
        let mut stream = TcpStream::connect(address).unwrap();
        let request = |more: &str| format!("GET /api/0/long HTTP/1.1\r\nHost: {address}\r\nX-Sintonia-Token: {token}\r\n{more}\r\n");
        let both = [request("Accept-Encoding: br, gzip;q=0.5\r\n"), request("Connection: close\r\nAccept-Encoding: gzip;q=0\r\n")].concat();
        stream.write_all(both.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        assert!(head.contains("Content-Encoding: gzip\r\n") && head.contains("Connection: keep-alive\r\n"), "{head}");
        let length: usize = head.split("Content-Length: ").nth(1).unwrap().split("\r\n").next().unwrap().parse().unwrap();
        assert!(length < 1000, "{length}");
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&bytes[end..end + length]).read_to_string(&mut unpacked).unwrap();
        let second = std::str::from_utf8(&bytes[end + length..]).unwrap();
        assert!(!second.contains("Content-Encoding"));
        assert_eq!(body(second), unpacked);
        assert_eq!(unpacked.len(), 100_002);
    });
}

#[test]
fn head_is_get_without_the_body() {
    with_server(|address, token| {
        let text = format!("HEAD /?token={token} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        let answer = answer_to(address, &text);
        assert_eq!((status(&answer), body(&answer)), (200, ""));
        assert!(answer.contains("Content-Length: 26\r\n"), "{answer}");
    });
}

#[test]
fn excess_connections_wait() {
    with_server(|address, token| {
        let silent: Vec<TcpStream> = (0..MAX_CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut late = TcpStream::connect(address).unwrap();
        let text = format!("GET /?token={token} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        late.write_all(text.as_bytes()).unwrap();
        late.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        assert!(late.read(&mut [0]).is_err(), "there is no room for it yet");
        late.set_read_timeout(None).unwrap();
        drop(silent);
        let mut answer = String::new();
        late.read_to_string(&mut answer).unwrap();
        assert_eq!(status(&answer), 200);
    });
}

/// A short timeout, and one that no test reaches.
const SOON: Duration = Duration::from_millis(100);
const NEVER: Duration = Duration::from_secs(600);

/// Connects with a generous read timeout.
fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// A request for the page that keeps the connection open.
fn for_the_page(address: SocketAddr, token: &str) -> String {
    format!("GET /?token={token} HTTP/1.1\r\nHost: {address}\r\n\r\n")
}

#[test]
fn a_missing_first_request_times_out() {
    with_limits(ConnectionTimeouts { first_request: SOON, idle: NEVER, request: NEVER, response: NEVER }, |address, _| {
        for begin in ["", "GET / HTTP/1.1\r\nHost: "] {
            let mut stream = connected(address);
            stream.write_all(begin.as_bytes()).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the other end has closed");
        }
    });
}

#[test]
fn a_slow_request_times_out() {
    with_limits(ConnectionTimeouts { first_request: NEVER, idle: NEVER, request: SOON, response: NEVER }, |address, token| {
        let mut stream = connected(address);
        stream.write_all(for_the_page(address, token).as_bytes()).unwrap();
        let mut answer = vec![0; 4096];
        let length = stream.read(&mut answer).unwrap();
        assert_eq!(status(&String::from_utf8_lossy(&answer[..length])), 200);
        let dripped = (0..3000).take_while(|_| {
            std::thread::sleep(SOON / 10);
            stream.write_all(b"x").is_ok()
        });
        assert!(dripped.count() < 3000, "it went on for ever");
    });
}

#[test]
fn an_idle_connection_times_out() {
    with_limits(ConnectionTimeouts { first_request: NEVER, idle: SOON, request: NEVER, response: NEVER }, |address, token| {
        let mut stream = connected(address);
        stream.write_all(for_the_page(address, token).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(status(&answer), 200);
    });
}

#[test]
fn a_slow_reader_times_out() {
    with_limits(ConnectionTimeouts { first_request: NEVER, idle: NEVER, request: NEVER, response: SOON }, |address, token| {
        let mut stream = connected(address);
        let text = format!("GET /api/0/longer HTTP/1.1\r\nHost: {address}\r\nX-Sintonia-Token: {token}\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut read = 0;
        // Each read is well within a timeout per read.
        for _ in 0..20 {
            std::thread::sleep(SOON / 5);
            read += stream.read(&mut [0; 16]).unwrap_or(0);
        }
        let rest = stream.read_to_end(&mut Vec::new()).unwrap_or(0);
        assert!(read + rest < 64 << 20, "{read} + {rest}");
    });
}

#[test]
fn a_connection_that_failed_does_not_end_the_others() {
    for passing in [4, 11, 23, 24, 71, 100, 101, 103, 104, 113] {
        assert!(is_transient(&io::Error::from_raw_os_error(passing)), "{passing}");
    }
    assert!(!is_transient(&io::Error::from_raw_os_error(9)));
}
