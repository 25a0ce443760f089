//! Memory levels: a working set of some size belongs to the smallest cache that holds it.

use std::collections::BTreeMap;

use sintonia_fit::sample::median;

use crate::bench::binding::CpuCache;
use crate::{MemoryAccess, MemoryLevel, UncertainValue};

/// Cost of each kind of access, by size of the working set.
pub(super) type AccessCosts = BTreeMap<MemoryAccess, Vec<(u64, UncertainValue)>>;

/// The memory levels, from the caches that the system reports, else from rises of the latency.
pub(super) fn memory_levels(caches: &[CpuCache], uses: &AccessCosts, notes: &mut Vec<String>) -> Vec<MemoryLevel> {
    let reported: Vec<(String, u64)> = caches.iter().map(|cache| (format!("L{}", cache.level), cache.bytes)).collect();
    let found = || plateaus(uses.get(&MemoryAccess::Latency).map_or(&[], Vec::as_slice));
    let sizes = if reported.is_empty() { found() } else { reported };
    if sizes.is_empty() {
        return Vec::new();
    }
    let mut levels: Vec<MemoryLevel> = Vec::new();
    let mut below = 0;
    for (name, size) in &sizes {
        // A cache is shared with other data, so a working set of its full size does not fit.
        levels.push(memory_level(name, Some(*size), uses, below..=size / 4 * 3));
        below = *size;
    }
    let main = memory_level("main", None, uses, below.saturating_mul(2)..=u64::MAX);
    if main.access.is_empty() {
        notes.push(format!("main memory was not measured: the last cache holds {below} bytes, and no working set was twice that size"));
    } else {
        levels.push(main);
    }
    levels.retain(|level| !level.access.is_empty());
    levels
}

fn memory_level(name: &str, size_bytes: Option<u64>, uses: &AccessCosts, range: std::ops::RangeInclusive<u64>) -> MemoryLevel {
    let of = |points: &Vec<(u64, UncertainValue)>| {
        let inside: Vec<UncertainValue> = points.iter().filter(|(bytes, _)| range.contains(bytes)).map(|(_, figure)| *figure).collect();
        let middles: Vec<f64> = inside.iter().map(UncertainValue::middle).collect();
        let middle = median(&middles).ok()?;
        let low = inside.iter().map(UncertainValue::low).fold(middle, f64::min);
        let high = inside.iter().map(UncertainValue::high).fold(middle, f64::max);
        UncertainValue::from_measurement(low, middle, high).ok()
    };
    let access = uses.iter().filter_map(|(access, points)| Some((*access, of(points)?))).collect();
    MemoryLevel { name: name.into(), size_bytes, access }
}

/// Ranges of nearly constant latency, as name and upper end; main memory is the rest.
fn plateaus(latency: &[(u64, UncertainValue)]) -> Vec<(String, u64)> {
    const RISE: f64 = 1.4;
    let rises: Vec<bool> = latency.windows(2).map(|pair| pair[1].1.middle() > RISE * pair[0].1.middle()).collect();
    // The latency may climb over several sizes between levels: a level ends where that begins.
    let ends = (0..rises.len()).filter(|at| rises[*at] && (*at == 0 || !rises[at - 1]));
    ends.enumerate().map(|(index, at)| (format!("L{}", index + 1), latency[at].0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(latency: impl Fn(u64) -> f64) -> AccessCosts {
        let points = (12..28).map(|exponent| (1u64 << exponent, UncertainValue::exact(latency(1 << exponent)).unwrap())).collect();
        BTreeMap::from([(MemoryAccess::Latency, points)])
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
        let caches = [(1, 48 << 10), (2, 2 << 20)].map(|(level, bytes)| CpuCache { level, bytes, cores: vec![0] });
        let mut notes = Vec::new();
        let levels = memory_levels(
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
        let summary: Vec<(&str, Option<u64>, f64)> =
            levels.iter().map(|level| (level.name.as_str(), level.size_bytes, level.access[&MemoryAccess::Latency].middle())).collect();
        assert_eq!(summary, [("L1", Some(48 << 10), 1e-9), ("L2", Some(2 << 20), 4e-9), ("main", None, 80e-9)]);
        assert!(notes.is_empty());
    }

    #[test]
    fn levels_are_found_by_latency_where_caches_are_unknown() {
        let levels = memory_levels(&[], &uses(three_levels), &mut Vec::new());
        let summary: Vec<(&str, Option<u64>)> = levels.iter().map(|level| (level.name.as_str(), level.size_bytes)).collect();
        assert_eq!(summary, [("L1", Some(32 << 10)), ("L2", Some(1 << 20)), ("main", None)]);
    }

    #[test]
    fn unmeasured_main_memory_is_noted() {
        let caches = [CpuCache { level: 3, bytes: 1 << 30, cores: vec![0] }];
        let mut notes = Vec::new();
        assert_eq!(memory_levels(&caches, &uses(three_levels), &mut notes).len(), 1);
        assert!(notes[0].contains("main memory was not measured"), "{notes:?}");
    }
}
