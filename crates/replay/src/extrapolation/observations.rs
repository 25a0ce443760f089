//! Observations of each call and loop: run, rank, and iterations of the enclosing loops.

use super::error::RecognitionError;
use super::filters::LoopIteration;
use super::folded_trace::{FoldedTraces, TraceElement};
use super::recording_family::{BodyElement, RecordingFamily};

/// A call that was made, or skipped when it was due.
#[derive(Clone, Debug)]
pub(super) struct CallObservation {
    /// Index of the run.
    pub run: usize,
    /// The rank.
    pub rank: u32,
    /// Iterations of the enclosing loops, outermost first.
    pub iterations: Vec<LoopIteration>,
    /// Index of the call details, if it was made.
    pub call: Option<u32>,
}

/// Iteration count of a loop.
#[derive(Clone, Debug)]
pub(super) struct LoopObservation {
    /// Index of the run.
    pub run: usize,
    /// The rank.
    pub rank: u32,
    /// Iterations of the enclosing loops.
    pub iterations: Vec<LoopIteration>,
    /// The count; 0 if the loop was skipped.
    pub count: u32,
}

/// All observations.
pub(super) struct ProgramObservations {
    /// By node.
    pub calls: Vec<Vec<CallObservation>>,
    /// By loop.
    pub loops: Vec<Vec<LoopObservation>>,
}

/// Upper limit; more is not a pattern.
const MAX_OBSERVATIONS: usize = 40_000_000;
/// Loops up to this length are observed completely.
const SHORT_LOOP: usize = 32;
/// Maximum number of first iterations that may differ from all later ones.
const MAX_PROLOGUE: usize = 2;

impl ProgramObservations {
    /// Collects the observations of all traces.
    pub(super) fn collect(family: &RecordingFamily, traces: &FoldedTraces) -> Result<ProgramObservations, RecognitionError> {
        let mut observations =
            ProgramObservations { calls: vec![Vec::new(); family.nodes.len()], loops: vec![Vec::new(); family.loops.len()] };
        let mut collector = ObservationCollector { family, traces, observations: &mut observations, remaining: MAX_OBSERVATIONS };
        for trace in &traces.traces {
            collector.visit_body(trace.run, trace.rank, &family.body, trace.body, &mut Vec::new())?;
        }
        Ok(observations)
    }
}

struct ObservationCollector<'a> {
    family: &'a RecordingFamily<'a>,
    traces: &'a FoldedTraces,
    observations: &'a mut ProgramObservations,
    remaining: usize,
}

impl ObservationCollector<'_> {
    fn visit_body(
        &mut self,
        run: usize,
        rank: u32,
        elements: &[BodyElement],
        body: u32,
        iterations: &mut Vec<LoopIteration>,
    ) -> Result<(), RecognitionError> {
        let traces = self.traces;
        let mut items = traces.bodies.get(body).iter().peekable();
        for element in elements {
            match *element {
                BodyElement::Call(node) => {
                    let made = items.next_if(|item| matches!(item, TraceElement::Call(at, _) if *at == node));
                    let call = made.and_then(|item| if let TraceElement::Call(_, details) = item { Some(*details) } else { None });
                    self.observations.calls[node].push(CallObservation { run, rank, iterations: iterations.clone(), call });
                }
                BodyElement::Loop(number) => {
                    let made = items.next_if(|item| matches!(item, TraceElement::Loop(at, _) if *at == number));
                    let list = if let Some(TraceElement::Loop(_, list)) = made { list.as_slice() } else { &[] };
                    self.visit_loop(run, rank, number, list, iterations)?;
                }
            }
        }
        Ok(())
    }

    fn visit_loop(
        &mut self,
        run: usize,
        rank: u32,
        number: usize,
        list: &[(u32, u32)],
        iterations: &mut Vec<LoopIteration>,
    ) -> Result<(), RecognitionError> {
        let family = self.family;
        let of = list.iter().map(|(_, repeats)| *repeats).sum();
        self.observations.loops[number].push(LoopObservation { run, rank, iterations: iterations.clone(), count: of });
        let bodies: Vec<u32> = list.iter().flat_map(|(body, repeats)| std::iter::repeat_n(*body, *repeats as usize)).collect();
        for index in representative_iterations(&bodies) {
            let irregular = || RecognitionError::Irregular { site: family.site_name(family.loops[number].first) };
            self.remaining = self.remaining.checked_sub(family.loops[number].body.len()).ok_or_else(irregular)?;
            iterations.push(LoopIteration { index: index as u32, total: of });
            self.visit_body(run, rank, &family.loops[number].body, bodies[index], iterations)?;
            iterations.pop();
        }
        Ok(())
    }
}

/// Iterations that represent a loop: the prologue, two periods, and the last one. All of a short loop.
fn representative_iterations(bodies: &[u32]) -> Vec<usize> {
    let length = bodies.len();
    if length <= SHORT_LOOP {
        return (0..length).collect();
    }
    let beginnings = (0..=MAX_PROLOGUE.min(length)).flat_map(|first| [length, length.saturating_sub(1)].map(|end| (first, end)));
    let repeated = beginnings.filter(|(first, end)| first <= end).map(|(first, end)| first + 2 * period(&bodies[first..end]));
    let until = repeated.min().unwrap_or(length).max(SHORT_LOOP).min(length);
    (0..until).chain(until.max(length.saturating_sub(1))..length).collect()
}

/// Period of a sequence.
fn period(bodies: &[u32]) -> usize {
    // Knuth-Morris-Pratt failure function.
    let mut borders = vec![0; bodies.len()];
    for index in 1..bodies.len() {
        let mut border: usize = borders[index - 1];
        while border > 0 && bodies[border] != bodies[index] {
            border = borders[border - 1];
        }
        borders[index] = border + usize::from(bodies[border] == bodies[index]);
    }
    bodies.len() - borders.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_loop_that_repeats_only_the_beginning_and_the_end_are_looked_at() {
        let looked_at = |bodies: &[u32]| (representative_iterations(bodies).len(), representative_iterations(bodies).last().copied());
        assert_eq!(looked_at(&[7; 1000]), (33, Some(999)));
        let now_and_then: Vec<u32> = (0..1000).map(|round| u32::from(round % 50 == 49)).collect();
        assert_eq!(looked_at(&now_and_then), (101, Some(999)));
        let mut warmed_up = now_and_then.clone();
        warmed_up[0] = 5;
        assert_eq!(looked_at(&warmed_up), (102, Some(999)));
        assert_eq!(looked_at(&[1, 2, 3, 4, 5]), (5, Some(4)));
        assert!(representative_iterations(&[]).is_empty());
    }
}
