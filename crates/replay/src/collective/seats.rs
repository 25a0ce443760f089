//! A power of two inside the group: algorithms that go by the bits of a place need one. Where there are more members, the first ones form
//! pairs; one of each pair gives its data to the other, which takes part for both.

use super::Party;
use super::piece::{Parts, Piece, Sheet};

/// Which of a pair takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    Even,
    Odd,
}

/// Those who take part, by seats from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seats {
    /// There are two to this power of them.
    pub steps: u32,
    pairs: u32,
    stays: Stays,
}

impl Seats {
    pub fn of(size: u32, stays: Stays) -> Seats {
        let steps = size.max(1).ilog2();
        Seats { steps, pairs: size - (1 << steps), stays }
    }

    /// How many seats there are.
    pub const fn count(self) -> u32 {
        1 << self.steps
    }

    /// Whether some take part for two; only then there is something to do before and after.
    pub const fn has_pairs(self) -> bool {
        self.pairs > 0
    }

    /// The other one of a member's pair.
    pub const fn partner(self, place: u32) -> Option<u32> {
        if place < 2 * self.pairs { Some(place ^ 1) } else { None }
    }

    /// Where a member sits, if it takes part.
    pub fn seat(self, place: u32) -> Option<u32> {
        if place >= 2 * self.pairs {
            return Some(place - self.pairs);
        }
        ((place & 1 == 1) == (self.stays == Stays::Odd)).then_some(place / 2)
    }

    /// Who sits there.
    pub fn member(self, seat: u32) -> u32 {
        if seat < self.pairs { 2 * seat + u32::from(self.stays == Stays::Odd) } else { seat + self.pairs }
    }

    /// Of the blocks of all members, the first of those that the one who sits there has to take care of.
    pub const fn first_block(self, seat: u32) -> u32 {
        if seat < self.pairs { 2 * seat } else { seat + self.pairs }
    }

    /// Those who do not take part give their vector to their partner.
    pub fn fold(self, party: &Party, vector: Piece, sheet: &mut impl Sheet) {
        match (self.partner(party.here), self.seat(party.here)) {
            (Some(partner), Some(_)) => sheet.combine(partner, vector),
            (Some(partner), None) => sheet.send(partner, vector),
            (None, _) => {}
        }
    }

    /// The same with both of a pair at work, in two rounds: each combines one half of the vector; the half of the one who leaves goes to the
    /// one who stays.
    pub fn fold_halves(self, party: &Party, round: u32, sheet: &mut impl Sheet) {
        let Some(partner) = self.partner(party.here) else { return };
        let halves = Parts::even(party.bytes, 2);
        let (kept, given) = (halves.part(0_u32), halves.part(1_u32));
        match (round, self.seat(party.here)) {
            (0, Some(_)) => {
                sheet.send(partner, given);
                sheet.combine(partner, kept);
            }
            (0, None) => {
                sheet.send(partner, kept);
                sheet.combine(partner, given);
            }
            (_, Some(_)) => sheet.receive(partner, given),
            (_, None) => sheet.send(partner, given),
        }
    }

    /// Those who did not take part get a result from their partner.
    pub fn unfold(self, party: &Party, result: impl Fn(u32) -> Piece, sheet: &mut impl Sheet) {
        match (self.partner(party.here), self.seat(party.here)) {
            (Some(partner), Some(_)) => sheet.send(partner, result(partner)),
            (Some(partner), None) => sheet.receive(partner, result(party.here)),
            (None, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_members_share_seats_and_the_others_have_one_each() {
        let seats = |stays| (0..6).map(|place| Seats::of(6, stays).seat(place)).collect::<Vec<_>>();
        assert_eq!(seats(Stays::Odd), [None, Some(0), None, Some(1), Some(2), Some(3)]);
        assert_eq!(seats(Stays::Even), [Some(0), None, Some(1), None, Some(2), Some(3)]);
        assert!((0..8).all(|place| Seats::of(8, Stays::Odd).seat(place) == Some(place)));
    }

    #[test]
    fn whoever_has_a_seat_sits_there() {
        for (size, stays) in (1..40).flat_map(|size| [(size, Stays::Even), (size, Stays::Odd)]) {
            let seats = Seats::of(size, stays);
            assert!((0..seats.count()).all(|seat| seats.seat(seats.member(seat)) == Some(seat)), "{size} {stays:?}");
        }
    }
}
