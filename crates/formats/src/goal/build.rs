//! A schedule put together while its file is read, whatever the file's form.

use super::graph::{ANY, Channel, Dependent, Goal, Kind, MOST_OPERATIONS, Operation};

/// What a file says of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// What it is.
    pub kind: Kind,
    /// Bytes of a message, nanoseconds of a computation.
    pub size: u64,
    /// The rank at the other end of a message, or [`ANY`].
    pub peer: u32,
    /// The tag of a message, or [`ANY`].
    pub tag: u32,
    /// The processor.
    pub cpu: u8,
    /// The network interface.
    pub nic: u8,
}

/// That an operation waits for another one; both are counted from 0 in their rank.
#[derive(Clone, Copy, Debug)]
pub struct Dependency {
    /// The one that waits.
    pub waiting: u32,
    /// What it waits for.
    pub on: u32,
    /// Whether only for its begin.
    pub begun: bool,
}

/// A schedule under way. What goes wrong is told as a sentence; the reader knows the place.
#[derive(Default)]
pub struct Builder {
    goal: Goal,
    known: Numbers,
    dependencies: Vec<Dependency>,
    /// The rank under way, and its first operation.
    open: Option<(u32, u32)>,
    seen: Vec<bool>,
}

impl Builder {
    /// Says how many ranks there are, once, before the first of them; a file of so many bytes cannot have more ranks than that.
    pub fn ranks(&mut self, count: u64, bytes: u64) -> Result<(), String> {
        if !self.goal.ranks.is_empty() {
            return Err("the number of ranks is told twice".to_owned());
        }
        let most = bytes.min(MOST_OPERATIONS as u64);
        if !(1..=most).contains(&count) {
            return Err(format!("{count} ranks are told, but this file can have from 1 to {most}"));
        }
        let count = count as usize;
        self.goal.ranks = vec![[0; 2]; count];
        self.seen = vec![false; count];
        Ok(())
    }

    /// The rank under way.
    pub fn rank(&self) -> Option<u32> {
        self.open.map(|(rank, _)| rank)
    }

    /// Whether this operation of a rank has been added, counted from 0.
    pub fn knows(&self, rank: usize, operation: usize) -> bool {
        let count = match self.open {
            Some((open, first)) if open as usize == rank => self.goal.operations.len() - first as usize,
            _ => self.goal.of_rank(rank).len(),
        };
        operation < count
    }

    /// Begins the operations of a rank.
    pub fn begin(&mut self, rank: u64) -> Result<(), String> {
        if let Some(open) = self.rank() {
            return Err(format!("rank {rank} begins before rank {open} has ended: a `}}` is missing"));
        }
        let count = self.goal.ranks.len();
        let seen = usize::try_from(rank).ok().and_then(|rank| self.seen.get_mut(rank));
        let seen = seen.ok_or_else(|| format!("there is no rank {rank}: `num_ranks` says {count}"))?;
        if std::mem::replace(seen, true) {
            return Err(format!("rank {rank} is told twice"));
        }
        self.open = Some((rank as u32, self.goal.operations.len() as u32));
        Ok(())
    }

    /// Adds an operation, and says its number in the rank.
    pub fn operation(&mut self, described: Described) -> Result<u32, String> {
        let Some((rank, first)) = self.open else { return Err("an operation stands outside of a rank: `rank 0 {` is missing".to_owned()) };
        let number = self.goal.operations.len();
        if number >= MOST_OPERATIONS {
            return Err(format!("there are more than {MOST_OPERATIONS} operations"));
        }
        let Described { kind, size, cpu, nic, .. } = described;
        let place = match self.channel(rank, described)? {
            Some(channel) => self.known.of(channel, &mut self.goal.channels),
            None => rank,
        };
        self.goal.operations.push(Operation::new(kind, size, place, cpu, nic));
        self.goal.cpus = self.goal.cpus.max(u16::from(cpu) + 1);
        self.goal.nics = self.goal.nics.max(u16::from(nic) + 1);
        Ok(number as u32 - first)
    }

    fn channel(&self, rank: u32, described: Described) -> Result<Option<Channel>, String> {
        let Described { kind, peer, tag, .. } = described;
        let count = self.goal.ranks.len();
        if kind != Kind::Compute && peer as usize >= count && (peer, kind) != (ANY, Kind::Receive) {
            return Err(format!("there is no rank {peer}: `num_ranks` says {count}"));
        }
        Ok(match kind {
            Kind::Compute => None,
            Kind::Send => Some(Channel { source: rank, destination: peer, tag }),
            Kind::Receive => Some(Channel { source: peer, destination: rank, tag }),
        })
    }

    /// Adds a dependency between operations of the rank under way; both have been added.
    pub fn dependency(&mut self, dependency: Dependency) {
        self.dependencies.push(dependency);
    }

    /// Ends the rank under way.
    pub fn end(&mut self) -> Result<(), String> {
        let (rank, first) = self.open.take().ok_or("a `}` ends no rank")?;
        self.goal.ranks[rank as usize] = [first, self.goal.operations.len() as u32];
        let begin = self.goal.dependents.len();
        if begin + self.dependencies.len() > u32::MAX as usize {
            return Err(format!("there are more than {} dependencies", u32::MAX));
        }
        self.place_dependencies(first as usize, begin);
        self.dependencies.clear();
        Ok(())
    }

    /// Puts each dependency to the operation that it waits for: those on its begin first, else in the order of the file.
    fn place_dependencies(&mut self, first: usize, begin: usize) {
        let operations = &mut self.goal.operations[first..];
        for dependency in &self.dependencies {
            operations[dependency.on as usize].first += 1;
            operations[dependency.waiting as usize].needs += 1;
        }
        let mut next = begin as u32;
        for operation in operations.iter_mut() {
            next += std::mem::replace(&mut operation.first, next);
        }
        self.goal.dependents.resize(begin + self.dependencies.len(), Dependent::new(0, false));
        for begun in [true, false] {
            for dependency in self.dependencies.iter().filter(|dependency| dependency.begun == begun) {
                let slot = &mut operations[dependency.on as usize].first;
                self.goal.dependents[*slot as usize] = Dependent::new(first as u32 + dependency.waiting, begun);
                *slot += 1;
            }
        }
        // Each now points behind its own dependents, where those of the next one begin.
        let mut own = begin as u32;
        for operation in operations {
            own = std::mem::replace(&mut operation.first, own);
        }
    }

    /// The schedule, when all has been told.
    pub fn finish(mut self) -> Result<Goal, String> {
        if let Some(rank) = self.rank() {
            return Err(format!("the file ends within rank {rank}: a `}}` is missing"));
        }
        if self.goal.ranks.is_empty() {
            return Err("there is no `num_ranks`: this is no GOAL schedule".to_owned());
        }
        if let Some(rank) = self.seen.iter().position(|seen| !seen) {
            return Err(format!("rank {rank} is missing: `num_ranks` says {}", self.seen.len()));
        }
        self.known = Numbers::default();
        self.sort_channels();
        Ok(self.goal)
    }

    /// Numbers the channels by their receiver, so that what a rank receives from lies together.
    fn sort_channels(&mut self) {
        let channels = &self.goal.channels;
        let mut next = vec![0u32; self.goal.ranks.len() + 1];
        channels.iter().for_each(|channel| next[channel.destination as usize + 1] += 1);
        for rank in 1..next.len() {
            next[rank] += next[rank - 1];
        }
        let mut sorted = channels.clone();
        let mut places = Vec::with_capacity(channels.len());
        for channel in channels {
            let place = &mut next[channel.destination as usize];
            sorted[*place as usize] = *channel;
            places.push(*place);
            *place += 1;
        }
        self.goal.channels = sorted;
        self.goal.operations.iter_mut().for_each(|operation| operation.renumber_channel(&places));
    }
}

/// The numbers of channels: an open hash table that holds nothing but numbers, since the channels themselves stand elsewhere.
#[derive(Default)]
struct Numbers {
    slots: Vec<u32>,
}

impl Numbers {
    const FREE: u32 = u32::MAX;

    /// The number of a channel, which it gets if it has none.
    fn of(&mut self, channel: Channel, channels: &mut Vec<Channel>) -> u32 {
        if channels.len() * 2 >= self.slots.len() {
            self.grow(channels);
        }
        let slot = self.slot(channel, channels);
        if self.slots[slot] == Numbers::FREE {
            self.slots[slot] = channels.len() as u32;
            channels.push(channel);
        }
        self.slots[slot]
    }

    /// Where a channel is, or would be.
    fn slot(&self, channel: Channel, channels: &[Channel]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(channel) & mask;
        while self.slots[slot] != Numbers::FREE && channels[self.slots[slot] as usize] != channel {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self, channels: &[Channel]) {
        let size = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(size, Numbers::FREE);
        for (number, channel) in channels.iter().enumerate() {
            let slot = self.slot(*channel, channels);
            self.slots[slot] = number as u32;
        }
    }
}

fn hash(channel: Channel) -> usize {
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
        let (mut numbers, mut channels) = (Numbers::default(), Vec::new());
        let channel = |n: u32| Channel { source: n % 17, destination: n / 17, tag: n % 3 };
        let first: Vec<u32> = (0..5000).map(|n| numbers.of(channel(n), &mut channels)).collect();
        let again: Vec<u32> = (0..5000).map(|n| numbers.of(channel(n), &mut channels)).collect();
        assert_eq!(first, again);
        assert!(first.iter().enumerate().all(|(n, number)| channels[*number as usize] == channel(n as u32)));
    }

    #[test]
    fn what_waits_for_a_begin_stands_before_what_waits_for_an_end() {
        let mut builder = Builder::default();
        builder.ranks(1, 100).unwrap();
        builder.begin(0).unwrap();
        let compute = Described { kind: Kind::Compute, size: 1, peer: 0, tag: 0, cpu: 0, nic: 0 };
        for _ in 0..4 {
            builder.operation(compute).unwrap();
        }
        for (waiting, begun) in [(3, false), (1, true), (2, false)] {
            builder.dependency(Dependency { waiting, on: 0, begun });
        }
        builder.dependency(Dependency { waiting: 3, on: 2, begun: false });
        builder.end().unwrap();
        let goal = builder.finish().unwrap();
        let dependents = |n| goal.dependents(n).iter().map(|d| (d.operation(), d.waits_for_begin())).collect::<Vec<_>>();
        assert_eq!(dependents(0), [(1, true), (3, false), (2, false)]);
        assert_eq!((dependents(1), dependents(2), dependents(3)), (vec![], vec![(3, false)], vec![]));
        assert_eq!(goal.operations().iter().map(|operation| operation.needs).collect::<Vec<_>>(), [0, 1, 1, 2]);
    }
}
