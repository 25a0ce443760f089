//! Which pairs of processor and network interface a schedule uses.

use sintonia_formats::goal::Goal;

/// The pairs that there are, numbered: few of all possible ones.
pub struct Pairs {
    numbers: Vec<u16>,
    count: usize,
}

impl Pairs {
    /// Those of a schedule. Computation is on network interface 0.
    pub fn of(goal: &Goal) -> Pairs {
        if goal.cpus().max(goal.nics()) <= 1 {
            return Pairs { numbers: vec![0], count: 1 };
        }
        let mut there = vec![false; 1 << 16];
        goal.operations().iter().for_each(|operation| there[place(operation.cpu, operation.nic)] = true);
        let mut count = 0;
        let number = |there: bool| {
            let number = count as u16;
            count += usize::from(there);
            number
        };
        let numbers = there.into_iter().map(number).collect();
        Pairs { numbers, count }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of one that is there.
    #[inline]
    pub fn number(&self, cpu: u8, nic: u8) -> usize {
        usize::from(self.numbers[place(cpu, nic)])
    }
}

fn place(cpu: u8, nic: u8) -> usize {
    usize::from(cpu) << 8 | usize::from(nic)
}
