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
            sites.find_foreign(definitions);
        } else {
            sites.find_own(definitions);
        }
        sites
    }

    fn find_own(&mut self, definitions: &Definitions) {
        let by_number: HashMap<u32, &Context> = definitions.contexts.iter().map(|context| (context.number, context)).collect();
        for context in &definitions.contexts {
            let Some((module, offset)) = definitions.sites.get(&context.number) else { continue };
            let chain = std::iter::successors(Some(context), |context| by_number.get(&context.around).copied());
            let mut frames: Vec<Frame> = chain.take(MOST_FRAMES).map(|context| frame(definitions, context)).collect();
            if frames == [Frame::default()] {
                frames.clear();
            }
            self.contexts.insert(context.number, self.all.len() as u32);
            self.all.push(Site { module: module.clone(), offset: *offset, frames });
        }
        self.unknown = self.all.len() as u32;
    }

    fn find_foreign(&mut self, definitions: &Definitions) {
        self.unknown = self.add(Frame::default());
        for context in &definitions.contexts {
            let number = self.add(frame(definitions, context));
            self.contexts.insert(context.number, number);
        }
        let mut lines: Vec<_> = definitions.lines.iter().collect();
        lines.sort_by_key(|(number, _)| *number);
        for (number, line) in lines {
            let site = self.add(Frame { function: None, file: line.file.clone(), line: line.line });
            self.lines.insert(number, site);
        }
        let mut regions: Vec<_> = definitions.regions.iter().filter(|(number, _)| self.functions.get(*number).is_none()).collect();
        regions.sort_by_key(|(number, _)| *number);
        for (number, region) in regions {
            let function = Some(region.name.clone()).filter(|name| !name.is_empty());
            let site = self.add(Frame { function, file: region.file.clone(), line: None });
            self.all[site as usize].module = region.file.clone().unwrap_or_default();
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

fn frame(definitions: &Definitions, context: &Context) -> Frame {
    let region = definitions.regions.get(context.region);
    let function = region.map(|region| region.name.clone()).filter(|name| !name.is_empty());
    let line = definitions.lines.get(context.line);
    Frame { function, file: line.and_then(|line| line.file.clone()), line: line.and_then(|line| line.line) }
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
