//! What a parameter or a measured value is: a size, a number of processes, a time, bytes, a count.

use crate::measurements::ParameterKind;
use serde::Serialize;

/// What a column of a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QuantityKind {
    /// Nothing is known.
    #[default]
    Unknown,
    /// A problem size.
    Size,
    /// A number of processes, threads or nodes, which divide the work.
    Processes,
    /// A time.
    Time,
    /// A number of bytes.
    Bytes,
    /// A number of calls, messages, iterations or the like.
    Count,
}

/// Names of parameters that are taken as numbers of processes, in lower case.
const PROCESS_NAMES: [&str; 16] = [
    "p",
    "np",
    "nprocs",
    "procs",
    "processes",
    "processors",
    "ranks",
    "nranks",
    "nodes",
    "nnodes",
    "threads",
    "nthreads",
    "cores",
    "ncores",
    "workers",
    "nworkers",
];

impl QuantityKind {
    /// All kinds with their words in options and files.
    pub const ALL: [(&'static str, Self); 6] = [
        ("unknown", Self::Unknown),
        ("size", Self::Size),
        ("processes", Self::Processes),
        ("time", Self::Time),
        ("bytes", Self::Bytes),
        ("count", Self::Count),
    ];

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(own, _)| *own == word).map(|(_, kind)| kind)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, kind)| *kind == self).map_or("unknown", |(word, _)| word)
    }

    /// What a parameter is by its name alone: a number of processes, if it is called like one.
    pub fn from_parameter_name(name: &str) -> Self {
        if PROCESS_NAMES.contains(&name.to_lowercase().as_str()) { Self::Processes } else { Self::Unknown }
    }

    /// What a column is by the word or the unit in brackets behind its name.
    pub fn from_unit(unit: &str) -> Self {
        match unit {
            "s" => Self::Time,
            "B" | "byte" => Self::Bytes,
            "calls" | "messages" | "occ" => Self::Count,
            _ => Self::from_word(unit).unwrap_or_else(|| Self::from_parameter_name(unit)),
        }
    }

    /// How costs grow with a parameter of this kind. What a longer time, more bytes or more iterations cost grows like the cost of a size.
    pub fn parameter_kind(self) -> ParameterKind {
        match self {
            Self::Unknown => ParameterKind::Unknown,
            Self::Processes => ParameterKind::Processes,
            Self::Size | Self::Time | Self::Bytes | Self::Count => ParameterKind::Size,
        }
    }

    /// Whether a measured value can be of this kind.
    pub fn is_measurable(self) -> bool {
        !matches!(self, Self::Size | Self::Processes)
    }

    /// Whether values are integers that follow from the program exactly, so that an exact formula is likely.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Bytes | Self::Count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_for_its_kind() {
        for (word, kind) in QuantityKind::ALL {
            assert_eq!((QuantityKind::from_word(word), kind.word()), (Some(kind), word));
        }
        assert_eq!(QuantityKind::from_word("sizes"), None);
    }

    #[test]
    fn names_and_units_say_what_a_column_is() {
        assert_eq!(
            ["NP", "threads", "n"].map(QuantityKind::from_parameter_name),
            [QuantityKind::Processes, QuantityKind::Processes, QuantityKind::Unknown]
        );
        assert_eq!(
            ["s", "B", "ranks", "size", "flop"].map(QuantityKind::from_unit),
            [QuantityKind::Time, QuantityKind::Bytes, QuantityKind::Processes, QuantityKind::Size, QuantityKind::Unknown]
        );
    }
}
