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
    /// Peer and tag of each message, in file order.
    message_ends: Vec<MessageEnds>,
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
        let OpDescription { kind, size, peer, tag, cpu, nic } = description;
        if kind != GoalOpKind::Compute {
            let count = self.goal.ranks.len();
            if peer as usize >= count && (peer, kind) != (ANY, GoalOpKind::Receive) {
                return Err(format!("there is no rank {peer}: `num_ranks` is {count}"));
            }
            self.message_ends.push(MessageEnds { peer, tag });
        }
        self.goal.operations.push(GoalOp::new(kind, size, rank, cpu, nic));
        self.goal.cpus = self.goal.cpus.max(u16::from(cpu) + 1);
        self.goal.nics = self.goal.nics.max(u16::from(nic) + 1);
        Ok(number as u32 - first)
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
        self.assign_channels();
        Ok(self.goal)
    }

    /// Numbers the channels by receiver, those of a receiver in file order. All messages of a receiver are looked up together: one table for
    /// the channels of all receivers would not fit into a cache.
    fn assign_channels(&mut self) {
        let (by_receiver, ends) = self.messages_by_receiver();
        let mut table = ChannelTable::default();
        let mut first = 0;
        for (destination, end) in (0..).zip(ends) {
            let messages = &by_receiver[first..end];
            first = end;
            table.reset(messages.len());
            for message in messages {
                let channel = GoalChannel { source: message.source, destination, tag: message.tag };
                let number = table.get_or_insert(channel, &mut self.goal.channels);
                self.goal.operations[message.operation as usize].set_channel(number);
            }
        }
    }

    /// The messages of each receiver in file order, and where those of each receiver end.
    fn messages_by_receiver(&mut self) -> (Vec<ReceiverMessage>, Vec<usize>) {
        let message_ends = std::mem::take(&mut self.message_ends);
        let operations = self.goal.operations.iter().zip(0..).filter(|(operation, _)| operation.kind != GoalOpKind::Compute);
        let messages = operations.zip(&message_ends).map(|((operation, number), ends)| {
            let (rank, MessageEnds { peer, tag }) = (operation.own_rank(), *ends);
            let (source, destination) = if operation.kind == GoalOpKind::Send { (rank, peer) } else { (peer, rank) };
            (destination as usize, ReceiverMessage { operation: number, source, tag })
        });
        let mut next = vec![0; self.goal.ranks.len() + 1];
        messages.clone().for_each(|(destination, _)| next[destination + 1] += 1);
        for rank in 1..next.len() {
            next[rank] += next[rank - 1];
        }
        let mut by_receiver = vec![ReceiverMessage::default(); message_ends.len()];
        for (destination, message) in messages {
            by_receiver[next[destination]] = message;
            next[destination] += 1;
        }
        next.pop();
        (by_receiver, next)
    }
}

/// Peer and tag of a message, as its operation names them.
#[derive(Clone, Copy, Debug)]
struct MessageEnds {
    peer: u32,
    tag: u32,
}

/// A send or receive, from the side of the receiver.
#[derive(Clone, Copy, Default)]
struct ReceiverMessage {
    operation: u32,
    source: u32,
    tag: u32,
}

/// Open-addressing hash table of the channels of a receiver; the channels themselves are stored elsewhere.
#[derive(Default)]
struct ChannelTable {
    slots: Vec<u32>,
}

impl ChannelTable {
    const FREE: u32 = u32::MAX;

    /// Empties the table and makes room for the channels of this many messages.
    fn reset(&mut self, messages: usize) {
        self.slots.clear();
        self.slots.resize((messages * 2).next_power_of_two(), ChannelTable::FREE);
    }

    /// The number of a channel, assigned on first use.
    fn get_or_insert(&mut self, channel: GoalChannel, channels: &mut Vec<GoalChannel>) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = hash(channel) & mask;
        loop {
            match self.slots[slot] {
                ChannelTable::FREE => {
                    self.slots[slot] = channels.len() as u32;
                    channels.push(channel);
                    return self.slots[slot];
                }
                number if channels[number as usize] == channel => return number,
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

fn hash(channel: GoalChannel) -> usize {
    let mixed = (u64::from(channel.source) << 32 | u64::from(channel.tag)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 32)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_numbered_by_receiver_in_file_order() {
        let mut builder = GoalBuilder::default();
        builder.set_rank_count(3, 1000).unwrap();
        let message = |kind, peer, tag| OpDescription { kind, size: 1, peer, tag, cpu: 0, nic: 0 };
        let ranks = [
            (2, vec![message(GoalOpKind::Send, 1, 7), message(GoalOpKind::Receive, ANY, 7), message(GoalOpKind::Send, 0, 7)]),
            (0, vec![message(GoalOpKind::Send, 2, 7), message(GoalOpKind::Receive, 2, 7), message(GoalOpKind::Send, 1, 8)]),
            (1, vec![message(GoalOpKind::Receive, 0, 8), message(GoalOpKind::Receive, 2, 7), message(GoalOpKind::Receive, 2, 7)]),
        ];
        for (rank, operations) in ranks {
            builder.begin_rank(rank).unwrap();
            operations.into_iter().for_each(|operation| _ = builder.add_operation(operation).unwrap());
            builder.end_rank().unwrap();
        }
        let goal = builder.finish().unwrap();
        let found: Vec<(u32, u32, u32)> =
            goal.channels().iter().map(|channel| (channel.destination, channel.source, channel.tag)).collect();
        assert_eq!(found, [(0, 2, 7), (1, 2, 7), (1, 0, 8), (2, ANY, 7), (2, 0, 7)]);
        let numbers: Vec<Option<usize>> = goal.operations().iter().map(GoalOp::channel).collect();
        assert_eq!(numbers, [1, 3, 0, 4, 0, 2, 2, 1, 1].map(Some));
    }

    #[test]
    fn a_channel_keeps_its_number_however_many_there_are() {
        let (mut numbers, mut channels) = (ChannelTable::default(), Vec::new());
        numbers.reset(5000);
        let channel = |n: u32| GoalChannel { source: n / 3, destination: 1, tag: n % 3 };
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
