//! What is replayed: for each thread of each rank, what it computes and what it does to others, in order.
//!
//! A recording is such a schedule, and so are traces of other tools and the patterns of runs that nobody has made yet. A schedule is never
//! in memory as a whole: each line is read a [`Stretch`] at a time, when the replay gets there. Programs loop, so a stretch says what is
//! done once, as an [`Action`], and its rows only when and which.

mod action;
mod dimemas;
mod recording;
mod script;
mod smpi;
#[cfg(test)]
mod tests;

pub use action::{Action, Envelope, How, Join, Outcome, Receive, Request, Send, SendMode, Sync};
pub use recording::action;
use sintonia_recording::table::Shape;

use crate::Error;

/// A thread of a rank that calls MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineId {
    /// The rank.
    pub rank: u32,
    /// The number of the thread in its process.
    pub thread: u16,
}

/// What is to be replayed. Several replays can read it at once.
pub trait Schedule: std::marker::Sync {
    /// How many ranks there are.
    fn ranks(&self) -> u32;

    /// The lines, by rank and thread.
    fn lines(&self) -> Result<Vec<LineId>, Error>;

    /// Opens a line at its beginning.
    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error>;

    /// The members of the communicator that a group meets on, as ranks in their order there; none if it is not known.
    fn members(&self, communicator: u32) -> Vec<u32>;

    /// Whether a communicator connects two groups, whose members stand one after the other.
    fn is_between_groups(&self, communicator: u32) -> bool {
        let _ = communicator;
        false
    }

    /// The communicator on which windows and files, by number, were made.
    fn object(&self, object: u32) -> Option<u32> {
        let _ = object;
        None
    }

    /// The ranks that a member sends to and receives from in collective operations among neighbours.
    fn neighbours(&self, communicator: u32, rank: u32) -> Neighbours {
        let _ = (communicator, rank);
        Neighbours::default()
    }

    /// How many call sites there are.
    fn sites(&self) -> u32;

    /// Where in the program a call site is, for messages to people: `lu.f:310`.
    fn site(&self, site: u32) -> String;
}

/// Whom a rank exchanges data with in a topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Ranks it receives from.
    pub sources: Vec<u32>,
    /// Ranks it sends to.
    pub destinations: Vec<u32>,
}

/// A line that is read from its beginning to its end.
pub trait Stretches {
    /// Reads on: the next rows replace those in `stretch`, and where they do other things than the last ones, so do its actions. What is in it
    /// before may be another line's.
    fn next(&mut self, stretch: &mut Stretch) -> Result<Next, Error>;

    /// Of receives whose [`Receive::from`] is `None`: what became of the next one, in the order in which they were begun.
    fn outcome(&mut self) -> Result<Outcome, Error> {
        Ok(Outcome::Never)
    }
}

/// What reading on found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Rows that name the same actions as those before.
    Rows,
    /// Rows, and actions that replace those before.
    Actions,
    /// Nothing: the line has ended.
    End,
}

/// Some calls of a line that follow each other.
#[derive(Clone, Debug, Default)]
pub struct Stretch {
    /// What is done; rows name it by place.
    pub actions: Vec<Described>,
    /// What is done when.
    pub rows: Vec<Row>,
    /// When the first of them was entered, in nanoseconds since the recording began.
    pub enter_ns: i64,
    /// The number of the request that the first of them to make one makes; `None` if it follows that of the row before.
    pub first_request: Option<u64>,
}

/// An action, and the call that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// What is done.
    pub action: Action,
    /// The call as a recording describes it.
    pub shape: Shape,
}

/// One call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Nanoseconds of computation since the call before was left, or since the line began.
    pub computed_ns: i64,
    /// Nanoseconds besides that in which the line only looked again whether something had happened.
    pub idle_ns: u32,
    /// Nanoseconds from entering the call to leaving it, as recorded; 0 if that is not known.
    pub took_ns: i64,
    /// What it did, by place in [`Stretch::actions`].
    pub action: u32,
}
