//! Builds a schedule from the statements of a text or binary file.

use super::graph::{ANY, DependentOp, GoalChannel, GoalOp, GoalOpKind, GoalSchedule, MAX_OPERATIONS};

/// An operation as the file describes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpDescription {
    pub kind: GoalOpKind,
    /// Bytes of a message, nanoseconds of a computation.
    pub size: u64,
    /// The peer of a message, or [`ANY`].
    pub peer: u32,
    /// The tag of a message, or [`ANY`].
    pub tag: u32,
    pub cpu: u8,
    pub nic: u8,
}

/// A dependency between two operations, by their numbers in the rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpDependency {
    /// The operation that waits.
    pub dependent: u32,
    /// The operation it waits for.
    pub prerequisite: u32,
    /// Whether it waits only for the start (`irequires`).
    pub start_only: bool,
}

/// Builds a [`GoalSchedule`]. Errors are messages; the reader adds the position.
#[derive(Default)]
pub(super) struct GoalBuilder {
    goal: GoalSchedule,
    channel_table: ChannelTable,
    dependencies: Vec<OpDependency>,
    /// The current rank and its first operation.
    current: Option<(u32, u32)>,
    seen_ranks: Vec<bool>,
}

impl GoalBuilder {
    /// Sets the number of ranks, once, before the first rank; a file of `bytes` bytes cannot have more ranks than that.
    pub(super) fn set_rank_count(&mut self, count: u64, bytes: u64) -> Result<(), String> {
        if !self.goal.ranks.is_empty() {
            return Err("`num_ranks` is given twice".to_owned());
        }
        let limit = bytes.min(MAX_OPERATIONS as u64);
        if !(1..=limit).contains(&count) {
            return Err(format!("`num_ranks` is {count}, but this file can have from 1 to {limit} ranks"));
        }
        let count = count as usize;
        self.goal.ranks = vec![[0; 2]; count];
        self.seen_ranks = vec![false; count];
        Ok(())
    }

    pub(super) fn current_rank(&self) -> Option<u32> {
        self.current.map(|(rank, _)| rank)
    }

    /// Whether the rank already has this operation.
    pub(super) fn has_operation(&self, rank: usize, operation: usize) -> bool {
        let count = match self.current {
            Some((open, first)) if open as usize == rank => self.goal.operations.len() - first as usize,
            _ => self.goal.rank_operations(rank).len(),
        };
        operation < count
    }

    pub(super) fn begin_rank(&mut self, rank: u64) -> Result<(), String> {
        if let Some(open) = self.current_rank() {
            return Err(format!("rank {rank} begins before rank {open} has ended: a `}}` is missing"));
        }
        let count = self.goal.ranks.len();
        let seen = usize::try_from(rank).ok().and_then(|rank| self.seen_ranks.get_mut(rank));
        let seen = seen.ok_or_else(|| format!("there is no rank {rank}: `num_ranks` is {count}"))?;
        if std::mem::replace(seen, true) {
            return Err(format!("rank {rank} is defined twice"));
        }
        self.current = Some((rank as u32, self.goal.operations.len() as u32));
        Ok(())
    }

    /// Adds an operation; returns its number in the rank.
    pub(super) fn add_operation(&mut self, description: OpDescription) -> Result<u32, String> {
        let Some((rank, first)) = self.current else {
            return Err("an operation is outside of a rank: `rank 0 {` is missing".to_owned());
        };
        let number = self.goal.operations.len();
        if number >= MAX_OPERATIONS {
            return Err(format!("there are more than {MAX_OPERATIONS} operations"));
        }
        let OpDescription { kind, size, cpu, nic, .. } = description;
        let index = match self.channel_for(rank, description)? {
            Some(channel) => self.channel_table.get_or_insert(channel, &mut self.goal.channels),
            None => rank,
        };
        self.goal.operations.push(GoalOp::new(kind, size, index, cpu, nic));
        self.goal.cpus = self.goal.cpus.max(u16::from(cpu) + 1);
        self.goal.nics = self.goal.nics.max(u16::from(nic) + 1);
        Ok(number as u32 - first)
    }

    fn channel_for(&self, rank: u32, description: OpDescription) -> Result<Option<GoalChannel>, String> {
        let OpDescription { kind, peer, tag, .. } = description;
        let count = self.goal.ranks.len();
        if kind != GoalOpKind::Compute && peer as usize >= count && (peer, kind) != (ANY, GoalOpKind::Receive) {
            return Err(format!("there is no rank {peer}: `num_ranks` is {count}"));
        }
        Ok(match kind {
            GoalOpKind::Compute => None,
            GoalOpKind::Send => Some(GoalChannel { source: rank, destination: peer, tag }),
            GoalOpKind::Receive => Some(GoalChannel { source: peer, destination: rank, tag }),
        })
    }

    /// Adds a dependency between two operations of the current rank, both already added.
    pub(super) fn add_dependency(&mut self, dependency: OpDependency) {
        self.dependencies.push(dependency);
    }

    pub(super) fn end_rank(&mut self) -> Result<(), String> {
        let (rank, first) = self.current.take().ok_or("unmatched `}`")?;
        self.goal.ranks[rank as usize] = [first, self.goal.operations.len() as u32];
        let begin = self.goal.dependents.len();
        if begin + self.dependencies.len() > u32::MAX as usize {
            return Err(format!("there are more than {} dependencies", u32::MAX));
        }
        self.link_dependencies(first as usize, begin);
        self.dependencies.clear();
        Ok(())
    }

    /// Sorts the dependencies by prerequisite: those on its start first, otherwise in file order.
    fn link_dependencies(&mut self, first: usize, begin: usize) {
        let operations = &mut self.goal.operations[first..];
        for dependency in &self.dependencies {
            operations[dependency.prerequisite as usize].first_dependent += 1;
            operations[dependency.dependent as usize].dependency_count += 1;
        }
        let mut next = begin as u32;
        for operation in operations.iter_mut() {
            next += std::mem::replace(&mut operation.first_dependent, next);
        }
        self.goal.dependents.resize(begin + self.dependencies.len(), DependentOp::new(0, false));
        for start_only in [true, false] {
            for dependency in self.dependencies.iter().filter(|dependency| dependency.start_only == start_only) {
                let slot = &mut operations[dependency.prerequisite as usize].first_dependent;
                self.goal.dependents[*slot as usize] = DependentOp::new(first as u32 + dependency.dependent, start_only);
                *slot += 1;
            }
        }
        // Each index is now past its own dependents, where those of the next operation begin.
        let mut own = begin as u32;
        for operation in operations {
            own = std::mem::replace(&mut operation.first_dependent, own);
        }
    }

    pub(super) fn finish(mut self) -> Result<GoalSchedule, String> {
        if let Some(rank) = self.current_rank() {
            return Err(format!("the file ends within rank {rank}: a `}}` is missing"));
        }
        if self.goal.ranks.is_empty() {
            return Err("`num_ranks` is missing: not a GOAL schedule".to_owned());
        }
        if let Some(rank) = self.seen_ranks.iter().position(|seen| !seen) {
            return Err(format!("rank {rank} is missing: `num_ranks` is {}", self.seen_ranks.len()));
        }
        self.channel_table = ChannelTable::default();
        self.sort_channels();
        Ok(self.goal)
    }

    /// Renumbers the channels by receiver, so that the channels of a receiver are adjacent.
    fn sort_channels(&mut self) {
        let channels = &self.goal.channels;
        let mut next = vec![0u32; self.goal.ranks.len() + 1];
        channels.iter().for_each(|channel| next[channel.destination as usize + 1] += 1);
        for rank in 1..next.len() {
            next[rank] += next[rank - 1];
        }
        let mut sorted = channels.clone();
        let mut new_indices = Vec::with_capacity(channels.len());
        for channel in channels {
            let index = &mut next[channel.destination as usize];
            sorted[*index as usize] = *channel;
            new_indices.push(*index);
            *index += 1;
        }
        self.goal.channels = sorted;
        self.goal.operations.iter_mut().for_each(|operation| operation.renumber_channel(&new_indices));
    }
}

/// Open-addressing hash table of channel numbers; the channels themselves are stored elsewhere.
#[derive(Default)]
struct ChannelTable {
    slots: Vec<u32>,
}

impl ChannelTable {
    const FREE: u32 = u32::MAX;

    /// The number of a channel, assigned on first use.
    fn get_or_insert(&mut self, channel: GoalChannel, channels: &mut Vec<GoalChannel>) -> u32 {
        if channels.len() * 2 >= self.slots.len() {
            self.grow(channels);
        }
        let slot = self.find_slot(channel, channels);
        if self.slots[slot] == ChannelTable::FREE {
            self.slots[slot] = channels.len() as u32;
            channels.push(channel);
        }
        self.slots[slot]
    }

    /// Its slot, or the free slot where it belongs.
    fn find_slot(&self, channel: GoalChannel, channels: &[GoalChannel]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(channel) & mask;
        while self.slots[slot] != ChannelTable::FREE && channels[self.slots[slot] as usize] != channel {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self, channels: &[GoalChannel]) {
        let size = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(size, ChannelTable::FREE);
        for (number, channel) in channels.iter().enumerate() {
            let slot = self.find_slot(*channel, channels);
            self.slots[slot] = number as u32;
        }
    }
}

fn hash(channel: GoalChannel) -> usize {
    let ends = (u64::from(channel.source) << 32) | u64::from(channel.destination);
    let mixed = ends.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(channel.tag).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (mixed ^ (mixed >> 32)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_keeps_its_number_however_many_there_are() {
        let (mut numbers, mut channels) = (ChannelTable::default(), Vec::new());
        let channel = |n: u32| GoalChannel { source: n % 17, destination: n / 17, tag: n % 3 };
        let first: Vec<u32> = (0..5000).map(|n| numbers.get_or_insert(channel(n), &mut channels)).collect();
        let again: Vec<u32> = (0..5000).map(|n| numbers.get_or_insert(channel(n), &mut channels)).collect();
        assert_eq!(first, again);
        assert!(first.iter().enumerate().all(|(n, number)| channels[*number as usize] == channel(n as u32)));
    }

    #[test]
    fn dependents_on_the_start_come_before_those_on_the_end() {
        let mut builder = GoalBuilder::default();
        builder.set_rank_count(1, 100).unwrap();
        builder.begin_rank(0).unwrap();
        let compute = OpDescription { kind: GoalOpKind::Compute, size: 1, peer: 0, tag: 0, cpu: 0, nic: 0 };
        for _ in 0..4 {
            builder.add_operation(compute).unwrap();
        }
        for (dependent, start_only) in [(3, false), (1, true), (2, false)] {
            builder.add_dependency(OpDependency { dependent, prerequisite: 0, start_only });
        }
        builder.add_dependency(OpDependency { dependent: 3, prerequisite: 2, start_only: false });
        builder.end_rank().unwrap();
        let goal = builder.finish().unwrap();
        let dependents = |n| goal.dependents(n).iter().map(|d| (d.operation(), d.waits_for_start())).collect::<Vec<_>>();
        assert_eq!(dependents(0), [(1, true), (3, false), (2, false)]);
        assert_eq!((dependents(1), dependents(2), dependents(3)), (vec![], vec![(3, false)], vec![]));
        assert_eq!(goal.operations().iter().map(|operation| operation.dependency_count).collect::<Vec<_>>(), [0, 1, 1, 2]);
    }
}
