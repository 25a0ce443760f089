//! Samples of one quantity: enough values for statistics, few enough to transmit.

use serde::{Deserialize, Serialize};
use sintonia_fit::sample::{SampleError, SampleSummary};

use crate::{ArithmeticOp, CollectiveKind, MemoryAccess, MessageMetric, NumberType, PairClass};

/// How operations depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostMode {
    /// Each needs the result of the previous one.
    Latency,
    /// Independent of each other.
    Throughput,
}

/// A measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchQuantity {
    /// Seconds per operation, on nodes of this type.
    Compute {
        /// Index of the node type.
        node: usize,
        /// Number type.
        of: NumberType,
        /// The operation.
        what: ArithmeticOp,
        /// Dependent or independent.
        manner: CostMode,
    },
    /// Seconds per access, or per byte, on nodes of this type.
    Memory {
        /// Index of the node type.
        node: usize,
        /// Kind of access.
        access: MemoryAccess,
    },
    /// Seconds of a message.
    Message {
        /// Distance of the processes.
        class: PairClass,
        /// The metric.
        what: MessageMetric,
    },
    /// Share of a transfer that computation hides.
    Overlap {
        /// Distance of the processes.
        class: PairClass,
    },
    /// Seconds of a message and its empty answer, while as many pairs of processes of two nodes send one each.
    SharedLink {
        /// Number of pairs.
        pairs: u64,
    },
    /// Seconds of a collective.
    Group {
        /// The collective.
        what: CollectiveKind,
        /// Number of processes.
        processes: u64,
    },
}

/// The samples of one quantity at one size in one launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchSample {
    /// What was measured.
    pub quantity: BenchQuantity,
    /// Message size, or size of the working set.
    pub bytes: u64,
    /// Number of measurements.
    pub count: u64,
    /// How many of them are outliers.
    pub outliers: u64,
    /// Confidence interval of the median; none with too few measurements.
    pub interval: Option<[f64; 2]>,
    /// The measurements, or evenly spaced order statistics of them.
    pub kept: Vec<f64>,
    /// How much longer the median is than without disturbance, as far as that is known: 0.5 if it takes half as long again.
    pub disturbance: f64,
}

impl BenchSample {
    /// Summarises measurements in the order they were made.
    pub fn from_values(quantity: BenchQuantity, bytes: u64, values: &[f64]) -> Result<BenchSample, SampleError> {
        let summary = SampleSummary::from_values(values)?;
        Ok(BenchSample {
            quantity,
            bytes,
            count: values.len() as u64,
            outliers: summary.outliers.len() as u64,
            interval: summary.interval.map(|range| [range.low, range.high]),
            kept: thin_out(values),
            disturbance: 0.0,
        })
    }
}

/// At most 25 evenly spaced order statistics; keeps the ends and the median.
fn thin_out(values: &[f64]) -> Vec<f64> {
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
        let kept = thin_out(&values);
        assert_eq!((kept.len(), kept[0], kept[12], kept[24]), (25, 0.0, 500.0, 1000.0));
        assert_eq!(thin_out(&[2.0, 1.0]), [1.0, 2.0]);
    }

    #[test]
    fn a_sample_counts_outliers() {
        let mut values = vec![1.0; 30];
        values.iter_mut().enumerate().for_each(|(i, value)| *value += i as f64 * 1e-3);
        values.push(50.0);
        let sample = BenchSample::from_values(BenchQuantity::Overlap { class: PairClass::SameNode }, 8, &values).unwrap();
        assert_eq!((sample.count, sample.outliers), (31, 1));
        assert!(sample.interval.is_some_and(|[low, high]| low < high));
    }
}
