//! A time-independent trace of SMPI as a schedule.

use sintonia_formats::smpi::Trace;

use super::script::Script;
use super::{LineId, Schedule, Stretches};
use crate::Error;

impl Schedule for Trace {
    fn ranks(&self) -> u32 {
        Trace::ranks(self)
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        Ok((0..Trace::ranks(self)).map(|rank| LineId { rank, thread: 0 }).collect())
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        Ok(Box::new(Script::of(self.steps(line.rank))))
    }

    /// All is on `MPI_COMM_WORLD`.
    fn members(&self, _: u32) -> Vec<u32> {
        (0..Trace::ranks(self)).collect()
    }

    fn sites(&self) -> u32 {
        1
    }

    fn site(&self, _: u32) -> String {
        "the trace of SMPI".to_owned()
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
        let text = "0 init\n0 compute 5000\n0 send 1 7 500\n0 barrier\n0 finalize\n\
                    1 init\n1 irecv 0 7 500\n1 compute 1000\n1 wait 0 1 7\n1 barrier\n1 finalize\n";
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let trace = sintonia_formats::smpi::open(file.path(), 1e9).unwrap();
        let machine = Machine::parse(MACHINE, Path::new("test.machine.toml")).unwrap();
        let platform = Platform::new(&machine, 2, &Placement::Block, End::Middle).unwrap();
        let outcome = replay(&trace, &Costs::Machine(Box::new(platform)), &Changes::default(), None).unwrap();
        // The message leaves after 5 µs and takes 10.5 µs; nobody leaves the barrier before it has come.
        assert!(outcome.ranks.iter().all(|rank| rank.replayed_s >= 15.5e-6), "{:?}", outcome.ranks);
        assert!(outcome.ranks.iter().all(|rank| rank.replayed_s < 100e-6), "{:?}", outcome.ranks);
    }
}
