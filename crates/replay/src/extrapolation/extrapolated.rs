//! A run with more ranks than were recorded; only the rules are in memory.

use sintonia_mpi::FunctionRole;

use super::ProblemScaling;
use super::error::ExtrapolationError;
use super::pattern::ProgramPattern;
use super::process_grid::{ProcessGrid, RankPosition};
use super::segment_times::{PredictedSegmentTime, SegmentId, TimeLaws};
use crate::interval_bound::IntervalBound;

/// A run with more ranks than were recorded.
#[derive(Debug)]
pub struct ExtrapolatedRun<'a> {
    pub(super) pattern: &'a ProgramPattern,
    pub(super) ranks: u32,
    pub(super) grid: ProcessGrid,
    /// Segment times by rank class and node; the last class is the average.
    taken: Vec<Vec<[PredictedSegmentTime; 2]>>,
    /// Factor on message sizes under strong scaling.
    message_scale: f64,
}

impl ProgramPattern {
    /// The run with this number of ranks as a schedule.
    pub fn schedule(&self, ranks: u32, which: IntervalBound) -> Result<ExtrapolatedRun<'_>, ExtrapolationError> {
        if ranks == 0 {
            return Err(ExtrapolationError::NoRanks);
        }
        let most = (1 << 30) / self.program.communicator_groups.len() as u32;
        if ranks > most {
            return Err(ExtrapolationError::TooMany { ranks, most });
        }
        let grid = self.grid(ranks)?;
        let position = RankPosition { rank: 0, rank_count: ranks, grid: &grid };
        for step in &self.program.calls {
            let ends = [&step.peer, &step.source];
            if let Some((end, why)) = ends.into_iter().find_map(|end| Some((end, end.inapplicable_reason(position)?))) {
                let site = self.program.site_name(step).to_owned();
                return Err(ExtrapolationError::Rule { site, operation: step.template.function.name(), rule: end.to_string(), why });
            }
        }
        Ok(ExtrapolatedRun::new(self, ranks, grid, which))
    }

    /// A run with a recorded number of ranks, in its recorded grid.
    pub(super) fn recorded_run(&self, ranks: u32, which: IntervalBound) -> Option<ExtrapolatedRun<'_>> {
        Some(ExtrapolatedRun::new(self, ranks, self.program.grid.grid(ranks)?, which))
    }
}

impl<'a> ExtrapolatedRun<'a> {
    fn new(pattern: &'a ProgramPattern, ranks: u32, grid: ProcessGrid, which: IntervalBound) -> ExtrapolatedRun<'a> {
        let nodes = pattern.program.calls.len();
        let of_class = |class| {
            (0..nodes).map(|node| [false, true].map(|again| pattern.time_laws.segment_time(class, (node, again), ranks, which))).collect()
        };
        let taken = (0..pattern.rank_classes.len()).chain([TimeLaws::ALL_RANKS]).map(of_class).collect();
        ExtrapolatedRun { pattern, ranks, message_scale: message_scale(pattern, ranks, &grid), grid, taken }
    }

    pub(super) fn position(&self, rank: u32) -> RankPosition<'_> {
        RankPosition { rank, rank_count: self.ranks, grid: &self.grid }
    }

    /// Time of a segment on ranks of a class.
    pub(super) fn taken(&self, class: usize, (node, again): SegmentId) -> PredictedSegmentTime {
        self.taken[class.min(self.taken.len() - 1)][node][usize::from(again)]
    }

    /// Index of the communicator of a class that a rank belongs to.
    pub(super) fn communicator(&self, class: usize, position: RankPosition) -> u32 {
        class as u32 * self.ranks + self.pattern.program.communicator_groups[class].first(position)
    }

    /// Upper bound of communicator indices; not all are in use.
    pub(super) fn communicator_limit(&self) -> u32 {
        self.pattern.program.communicator_groups.len() as u32 * self.ranks
    }

    /// Size of a message, from the value of its rule.
    pub(super) fn bytes(&self, role: FunctionRole, bytes: i64) -> u64 {
        let bytes = if bytes < -1 { 0 } else { bytes };
        let message = matches!(role, FunctionRole::Send | FunctionRole::Receive | FunctionRole::SendReceive);
        if message && self.message_scale != 1.0 && bytes > 0 {
            (bytes as f64 * self.message_scale).round().max(1.0) as u64
        } else {
            bytes as u64
        }
    }
}

/// Strong scaling from one recording: messages are surfaces of shrinking blocks.
fn message_scale(pattern: &ProgramPattern, ranks: u32, grid: &ProcessGrid) -> f64 {
    match (&pattern.recorded_rank_counts[..], pattern.options.scaling) {
        ([recorded], ProblemScaling::Strong) => {
            let dimensions = grid.dimensions() as f64;
            (f64::from(*recorded) / f64::from(ranks)).powf((dimensions - 1.0) / dimensions)
        }
        _ => 1.0,
    }
}
