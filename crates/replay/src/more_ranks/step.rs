//! A call of the program as rules: who makes it, when, to whom, with how much.

use std::collections::BTreeSet;

use sintonia_recording::raw;
use sintonia_recording::table::Shape;

use super::amount::Amount;
use super::grid::Spot;
use super::list::List;
use super::open::{Handling, Request};
use super::peer::Peer;
use super::who::{Round, When, Who};

/// A call of the program, for every rank of any number of ranks.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is always the same about it.
    pub shape: Shape,
    /// The marks it has where nobody is at the other end.
    pub parts_with_nobody: u16,
    /// The kind of the communicator it is made on.
    pub communicator: Option<usize>,
    /// The kind of the communicator it makes.
    pub made: Option<usize>,
    /// Which ranks make it.
    pub who: Who,
    /// In which rounds of the loop at a depth.
    pub when: Option<(usize, When)>,
    /// To whom it goes, from whom it comes, or whose data it is.
    pub peer: Target,
    /// Other rules that explain the recorded peers as well, and which ranks make the call then.
    pub others: Vec<(Who, Target)>,
    /// Whether it takes messages from anyone, so that peers may come in another order.
    pub any_order: bool,
    /// From whom the receiving half of a send-receive comes.
    pub source: Target,
    /// What becomes of it where nobody is at the other end.
    pub nobody: Nobody,
    /// Its tag.
    pub tag: Amount,
    /// The tag of the receiving half.
    pub recv_tag: Amount,
    /// Bytes sent.
    pub sent: Amount,
    /// Bytes received.
    pub received: Amount,
    /// The requests that it completes, starts or gives back.
    pub handles: Option<Handles>,
}

/// The other end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// No rank, but what a recording says in place of one.
    Fixed(i32),
    /// Always found in the same way.
    Same(Peer),
    /// Another one in each round of the loop at this depth.
    Turns(usize, List),
}

/// What becomes of a call where nobody is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nobody {
    /// It is not made.
    LeftOut,
    /// It is made with `MPI_PROC_NULL`.
    Null,
}

/// Which requests a call has to do with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handles {
    /// What it does with them.
    pub handling: Handling,
    /// Which ones of those that there are.
    pub choice: Choice,
    /// The nodes that make them.
    pub of: Vec<u32>,
    /// Whether the call is left out where there is none.
    pub only_if_any: bool,
}

/// Which of the requests that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All.
    All,
    /// The oldest.
    Oldest,
    /// The newest.
    Newest,
    /// The oldest of each node that makes them.
    OldestOfEach,
    /// The one that happens to be complete: taken to be the oldest.
    Any,
}

impl Choice {
    /// All of them, simple ones first.
    pub const ALL: [Choice; 5] = [Choice::All, Choice::Oldest, Choice::Newest, Choice::OldestOfEach, Choice::Any];

    /// The places that are chosen of requests made by these nodes, if only some nodes count.
    pub fn places(self, there: &[u32], of: &[u32]) -> Vec<u32> {
        let mut counted = there.iter().zip(0..).filter(|(node, _)| of.contains(node));
        match self {
            Choice::All => counted.map(|(_, place)| place).collect(),
            Choice::Oldest | Choice::Any => counted.next().map(|(_, place)| place).into_iter().collect(),
            Choice::Newest => counted.last().map(|(_, place)| place).into_iter().collect(),
            Choice::OldestOfEach => {
                let mut seen = BTreeSet::new();
                counted.filter(|(node, _)| seen.insert(**node)).map(|(_, place)| place).collect()
            }
        }
    }
}

impl Handles {
    /// How many requests a loop over them would find.
    pub fn count(&self, open: &[Request]) -> u32 {
        open.iter().filter(|request| self.handling.can(request) && self.of.contains(&request.node)).count() as u32
    }
}

impl Target {
    /// The rank at the other end, if there is one.
    pub fn of(&self, spot: Spot, rounds: &[Round]) -> Option<u32> {
        match self {
            Target::Fixed(_) => None,
            Target::Same(peer) => peer.of(spot),
            Target::Turns(depth, list) => list.at(spot, rounds.get(*depth)?.number),
        }
    }

    /// What a recording says in its place.
    pub fn recorded(&self, peer: Option<u32>) -> i32 {
        match self {
            Target::Fixed(mark) => *mark,
            _ => peer.map_or(raw::PROC_NULL, |peer| peer as i32),
        }
    }

    /// Whether there may be someone at the other end.
    pub fn is_rule(&self) -> bool {
        !matches!(self, Target::Fixed(_))
    }

    /// Whether it is the same in all rounds of the loop at a depth.
    pub fn is_steady(&self, depth: usize) -> bool {
        !matches!(self, Target::Turns(own, _) if *own == depth)
    }

    /// Why the rule means nothing among so many ranks, if it does not.
    pub fn impossible(&self, spot: Spot) -> Option<String> {
        match self {
            Target::Fixed(_) => None,
            Target::Same(peer) => peer.impossible(spot),
            Target::Turns(_, list) => list.impossible(spot),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Fixed(raw::ANY) => write!(f, "anyone"),
            Target::Fixed(_) => write!(f, "nobody"),
            Target::Same(peer) => write!(f, "{peer}"),
            Target::Turns(_, list) => write!(f, "{list}"),
        }
    }
}

impl Step {
    /// Whether a rank makes the call in these rounds, and the rank at the other end.
    pub fn made_by(&self, spot: Spot, rounds: &[Round]) -> Option<Option<u32>> {
        if let Some((depth, when)) = &self.when
            && !when.holds(*rounds.get(*depth)?)
        {
            return None;
        }
        let peer = self.peer.of(spot, rounds);
        let left_out = self.peer.is_rule() && peer.is_none() && self.nobody == Nobody::LeftOut;
        (!left_out && self.who.holds(spot, peer)).then_some(peer)
    }

    /// Whether a rank ever makes the call, as far as it does not depend on rounds: what makes ranks alike.
    pub fn is_ever_made_by(&self, spot: Spot) -> bool {
        match &self.peer {
            Target::Turns(_, list) => list.length(spot) > 0 && (matches!(self.who, Who::PeerAbove(_)) || self.who.holds(spot, None)),
            Target::Same(peer) => {
                let peer = peer.of(spot);
                self.who.holds(spot, peer) && peer.is_some()
            }
            Target::Fixed(_) => self.who.holds(spot, None),
        }
    }

    /// Whether it is the same in all rounds of the loop at a depth.
    pub fn is_steady(&self, depth: usize) -> bool {
        let amounts = [&self.tag, &self.recv_tag, &self.sent, &self.received];
        let always = !matches!(&self.when, Some((own, when)) if *own == depth && *when != When::Always);
        always && self.peer.is_steady(depth) && self.source.is_steady(depth) && amounts.iter().all(|amount| amount.is_steady(depth))
    }
}
