//! Sums over the calls of a thread by call site and function, and by what the communication matrix needs of them, for any time range.

use std::hash::Hash;

use sintonia_mpi::BlockingMode;
use sintonia_program::TrafficKey;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::random_access::CallInterval;

use super::directory::ThreadIndex;
use super::draw::ThreadPainter;
use super::prefix_sums::{PrefixSums, RecordSums};
use crate::cache_file::Error;

/// Bytes that a call sent and received, as the report counts them: a persistent operation moves data when it is started.
pub(super) fn bytes_of_call(descriptor: &CallDescriptor) -> u64 {
    match descriptor.function.definition().mode {
        BlockingMode::Persistent => 0,
        BlockingMode::Blocking | BlockingMode::Nonblocking => descriptor.bytes_sent().saturating_add(descriptor.bytes_received()),
    }
}

/// The duration of a call in nanoseconds.
pub(super) fn duration_ns(row: &CallInterval) -> u64 {
    row.leave.saturating_sub(row.enter).max(0).unsigned_abs()
}

impl ThreadPainter<'_> {
    /// Sums over the calls of a thread in a time range, in the order of its keys. A call counts where it begins, and its time as far as it is
    /// in the range.
    pub(crate) fn call_sums(&mut self, thread: &ThreadIndex, from: i64, to: i64) -> Result<Vec<RecordSums>, Error> {
        let key_of = |descriptor: &CallDescriptor| Some((descriptor.into(), bytes_of_call(descriptor)));
        self.sums_between(thread, &thread.sums, from, to, &key_of)
    }

    /// Sums over the calls of a thread that send messages, in the order of their keys; `None` if they differ in too many ways.
    pub(crate) fn traffic_sums(&mut self, thread: &ThreadIndex, from: i64, to: i64) -> Result<Option<Vec<RecordSums>>, Error> {
        let sums = thread.traffic.as_ref().map(|traffic| self.sums_between(thread, traffic, from, to, &TrafficKey::of_call));
        sums.transpose()
    }

    fn sums_between<K: Copy + Eq + Hash>(
        &mut self,
        thread: &ThreadIndex,
        sums: &PrefixSums<K>,
        from: i64,
        to: i64,
        key_of: &dyn Fn(&CallDescriptor) -> Option<(K, u64)>,
    ) -> Result<Vec<RecordSums>, Error> {
        let (until, earlier) = (self.sums_before(thread, sums, to, key_of)?, self.sums_before(thread, sums, from, key_of)?);
        Ok(until.into_iter().zip(earlier).map(|(until, earlier)| until.since(earlier)).collect())
    }

    /// Sums over the calls of a thread that begin before a time, with their durations until then.
    fn sums_before<K: Copy + Eq + Hash>(
        &mut self,
        thread: &ThreadIndex,
        prefixes: &PrefixSums<K>,
        time: i64,
        key_of: &dyn Fn(&CallDescriptor) -> Option<(K, u64)>,
    ) -> Result<Vec<RecordSums>, Error> {
        let (mut sums, (first, chunk)) = prefixes.before(time, &self.index.store)?;
        let indices = prefixes.key_indices();
        for (index, block) in thread.blocks.iter().enumerate().skip(first as usize).take_while(|(_, block)| block.begin < time) {
            let index_of = |descriptor: &CallDescriptor| {
                let (key, bytes) = key_of(descriptor)?;
                Some((*indices.get(&key)?, bytes))
            };
            let keys: Vec<Option<(usize, u64)>> = self.call_descriptors(thread.rank, block)?.iter().map(index_of).collect();
            let chunk = if index == first as usize { chunk as usize } else { 0 };
            self.for_each_call_before(thread, block, chunk, time, |row| {
                if let Some((key, bytes)) = keys.get(usize::from(row.descriptor)).copied().flatten() {
                    let ns = duration_ns(&CallInterval { leave: row.leave.min(time), ..row });
                    sums[key].add(RecordSums { count: 1, ns, bytes });
                }
            })?;
        }
        Ok(sums)
    }
}
