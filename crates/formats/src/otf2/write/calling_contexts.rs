//! Call sites, frames of sampled stacks and MPI calls as OTF2 calling contexts, and their source code locations.
//!
//! Each site is a calling context of its own, inside the contexts of the functions it was inlined into, which are shared, and these inside
//! the context of the caller. A frame is the context of a call site or inlined function where that is the same function at the same line
//! with the same callers, so that samples and calls form one tree. An MPI call is a context inside that of its call site, as with Score-P.
//! A context is numbered after its parent.

use std::collections::{BTreeSet, HashMap};

use sintonia_mpi::FunctionId;
use sintonia_recording::header::{CallSiteDefinition, SourceFrame};
use sintonia_recording::samples::StackFrame;

/// The calling contexts of a recording.
#[derive(Default)]
pub(super) struct CallingContexts {
    /// File and line of each source code location.
    pub source_lines: Vec<(String, u32)>,
    /// The calling contexts.
    pub contexts: Vec<ContextDefinition>,
    site_contexts: Vec<u32>,
    frame_contexts: Vec<u32>,
    call_contexts: HashMap<(u32, FunctionId), u32>,
}

/// A calling context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ContextDefinition {
    /// The function; empty if unknown.
    pub function: String,
    pub file: Option<String>,
    /// Its source code location.
    pub source_line: Option<u32>,
    pub parent: Option<u32>,
    /// Its call site, if it is one.
    pub site: Option<u32>,
    /// Its frame of sampled stacks, if it is one.
    pub frame: Option<u32>,
    /// Its MPI function, if it is a call.
    pub call: Option<FunctionId>,
}

type LineIds = HashMap<(String, u32), u32>;

impl CallingContexts {
    /// The contexts of call sites, of frames, and of the calls of MPI functions at call sites.
    pub(super) fn new(sites: &[CallSiteDefinition], frames: &[StackFrame], calls: &BTreeSet<(u32, FunctionId)>) -> CallingContexts {
        let (mut all, mut lines) = (CallingContexts::default(), LineIds::new());
        all.add_sites(sites, &mut lines);
        all.add_frames(frames, &mut lines);
        all.add_calls(calls);
        all
    }

    fn add_sites(&mut self, sites: &[CallSiteDefinition], lines: &mut LineIds) {
        let mut shared = HashMap::new();
        let nothing = SourceFrame::default();
        for (number, site) in (0..).zip(sites) {
            let (innermost, outer) = site.frames.split_first().unwrap_or((&nothing, &[]));
            let mut parent = site.caller.and_then(|caller| self.site_contexts.get(caller as usize)).copied();
            for frame in outer.iter().rev() {
                let context = self.make_context(lines, frame, parent);
                parent = Some(*shared.entry(context).or_insert_with_key(|context| self.add(context.clone())));
            }
            let context = self.make_context(lines, innermost, parent);
            let id = self.add(ContextDefinition { site: Some(number), ..context });
            self.site_contexts.push(id);
        }
    }

    fn add_frames(&mut self, frames: &[StackFrame], lines: &mut LineIds) {
        let key = |context: &ContextDefinition| (context.function.clone(), context.source_line, context.parent);
        // Contexts that are no frame yet; the first of equal ones is last.
        let mut free: HashMap<_, Vec<u32>> = HashMap::new();
        for (number, context) in self.contexts.iter().enumerate().rev() {
            free.entry(key(context)).or_default().push(number as u32);
        }
        for (number, frame) in (0..).zip(frames) {
            let parent = frame.caller.and_then(|caller| self.frame_contexts.get(caller as usize)).copied();
            let source = SourceFrame { function: frame.function.clone(), file: frame.file.clone(), line: frame.line };
            let context = self.make_context(lines, &source, parent);
            let id = free.get_mut(&key(&context)).and_then(Vec::pop).unwrap_or_else(|| self.add(context));
            self.contexts[id as usize].frame = Some(number);
            self.frame_contexts.push(id);
        }
    }

    fn add_calls(&mut self, calls: &BTreeSet<(u32, FunctionId)>) {
        for (site, function) in calls {
            let parent = self.site_contexts.get(*site as usize).copied();
            let id = self.add(ContextDefinition { parent, call: Some(*function), ..ContextDefinition::default() });
            self.call_contexts.insert((*site, *function), id);
        }
    }

    fn make_context(&mut self, lines: &mut LineIds, frame: &SourceFrame, parent: Option<u32>) -> ContextDefinition {
        let line = source_line(frame).map(|line| {
            *lines.entry(line).or_insert_with_key(|line| {
                self.source_lines.push(line.clone());
                self.source_lines.len() as u32 - 1
            })
        });
        ContextDefinition {
            function: frame.function.clone().unwrap_or_default(),
            file: frame.file.clone(),
            source_line: line,
            parent,
            ..ContextDefinition::default()
        }
    }

    fn add(&mut self, context: ContextDefinition) -> u32 {
        self.contexts.push(context);
        self.contexts.len() as u32 - 1
    }

    /// The context of a site, and its source code location.
    pub(super) fn context_of_site(&self, site: u32) -> Option<(u32, Option<u32>)> {
        let context = *self.site_contexts.get(site as usize)?;
        Some((context, self.contexts[context as usize].source_line))
    }

    /// The context of a call of an MPI function at a site.
    pub(super) fn context_of_call(&self, site: u32, function: FunctionId) -> Option<u32> {
        self.call_contexts.get(&(site, function)).copied()
    }

    pub(super) fn context_of_frame(&self, frame: u32) -> u32 {
        self.frame_contexts[frame as usize]
    }

    pub(super) fn parent(&self, context: u32) -> Option<u32> {
        self.contexts[context as usize].parent
    }

    /// The unwind distance of an event after another one: how many of the innermost regions were entered since, and one more, which made
    /// progress.
    pub(super) fn unwind_distance(&self, previous: Option<u32>, context: u32) -> u32 {
        let (mut old, mut new, mut steps) = (previous, Some(context), 0);
        let (mut old_child, mut new_child) = (None, None);
        // A parent has a smaller number, and none is smaller than all: the larger one goes up until both meet.
        while old != new {
            if old > new {
                old_child = old;
                old = old.and_then(|old| self.parent(old));
            } else {
                new_child = new;
                new = new.and_then(|new| self.parent(new));
                steps += 1;
            }
        }
        let function = |context: Option<u32>| context.map(|context| &self.contexts[context as usize].function);
        let same_function = old_child.is_some() && function(old_child) == function(new_child);
        if same_function { steps } else { steps + 1 }
    }
}

/// File and line of a frame; 0 stands for an unknown line, as in debug information.
fn source_line(frame: &SourceFrame) -> Option<(String, u32)> {
    let known = frame.file.is_some() || frame.line.is_some();
    known.then(|| (frame.file.clone().unwrap_or_default(), frame.line.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_come_after_those_around_them_and_outer_ones_are_shared() {
        let frame = |function: &str, line| SourceFrame { function: Some(function.into()), file: Some("a.c".into()), line: Some(line) };
        let site = |frames: &[SourceFrame]| CallSiteDefinition { frames: frames.to_vec(), ..CallSiteDefinition::default() };
        let contexts = |sites: &[CallSiteDefinition]| CallingContexts::new(sites, &[], &BTreeSet::new());
        let sites = contexts(&[site(&[frame("inner", 5), frame("main", 9)]), site(&[]), site(&[frame("inner", 6), frame("main", 9)])]);
        let shown: Vec<_> = sites.contexts.iter().map(|c| (c.function.as_str(), c.source_line, c.parent, c.site)).collect();
        let expected = [
            ("main", Some(0), None, None),
            ("inner", Some(1), Some(0), Some(0)),
            ("", None, None, Some(1)),
            ("inner", Some(2), Some(0), Some(2)),
        ];
        assert_eq!(shown, expected);
        let called = CallSiteDefinition { caller: Some(0), ..site(&[frame("callee", 7)]) };
        let nested = contexts(&[site(&[frame("main", 9)]), called]);
        assert_eq!(nested.contexts.iter().map(|context| context.parent).collect::<Vec<_>>(), [None, Some(0)]);
        assert_eq!(
            (sites.context_of_site(2), sites.context_of_site(1), sites.context_of_site(7)),
            (Some((3, Some(2))), Some((2, None)), None)
        );
    }

    /// main at line 9 calls solve, which calls MPI at line 5 and computes at line 6; main at line 10 computes.
    fn sampled() -> CallingContexts {
        let source = |function: &str, line| SourceFrame { function: Some(function.into()), file: Some("a.c".into()), line: Some(line) };
        let site = |frame: SourceFrame, caller| CallSiteDefinition { frames: vec![frame], caller, ..CallSiteDefinition::default() };
        let frame = |function: &str, line, caller| StackFrame {
            caller,
            function: Some(function.into()),
            file: Some("a.c".into()),
            line: Some(line),
            module: "a".into(),
        };
        let frames = [frame("main", 9, None), frame("solve", 6, Some(0)), frame("main", 10, None), frame("solve", 5, Some(0))];
        let calls = BTreeSet::from([(1, FunctionId::from_name("MPI_Send").unwrap())]);
        CallingContexts::new(&[site(source("main", 9), None), site(source("solve", 5), Some(0))], &frames, &calls)
    }

    #[test]
    fn a_frame_is_the_context_of_a_call_site_if_it_is_the_same() {
        let all = sampled();
        let shown: Vec<_> = all.contexts.iter().map(|c| (c.function.as_str(), c.parent, c.site, c.frame)).collect();
        let expected = [
            ("main", None, Some(0), Some(0)),
            ("solve", Some(0), Some(1), Some(3)),
            ("solve", Some(0), None, Some(1)),
            ("main", None, None, Some(2)),
            ("", Some(1), None, None),
        ];
        assert_eq!(shown, expected);
        assert_eq!([0, 1, 2, 3].map(|frame| all.context_of_frame(frame)), [0, 2, 3, 1]);
        assert_eq!(all.context_of_call(1, FunctionId::from_name("MPI_Send").unwrap()), Some(4));
    }

    #[test]
    fn an_unwind_distance_counts_what_was_entered_and_what_made_progress() {
        let all = sampled();
        let [solve_5, solve_6, main_10, call] = [1, 2, 3, 4];
        // At first everything is new.
        assert_eq!((all.unwind_distance(None, main_10), all.unwind_distance(None, call)), (2, 4));
        // At the same place again.
        assert_eq!(all.unwind_distance(Some(solve_6), solve_6), 1);
        // At another line of the same function, and then in a call.
        assert_eq!((all.unwind_distance(Some(solve_6), solve_5), all.unwind_distance(Some(solve_6), call)), (1, 2));
        // The call was left, and is made again.
        assert_eq!(all.unwind_distance(Some(solve_5), call), 2);
        // Back in main, at another line; and solve is called again.
        assert_eq!((all.unwind_distance(Some(solve_6), main_10), all.unwind_distance(Some(main_10), solve_6)), (1, 2));
    }
}
