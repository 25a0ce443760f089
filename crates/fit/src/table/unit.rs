//! Units of measured values. Times are converted to seconds; other units are only named.

use serde::{Deserialize, Serialize};

/// A unit of measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurementUnit {
    /// The unit of the values after reading: `s` for times.
    pub name: String,
    /// The factor that values in the table are multiplied by.
    pub factor: f64,
}

impl MeasurementUnit {
    /// The unit with this name.
    pub fn from_name(name: &str) -> Self {
        let factor = match name {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" | "sec" | "second" | "seconds" => 1.0,
            "min" => 60.0,
            "h" => 3600.0,
            _ => return Self { name: name.to_owned(), factor: 1.0 },
        };
        Self { name: "s".to_owned(), factor }
    }
}

/// Splits a header into name and unit: `send [us]` or `send (us)`.
pub(super) fn split_header(header: &str) -> (&str, Option<MeasurementUnit>) {
    let header = header.trim();
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((name, unit)) = header.strip_suffix(close).and_then(|h| h.split_once(open)) {
            return (name.trim(), Some(MeasurementUnit::from_name(unit.trim())));
        }
    }
    (header, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_may_carry_a_unit_in_brackets() {
        assert_eq!(split_header("send [us]"), ("send", Some(MeasurementUnit { name: "s".into(), factor: 1e-6 })));
        assert_eq!(split_header(" n (bytes) "), ("n", Some(MeasurementUnit { name: "bytes".into(), factor: 1.0 })));
        assert_eq!(split_header("n"), ("n", None));
        assert_eq!(split_header("odd]"), ("odd]", None));
    }
}
