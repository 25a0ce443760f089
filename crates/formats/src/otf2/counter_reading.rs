//! Readings of a counter: tools expect sums that grow, a recording has the increase in each interval.

use sintonia_recording::counters::CounterDefinition;

/// The latest reading of a counter.
pub(super) struct CounterReading {
    is_sum: bool,
    latest: i64,
}

impl CounterReading {
    pub(super) fn new(counter: &CounterDefinition) -> CounterReading {
        CounterReading { is_sum: counter.is_sum, latest: 0 }
    }

    pub(super) fn latest(&self) -> i64 {
        self.latest
    }

    /// Takes the value of the next interval.
    pub(super) fn add_interval(&mut self, value: i64) {
        self.latest = if self.is_sum { self.latest.wrapping_add(value) } else { value };
    }

    /// Takes the next reading, and returns the value of the interval between.
    pub(super) fn read(&mut self, reading: i64) -> i64 {
        let value = if self.is_sum { reading.wrapping_sub(self.latest) } else { reading };
        self.latest = reading;
        value
    }
}
