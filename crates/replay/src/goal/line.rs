//! Operations in a line, first come, first served; each knows the one behind it, so a line is two numbers.

/// Nothing.
const NONE: u32 = u32::MAX;

/// What is known of an operation while the schedule is played.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// How many it still waits for; when it waits for none, its number in the order of all events.
    pub count: u32,
    /// The one behind it in its line.
    next: u32,
}

impl State {
    /// An operation that waits for so many others.
    pub fn waiting_for(count: u32) -> State {
        State { count, next: NONE }
    }
}

/// A line: the first one in the upper half, the last one in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line(pub u64);

impl Line {
    /// Nobody.
    pub const EMPTY: Line = Line(u64::MAX);

    /// The first one.
    #[inline]
    pub fn first(self) -> Option<u32> {
        let first = (self.0 >> 32) as u32;
        (first != NONE).then_some(first)
    }

    /// The line with one more at the end.
    #[inline]
    pub fn with(self, operation: u32, states: &mut [State]) -> Line {
        states[operation as usize].next = NONE;
        let first = self.first().inspect(|_| states[self.0 as u32 as usize].next = operation);
        Line((u64::from(first.unwrap_or(operation)) << 32) | u64::from(operation))
    }

    /// The line without the first one.
    #[inline]
    pub fn without_first(self, states: &[State]) -> Line {
        let next = self.first().map_or(NONE, |first| states[first as usize].next);
        Line((u64::from(next) << 32) | (self.0 & u64::from(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_first_goes_first() {
        let mut states = vec![State::default(); 10];
        let mut line = Line::EMPTY;
        assert_eq!(line.first(), None);
        for operation in [3, 9, 0] {
            line = line.with(operation, &mut states);
        }
        for operation in [3, 9, 0] {
            assert_eq!(line.first(), Some(operation));
            line = line.without_first(&states);
        }
        assert_eq!(line.first(), None);
        assert_eq!(line.with(7, &mut states).first(), Some(7));
    }
}
