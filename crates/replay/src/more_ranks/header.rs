//! What a recording says of itself, for a run that nobody has made.

use std::collections::BTreeMap;

use sintonia_recording::definitions::write_ranks;
use sintonia_recording::header::{Communicator, Header};
use sintonia_recording::neighbours::{self, Neighbours};

use super::communicators::{OWN, WORLD};
use super::extrapolated::Extrapolated;
use crate::schedule::Schedule;

impl Extrapolated<'_> {
    /// The header of a recording of this run, made where one of those it comes from was.
    pub fn header(&self, like: &Header) -> Header {
        Header {
            size: self.ranks as usize,
            ranks: Vec::new(),
            communicators: (0..self.communicators()).map(|number| self.described(number)).collect(),
            sites: self.pattern.program.places.iter().map(|place| place.site.clone()).collect(),
            ..like.clone()
        }
    }

    /// A communicator; numbers that none has are empty.
    fn described(&self, number: u32) -> Communicator {
        let members = self.members(number);
        if members.is_empty() {
            return Communicator::default();
        }
        let kind = (number / self.ranks) as usize;
        let signed = |ranks: &[u32]| ranks.iter().map(|rank| *rank as i32).collect::<Vec<i32>>();
        let around = |rank: u32| {
            let known = self.neighbours(number, rank);
            Neighbours { sources: signed(&known.sources), destinations: signed(&known.destinations) }
        };
        let with_neighbours = members.iter().filter(|_| self.has_neighbours(kind));
        let neighbours: BTreeMap<u32, Neighbours> = with_neighbours.map(|rank| (*rank, around(*rank))).collect();
        Communicator {
            made_by: self.made_by(kind).into(),
            members: write_ranks(&signed(&members)),
            neighbours: neighbours::write(&neighbours),
            ..Communicator::default()
        }
    }

    fn has_neighbours(&self, kind: usize) -> bool {
        self.pattern.program.neighbours.get(kind).is_some_and(|both| both.iter().any(|peers| !peers.is_empty()))
    }

    /// The function that makes communicators of a kind.
    fn made_by(&self, kind: usize) -> &'static str {
        match kind {
            WORLD => "MPI_COMM_WORLD",
            OWN => "MPI_COMM_SELF",
            _ => {
                let maker = self.pattern.program.steps.iter().find(|step| step.made == Some(kind));
                maker.map_or("MPI_Comm_split", |step| step.shape.operation.name())
            }
        }
    }
}
