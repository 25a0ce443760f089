//! Counters of Sintonia's archives: sums whose differences are the increases in intervals.

use sintonia_recording::counters::{CounterDefinition, CounterIntervals, RankCounters, ThreadCounters};

use crate::otf2::attributes::{CallAttribute, CallAttributeList};
use crate::otf2::event::MetricValue;
use crate::otf2::properties::{self, PropertyValue};

/// The counters of a rank, for each kind of intervals.
#[derive(Default)]
pub(super) struct OwnCounterDefinitions([Vec<CounterDefinition>; 2]);

impl OwnCounterDefinitions {
    /// From the properties of a process.
    pub(super) fn new(rank_properties: &[(String, PropertyValue)]) -> OwnCounterDefinitions {
        OwnCounterDefinitions(CounterIntervals::ALL.map(|kind| properties::parse_counters(rank_properties, kind)))
    }

    /// What was counted of the threads of a rank.
    pub(super) fn to_rank_counters(&self, threads: Vec<OwnCounterReader>) -> [RankCounters; 2] {
        let mut ranks = self.0.clone().map(|counters| RankCounters { counters, threads: Vec::new() });
        for thread in threads {
            ranks.iter_mut().zip(thread.counters).for_each(|(rank, thread)| rank.threads.push(thread));
        }
        ranks
    }
}

/// The counters of one thread.
pub(super) struct OwnCounterReader {
    counters: [ThreadCounters; 2],
    /// The latest readings.
    readings: [Vec<i64>; 2],
}

impl OwnCounterReader {
    pub(super) fn new(thread: u16) -> OwnCounterReader {
        OwnCounterReader { counters: [(); 2].map(|()| ThreadCounters::new(thread)), readings: [Vec::new(), Vec::new()] }
    }

    /// Takes a reading; only the one at the end of an interval has its length.
    pub(super) fn read(&mut self, definitions: &OwnCounterDefinitions, time: u64, values: &[MetricValue], attributes: &CallAttributeList) {
        for (index, intervals) in CounterIntervals::ALL.into_iter().enumerate() {
            let (length, counters) = (attributes.get(CallAttribute::interval_length(intervals)), &definitions.0[index]);
            let Some(length) = length.filter(|_| !counters.is_empty() && counters.len() == values.len()) else { continue };
            let readings = &mut self.readings[index];
            readings.resize(counters.len(), 0);
            let mut increases = vec![0; counters.len()];
            for (((increase, reading), counter), value) in increases.iter_mut().zip(readings).zip(counters).zip(values) {
                let MetricValue::Integer(value) = *value else { continue };
                *increase = if counter.is_sum { value.wrapping_sub(*reading) } else { value };
                *reading = value;
            }
            self.counters[index].push((time as i64).wrapping_sub(length as i64), time as i64, &increases);
        }
    }
}
