//! Parts made better two by two: what two parts exchange with the others stays the same whichever of the two a vertex is in, so each pair can
//! be taken for itself.

use super::net::Net;
use super::two_way::{Sides, TwoWay};

/// Refines all pairs of parts that exchange something, until none gets better or so many rounds are over; the sizes of the parts stay.
pub(crate) fn refine(net: &Net, part: &mut [u32], limits: &[f64], rounds: usize) {
    let parts = limits.len();
    let mut members = vec![Vec::new(); parts];
    part.iter().zip(0..).for_each(|(part, vertex)| members[*part as usize].push(vertex));
    let mut pairs = Pairs { net, limits, members, place: vec![u32::MAX; net.len()] };
    let mut changed = vec![true; parts];
    for _ in 0..rounds {
        let before = std::mem::replace(&mut changed, vec![false; parts]);
        for pair in neighbours(net, part, parts) {
            let may_change = pair.iter().any(|part| before[*part] || changed[*part]);
            if may_change && pairs.refine(pair) {
                pair.iter().for_each(|part| changed[*part] = true);
            }
        }
        for (own, members) in pairs.members.iter().enumerate() {
            members.iter().for_each(|vertex| part[*vertex as usize] = own as u32);
        }
        if !changed.contains(&true) {
            break;
        }
    }
}

/// Pairs of parts that exchange something, those that exchange most first.
fn neighbours(net: &Net, part: &[u32], parts: usize) -> Vec<[usize; 2]> {
    let between = net.contracted(part, parts);
    let of_part = |a: u32| between.arcs(a).filter(move |(b, _)| a < *b).map(move |(b, weight)| (-weight, [a as usize, b as usize]));
    let mut pairs: Vec<(i64, [usize; 2])> = (0..parts as u32).flat_map(of_part).collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

struct Pairs<'a> {
    net: &'a Net,
    limits: &'a [f64],
    /// The vertices of each part.
    members: Vec<Vec<u32>>,
    /// Room for the place of each vertex in the net of a pair.
    place: Vec<u32>,
}

impl Pairs<'_> {
    /// Refines a pair of parts; says whether it got better.
    fn refine(&mut self, pair: [usize; 2]) -> bool {
        let members = pair.map(|part| self.members[part].as_slice());
        let (net, mut second) = self.net.pair(members, &mut self.place);
        let sides = Sides { slots: members.map(|members| members.len() as u64), limit: pair.map(|part| self.limits[part]) };
        let cut = TwoWay::new(&net, sides, 0, &mut second);
        let before = cut.cost();
        if cut.refine(8) >= before {
            return false;
        }
        let both = members.concat();
        let of = |side: bool| both.iter().zip(&second).filter(move |(_, second)| **second == side).map(|(vertex, _)| *vertex).collect();
        let parts = [of(false), of(true)];
        pair.iter().zip(parts).for_each(|(part, members)| self.members[*part] = members);
        true
    }
}
