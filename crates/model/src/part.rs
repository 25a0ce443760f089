//! What the time of a program is made of, named so that it can be found again in another run.
//!
//! Numbers of call sites and nodes differ from recording to recording; what stays is the operation and the place in the source.

use std::fmt;

use serde::{Deserialize, Serialize};
use sintonia_insight::Place;
use sintonia_mpi::Operation;
use sintonia_recording::Recording;

/// An MPI operation at a place of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Spot {
    /// The MPI function.
    pub operation: String,
    /// The place, as people are shown it.
    pub place: String,
}

impl Spot {
    /// The spot of a call.
    pub fn of(recording: &Recording, operation: Operation, site: u32) -> Spot {
        Spot { operation: operation.name().to_owned(), place: Place::of(recording.site(site)).to_string() }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} at {}", self.operation, self.place)
    }
}

/// A part of a run's time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Part {
    /// Computation between two operations.
    Computation {
        /// The operation before it.
        from: Spot,
        /// The operation after it.
        to: Spot,
    },
    /// An MPI operation.
    Communication {
        /// Where.
        at: Spot,
    },
    /// Ranks that leave `MPI_Init` later than the first one.
    Start,
    /// What is too little to have a formula of its own, or is not in every run.
    Rest,
}

/// What a part is, as far as a machine matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It depends on the processors.
    Computation,
    /// It depends on the network.
    Communication,
    /// It is some of both, or neither.
    Other,
}

impl Part {
    /// What it depends on.
    pub fn kind(&self) -> Kind {
        match self {
            Part::Computation { .. } => Kind::Computation,
            Part::Communication { .. } => Kind::Communication,
            Part::Start | Part::Rest => Kind::Other,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Part::Computation { from, to } if from.place == to.place => {
                write!(f, "computation around {} at {}", from.operation, short(&from.place))
            }
            Part::Computation { from, to } => match (from.place.rsplit_once(':'), to.place.rsplit_once(':')) {
                (Some((file, _)), Some((same, line))) if file == same && line.parse::<u32>().is_ok() => {
                    write!(f, "computation {} to {line}", from.place)
                }
                _ => write!(f, "computation {} to {}", short(&from.place), short(&to.place)),
            },
            Part::Communication { at } => write!(f, "{} at {}", at.operation, short(&at.place)),
            Part::Start => write!(f, "start of the ranks"),
            Part::Rest => write!(f, "rest"),
        }
    }
}

/// A function without the file it is in, its arguments and the outer ones of its namespaces; any other place as it is.
fn short(place: &str) -> &str {
    let function = match place.split_once(" in ") {
        Some((function, _)) if !function.starts_with("0x") => function,
        _ => return place,
    };
    let name = function.split_once('(').map_or(function, |(name, _)| name);
    name.rmatch_indices("::").nth(1).map_or(name, |(outer, _)| &name[outer + 2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(place: &str) -> Spot {
        Spot { operation: "MPI_Send".into(), place: place.into() }
    }

    #[test]
    fn parts_are_named_as_short_as_they_can_be() {
        let name = |from: &str, to: &str| Part::Computation { from: spot(from), to: spot(to) }.to_string();
        assert_eq!(name("src/a.c:1", "src/a.c:20"), "computation src/a.c:1 to 20");
        assert_eq!(name("src/a.c:1", "src/b.c:1"), "computation src/a.c:1 to src/b.c:1");
        assert_eq!(name("src/a.c:1", "src/a.c:1"), "computation around MPI_Send at src/a.c:1");
        assert_eq!(name("solve in lu", "init in lu"), "computation solve to init");
        assert_eq!(name("MD::Comm::send(int) in libmd.so.0", "MD::Comm::wait() in libmd.so.0"), "computation Comm::send to Comm::wait");
        assert_eq!(name("0x12 in lu", "init in lu"), "computation 0x12 in lu to init");
        assert_eq!(Part::Communication { at: spot("a.c:3") }.to_string(), "MPI_Send at a.c:3");
    }
}
