//! What each rank did, folded along the loops of the program: rounds that are alike are kept once.

use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use sintonia_mpi::Role;
use sintonia_recording::deed::{Deed, Follower};
use sintonia_recording::raw;
use sintonia_recording::table::Shape;

use super::error::Unrecognised;
use super::family::{Family, Run};
use super::nest::{Hears, Nest};
use super::open::Open;
use super::times::Clockwork;

/// Everything about a call that rules have to explain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Details {
    /// The call as it was, without its requests.
    pub shape: Shape,
    /// The requests that it completed, started or gave back, and those that it could have.
    pub handled: Handled,
}

/// Requests that a call had to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Handled {
    /// The nodes that made those that there were, from the oldest on.
    pub there: Vec<u32>,
    /// Which of them it named, by place in `there`.
    pub named: Vec<u32>,
}

/// A piece of what a rank did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// A call at a node, by the number of its details.
    Call(usize, u32),
    /// A loop with its rounds: which body, and how often it follows itself.
    Loop(usize, Vec<(u32, u32)>),
}

/// What a rank did from beginning to end.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The run, by number.
    pub run: usize,
    /// The rank.
    pub rank: u32,
    /// The body of the whole program.
    pub body: u32,
}

/// What all ranks of a family did.
#[derive(Default)]
pub struct Readings {
    /// Of each rank.
    pub list: Vec<Reading>,
    /// Details by number.
    pub details: Numbers<Details>,
    /// Bodies by number.
    pub bodies: Numbers<Vec<Piece>>,
    /// What everything took.
    pub clockwork: Clockwork,
}

/// Things that are numbered in the order in which they come, equal ones once.
pub struct Numbers<T> {
    list: Vec<Rc<T>>,
    known: HashMap<Rc<T>, u32>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { list: Vec::new(), known: HashMap::new() }
    }
}

impl<T: Hash + Eq> Numbers<T> {
    fn number(&mut self, thing: T) -> u32 {
        if let Some(number) = self.known.get(&thing) {
            return *number;
        }
        let (thing, number) = (Rc::new(thing), self.list.len() as u32);
        self.list.push(thing.clone());
        self.known.insert(thing, number);
        number
    }

    /// The thing with a number.
    pub fn get(&self, number: u32) -> &T {
        &self.list[number as usize]
    }
}

impl Readings {
    /// Reads all ranks of a family.
    pub fn of(family: &Family) -> Result<Readings, Unrecognised> {
        let mut readings = Readings::default();
        for (number, run) in family.runs.iter().enumerate() {
            for rank in 0..run.ranks {
                let body = readings.read(family, number, rank)?;
                readings.list.push(Reading { run: number, rank, body });
            }
        }
        Ok(readings)
    }
}

/// Folds what one rank does, as it goes from loop to loop.
struct Folder<'f> {
    bodies: &'f mut Numbers<Vec<Piece>>,
    /// Of the program, and of each loop that the rank is in.
    levels: Vec<Folded>,
}

/// The pieces of a round under way, and the rounds before it.
type Folded = (Vec<Piece>, Vec<(u32, u32)>);

impl Hears for Folder<'_> {
    fn enter(&mut self) {
        self.levels.push(Default::default());
    }

    fn end_round(&mut self) {
        let Some((pieces, rounds)) = self.levels.last_mut() else { return };
        let body = self.bodies.number(std::mem::take(pieces));
        match rounds.last_mut() {
            Some((last, times)) if *last == body => *times += 1,
            _ => rounds.push((body, 1)),
        }
    }

    fn leave(&mut self, number: usize, _: u32) {
        let Some((_, rounds)) = self.levels.pop() else { return };
        if let Some((pieces, _)) = self.levels.last_mut() {
            pieces.push(Piece::Loop(number, rounds));
        }
    }
}

impl Readings {
    /// Reads a rank: the body of all that it does.
    fn read(&mut self, family: &Family, number: usize, rank: u32) -> Result<u32, Unrecognised> {
        let run = &family.runs[number];
        let mut got = from_anyone(run, rank)?.into_iter();
        let Readings { details, bodies, clockwork, .. } = self;
        let (mut nest, mut open) = (Nest::default(), Open::default());
        let mut folder = Folder { bodies, levels: vec![Default::default()] };
        clockwork.begin(number, rank);
        run.each_call(rank, |call| {
            let Some(node) = family.node(run, call.shape) else {
                clockwork.pass(call);
                return Ok(());
            };
            let mut shape = Shape { requests: Vec::new(), site: 0, ..call.shape.clone() };
            if asks_anyone(call.shape) && call.shape.makes_request() {
                let (peer, tag) = got.next().unwrap_or((raw::ANY, raw::ANY));
                (shape.peer, shape.tag, shape.recv_tag) = (peer, tag, raw::ANY);
            }
            let details = details.number(Details { shape, handled: open.follow(node, call) });
            let again = nest.come_to(node, family, &mut folder)?;
            clockwork.count(node, again, call);
            if let Some((pieces, _)) = folder.levels.last_mut() {
                pieces.push(Piece::Call(node, details));
            }
            Ok(())
        })?;
        nest.end(&mut folder);
        let pieces = folder.levels.pop().map(|(pieces, _)| pieces).unwrap_or_default();
        Ok(self.bodies.number(pieces))
    }
}

/// Whether a receive takes a message from anyone.
pub fn asks_anyone(shape: &Shape) -> bool {
    shape.operation.role() == Role::Receive && [shape.peer, shape.tag, shape.recv_tag].contains(&raw::ANY)
}

/// The source and tag that each receive from anyone that has a request got, in the order in which they were begun.
fn from_anyone(run: &Run, rank: u32) -> Result<Vec<(i32, i32)>, Unrecognised> {
    let (mut places, mut got) = (HashMap::new(), Vec::new());
    let mut follower = Follower::in_world(run.recording.world(rank));
    run.each_call(rank, |call| {
        if let Some(request) = call.request.filter(|_| asks_anyone(call.shape)) {
            places.insert(request, got.len());
            got.push((raw::ANY, raw::ANY));
        }
        for deed in follower.follow(call) {
            if let Deed::Receive { message, request: Some(request), .. } = deed
                && let Some(place) = places.remove(request)
            {
                got[place] = (message.peer, message.tag);
            }
        }
        Ok(())
    })?;
    Ok(got)
}
