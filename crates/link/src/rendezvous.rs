//! Rendezvous: checks whether all processes of a world are recorded. All processes get the same answer.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long the first process of a world waits for the others.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for connecting to an address.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum length of a message.
const MAX_LINE_BYTES: u64 = 512;

/// The request of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelloMessage {
    /// A token known only to the processes of this recording.
    pub token: String,
    /// Id shared by the processes of its world.
    pub world: u64,
    /// Its rank.
    pub rank: u32,
    /// Size of its world.
    pub size: u32,
}

impl HelloMessage {
    fn to_line(&self) -> String {
        format!("sintonia {} {} {} {}\n", self.token, self.world, self.rank, self.size)
    }

    fn parse(line: &str) -> Option<HelloMessage> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["sintonia", token, world, rank, size] = words[..] else { return None };
        Some(HelloMessage { token: token.into(), world: world.parse().ok()?, rank: rank.parse().ok()?, size: size.parse().ok()? })
    }
}

/// Asks the first reachable address (`host:port`) whether all processes are recorded; `None` if none answers.
pub fn ask_all_recorded<'a>(addresses: impl IntoIterator<Item = &'a str>, hello: &HelloMessage) -> Option<bool> {
    let mut stream = addresses
        .into_iter()
        .filter_map(|address| address.to_socket_addrs().ok())
        .flatten()
        .find_map(|address| TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).ok())?;
    stream.set_read_timeout(Some(2 * ANSWER_TIMEOUT)).ok()?;
    stream.write_all(hello.to_line().as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream.take(MAX_LINE_BYTES)).read_line(&mut answer).ok()?;
    match answer.trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Answers processes while the program runs.
pub struct RendezvousServer {
    /// The port on which it listens, on all addresses of this host.
    pub port: u16,
}

/// The processes of one run of a world that have asked so far.
#[derive(Default)]
struct WorldRun {
    present: HashSet<u32>,
    answer: Option<bool>,
}

/// Runs by world id and size; some launchers give all runs the same id.
type Runs = Arc<(Mutex<HashMap<(u64, u32), Vec<WorldRun>>>, Condvar)>;

impl RendezvousServer {
    /// Starts to answer, in background threads.
    pub fn start(token: &str) -> std::io::Result<RendezvousServer> {
        let listener = TcpListener::bind(("0.0.0.0", 0))?;
        let port = listener.local_addr()?.port();
        let token = token.to_owned();
        std::thread::spawn(move || {
            let runs = Runs::default();
            for stream in listener.incoming().flatten() {
                let (token, runs) = (token.clone(), runs.clone());
                std::thread::spawn(move || serve_connection(stream, &token, &runs));
            }
        });
        Ok(RendezvousServer { port })
    }
}

/// Reads one request and answers it; a wrong token gets no answer.
fn serve_connection(mut stream: TcpStream, token: &str, runs: &Runs) -> Option<()> {
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    let mut line = String::new();
    BufReader::new((&stream).take(MAX_LINE_BYTES)).read_line(&mut line).ok()?;
    let hello = HelloMessage::parse(&line).filter(|hello| hello.token == token)?;
    let all = wait_for_all(&hello, runs);
    stream.write_all(if all { b"yes\n" } else { b"no\n" }).ok()
}

/// Registers a process and returns the index of its run: a rank that asks again belongs to a new run.
fn register(runs: &mut Vec<WorldRun>, rank: u32) -> usize {
    if runs.last().is_none_or(|run| run.present.contains(&rank)) {
        runs.push(WorldRun::default());
    }
    let last = runs.len() - 1;
    runs[last].present.insert(rank);
    last
}

/// Waits until all processes of the run have asked, or until the timeout; then the answer is final.
fn wait_for_all(hello: &HelloMessage, runs: &Runs) -> bool {
    let (runs, changed) = &**runs;
    let world = (hello.world, hello.size);
    let end = Instant::now() + ANSWER_TIMEOUT;
    let mut guard = runs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let runs = guard.entry(world).or_default();
    let index = register(runs, hello.rank);
    if runs[index].answer.is_none() && runs[index].present.len() == hello.size as usize {
        runs[index].answer = Some(true);
        changed.notify_all();
    }
    loop {
        let run = &mut guard.entry(world).or_default()[index];
        if let Some(answer) = run.answer {
            return answer;
        }
        let remaining = end.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            run.answer = Some(false);
            changed.notify_all();
            return false;
        }
        guard = changed.wait_timeout(guard, remaining).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(rank: u32, size: u32) -> HelloMessage {
        HelloMessage { token: "word".into(), world: 7, rank, size }
    }

    fn asked_by(ranks: u32, size: u32) -> Vec<Option<bool>> {
        asked_at(RendezvousServer::start("word").unwrap().port, ranks, size)
    }

    fn asked_at(port: u16, ranks: u32, size: u32) -> Vec<Option<bool>> {
        let threads: Vec<_> = (0..ranks)
            .map(|rank| std::thread::spawn(move || ask_all_recorded([format!("127.0.0.1:{port}").as_str()], &card(rank, size))))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    #[test]
    fn everyone_hears_yes_when_all_are_there() {
        assert_eq!(asked_by(5, 5), [Some(true); 5]);
    }

    #[test]
    fn everyone_hears_no_when_one_is_missing() {
        assert_eq!(asked_by(3, 4), [Some(false); 3]);
    }

    #[test]
    fn a_run_gets_an_answer_of_its_own_though_it_has_the_number_of_one_before() {
        let port = RendezvousServer::start("word").unwrap().port;
        assert_eq!(asked_at(port, 2, 2), [Some(true); 2]);
        assert_eq!(asked_at(port, 1, 2), [Some(false)], "one of the second run is missing");
    }

    #[test]
    fn strangers_hear_nothing() {
        let port = RendezvousServer::start("word").unwrap().port;
        let address = format!("127.0.0.1:{port}");
        assert_eq!(ask_all_recorded([address.as_str()], &HelloMessage { token: "other".into(), ..card(0, 1) }), None);
        assert_eq!(ask_all_recorded(["127.0.0.1:1"], &card(0, 1)), None);
    }

    #[test]
    fn cards_are_read_as_they_were_written() {
        assert_eq!(HelloMessage::parse(&card(3, 4).to_line()), Some(card(3, 4)));
        for line in ["", "sintonia", "sintonia a b c d", "hello a 1 2 3"] {
            assert_eq!(HelloMessage::parse(line), None, "{line}");
        }
    }
}
