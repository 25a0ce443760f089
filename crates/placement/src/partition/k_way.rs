//! Parts made better two by two: what two parts exchange with the others stays the same whichever of the two a vertex is in, so each pair can
//! be taken for itself.

use super::net::{Members, Net};
use super::two_way::{Sides, TwoWay};

/// Refines all pairs of parts that exchange something, until none gets better or so many rounds are over; the sizes of the parts stay.
pub(crate) fn refine(net: &Net, part: &mut [u32], limits: &[f64], rounds: usize) {
    let parts = limits.len();
    let mut place = vec![u32::MAX; net.len()];
    let mut changed = vec![true; parts];
    for _ in 0..rounds {
        let before = std::mem::replace(&mut changed, vec![false; parts]);
        for [a, b] in neighbours(net, part, parts) {
            if !before[a as usize] && !before[b as usize] && !changed[a as usize] && !changed[b as usize] {
                continue;
            }
            if refine_pair(net, part, [a, b], limits, &mut place) {
                changed[a as usize] = true;
                changed[b as usize] = true;
            }
        }
        if !changed.contains(&true) {
            break;
        }
    }
}

/// Pairs of parts that exchange something, those that exchange most first.
fn neighbours(net: &Net, part: &[u32], parts: usize) -> Vec<[u32; 2]> {
    let members: Vec<u32> = part.to_vec();
    let between = net.contracted(&members, parts);
    let mut pairs: Vec<(i64, [u32; 2])> = (0..parts as u32)
        .flat_map(|a| between.arcs(a).filter(move |(b, _)| a < *b).map(move |(b, weight)| (-weight, [a, b])))
        .collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

fn refine_pair(net: &Net, part: &mut [u32], pair: [u32; 2], limits: &[f64], place: &mut [u32]) -> bool {
    let members = Members::new(&part.iter().map(|part| pair.iter().position(|of| of == part).map_or(2, |side| side as u32)).collect::<Vec<_>>(), 3);
    let members = [members.of(0), members.of(1)];
    let (net, mut second) = net.pair(members, place);
    let before = net.cut(&second);
    let slots = members.map(|members| members.len() as u64);
    let limit = pair.map(|part| limits[part as usize]);
    let after = TwoWay::new(&net, Sides { slots, limit }, 0, &mut second).refine(8);
    if after.cut >= before {
        return false;
    }
    for (vertex, second) in members[0].iter().chain(members[1]).zip(second) {
        part[*vertex as usize] = pair[usize::from(second)];
    }
    true
}
