//! Parameter sweeps: one or two what-if changes over a range of values.

use rayon::prelude::*;

use crate::Error;
use crate::scenario::ReplayScenario;
use crate::what_if::quantity::{BINARY_UNITS, BIT_UNITS, BYTE_UNITS, NO_UNIT, TIME_UNITS, UnitTable};
use crate::what_if::{WhatIf, WhatIfError};

/// Default number of steps of a range.
const DEFAULT_STEPS: usize = 9;

/// A what-if change over a range of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The changed quantity.
    pub name: String,
    /// The values as text.
    pub labels: Vec<String>,
    /// The change for each value.
    pub what_ifs: Vec<WhatIf>,
}

impl Sweep {
    /// Parses `latency=1us..1ms`, optionally with the number of steps (`/20`), or a list `1us:10us:1ms`.
    pub fn parse(text: &str) -> Result<Sweep, WhatIfError> {
        let (name, values) = text.split_once('=').unwrap_or((text, ""));
        let wrong = |expected: &str| WhatIfError::Value { name: name.into(), value: values.into(), expected: expected.into() };
        let labels: Vec<String> = match values.split_once("..") {
            None => values.split(':').map(str::to_owned).collect(),
            Some((first, rest)) => {
                let (last, steps) = rest.split_once('/').unwrap_or((rest, ""));
                let steps =
                    if steps.is_empty() { Some(DEFAULT_STEPS) } else { steps.parse().ok().filter(|steps| (2..=1000).contains(steps)) };
                let steps = steps.ok_or_else(|| wrong("The number of steps after / must be 2 to 1000"))?;
                geometric_range(first, last, steps)
                    .ok_or_else(|| wrong("Use a range with units, both above 0, such as 1us..1ms or x0.5..x2"))?
            }
        };
        let what_ifs = labels.iter().map(|value| {
            let mut found = WhatIf::parse(&format!("{name}={value}"))?;
            found.pop().filter(|_| found.is_empty()).ok_or_else(|| wrong("A sweep changes one quantity"))
        });
        let what_ifs = what_ifs.collect::<Result<Vec<_>, _>>()?;
        Ok(Sweep { name: name.into(), labels, what_ifs })
    }
}

/// Geometrically spaced values in the units of the first.
fn geometric_range(first: &str, last: &str, steps: usize) -> Option<Vec<String>> {
    let (low, high) = (ValueWithUnit::parse(first)?, ValueWithUnit::parse(last)?);
    let (a, b) = (low.value(), high.value());
    if !(a > 0.0 && b > 0.0) || (low.factor, low.units) != (high.factor, high.units) {
        return None;
    }
    let at = |step: usize| (a.ln() + (b / a).ln() * step as f64 / (steps - 1) as f64).exp();
    let middle = (1..steps - 1).map(|step| low.format_like(at(step)));
    Some([first.to_owned()].into_iter().chain(middle).chain([last.to_owned()]).collect())
}

/// Unit of shares.
const PERCENT: UnitTable = &[("%", 1.0)];

/// A parsed number with a unit.
struct ValueWithUnit {
    factor: bool,
    number: f64,
    scale: f64,
    /// Its family of units.
    units: UnitTable,
}

impl ValueWithUnit {
    fn parse(text: &str) -> Option<ValueWithUnit> {
        let (factor, text) = text.strip_prefix('x').map_or((false, text), |rest| (true, rest));
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != 'e' && c != '-' && c != '+').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let known = |units: UnitTable| units.iter().find(|(known, _)| *known == unit).map(|(_, worth)| (*worth, units));
        let (worth, units) = [TIME_UNITS, BIT_UNITS, BYTE_UNITS, BINARY_UNITS, NO_UNIT, PERCENT].into_iter().find_map(known)?;
        Some(ValueWithUnit { factor, number: number.parse().ok()?, scale: worth, units })
    }

    fn value(&self) -> f64 {
        self.number * self.scale
    }

    /// Formats another value in a suitable unit.
    fn format_like(&self, value: f64) -> String {
        let fits = self.units.iter().filter(|(unit, _)| *unit != "µs").rev().find(|(_, worth)| value >= *worth * 0.9995);
        let (unit, worth) = fits.copied().unwrap_or(self.units[0]);
        let digits = format!("{:.3e}", value / worth).parse::<f64>().unwrap_or(value / worth);
        format!("{}{digits}{unit}", if self.factor { "x" } else { "" })
    }
}

/// Seconds for each combination: one row per value of the second sweep, one column per value of the first. A single sweep has one row.
pub fn run_sweep(case: &ReplayScenario, first: &Sweep, second: Option<&Sweep>) -> Result<Vec<Vec<f64>>, Error> {
    let rows: Vec<Option<&WhatIf>> = second.map_or_else(|| vec![None], |second| second.what_ifs.iter().map(Some).collect());
    let inputs = case.prepare()?;
    let cell = |row: Option<&WhatIf>, column: &WhatIf| -> Result<f64, Error> {
        let what_ifs = case.what_ifs.iter().cloned().chain([column.clone()]).chain(row.cloned()).collect();
        let case = ReplayScenario { schedule: case.schedule, bounds: None, machine: case.machine.clone(), what_ifs };
        case.middle_seconds(&inputs)
    };
    rows.into_par_iter().map(|row| first.what_ifs.par_iter().map(|column| cell(row, column)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_walked_in_equal_factors_and_written_in_fitting_units() {
        let sweep = Sweep::parse("latency=1us..1ms/4").unwrap();
        assert_eq!(sweep.labels, ["1us", "10us", "100us", "1ms"]);
        assert_eq!(Sweep::parse("bandwidth=100Mb..100Gb/4").unwrap().labels, ["100Mb", "1Gb", "10Gb", "100Gb"]);
        assert_eq!(Sweep::parse("compute=x0.25..x1/3").unwrap().labels, ["x0.25", "x0.5", "x1"]);
        assert_eq!(Sweep::parse("latency=x1..x1000/4").unwrap().labels, ["x1", "x10", "x100", "x1000"]);
        assert_eq!(Sweep::parse("noise=1%..100%/3").unwrap().labels, ["1%", "10%", "100%"]);
        assert_eq!(Sweep::parse("latency=1us:5us").unwrap().labels, ["1us", "5us"]);
    }

    #[test]
    fn invalid_ranges_are_reported() {
        for bad in [
            "latency",
            "latency=0..1us",
            "latency=1us..1Mb",
            "latency=1us..2us/1",
            "speed=1..2",
            "latency=..",
            "bandwidth=1",
            "bandwidth=1Mbps..1Gbps",
        ] {
            assert!(Sweep::parse(bad).is_err(), "{bad}");
        }
    }
}
