//! The calls of a rank as the exporters need them: with resolved names and communication events, one in memory at a time.

use sintonia_mpi::FunctionId;
use sintonia_recording::Recording;
use sintonia_recording::call_details::CallDetails;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest, RecordedCall, RequestId};
use sintonia_recording::comm_event::{CommEvent, RequestTracker};
use sintonia_recording::header::{CallSiteDefinition, RecordingHeader, SourceFrame};
use sintonia_recording::raw::{self, part};

use crate::Error;

/// One call of one thread.
#[derive(Clone)]
pub(crate) struct ExportedCall<'a> {
    pub rank: u32,
    pub thread: u16,
    pub enter: i64,
    pub leave: i64,
    pub operation: FunctionId,
    /// Bits of [`raw::part`].
    pub parts: u16,
    pub site: &'a CallSiteDefinition,
    /// Index of the call site.
    pub site_id: u32,
    pub details: CallDetails,
    pub bytes_sent: Option<u64>,
    /// Bytes received when the call returns: by the call itself and by the receives it completed.
    pub bytes_received: Option<u64>,
    /// Number of the request it created, per thread.
    pub request: Option<u64>,
    /// The requests it completed or, with [`part::STARTED`], started.
    pub listed_requests: Vec<(RequestId, ListedRequest)>,
    pub events: Vec<CommEvent>,
}

impl<'a> ExportedCall<'a> {
    fn new(recording: &'a Recording, rank: u32, call: &RecordedCall, events: &[CommEvent]) -> ExportedCall<'a> {
        let descriptor = call.descriptor;
        let details = descriptor.details();
        ExportedCall {
            rank,
            thread: call.thread,
            enter: call.enter,
            leave: call.leave.max(call.enter),
            operation: descriptor.function,
            parts: descriptor.parts,
            site: recording.site(descriptor.site),
            site_id: descriptor.site,
            bytes_sent: details.sent,
            details,
            bytes_received: received_bytes(descriptor),
            request: call.request.map(|request| request.number),
            listed_requests: call.requests().map(|(id, listed)| (id, *listed)).collect(),
            events: events.to_vec(),
        }
    }

    /// Whether a bit of [`raw::part`] is set.
    pub(crate) fn has_part(&self, mark: u16) -> bool {
        self.parts & mark != 0
    }

    pub(crate) fn innermost_frame(&self) -> Option<&'a SourceFrame> {
        self.site.frames.first()
    }
}

/// Calls `use_row` for each call of a rank, in the order in which the calls ended.
pub(crate) fn for_each_call<'a>(
    recording: &'a Recording,
    rank: u32,
    mut use_row: impl FnMut(&ExportedCall<'a>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut calls = recording.calls(rank)?;
    let mut tracker = RequestTracker::for_world(recording.world(rank));
    while let Some(call) = calls.next_call() {
        use_row(&ExportedCall::new(recording, rank, &call, tracker.track(&call)))?;
    }
    Ok(())
}

/// Refuses a recording without calls.
pub(crate) fn require_calls(header: &RecordingHeader) -> Result<(), Error> {
    if header.profile { Err(Error::ProfileOnly) } else { Ok(()) }
}

/// Bytes received when a call returns, if it receives; an empty message counts, a pending one does not.
fn received_bytes(descriptor: &CallDescriptor) -> Option<u64> {
    let blocking = descriptor.parts & part::RECEIVED != 0 && !descriptor.makes_request() && descriptor.received != raw::UNKNOWN_BYTES;
    let completing = descriptor.parts & part::STARTED == 0 && descriptor.requests.iter().any(|request| request.is_receive);
    let bytes = descriptor.bytes_received();
    (bytes > 0 || blocking || completing).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, call};
    use crate::{ExportSummary, chrome, csv, dimemas, goal, otf2, paraver, parquet, perfetto, smpi};
    use sintonia_recording::raw::RequestRef;
    use std::path::Path;

    #[test]
    fn what_a_wait_completed_has_arrived_with_it() {
        let listed = |ago| ListedRequest { request: RequestRef::Relative(ago), is_receive: true, peer: 0, tag: 1, received: 10 };
        let wait = CallDescriptor { requests: (0..4).map(listed).collect(), ..call("MPI_Waitall", 4) };
        let example = example::write_recording(&[vec![(0, 100, 200, wait)]]);
        let mut rows = Vec::new();
        for_each_call(&example.recording, 0, |row| {
            rows.push((row.listed_requests.len(), row.bytes_received));
            Ok(())
        })
        .unwrap();
        assert_eq!(rows, [(4, Some(40))]);
    }

    #[test]
    fn calls_are_on_a_communicator_a_window_or_a_file() {
        let on = |operation: &str| (0, 100, 200, CallDescriptor { object: 0, ..call(operation, 4) });
        let example = example::write_recording(&[vec![on("MPI_Win_create"), on("MPI_Put"), on("MPI_File_sync")]]);
        let mut rows = Vec::new();
        for_each_call(&example.recording, 0, |row| {
            rows.push([row.details.communicator, row.details.window, row.details.file]);
            Ok(())
        })
        .unwrap();
        assert_eq!(rows, [[Some(0), None, None], [None, Some(0), None], [None, None, Some(0)]]);
    }

    #[test]
    fn bytes_count_where_they_have_arrived() {
        let with = |operation: &str, parts, bytes| CallDescriptor { parts: part::RECEIVED | parts, received: bytes, ..call(operation, 3) };
        assert_eq!(received_bytes(&with("MPI_Recv", 0, 0)), Some(0), "an empty message");
        assert_eq!(received_bytes(&with("MPI_Irecv", part::REQUEST, 64)), None, "one yet to come");
        assert_eq!(received_bytes(&with("MPI_Iallreduce", part::REQUEST, 8)), Some(8));
        assert_eq!(received_bytes(&with("MPI_Recv", 0, raw::UNKNOWN_BYTES)), None);
        assert_eq!(received_bytes(&call("MPI_Send", 2)), None);
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
        type Write = fn(&Recording, &Path, &(dyn Fn() + Sync)) -> Result<ExportSummary, Error>;
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
