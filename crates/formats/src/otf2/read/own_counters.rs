//! Counters of Sintonia's archives: readings whose differences are the increases in intervals.

use sintonia_recording::counters::{CounterDefinition, CounterIntervalKind, RankCounters, ThreadCounters};

use crate::otf2::attributes::{CallAttribute, CallAttributeList};
use crate::otf2::counter_reading::CounterReading;
use crate::otf2::event::MetricValue;
use crate::otf2::properties::{self, PropertyValue};

/// The counters of a rank, for each kind of intervals.
pub(super) struct OwnCounterDefinitions([(CounterIntervalKind, Vec<CounterDefinition>); 2]);

impl OwnCounterDefinitions {
    /// From the properties of a process.
    pub(super) fn new(rank_properties: &[(String, PropertyValue)]) -> OwnCounterDefinitions {
        OwnCounterDefinitions(CounterIntervalKind::ALL.map(|intervals| (intervals, properties::parse_counters(rank_properties, intervals))))
    }

    /// What was counted of the threads of a rank.
    pub(super) fn to_rank_counters(&self, threads: Vec<OwnCounterReader>) -> [(CounterIntervalKind, RankCounters); 2] {
        let mut ranks = self.0.clone().map(|(intervals, counters)| (intervals, RankCounters { counters, threads: Vec::new() }));
        for reader in threads {
            ranks.iter_mut().zip(reader.0).for_each(|((_, rank), series)| rank.threads.push(series.counters));
        }
        ranks
    }
}

/// The counters of one thread, for each kind of intervals.
pub(super) struct OwnCounterReader([OwnCounterSeries; 2]);

struct OwnCounterSeries {
    /// The attribute with the length of an interval.
    length: CallAttribute,
    readings: Vec<CounterReading>,
    counters: ThreadCounters,
}

impl OwnCounterReader {
    pub(super) fn new(thread: u16, definitions: &OwnCounterDefinitions) -> OwnCounterReader {
        OwnCounterReader(definitions.0.each_ref().map(|(intervals, counters)| OwnCounterSeries {
            length: CallAttribute::interval_length(*intervals),
            readings: counters.iter().map(CounterReading::new).collect(),
            counters: ThreadCounters::new(thread),
        }))
    }

    /// Takes a reading; only the one at the end of an interval has its length.
    pub(super) fn read(&mut self, time: u64, values: &[MetricValue], attributes: &CallAttributeList) {
        for series in self.0.iter_mut().filter(|series| !series.readings.is_empty() && series.readings.len() == values.len()) {
            let Some(length) = attributes.get(series.length) else { continue };
            let increase = |(reading, value): (&mut CounterReading, &MetricValue)| match *value {
                MetricValue::Integer(value) => reading.read(value),
                MetricValue::Double(_) => 0,
            };
            let increases: Vec<i64> = series.readings.iter_mut().zip(values).map(increase).collect();
            series.counters.push((time as i64).wrapping_sub(length as i64), time as i64, &increases);
        }
    }
}
