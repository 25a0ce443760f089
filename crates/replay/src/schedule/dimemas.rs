//! A trace of Dimemas as a schedule.

use sintonia_formats::dimemas::Trace;

use super::script::Script;
use super::{LineId, Schedule, Stretches};
use crate::Error;

impl Schedule for Trace {
    fn ranks(&self) -> u32 {
        Trace::ranks(self)
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        Ok(self.threads().map(|(rank, thread)| LineId { rank, thread }).collect())
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        Ok(Box::new(Script::of(self.steps(line.rank, line.thread))))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        Trace::members(self, communicator)
    }

    fn sites(&self) -> u32 {
        1
    }

    fn site(&self, _: u32) -> String {
        "the trace of Dimemas".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use sintonia_machine::Machine;

    use crate::changes::Changes;
    use crate::engine::{Costs, replay};
    use crate::platform::{End, Placement, Platform};

    const MACHINE: &str = r#"
format = 1
[machine]
name = "by hand"
[network.other_node]
eager_bytes = 1000
send.pieces = [{ intercept_s = 1e-6, slope_s_per_byte = 0.0 }]
receive.pieces = [{ intercept_s = 2e-6, slope_s_per_byte = 0.0 }]
transfer.pieces = [{ intercept_s = 10e-6, slope_s_per_byte = 1e-9 }]
"#;

    #[test]
    fn a_trace_is_replayed_like_a_recording() {
        let text = "#DIMEMAS:\"pair\":1,0:2(1,1),1\nd:1:0:2:0:1\n1:0:0:5e-6\n2:0:0:1:500:7:0:0\n10:0:0:0:0:0:0:0:0\n\
                    3:1:0:0:500:7:0:1\n1:1:0:1e-6\n3:1:0:0:500:7:0:2\n10:1:0:0:0:0:0:0:0\n";
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let trace = sintonia_formats::dimemas::open(file.path()).unwrap();
        let machine = Machine::parse(MACHINE, Path::new("test.machine.toml")).unwrap();
        let platform = Platform::new(&machine, 2, &Placement::Block, End::Middle).unwrap();
        let outcome = replay(&trace, &Costs::Machine(Box::new(platform)), &Changes::default(), None).unwrap();
        // The message leaves after 5 µs and takes 10.5 µs; nobody leaves the barrier before it has come.
        assert!(outcome.ranks.iter().all(|rank| rank.replayed_s >= 15.5e-6), "{:?}", outcome.ranks);
        assert!(outcome.ranks.iter().all(|rank| rank.replayed_s < 100e-6), "{:?}", outcome.ranks);
    }
}
