//! Parts of a program's time, named so that they can be matched between runs.
//!
//! Numbers of call sites and nodes differ between recordings; the operation and the source location stay, and its callers do where the
//! recordings are opened together ([`Recording::open_all`]).

use std::fmt;

use serde::Serialize;
use sintonia_mpi::FunctionId;
use sintonia_recording::Recording;

use crate::SourceLocation;

/// An MPI operation at a source location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct OperationSite {
    /// The MPI function.
    pub operation: String,
    /// The source location, for display.
    pub place: String,
}

impl OperationSite {
    /// The site of a call.
    pub fn new(recording: &Recording, operation: FunctionId, site: u32) -> OperationSite {
        OperationSite { operation: operation.name().to_owned(), place: SourceLocation::of(recording, site).to_string() }
    }
}

impl fmt::Display for OperationSite {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} at {}", self.operation, self.place)
    }
}

/// A part of a run's time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProgramPart {
    /// Computation between two operations.
    Computation {
        /// The operation before it.
        from: OperationSite,
        /// The operation after it.
        to: OperationSite,
    },
    /// An MPI operation.
    Communication {
        /// Its site.
        at: OperationSite,
    },
    /// The skew of ranks leaving `MPI_Init`.
    Start,
    /// Parts too small for a formula of their own, or missing from some runs.
    Rest,
}

/// What a part depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The processors.
    Computation,
    /// The network.
    Communication,
    /// Both or neither.
    Other,
}

impl ProgramPart {
    /// What it depends on.
    pub fn kind(&self) -> PartKind {
        match self {
            ProgramPart::Computation { .. } => PartKind::Computation,
            ProgramPart::Communication { .. } => PartKind::Communication,
            ProgramPart::Start | ProgramPart::Rest => PartKind::Other,
        }
    }
}

impl fmt::Display for ProgramPart {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ProgramPart::Computation { from, to } if from.place == to.place => {
                write!(f, "computation around {} at {}", from.operation, short_function(&from.place))
            }
            ProgramPart::Computation { from, to } => match (from.place.rsplit_once(':'), to.place.rsplit_once(':')) {
                (Some((file, _)), Some((same, line))) if file == same && line.parse::<u32>().is_ok() => {
                    write!(f, "computation {} to {line}", from.place)
                }
                _ => write!(f, "computation {} to {}", short_function(&from.place), short_function(&to.place)),
            },
            ProgramPart::Communication { at } => write!(f, "{} at {}", at.operation, short_function(&at.place)),
            ProgramPart::Start => write!(f, "start of the ranks"),
            ProgramPart::Rest => write!(f, "rest"),
        }
    }
}

/// A function without its file, arguments and outer namespaces; any other location unchanged.
fn short_function(place: &str) -> &str {
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

    fn site(place: &str) -> OperationSite {
        OperationSite { operation: "MPI_Send".into(), place: place.into() }
    }

    #[test]
    fn parts_are_named_as_short_as_they_can_be() {
        let name = |from: &str, to: &str| ProgramPart::Computation { from: site(from), to: site(to) }.to_string();
        assert_eq!(name("src/a.c:1", "src/a.c:20"), "computation src/a.c:1 to 20");
        assert_eq!(name("src/a.c:1", "src/b.c:1"), "computation src/a.c:1 to src/b.c:1");
        assert_eq!(name("src/a.c:1", "src/a.c:1"), "computation around MPI_Send at src/a.c:1");
        assert_eq!(name("solve in lu", "init in lu"), "computation solve to init");
        assert_eq!(name("MD::Comm::send(int) in libmd.so.0", "MD::Comm::wait() in libmd.so.0"), "computation Comm::send to Comm::wait");
        assert_eq!(name("0x12 in lu", "init in lu"), "computation 0x12 in lu to init");
        assert_eq!(ProgramPart::Communication { at: site("a.c:3") }.to_string(), "MPI_Send at a.c:3");
    }
}
