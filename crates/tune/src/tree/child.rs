//! A host below this one in the tree.

use std::net::TcpStream;
use std::sync::mpsc;

use serde::{Deserialize, Serialize};
use sintonia_link::session::{Receiver, Sender, SessionError};

use super::clock::Difference;
use super::door::{pack, unpack};
use crate::station::now_ns;
use crate::talk::{Ask, Told};

/// What a host is told by the one above it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Down {
    /// What time is it there?
    Time,
    /// When the tuning began, in nanoseconds of its clock.
    Began(f64),
    /// A question of the analyzer's.
    Ask(Ask),
    /// The tuning is over.
    End,
}

/// What it tells the one above.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Upward {
    /// The time there, in nanoseconds of its clock.
    Time(f64),
    /// What happened there.
    Told(Vec<Told>),
}

/// What an ear hears.
enum Heard {
    Said(Upward, f64),
    Ended(Option<String>),
}

/// A host below.
pub struct Child {
    host: String,
    sender: Sender<TcpStream>,
    heard: mpsc::Receiver<Heard>,
    difference: Difference,
    /// When it was last asked for the time.
    asked_for_time: Option<f64>,
    /// What it was last told of when the tuning began.
    told_begin: Option<f64>,
    /// Processes there and below that are tuned.
    tuned: u64,
    ended: Option<Option<String>>,
}

/// What listens to a host, in a thread of its own.
pub struct Ear(mpsc::Sender<Heard>);

impl Ear {
    /// Listens until the conversation ends.
    pub fn listen(self, mut receiver: Receiver<TcpStream>) {
        loop {
            match receiver.receive().and_then(|message| Ok(unpack(&message)?)) {
                Ok(said) => {
                    if self.0.send(Heard::Said(said, now_ns())).is_err() {
                        return;
                    }
                }
                Err(problem) => {
                    let why = (!matches!(&problem, SessionError::Broken(_))).then(|| problem.to_string());
                    let _ = self.0.send(Heard::Ended(why));
                    return;
                }
            }
        }
    }
}

impl Child {
    /// A host that has proved itself, and what listens to it.
    pub fn new(host: String, difference: Difference, sender: Sender<TcpStream>) -> (Child, Ear) {
        let (ear, heard) = mpsc::channel();
        (Child { host, sender, heard, difference, asked_for_time: None, told_begin: None, tuned: 0, ended: None }, Ear(ear))
    }

    /// Its name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it can still be reached.
    pub fn is_there(&self) -> bool {
        self.ended.is_none()
    }

    /// Why it is gone, if that needs to be told.
    pub fn farewell(&self) -> Option<Told> {
        let lost = || (self.tuned > 0).then(|| format!("nobody collects there any more; {} processes go on untuned", self.tuned));
        let why = self.ended.clone()?.or_else(lost)?;
        Some(Told::Problem(format!("host {}: {why}", self.host)))
    }

    fn say(&mut self, down: &Down) {
        let said = pack(down).map_err(SessionError::from).and_then(|message| self.sender.send(&message));
        if said.is_err() {
            self.ended.get_or_insert(Some("cannot be reached any more; its processes go on untuned".into()));
        }
    }

    /// Asks it something.
    pub fn ask(&mut self, ask: &Ask) {
        self.say(&Down::Ask(ask.clone()));
    }

    /// Asks it for the time.
    pub fn compare_clocks(&mut self) {
        // An answer that comes late must not be taken for that to a later question.
        if self.asked_for_time.is_some() {
            return;
        }
        self.asked_for_time = Some(now_ns());
        self.say(&Down::Time);
    }

    /// What it has told since the last time, when the tuning began at `begin` in nanoseconds of our clock.
    pub fn hear(&mut self, begin: f64) -> Vec<Told> {
        let mut told = Vec::new();
        for heard in self.heard.try_iter() {
            match heard {
                Heard::Said(Upward::Told(more), _) => {
                    let count = |is_meant: fn(&Told) -> bool| more.iter().filter(|one| is_meant(one)).count() as u64;
                    self.tuned += count(|one| matches!(one, Told::Ready { .. }));
                    self.tuned = self.tuned.saturating_sub(count(|one| matches!(one, Told::Gone { .. })));
                    told.extend(more);
                }
                Heard::Said(Upward::Time(theirs), came) => {
                    if let Some(sent) = self.asked_for_time.take() {
                        self.difference.note(sent, theirs, came);
                    }
                }
                Heard::Ended(why) => self.ended = Some(why),
            }
        }
        let began = self.difference.ahead().map(|ahead| begin + ahead);
        if began != self.told_begin {
            self.told_begin = began;
            began.into_iter().for_each(|began| self.say(&Down::Began(began)));
        }
        told
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.say(&Down::End);
    }
}
