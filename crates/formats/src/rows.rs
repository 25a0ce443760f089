//! The calls of a rank one by one, as every exporter wants them: with their names instead of numbers, and with what they did.
//!
//! Only one row is in memory at a time.

use sintonia_mpi::{Operation, Role};
use sintonia_recording::Recording;
use sintonia_recording::deed::{Deed, Follower};
use sintonia_recording::header::{Frame, Header, Site};
use sintonia_recording::raw::{self, part};
use sintonia_recording::table::{Call, ListedRequest, RequestId, Shape};

use crate::Error;

/// One call of one thread.
#[derive(Clone)]
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
            communicator: shape.communicator(),
            window: shape.window(),
            file_handle: shape.file(),
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
    let mut follower = Follower::in_world(recording.world(rank));
    while let Some(call) = calls.next_call() {
        use_row(&Row::of(recording, rank, &call, follower.follow(&call)))?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, call};
    use crate::{Written, chrome, csv, dimemas, goal, otf2, paraver, parquet, perfetto, smpi};
    use sintonia_recording::raw::RequestRef;
    use std::path::Path;

    #[test]
    fn what_a_wait_completed_has_arrived_with_it() {
        let listed = |ago| ListedRequest { request: RequestRef::Ago(ago), receive: true, peer: 0, tag: 1, received: 10 };
        let wait = Shape { requests: (0..4).map(listed).collect(), ..call("MPI_Waitall", 4) };
        let example = example::written(&[vec![(0, 100, 200, wait)]]);
        let mut rows = Vec::new();
        each(&example.recording, 0, |row| {
            rows.push((row.listed.len(), row.bytes_received));
            Ok(())
        })
        .unwrap();
        assert_eq!(rows, [(4, Some(40))]);
    }

    #[test]
    fn calls_are_on_a_communicator_a_window_or_a_file() {
        let on = |operation: &str| (0, 100, 200, Shape { object: 0, ..call(operation, 4) });
        let example = example::written(&[vec![on("MPI_Win_create"), on("MPI_Put"), on("MPI_File_sync")]]);
        let mut rows = Vec::new();
        each(&example.recording, 0, |row| {
            rows.push([row.communicator, row.window, row.file_handle]);
            Ok(())
        })
        .unwrap();
        assert_eq!(rows, [[Some(0), None, None], [None, Some(0), None], [None, None, Some(0)]]);
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
    fn every_format_counts_the_ranks_alike() {
        let mut example = example::example();
        let header = &mut example.recording.header;
        (header.size, header.ranks) = (0, header.ranks.drain(1..).collect());
        assert_eq!(header.rank_count(), 3);
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        goal::write(&example.recording, &path("run.goal"), &|| {}).unwrap();
        assert!(std::fs::read_to_string(path("run.goal")).unwrap().starts_with("num_ranks 3\n"));
        otf2::write(&example.recording, &path("run.otf2"), &|| {}).unwrap();
        assert_eq!(std::fs::read_dir(path("run")).unwrap().count(), 2 * 3, "events and definitions of each");
        paraver::write(&example.recording, &path("run.prv"), &|| {}).unwrap();
        assert!(std::fs::read_to_string(path("run.prv")).unwrap().contains(":1:3("));
    }

    #[test]
    fn a_header_that_does_not_fit_the_calls_does_not_stop_an_export() {
        type Write = fn(&Recording, &Path, &(dyn Fn() + Sync)) -> Result<Written, Error>;
        let writers: [Write; 7] = [csv::write, parquet::write, chrome::write, perfetto::write, goal::write, dimemas::write, smpi::write];
        let mut example = example::example();
        let header = &mut example.recording.header;
        (header.sites, header.communicators, header.hosts, header.size) = Default::default();
        let folder = tempfile::tempdir().unwrap();
        for write in writers {
            assert!(write(&example.recording, &folder.path().join("file"), &|| {}).unwrap().bytes > 0);
        }
    }
}
