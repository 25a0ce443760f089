//! Broadcasts of large vectors: the root gives each member or branch a part only, and members exchange the parts.

use std::ops::Range;

use super::Party;
use super::doubling::{Deed, Level};
use super::piece::{Parts, Piece, Sheet};
use super::ring;
use super::shape::Shape;
use super::tree::ROUNDS_OF_BLOCKS;

/// The vector in parts of equal size, one for each member, counted from the root; where it is short, the last ones are empty.
fn parts(party: &Party) -> Parts {
    Parts::sized(party.bytes, party.bytes.div_ceil(party.size.into()))
}

/// Parts along a binomial tree; nothing is sent where a branch gets none.
fn scatter(party: &Party, index: u32, sheet: &mut impl Sheet) {
    let (at, parts) = (party.distance(), parts(party));
    let branch = |at| Some(parts.range(at, at + Shape::Binomial.branch(at, party.size))).filter(|piece| piece.bytes > 0);
    match (index, Shape::Binomial.parent(at, party.size)) {
        (0, Some(parent)) => branch(at).into_iter().for_each(|piece| sheet.receive(party.at(parent), piece)),
        (1, _) => Shape::Binomial.children(at, party.size, |child| {
            branch(child).into_iter().for_each(|piece| sheet.send(party.at(child), piece));
        }),
        _ => {}
    }
}

/// Scatter, then a ring.
pub(super) fn scatter_ring(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let Some(index) = index.checked_sub(ROUNDS_OF_BLOCKS) else {
        scatter(party, index, sheet);
        return true;
    };
    let (at, parts) = (party.distance(), parts(party));
    let circle = Party { here: at, root: 0, ..*party };
    ring::around(&circle, parts, index, &mut Turned { party, sheet })
}

/// Writes down members that are counted from the root.
struct Turned<'a, S> {
    party: &'a Party,
    sheet: &'a mut S,
}

impl<S: Sheet> Sheet for Turned<'_, S> {
    fn send(&mut self, to: u32, piece: Piece) {
        self.sheet.send(self.party.at(to), piece);
    }

    fn forward(&mut self, to: u32, piece: Piece) {
        self.sheet.forward(self.party.at(to), piece);
    }

    fn receive(&mut self, from: u32, piece: Piece) {
        self.sheet.receive(self.party.at(from), piece);
    }

    fn combine(&mut self, from: u32, piece: Piece) {
        self.sheet.combine(self.party.at(from), piece);
    }

    fn compute(&mut self, bytes: u64) {
        self.sheet.compute(bytes);
    }
}

/// Scatter, then recursive doubling.
pub(super) fn scatter_doubling(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let Some(index) = index.checked_sub(ROUNDS_OF_BLOCKS) else {
        scatter(party, index, sheet);
        return true;
    };
    let Some(level) = Level::of(party.distance(), party.size, index) else { return false };
    let parts = parts(party);
    let held = |half: Range<u32>| parts.range(half.start, half.end);
    match level.deed {
        Deed::Exchange(other) => {
            sheet.send(party.at(other), held(level.own));
            sheet.receive(party.at(other), held(level.others));
        }
        Deed::Give(to) => sheet.send(party.at(to), held(level.others)),
        Deed::Take(from) => sheet.receive(party.at(from), held(level.others)),
        Deed::Rest => {}
    }
    true
}

/// One half of the vector goes down each side of a binary tree; then members of one side exchange halves with those of the other.
pub(super) fn split_binary(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (at, halves) = (party.distance(), Parts::sized(party.bytes, party.bytes.div_ceil(2)));
    // Those at odd distances are on the first side.
    let half = |at: u32| halves.part((at + 1) % 2);
    let last = party.size - 1;
    match (index, Shape::Binary.parent(at, party.size)) {
        (0, Some(parent)) => sheet.receive(party.at(parent), half(at)),
        (1, _) => Shape::Binary.children(at, party.size, |child| sheet.send(party.at(child), half(child))),
        (2, None) if last % 2 == 1 => sheet.send(party.at(last), half(0)),
        (2, None) => {}
        // The last one has nobody opposite if it is on the first side: the root serves it.
        (2, Some(_)) if at == last && last % 2 == 1 => sheet.receive(party.root, half(0)),
        (2, Some(_)) => {
            let other = if at % 2 == 1 { at + 1 } else { at - 1 };
            sheet.send(party.at(other), half(at));
            sheet.receive(party.at(other), half(other));
        }
        _ => {}
    }
    index < 3
}
