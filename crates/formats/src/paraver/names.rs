//! Names from the `.pcf` and the `.row` of a trace: of functions and lines that called MPI, of MPI functions with unusual numbers, and
//! of nodes.

use std::collections::HashMap;
use std::path::Path;

use sintonia_mpi::Operation;
use sintonia_recording::header::{Frame, Site};

use super::events::{self, CALLER, CALLER_LINE, Group, MOST_CALLERS};
use super::lines::Lines;
use crate::Error;

/// Names of the numbers of a trace.
#[derive(Debug, Default)]
pub struct Names {
    functions: HashMap<u64, String>,
    lines: HashMap<u64, Line>,
    operations: HashMap<(Group, u64), Operation>,
}

/// A line of source, or where in a file of code the call was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Line {
    module: String,
    offset: u64,
    file: Option<String>,
    line: Option<u32>,
}

/// What the values that follow belong to.
#[derive(Clone, Copy)]
enum Block {
    Functions,
    Lines,
    Operations(Group),
}

impl Names {
    /// Reads them from a `.pcf`.
    pub fn read(path: &Path) -> Result<Names, Error> {
        let mut names = Names::default();
        let mut lines = Lines::open(path)?;
        let (mut block, mut values) = (None, false);
        while let Some(line) = lines.next_line()? {
            let line = String::from_utf8_lossy(line);
            match line.trim() {
                "" => {}
                "EVENT_TYPE" => (block, values) = (None, false),
                "VALUES" => values = true,
                line if values => names.value(block, line),
                line => block = block.or_else(|| block_of(line)),
            }
        }
        Ok(names)
    }

    /// The MPI function that a value stands for. What Extrae numbers is known without names, and some of its names are wrong.
    pub fn operation(&self, group: Group, value: u64) -> Option<Operation> {
        events::operation(value).or_else(|| self.operations.get(&(group, value)).copied())
    }

    /// The site that these callers are, the innermost first: each the values of its function and its line.
    pub fn site(&self, callers: &[(u64, u64)]) -> Site {
        let mut site = Site::default();
        for (level, (function, line)) in callers.iter().enumerate() {
            let place = self.lines.get(line);
            if level == 0 {
                let offset = place.map_or(*line, |place| place.offset);
                (site.module, site.offset) = (place.map(|place| place.module.clone()).unwrap_or_default(), offset);
            }
            let (file, line) = place.map_or((None, None), |place| (place.file.clone(), place.line));
            let frame = Frame { function: self.functions.get(function).cloned(), file, line };
            // What stands outside of something without a name would be taken for the place itself.
            if frame == Frame::default() {
                break;
            }
            site.frames.push(frame);
        }
        site
    }

    fn value(&mut self, block: Option<Block>, line: &str) {
        let Some((value, label)) = line.split_once(char::is_whitespace) else { return };
        let (Ok(value), label) = (value.parse(), label.trim()) else { return };
        if value == 0 || ["Unresolved", "_NOT_Found"].iter().any(|nameless| label.starts_with(nameless)) {
            return;
        }
        match block {
            Some(Block::Functions) => _ = self.functions.insert(value, in_full(label).to_owned()),
            Some(Block::Lines) => _ = self.lines.insert(value, line_of(label)),
            Some(Block::Operations(group)) => {
                if let Some(operation) = Operation::named(label) {
                    self.operations.insert((group, value), operation);
                }
            }
            None => {}
        }
    }
}

/// What the values of a type of event are, from its line `gradient type label`.
fn block_of(line: &str) -> Option<Block> {
    let event_type: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    match event_type {
        _ if (CALLER..CALLER + MOST_CALLERS).contains(&event_type) => Some(Block::Functions),
        _ if (CALLER_LINE..CALLER_LINE + MOST_CALLERS).contains(&event_type) => Some(Block::Lines),
        _ => Group::of_type(event_type).map(Block::Operations),
    }
}

/// Of `short [in full]` what is in brackets, otherwise all of it.
fn in_full(label: &str) -> &str {
    label.strip_suffix(']').and_then(|label| label.split_once(" [")).map_or(label, |(_, full)| full)
}

/// A line from its label: `a.c:7 [/src/a.c:7, /bin/a]`, or as older versions wrote it `7 (a.c, a)`, or `a+0x10 [/bin/a+0x10]`.
fn line_of(label: &str) -> Line {
    let older = label.strip_suffix(')').and_then(|label| label.split_once(" ("));
    if let Some((number, place)) = older.filter(|(number, _)| number.parse::<u32>().is_ok()) {
        let (file, module) = place.rsplit_once(", ").unwrap_or((place, ""));
        return Line { module: module.into(), offset: 0, file: Some(file.into()), line: number.parse().ok().filter(|n| *n > 0) };
    }
    let full = in_full(label);
    if let Some((module, offset)) = full.rsplit_once("+0x")
        && let Ok(offset) = u64::from_str_radix(offset, 16)
    {
        return Line { module: module.into(), offset, file: None, line: None };
    }
    let (place, module) = full.rsplit_once(", ").unwrap_or((full, ""));
    match place.rsplit_once(':').map(|(file, line)| (file, line.parse::<u32>())) {
        Some((file, Ok(line))) => {
            Line { module: module.into(), offset: 0, file: Some(file.into()), line: Some(line).filter(|line| *line > 0) }
        }
        _ => Line { module: module.into(), offset: 0, file: Some(place.into()), line: None },
    }
}

/// The names of nodes from a `.row`.
pub fn nodes(path: &Path) -> Result<Vec<String>, Error> {
    let mut lines = Lines::open(path)?;
    let (mut nodes, mut inside) = (Vec::new(), false);
    while let Some(line) = lines.next_line()? {
        let line = String::from_utf8_lossy(line);
        match line.trim() {
            line if line.starts_with("LEVEL") => inside = line.split_whitespace().nth(1) == Some("NODE"),
            "" => {}
            name if inside => nodes.push(name.to_owned()),
            _ => {}
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Names {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Names::read(file.path()).unwrap()
    }

    #[test]
    fn callers_get_the_names_of_the_pcf() {
        let names = names(
            "EVENT_TYPE\n0    70000001    Caller at level 1\n0    70000002    Caller at level 2\nVALUES\n0 End\n1 Unresolved \n\
             3 work [work(int, char)]\n4 main\n\n\nEVENT_TYPE\n0    80000001    Caller line at level 1\nVALUES\n0 End\n\
             3 a.c:7 [/src/a.c:7, /bin/a]\n4 9 (b.c, a)\n5 a+0x10 [/bin/a+0x10]\n",
        );
        let site = names.site(&[(3, 3), (4, 4)]);
        let frame = |function: &str, file: &str, line| Frame { function: Some(function.into()), file: Some(file.into()), line: Some(line) };
        assert_eq!((site.module.as_str(), site.offset), ("/bin/a", 0));
        assert_eq!(site.frames, [frame("work(int, char)", "/src/a.c", 7), frame("main", "b.c", 9)]);
        assert_eq!(names.site(&[(1, 5)]), Site { module: "/bin/a".into(), offset: 16, frames: vec![] });
        assert_eq!(names.site(&[(1, 77), (4, 4)]), Site { module: String::new(), offset: 77, frames: vec![] });
    }

    #[test]
    fn functions_with_unusual_numbers_are_known_by_their_names() {
        let names = names("EVENT_TYPE\n9    50000003    MPI Other\nVALUES\n69 MPI_Win_complete\n777 MPI_Comm_idup\n778 Nothing\n");
        let name = |value| names.operation(Group::Other, value).map(Operation::name);
        assert_eq!([name(69), name(777), name(778)], [Some("MPI_Win_start"), Some("MPI_Comm_idup"), None]);
    }

    #[test]
    fn nodes_have_the_names_of_the_row() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "LEVEL CPU SIZE 2\n1.a\n2.b\n\nLEVEL NODE SIZE 2\na\nb\n\nLEVEL THREAD SIZE 2\nTHREAD 1.1.1\n")
            .unwrap();
        assert_eq!(nodes(file.path()).unwrap(), ["a", "b"]);
    }
}
