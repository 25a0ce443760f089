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

#[derive(Default)]
struct World {
    present: HashSet<u32>,
    answer: Option<bool>,
}

type Worlds = Arc<(Mutex<HashMap<u64, World>>, Condvar)>;

impl RollCall {
    /// Begins to answer, in threads of their own.
    pub fn begin(token: &str) -> std::io::Result<RollCall> {
        let listener = TcpListener::bind(("0.0.0.0", 0))?;
        let port = listener.local_addr()?.port();
        let token = token.to_owned();
        std::thread::spawn(move || {
            let worlds = Worlds::default();
            for stream in listener.incoming().flatten() {
                let (token, worlds) = (token.clone(), worlds.clone());
                std::thread::spawn(move || answer(stream, &token, &worlds));
            }
        });
        Ok(RollCall { port })
    }
}

/// Reads one card and answers it; whoever does not know the token gets no answer.
fn answer(mut stream: TcpStream, token: &str, worlds: &Worlds) -> Option<()> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut line = String::new();
    BufReader::new((&stream).take(LONGEST)).read_line(&mut line).ok()?;
    let card = Card::parse(&line).filter(|card| card.token == token)?;
    let all = all_present(&card, worlds);
    stream.write_all(if all { b"yes\n" } else { b"no\n" }).ok()
}

/// Waits until all processes of the world have asked, or patience ends; then the answer stands for good.
fn all_present(card: &Card, worlds: &Worlds) -> bool {
    let (worlds, changed) = &**worlds;
    let mut guard = worlds.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let end = Instant::now() + PATIENCE;
    let world = guard.entry(card.world).or_default();
    world.present.insert(card.rank);
    if world.answer.is_none() && world.present.len() == card.size as usize {
        world.answer = Some(true);
        changed.notify_all();
    }
    loop {
        let world = guard.entry(card.world).or_default();
        if let Some(answer) = world.answer {
            return answer;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            world.answer = Some(false);
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
        let port = RollCall::begin("word").unwrap().port;
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
