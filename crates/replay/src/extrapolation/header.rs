//! Recording header of an extrapolated run.

use std::collections::BTreeMap;

use sintonia_recording::definitions::format_ranks;
use sintonia_recording::header::{CommunicatorDefinition, RecordingHeader};
use sintonia_recording::neighbours::{self, TopologyNeighbours};

use super::communicators::{COMM_SELF, COMM_WORLD};
use super::extrapolated::ExtrapolatedRun;
use crate::schedule::Schedule;

impl ExtrapolatedRun<'_> {
    /// The header, based on that of one of the recordings.
    pub fn header(&self, like: &RecordingHeader) -> RecordingHeader {
        RecordingHeader {
            size: self.ranks as usize,
            ranks: Vec::new(),
            communicators: (0..self.communicator_limit()).map(|number| self.describe_communicator(number)).collect(),
            sites: self.pattern.program.sites.iter().map(|site| site.site.clone()).collect(),
            ..like.clone()
        }
    }

    /// A communicator; unused indices are empty.
    fn describe_communicator(&self, number: u32) -> CommunicatorDefinition {
        let members = self.members(number);
        if members.is_empty() {
            return CommunicatorDefinition::default();
        }
        let class = (number / self.ranks) as usize;
        let signed = |ranks: &[u32]| ranks.iter().map(|rank| *rank as i32).collect::<Vec<i32>>();
        let around = |rank: u32| {
            let known = self.neighbours(number, rank);
            TopologyNeighbours { sources: signed(&known.sources), destinations: signed(&known.destinations) }
        };
        let with_neighbours = members.iter().filter(|_| self.has_neighbours(class));
        let neighbours: BTreeMap<u32, TopologyNeighbours> = with_neighbours.map(|rank| (*rank, around(*rank))).collect();
        CommunicatorDefinition {
            made_by: self.creating_function(class).into(),
            members: format_ranks(&signed(&members)),
            neighbours: neighbours::encode(&neighbours),
            ..CommunicatorDefinition::default()
        }
    }

    fn has_neighbours(&self, class: usize) -> bool {
        self.pattern.program.neighbours.get(class).is_some_and(|both| both.iter().any(|peers| !peers.is_empty()))
    }

    /// The function that creates communicators of a class.
    fn creating_function(&self, class: usize) -> &'static str {
        match class {
            COMM_WORLD => "MPI_COMM_WORLD",
            COMM_SELF => "MPI_COMM_SELF",
            _ => {
                let maker = self.pattern.program.calls.iter().find(|step| step.created_communicator == Some(class));
                maker.map_or("MPI_Comm_split", |step| step.template.function.name())
            }
        }
    }
}
