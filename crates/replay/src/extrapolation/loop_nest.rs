//! Tracks the loop nest while the calls of a rank are read.
//!
//! A call that precedes the previous one in program order belongs to the next iteration. This also works for ranks that skip the first call
//! of an iteration.

use super::error::RecognitionError;
use super::recording_family::RecordingFamily;

/// Visitor of loop entries, iterations and exits.
pub(super) trait LoopVisitor {
    /// A loop is entered.
    fn enter_loop(&mut self);
    /// An iteration of the innermost loop ends.
    fn end_iteration(&mut self);
    /// The innermost loop is left.
    fn leave_loop(&mut self, number: usize, rounds: u32);
}

/// A loop the rank is in.
struct ActiveLoop {
    loop_id: usize,
    iteration: u32,
    /// The next call must be behind this node to belong to the same iteration.
    reached: Option<usize>,
}

/// The current loop nest.
#[derive(Default)]
pub(super) struct LoopNest {
    levels: Vec<ActiveLoop>,
    reached: Option<usize>,
}

impl LoopNest {
    /// Leaves and enters loops on the way to a node; returns whether the innermost one has iterated.
    pub(super) fn advance_to(
        &mut self,
        node: usize,
        family: &RecordingFamily,
        visitor: &mut impl LoopVisitor,
    ) -> Result<bool, RecognitionError> {
        let around = &family.enclosing_loops[node];
        while self.levels.last().is_some_and(|level| !around.contains(&level.loop_id)) {
            self.leave(visitor);
        }
        loop {
            let inner = around.get(self.levels.len()).copied();
            let index = inner.map_or(node, |inner| family.loops[inner].first);
            let until = inner.map_or(node, |inner| family.loops[inner].last);
            let goes_back = |reached: Option<usize>| reached.is_some_and(|reached| index <= reached);
            match self.levels.last_mut() {
                None if goes_back(self.reached) => return Err(RecognitionError::Irregular { site: family.site_name(node) }),
                None => self.reached = Some(until),
                Some(level) => {
                    if goes_back(level.reached) {
                        level.iteration += 1;
                        visitor.end_iteration();
                    }
                    level.reached = Some(until);
                }
            }
            let Some(inner) = inner else { return Ok(self.levels.last().is_some_and(|level| level.iteration > 0)) };
            self.levels.push(ActiveLoop { loop_id: inner, iteration: 0, reached: None });
            visitor.enter_loop();
        }
    }

    /// Leaves all loops.
    pub(super) fn finish(&mut self, visitor: &mut impl LoopVisitor) {
        while !self.levels.is_empty() {
            self.leave(visitor);
        }
    }

    fn leave(&mut self, visitor: &mut impl LoopVisitor) {
        if let Some(level) = self.levels.pop() {
            visitor.end_iteration();
            visitor.leave_loop(level.loop_id, level.iteration + 1);
        }
    }
}

/// Finds spurious loops.
///
/// Ranks that skip different calls of a loop can make its parts look like inner loops. But no rank iterates such a part several times
/// within one iteration of the outer loop and then continues.
pub(super) struct LoopValidator<'f> {
    family: &'f RecordingFamily<'f>,
    /// Whether each loop ever iterated.
    iterated: Vec<bool>,
    /// Whether it did while its parent iterated, too.
    iterated_within_parent: Vec<bool>,
    /// For each active loop, the inner ones that iterated.
    inside: Vec<Vec<usize>>,
}

impl<'f> LoopValidator<'f> {
    pub(super) fn new(family: &'f RecordingFamily<'f>) -> LoopValidator<'f> {
        let loops = family.loops.len();
        LoopValidator { family, iterated: vec![false; loops], iterated_within_parent: vec![false; loops], inside: Vec::new() }
    }

    /// For each loop, whether it is real; of nested spurious loops, only the outermost is reported.
    pub(super) fn valid_loops(&self) -> Vec<bool> {
        let is_one = |number: usize| match self.family.loops[number].parent {
            None => self.iterated[number],
            Some(_) => self.iterated_within_parent[number],
        };
        let mut keep = vec![true; self.iterated.len()];
        for number in 0..keep.len() {
            let mut parent = self.family.loops[number].parent;
            let mut around = true;
            while let Some(outer) = parent {
                around &= keep[outer];
                parent = self.family.loops[outer].parent;
            }
            keep[number] = !around || is_one(number);
        }
        keep
    }
}

impl LoopVisitor for LoopValidator<'_> {
    fn enter_loop(&mut self) {
        self.inside.push(Vec::new());
    }

    fn end_iteration(&mut self) {}

    fn leave_loop(&mut self, number: usize, rounds: u32) {
        let inside = self.inside.pop().unwrap_or_default();
        if rounds > 1 {
            self.iterated[number] = true;
            inside.into_iter().for_each(|inner| self.iterated_within_parent[inner] = true);
            if let Some(outer) = self.inside.last_mut() {
                outer.push(number);
            }
        }
    }
}
