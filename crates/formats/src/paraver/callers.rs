//! Call sites as Paraver knows them: numbers of functions and of lines, with their names in the `.pcf`.

use std::collections::HashMap;

use sintonia_recording::header::{Frame, Site};

use super::events::{CALLER, CALLER_LINE, FIRST_CALLER, MOST_CALLERS};
use super::text;

/// The callers of all sites of a recording.
#[derive(Default)]
pub struct Callers {
    /// Names of functions.
    pub functions: Names,
    /// Names of lines.
    pub lines: Names,
    /// How many levels the deepest site has.
    pub levels: u64,
    /// What stands on the line of a call, by site.
    events: Vec<Vec<u8>>,
}

/// Names, numbered from [`FIRST_CALLER`].
#[derive(Default)]
pub struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Names {
    fn number(&mut self, name: String) -> u64 {
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            (FIRST_CALLER + self.names.len() - 1) as u64
        })
    }

    /// Each name with its number.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.names.iter().enumerate().map(|(place, name)| (FIRST_CALLER + place, name.as_str()))
    }
}

impl Callers {
    /// Those of these sites.
    pub fn of(sites: &[Site]) -> Callers {
        let mut callers = Callers::default();
        for site in sites {
            let events = callers.events_of(site);
            callers.events.push(events);
        }
        callers
    }

    /// What stands on the line of a call from this site: a colon before each number.
    pub fn events(&self, site: u32) -> &[u8] {
        self.events.get(site as usize).map_or(&[], Vec::as_slice)
    }

    fn events_of(&mut self, site: &Site) -> Vec<u8> {
        let nameless = [Frame::default()];
        let frames = match site.frames.as_slice() {
            [] if site.module.is_empty() => return Vec::new(),
            [] => &nameless,
            frames => frames,
        };
        let mut events = Vec::new();
        for (frame, level) in frames.iter().zip(1..MOST_CALLERS) {
            self.levels = self.levels.max(level);
            let function = frame.function.as_ref().map_or(1, |name| self.functions.number(text::label(name)));
            let line = self.lines.number(line_label(site, frame));
            events.push(b':');
            text::numbers(&mut events, &[CALLER + level, function, CALLER_LINE + level, line]);
        }
        events
    }
}

/// A line as Extrae writes it: short, then in full with the file of code.
fn line_label(site: &Site, frame: &Frame) -> String {
    let short = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    text::label(&match (&frame.file, frame.line) {
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

    fn frame(function: &str, line: u32) -> Frame {
        Frame { function: Some(function.into()), file: Some("/src/a.c".into()), line: Some(line) }
    }

    #[test]
    fn the_innermost_caller_is_the_first_level() {
        let site = |frames| Site { module: "/bin/a".into(), offset: 16, frames };
        let callers = Callers::of(&[site(vec![frame("swap", 7), frame("main", 9)]), site(vec![frame("main", 7)]), site(vec![])]);
        assert_eq!(callers.events(0), b":70000001:3:80000001:3:70000002:4:80000002:4");
        assert_eq!(callers.events(1), b":70000001:4:80000001:3");
        assert_eq!(callers.events(2), b":70000001:1:80000001:5");
        assert_eq!(callers.events(9), b"");
        assert_eq!(callers.levels, 2);
        assert_eq!(callers.functions.iter().collect::<Vec<_>>(), [(3, "swap"), (4, "main")]);
        let lines = ["a.c:7 [/src/a.c:7, /bin/a]", "a.c:9 [/src/a.c:9, /bin/a]", "a+0x10 [/bin/a+0x10]"];
        assert_eq!(callers.lines.iter().map(|(_, name)| name).collect::<Vec<_>>(), lines);
    }
}
