//! Who may ask, and for what.
//!
//! Another page in the same browser can make it send requests to this machine. It does not know the token; and what it can make the browser say
//! of itself (`Host`, `Origin`, `Sec-Fetch-Site`) gives it away even if it did.

use std::net::IpAddr;

use super::request::Request;
use super::response::Response;
use super::token::Token;
use crate::answer::Question;

/// What a request may get.
#[derive(Debug, PartialEq)]
pub enum Wanted {
    /// The page.
    Page,
    /// The answer to a question.
    Answer(Question),
}

/// Who may ask.
pub struct Gate {
    token: Token,
    /// Names of this machine, in small letters.
    names: Vec<String>,
    /// Whether it can be reached from elsewhere.
    is_open: bool,
}

impl Gate {
    /// Whoever has the token and calls the machine by one of its names.
    pub fn new(token: Token, names: Vec<String>, bound: IpAddr) -> Gate {
        let names = names.into_iter().map(|name| name.trim_matches(['[', ']']).to_ascii_lowercase()).collect();
        Gate { token, names, is_open: !bound.is_loopback() }
    }

    /// What a request wants, or why it does not get it.
    pub fn wanted(&self, request: &Request) -> Result<Wanted, Response> {
        let forbidden = |why: &str| Err(Response::error((403, "Forbidden"), why));
        if !request.header("host").is_some_and(|host| self.is_own(host)) {
            return forbidden("this is not the machine that was asked for");
        }
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Err(Response::wrong_method());
        }
        let Some(place) = Place::of(&request.path) else {
            return Err(Response::error((404, "Not Found"), "there is nothing here"));
        };
        if !is_from_here(request, &place) {
            return forbidden("another page asked for this");
        }
        let told = match place {
            Place::Page => request.query.get("token").map(String::as_str),
            Place::Subject { .. } => request.header("x-sintonia-token"),
        };
        if !told.is_some_and(|told| self.token.is(told)) {
            return forbidden("the token is missing or wrong: open the address that `sintonia view` printed");
        }
        Ok(match place {
            Place::Page => Wanted::Page,
            Place::Subject { recording, subject } => Wanted::Answer(Question { recording, subject, query: request.query.clone() }),
        })
    }

    /// Whether a host is this machine. A name that leads here but is not ours can be anybody's; an address is nobody's invention.
    fn is_own(&self, host: &str) -> bool {
        let Some(name) = without_port(host).map(str::to_ascii_lowercase) else { return false };
        let address: Option<IpAddr> = name.parse().ok();
        name == "localhost" || self.names.contains(&name) || address.is_some_and(|address| self.is_open || address.is_loopback())
    }
}

/// A host without its port: `[::1]:80` is `::1`; `None` if it is no host.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    is_port.then_some(name)
}

/// What a path leads to.
enum Place {
    Page,
    Subject { recording: usize, subject: String },
}

impl Place {
    fn of(path: &str) -> Option<Place> {
        if path == "/" {
            return Some(Place::Page);
        }
        let (recording, subject) = path.strip_prefix("/api/")?.split_once('/')?;
        let is_plain = !subject.is_empty() && subject.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let recording = recording.parse().ok().filter(|_| recording.bytes().all(|byte| byte.is_ascii_digit()))?;
        is_plain.then(|| Place::Subject { recording, subject: subject.to_owned() })
    }
}

/// Whether nobody but the page itself, or the person who opens it, asks for this. What is no browser says nothing about it.
fn is_from_here(request: &Request, place: &Place) -> bool {
    let own = request.header("host").map(|host| format!("http://{host}").to_ascii_lowercase());
    let is_own = |origin: &str| own.as_deref() == Some(&origin.to_ascii_lowercase());
    let origin = !request.has("origin") || request.header("origin").is_some_and(is_own);
    let is_opened = matches!(place, Place::Page) && request.header("sec-fetch-dest") == Some("document");
    let site = match request.header("sec-fetch-site") {
        Some("same-origin" | "none") => true,
        // A link may lead to the page: whoever follows it sees the page itself, and nobody else does.
        Some(_) => is_opened,
        None => !request.has("sec-fetch-site"),
    };
    origin && site
}
