//! Data along a tree: from the root to all (the same for everyone, or a block for each), and from all to the root (combined, or block after
//! block). Large data goes in segments, so that a member passes one on while the next one comes.

use std::num::NonZeroU64;

use super::Party;
use super::piece::{Parts, Piece, Sheet};
use super::shape::Shape;

/// A vector cut into segments.
struct Segments {
    count: u64,
    parts: Parts,
}

impl Segments {
    fn of(bytes: u64, segment: Option<NonZeroU64>) -> Segments {
        match segment.map(NonZeroU64::get) {
            Some(each) if each < bytes => Segments { count: bytes.div_ceil(each), parts: Parts::sized(bytes, each) },
            _ => Segments { count: 1, parts: Parts::sized(bytes, bytes) },
        }
    }

    /// The segment that begins its way through a member in a round, and the one that ends it.
    fn pieces(&self, index: u32) -> (Option<Piece>, Option<Piece>) {
        let index = u64::from(index);
        let begins = (index < self.count).then(|| self.parts.part(index));
        (begins, (1..=self.count).contains(&index).then(|| self.parts.part(index - 1)))
    }
}

/// The vector goes from the root to everyone.
pub(super) fn down(shape: Shape, segment: Option<NonZeroU64>, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (at, size) = (party.distance(), party.size);
    let (comes, goes) = Segments::of(party.bytes, segment).pieces(index);
    if let Some(piece) = comes
        && let Some(parent) = shape.parent(at, size)
    {
        sheet.receive(party.at(parent), piece);
    }
    if let Some(piece) = goes {
        shape.children(at, size, |child| sheet.send(party.at(child), piece));
    }
    comes.is_some() || goes.is_some()
}

/// The vectors of all are combined on their way to the root.
pub(super) fn up(shape: Shape, segment: Option<NonZeroU64>, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (root, size) = (party.root, party.size);
    let party = &Party { root: shape.top(root, size), ..*party };
    let (at, segments) = (party.distance(), Segments::of(party.bytes, segment));
    let (come, goes) = segments.pieces(index);
    if let Some(piece) = come {
        shape.children(at, size, |child| sheet.combine(party.at(child), piece));
    }
    if let Some(piece) = goes
        && let Some(parent) = shape.parent(at, size)
    {
        sheet.send(party.at(parent), piece);
    }
    let is_handed_over = root != party.root && u64::from(index) == segments.count + 1;
    if is_handed_over {
        hand_over(party.here, party.root, root, Piece::whole(party.bytes), sheet);
    }
    come.is_some() || goes.is_some() || is_handed_over
}

/// How many rounds [`up`] takes.
pub(super) fn rounds_up(shape: Shape, segment: Option<NonZeroU64>, party: &Party) -> u32 {
    let hops = u64::from(shape.top(party.root, party.size) != party.root);
    u32::try_from(Segments::of(party.bytes, segment).count + 1 + hops).unwrap_or(u32::MAX)
}

/// One member gives a piece to another.
fn hand_over(here: u32, from: u32, to: u32, piece: Piece, sheet: &mut impl Sheet) {
    if here == from {
        sheet.send(to, piece);
    } else if here == to {
        sheet.receive(from, piece);
    }
}

/// How many rounds [`gather`] and [`scatter`] take.
pub(super) const ROUNDS_OF_BLOCKS: u32 = 2;

/// The blocks of all go to the root.
pub(super) fn gather(shape: Shape, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (at, blocks) = (party.distance(), Parts::blocks(party.bytes, party.size));
    let branch = |at| blocks.run(party.at(at), shape.branch(at, party.size));
    match (index, shape.parent(at, party.size)) {
        (0, _) => shape.children(at, party.size, |child| sheet.receive(party.at(child), branch(child))),
        (1, Some(parent)) => sheet.send(party.at(parent), branch(at)),
        _ => {}
    }
    index < ROUNDS_OF_BLOCKS
}

/// A block goes from the root to each member.
pub(super) fn scatter(shape: Shape, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (at, blocks) = (party.distance(), Parts::blocks(party.bytes, party.size));
    let branch = |at| blocks.run(party.at(at), shape.branch(at, party.size));
    match (index, shape.parent(at, party.size)) {
        (0, Some(parent)) => sheet.receive(party.at(parent), branch(at)),
        (1, _) => shape.children(at, party.size, |child| sheet.send(party.at(child), branch(child))),
        _ => {}
    }
    index < ROUNDS_OF_BLOCKS
}

/// The root asks one member after the other for its block, so that they do not all come at once. Blocks come in two messages, of which
/// the second is empty where the first has no limit.
pub(super) fn gather_in_turn(party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (at, blocks) = (party.distance(), Parts::blocks(party.bytes, party.size));
    match (at, index) {
        (0, _) if index < party.size - 1 => {
            let member = party.at(index + 1);
            sheet.send(member, Piece::NOTHING);
            sheet.receive(member, blocks.part(member));
            sheet.receive(member, Piece::NOTHING);
        }
        (0, _) => return false,
        (_, 0) => sheet.receive(party.root, Piece::NOTHING),
        (_, 1) => {
            sheet.send(party.root, blocks.part(party.here));
            sheet.send(party.root, Piece::NOTHING);
        }
        _ => return false,
    }
    true
}

/// Everyone gives the next one what it got, combined with its own.
pub(super) fn pass_on(keeps_own: bool, party: &Party, index: u32, sheet: &mut impl Sheet) -> bool {
    let (vector, is_last) = (Piece::whole(party.bytes), party.here + 1 == party.size);
    match index {
        0 if party.here > 0 && is_last && !keeps_own => sheet.receive(party.here - 1, vector),
        0 if party.here > 0 => sheet.combine(party.here - 1, vector),
        1 if !is_last => sheet.send(party.here + 1, vector),
        _ => {}
    }
    index < 2
}
