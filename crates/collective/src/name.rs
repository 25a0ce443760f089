//! Algorithm names: `ring`, `chain:32768` for a chain with 32768-byte segments, `binomial+knomial` for one tree up and another one down.

use std::fmt;
use std::num::NonZeroU64;

use sintonia_mpi::CollectiveOp;
use sintonia_text::suggestion;

use crate::algorithm::{CollectiveAlgorithm, FoldMode, TreeShape};
use crate::op_names;

/// Why an algorithm name is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlgorithmNameError {
    /// No algorithm has that name.
    #[error("no algorithm `{name}` for {operation}{}; available: {fitting}", meant(near))]
    Unknown {
        /// The text.
        name: String,
        /// The collective.
        operation: &'static str,
        /// Suggestion.
        near: Option<String>,
        /// Names of the supported algorithms.
        fitting: String,
    },
    /// The algorithm does not implement the collective.
    #[error("`{name}` does not implement {operation}; available: {fitting}")]
    Unsupported {
        /// The text.
        name: String,
        /// The collective.
        operation: &'static str,
        /// Names of the supported algorithms.
        fitting: String,
    },
    /// Invalid segment size.
    #[error("`{text}` in `{name}` is not a segment size in bytes, as in `chain:65536`")]
    Segment {
        /// The text.
        name: String,
        /// The part that should be a number.
        text: String,
    },
}

fn meant(near: &Option<String>) -> String {
    near.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

impl CollectiveAlgorithm {
    /// Name without the segment size.
    const fn base_name(self) -> &'static str {
        match self {
            CollectiveAlgorithm::Tree { shape, .. } => shape.name(),
            CollectiveAlgorithm::Trees { .. } => "trees",
            CollectiveAlgorithm::LinearSync => "linear_sync",
            CollectiveAlgorithm::SplitBinary => "split_binary",
            CollectiveAlgorithm::ScatterAllgather => "scatter_allgather",
            CollectiveAlgorithm::ScatterRing => "scatter_ring",
            CollectiveAlgorithm::RecursiveDoubling => "recursive_doubling",
            CollectiveAlgorithm::RecursiveHalving => "recursive_halving",
            CollectiveAlgorithm::Butterfly => "butterfly",
            CollectiveAlgorithm::Rabenseifner(FoldMode::Whole) => "rabenseifner",
            CollectiveAlgorithm::Rabenseifner(FoldMode::Halves) => "rabenseifner_halves",
            CollectiveAlgorithm::Ring { .. } => "ring",
            CollectiveAlgorithm::DoubleRing => "double_ring",
            CollectiveAlgorithm::NeighborExchange => "neighbor_exchange",
            CollectiveAlgorithm::Dissemination => "dissemination",
            CollectiveAlgorithm::Bruck => "bruck",
            CollectiveAlgorithm::Pairwise => "pairwise",
            CollectiveAlgorithm::Scattered => "scattered",
        }
    }

    const fn segment(self) -> Option<NonZeroU64> {
        match self {
            CollectiveAlgorithm::Tree { segment, .. } | CollectiveAlgorithm::Ring { segment } => segment,
            _ => None,
        }
    }

    const fn with_segment(self, segment: NonZeroU64) -> Option<CollectiveAlgorithm> {
        match self {
            CollectiveAlgorithm::Tree { shape, .. } => Some(CollectiveAlgorithm::Tree { shape, segment: Some(segment) }),
            CollectiveAlgorithm::Ring { .. } => Some(CollectiveAlgorithm::Ring { segment: Some(segment) }),
            _ => None,
        }
    }

    /// The algorithm of this name, if it implements the collective.
    pub fn from_name(text: &str, op: CollectiveOp) -> Result<CollectiveAlgorithm, AlgorithmNameError> {
        let (name, operation) = (text.to_owned(), op_names::name(op));
        let algorithm = match text.split_once(':') {
            None => from_base_name(text),
            Some((base, bytes)) => match (from_base_name(base), bytes.parse::<NonZeroU64>()) {
                (Some(_), Err(_)) => return Err(AlgorithmNameError::Segment { name, text: bytes.to_owned() }),
                (Some(algorithm), Ok(segment)) => match algorithm.with_segment(segment) {
                    None => return Err(AlgorithmNameError::Unsupported { name, operation, fitting: supported_names(op).join(", ") }),
                    cut => cut,
                },
                (None, _) => None,
            },
        };
        match algorithm {
            Some(algorithm) if algorithm.supports(op) => Ok(algorithm),
            Some(_) => Err(AlgorithmNameError::Unsupported { name, operation, fitting: supported_names(op).join(", ") }),
            None => {
                let names = supported_names(op);
                let near = suggestion::nearest_name(text, names.iter().copied()).map(str::to_owned);
                Err(AlgorithmNameError::Unknown { name, operation, near, fitting: names.join(", ") })
            }
        }
    }
}

/// The algorithm of a name without segment size, for any collective. A segmented chain is also called a pipeline.
fn from_base_name(text: &str) -> Option<CollectiveAlgorithm> {
    let shape = |name: &str| TreeShape::ALL.into_iter().find(|shape| shape.name() == name);
    if let Some((up, down)) = text.split_once('+') {
        return Some(CollectiveAlgorithm::Trees { up: shape(up)?, down: shape(down)? });
    }
    let is_cut = |algorithm: &CollectiveAlgorithm| algorithm.segment().is_some();
    match text {
        "pipeline" => CollectiveAlgorithm::variants().find(|one| is_cut(one) && one.base_name() == "chain"),
        "segmented_ring" => CollectiveAlgorithm::variants().find(|one| is_cut(one) && one.base_name() == "ring"),
        _ => CollectiveAlgorithm::variants().find(|one| !is_cut(one) && one.base_name() == text),
    }
}

/// Names of the algorithms that implement a collective.
fn supported_names(op: CollectiveOp) -> Vec<&'static str> {
    let name = |one: CollectiveAlgorithm| match one.segment().map(|_| one.base_name()) {
        Some("chain") => "pipeline",
        Some(_) => "segmented_ring",
        None => one.base_name(),
    };
    CollectiveAlgorithm::variants().filter(|one| one.supports(op)).map(name).collect()
}

impl fmt::Display for CollectiveAlgorithm {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.segment()) {
            (CollectiveAlgorithm::Trees { up, down }, _) => write!(to, "{}+{}", up.name(), down.name()),
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
        for op in op_names::selectable_ops() {
            assert_eq!(op_names::from_name(op_names::name(op)), Some(op));
            let fitting: Vec<CollectiveAlgorithm> = CollectiveAlgorithm::variants().filter(|one| one.supports(op)).collect();
            assert!(fitting.len() >= 2, "{op:?} has no alternative");
            for algorithm in fitting {
                assert_eq!(CollectiveAlgorithm::from_name(&algorithm.to_string(), op), Ok(algorithm));
            }
        }
        let trees = CollectiveAlgorithm::Trees { up: TreeShape::InOrderBinary, down: TreeShape::Knomial };
        assert_eq!(CollectiveAlgorithm::from_name("in_order_binary+knomial", CollectiveOp::Allreduce), Ok(trees));
        assert_eq!(trees.to_string(), "in_order_binary+knomial");
    }

    #[test]
    fn segments_are_written_behind_the_name() {
        let pipeline = CollectiveAlgorithm::from_name("chain:1024", CollectiveOp::Broadcast).unwrap();
        assert_eq!(pipeline, CollectiveAlgorithm::Tree { shape: TreeShape::Chain, segment: NonZeroU64::new(1024) });
        assert_eq!(CollectiveAlgorithm::from_name("pipeline:1024", CollectiveOp::Broadcast), Ok(pipeline));
        assert_eq!(CollectiveAlgorithm::from_name("segmented_ring:7", CollectiveOp::Allreduce).unwrap().to_string(), "ring:7");
    }

    #[test]
    fn a_text_that_names_none_is_answered_with_what_there_is() {
        let error_text = |text, op| CollectiveAlgorithm::from_name(text, op).unwrap_err().to_string();
        let unknown = error_text("binominal", CollectiveOp::Gather);
        assert_eq!(unknown, "no algorithm `binominal` for gather (did you mean `binomial`?); available: linear, binomial, linear_sync");
        assert_eq!(error_text("ring", CollectiveOp::Scan), "`ring` does not implement scan; available: chain, recursive_doubling");
        assert!(error_text("chain:big", CollectiveOp::Broadcast).starts_with("`big` in `chain:big` is not a segment size"));
        assert!(error_text("chain:0", CollectiveOp::Broadcast).contains("`0`"));
        assert!(error_text("bruck:8", CollectiveOp::Alltoall).contains("does not implement alltoall"));
        for odd in ["", ":", "+", "a+b+c", "ring+", "linear+linear:8", "🦀:🦀"] {
            assert!(CollectiveAlgorithm::from_name(odd, CollectiveOp::Allreduce).is_err(), "{odd}");
        }
    }
}
