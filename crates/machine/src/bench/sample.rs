//! What was measured of one thing: enough of the values to do statistics with, few enough to hand on.

use serde::{Deserialize, Serialize};
use sintonia_fit::sample::{BadSample, Summary};

use crate::{Access, Arithmetic, Collective, Message, NumberType, PairClass};

/// How operations follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// Each needs the result of the one before.
    Latency,
    /// Many that do not need each other.
    Throughput,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The seconds of one operation, on the nodes of this kind.
    Compute {
        /// The number of the kind of node.
        node: usize,
        /// Of what numbers.
        of: NumberType,
        /// The operation.
        what: Arithmetic,
        /// How they follow each other.
        manner: Manner,
    },
    /// The seconds of one access, or one byte, on the nodes of this kind.
    Memory {
        /// The number of the kind of node.
        node: usize,
        /// How it is used.
        access: Access,
    },
    /// The seconds of a message.
    Message {
        /// Between what processes.
        class: PairClass,
        /// What is timed.
        what: Message,
    },
    /// The share of a transfer that is hidden.
    Overlap {
        /// Between what processes.
        class: PairClass,
    },
    /// The seconds of an operation of a group.
    Group {
        /// The operation.
        what: Collective,
        /// How many processes take part.
        processes: u64,
    },
}

/// The measurements of one quantity at one size in one launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What was measured.
    pub quantity: Quantity,
    /// The size: of the message, or of the memory in use.
    pub bytes: u64,
    /// How many measurements there were.
    pub count: u64,
    /// How many of them lie far outside.
    pub outliers: u64,
    /// Where the true median lies; none with too few measurements.
    pub interval: Option<[f64; 2]>,
    /// The measurements, or evenly many of them from the least to the greatest.
    pub kept: Vec<f64>,
}

impl Sample {
    /// Sums up measurements in the order they were made.
    pub fn of(quantity: Quantity, bytes: u64, values: &[f64]) -> Result<Sample, BadSample> {
        let summary = Summary::of(values)?;
        Ok(Sample {
            quantity,
            bytes,
            count: values.len() as u64,
            outliers: summary.outliers.len() as u64,
            interval: summary.interval.map(|range| [range.low, range.high]),
            kept: thinned(values),
        })
    }
}

/// At most 25 of the values, evenly from the least to the greatest: the middle one stays the middle one.
fn thinned(values: &[f64]) -> Vec<f64> {
    const MOST: usize = 25;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.len() <= MOST {
        return sorted;
    }
    (0..MOST).map(|i| sorted[(i * (sorted.len() - 1) + (MOST - 1) / 2) / (MOST - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_the_middle() {
        let values: Vec<f64> = (0..=1000).rev().map(f64::from).collect();
        let kept = thinned(&values);
        assert_eq!((kept.len(), kept[0], kept[12], kept[24]), (25, 0.0, 500.0, 1000.0));
        assert_eq!(thinned(&[2.0, 1.0]), [1.0, 2.0]);
    }

    #[test]
    fn a_sample_says_what_is_far_outside() {
        let mut values = vec![1.0; 30];
        values.iter_mut().enumerate().for_each(|(i, value)| *value += i as f64 * 1e-3);
        values.push(50.0);
        let sample = Sample::of(Quantity::Overlap { class: PairClass::SameNode }, 8, &values).unwrap();
        assert_eq!((sample.count, sample.outliers), (31, 1));
        assert!(sample.interval.is_some_and(|[low, high]| low < high));
    }
}
