//! Events on their way to the analyzer: each passed on, or joined with others of the same while where the tunlet allows.

use std::collections::BTreeMap;

use crate::point::Join;
use crate::statistics::Sums;
use crate::talk::Told;
use crate::tunlet::{Happening, Joined};

/// What comes a little late still counts for its while; then it is passed on.
const GRACE_S: f64 = 2e-3;

/// No while is shorter: there would be one for each event;
const SHORTEST_S: f64 = 1e-3;
/// and none is longer.
const LONGEST_S: f64 = 3600.0;

/// The length of a while, whatever a tunlet asks for.
fn sound(length: f64) -> f64 {
    if length.is_nan() { SHORTEST_S } else { length.clamp(SHORTEST_S, LONGEST_S) }
}

/// A while of a point: tunlet, point, and the bits of when it began, which are in the order of time because none is negative.
type Key = (usize, usize, u64);

/// Whiles that are not over yet.
#[derive(Debug, Default)]
pub struct Gather {
    whiles: BTreeMap<Key, (f64, Joined)>,
}

impl Gather {
    /// An event: passed on at once, or joined.
    pub fn add(&mut self, tunlet: usize, join: Join, happening: Happening, told: &mut Vec<Told>) {
        match join {
            Join::Each => told.push(Told::Happened { tunlet, happening }),
            Join::Over(length) => {
                let length = sound(length);
                let from = (happening.time.max(0.0) / length).floor() * length;
                let values = happening.values.len();
                let joined = self.at(tunlet, happening.point, from, length, values);
                joined.count += 1;
                joined.values.iter_mut().zip(&happening.values).for_each(|(sums, value)| sums.add(*value, 1));
            }
        }
    }

    /// Joins what others have joined of a point whose whiles have this length.
    pub fn join(&mut self, tunlet: usize, length: f64, other: &Joined) {
        if !other.from.is_finite() {
            return;
        }
        let joined = self.at(tunlet, other.point, other.from, sound(length), other.values.len());
        joined.count += other.count;
        joined.values.iter_mut().zip(&other.values).for_each(|(sums, more)| sums.join(more));
    }

    fn at(&mut self, tunlet: usize, point: usize, from: f64, length: f64, values: usize) -> &mut Joined {
        let new = || (from + length, Joined { point, from, count: 0, values: vec![Sums::default(); values] });
        &mut self.whiles.entry((tunlet, point, from.to_bits())).or_insert_with(new).1
    }

    /// Whether no while is under way.
    pub fn is_empty(&self) -> bool {
        self.whiles.is_empty()
    }

    /// The whiles that are over.
    pub fn take(&mut self, now: f64) -> Vec<(usize, Joined)> {
        self.take_after(now, GRACE_S)
    }

    /// The whiles that are over for at least this long.
    pub fn take_after(&mut self, now: f64, grace: f64) -> Vec<(usize, Joined)> {
        if self.whiles.is_empty() {
            return Vec::new();
        }
        let over: Vec<Key> = self.whiles.iter().filter(|(_, (end, _))| end + grace <= now).map(|(key, _)| *key).collect();
        over.into_iter().filter_map(|key| self.whiles.remove(&key).map(|(_, joined)| (key.0, joined))).collect()
    }
}

#[cfg(test)]
mod tests {
    use sintonia_link::order::Side;

    use super::*;

    fn happening(rank: u32, time: f64, value: f64) -> Happening {
        Happening { point: 3, rank, side: Side::Exit, time, values: vec![value] }
    }

    #[test]
    fn what_may_not_be_joined_is_passed_on_at_once() {
        let (mut gather, mut told) = (Gather::default(), Vec::new());
        gather.add(1, Join::Each, happening(0, 0.5, 7.0), &mut told);
        assert_eq!(told, [Told::Happened { tunlet: 1, happening: happening(0, 0.5, 7.0) }]);
        assert!(gather.take(100.0).is_empty());
    }

    #[test]
    fn a_while_is_told_when_it_is_over_with_the_events_of_all_processes() {
        let (mut gather, mut told) = (Gather::default(), Vec::new());
        for (rank, time, value) in [(0, 0.1, 1.0), (1, 0.15, 3.0), (0, 0.25, 10.0)] {
            gather.add(0, Join::Over(0.2), happening(rank, time, value), &mut told);
        }
        assert!(told.is_empty() && gather.take(0.2).is_empty(), "something may still come");
        let over = gather.take(0.21);
        assert_eq!(over.len(), 1);
        let (tunlet, joined) = &over[0];
        assert_eq!((*tunlet, joined.point, joined.from, joined.count), (0, 3, 0.0, 2));
        assert_eq!((joined.values[0].mean(), joined.values[0].deviation(), joined.values[0].largest()), (2.0, 1.0, 3.0));
        assert_eq!(gather.take(0.5).len(), 1);
    }

    #[test]
    fn a_while_of_no_sound_length_is_told_all_the_same() {
        for length in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY, 1e-300] {
            let (mut gather, mut told) = (Gather::default(), Vec::new());
            (0..100).for_each(|event| gather.add(0, Join::Over(length), happening(0, f64::from(event) * 1e-6 - 5e-5, 1.0), &mut told));
            let over = gather.take(1.0);
            assert_eq!((over.len(), over[0].1.count, over[0].1.from), (1, 100, 0.0), "{length}");
        }
        let (mut gather, mut told) = (Gather::default(), Vec::new());
        gather.add(0, Join::Over(f64::INFINITY), happening(0, 0.5, 1.0), &mut told);
        assert_eq!(gather.take(LONGEST_S + 1.0).len(), 1);
    }

    #[test]
    fn what_two_hosts_joined_is_joined_again() {
        let mut all = Gather::default();
        for value in [1.0, 3.0] {
            let (mut host, mut told) = (Gather::default(), Vec::new());
            host.add(0, Join::Over(1.0), happening(0, 0.5, value), &mut told);
            host.take(2.0).iter().for_each(|(tunlet, joined)| all.join(*tunlet, 1.0, joined));
        }
        let over = all.take(2.0);
        assert_eq!((over[0].1.count, over[0].1.values[0].sum()), (2, 4.0));
    }
}
