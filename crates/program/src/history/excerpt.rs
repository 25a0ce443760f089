//! A part of a history as a recording of its own, which all analyses read like any other.
//!
//! The part consists of windows of each location. A call counts where it returns; of a call that goes on after its window, the time in the
//! window counts and nothing else. What communicates across the border of the part loses that communication: a message with only one end in
//! it becomes one with `MPI_PROC_NULL`, a collective without all its members and an epoch without all its calls a local call. So everything
//! that is left matches as it did in the whole run. Calls keep their own time, the wait for something outside of the part included.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, CallTable, RecordedCall, RequestId};
use sintonia_recording::comm_event::{CommEvent, RequestTracker};
use sintonia_recording::excerpt::{RecordingExcerpt, ThreadExcerpt};
use sintonia_recording::raw::{self, part};

use super::rank_scan::completion_order;
use super::{CallId, History, Location, NO_ROW};

/// A window of a location: a time interval, and the calls that count in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionWindow {
    /// Begin and end in nanoseconds since the start of the recording.
    pub time: Range<i64>,
    /// Rows of the calls that count: those that return in it.
    pub rows: Range<u32>,
}

/// A part of a history, by location.
pub struct HistoryExcerpt {
    /// The part as a recording.
    pub recording: RecordingExcerpt,
    /// For each location, the rows of the part.
    pub rows: Vec<Vec<ExcerptRow>>,
}

/// A row of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExcerptRow {
    /// What it is.
    pub kind: ExcerptRowKind,
    /// The call of the whole history; of time outside of the part, the call before it.
    pub source: u32,
    /// When it begins and ends.
    pub span: (i64, i64),
}

/// What a row of a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExcerptRowKind {
    /// A call that counts.
    Call,
    /// A piece of a call that counts elsewhere; empty at the border of computation, so that it has both its ends.
    Piece,
    /// The creation of a persistent request before the part.
    Creation,
    /// Time between two windows.
    Outside,
}

impl HistoryExcerpt {
    /// The part of a whole history in these windows, by location. They are in order and do not overlap.
    pub fn new(recording: &Recording, history: &History, windows: &[Vec<RegionWindow>]) -> HistoryExcerpt {
        let rows: Vec<Vec<ExcerptRow>> =
            history.locations.iter().zip(windows).map(|(location, windows)| excerpt_rows(location, windows)).collect();
        let border = ExcerptBorder::new(history, &rows);
        let mut edits = border.edits_of_epochs();
        for range in &history.location_ranges {
            border.add_edits_of_messages(recording, range.start as usize..range.end as usize, &mut edits);
        }
        let outside_site = recording.header.sites.len() as u32;
        let mut threads = RecordingExcerpt::new();
        for (index, (location, windows)) in
            history.locations.iter().zip(windows).enumerate().filter(|(_, (_, windows))| !windows.is_empty())
        {
            let mut builder = ThreadBuilder::new(location, outside_site);
            rows[index].iter().for_each(|row| builder.add(row, edits.get(&(index, row.source))));
            let windows = windows.iter().map(|window| window.time.clone()).collect();
            threads.entry(location.rank).or_default().push(ThreadExcerpt { windows, ..builder.thread });
        }
        HistoryExcerpt { recording: threads, rows }
    }
}

/// The rows of a location in these windows.
fn excerpt_rows(location: &Location, windows: &[RegionWindow]) -> Vec<ExcerptRow> {
    let calls = &location.calls;
    let makes_persistent = |row: &u32| location.descriptor(*row as usize).function.definition().mode == BlockingMode::Persistent;
    let has_persistent = calls.descriptors.iter().any(|descriptor| descriptor.function.definition().mode == BlockingMode::Persistent);
    let mut rows = Vec::new();
    let mut previous: Option<&RegionWindow> = None;
    for window in windows {
        let (begin, end) = (window.time.start, window.time.end);
        let (first, last) = (window.rows.start, window.rows.end);
        if let Some(before) = previous {
            let span = (before.time.end, begin);
            rows.push(ExcerptRow { kind: ExcerptRowKind::Outside, source: before.rows.end.saturating_sub(1), span });
        }
        if has_persistent {
            let unseen = previous.map_or(0, |before| before.rows.end)..first;
            let creations = unseen.filter(makes_persistent);
            rows.extend(creations.map(|source| ExcerptRow { kind: ExcerptRowKind::Creation, source, span: (begin, begin) }));
        }
        let enter = |row: u32| calls.enter.get(row as usize).copied().unwrap_or(i64::MAX);
        if begin < enter(first)
            && let Some(source) = first.checked_sub(1)
        {
            rows.push(ExcerptRow { kind: ExcerptRowKind::Piece, source, span: (begin, begin) });
        }
        let call = |source: u32| {
            let (enter, leave) = (calls.enter[source as usize].max(begin), calls.leave[source as usize]);
            ExcerptRow { kind: ExcerptRowKind::Call, source, span: (enter.min(leave), leave) }
        };
        rows.extend((first..last).map(call));
        let done = rows.last().map_or(begin, |row| row.span.1);
        if done < end && (last as usize) < calls.len() {
            rows.push(ExcerptRow { kind: ExcerptRowKind::Piece, source: last, span: (enter(last).clamp(done, end), end) });
        }
        previous = Some(window);
    }
    rows
}

impl ExcerptRowKind {
    /// Whether it is time in a call.
    pub fn is_time_in_call(self) -> bool {
        matches!(self, ExcerptRowKind::Call | ExcerptRowKind::Piece)
    }
}

/// What a call loses because it communicates across the border of the part.
#[derive(Clone, Debug, Default)]
struct RowEdit {
    /// Its send.
    send: bool,
    /// Its receive or probe.
    receive: bool,
    /// Its participation in a collective, or its window.
    object: bool,
    /// These of its requests.
    requests: Vec<RequestId>,
}

/// The edits of calls, by location and row.
type RowEdits = FxHashMap<(usize, u32), RowEdit>;

fn edit(edits: &mut RowEdits, location: usize, row: u32) -> &mut RowEdit {
    edits.entry((location, row)).or_default()
}

/// Finds the communication across the border of the part.
struct ExcerptBorder<'a> {
    history: &'a History,
    /// For each call of each location, whether it counts in the part.
    counts: Vec<Vec<bool>>,
    /// Whether all recorded members of each collective are in the part.
    whole_collectives: Vec<bool>,
}

impl<'a> ExcerptBorder<'a> {
    fn new(history: &'a History, rows: &[Vec<ExcerptRow>]) -> ExcerptBorder<'a> {
        let mut counts: Vec<Vec<bool>> = history.locations.iter().map(|location| vec![false; location.len()]).collect();
        for (counts, rows) in counts.iter_mut().zip(rows) {
            rows.iter().filter(|row| row.kind == ExcerptRowKind::Call).for_each(|row| counts[row.source as usize] = true);
        }
        let mut whole_collectives = vec![true; history.collectives.len()];
        for (location, counts) in history.locations.iter().zip(&counts) {
            for call in location.collectives.iter().filter(|call| !counts[call.row as usize]) {
                whole_collectives.get_mut(call.instance as usize).into_iter().for_each(|whole| *whole = false);
            }
        }
        ExcerptBorder { history, counts, whole_collectives }
    }

    fn contains(&self, call: CallId) -> bool {
        self.history.location_index(call).is_some_and(|index| self.contains_row(index, call.row))
    }

    fn contains_row(&self, location: usize, row: u32) -> bool {
        self.counts[location].get(row as usize).copied().unwrap_or(false)
    }

    /// Whether those of two calls that exist are in the part.
    fn contains_both(&self, location: usize, rows: [u32; 2]) -> bool {
        rows.into_iter().filter(|row| *row != NO_ROW).all(|row| self.contains_row(location, row))
    }

    fn edits_of_epochs(&self) -> RowEdits {
        let mut edits = RowEdits::default();
        let recorded = |call: CallId| call == CallId::NONE || self.contains(call);
        for (index, location) in self.history.locations.iter().enumerate() {
            let accesses = location.accesses.iter().map(|access| ([access.start, access.complete], recorded(access.post)));
            let exposures = location.exposures.iter().map(|exposure| ([exposure.post, exposure.wait], recorded(exposure.complete)));
            let locks = location.locks.iter().map(|lock| ([lock.lock, lock.unlock], true));
            for (rows, has_partner) in accesses.chain(exposures).chain(locks) {
                if !has_partner || !self.contains_both(index, rows) {
                    let rows = rows.into_iter().filter(|row| *row != NO_ROW);
                    rows.for_each(|row| edit(&mut edits, index, row).object = true);
                }
            }
        }
        edits
    }

    /// Finds the messages and collectives of a process across the border.
    fn add_edits_of_messages(&self, recording: &Recording, locations: Range<usize>, edits: &mut RowEdits) {
        let Some(first) = self.history.locations.get(locations.start) else { return };
        let tables: Vec<&CallTable> = self.history.locations[locations.clone()].iter().map(|location| &location.calls).collect();
        let order = completion_order(&tables);
        let locate = |call: u64| if order.is_empty() { (0, call as u32) } else { order[call as usize] };
        let mut tracker = RequestTracker::for_world(recording.world(first.rank));
        let mut calls: Vec<_> = tables.iter().map(|table| table.calls().enumerate()).collect();
        let rows: usize = tables.iter().map(|table| table.len()).sum();
        for call in 0..rows as u64 {
            let index = locate(call).0 as usize;
            let Some((row, next)) = calls[index].next() else { continue };
            let row = row as u32;
            let index = locations.start + index;
            let location = &self.history.locations[index];
            let mut sends = location.sent[location.sent.partition_point(|sent| sent.row < row)..].iter();
            let mut receives = received_at(location, row).filter(|(_, received)| received.consumed);
            let mut joins = location.collectives[location.collectives.partition_point(|call| call.row < row)..].iter();
            for event in tracker.track(&next) {
                match *event {
                    CommEvent::Send { message, request, .. } if message.peer >= 0 => {
                        let sent = sends.next().filter(|sent| sent.row == row);
                        let crosses = sent.is_some_and(|sent| {
                            sent.receiver != CallId::NONE
                                && !(self.contains_row(index, row) && self.contains(sent.receiver) && self.contains(sent.posted()))
                        });
                        match request.filter(|_| starts(&next)) {
                            _ if !crosses => {}
                            Some(request) => edit(edits, index, row).requests.push(request),
                            None => edit(edits, index, row).send = true,
                        }
                    }
                    CommEvent::Receive { message, request, begin_call } if message.peer >= 0 => {
                        let Some((_, received)) = receives.next() else { continue };
                        let (posting, posted_row) = locate(begin_call);
                        let posting = locations.start + posting as usize;
                        let inside = self.contains_row(index, row)
                            && self.contains_row(posting, posted_row)
                            && (received.sender == CallId::NONE || self.contains(received.sender));
                        match request {
                            _ if inside => {}
                            None => edit(edits, index, row).receive = true,
                            Some(request) => {
                                edit(edits, index, row).requests.push(request);
                                let posted = self.history.locations[posting].descriptor(posted_row as usize);
                                match is_start(posted) {
                                    true => edit(edits, posting, posted_row).requests.push(request),
                                    false => edit(edits, posting, posted_row).receive = true,
                                }
                            }
                        }
                    }
                    CommEvent::CollectiveBegin { root, request, .. } if root != raw::PROC_NULL => {
                        let Some(join) = joins.next().filter(|join| join.row == row) else { continue };
                        let is_whole = self.whole_collectives.get(join.instance as usize).copied().unwrap_or(true);
                        match request.filter(|_| starts(&next)) {
                            _ if is_whole => {}
                            Some(request) => edit(edits, index, row).requests.push(request),
                            None => edit(edits, index, row).object = true,
                        }
                    }
                    _ => {}
                }
            }
            for (_, probed) in received_at(location, row).filter(|(_, received)| !received.consumed) {
                if probed.sender != CallId::NONE && !self.contains(probed.sender) {
                    edit(edits, index, row).receive = true;
                }
            }
        }
    }
}

/// The messages received or probed by a call, with their index.
fn received_at(location: &Location, row: u32) -> impl Iterator<Item = (usize, &super::ReceivedMessage)> {
    let first = location.received.partition_point(|received| received.row < row);
    location.received.iter().enumerate().skip(first).take_while(move |(_, received)| received.row == row)
}

fn starts(call: &RecordedCall) -> bool {
    is_start(call.descriptor)
}

fn is_start(descriptor: &CallDescriptor) -> bool {
    matches!(descriptor.function.role(), FunctionRole::Start | FunctionRole::StartAll)
}

/// Collects the calls of a thread.
struct ThreadBuilder<'a> {
    location: &'a Location,
    outside_site: u32,
    thread: ThreadExcerpt,
    /// Ids of descriptors in `thread.calls`.
    ids: FxHashMap<CallDescriptor, u32>,
    /// For each call of the location, the number of the thread's next request before it.
    next_requests: Vec<u64>,
    /// The number that the next request would get without a new base, in the table of all calls and in that of those that count.
    expected: [u64; 2],
}

impl<'a> ThreadBuilder<'a> {
    fn new(location: &'a Location, outside_site: u32) -> ThreadBuilder<'a> {
        let table = CallTable { thread: location.calls.thread, ..CallTable::default() };
        let counted = CallTable { descriptors: location.calls.descriptors.clone(), ..table.clone() };
        let thread = ThreadExcerpt { windows: Vec::new(), calls: table, counted, uncounted_ns: BTreeMap::new() };
        let next_requests = location.calls.next_requests();
        ThreadBuilder { location, outside_site, thread, ids: FxHashMap::default(), next_requests, expected: [0, 0] }
    }

    fn add(&mut self, row: &ExcerptRow, edit: Option<&RowEdit>) {
        let source = row.source as usize;
        let original = self.location.descriptor(source);
        match row.kind {
            ExcerptRowKind::Call | ExcerptRowKind::Creation => {
                let request = self.next_requests[source];
                let descriptor = edit.map_or_else(|| original.clone(), |edit| without(original, edit, self.location.calls.thread, request));
                self.push(row.span, descriptor, Some(request));
                if row.kind == ExcerptRowKind::Call {
                    let id = self.location.calls.descriptor_ids[source];
                    push_row(&mut self.thread.counted, row.span, id, (&mut self.expected[1], request), original);
                }
            }
            ExcerptRowKind::Piece => {
                let ns = u64::try_from(row.span.1 - row.span.0).unwrap_or(0);
                if ns > 0 {
                    let object = if original.created == raw::NO_OBJECT { original.object } else { original.created };
                    *self.thread.uncounted_ns.entry((original.function, original.site, object)).or_default() += ns;
                }
                self.push(row.span, original.uncounted_piece(), None);
            }
            ExcerptRowKind::Outside => self.push(row.span, CallDescriptor::outside_excerpt(self.outside_site), None),
        }
    }

    fn push(&mut self, span: (i64, i64), descriptor: CallDescriptor, request: Option<u64>) {
        let table = &mut self.thread.calls;
        let next = table.descriptors.len() as u32;
        let id = *self.ids.entry(descriptor.clone()).or_insert(next);
        if id == next {
            table.descriptors.push(descriptor.clone());
        }
        let request = request.unwrap_or(self.expected[0]);
        push_row(table, span, id, (&mut self.expected[0], request), &descriptor);
    }
}

/// Adds a call to a table; `request` is the number of the next request before it.
fn push_row(table: &mut CallTable, span: (i64, i64), id: u32, (expected, request): (&mut u64, u64), descriptor: &CallDescriptor) {
    if *expected != request {
        table.request_bases.push((table.enter.len(), request));
    }
    *expected = request.wrapping_add(descriptor.makes_request().into());
    table.enter.push(span.0);
    table.leave.push(span.1);
    table.descriptor_ids.push(id);
}

/// A call without a part of its communication; `next_request` is the number of the thread's next request before it.
fn without(call: &CallDescriptor, edit: &RowEdit, thread: u16, next_request: u64) -> CallDescriptor {
    let mut call = call.clone();
    let role = call.function.role();
    if edit.send {
        call.peer = raw::PROC_NULL;
    }
    if edit.receive && role == FunctionRole::SendReceive {
        (call.source, call.recv_tag) = (raw::PROC_NULL, 0);
    } else if edit.receive {
        // The receive tag of a receive says that it was a wildcard receive.
        (call.peer, call.tag, call.recv_tag) = (raw::PROC_NULL, call.tag.max(0), raw::NONE);
    }
    if edit.object {
        (call.object, call.created) = (raw::NO_OBJECT, raw::NO_OBJECT);
    }
    let next_request = next_request.wrapping_add(call.makes_request().into());
    let is_dropped = |request: raw::RequestRef| {
        let id = match request {
            raw::RequestRef::Relative(ago) => RequestId { thread, number: next_request.wrapping_sub(1 + ago) },
            raw::RequestRef::Absolute(thread, number) => RequestId { thread, number },
        };
        edit.requests.contains(&id)
    };
    if call.parts & part::STARTED != 0 {
        call.requests.retain(|listed| !is_dropped(listed.request));
    } else {
        call.requests.iter_mut().filter(|listed| is_dropped(listed.request)).for_each(|listed| listed.peer = raw::PROC_NULL);
    }
    call
}
