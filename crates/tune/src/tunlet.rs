//! A tunlet: the knowledge that tunes a kind of program. It says what it needs, is told what happens, and says what is to be changed and why.

use serde::{Deserialize, Serialize};
use sintonia_link::order::Side;

use crate::point::{MeasurePoint, Needs};
use crate::statistics::Sums;

/// Something that happened in the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happening {
    /// Which of the tunlet's measure points.
    pub point: usize,
    /// In which process.
    pub rank: u32,
    /// Before or after the function.
    pub side: Side,
    /// When, in seconds since the beginning of the tuning, on a clock that all processes share.
    pub time: f64,
    /// What was read, in the order of the point's values.
    pub values: Vec<f64>,
}

/// All that happened at a measure point in a while, in all processes it is about: of a point whose events may be joined on the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Joined {
    /// Which of the tunlet's measure points.
    pub point: usize,
    /// When the while began, on the clock of [`Happening::time`].
    pub from: f64,
    /// How often it happened.
    pub count: u64,
    /// Count, mean, deviation, largest and sum of each of the point's values.
    pub values: Vec<Sums>,
}

/// What a tunlet wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// A change in the program.
    Change {
        /// Which of its tuning points.
        point: usize,
        /// The new value; for a function that is called, what it is passed; 1 replaces a function or loads a library, 0 takes that back.
        value: f64,
        /// In this process only; otherwise in all that the point is about.
        rank: Option<u32>,
        /// Why, for people.
        why: String,
    },
    /// To measure at one more place; what happens there carries this number.
    Look {
        /// The number, beyond those of [`Needs::measures`].
        number: usize,
        /// The place.
        point: MeasurePoint,
    },
    /// To measure no more at the place with this number.
    LookAway(usize),
    /// To know which functions a function of the program calls.
    Callees(String),
    /// To tell what it has found out.
    Tell(String),
}

impl Wish {
    /// A change in all processes that the point is about.
    pub fn change(point: usize, value: f64, why: impl Into<String>) -> Wish {
        Wish::Change { point, value, rank: None, why: why.into() }
    }
}

/// A figure for whoever looks on: the time of the latest iteration, say, or the number of workers in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is, in one or two words.
    pub name: String,
    /// How much.
    pub value: f64,
    /// In what unit; empty for a plain number.
    pub unit: String,
}

impl Figure {
    /// A figure.
    pub fn new(name: &str, value: f64, unit: &str) -> Figure {
        Figure { name: name.into(), value, unit: unit.into() }
    }
}

/// The knowledge that tunes a kind of program.
pub trait Tunlet: Send {
    /// Its name.
    fn name(&self) -> &str;

    /// What it needs of a program with so many processes.
    fn needs(&mut self, processes: u32) -> Needs;

    /// The processes are there, so many of them, and MPI has not begun; what is wanted before it does, or from the beginning on.
    fn begins(&mut self, _processes: u32) -> Vec<Wish> {
        Vec::new()
    }

    /// Something happened; what is wanted now.
    fn happened(&mut self, _happening: &Happening) -> Vec<Wish> {
        Vec::new()
    }

    /// A while of a point whose events are joined is over; what is wanted now.
    fn joined(&mut self, _joined: &Joined) -> Vec<Wish> {
        Vec::new()
    }

    /// Time has passed: asked some ten times a second, with the clock of [`Happening::time`].
    fn passed(&mut self, _time: f64) -> Vec<Wish> {
        Vec::new()
    }

    /// The functions of the program that a function calls, as was asked; what is wanted now.
    fn callees(&mut self, _function: &str, _callees: &[String]) -> Vec<Wish> {
        Vec::new()
    }

    /// A process has answered that a change was made there; what was there before.
    fn changed(&mut self, _point: usize, _rank: u32, _before: Option<f64>) {}

    /// A change was not made in a process, for this reason; what is wanted now.
    fn refused(&mut self, _point: usize, _rank: u32, _why: &str) -> Vec<Wish> {
        Vec::new()
    }

    /// What it knows at the moment, for whoever looks on.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}
