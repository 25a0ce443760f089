//! From what was recorded to rules: one grid for the whole program, and for each call who, when, to whom and how much.

use std::collections::BTreeMap;

use sintonia_mpi::Role;
use sintonia_recording::Recording;
use sintonia_recording::raw;
use sintonia_recording::table::Shape;

use super::amount::{Amount, Seen};
use super::communicators::Kinds;
use super::error::Unrecognised;
use super::family::Family;
use super::grid::{Grid, GridRule, Spot};
use super::part::Part;
use super::pattern::{Pattern, Program};
use super::place::Places;
use super::reading::{Details, Readings, asks_anyone};
use super::sight::{Sight, Sights};
use super::step::{Choice, Handles, Nobody, Step, Target};
use super::targets::{Explained, Tried, Turn};
use super::times::Sizes;
use super::who::{When, Who};
use super::{Options, open::Handling, proof};

/// What is tried to explain a peer, in the words of an error.
const TRIED: &str = "a certain rank, neighbours in rows and in grids of two and three dimensions (open and around the ends), rings, \
                     hypercubes, trees, rows and columns, all others in any known order, mirrored and transposed places";

/// Finds the pattern of recordings of one program.
pub fn recognise(recordings: &[Recording], options: &Options) -> Result<Pattern, Unrecognised> {
    let by_lines = recognise_among(Places::Lines, recordings, options);
    by_lines.or_else(|error| recognise_among(Places::Addresses, recordings, options).map_err(|_| error))
}

fn recognise_among(places: Places, recordings: &[Recording], options: &Options) -> Result<Pattern, Unrecognised> {
    let family = Family::of(recordings, places)?;
    let readings = Readings::of(&family)?;
    let sights = Sights::of(&family, &readings)?;
    let kinds = Kinds::of(&family, &sights, &readings);
    let ranks: Vec<u32> = family.runs.iter().map(|run| run.ranks).collect();
    let mut nearest: Option<(usize, Unrecognised)> = None;
    for rule in GridRule::all(&ranks) {
        let Some(grids) = ranks.iter().map(|ranks| rule.grid(*ranks)).collect::<Option<Vec<Grid>>>() else { continue };
        let mut attempt = Attempt { family: &family, readings: &readings, sights: &sights, kinds: &kinds, grids: &grids, explained: 0 };
        match attempt.program(rule) {
            Ok(program) => {
                let pattern = pattern(&family, &readings, &grids, program, options);
                proof::prove(&family, &pattern)?;
                return Ok(pattern);
            }
            Err(error) if nearest.as_ref().is_none_or(|(most, _)| attempt.explained > *most) => nearest = Some((attempt.explained, error)),
            Err(_) => {}
        }
    }
    Err(nearest.map_or(Unrecognised::NoRecording, |(_, error)| error))
}

/// Adds times to the rules.
fn pattern(family: &Family, readings: &Readings, grids: &[Grid], program: Program, options: &Options) -> Pattern {
    let ranks: Vec<u32> = family.runs.iter().map(|run| run.ranks).collect();
    let mut classes: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    let mut class_of: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    for (run, grid) in grids.iter().enumerate() {
        for rank in 0..ranks[run] {
            let next = classes.len();
            let class = *classes.entry(program.behaviour(Spot { rank, ranks: ranks[run], grid })).or_insert(next);
            class_of.insert((run, rank), class);
        }
    }
    let roles = family.nodes.iter().map(|node| node.operation.role()).collect();
    let sizes = Sizes { ranks: ranks.clone(), scaling: options.scaling, roles };
    let laws = readings.clockwork.laws(&sizes, |run, rank| class_of.get(&(run, rank)).copied().unwrap_or(0));
    let steady = (0..program.loops.len()).map(|number| program.is_steady(number)).collect();
    Pattern { program, classes, laws, steady, recorded: ranks, options: options.clone() }
}

/// Tries to explain everything with one kind of grid.
pub(super) struct Attempt<'a> {
    pub(super) family: &'a Family<'a>,
    readings: &'a Readings,
    pub(super) sights: &'a Sights,
    kinds: &'a Kinds,
    grids: &'a [Grid],
    /// How many calls were explained.
    explained: usize,
}

impl<'a> Attempt<'a> {
    fn program(&mut self, grid: GridRule) -> Result<Program, Unrecognised> {
        let kinds = self.kinds.parts(self.family, self.grids)?;
        let parts = self.groups(&kinds);
        let mut steps = Vec::new();
        let mut first_error = None;
        for node in 0..self.family.nodes.len() {
            match self.step(node, &parts) {
                Ok(step) => {
                    self.explained += 1;
                    steps.push(step);
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        if let Some(error) = first_error {
            return Err(error);
        }
        let counts = (0..self.family.loops.len()).map(|number| self.count(number, &steps)).collect::<Result<Vec<_>, _>>()?;
        let family = self.family;
        let among_neighbours =
            |step: &Step| matches!(step.shape.operation.role(), Role::Collective(pattern) if pattern.is_among_neighbours());
        let used = |kind| steps.iter().any(|step| step.communicator == Some(kind) && among_neighbours(step));
        let neighbours = self.kinds.neighbours(family, self.grids, &parts, used)?;
        Ok(Program {
            grid,
            kinds,
            neighbours,
            steps,
            counts,
            around: family.around.clone(),
            loops: family.loops.clone(),
            body: family.body.clone(),
            places: family.places.clone(),
        })
    }

    /// The groups in which peers are looked for: all ranks, rows and columns of the grid, communicators.
    fn groups(&self, kinds: &[Part]) -> Vec<Part> {
        let mut groups: Vec<Part> = vec![Part::World];
        let lines = Part::all(&self.grids[0], 1).into_iter().filter(|part| matches!(part, Part::Lines(_)));
        for part in lines.chain(kinds.iter().cloned()) {
            if !groups.contains(&part) && part != Part::Own {
                groups.push(part);
            }
        }
        groups
    }

    pub(super) fn spot(&self, run: usize, rank: u32) -> Spot<'a> {
        Spot { rank, ranks: self.family.runs[run].ranks, grid: &self.grids[run] }
    }

    /// The sights of calls that were made, with their details.
    pub(super) fn made(&self, node: usize) -> impl Iterator<Item = (&'a Sight, &'a Details)> + use<'a> {
        let readings = self.readings;
        self.sights.calls[node].iter().filter_map(move |sight| Some((sight, readings.details.get(sight.call?))))
    }

    fn step(&self, node: usize, parts: &[Part]) -> Result<Step, Unrecognised> {
        let Some((_, first)) = self.made(node).next() else { return Err(Unrecognised::NoRecording) };
        let role = first.shape.operation.role();
        let mut handles = Handling::of(role).map(|handling| self.handles(node, handling)).transpose()?;
        let peer = self.peer(node, parts, handles.as_mut())?;
        let (source, back) = match role {
            Role::SendReceive => (self.target(node, parts, |details| details.shape.source, false)?.target, OtherEnd::Source),
            _ => (Target::Fixed(first.shape.source), OtherEnd::Peer),
        };
        let marks = self.marks(node, false).unwrap_or(first.shape.parts);
        Ok(Step {
            shape: Shape { site: self.family.nodes[node].site, parts: marks, ..first.shape.clone() },
            parts_with_nobody: self.marks(node, true).unwrap_or(marks),
            communicator: self.kind(node, |details| details.shape.communicator())?,
            made: self.kind(node, |details| (details.shape.made != raw::NO_OBJECT).then_some(details.shape.made))?,
            who: peer.who,
            when: peer.when,
            peer: peer.target,
            others: peer.others,
            any_order: peer.any_order,
            nobody: peer.nobody,
            source,
            tag: self.tag(node, OtherEnd::Peer, |details| details.shape.tag.into())?,
            recv_tag: self.tag(node, back, |details| details.shape.recv_tag.into())?,
            sent: self.bytes(node, OtherEnd::Peer, |details| details.shape.sent as i64),
            received: self.bytes(node, back, |details| details.shape.received as i64),
            handles,
        })
    }

    /// Who makes the call, and to whom.
    fn peer(&self, node: usize, parts: &[Part], handles: Option<&mut Handles>) -> Result<Explained, Unrecognised> {
        match (self.target(node, parts, |details| details.shape.peer, true), handles) {
            // Where the call is never made without a request, that may be what decides whether it is made.
            (Err(_), Some(handles)) if self.made(node).all(|(_, details)| !details.handled.named.is_empty()) => {
                handles.only_if_any = true;
                Ok(everyone())
            }
            (explained, _) => explained,
        }
    }

    /// The marks that a call has where nobody is at the other end, or where somebody is.
    fn marks(&self, node: usize, nobody: bool) -> Option<u16> {
        let found = self.made(node).find(|(_, details)| (details.shape.peer == raw::PROC_NULL) == nobody);
        found.map(|(_, details)| details.shape.parts)
    }

    /// A number that has to be right, since messages are told apart by it.
    fn tag(&self, node: usize, end: OtherEnd, of: fn(&Details) -> i64) -> Result<Amount, Unrecognised> {
        let tried = "a constant, laws of p, shares, the rank, the peer, the round";
        Amount::explaining(&self.seen(node, end, of)).ok_or_else(|| self.unexplained(node, "the tag", of, tried))
    }

    /// A number that may be about right.
    fn bytes(&self, node: usize, end: OtherEnd, of: fn(&Details) -> i64) -> Amount {
        let seen = self.seen(node, end, of);
        Amount::explaining(&seen).unwrap_or_else(|| Amount::about(&seen))
    }

    /// The rule for one of the ends of a call.
    fn target(&self, node: usize, parts: &[Part], of: fn(&Details) -> i32, with_absent: bool) -> Result<Explained, Unrecognised> {
        let whos = Who::all(self.grids[0].dimensions());
        let any_order = self.made(node).all(|(_, details)| asks_anyone(&details.shape));
        let tried = Tried { parts, whos: if with_absent { &whos } else { &whos[..1] }, any_order };
        let turn = |sight: &'a Sight| Turn {
            spot: self.spot(sight.run, sight.rank),
            rounds: &sight.rounds,
            peer: sight.call.map(|call| of(self.readings.details.get(call))),
        };
        let turns: Vec<Turn> = self.sights.calls[node].iter().map(turn).filter(|turn| with_absent || turn.peer.is_some()).collect();
        tried.explain(&turns).ok_or_else(|| {
            let of_peer = |details: &Details| i64::from(details.shape.peer);
            let of_source = |details: &Details| i64::from(details.shape.source);
            if with_absent {
                self.unexplained(node, "the peers", of_peer, TRIED)
            } else {
                self.unexplained(node, "the sources", of_source, TRIED)
            }
        })
    }

    /// A number of all calls at a node that have somebody at that end.
    fn seen(&self, node: usize, end: OtherEnd, of: fn(&Details) -> i64) -> Vec<Seen<'a>> {
        let other = |details: &Details| if end == OtherEnd::Peer { details.shape.peer } else { details.shape.source };
        let there = self.made(node).filter(|(_, details)| other(details) != raw::PROC_NULL);
        there
            .map(|(sight, details)| Seen {
                spot: self.spot(sight.run, sight.rank),
                rounds: &sight.rounds,
                peer: u32::try_from(other(details)).ok(),
                value: of(details),
            })
            .collect()
    }

    /// The kind of a communicator that all calls at a node name.
    fn kind(&self, node: usize, of: impl Fn(&Details) -> Option<u32>) -> Result<Option<usize>, Unrecognised> {
        let mut kinds = self.made(node).filter_map(|(sight, details)| of(details).map(|number| self.kinds.kind(sight.run, number)));
        let Some(first) = kinds.next() else { return Ok(None) };
        match first {
            Some(kind) if kinds.all(|other| other == first) => Ok(Some(kind)),
            _ => Err(self.unexplained(
                node,
                "the communicator",
                |details| details.shape.object.into(),
                "one communicator for all calls here",
            )),
        }
    }

    /// Which requests the calls at a node have to do with.
    fn handles(&self, node: usize, handling: Handling) -> Result<Handles, Unrecognised> {
        let all: Vec<&Details> = self.made(node).map(|(_, details)| details).collect();
        let mut of: Vec<u32> = all.iter().flat_map(|d| d.handled.named.iter().map(|place| d.handled.there[*place as usize])).collect();
        of.sort_unstable();
        of.dedup();
        let any = all.first().is_some_and(|details| details.shape.operation.role() == Role::CompleteAny);
        let one_of = |details: &Details| details.handled.named.iter().all(|place| of.contains(&details.handled.there[*place as usize]));
        let fits = |choice: &Choice| match choice {
            Choice::Any => any && all.iter().all(|details| one_of(details)),
            _ => all.iter().all(|details| choice.places(&details.handled.there, &of) == details.handled.named),
        };
        let Some(choice) = Choice::ALL.into_iter().find(fits) else {
            let tried = "all of those made at some places, the oldest, the newest, the oldest of each place";
            return Err(self.unexplained(node, "the requests", |details| details.handled.named.len() as i64, tried));
        };
        Ok(Handles { handling, choice, of, only_if_any: false })
    }

    fn unexplained(&self, node: usize, what: &'static str, of: impl Fn(&Details) -> i64, tried: &'static str) -> Unrecognised {
        let example = |sight: &Sight| {
            let shown = match sight.call.map(|call| of(self.readings.details.get(call))) {
                None => "not made".into(),
                Some(value) if value == i64::from(raw::PROC_NULL) => "nobody".into(),
                Some(value) => value.to_string(),
            };
            format!("of {} ranks, rank {}: {shown}", self.family.runs[sight.run].ranks, sight.rank)
        };
        let sights = &self.sights.calls[node];
        let few = sights.iter().step_by((sights.len() / 6).max(1)).take(6);
        Unrecognised::Call {
            site: self.family.site(node),
            operation: self.family.nodes[node].operation.name(),
            what,
            examples: few.map(example).collect::<Vec<_>>().join("; "),
            tried,
        }
    }
}

/// Which of the other ends of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherEnd {
    /// To whom it goes, or from whom it comes.
    Peer,
    /// From whom the receiving half of a send-receive comes.
    Source,
}

/// A call that everybody makes, with nobody at the other end.
fn everyone() -> Explained {
    Explained {
        who: Who::Everyone,
        when: None::<(usize, When)>,
        target: Target::Fixed(raw::NONE),
        nobody: Nobody::LeftOut,
        others: Vec::new(),
        any_order: false,
    }
}
