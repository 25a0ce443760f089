//! A replay as a recording of its own, so that everything that reads recordings reads predictions.

use std::path::Path;

use sintonia_formats::{CLOCK, NewRecording};
use sintonia_recording::header::{End, Header, Rank};
use sintonia_recording::sealed::Writer;
use sintonia_recording::table::Shape;

use crate::Error;
use crate::engine::Sink;
use crate::schedule::{Described, LineId};

/// Writes what is replayed.
pub struct Written {
    new: NewRecording,
    lines: Vec<LineId>,
    shapes: Vec<Vec<Shape>>,
    writers: Vec<Option<Writer>>,
    ends: Vec<f64>,
}

impl Written {
    /// Begins a recording of these lines.
    pub fn begin(into: &Path, lines: Vec<LineId>) -> Result<Written, Error> {
        let new = NewRecording::begin(into)?;
        let ranks = lines.iter().map(|line| line.rank as usize + 1).max().unwrap_or(0);
        let shapes = lines.iter().map(|_| Vec::new()).collect();
        Ok(Written { new, lines, shapes, writers: (0..ranks).map(|_| None).collect(), ends: vec![0.0; ranks] })
    }

    /// Completes it: the header is that of the original but for what the replay changed.
    pub fn finish(self, original: Header) -> Result<u64, Error> {
        let mut header = original;
        let (mut calls, mut ranks) = (0, Vec::new());
        for (rank, (writer, end)) in self.writers.into_iter().zip(&self.ends).enumerate() {
            let Some(writer) = writer else { continue };
            let written = writer.finish()?;
            calls += written.calls;
            let known = header.ranks.iter().find(|known| known.rank as usize == rank).cloned().unwrap_or_default();
            ranks.push(Rank {
                rank: rank as u32,
                calls: written.calls,
                begin_ns: 0,
                end_ns: nanoseconds(*end) as i64,
                end: End::Finalized,
                dropped: 0,
                damaged_blocks: 0,
                clock: CLOCK,
                ..known
            });
        }
        header.ranks = ranks;
        header.clock_error_s = 0.0;
        self.new.finish(header)?;
        Ok(calls)
    }
}

impl Sink for Written {
    fn actions(&mut self, line: usize, actions: &[Described]) -> Result<(), Error> {
        self.shapes[line].clear();
        self.shapes[line].extend(actions.iter().map(|described| described.shape.clone()));
        Ok(())
    }

    fn call(&mut self, line: usize, action: u32, enter_s: f64, leave_s: f64) -> Result<(), Error> {
        let LineId { rank, thread } = self.lines[line];
        let writer = match &mut self.writers[rank as usize] {
            Some(writer) => writer,
            none => none.insert(Writer::create(self.new.folder(), rank)?),
        };
        let end = &mut self.ends[rank as usize];
        *end = end.max(leave_s);
        writer.call(thread, nanoseconds(enter_s), nanoseconds(leave_s), &self.shapes[line][action as usize])?;
        Ok(())
    }

    fn requests(&mut self, line: usize, next: u64) -> Result<(), Error> {
        let LineId { rank, thread } = self.lines[line];
        if let Some(writer) = &mut self.writers[rank as usize] {
            writer.set_next_request(thread, next)?;
        }
        Ok(())
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}
