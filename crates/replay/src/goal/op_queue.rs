//! FIFO queues of operations as intrusive linked lists, so that a queue is just two indices.

const NONE: u32 = u32::MAX;

/// Simulation state of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OperationState {
    /// Number of unmet dependencies; afterwards its event sequence number.
    pub count: u32,
    /// Next one in its queue.
    next: u32,
}

impl OperationState {
    /// An operation with `count` dependencies.
    pub(super) fn waiting_for(count: u32) -> OperationState {
        OperationState { count, next: NONE }
    }
}

/// A queue: first operation in the upper half, last one in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OperationQueue(pub u64);

impl OperationQueue {
    pub(super) const EMPTY: OperationQueue = OperationQueue(u64::MAX);

    /// The first operation.
    #[inline]
    pub(super) fn front(self) -> Option<u32> {
        let first = (self.0 >> 32) as u32;
        (first != NONE).then_some(first)
    }

    /// The queue with one more at the end.
    #[inline]
    pub(super) fn with_back(self, operation: u32, states: &mut [OperationState]) -> OperationQueue {
        states[operation as usize].next = NONE;
        let first = self.front().inspect(|_| states[self.0 as u32 as usize].next = operation);
        OperationQueue((u64::from(first.unwrap_or(operation)) << 32) | u64::from(operation))
    }

    /// The queue without its first operation.
    #[inline]
    pub(super) fn without_front(self, states: &[OperationState]) -> OperationQueue {
        let next = self.front().map_or(NONE, |first| states[first as usize].next);
        OperationQueue((u64::from(next) << 32) | (self.0 & u64::from(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_first_in_first_out() {
        let mut states = vec![OperationState::default(); 10];
        let mut queue = OperationQueue::EMPTY;
        assert_eq!(queue.front(), None);
        for operation in [3, 9, 0] {
            queue = queue.with_back(operation, &mut states);
        }
        for operation in [3, 9, 0] {
            assert_eq!(queue.front(), Some(operation));
            queue = queue.without_front(&states);
        }
        assert_eq!(queue.front(), None);
        assert_eq!(queue.with_back(7, &mut states).front(), Some(7));
    }
}
