//! The algorithms by name, as people write them: `ring`, `chain:32768` for a chain with segments of that many bytes, `binomial+knomial` for
//! a tree up and another one down.

use std::fmt;
use std::num::NonZeroU64;

use sintonia_mpi::Pattern;
use sintonia_text::near;

use super::algorithm::{Algorithm, Folding, Shape};
use super::operation;

/// Why a text does not say which algorithm to take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No algorithm has that name.
    #[error("there is no algorithm `{name}` for {operation}{}; there are {fitting}", meant(near))]
    Unknown {
        /// What was written.
        name: String,
        /// The operation.
        operation: &'static str,
        /// The name that was probably meant.
        near: Option<String>,
        /// The names of those that can build it.
        fitting: String,
    },
    /// The operation cannot be built by it.
    #[error("`{name}` cannot build {operation}; there are {fitting}")]
    Unfit {
        /// What was written.
        name: String,
        /// The operation.
        operation: &'static str,
        /// The names of those that can build it.
        fitting: String,
    },
    /// The size of segments is not one.
    #[error("`{text}` in `{name}` is not a number of bytes for a segment: write for example `chain:65536`")]
    Segment {
        /// What was written.
        name: String,
        /// The part of it that should be a number.
        text: String,
    },
}

fn meant(near: &Option<String>) -> String {
    near.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

impl Algorithm {
    /// Its name without segments.
    const fn base_name(self) -> &'static str {
        match self {
            Algorithm::Tree { shape, .. } => shape.name(),
            Algorithm::Trees { .. } => "trees",
            Algorithm::LinearSync => "linear_sync",
            Algorithm::SplitBinary => "split_binary",
            Algorithm::ScatterAllgather => "scatter_allgather",
            Algorithm::ScatterRing => "scatter_ring",
            Algorithm::RecursiveDoubling => "recursive_doubling",
            Algorithm::RecursiveHalving => "recursive_halving",
            Algorithm::Butterfly => "butterfly",
            Algorithm::Rabenseifner(Folding::Whole) => "rabenseifner",
            Algorithm::Rabenseifner(Folding::Halves) => "rabenseifner_halves",
            Algorithm::Ring { .. } => "ring",
            Algorithm::DoubleRing => "double_ring",
            Algorithm::NeighborExchange => "neighbor_exchange",
            Algorithm::Dissemination => "dissemination",
            Algorithm::Bruck => "bruck",
            Algorithm::Pairwise => "pairwise",
            Algorithm::Scattered => "scattered",
        }
    }

    const fn segment(self) -> Option<NonZeroU64> {
        match self {
            Algorithm::Tree { segment, .. } | Algorithm::Ring { segment } => segment,
            _ => None,
        }
    }

    const fn with_segment(self, segment: NonZeroU64) -> Option<Algorithm> {
        match self {
            Algorithm::Tree { shape, .. } => Some(Algorithm::Tree { shape, segment: Some(segment) }),
            Algorithm::Ring { .. } => Some(Algorithm::Ring { segment: Some(segment) }),
            _ => None,
        }
    }

    /// The algorithm of this name, if it can build the operation.
    pub fn named(text: &str, pattern: Pattern) -> Result<Algorithm, NameError> {
        let (name, operation) = (text.to_owned(), operation::name(pattern));
        let algorithm = match text.split_once(':') {
            None => plain(text),
            Some((base, bytes)) => match (plain(base), bytes.parse::<NonZeroU64>()) {
                (Some(_), Err(_)) => return Err(NameError::Segment { name, text: bytes.to_owned() }),
                (Some(algorithm), Ok(segment)) => match algorithm.with_segment(segment) {
                    None => return Err(NameError::Unfit { name, operation, fitting: fitting(pattern).join(", ") }),
                    cut => cut,
                },
                (None, _) => None,
            },
        };
        match algorithm {
            Some(algorithm) if algorithm.fits(pattern) => Ok(algorithm),
            Some(_) => Err(NameError::Unfit { name, operation, fitting: fitting(pattern).join(", ") }),
            None => {
                let names = fitting(pattern);
                let near = near::nearest(text, names.iter().copied()).map(str::to_owned);
                Err(NameError::Unknown { name, operation, near, fitting: names.join(", ") })
            }
        }
    }
}

/// The algorithm of a name without segments, whatever it can build. A chain with segments is also called a pipeline.
fn plain(text: &str) -> Option<Algorithm> {
    let shape = |name: &str| Shape::ALL.into_iter().find(|shape| shape.name() == name);
    if let Some((up, down)) = text.split_once('+') {
        return Some(Algorithm::Trees { up: shape(up)?, down: shape(down)? });
    }
    let is_cut = |algorithm: &Algorithm| algorithm.segment().is_some();
    match text {
        "pipeline" => Algorithm::kinds().find(|one| is_cut(one) && one.base_name() == "chain"),
        "segmented_ring" => Algorithm::kinds().find(|one| is_cut(one) && one.base_name() == "ring"),
        _ => Algorithm::kinds().find(|one| !is_cut(one) && one.base_name() == text),
    }
}

/// The names of the algorithms that can build an operation.
fn fitting(pattern: Pattern) -> Vec<&'static str> {
    let name = |one: Algorithm| match one.segment().map(|_| one.base_name()) {
        Some("chain") => "pipeline",
        Some(_) => "segmented_ring",
        None => one.base_name(),
    };
    Algorithm::kinds().filter(|one| one.fits(pattern)).map(name).collect()
}

impl fmt::Display for Algorithm {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.segment()) {
            (Algorithm::Trees { up, down }, _) => write!(to, "{}+{}", up.name(), down.name()),
            (_, Some(segment)) => write!(to, "{}:{segment}", self.base_name()),
            (_, None) => to.write_str(self.base_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_found_by_the_name_it_prints() {
        for pattern in operation::all() {
            assert_eq!(operation::named(operation::name(pattern)), Some(pattern));
            let fitting: Vec<Algorithm> = Algorithm::kinds().filter(|one| one.fits(pattern)).collect();
            assert!(fitting.len() >= 2, "{pattern:?} leaves no choice");
            for algorithm in fitting {
                assert_eq!(Algorithm::named(&algorithm.to_string(), pattern), Ok(algorithm));
            }
        }
        let trees = Algorithm::Trees { up: Shape::InOrderBinary, down: Shape::Knomial };
        assert_eq!(Algorithm::named("in_order_binary+knomial", Pattern::Allreduce), Ok(trees));
        assert_eq!(trees.to_string(), "in_order_binary+knomial");
    }

    #[test]
    fn segments_are_written_behind_the_name() {
        let pipeline = Algorithm::named("chain:1024", Pattern::Broadcast).unwrap();
        assert_eq!(pipeline, Algorithm::Tree { shape: Shape::Chain, segment: NonZeroU64::new(1024) });
        assert_eq!(Algorithm::named("pipeline:1024", Pattern::Broadcast), Ok(pipeline));
        assert_eq!(Algorithm::named("segmented_ring:7", Pattern::Allreduce).unwrap().to_string(), "ring:7");
    }

    #[test]
    fn a_text_that_names_none_is_answered_with_what_there_is() {
        let said = |text, pattern| Algorithm::named(text, pattern).unwrap_err().to_string();
        let unknown = said("binominal", Pattern::Gather);
        assert_eq!(
            unknown,
            "there is no algorithm `binominal` for gather (did you mean `binomial`?); there are linear, binomial, linear_sync"
        );
        assert_eq!(said("ring", Pattern::Scan), "`ring` cannot build scan; there are chain, recursive_doubling");
        assert!(said("chain:big", Pattern::Broadcast).starts_with("`big` in `chain:big` is not a number of bytes"));
        assert!(said("chain:0", Pattern::Broadcast).contains("`0`"));
        assert!(said("bruck:8", Pattern::Alltoall).contains("cannot build alltoall"));
        for odd in ["", ":", "+", "a+b+c", "ring+", "linear+linear:8", "🦀:🦀"] {
            assert!(Algorithm::named(odd, Pattern::Allreduce).is_err(), "{odd}");
        }
    }
}
