//! What the first process of a launch hands on: lines of JSON among whatever else a launcher prints.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::threshold::Thresholds;
use super::{Place, Sample};
use crate::PairClass;

/// What a line begins with, so that it is found among others.
const MARK: &str = "sintonia-bench ";

/// One thing that the first process says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// There is nobody to talk to.
    Alone,
    /// Who is there.
    Hello {
        /// The MPI library; none without MPI.
        library: Option<String>,
        /// Where each process runs.
        places: Vec<Place>,
    },
    /// So much of the time is over, in percent.
    Done(u32),
    /// Something was measured.
    Sample(Sample),
    /// The thresholds between protocols, found by behaviour, for processes that are so near.
    Thresholds(PairClass, Thresholds),
    /// All is done.
    End,
}

impl Line {
    /// Writes it, at once.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{MARK}{}", serde_json::to_string(self)?)?;
        out.flush()
    }

    /// The line in a line of output, which a launcher may have put something before.
    pub fn read(text: &str) -> Option<Line> {
        let (_, json) = text.split_once(MARK)?;
        serde_json::from_str(json.trim_end()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_behind_what_a_launcher_puts_before() {
        let mut out = Vec::new();
        Line::Done(3).write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(Line::read(&format!("[1,0]<stdout>: {text}")), Some(Line::Done(3)));
        assert_eq!(Line::read("sintonia-bench {\"done\":"), None);
        assert_eq!(Line::read("hello"), None);
    }
}
