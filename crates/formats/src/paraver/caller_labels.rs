//! Labels of call sites: numbered functions and lines, with their names in the `.pcf`.

use std::collections::HashMap;

use sintonia_paraver::{push_events, single_line};
use sintonia_recording::header::{CallSiteDefinition, SourceFrame};

use super::event_types::{CALLER, CALLER_LINE, FIRST_CALLER_VALUE, WRITTEN_CALLERS};

/// The callers of all sites of a recording.
#[derive(Default)]
pub(super) struct CallerLabels {
    /// Function names.
    pub functions: NumberedLabels,
    pub lines: NumberedLabels,
    /// Depth of the deepest site.
    pub levels: u64,
    /// The caller fields of a call's event record, by site.
    event_fields: Vec<Vec<u8>>,
}

/// Labels, numbered from [`FIRST_CALLER_VALUE`].
#[derive(Default)]
pub(super) struct NumberedLabels {
    labels: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl NumberedLabels {
    fn intern(&mut self, name: String) -> u64 {
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.labels.push(name.clone());
            FIRST_CALLER_VALUE + self.labels.len() as u64 - 1
        })
    }

    /// Each label with its number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        (FIRST_CALLER_VALUE..).zip(self.labels.iter().map(String::as_str))
    }
}

impl CallerLabels {
    pub(super) fn from_sites(sites: &[CallSiteDefinition]) -> CallerLabels {
        let mut callers = CallerLabels::default();
        for site in 0..sites.len() {
            let events = callers.build_event_fields(sites, site);
            callers.event_fields.push(events);
        }
        callers
    }

    /// The caller fields of a call's event record, each with a leading colon.
    pub(super) fn event_fields(&self, site: u32) -> &[u8] {
        self.event_fields.get(site as usize).map_or(&[], Vec::as_slice)
    }

    fn build_event_fields(&mut self, sites: &[CallSiteDefinition], site: usize) -> Vec<u8> {
        let nameless = [SourceFrame::default()];
        // Its caller would be taken for the call site itself.
        if frames(&sites[site], &nameless).is_empty() {
            return Vec::new();
        }
        let path =
            std::iter::successors(Some(site), |site| sites[*site].caller.map(|caller| caller as usize).filter(|caller| caller < site));
        let levels = path.flat_map(|site| frames(&sites[site], &nameless).iter().map(move |frame| (&sites[site], frame)));
        let mut events = Vec::new();
        for ((site, frame), level) in levels.take(WRITTEN_CALLERS).zip(1..) {
            self.levels = self.levels.max(level);
            let function = frame.function.as_ref().map_or(1, |name| self.functions.intern(single_line(name)));
            let line = self.lines.intern(line_label(site, frame));
            push_events(&mut events, &[(CALLER + level, function), (CALLER_LINE + level, line)]);
        }
        events
    }
}

/// The frames of a call site; one without a name if there are none, and none at all of an unknown site.
fn frames<'a>(site: &'a CallSiteDefinition, nameless: &'a [SourceFrame]) -> &'a [SourceFrame] {
    match site.frames.as_slice() {
        [] if site.module.is_empty() => &[],
        [] => nameless,
        frames => frames,
    }
}

/// A line label as written by Extrae: short, then in full with the module.
fn line_label(site: &CallSiteDefinition, frame: &SourceFrame) -> String {
    let short = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    single_line(&match (&frame.file, frame.line) {
        (Some(file), line) => {
            let line = line.unwrap_or(0);
            format!("{}:{line} [{file}:{line}, {}]", short(file), site.module)
        }
        (None, _) => format!("{}+{:#x} [{}+{:#x}]", short(&site.module), site.offset, site.module, site.offset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, line: u32) -> SourceFrame {
        SourceFrame { function: Some(function.into()), file: Some("/src/a.c".into()), line: Some(line) }
    }

    #[test]
    fn the_innermost_caller_is_the_first_level() {
        let site = |frames| CallSiteDefinition { module: "/bin/a".into(), offset: 16, caller: None, frames };
        let callers =
            CallerLabels::from_sites(&[site(vec![frame("swap", 7), frame("main", 9)]), site(vec![frame("main", 7)]), site(vec![])]);
        assert_eq!(callers.event_fields(0), b":70000001:3:80000001:3:70000002:4:80000002:4");
        assert_eq!(callers.event_fields(1), b":70000001:4:80000001:3");
        assert_eq!(callers.event_fields(2), b":70000001:1:80000001:5");
        assert_eq!(callers.event_fields(9), b"");
        assert_eq!(callers.levels, 2);
        assert_eq!(callers.functions.iter().collect::<Vec<_>>(), [(3, "swap"), (4, "main")]);
        let lines = ["a.c:7 [/src/a.c:7, /bin/a]", "a.c:9 [/src/a.c:9, /bin/a]", "a+0x10 [/bin/a+0x10]"];
        assert_eq!(callers.lines.iter().map(|(_, name)| name).collect::<Vec<_>>(), lines);
    }

    #[test]
    fn callers_follow_the_inlined_functions() {
        let site = |caller, frames| CallSiteDefinition { module: "/bin/a".into(), offset: 16, caller, frames };
        let sites = [site(None, vec![frame("main", 9)]), site(Some(0), vec![frame("swap", 7), frame("step", 8)])];
        let callers = CallerLabels::from_sites(&sites);
        assert_eq!(callers.event_fields(0), b":70000001:3:80000001:3");
        assert_eq!(callers.event_fields(1), b":70000001:4:80000001:4:70000002:5:80000002:5:70000003:3:80000003:3");
    }

    #[test]
    fn a_deep_path_is_cut_at_its_outer_end() {
        let site = |number: u32| CallSiteDefinition {
            module: "/bin/a".into(),
            offset: 16,
            caller: number.checked_sub(1),
            frames: vec![frame("descend", number + 1)],
        };
        let callers = CallerLabels::from_sites(&(0..30).map(site).collect::<Vec<_>>());
        assert_eq!(callers.levels, WRITTEN_CALLERS as u64);
        assert!(callers.event_fields(29).starts_with(b":70000001:3:80000001:32:"));
    }
}
