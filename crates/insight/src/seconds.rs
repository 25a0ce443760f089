//! Times as reports have them: recordings count nanoseconds.

pub(crate) fn seconds(ns: impl Into<i128>) -> f64 {
    ns.into() as f64 / 1e9
}
