//! Metrics of a trace, such as PAPI's, as counters of the recording.
//!
//! A trace has readings at enter and leave of regions; a recording has how much each counter increased between two MPI calls.

use std::collections::HashMap;
use std::ops::Range;

use sintonia_otf2::code::MetricMode;
use sintonia_recording::counters::{CounterDefinition, ThreadCounters};

use crate::otf2::event::MetricValue;
use crate::otf2::read::definitions::{ArchiveDefinitions, MetricMember, scale_factor};
use crate::otf2::read::text_budget::TextBudget;

/// Limit of metrics: each has a value for every MPI call in memory.
const MAX_METRICS: usize = 256;
/// Values of floating-point metrics are kept in millionths.
const FRACTION: f64 = 1e6;

/// What the value of a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueMeaning {
    /// A sum since the start of the measurement.
    Accumulated,
    /// The increase since the previous reading.
    Relative,
    /// A value of its own.
    Absolute,
}

impl ValueMeaning {
    fn from_mode(mode: MetricMode) -> ValueMeaning {
        match mode.0 & 0xf {
            0 => ValueMeaning::Accumulated,
            2 => ValueMeaning::Relative,
            _ => ValueMeaning::Absolute,
        }
    }
}

/// The counters of a trace, and where their values are in its events.
#[derive(Default)]
pub(super) struct MetricIndex {
    pub counters: Vec<CounterDefinition>,
    meanings: Vec<ValueMeaning>,
    /// The counters of each metric class.
    classes: HashMap<u32, Range<usize>>,
    /// Metrics beyond the limit.
    pub beyond_limit: u64,
    /// Metrics that are read at other times than events.
    pub asynchronous: u64,
}

impl MetricIndex {
    /// The metrics that are read where something happens. Those of other times belong to no segment.
    pub(super) fn new(definitions: &ArchiveDefinitions) -> MetricIndex {
        let (mut index, mut names) = (MetricIndex::default(), TextBudget::new());
        for class in definitions.metric_classes.iter().filter(|class| !class.members.is_empty()) {
            let (first, count) = (index.counters.len(), class.members.len());
            if !class.is_synchronous {
                index.asynchronous += count as u64;
                continue;
            }
            if first + count > MAX_METRICS {
                index.beyond_limit += count as u64;
                continue;
            }
            for member in class.members.iter().map(|member| definitions.metric_members.get(*member)) {
                index.counters.push(counter(definitions, member, &mut names));
                index.meanings.push(member.map_or(ValueMeaning::Absolute, |member| ValueMeaning::from_mode(member.mode)));
            }
            index.classes.insert(class.number, first..index.counters.len());
        }
        index
    }
}

fn counter(definitions: &ArchiveDefinitions, member: Option<&MetricMember>, names: &mut TextBudget) -> CounterDefinition {
    let Some(member) = member else { return CounterDefinition { is_sum: false, ..CounterDefinition::event_count("") } };
    let factor = scale_factor(member.base, member.exponent);
    let unit = definitions.string(member.unit.0).filter(|unit| *unit != "#");
    CounterDefinition {
        name: definitions.string(member.name.0).and_then(|name| names.copy_text(name)).unwrap_or_default(),
        unit: unit.and_then(|unit| names.copy_text(unit)).unwrap_or_default(),
        scale: if member.is_floating_point { factor / FRACTION } else { factor },
        is_sum: ValueMeaning::from_mode(member.mode) != ValueMeaning::Absolute,
    }
}

/// The counters of one thread.
pub(super) struct CounterReader {
    /// The latest values; increases are added up.
    latest: Vec<i64>,
    has_reading: bool,
    /// When the latest call was left, and the values then.
    segment: Option<(u64, Vec<i64>)>,
    counters: ThreadCounters,
}

impl CounterReader {
    pub(super) fn new(thread: u16, index: &MetricIndex) -> CounterReader {
        let latest = vec![0; index.counters.len()];
        CounterReader { latest, has_reading: false, segment: None, counters: ThreadCounters::new(thread) }
    }

    /// Takes a reading of a metric class.
    pub(super) fn read(&mut self, index: &MetricIndex, class: u32, values: &[MetricValue]) {
        let Some(members) = index.classes.get(&class) else { return };
        self.has_reading = true;
        let counters = self.latest[members.clone()].iter_mut().zip(&index.meanings[members.clone()]);
        for ((latest, meaning), value) in counters.zip(values) {
            let value = match *value {
                MetricValue::Integer(value) => value,
                MetricValue::Double(bits) => (f64::from_bits(bits) * FRACTION).round() as i64,
            };
            *latest = if *meaning == ValueMeaning::Relative { latest.wrapping_add(value) } else { value };
        }
    }

    /// A segment begins: an MPI call is left.
    pub(super) fn begin_segment(&mut self, time: u64) {
        if self.has_reading {
            self.segment = Some((time, self.latest.clone()));
        }
    }

    /// A segment ends: an MPI call is entered.
    pub(super) fn end_segment(&mut self, time: u64, index: &MetricIndex) {
        let Some((begin, before)) = self.segment.take() else { return };
        let difference = |((meaning, latest), before): ((&ValueMeaning, &i64), i64)| match meaning {
            ValueMeaning::Absolute => *latest,
            _ => latest.wrapping_sub(before),
        };
        let values: Vec<i64> = index.meanings.iter().zip(&self.latest).zip(before).map(difference).collect();
        self.counters.push(begin as i64, time as i64, &values);
    }

    pub(super) fn into_counters(self) -> ThreadCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otf2::read::definitions::MetricClass;

    #[test]
    fn what_a_value_means_is_in_its_mode() {
        let modes = [MetricMode::ACCUMULATED_START, MetricMode::ABSOLUTE_POINT, MetricMode::RELATIVE_NEXT];
        assert_eq!(modes.map(ValueMeaning::from_mode), [ValueMeaning::Accumulated, ValueMeaning::Absolute, ValueMeaning::Relative]);
    }

    #[test]
    fn increases_between_calls_are_counted_and_values_are_kept() {
        let counter = CounterDefinition::event_count("");
        let meanings = vec![ValueMeaning::Accumulated, ValueMeaning::Relative, ValueMeaning::Absolute];
        let index =
            MetricIndex { counters: vec![counter; 3], meanings, classes: HashMap::from([(7, 0..2), (8, 2..3)]), ..MetricIndex::default() };
        let mut reader = CounterReader::new(3, &index);
        let integers = |values: &[i64]| values.iter().copied().map(MetricValue::Integer).collect::<Vec<_>>();
        reader.end_segment(5, &index);
        reader.begin_segment(6);
        reader.end_segment(7, &index);
        // A value more than the class has is nobody's.
        reader.read(&index, 7, &integers(&[100, 1, 77]));
        reader.begin_segment(10);
        for values in [[150, 2], [160, 3]] {
            reader.read(&index, 7, &integers(&values));
        }
        reader.read(&index, 8, &[MetricValue::Double(1.5_f64.to_bits())]);
        reader.read(&index, 99, &integers(&[1, 1, 1]));
        reader.read(&index, 7, &integers(&[160, 0, 77]));
        reader.end_segment(20, &index);
        reader.end_segment(30, &index);
        let counters = reader.into_counters();
        let intervals: Vec<_> = counters.iter().map(|interval| (interval.begin, interval.end, interval.values.to_vec())).collect();
        assert_eq!(intervals, [(10, 20, vec![60, 5, 1_500_000])], "nothing is known before the first reading");
    }

    fn index(classes: &[(usize, bool)]) -> MetricIndex {
        let mut definitions = ArchiveDefinitions::default();
        let class = |(number, (members, is_synchronous)): (u32, &(usize, bool))| MetricClass {
            number,
            members: vec![0; *members],
            is_synchronous: *is_synchronous,
        };
        definitions.metric_classes.extend((0..).zip(classes).map(class));
        MetricIndex::new(&definitions)
    }

    #[test]
    fn more_metrics_than_any_tool_reads_are_left_out() {
        let index = index(&[(2, true), (1 << 20, true), (1, true)]);
        assert_eq!((index.counters.len(), index.classes, index.beyond_limit), (3, HashMap::from([(0, 0..2), (2, 2..3)]), 1 << 20));
    }

    #[test]
    fn metrics_of_other_times_are_counted() {
        let index = index(&[(3, false), (1, true)]);
        assert_eq!((index.counters.len(), index.classes, index.asynchronous), (1, HashMap::from([(1, 0..1)]), 3));
    }

    #[test]
    fn a_class_without_metrics_has_no_readings() {
        let index = index(&[(0, true)]);
        let mut reader = CounterReader::new(0, &index);
        reader.read(&index, 0, &[]);
        reader.begin_segment(10);
        reader.end_segment(20, &index);
        assert!(reader.into_counters().is_empty(), "a file of counters has at least one");
    }
}
