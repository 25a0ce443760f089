//! Facts of a run and of its processes that OTF2 has no place for, as properties of its definitions.
//!
//! Each fact is written and read here, side by side, so that none is lost on the way out and back.

use std::collections::BTreeMap;

use sintonia_recording::header::{End, Header, Neighbourhood, Rank};

/// The value of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
    /// A number that can be negative.
    Signed(i64),
    /// A fraction.
    Fraction(f64),
}

/// A property.
pub type Fact = (&'static str, Value);

/// What all names of Sintonia's own begin with.
pub const PREFIX: &str = "SINTONIA_";
/// The file of code that a call site is in.
pub const MODULE: &str = "SINTONIA_MODULE";
/// The place of a call site in it.
pub const OFFSET: &str = "SINTONIA_OFFSET";
/// The number of a thread in its process.
pub const THREAD: &str = "SINTONIA_THREAD";
/// Why a process has no events: it is [`ABSENT`] or [`OUTSIDE`].
pub const MISSING: &str = "SINTONIA_MISSING";
/// A process that left nothing.
pub const ABSENT: &str = "absent";
/// It stands for all processes that are not of the recording.
pub const OUTSIDE: &str = "outside";

/// The name of groups that windows are synchronised with.
pub const GROUP: &str = "SINTONIA_GROUP";

const COMMAND: &str = "SINTONIA_COMMAND";
const STARTED: &str = "SINTONIA_STARTED";
const ZERO: &str = "SINTONIA_ZERO";
const EXIT_STATUS: &str = "SINTONIA_EXIT_STATUS";
const PARAMETERS: &str = "SINTONIA_PARAMETERS";
const MPI_LIBRARY: &str = "SINTONIA_MPI_LIBRARY";
const MPI_VERSION: &str = "SINTONIA_MPI_VERSION";
const MPI_ABI: &str = "SINTONIA_MPI_ABI";
const CLOCK_ERROR: &str = "SINTONIA_CLOCK_ERROR";
const NOTES: &str = "SINTONIA_NOTES";
const NEIGHBOURS: &str = "SINTONIA_NEIGHBOURS";

const THREADS: &str = "SINTONIA_THREADS";
const BEGIN: &str = "SINTONIA_BEGIN";
const END: &str = "SINTONIA_END";
const HOW: &str = "SINTONIA_HOW_IT_ENDED";
const DROPPED: &str = "SINTONIA_DROPPED";
const DAMAGED: &str = "SINTONIA_DAMAGED_BLOCKS";

/// The facts of a run.
pub fn of_run(header: &Header) -> Vec<Fact> {
    let json = |value: serde_json::Value| Value::Text(value.to_string());
    let text = |text: &str| Value::Text(text.to_owned());
    let mut facts = vec![
        (COMMAND, json(header.command.clone().into())),
        (STARTED, Value::Fraction(header.started_s)),
        (PARAMETERS, json(serde_json::json!(header.parameters))),
        (MPI_LIBRARY, text(&header.mpi.library)),
        (MPI_VERSION, text(&header.mpi.version)),
        (MPI_ABI, text(&header.mpi.abi)),
        (CLOCK_ERROR, Value::Fraction(header.clock_error_s)),
        (NOTES, json(header.notes.clone().into())),
    ];
    let neighbours: BTreeMap<usize, &Vec<Neighbourhood>> =
        header.communicators.iter().map(|communicator| &communicator.neighbours).enumerate().filter(|(_, all)| !all.is_empty()).collect();
    facts.push((NEIGHBOURS, json(serde_json::json!(neighbours))));
    facts.extend(header.zero_s.map(|seconds| (ZERO, Value::Fraction(seconds))));
    facts.extend(header.exit_status.map(|status| (EXIT_STATUS, Value::Signed(status.into()))));
    facts
}

/// Adds a fact to what is known of a run, if it is one. A header cannot hold fractions that are no numbers.
pub fn tell_run(header: &mut Header, name: &str, value: &Value) {
    match (name, value) {
        (COMMAND, Value::Text(json)) => header.command = serde_json::from_str(json).unwrap_or_default(),
        (STARTED, Value::Fraction(seconds)) if seconds.is_finite() => header.started_s = *seconds,
        (ZERO, Value::Fraction(seconds)) if seconds.is_finite() => header.zero_s = Some(*seconds),
        (PARAMETERS, Value::Text(json)) => header.parameters = serde_json::from_str(json).unwrap_or_default(),
        (MPI_LIBRARY, Value::Text(text)) => header.mpi.library = text.clone(),
        (MPI_VERSION, Value::Text(text)) => header.mpi.version = text.clone(),
        (MPI_ABI, Value::Text(text)) => header.mpi.abi = text.clone(),
        (CLOCK_ERROR, Value::Fraction(seconds)) if seconds.is_finite() => header.clock_error_s = *seconds,
        (NOTES, Value::Text(json)) => header.notes = serde_json::from_str(json).unwrap_or_default(),
        (NEIGHBOURS, Value::Text(json)) => {
            let neighbours: BTreeMap<usize, Vec<Neighbourhood>> = serde_json::from_str(json).unwrap_or_default();
            for (number, neighbours) in neighbours {
                if let Some(communicator) = header.communicators.get_mut(number) {
                    communicator.neighbours = neighbours;
                }
            }
        }
        (EXIT_STATUS, Value::Signed(status)) => header.exit_status = i32::try_from(*status).ok(),
        _ => {}
    }
}

/// The facts of a process.
pub fn of_rank(rank: &Rank) -> Vec<Fact> {
    vec![
        (THREADS, Value::Number(rank.threads.into())),
        (BEGIN, Value::Signed(rank.begin_ns)),
        (END, Value::Signed(rank.end_ns)),
        (HOW, Value::Text(how(rank.end).into())),
        (DROPPED, Value::Number(rank.dropped)),
        (DAMAGED, Value::Number(rank.damaged_blocks)),
    ]
}

/// Adds a fact to what is known of a process, if it is one.
pub fn tell_rank(rank: &mut Rank, name: &str, value: &Value) {
    match (name, value) {
        (THREADS, Value::Number(number)) => rank.threads = *number as u32,
        (BEGIN, Value::Signed(moment)) => rank.begin_ns = *moment,
        (END, Value::Signed(moment)) => rank.end_ns = *moment,
        (HOW, Value::Text(text)) => {
            let ends = [End::Finalized, End::Exited, End::Aborted, End::CutShort];
            rank.end = ends.into_iter().find(|end| how(*end) == text).unwrap_or_default();
        }
        (DROPPED, Value::Number(number)) => rank.dropped = *number,
        (DAMAGED, Value::Number(number)) => rank.damaged_blocks = *number,
        _ => {}
    }
}

/// The name of a communicator, which says what made it, and its parent if there is no other place for that.
pub fn communicator_name(number: u32, made_by: &str, parent: Option<u32>) -> String {
    let name = match (number, made_by) {
        (0, "MPI_COMM_WORLD") => made_by.to_owned(),
        _ => format!("{made_by} {number}"),
    };
    match parent {
        None => name,
        Some(parent) => format!("{name} of {parent}"),
    }
}

/// What made a communicator and its parent, from its name.
pub fn named_communicator(name: &str) -> (String, Option<u32>) {
    let mut words = name.split(' ');
    let made_by = words.next().filter(|word| word.starts_with("MPI_")).unwrap_or_default();
    let parent = words.skip(1).skip_while(|word| *word != "of").nth(1).and_then(|word| word.parse().ok());
    (made_by.to_owned(), parent)
}

fn how(end: End) -> &'static str {
    match end {
        End::Finalized => "finalized",
        End::Exited => "exited",
        End::Aborted => "aborted",
        End::CutShort => "cut short",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::{Communicator, Mpi};

    #[test]
    fn a_communicator_is_named_by_what_made_it() {
        let cases =
            [(0, "MPI_COMM_WORLD", None), (5, "MPI_Comm_dup", None), (6, "MPI_Intercomm_merge", Some(3)), (7, "", Some(1)), (8, "", None)];
        for (number, made_by, parent) in cases {
            let name = communicator_name(number, made_by, parent);
            assert_eq!(named_communicator(&name), (made_by.to_owned(), parent), "{name}");
        }
        assert_eq!(named_communicator("my communicator"), (String::new(), None));
    }

    #[test]
    fn every_fact_comes_back() {
        let header = Header {
            command: vec!["mpirun".into(), "a \"b\"".into()],
            started_s: 1.7e9 + 0.125,
            zero_s: Some(1.7e9 + 0.25),
            exit_status: Some(-3),
            parameters: [("size".to_owned(), 0.1)].into(),
            mpi: Mpi { library: "An MPI".into(), version: "two\nlines".into(), abi: "openmpi".into() },
            clock_error_s: 1e-7,
            notes: vec!["Something was lost.".into()],
            ..Header::default()
        };
        let neighbours = vec![Neighbourhood { ranks: "0-3".into(), sources: "-1".into(), destinations: "1".into() }];
        let communicators = vec![Communicator::default(), Communicator { neighbours, ..Communicator::default() }];
        let header = Header { communicators, ..header };
        let mut told = Header { communicators: vec![Communicator::default(); 2], ..Header::default() };
        of_run(&header).iter().for_each(|(name, value)| tell_run(&mut told, name, value));
        assert_eq!(told, header);
        tell_run(&mut told, STARTED, &Value::Fraction(f64::NAN));
        assert_eq!(told, header, "what is no number is no fact");
        for end in [End::Finalized, End::Exited, End::Aborted, End::CutShort] {
            let rank = Rank { threads: 2, begin_ns: -5, end_ns: 10, end, dropped: 3, damaged_blocks: 4, ..Rank::default() };
            let mut told = Rank::default();
            of_rank(&rank).iter().for_each(|(name, value)| tell_rank(&mut told, name, value));
            assert_eq!(told, rank);
        }
    }
}
