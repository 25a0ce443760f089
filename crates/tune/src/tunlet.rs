//! A tunlet: the knowledge that tunes a kind of program. It says what it needs, is told what happens, and says what is to be changed and why.

use sintonia_link::order::Side;

use crate::point::Needs;

/// Something that happened in the program.
#[derive(Debug, Clone, PartialEq)]
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

/// What a tunlet wants changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Which of its tuning points.
    pub point: usize,
    /// The new value.
    pub value: f64,
    /// Why, for people.
    pub why: String,
}

/// The knowledge that tunes a kind of program.
pub trait Tunlet: Send {
    /// Its name.
    fn name(&self) -> &str;

    /// What it needs of a program with so many processes.
    fn needs(&self, processes: u32) -> Needs;

    /// Something happened; what is to be changed.
    fn happened(&mut self, happening: &Happening) -> Vec<Wish>;
}
