//! Which working sets are measured, and for how long each: from small to large, as long as there is time.

use std::io::Write;
use std::time::{Duration, Instant};

use super::{BenchError, BenchQuantity, BenchRecord, BenchSettings, ProcessBinding, memory};
use crate::MemoryAccess;

/// Working sets, from small to large, and the time for each.
pub(super) struct MemorySchedule {
    until: Instant,
    amounts: Vec<u64>,
    next: usize,
    /// When the last one began, and its time.
    last: Option<(Instant, Duration)>,
}

impl MemorySchedule {
    pub(super) fn new(until: Instant, place: &ProcessBinding, settings: &BenchSettings) -> MemorySchedule {
        let amounts = memory::working_set_sizes(place.caches.last().map(|cache| cache.bytes), settings.quick);
        MemorySchedule { until, amounts, next: 0, last: None }
    }

    /// The next working set and its time; none if it would take longer than what is left.
    pub(super) fn next(&mut self) -> Option<(u64, Duration)> {
        let amount = *self.amounts.get(self.next)?;
        let left = self.until.saturating_duration_since(Instant::now());
        let needed = match self.last {
            // It took all the time it needed, so a larger one takes longer in proportion.
            Some((began, time)) if began.elapsed() > time => began.elapsed() * amount.div_ceil(self.amounts[self.next - 1]) as u32,
            _ => Duration::ZERO,
        };
        if left.is_zero() || needed > left {
            return None;
        }
        let time = left / (self.amounts.len() - self.next) as u32;
        self.last = Some((Instant::now(), time));
        self.next += 1;
        Some((amount, time))
    }

    pub(super) fn done_percent(&self) -> u32 {
        (100 * self.next / self.amounts.len().max(1)) as u32
    }

    pub(super) fn write_left_out(&self, node: usize, out: &mut dyn Write) -> Result<(), BenchError> {
        let left_out = |amount: &u64| BenchRecord::LeftOut(BenchQuantity::Memory { node, access: MemoryAccess::Latency }, *amount);
        Ok(self.amounts[self.next..].iter().try_for_each(|amount| left_out(amount).write(out))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_longer_than_the_time_left_is_left_out() {
        let now = Instant::now();
        let until = now + Duration::from_secs(100);
        let mut schedule = MemorySchedule { until, amounts: vec![1 << 20, 3 << 19, 1 << 22], next: 0, last: None };
        assert_eq!(schedule.next().map(|(amount, _)| amount), Some(1 << 20));
        // It took 40 seconds, so one of half as much again may take 80.
        schedule.last = now.checked_sub(Duration::from_secs(40)).map(|began| (began, Duration::from_secs(33)));
        assert_eq!(schedule.next().map(|(amount, _)| amount), Some(3 << 19));
        schedule.last = now.checked_sub(Duration::from_secs(40)).map(|began| (began, Duration::from_secs(33)));
        assert!(schedule.next().is_none(), "four MiB take 120");
        assert_eq!(schedule.done_percent(), 66);
        let mut out = Vec::new();
        schedule.write_left_out(0, &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("4194304"));
    }
}
