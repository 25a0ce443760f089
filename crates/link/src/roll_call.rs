//! Are all processes of a world recorded? Every process that asks gets the same answer.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long the first process of a world waits for the others.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a process tries to reach an address.
const REACH: Duration = Duration::from_millis(500);
/// No message is longer.
const LONGEST: u64 = 512;

/// What a process says when it asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// A word that only processes of this recording know.
    pub token: String,
    /// The number that the processes of its world share.
    pub world: u64,
    /// Its rank.
    pub rank: u32,
    /// How many processes its world has.
    pub size: u32,
}

impl Card {
    fn line(&self) -> String {
        format!("sintonia {} {} {} {}\n", self.token, self.world, self.rank, self.size)
    }

    fn parse(line: &str) -> Option<Card> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["sintonia", token, world, rank, size] = words[..] else { return None };
        Some(Card { token: token.into(), world: world.parse().ok()?, rank: rank.parse().ok()?, size: size.parse().ok()? })
    }
}

/// Asks at the first of these addresses (`host:port`) that answers whether all processes are recorded; `None` if none answers.
pub fn ask<'a>(addresses: impl IntoIterator<Item = &'a str>, card: &Card) -> Option<bool> {
    let mut stream = addresses
        .into_iter()
        .filter_map(|address| address.to_socket_addrs().ok())
        .flatten()
        .find_map(|address| TcpStream::connect_timeout(&address, REACH).ok())?;
    stream.set_read_timeout(Some(2 * PATIENCE)).ok()?;
    stream.write_all(card.line().as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut answer).ok()?;
    match answer.trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Answers processes as long as the program runs.
pub struct RollCall {
    /// The port on which it listens, on all addresses of this host.
    pub port: u16,
}

/// The processes of one run of a world that have asked.
#[derive(Default)]
struct Run {
    present: HashSet<u32>,
    answer: Option<bool>,
}

/// The runs of each world and size: a launcher that gives its runs no name leaves the same number to all of them.
type Runs = Arc<(Mutex<HashMap<(u64, u32), Vec<Run>>>, Condvar)>;

impl RollCall {
    /// Begins to answer, in threads of their own.
    pub fn begin(token: &str) -> std::io::Result<RollCall> {
        let listener = TcpListener::bind(("0.0.0.0", 0))?;
        let port = listener.local_addr()?.port();
        let token = token.to_owned();
        std::thread::spawn(move || {
            let runs = Runs::default();
            for stream in listener.incoming().flatten() {
                let (token, runs) = (token.clone(), runs.clone());
                std::thread::spawn(move || answer(stream, &token, &runs));
            }
        });
        Ok(RollCall { port })
    }
}

/// Reads one card and answers it; whoever does not know the token gets no answer.
fn answer(mut stream: TcpStream, token: &str, runs: &Runs) -> Option<()> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut line = String::new();
    BufReader::new((&stream).take(LONGEST)).read_line(&mut line).ok()?;
    let card = Card::parse(&line).filter(|card| card.token == token)?;
    let all = all_present(&card, runs);
    stream.write_all(if all { b"yes\n" } else { b"no\n" }).ok()
}

/// Counts a process in the run it belongs to, and says which that is: a rank that asks again is one of another run.
fn join(runs: &mut Vec<Run>, rank: u32) -> usize {
    if runs.last().is_none_or(|run| run.present.contains(&rank)) {
        runs.push(Run::default());
    }
    let last = runs.len() - 1;
    runs[last].present.insert(rank);
    last
}

/// Waits until all processes of the run have asked, or patience ends; then the answer stands for good.
fn all_present(card: &Card, runs: &Runs) -> bool {
    let (runs, changed) = &**runs;
    let world = (card.world, card.size);
    let end = Instant::now() + PATIENCE;
    let mut guard = runs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let runs = guard.entry(world).or_default();
    let place = join(runs, card.rank);
    if runs[place].answer.is_none() && runs[place].present.len() == card.size as usize {
        runs[place].answer = Some(true);
        changed.notify_all();
    }
    loop {
        let run = &mut guard.entry(world).or_default()[place];
        if let Some(answer) = run.answer {
            return answer;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            run.answer = Some(false);
            changed.notify_all();
            return false;
        }
        guard = changed.wait_timeout(guard, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(rank: u32, size: u32) -> Card {
        Card { token: "word".into(), world: 7, rank, size }
    }

    fn asked_by(ranks: u32, size: u32) -> Vec<Option<bool>> {
        asked_at(RollCall::begin("word").unwrap().port, ranks, size)
    }

    fn asked_at(port: u16, ranks: u32, size: u32) -> Vec<Option<bool>> {
        let threads: Vec<_> =
            (0..ranks).map(|rank| std::thread::spawn(move || ask([format!("127.0.0.1:{port}").as_str()], &card(rank, size)))).collect();
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
        let port = RollCall::begin("word").unwrap().port;
        assert_eq!(asked_at(port, 2, 2), [Some(true); 2]);
        assert_eq!(asked_at(port, 1, 2), [Some(false)], "one of the second run is missing");
    }

    #[test]
    fn strangers_hear_nothing() {
        let port = RollCall::begin("word").unwrap().port;
        let address = format!("127.0.0.1:{port}");
        assert_eq!(ask([address.as_str()], &Card { token: "other".into(), ..card(0, 1) }), None);
        assert_eq!(ask(["127.0.0.1:1"], &card(0, 1)), None);
    }

    #[test]
    fn cards_are_read_as_they_were_written() {
        assert_eq!(Card::parse(&card(3, 4).line()), Some(card(3, 4)));
        for line in ["", "sintonia", "sintonia a b c d", "hello a 1 2 3"] {
            assert_eq!(Card::parse(line), None, "{line}");
        }
    }
}
