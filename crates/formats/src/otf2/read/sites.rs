//! The call sites of an archive.
//!
//! What Sintonia wrote says them exactly. Other tools say less: a source line as an attribute, a calling context, or only which function
//! of the program was running. Whatever it is, it is defined before any event, so sites have numbers before calls are read.

use std::collections::HashMap;

use sintonia_mpi::{FUNCTIONS, Operation};
use sintonia_recording::header::{Frame, Site};

use crate::otf2::attributes::{Attributes, Field};
use crate::otf2::read::definitions::{Context, Definitions};
use crate::otf2::table::Table;

/// How deep functions are inlined into each other at most.
const MOST_FRAMES: usize = 64;
/// Bytes of names that all sites have together. A few bytes define a site, however long its names are; what goes beyond this is damaged.
const MOST_TEXT: usize = 1 << 28;

/// The call sites of an archive, and what is where.
#[derive(Default)]
pub struct Sites {
    /// The sites, numbered by place.
    pub all: Vec<Site>,
    contexts: Table<u32>,
    lines: Table<u32>,
    regions: Table<u32>,
    /// The MPI functions among the regions.
    functions: Table<Operation>,
    /// For each calling context, its region and the context around it.
    around: Table<(u32, u32)>,
    unknown: u32,
}

impl Sites {
    /// Finds all of them.
    pub fn new(definitions: &Definitions) -> Sites {
        Sites::within(definitions, MOST_TEXT)
    }

    /// Finds all of them; names for which there is no room are left out.
    fn within(definitions: &Definitions, room: usize) -> Sites {
        let names = Names::new();
        let mut sites = Sites::default();
        for (number, region) in definitions.regions.iter() {
            if let Some(operation) = names.find(&region.canonical).or_else(|| names.find(&region.name)) {
                sites.functions.insert(number, operation);
            }
        }
        for context in &definitions.contexts {
            sites.around.insert(context.number, (context.region, context.around));
        }
        if definitions.sites.is_empty() {
            sites.find_foreign(definitions, Room(room));
        } else {
            sites.find_own(definitions, Room(room));
        }
        sites
    }

    fn find_own(&mut self, definitions: &Definitions, mut room: Room) {
        let by_number: HashMap<u32, &Context> = definitions.contexts.iter().map(|context| (context.number, context)).collect();
        for context in &definitions.contexts {
            let Some((module, offset)) = definitions.sites.get(&context.number) else { continue };
            let chain = std::iter::successors(Some(context), |context| by_number.get(&context.around).copied());
            let mut frames: Vec<Frame> = chain.take(MOST_FRAMES).map(|context| room.frame(definitions, context)).collect();
            if frames == [Frame::default()] {
                frames.clear();
            }
            self.contexts.insert(context.number, self.all.len() as u32);
            self.all.push(Site { module: room.text(module).unwrap_or_default(), offset: *offset, frames });
        }
        self.unknown = self.all.len() as u32;
    }

    fn find_foreign(&mut self, definitions: &Definitions, mut room: Room) {
        self.unknown = self.add(Frame::default());
        for context in &definitions.contexts {
            let number = self.add(room.frame(definitions, context));
            self.contexts.insert(context.number, number);
        }
        let mut lines: Vec<_> = definitions.lines.iter().collect();
        lines.sort_by_key(|(number, _)| *number);
        for (number, line) in lines {
            let site = self.add(Frame { function: None, file: line.file.as_deref().and_then(|file| room.text(file)), line: line.line });
            self.lines.insert(number, site);
        }
        let mut regions: Vec<_> = definitions.regions.iter().filter(|(number, _)| self.functions.get(*number).is_none()).collect();
        regions.sort_by_key(|(number, _)| *number);
        for (number, region) in regions {
            let file = region.file.as_deref().and_then(|file| room.text(file));
            let module = file.as_deref().and_then(|file| room.text(file)).unwrap_or_default();
            let site = self.add(Frame { function: room.text(&region.name), file, line: None });
            self.all[site as usize].module = module;
            self.regions.insert(number, site);
        }
    }

    fn add(&mut self, frame: Frame) -> u32 {
        let frames = if frame == Frame::default() { Vec::new() } else { vec![frame] };
        self.all.push(Site { frames, ..Site::default() });
        self.all.len() as u32 - 1
    }

    /// The MPI function that a region is, if it is one.
    pub fn function(&self, region: u32) -> Option<Operation> {
        self.functions.get(region).copied()
    }

    /// The region of a calling context, and the context around it.
    pub fn context(&self, context: u32) -> Option<(u32, u32)> {
        self.around.get(context).copied()
    }

    /// The site of a call: as its attributes say, or the context around it, or the region around it.
    pub fn find(&self, attributes: &Attributes, context: Option<u32>, region: Option<u32>) -> u32 {
        let by = |sites: &Table<u32>, number: Option<u32>| number.and_then(|number| sites.get(number).copied());
        let attribute = |field| attributes.get(field).map(|number| number as u32);
        by(&self.contexts, attribute(Field::Site))
            .or_else(|| by(&self.lines, attribute(Field::SourceLine)))
            .or_else(|| by(&self.contexts, context))
            .or_else(|| by(&self.regions, region))
            .unwrap_or(self.unknown)
    }
}

/// How many bytes of names there may still be.
struct Room(usize);

impl Room {
    /// A copy of a name, unless it is empty or there is no room for it.
    fn text(&mut self, name: &str) -> Option<String> {
        self.0 = self.0.checked_sub(name.len())?;
        Some(name.to_owned()).filter(|name| !name.is_empty())
    }

    fn frame(&mut self, definitions: &Definitions, context: &Context) -> Frame {
        let function = definitions.regions.get(context.region).and_then(|region| self.text(&region.name));
        let line = definitions.lines.get(context.line);
        Frame { function, file: line.and_then(|line| self.text(line.file.as_deref()?)), line: line.and_then(|line| line.line) }
    }
}

/// The names of MPI functions as tools write them: in C, in Fortran, with the profiling prefix, with parentheses.
struct Names {
    known: HashMap<String, Operation>,
}

impl Names {
    fn new() -> Names {
        let known = FUNCTIONS.iter().zip(0..).map(|(function, number)| (function.name.to_ascii_lowercase(), Operation(number)));
        Names { known: known.collect() }
    }

    fn find(&self, name: &str) -> Option<Operation> {
        let name = name.split('(').next().unwrap_or_default().trim().to_ascii_lowercase();
        let name = name.strip_prefix('p').filter(|name| name.starts_with("mpi_")).unwrap_or(&name);
        let name = name.trim_end_matches('_');
        let plain = name.strip_suffix("_c").or_else(|| name.strip_suffix("_f08")).unwrap_or(name);
        self.known.get(name).or_else(|| self.known.get(plain)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otf2::read::definitions::Region;

    #[test]
    fn one_long_name_cannot_fill_the_memory() {
        let mut definitions = Definitions::default();
        definitions.regions.insert(1, Region { name: "x".repeat(1000), canonical: String::new(), file: None });
        let context = |number: u32| Context { number, region: 1, line: 0, around: number.wrapping_sub(1) };
        definitions.contexts = (0..500).map(context).collect();
        let text = |definitions: &Definitions| {
            let sites = Sites::within(definitions, 100_000).all;
            assert!(sites.len() >= 500);
            sites.iter().flat_map(|site| &site.frames).filter_map(|frame| frame.function.as_ref()).map(String::len).sum::<usize>()
        };
        assert_eq!(text(&definitions), 100_000, "of another tool");
        definitions.sites = (0..500).map(|number| (number, (String::new(), 0))).collect();
        assert_eq!(text(&definitions), 100_000, "of our own");
    }

    #[test]
    fn functions_are_known_by_all_their_names() {
        let names = Names::new();
        for name in ["MPI_Send", "mpi_send_", "mpi_send__", "MPI_SEND", "PMPI_Send", "MPI_Send()", "MPI_Send_c", "mpi_send_f08_"] {
            assert_eq!(names.find(name).map(Operation::name), Some("MPI_Send"), "{name}");
        }
        for name in ["main", "", "MPI_", "send", "MPI_Sender"] {
            assert_eq!(names.find(name), None, "{name}");
        }
    }
}
