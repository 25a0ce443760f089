//! The choice between the bounds of a machine's intervals.

/// Which bound of the machine's intervals is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalBound {
    /// Everything as fast as possible.
    Low = 0,
    /// Most likely values.
    Middle = 1,
    /// Everything as slow as possible.
    High = 2,
}
