//! Units of measured values. Times become seconds; everything else stays what it is and is only named.

use serde::{Deserialize, Serialize};

/// A unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// What values are in after reading: `s` for times.
    pub name: String,
    /// What a value in the table is multiplied with.
    pub factor: f64,
}

impl Unit {
    /// The unit with this name.
    pub fn named(name: &str) -> Self {
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

/// A header as its name and unit: `send [us]` or `send (us)`.
pub fn split(header: &str) -> (&str, Option<Unit>) {
    let header = header.trim();
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((name, unit)) = header.strip_suffix(close).and_then(|h| h.split_once(open)) {
            return (name.trim(), Some(Unit::named(unit.trim())));
        }
    }
    (header, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_may_carry_a_unit_in_brackets() {
        assert_eq!(split("send [us]"), ("send", Some(Unit { name: "s".into(), factor: 1e-6 })));
        assert_eq!(split(" n (bytes) "), ("n", Some(Unit { name: "bytes".into(), factor: 1.0 })));
        assert_eq!(split("n"), ("n", None));
        assert_eq!(split("odd]"), ("odd]", None));
    }
}
