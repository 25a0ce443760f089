//! Totals of a run over all threads of all ranks: processor time, and counters.

use std::collections::BTreeMap;

use sintonia_recording::counters::CounterIntervalKind;
use sintonia_recording::{Error, Recording};

const CPU: &str = "cpu";
/// The unit of what is counted, which has an exact formula if there is a simple one.
const COUNT: &str = "count";

/// A total over all threads of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTotal {
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// The totals of a run: what the kernel knows of its threads, and its counters, if every rank has them.
pub(crate) fn totals(recording: &Recording) -> Result<BTreeMap<String, RunTotal>, Error> {
    let ranks = &recording.header.ranks;
    let mut totals: BTreeMap<String, RunTotal> = BTreeMap::new();
    for (index, rank) in ranks.iter().enumerate() {
        let mut own: BTreeMap<String, RunTotal> = BTreeMap::new();
        let counted = recording.counters(rank.rank, CounterIntervalKind::Segments)?;
        for (counter, definition) in counted.counters.iter().enumerate().filter(|(_, definition)| definition.is_sum) {
            let values = counted.threads.iter().flat_map(|thread| thread.iter()).map(|interval| interval.values[counter] as f64);
            let unit = if definition.unit.is_empty() { COUNT.to_owned() } else { definition.unit.clone() };
            own.insert(definition.name.clone(), RunTotal { value: definition.scale * values.sum::<f64>(), unit });
        }
        // What is known of whole threads is more than what was counted in their long segments.
        if !rank.usage.is_empty() {
            let cpu_ns: u64 = rank.usage.iter().map(|thread| thread.cpu_ns).sum();
            let faults: u64 = rank.usage.iter().map(|thread| thread.minor_faults.unwrap_or(0) + thread.major_faults.unwrap_or(0)).sum();
            own.insert(CPU.to_owned(), RunTotal { value: cpu_ns as f64 * 1e-9, unit: "s".to_owned() });
            own.insert("page-faults".to_owned(), RunTotal { value: faults as f64, unit: COUNT.to_owned() });
        }
        if index == 0 {
            totals = own;
            continue;
        }
        totals.retain(|name, _| own.contains_key(name));
        totals.iter_mut().for_each(|(name, total)| total.value += own[name].value);
    }
    Ok(totals)
}
