//! Call sites as OTF2 calling contexts and source code locations.
//!
//! Each site is a calling context of its own, inside the contexts of the functions it was inlined into, which are shared, and these inside the
//! context of the caller. A context is numbered after its parent.

use std::collections::HashMap;

use sintonia_recording::header::{CallSiteDefinition, SourceFrame};

/// The call sites of a recording.
#[derive(Default)]
pub(super) struct CallingContexts {
    /// File and line of each source code location.
    pub source_lines: Vec<(String, u32)>,
    /// The calling contexts.
    pub contexts: Vec<ContextDefinition>,
    site_contexts: Vec<u32>,
}

/// A calling context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ContextDefinition {
    /// The function; empty if unknown.
    pub function: String,
    pub file: Option<String>,
    /// Its source code location.
    pub source_line: Option<u32>,
    pub parent: Option<u32>,
    /// Its call site, if it is one.
    pub site: Option<u32>,
}

impl CallingContexts {
    pub(super) fn new(sites: &[CallSiteDefinition]) -> CallingContexts {
        let mut all = CallingContexts::default();
        let (mut lines, mut shared) = (HashMap::new(), HashMap::new());
        let nothing = SourceFrame::default();
        for (number, site) in (0..).zip(sites) {
            let (innermost, outer) = site.frames.split_first().unwrap_or((&nothing, &[]));
            let mut parent = site.caller.and_then(|caller| all.site_contexts.get(caller as usize)).copied();
            for frame in outer.iter().rev() {
                let context = all.make_context(&mut lines, frame, parent, None);
                parent = Some(*shared.entry(context).or_insert_with_key(|context| all.add(context.clone())));
            }
            let context = all.make_context(&mut lines, innermost, parent, Some(number));
            let id = all.add(context);
            all.site_contexts.push(id);
        }
        all
    }

    fn make_context(
        &mut self,
        lines: &mut HashMap<(String, u32), u32>,
        frame: &SourceFrame,
        parent: Option<u32>,
        site: Option<u32>,
    ) -> ContextDefinition {
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
            site,
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
        let sites =
            CallingContexts::new(&[site(&[frame("inner", 5), frame("main", 9)]), site(&[]), site(&[frame("inner", 6), frame("main", 9)])]);
        let shown: Vec<_> = sites.contexts.iter().map(|c| (c.function.as_str(), c.source_line, c.parent, c.site)).collect();
        let expected = [
            ("main", Some(0), None, None),
            ("inner", Some(1), Some(0), Some(0)),
            ("", None, None, Some(1)),
            ("inner", Some(2), Some(0), Some(2)),
        ];
        assert_eq!(shown, expected);
        let called = CallSiteDefinition { caller: Some(0), ..site(&[frame("callee", 7)]) };
        let nested = CallingContexts::new(&[site(&[frame("main", 9)]), called]);
        assert_eq!(nested.contexts.iter().map(|context| context.parent).collect::<Vec<_>>(), [None, Some(0)]);
        assert_eq!(
            (sites.context_of_site(2), sites.context_of_site(1), sites.context_of_site(7)),
            (Some((3, Some(2))), Some((2, None)), None)
        );
    }
}
