//! Levels of memory: what was measured at so much memory in use belongs to the cache that holds so much.

use std::collections::BTreeMap;

use sintonia_fit::sample::median;

use crate::bench::place::Cache;
use crate::{Access, Figure, MemoryLevel};

/// What each use of memory costs, by how much is in use.
pub type Uses = BTreeMap<Access, Vec<(u64, Figure)>>;

/// The levels, from the caches that the system tells of, or else from where the latency rises.
pub fn levels(caches: &[Cache], uses: &Uses, notes: &mut Vec<String>) -> Vec<MemoryLevel> {
    let told: Vec<(String, u64)> = caches.iter().map(|cache| (format!("L{}", cache.level), cache.bytes)).collect();
    let found = || plateaus(uses.get(&Access::Latency).map_or(&[], Vec::as_slice));
    let sizes = if told.is_empty() { found() } else { told };
    if sizes.is_empty() {
        return Vec::new();
    }
    let mut levels: Vec<MemoryLevel> = Vec::new();
    let mut below = 0;
    for (name, size) in &sizes {
        // A cache is shared with what else there is, so what fills it does not fit.
        levels.push(level(name, Some(*size), uses, below..=size / 4 * 3));
        below = *size;
    }
    let main = level("main", None, uses, below.saturating_mul(2)..=u64::MAX);
    if main.access.is_empty() {
        notes.push(format!("main memory was not measured: the last cache holds {below} bytes, and less than twice that was used"));
    } else {
        levels.push(main);
    }
    levels.retain(|level| !level.access.is_empty());
    levels
}

fn level(name: &str, size_bytes: Option<u64>, uses: &Uses, range: std::ops::RangeInclusive<u64>) -> MemoryLevel {
    let of = |points: &Vec<(u64, Figure)>| {
        let inside: Vec<Figure> = points.iter().filter(|(bytes, _)| range.contains(bytes)).map(|(_, figure)| *figure).collect();
        let middles: Vec<f64> = inside.iter().map(Figure::middle).collect();
        let middle = median(&middles).ok()?;
        let low = inside.iter().map(Figure::low).fold(middle, f64::min);
        let high = inside.iter().map(Figure::high).fold(middle, f64::max);
        Figure::measured(low, middle, high).ok()
    };
    let access = uses.iter().filter_map(|(access, points)| Some((*access, of(points)?))).collect();
    MemoryLevel { name: name.into(), size_bytes, access }
}

/// Ranges over which the latency hardly changes, and how far each reaches; the last one is main memory, and has no end.
fn plateaus(latency: &[(u64, Figure)]) -> Vec<(String, u64)> {
    const RISE: f64 = 1.4;
    let rises: Vec<bool> = latency.windows(2).map(|pair| pair[1].1.middle() > RISE * pair[0].1.middle()).collect();
    // Between levels the latency may climb over several sizes: a level ends where that begins.
    let ends = (0..rises.len()).filter(|at| rises[*at] && (*at == 0 || !rises[at - 1]));
    ends.enumerate().map(|(index, at)| (format!("L{}", index + 1), latency[at].0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(latency: impl Fn(u64) -> f64) -> Uses {
        let points = (12..28).map(|exponent| (1u64 << exponent, Figure::exact(latency(1 << exponent)).unwrap())).collect();
        BTreeMap::from([(Access::Latency, points)])
    }

    fn three_levels(bytes: u64) -> f64 {
        match bytes {
            0..=32_768 => 1e-9,
            32_769..=1_048_576 => 4e-9,
            _ => 80e-9,
        }
    }

    #[test]
    fn each_cache_has_what_was_measured_inside_it() {
        let caches = [(1, 48 << 10), (2, 2 << 20)].map(|(level, bytes)| Cache { level, bytes, cores: vec![0] });
        let mut notes = Vec::new();
        let levels = levels(
            &caches,
            &uses(|bytes| {
                if bytes <= 36 << 10 {
                    1e-9
                } else if bytes <= 2 << 20 {
                    4e-9
                } else {
                    80e-9
                }
            }),
            &mut notes,
        );
        let told: Vec<(&str, Option<u64>, f64)> =
            levels.iter().map(|level| (level.name.as_str(), level.size_bytes, level.access[&Access::Latency].middle())).collect();
        assert_eq!(told, [("L1", Some(48 << 10), 1e-9), ("L2", Some(2 << 20), 4e-9), ("main", None, 80e-9)]);
        assert!(notes.is_empty());
    }

    #[test]
    fn without_being_told_of_caches_levels_are_found_by_their_latency() {
        let levels = levels(&[], &uses(three_levels), &mut Vec::new());
        let told: Vec<(&str, Option<u64>)> = levels.iter().map(|level| (level.name.as_str(), level.size_bytes)).collect();
        assert_eq!(told, [("L1", Some(32 << 10)), ("L2", Some(1 << 20)), ("main", None)]);
    }

    #[test]
    fn memory_that_was_not_reached_is_noted() {
        let caches = [Cache { level: 3, bytes: 1 << 30, cores: vec![0] }];
        let mut notes = Vec::new();
        assert_eq!(levels(&caches, &uses(three_levels), &mut notes).len(), 1);
        assert!(notes[0].contains("main memory was not measured"), "{notes:?}");
    }
}
