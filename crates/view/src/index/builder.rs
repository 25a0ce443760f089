//! Builds the index of a rank in one pass over its calls: bins of time, chunks of calls, sums by call site.

use std::collections::BTreeMap;

use sintonia_mpi::FunctionRole;
use sintonia_program::TrafficKey;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::header::RecordedRank;
use sintonia_recording::random_access::{CallInterval, RowOffset, ScannedBlock};
use sintonia_recording::{Error, Recording};

use super::activity::{ActivityKind, KIND_COUNT};
use super::call_sums::{bytes_of_call, duration_ns};
use super::canvas::{ActivityCanvas, TimeWindow};
use super::directory::{BlockIndex, CALLS_PER_CHUNK, ThreadIndex};
use super::levels::{self, ActivityDensity};
use super::prefix_sums::{PrefixSumsBuilder, RecordSums};
use super::site_function::SiteFunction;

/// The traffic of a thread is not added up by time if its calls have more different keys: partners, or sizes of collectives.
const MAX_TRAFFIC_KEYS: usize = 1 << 13;

/// The index data of one rank.
#[derive(Default)]
pub(super) struct RankIndexPart {
    /// Records and bins.
    pub bytes: Vec<u8>,
    /// Its threads, with offsets relative to `bytes`.
    pub threads: Vec<ThreadIndex>,
}

/// Builds the index of a rank; `span` is the time span of the run according to the header.
pub(super) fn index_rank(recording: &Recording, rank: &RecordedRank, span: (i64, i64)) -> Result<RankIndexPart, Error> {
    let Some(mut scan) = recording.scan_blocks(rank.rank)? else { return Ok(RankIndexPart::default()) };
    let window = levels::finest_window(span, call_density(rank.calls / u64::from(rank.threads.max(1))));
    let mut builders: BTreeMap<u16, ThreadIndexBuilder> = BTreeMap::new();
    let mut rows = Vec::with_capacity(CALLS_PER_CHUNK);
    while scan.next_block(|mut block| {
        if block.after_loss {
            // The thread of the lost calls is unknown.
            builders.values_mut().for_each(|builder| builder.after_loss = true);
        }
        let builder = builders.entry(block.location.thread).or_insert_with(|| ThreadIndexBuilder::new(&window));
        builder.add(&mut block, &mut rows);
    }) {}
    let mut part = RankIndexPart::default();
    let mut is_first = true;
    for (thread, builder) in builders {
        part.threads.push(builder.finish(rank, thread, is_first, &mut part.bytes));
        is_first = false;
    }
    Ok(part)
}

/// Builds the index of one thread.
struct ThreadIndexBuilder<'a> {
    canvas: ActivityCanvas<'a, KIND_COUNT>,
    blocks: Vec<(BlockIndex, Vec<ActivityKind>)>,
    chunks: Vec<(RowOffset, [f32; KIND_COUNT])>,
    sums: PrefixSumsBuilder<SiteFunction>,
    traffic: Option<PrefixSumsBuilder<TrafficKey>>,
    calls: u64,
    /// Leave time of `MPI_Init`, and enter time of `MPI_Finalize`.
    init: Option<i64>,
    finalize: Option<i64>,
    /// Leave time of the last call.
    last_leave: i64,
    /// Whether calls may have been lost since then.
    after_loss: bool,
}

impl<'a> ThreadIndexBuilder<'a> {
    fn new(window: &'a TimeWindow) -> ThreadIndexBuilder<'a> {
        ThreadIndexBuilder {
            canvas: ActivityCanvas::new(window),
            blocks: Vec::new(),
            chunks: Vec::new(),
            sums: PrefixSumsBuilder::new(),
            traffic: Some(PrefixSumsBuilder::new()),
            calls: 0,
            init: None,
            finalize: None,
            last_leave: i64::MIN,
            after_loss: false,
        }
    }

    fn add(&mut self, block: &mut ScannedBlock, rows: &mut Vec<CallInterval>) {
        let kinds: Vec<ActivityKind> =
            block.descriptors.iter().map(|descriptor| ActivityKind::from_role(descriptor.function.role())).collect();
        let keys: Vec<(usize, u64)> =
            block.descriptors.iter().map(|descriptor| (self.sums.key(descriptor.into()), bytes_of_call(descriptor))).collect();
        let traffic_keys: Vec<Option<(usize, u64)>> = block.descriptors.iter().map(|descriptor| self.traffic_key(descriptor)).collect();
        let (first_row, first_chunk, before) = (self.calls, self.chunks.len(), self.last_leave);
        let after_loss = std::mem::take(&mut self.after_loss) && !self.blocks.is_empty();
        let mut begin = None;
        loop {
            let offset = block.read_rows(CALLS_PER_CHUNK, rows);
            let Some(first) = rows.first() else { break };
            if begin.is_none() && after_loss {
                self.canvas.paint(before, first.enter, ActivityKind::Absent as usize);
            }
            begin.get_or_insert(first.enter);
            let position = (self.blocks.len() as u32, (self.chunks.len() - first_chunk) as u32);
            if self.sums.is_due() {
                self.sums.store(position, first.enter);
            }
            if let Some(traffic) = self.traffic.as_mut().filter(|traffic| traffic.is_due()) {
                traffic.store(position, first.enter);
            }
            let mut sums = [0.0; KIND_COUNT];
            for row in rows.iter() {
                let kind = kinds[usize::from(row.descriptor)];
                let (key, bytes) = keys[usize::from(row.descriptor)];
                self.sums.add(key, RecordSums { count: 1, ns: duration_ns(row), bytes });
                match (&mut self.traffic, traffic_keys[usize::from(row.descriptor)]) {
                    (Some(traffic), Some((key, bytes))) => traffic.add(key, RecordSums { count: 1, ns: 0, bytes }),
                    (Some(traffic), None) => traffic.pass(),
                    (None, _) => {}
                }
                if kind == ActivityKind::Absent {
                    sums = self.mark_init_or_finalize(block.descriptors[usize::from(row.descriptor)].function.role(), row).unwrap_or(sums);
                } else if self.finalize.is_none() {
                    sums[kind as usize] += duration_ns(row) as f32;
                    self.canvas.paint(row.enter, row.leave, kind as usize);
                }
                self.last_leave = row.leave;
            }
            self.calls += rows.len() as u64;
            self.chunks.push((offset, sums));
        }
        let Some(begin) = begin else { return };
        let descriptors = kinds.len() as u32;
        self.blocks
            .push((BlockIndex { location: block.location, at: 0, descriptors, first_row, begin, end: self.last_leave, after_loss }, kinds));
    }

    /// The index of the key of a call in the sums of traffic, and its bytes.
    fn traffic_key(&mut self, descriptor: &CallDescriptor) -> Option<(usize, u64)> {
        let traffic = self.traffic.as_mut()?;
        let (key, bytes) = TrafficKey::of_call(descriptor)?;
        let index = traffic.key(key);
        if index >= MAX_TRAFFIC_KEYS {
            self.traffic = None;
            return None;
        }
        Some((index, bytes))
    }

    /// Handles `MPI_Init` and `MPI_Finalize`. Activities before `MPI_Init` do not count, so all sums are reset.
    fn mark_init_or_finalize(&mut self, role: FunctionRole, row: &CallInterval) -> Option<[f32; KIND_COUNT]> {
        if role == FunctionRole::Finalize {
            self.finalize.get_or_insert(row.enter);
            return None;
        }
        self.init = Some(row.leave);
        self.canvas.clear();
        self.chunks.iter_mut().for_each(|(_, sums)| *sums = [0.0; KIND_COUNT]);
        Some([0.0; KIND_COUNT])
    }

    fn finish(mut self, rank: &RecordedRank, thread: u16, is_first: bool, bytes: &mut Vec<u8>) -> ThreadIndex {
        let first = self.blocks.first().map_or(0, |(block, _)| block.begin);
        // The start and end of the process are only known for the thread that initialised MPI.
        let known = if is_first { (rank.begin_ns.min(first), rank.end_ns.max(self.last_leave)) } else { (first, self.last_leave) };
        let active = (self.init.unwrap_or(known.0), self.finalize.unwrap_or(known.1));
        let mut used = [false; KIND_COUNT];
        self.blocks.iter().flat_map(|(_, kinds)| kinds).for_each(|kind| used[*kind as usize] = true);
        used[ActivityKind::Absent as usize] = self.blocks.iter().any(|(block, _)| block.after_loss);
        let lanes = (0..KIND_COUNT as u8).filter(|kind| used[usize::from(*kind)]).collect();
        let mut index = ThreadIndex { rank: rank.rank, thread, calls: self.calls, active, lanes, ..ThreadIndex::default() };
        let window = self.canvas.window();
        // If the span in the header is wrong, bins do not cover all calls and would contradict them.
        if window.from() <= first && self.last_leave <= window.to() {
            index.levels = levels::write_levels(&self.canvas, call_density(self.calls), &index.lanes, bytes);
        }
        // So that no call need be read for times after the last one.
        let end = (self.blocks.len() as u32, 0);
        self.sums.store(end, self.last_leave);
        index.sums = self.sums.finish(bytes);
        index.traffic = self.traffic.map(|mut traffic| {
            traffic.store(end, self.last_leave);
            traffic.finish(bytes)
        });
        let mut chunks = self.chunks.iter();
        for (mut block, kinds) in self.blocks {
            block.at = bytes.len() as u64;
            for (offset, sums) in chunks.by_ref().take(block.chunk_count()) {
                bytes.extend(offset.previous_leave.to_le_bytes());
                bytes.extend(offset.times.to_le_bytes());
                bytes.extend(index.lanes.iter().flat_map(|lane| sums[usize::from(*lane)].to_le_bytes()));
            }
            bytes.extend(kinds.iter().map(|kind| *kind as u8));
            index.blocks.push(block);
        }
        index
    }
}

fn call_density(calls: u64) -> ActivityDensity {
    ActivityDensity { count: calls, min_per_bin: 4 }
}
