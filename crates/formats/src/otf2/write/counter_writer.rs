//! The counters of a rank as metric events.
//!
//! Tools expect sums that grow, read where something happens; a recording has the increase in each interval. So the sum is written at the
//! begin and the end of an interval, and an attribute of the second one has the length, by which an import finds the interval again.

use std::collections::BTreeMap;

use sintonia_otf2::code::{Base, MetricMode, MetricOccurrence, MetricType, RecorderKind, ValueType};
use sintonia_otf2::reference::{MetricMemberRef, MetricRef};
use sintonia_otf2::{ArchiveWriter, Definition};
use sintonia_recording::Recording;
use sintonia_recording::counters::{CounterDefinition, CounterIntervalKind, RankCounters, ThreadCounters};

use crate::error::Error;
use crate::otf2::attributes::{CallAttribute, CallAttributeList};
use crate::otf2::counter_reading::CounterReading;
use crate::otf2::event::{MetricValue, MpiEvent};
use crate::otf2::properties::{self, Property};

/// Limit of exponents of factors.
const MAX_EXPONENT: i32 = 60;

/// Counters that are read together, as a metric class.
type CounterSet = (CounterIntervalKind, Vec<CounterDefinition>);

/// The metric classes of an archive: the counters of each rank, each list once.
#[derive(Default)]
pub(super) struct MetricClasses {
    classes: Vec<CounterSet>,
}

impl MetricClasses {
    /// The counters of all ranks; those of samples only if these are written.
    pub(super) fn new(recording: &Recording, has_samples: bool) -> Result<MetricClasses, Error> {
        let mut all = MetricClasses::default();
        for rank in recording.header.ranks.iter().filter(|rank| rank.counters.is_some()) {
            for intervals in written_intervals(has_samples) {
                let RankCounters { counters, threads } = recording.counters(rank.rank, *intervals)?;
                if !threads.is_empty() && all.find(*intervals, &counters).is_none() {
                    all.classes.push((*intervals, counters));
                }
            }
        }
        Ok(all)
    }

    fn find(&self, intervals: CounterIntervalKind, counters: &[CounterDefinition]) -> Option<u32> {
        self.classes.iter().position(|(kind, known)| *kind == intervals && known == counters).map(|index| index as u32)
    }

    pub(super) fn define(&self, archive: &mut ArchiveWriter) {
        let mut next = 0;
        for ((intervals, counters), class) in self.classes.iter().zip(0..) {
            let members: Vec<MetricMemberRef> = (next..).take(counters.len()).map(MetricMemberRef).collect();
            next += counters.len() as u32;
            for (counter, reference) in counters.iter().zip(&members) {
                define_member(archive, *reference, counter, *intervals);
            }
            archive.define(&Definition::MetricClass {
                reference: MetricRef(class),
                members,
                occurrence: MetricOccurrence::SYNCHRONOUS,
                recorder_kind: RecorderKind::CPU,
            });
        }
    }
}

fn written_intervals(has_samples: bool) -> &'static [CounterIntervalKind] {
    if has_samples { &CounterIntervalKind::ALL } else { &[CounterIntervalKind::Segments] }
}

fn define_member(archive: &mut ArchiveWriter, reference: MetricMemberRef, counter: &CounterDefinition, intervals: CounterIntervalKind) {
    let description = match intervals {
        CounterIntervalKind::Segments => "between MPI calls",
        CounterIntervalKind::Samples => "between samples",
    };
    let (base, exponent) = factor(counter.scale);
    let (name, description) = (archive.string(&counter.name), archive.string(description));
    let unit = archive.string(if counter.unit.is_empty() { "#" } else { &counter.unit });
    archive.define(&Definition::MetricMember {
        reference,
        name,
        description,
        metric_type: if counter.name.starts_with("PAPI_") { MetricType::PAPI } else { MetricType::OTHER },
        metric_mode: if counter.is_sum { MetricMode::ACCUMULATED_START } else { MetricMode::ABSOLUTE_LAST },
        value_type: ValueType::INT64,
        base,
        exponent,
        unit,
    });
}

/// Base and exponent of a scale; that of 1 if it is a power of neither base.
fn factor(scale: f64) -> (Base, i64) {
    let exponent = |base: f64| (-MAX_EXPONENT..=MAX_EXPONENT).find(|exponent| base.powi(*exponent) == scale);
    match (exponent(10.0), exponent(2.0)) {
        (Some(exponent), _) => (Base::DECIMAL, exponent.into()),
        (None, Some(exponent)) => (Base::BINARY, exponent.into()),
        (None, None) => (Base::DECIMAL, 0),
    }
}

/// The readings of a rank that have not been written yet.
#[derive(Default)]
pub(super) struct PendingReadings {
    threads: BTreeMap<u16, Vec<CounterSeries>>,
    /// What was counted.
    pub properties: Vec<Property>,
}

impl PendingReadings {
    pub(super) fn read(recording: &Recording, classes: &MetricClasses, rank: u32, has_samples: bool) -> Result<PendingReadings, Error> {
        let mut pending = PendingReadings::default();
        for intervals in written_intervals(has_samples) {
            let RankCounters { counters, threads } = recording.counters(rank, *intervals)?;
            let Some(class) = classes.find(*intervals, &counters) else { continue };
            pending.properties.push(properties::counters_property(*intervals, &counters));
            for thread in threads {
                pending.threads.entry(thread.thread).or_default().push(CounterSeries::new(class, *intervals, &counters, &thread));
            }
        }
        Ok(pending)
    }

    pub(super) fn threads(&self) -> Vec<u16> {
        self.threads.keys().copied().collect()
    }

    /// The time of the next reading of a thread.
    pub(super) fn next_time(&self, thread: u16) -> Option<i64> {
        self.threads.get(&thread)?.iter().filter_map(CounterSeries::next_time).min()
    }

    /// The next reading of a thread.
    pub(super) fn next(&mut self, thread: u16) -> Option<(i64, MpiEvent, CallAttributeList)> {
        let series = self.threads.get_mut(&thread)?;
        series.iter_mut().filter(|series| series.next_time().is_some()).min_by_key(|series| series.next_time())?.next()
    }
}

/// The intervals of a thread between calls, or between samples.
struct CounterSeries {
    class: u32,
    /// The attribute with the length of an interval.
    length: CallAttribute,
    intervals: Vec<(i64, i64)>,
    /// For each interval one value of each counter.
    values: Vec<i64>,
    /// The interval that has not been written, and whether its begin has.
    position: (usize, bool),
    readings: Vec<CounterReading>,
}

impl CounterSeries {
    fn new(class: u32, intervals: CounterIntervalKind, counters: &[CounterDefinition], thread: &ThreadCounters) -> CounterSeries {
        CounterSeries {
            class,
            length: CallAttribute::interval_length(intervals),
            intervals: thread.iter().map(|interval| (interval.begin, interval.end)).collect(),
            values: thread.iter().flat_map(|interval| interval.values).copied().collect(),
            position: (0, false),
            readings: counters.iter().map(CounterReading::new).collect(),
        }
    }

    /// Whether the next reading is the begin of an interval: not if the one before ended there.
    fn is_at_begin(&self) -> bool {
        let (index, begun) = self.position;
        let begin = |index: usize| self.intervals[index].0;
        !begun && index.checked_sub(1).is_none_or(|before| self.intervals[before].1 != begin(index))
    }

    fn next_time(&self) -> Option<i64> {
        let (begin, end) = *self.intervals.get(self.position.0)?;
        Some(if self.is_at_begin() { begin } else { end })
    }

    fn next(&mut self) -> Option<(i64, MpiEvent, CallAttributeList)> {
        let time = self.next_time()?;
        let mut attributes = CallAttributeList::default();
        if self.is_at_begin() {
            self.position.1 = true;
        } else {
            let (index, width) = (self.position.0, self.readings.len());
            let (begin, end) = self.intervals[index];
            attributes.add(self.length, end.wrapping_sub(begin) as u64);
            let values = &self.values[index * width..(index + 1) * width];
            self.readings.iter_mut().zip(values).for_each(|(reading, value)| reading.add_interval(*value));
            self.position = (index + 1, false);
        }
        let readings = self.readings.iter().map(|reading| MetricValue::Integer(reading.latest())).collect();
        Some((time, MpiEvent::Metric(self.class, readings), attributes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_written_at_both_ends_of_an_interval() {
        let power = CounterDefinition { is_sum: false, ..CounterDefinition::event_count("power") };
        let mut thread = ThreadCounters::new(0);
        [(10, 20, [5, 7]), (20, 30, [6, 8]), (40, 50, [1, 9])].iter().for_each(|(begin, end, values)| thread.push(*begin, *end, values));
        let mut series =
            CounterSeries::new(3, CounterIntervalKind::Segments, &[CounterDefinition::event_count("instructions"), power], &thread);
        let mut written = Vec::new();
        while let Some((time, event, attributes)) = series.next() {
            let MpiEvent::Metric(3, values) = event else { panic!("a metric") };
            written.push((time, values, attributes.get(CallAttribute::SegmentLength)));
        }
        let reading = |values: [i64; 2]| values.map(MetricValue::Integer).to_vec();
        let expected = [
            (10, reading([0, 0]), None),
            (20, reading([5, 7]), Some(10)),
            (30, reading([11, 8]), Some(10)),
            (40, reading([11, 8]), None),
            (50, reading([12, 9]), Some(10)),
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn a_scale_is_a_power() {
        let factors = [1.0, 1e-6, 1024.0, 0.3].map(factor);
        assert_eq!(factors, [(Base::DECIMAL, 0), (Base::DECIMAL, -6), (Base::BINARY, 10), (Base::DECIMAL, 0)]);
    }
}
