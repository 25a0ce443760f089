//! The (CPU, NIC) pairs a schedule uses.

use sintonia_formats::goal::GoalSchedule;

/// Compact numbering of the used pairs: few of all possible ones.
pub(super) struct CpuNicPairs {
    indices: Vec<u16>,
    count: usize,
}

impl CpuNicPairs {
    /// The pairs of a schedule. Computation is on NIC 0.
    pub(super) fn new(goal: &GoalSchedule) -> CpuNicPairs {
        if goal.cpus().max(goal.nics()) <= 1 {
            return CpuNicPairs { indices: vec![0], count: 1 };
        }
        let mut used = vec![false; 1 << 16];
        goal.operations().iter().for_each(|operation| used[table_index(operation.cpu, operation.nic)] = true);
        let mut count = 0;
        let number = |used: bool| {
            let number = count as u16;
            count += usize::from(used);
            number
        };
        let numbers = used.into_iter().map(number).collect();
        CpuNicPairs { indices: numbers, count }
    }

    /// Number of pairs.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Index of a used pair.
    #[inline]
    pub(super) fn index(&self, cpu: u8, nic: u8) -> usize {
        usize::from(self.indices[table_index(cpu, nic)])
    }
}

fn table_index(cpu: u8, nic: u8) -> usize {
    usize::from(cpu) << 8 | usize::from(nic)
}
