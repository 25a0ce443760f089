//! The calls of a rank one by one, as every exporter wants them: whole, with their names instead of numbers, and with what they did.
//!
//! A call whose list of requests is long takes several records; here it is one row. Only one row is in memory at a time.

use sintonia_mpi::{Operation, Role};
use sintonia_recording::Recording;
use sintonia_recording::deed::{Deed, Follower};
use sintonia_recording::header::{Frame, Header, Site};
use sintonia_recording::raw::{self, part};
use sintonia_recording::table::{Call, ListedRequest, RequestId, Shape};

use crate::Error;

/// One call of one thread.
pub(crate) struct Row<'a> {
    pub rank: u32,
    pub thread: u16,
    pub enter: i64,
    pub leave: i64,
    pub operation: Operation,
    /// Bits of [`raw::part`].
    pub parts: u16,
    pub site: &'a Site,
    /// The number of the call site.
    pub site_number: u32,
    pub communicator: Option<u32>,
    pub window: Option<u32>,
    pub file_handle: Option<u32>,
    pub made: Option<u32>,
    pub peer: Option<i32>,
    pub root: Option<i32>,
    pub tag: Option<i32>,
    pub source: Option<i32>,
    pub recv_tag: Option<i32>,
    pub bytes_sent: Option<u64>,
    /// What has arrived when the call returns: its own message, and those of the receives that it completed.
    pub bytes_received: Option<u64>,
    /// The number of the request it made, among those of its thread.
    pub request: Option<u64>,
    pub error: Option<i32>,
    pub level: Option<i32>,
    /// The requests it completed or, where [`part::STARTED`] is set, started.
    pub listed: Vec<(RequestId, ListedRequest)>,
    pub deeds: Vec<Deed>,
}

impl<'a> Row<'a> {
    fn of(recording: &'a Recording, rank: u32, call: &Call, deeds: &[Deed]) -> Row<'a> {
        let shape = call.shape;
        let has = |wanted: u16| shape.parts & wanted != 0;
        let role = shape.operation.role();
        let object = Some(shape.object).filter(|object| *object != raw::NO_OBJECT);
        let number = |wanted: u16, number: i32| Some(number).filter(|number| has(wanted) && *number != raw::NONE);
        let rooted = matches!(role, Role::Collective(_));
        Row {
            rank,
            thread: call.thread,
            enter: call.enter,
            leave: call.leave.max(call.enter),
            operation: shape.operation,
            parts: shape.parts,
            site: recording.site(shape.site),
            site_number: shape.site,
            communicator: object.filter(|_| !on_window(role) && !on_file(role)),
            window: object.filter(|_| on_window(role)),
            file_handle: object.filter(|_| on_file(role)),
            made: Some(shape.made).filter(|made| has(part::MADE) && *made != raw::NO_OBJECT),
            peer: number(part::OBJECT, shape.peer).filter(|_| !rooted),
            root: number(part::OBJECT, shape.peer).filter(|_| rooted),
            tag: number(part::TAG, shape.tag),
            source: number(part::SOURCE, shape.source),
            recv_tag: number(part::TAG, shape.recv_tag).filter(|_| has(part::SOURCE)),
            bytes_sent: Some(shape.sent).filter(|bytes| has(part::SENT) && *bytes != raw::UNKNOWN_BYTES),
            bytes_received: received(shape),
            request: call.request.map(|request| request.number),
            error: Some(shape.value).filter(|_| has(part::ERROR)),
            level: Some(shape.value).filter(|_| role == Role::Switch && has(part::VALUE)),
            listed: call.listed().map(|(id, listed)| (id, *listed)).collect(),
            deeds: deeds.to_vec(),
        }
    }

    /// Adds the rest of a list of requests.
    fn carry_on(&mut self, call: &Call, deeds: &[Deed]) {
        self.listed.extend(call.listed().map(|(id, listed)| (id, *listed)));
        self.deeds.extend_from_slice(deeds);
        if let Some(more) = received(call.shape) {
            self.bytes_received = Some(self.bytes_received.unwrap_or(0).saturating_add(more));
        }
    }

    /// Whether the call has a mark of [`raw::part`].
    pub fn has(&self, mark: u16) -> bool {
        self.parts & mark != 0
    }

    /// The innermost source frame of the call site.
    pub fn frame(&self) -> Option<&'a Frame> {
        self.site.frames.first()
    }
}

/// Hands out the calls of a rank in the order in which they ended.
pub(crate) fn each<'a>(recording: &'a Recording, rank: u32, mut use_row: impl FnMut(&Row<'a>) -> Result<(), Error>) -> Result<(), Error> {
    let mut calls = recording.calls(rank)?;
    let mut follower = Follower::default();
    let mut row: Option<Row> = None;
    while let Some(call) = calls.next_call() {
        let deeds = follower.follow(&call);
        match &mut row {
            Some(row) if call.shape.parts & part::CONTINUED != 0 => row.carry_on(&call, deeds),
            row => {
                let whole = row.replace(Row::of(recording, rank, &call, deeds));
                whole.map_or(Ok(()), |whole| use_row(&whole))?;
            }
        }
    }
    row.map_or(Ok(()), |last| use_row(&last))
}

/// Refuses a recording without calls.
pub(crate) fn check_for_calls(header: &Header) -> Result<(), Error> {
    if header.profile { Err(Error::OnlySums) } else { Ok(()) }
}

/// The bytes that have arrived when a call returns, if it is one that receives; an empty message counts, one yet to come does not.
fn received(shape: &Shape) -> Option<u64> {
    let blocking = shape.parts & part::RECEIVED != 0 && !shape.makes_request() && shape.received != raw::UNKNOWN_BYTES;
    let completing = shape.parts & part::STARTED == 0 && shape.requests.iter().any(|request| request.receive);
    let bytes = shape.bytes_received();
    (bytes > 0 || blocking || completing).then_some(bytes)
}

fn on_window(role: Role) -> bool {
    matches!(role, Role::Put | Role::Get | Role::Exchange | Role::WindowFree | Role::WindowSync)
}

fn on_file(role: Role) -> bool {
    matches!(role, Role::FileClose | Role::FileRead | Role::FileWrite | Role::FileOther)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, call};
    use crate::{Written, chrome, csv, goal, parquet, perfetto};
    use sintonia_recording::raw::RequestRef;
    use std::path::Path;

    /// Calls with so many requests each, which they completed.
    fn waits(requests: &[(u64, u16)]) -> Vec<example::Call> {
        let listed = |ago| ListedRequest { request: RequestRef::Ago(ago), receive: true, peer: 0, tag: 1, received: 10 };
        let wait =
            |&(requests, parts): &(u64, u16)| Shape { parts, requests: (0..requests).map(listed).collect(), ..call("MPI_Waitall", 4) };
        requests.iter().map(|wait_for| (0, 100, 200, wait(wait_for))).collect()
    }

    #[test]
    fn a_long_list_of_requests_is_one_row() {
        let example = example::written(&[waits(&[(1, 0), (4, 0), (4, part::CONTINUED), (2, part::CONTINUED), (1, 0)])]);
        let mut rows = Vec::new();
        each(&example.recording, 0, |row| {
            rows.push((row.listed.len(), row.bytes_received));
            Ok(())
        })
        .unwrap();
        assert_eq!(rows, [(1, Some(10)), (10, Some(100)), (1, Some(10))]);
    }

    #[test]
    fn bytes_count_where_they_have_arrived() {
        let with = |operation: &str, parts, bytes| Shape { parts: part::RECEIVED | parts, received: bytes, ..call(operation, 3) };
        assert_eq!(received(&with("MPI_Recv", 0, 0)), Some(0), "an empty message");
        assert_eq!(received(&with("MPI_Irecv", part::REQUEST, 64)), None, "one yet to come");
        assert_eq!(received(&with("MPI_Iallreduce", part::REQUEST, 8)), Some(8));
        assert_eq!(received(&with("MPI_Recv", 0, raw::UNKNOWN_BYTES)), None);
        assert_eq!(received(&call("MPI_Send", 2)), None);
    }

    #[test]
    fn a_header_that_does_not_fit_the_calls_does_not_stop_an_export() {
        type Write = fn(&Recording, &Path, &(dyn Fn() + Sync)) -> Result<Written, Error>;
        let writers: [Write; 5] = [csv::write, parquet::write, chrome::write, perfetto::write, goal::write];
        let mut example = example::example();
        let header = &mut example.recording.header;
        (header.sites, header.communicators, header.hosts, header.size) = Default::default();
        let folder = tempfile::tempdir().unwrap();
        for write in writers {
            assert!(write(&example.recording, &folder.path().join("file"), &|| {}).unwrap().bytes > 0);
        }
    }
}
