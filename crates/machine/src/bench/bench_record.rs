//! Records that rank 0 of a launch prints: lines of JSON among the output of the launcher.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::protocol_threshold::ProtocolThresholds;
use super::{BenchQuantity, BenchSample, HostUse, ProcessBinding};
use crate::PairClass;

/// Prefix that identifies a record.
const PREFIX: &str = "sintonia-bench ";

/// One record of a launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchRecord {
    /// The process runs without MPI.
    Alone,
    /// First record of a launch.
    Hello {
        /// The MPI library; none without MPI.
        library: Option<String>,
        /// The binding of each process.
        places: Vec<ProcessBinding>,
    },
    /// Percentage of the time that is over.
    Done(u32),
    /// A measured sample; it replaces an earlier one of the same quantity and size.
    Sample(BenchSample),
    /// A quantity that was not measured at this size, for lack of time.
    LeftOut(BenchQuantity, u64),
    /// Protocol thresholds of a pair class, found by behaviour.
    Thresholds(PairClass, ProtocolThresholds),
    /// The share of a processor that each process had at the end.
    ProcessorShares(Vec<f64>),
    /// What else used a host.
    HostUse(HostUse),
    /// Last record of a launch.
    End,
}

impl BenchRecord {
    /// Writes and flushes it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{PREFIX}{}", serde_json::to_string(self)?)?;
        out.flush()
    }

    /// The record in a line of output; launchers may put something before it.
    pub fn parse(text: &str) -> Option<BenchRecord> {
        let (_, json) = text.split_once(PREFIX)?;
        serde_json::from_str(json.trim_end()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_behind_what_a_launcher_puts_before() {
        let mut out = Vec::new();
        BenchRecord::Done(3).write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(BenchRecord::parse(&format!("[1,0]<stdout>: {text}")), Some(BenchRecord::Done(3)));
        assert_eq!(BenchRecord::parse("sintonia-bench {\"done\":"), None);
        assert_eq!(BenchRecord::parse("hello"), None);
    }
}
