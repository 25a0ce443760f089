//! The places of calls, numbered alike in several recordings of one program.

use std::collections::HashMap;

use sintonia_recording::Recording;
use sintonia_recording::header::Site;

use crate::schedule::Schedule;

/// A place of the program that calls MPI.
#[derive(Clone, Debug)]
pub struct Place {
    /// As people know it.
    pub name: String,
    /// As a recording says it; of several addresses of a line, the first.
    pub site: Site,
}

/// What is one place of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// A line: a compiler that unrolls a loop makes several addresses of it.
    Lines,
    /// An address: somebody may have written several calls on one line.
    Addresses,
}

/// Numbers places.
pub struct Numbering {
    places: Places,
    known: HashMap<String, u32>,
    /// The places by number.
    pub list: Vec<Place>,
}

impl Numbering {
    /// No place is known yet.
    pub fn of(places: Places) -> Numbering {
        Numbering { places, known: HashMap::new(), list: Vec::new() }
    }

    /// The numbers of a recording's call sites.
    pub fn numbers(&mut self, recording: &Recording) -> Vec<u32> {
        let number = |(site, number): (&Site, u32)| {
            let lines: Vec<String> = site.frames.iter().map(|frame| format!("{:?}:{:?}", frame.file, frame.line)).collect();
            let has_line = self.places == Places::Lines && site.frames.first().is_some_and(|frame| frame.line.is_some());
            let key = if has_line { format!("{} {lines:?}", site.module) } else { format!("{} {}", site.module, site.offset) };
            *self.known.entry(key).or_insert_with(|| {
                self.list.push(Place { name: Schedule::site(recording, number), site: site.clone() });
                self.list.len() as u32 - 1
            })
        };
        recording.header.sites.iter().zip(0..).map(number).collect()
    }
}
