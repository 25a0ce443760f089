//! Access control.
//!
//! Other pages in the same browser can send requests to this machine. They do not know the token, and even if they did, the headers `Host`,
//! `Origin` and `Sec-Fetch-Site` would identify them.

use std::net::IpAddr;

use super::request::HttpRequest;
use super::response::HttpResponse;
use super::token::AccessToken;
use crate::answer::PageQuery;

/// A request that passed the access control.
#[derive(Debug, PartialEq)]
pub(super) enum AuthorizedRequest {
    /// The page.
    Page,
    /// A query.
    Query(PageQuery),
}

/// Decides which requests are allowed.
pub(super) struct AccessControl {
    token: AccessToken,
    /// Lower-case host names of this machine.
    host_names: Vec<String>,
    /// Whether the server is bound to an address other than loopback.
    is_remote: bool,
}

impl AccessControl {
    /// Allows requests with the token that address the machine by one of its names.
    pub(super) fn new(token: AccessToken, names: Vec<String>, bound: IpAddr) -> AccessControl {
        let host_names = names.into_iter().map(|name| name.trim_matches(['[', ']']).to_ascii_lowercase()).collect();
        AccessControl { token, host_names, is_remote: !bound.is_loopback() }
    }

    /// Checks a request; the error is the response.
    pub(super) fn authorize(&self, request: &HttpRequest) -> Result<AuthorizedRequest, HttpResponse> {
        let forbidden = |reason: &str| Err(HttpResponse::error((403, "Forbidden"), reason));
        if !request.header("host").is_some_and(|host| self.is_own_host(host)) {
            return forbidden("the Host header does not name this machine");
        }
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Err(HttpResponse::method_not_allowed());
        }
        let Some(target) = RequestTarget::parse(&request.path) else {
            return Err(HttpResponse::error((404, "Not Found"), "no such resource"));
        };
        if !is_same_origin(request, &target) {
            return forbidden("cross-origin request");
        }
        let token = match target {
            RequestTarget::Page => request.query.get("token").map(String::as_str),
            RequestTarget::Subject { .. } => request.header("x-sintonia-token"),
        };
        if !token.is_some_and(|token| self.token.matches(token)) {
            return forbidden("the token is missing or wrong: open the address that `sintonia view` printed");
        }
        Ok(match target {
            RequestTarget::Page => AuthorizedRequest::Page,
            RequestTarget::Subject { recording, subject } => {
                AuthorizedRequest::Query(PageQuery { recording, subject, params: request.query.clone() })
            }
        })
    }

    /// Whether a host is this machine. Foreign names that resolve to it are rejected (DNS rebinding); addresses are not spoofable.
    fn is_own_host(&self, host: &str) -> bool {
        let Some(name) = host_without_port(host).map(str::to_ascii_lowercase) else { return false };
        let address: Option<IpAddr> = name.parse().ok();
        name == "localhost" || self.host_names.contains(&name) || address.is_some_and(|address| self.is_remote || address.is_loopback())
    }
}

/// The host without its port: `::1` for `[::1]:80`. `None` if it is malformed.
fn host_without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    is_port.then_some(name)
}

/// Target of a path.
enum RequestTarget {
    Page,
    Subject { recording: usize, subject: String },
}

impl RequestTarget {
    fn parse(path: &str) -> Option<RequestTarget> {
        if path == "/" {
            return Some(RequestTarget::Page);
        }
        let (recording, subject) = path.strip_prefix("/api/")?.split_once('/')?;
        let is_plain = !subject.is_empty() && subject.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let recording = recording.parse().ok().filter(|_| recording.bytes().all(|byte| byte.is_ascii_digit()))?;
        is_plain.then(|| RequestTarget::Subject { recording, subject: subject.to_owned() })
    }
}

/// Whether a request comes from the page itself or from the user opening it. Clients other than browsers do not send these headers.
fn is_same_origin(request: &HttpRequest, target: &RequestTarget) -> bool {
    let own = request.header("host").map(|host| format!("http://{host}").to_ascii_lowercase());
    let is_own = |origin: &str| own.as_deref() == Some(&origin.to_ascii_lowercase());
    let origin = !request.has_header("origin") || request.header("origin").is_some_and(is_own);
    let is_opened = matches!(target, RequestTarget::Page) && request.header("sec-fetch-dest") == Some("document");
    let site = match request.header("sec-fetch-site") {
        Some("same-origin" | "none") => true,
        // Following a link to the page is allowed: only the user sees the result.
        Some(_) => is_opened,
        None => !request.has_header("sec-fetch-site"),
    };
    origin && site
}
