//! Traces as a whole: what is written, that it comes back, what Extrae writes, and what nobody should have written.

use std::fs;
use std::path::{Path, PathBuf};

use sintonia_mpi::{BlockingMode, FUNCTIONS, FunctionId};
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::definitions::FORMAT_VERSION;
use sintonia_recording::header::{CallSiteDefinition, CommunicatorDefinition, ProcessExit, RecordedRank, RecordingHeader, SourceFrame};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::sealed::RankFileWriter;
use tempfile::TempDir;

use super::external_sort::SortRuns;
use super::label_parser::{self, TraceLabels};
use super::trace_scan::TraceScan;
use super::{read, write};
use crate::import::NANOSECOND_CLOCK;
use crate::{Error, FilePosition, ImportSummary};

/// A call: its thread, when it was entered and left, and its descriptor.
type Call = (u16, u64, u64, CallDescriptor);

fn call(name: &str) -> CallDescriptor {
    let operation = FunctionId::from_name(name).unwrap();
    let request = if operation.definition().mode == BlockingMode::Blocking { 0 } else { part::REQUEST };
    CallDescriptor { parts: request, site: 1, ..CallDescriptor::new(operation) }
}

fn with(descriptor: CallDescriptor, parts: u16) -> CallDescriptor {
    CallDescriptor { parts: descriptor.parts | parts, ..descriptor }
}

fn send(name: &str, peer: i32, tag: i32, sent: u64) -> CallDescriptor {
    with(CallDescriptor { object: 0, peer, tag, sent, ..call(name) }, part::OBJECT | part::TAG | part::SENT)
}

fn receive(name: &str, peer: i32, tag: i32, received: u64) -> CallDescriptor {
    with(CallDescriptor { object: 0, peer, tag, received, ..call(name) }, part::OBJECT | part::TAG | part::RECEIVED)
}

fn exchange(peer: i32, source: i32, tag: i32, bytes: u64) -> CallDescriptor {
    let descriptor = CallDescriptor { source, recv_tag: tag, received: bytes, ..send("MPI_Sendrecv", peer, tag, bytes) };
    with(descriptor, part::SOURCE | part::RECEIVED)
}

fn collective(name: &str, object: u32, root: i32, sent: u64, received: u64) -> CallDescriptor {
    with(CallDescriptor { object, peer: root, sent, received, ..call(name) }, part::OBJECT | part::SENT | part::RECEIVED)
}

fn received(ago: u64, peer: i32, tag: i32, received: u64) -> ListedRequest {
    ListedRequest { request: RequestRef::Relative(ago), is_receive: true, peer, tag, received }
}

fn sent(ago: u64) -> ListedRequest {
    ListedRequest { request: RequestRef::Relative(ago), is_receive: false, peer: raw::NONE, tag: raw::NONE, received: 0 }
}

fn listing(name: &str, parts: u16, requests: Vec<ListedRequest>) -> CallDescriptor {
    with(CallDescriptor { requests, ..call(name) }, parts)
}

fn site(function: &str, line: u32) -> CallSiteDefinition {
    let frame = SourceFrame { function: Some(function.into()), file: Some("/src/a.c".into()), line: Some(line) };
    CallSiteDefinition { module: "/bin/a".into(), offset: 0, caller: None, frames: vec![frame] }
}

/// A recording of these ranks, two on each host, in which there are three communicators: of all, of ranks 1 and 0, and of rank 0 with 1.
fn recording(folder: &Path, ranks: Vec<Vec<Call>>) -> Recording {
    let size = ranks.len();
    let write_rank = |(rank, calls): (usize, Vec<Call>)| {
        let mut writer = RankFileWriter::create(folder, rank as u32).unwrap();
        calls.iter().for_each(|(thread, enter, leave, descriptor)| writer.write_call(*thread, *enter, *leave, descriptor).unwrap());
        let (begin, end) = (calls.first().map_or(0, |first| first.1), calls.iter().map(|call| call.2).max().unwrap_or(0));
        let (calls, rank) = (writer.finish().unwrap().calls, rank as u32);
        let (begin_ns, end_ns) = (begin as i64, end as i64);
        RecordedRank {
            rank,
            host: rank / 2,
            calls,
            threads: 1,
            begin_ns,
            end_ns,
            end: ProcessExit::Finalized,
            clock: NANOSECOND_CLOCK,
            ..RecordedRank::default()
        }
    };
    let communicator = |members: &str, remote: Option<&str>| CommunicatorDefinition {
        members: members.into(),
        remote: remote.map(str::to_owned),
        ..CommunicatorDefinition::default()
    };
    let header = RecordingHeader {
        format: FORMAT_VERSION,
        started_s: 1_794_722_186.0,
        hosts: (0..size.div_ceil(2)).map(|host| format!("host{host}")).collect(),
        size,
        ranks: ranks.into_iter().enumerate().map(write_rank).collect(),
        communicators: vec![communicator(&format!("0-{}", size - 1), None), communicator("1,0", None), communicator("0", Some("1"))],
        sites: vec![CallSiteDefinition::default(), site("main", 7), site("work", 9)],
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        ..RecordingHeader::default()
    };
    header.write(folder).unwrap();
    Recording::open(folder).unwrap()
}

/// The three files of a trace.
struct Files {
    folder: TempDir,
}

impl Files {
    fn of(ranks: Vec<Vec<Call>>, name: &str) -> Files {
        let (recorded, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let written = write(&recording(recorded.path(), ranks), &folder.path().join(name), &|| {}).unwrap();
        assert_eq!(written.files.len(), 3);
        assert_eq!(written.bytes, written.files.iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>());
        Files { folder }
    }

    fn trace(prv: impl AsRef<[u8]>, pcf: &str) -> Files {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.prv"), prv).unwrap();
        fs::write(folder.path().join("a.pcf"), pcf).unwrap();
        Files { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn import(&self, name: &str) -> Result<(ImportSummary, Recording), Error> {
        let into = self.path("imported.sin");
        if into.exists() {
            fs::remove_dir_all(&into).unwrap();
        }
        let imported = read(&self.path(name), &into)?;
        Ok((imported, Recording::open(&into).unwrap()))
    }
}

/// One line of text for each call of a recording, with all its data.
fn describe_calls(recording: &Recording) -> Vec<String> {
    let mut descriptions = Vec::new();
    for rank in &recording.header.ranks {
        let mut calls = recording.calls(rank.rank).unwrap();
        while let Some(call) = calls.next_call() {
            let s = call.descriptor;
            let requests: Vec<_> = call
                .requests()
                .map(|(id, listed)| (id.thread, id.number, listed.is_receive, listed.peer, listed.tag, listed.received))
                .collect();
            let lines: Vec<_> = recording.site(s.site).frames.iter().map(|frame| (frame.function.clone(), frame.line)).collect();
            descriptions.push(format!(
                "{} {} {}-{} {} {:#x} {} {} {} {} {} {} {} {} {:?} {:?} {:?}",
                rank.rank,
                call.thread,
                call.enter,
                call.leave,
                s.function.name(),
                s.parts,
                s.object,
                s.peer,
                s.tag,
                s.source,
                s.recv_tag,
                s.sent,
                s.received,
                s.created,
                call.request.map(|id| (id.thread, id.number)),
                requests,
                lines
            ));
        }
    }
    descriptions
}

/// A bit of everything that a trace can hold.
fn program() -> Vec<Vec<Call>> {
    let reduce = |root: bool| collective("MPI_Reduce", 0, 1, 8, if root { 8 } else { 0 });
    let zero = vec![
        (0, 0, 100, call("MPI_Init")),
        (0, 150, 160, receive("MPI_Irecv", 1, 5, 64)),
        (0, 170, 180, send("MPI_Isend", 1, 6, 3 << 30)),
        (0, 200, 400, CallDescriptor { site: 2, ..listing("MPI_Waitall", 0, vec![received(1, 1, 5, 64), sent(0)]) }),
        (0, 400, 410, with(listing("MPI_Test", 0, vec![]), part::FLAG_FALSE)),
        (0, 410, 500, exchange(1, 2, 7, 32)),
        (0, 510, 520, with(CallDescriptor { created: 1, object: 0, ..call("MPI_Comm_split") }, part::OBJECT | part::CREATED)),
        (0, 520, 530, CallDescriptor { object: 1, ..send("MPI_Send", 1, 8, 16) }),
        (0, 600, 700, reduce(false)),
        (0, 700, 800, collective("MPI_Alltoall", 0, raw::NONE, 24, 24)),
        (0, 800, 900, collective("MPI_Ibarrier", 1, raw::NONE, 0, 0)),
        (0, 900, 950, listing("MPI_Wait", 0, vec![sent(0)])),
        (1, 420, 430, send("MPI_Ssend", 2, 9, 1)),
        (0, 960, 1000, call("MPI_Finalize")),
    ];
    let one = vec![
        (0, 20, 100, call("MPI_Init")),
        (0, 110, 130, send("MPI_Send", 0, 5, 64)),
        (0, 140, 450, receive("MPI_Recv", 0, 6, 3 << 30)),
        (0, 450, 480, exchange(2, 0, 7, 32)),
        (0, 515, 520, with(CallDescriptor { created: 1, object: 0, ..call("MPI_Comm_split") }, part::OBJECT | part::CREATED)),
        (0, 520, 540, CallDescriptor { object: 1, ..receive("MPI_Recv", 0, 8, 16) }),
        (0, 600, 720, reduce(true)),
        (0, 720, 800, collective("MPI_Alltoall", 0, raw::NONE, 24, 24)),
        (0, 800, 810, collective("MPI_Ibarrier", 1, raw::NONE, 0, 0)),
        (0, 810, 950, listing("MPI_Wait", 0, vec![sent(0)])),
        (0, 960, 990, call("MPI_Finalize")),
    ];
    let two = vec![
        (0, 30, 100, call("MPI_Init")),
        (0, 440, 490, exchange(0, 1, 7, 32)),
        (0, 495, 500, receive("MPI_Recv", 0, 9, 1)),
        (0, 600, 650, reduce(false)),
        (0, 650, 800, collective("MPI_Alltoall", 0, raw::NONE, 24, 24)),
        (0, 960, 1000, call("MPI_Finalize")),
    ];
    vec![zero, one, two]
}

#[test]
fn what_was_exported_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let original = describe_calls(&recording(folder.path(), program()));
    for name in ["a.prv", "a.prv.gz"] {
        let files = Files::of(program(), name);
        let (imported, recording) = files.import(name).unwrap();
        assert_eq!((imported.ranks, imported.calls), (3, original.len() as u64));
        for (one, other) in describe_calls(&recording).iter().zip(&original) {
            assert_eq!(one, other);
        }
        let header = &recording.header;
        assert_eq!(header.hosts, ["host0", "host1"]);
        assert_eq!(header.ranks.iter().map(|rank| rank.host).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!(header.ranks.iter().map(|rank| (rank.begin_ns, rank.end_ns)).collect::<Vec<_>>(), [(0, 1000), (20, 990), (30, 1000)]);
        assert_eq!((recording.members(1), recording.members(4), recording.remote(4)), (&[1, 0][..], &[0][..], &[1][..]));
        assert_eq!(header.started_s, 1_794_722_160.0, "a trace knows minutes");
    }
}

#[test]
fn a_trace_is_what_extrae_would_have_written() {
    let zero =
        vec![(0, 0, 10, call("MPI_Init")), (0, 20, 25, send("MPI_Isend", 1, 6, 8)), (0, 25, 40, collective("MPI_Bcast", 0, 0, 4, 0))];
    let one =
        vec![(0, 5, 10, call("MPI_Init")), (0, 11, 30, receive("MPI_Recv", 0, 6, 8)), (0, 30, 36, collective("MPI_Bcast", 0, 0, 0, 4))];
    let files = Files::of(vec![zero, one], "a.prv");
    let expected = "\
#Paraver (15/11/2026 at 05:56):40_ns:1(2):1:2(1:1,1:1),5
c:1:1:2:1:2
c:1:2:2:2:1
c:1:4:1:1
c:1:5:1:2
i:1:3:4:1:5:2
1:1:1:1:1:0:10:15
1:2:1:2:1:0:5:2
2:1:1:1:1:0:40000001:1
2:1:1:1:1:0:50000003:31:70000001:3:80000001:3
1:2:1:2:1:5:10:15
2:2:1:2:1:5:40000001:1
2:2:1:2:1:5:50000003:31:70000001:3:80000001:3
1:1:1:1:1:10:20:1
1:2:1:2:1:10:11:1
2:1:1:1:1:10:50000003:0
2:2:1:2:1:10:50000003:0
1:2:1:2:1:11:30:3
2:2:1:2:1:11:50000001:2:70000001:3:80000001:3
1:1:1:1:1:20:25:10
2:1:1:1:1:20:50000001:3:70000001:3:80000001:3
3:1:1:1:1:20:25:2:1:2:1:11:30:8:6
1:1:1:1:1:25:40:13
2:1:1:1:1:25:50000001:0
2:1:1:1:1:25:50000002:7:50100001:4:50100002:0:50100004:1:50100003:1:70000001:3:80000001:3
1:2:1:2:1:30:36:13
2:2:1:2:1:30:50000001:0
2:2:1:2:1:30:50000002:7:50100001:0:50100002:4:50100004:1:70000001:3:80000001:3
1:2:1:2:1:36:40:2
2:2:1:2:1:36:50000002:0
2:2:1:2:1:36:40000001:0
2:1:1:1:1:40:50000002:0
2:1:1:1:1:40:40000001:0
";
    assert_eq!(files.text("a.prv"), expected);
    assert_eq!(
        files.text("a.row"),
        "LEVEL CPU SIZE 2\n1.host0\n2.host0\n\nLEVEL NODE SIZE 1\nhost0\n\nLEVEL THREAD SIZE 2\nTHREAD 1.1.1\nTHREAD 1.2.1\n"
    );
    let pcf = files.text("a.pcf");
    for line in
        ["9    50000002    MPI Collective Comm", "7      MPI_Bcast", "3      main", "3      a.c:7 [/src/a.c:7, /bin/a]", "15    Others"]
    {
        assert!(pcf.lines().any(|other| other == line), "{line} in\n{pcf}");
    }
}

#[test]
fn messages_with_one_end_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = vec![vec![(0, 0, 5, send("MPI_Send", 1, 1, 4)), (0, 6, 7, send("MPI_Send", raw::EXTERNAL, 1, 4))], vec![]];
    let written = write(&recording(folder.path(), ranks), &folder.path().join("a.prv"), &|| {}).unwrap();
    assert_eq!(written.notes[0], "1 message that no recorded call received could not be drawn");
    assert_eq!(written.notes[1], "1 message to or from processes outside the recording could not be drawn");
}

#[test]
fn sums_are_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    recording(folder.path(), vec![vec![]]);
    let header = RecordingHeader { profile: true, ..RecordingHeader::read(folder.path()).unwrap() };
    header.write(folder.path()).unwrap();
    let error = write(&Recording::open(folder.path()).unwrap(), &folder.path().join("a.prv"), &|| {}).unwrap_err();
    assert!(matches!(error, Error::ProfileOnly));
    assert!(!folder.path().join("a.prv").exists());
}

/// A trace as Extrae writes it: counters among the events, communications after the send has ended, calls that Sintonia never records.
const OF_EXTRAE: &str = "\
#Paraver (15/11/2026 at 06:22):1000_ns:2(1,1):1:2(1:1,1:2),3
c:1:1:2:1:2
c:1:2:1:2
c:1:3:1:1
1:1:1:1:1:0:100:1
2:1:1:1:1:100:50000003:31:40000036:11203:42000050:77
2:2:1:2:1:100:50000003:31:40000036:11204
2:1:1:1:1:150:50000003:0
2:2:1:2:1:150:50000003:0:42000050:18446744073709551615
2:1:1:1:1:160:50000003:19
2:1:1:1:1:161:50000003:0
2:1:1:1:1:200:50000001:4:70000001:3:80000001:4:70000002:4:80000002:5
2:1:1:1:1:210:50000001:0
2:1:1:1:1:210:50000001:4:70000001:3:80000001:4:70000002:4:80000002:5
2:1:1:1:1:220:50000001:0
2:1:1:1:1:220:50000001:6
2:2:1:2:1:230:50000001:3
2:2:1:2:1:240:50000001:0
3:2:1:2:1:230:240:1:1:1:1:210:300:64:2
2:2:1:2:1:250:50000001:3
2:2:1:2:1:260:50000001:0
3:2:1:2:1:250:260:1:1:1:1:220:300:128:2
2:2:1:2:1:270:50000001:6
2:2:1:2:1:280:50000001:0
2:1:1:1:1:300:50000001:0
2:2:1:2:1:400:50000002:9:50100001:8:50100002:0:50100004:1
2:1:1:1:1:410:50000002:9:50100001:0:50100002:8:50100004:1:50100003:1
2:1:1:1:1:500:50000002:0
2:2:1:2:1:500:50000002:0
2:1:1:1:1:600:50000003:999
2:1:1:1:1:610:50000003:0
2:2:1:2:1:700:50000003:32
2:1:1:1:1:700:50000003:32
2:1:1:1:1:800:50000003:0
";

const NAMES_OF_EXTRAE: &str = "\
EVENT_TYPE
0    70000001    Caller at level 1
0    70000002    Caller at level 2
VALUES
0 End
1 Unresolved
3 work [work()]
4 main [main()]

EVENT_TYPE
0    80000001    Caller line at level 1
0    80000002    Caller line at level 2
VALUES
0 End
4 a.c:7 [/src/a.c:7, /bin/a]
5 a.c:9 [/src/a.c:9, /bin/a]
";

fn calls(recording: &Recording, rank: u32) -> Vec<(&'static str, CallDescriptor)> {
    let mut calls = recording.calls(rank).unwrap();
    let mut list = Vec::new();
    while let Some(call) = calls.next_call() {
        list.push((call.descriptor.function.name(), call.descriptor.clone()));
    }
    list
}

#[test]
fn a_trace_of_extrae_is_understood() {
    let files = Files::trace(OF_EXTRAE, NAMES_OF_EXTRAE);
    let (imported, recording) = files.import("a.prv").unwrap();
    assert_eq!((imported.ranks, imported.calls), (2, 12));
    assert_eq!(imported.notes[0], "1 call of a function without a name was left out");
    assert!(imported.notes[1].starts_with("1 call of a local function"), "{:?}", imported.notes);
    let [zero, one] = [0, 1].map(|rank| calls(&recording, rank));
    let names = |calls: &[(&'static str, CallDescriptor)]| calls.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(names(&zero), ["MPI_Init", "MPI_Irecv", "MPI_Irecv", "MPI_Waitall", "MPI_Reduce", "MPI_Finalize"]);
    assert_eq!(names(&one), ["MPI_Init", "MPI_Isend", "MPI_Isend", "MPI_Waitall", "MPI_Reduce", "MPI_Finalize"]);
    assert_eq!((zero[1].1.peer, zero[1].1.tag, zero[1].1.received), (1, 2, 64));
    assert_eq!((zero[2].1.peer, zero[2].1.tag, zero[2].1.received), (1, 2, 128));
    assert_eq!(zero[3].1.requests, [received(1, 1, 2, 64), received(0, 1, 2, 128)], "both receives end in the wait");
    assert_eq!(one[3].1.requests, [sent(1), sent(0)]);
    assert_eq!((zero[4].1.peer, zero[4].1.sent, zero[4].1.received), (0, 8, 8), "the root gives its part too");
    assert_eq!((one[4].1.peer, one[4].1.sent, one[4].1.received), (0, 8, 0), "everyone knows the root");
    assert_eq!(one[5].1.parts & part::UNFINISHED, part::UNFINISHED, "the trace does not say that it ended");
    let path = std::iter::successors(Some(recording.site(zero[1].1.site)), |site| Some(recording.site(site.caller?)));
    assert_eq!(
        path.flat_map(|site| &site.frames).map(|frame| (frame.function.as_deref(), frame.line)).collect::<Vec<_>>(),
        [(Some("work()"), Some(7)), (Some("main()"), Some(9))]
    );
    assert_eq!(recording.header.hosts, ["node 1", "node 2"]);
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let (first, rest) = OF_EXTRAE.split_once('\n').unwrap();
    let mut lines: Vec<&str> = rest.lines().collect();
    // Of one process and moment, what ends must stay before what begins.
    lines.sort_by_key(|line| (line.starts_with('1'), !line.starts_with("c:"), !line.starts_with('3')));
    let shuffled = format!("{first}\n{}\n", lines.join("\n"));
    let [one, other] = [OF_EXTRAE, &shuffled].map(|trace| {
        let files = Files::trace(trace, NAMES_OF_EXTRAE);
        describe_calls(&files.import("a.prv").unwrap().1)
    });
    assert_eq!(one.len(), 12);
    assert_eq!(one, other);
}

#[test]
fn several_applications_follow_each_other() {
    let trace = "\
#Paraver (15/11/2026 at 06:22):100:0:2:1(1:0),2(1:0,1:0)
c:2:7:2:1:2
2:0:1:1:1:1:50000001:1
2:0:1:1:1:2:50000001:0
3:0:1:1:1:1:2:0:2:2:1:1:3:4:5
2:0:2:2:1:1:50000001:2
2:0:2:2:1:3:50000001:0
2:0:2:1:1:4:50000002:8:50100004:7
2:0:2:1:1:5:50000002:0
";
    let files = Files::trace(trace, "");
    let (_, recording) = files.import("a.prv").unwrap();
    let send = &calls(&recording, 0)[0].1;
    assert_eq!((send.peer, send.tag, send.sent), (2, 5, 4));
    assert_eq!(recording.header.rank(2).map(|rank| (rank.begin_ns, rank.end_ns)), Some((1000, 3000)), "times are in microseconds");
    assert_eq!(recording.members(calls(&recording, 1)[0].1.object), [1, 2]);
    assert_eq!(recording.header.size, 3);
}

#[test]
fn persistent_requests_send_what_they_were_later_seen_to_send() {
    let recv_init = receive("MPI_Recv_init", raw::ANY, raw::ANY, raw::UNKNOWN_BYTES);
    let start = |ago: u64| CallDescriptor { requests: vec![sent(ago)], ..with(call("MPI_Start"), part::STARTED) };
    let both = || CallDescriptor { requests: vec![sent(1), sent(0)], ..with(call("MPI_Startall"), part::STARTED) };
    let zero = vec![
        (0, 10, 11, send("MPI_Send_init", 1, 3, 8)),
        (0, 12, 13, send("MPI_Send_init", 1, 4, 16)),
        (0, 20, 25, start(1)),
        (0, 26, 30, listing("MPI_Wait", 0, vec![sent(1)])),
        (0, 40, 50, both()),
        (0, 50, 60, listing("MPI_Waitall", 0, vec![sent(1), sent(0)])),
    ];
    let one = vec![
        (0, 10, 11, recv_init.clone()),
        (0, 12, 13, recv_init),
        (0, 20, 25, start(1)),
        (0, 26, 31, listing("MPI_Wait", 0, vec![received(1, 0, 3, 8)])),
        (0, 40, 50, both()),
        (0, 50, 60, listing("MPI_Waitall", 0, vec![received(1, 0, 3, 8), received(0, 0, 4, 16)])),
    ];
    let folder = tempfile::tempdir().unwrap();
    let original = describe_calls(&recording(folder.path(), vec![zero.clone(), one.clone()]));
    let files = Files::of(vec![zero, one], "a.prv");
    let (imported, recording) = files.import("a.prv").unwrap();
    assert_eq!(describe_calls(&recording), original);
    assert_eq!(imported.notes.len(), 1, "no message is lost: {:?}", imported.notes);
}

#[test]
fn wrong_lines_are_named() {
    let (first, _) = OF_EXTRAE.split_once("2:1:1:1:1:100").unwrap();
    for (line, what) in [
        ("x", "record type"),
        ("?:1", "unknown record type '?'"),
        ("1:1:1:1:1:5", "expected a time"),
        ("1:1:1:1:1:5:6:", "a state"),
        ("2:1:1:1:1:5:50000001", "the type and the value"),
        ("2:1:1:1:1:9223372036854775808:50000001:1", "a time"),
        ("2:1:1:3:1:5:50000001:1", "no thread 1 of task 3"),
        ("2:1:1:1:2:5:50000001:1", "no thread 2 of task 1"),
        ("2:1:1:0:1:5:50000001:1", "no thread 1 of task 0"),
        ("2:1:1:18446744073709551615:1:5:50000001:1", "no thread"),
        ("3:1:1:1:1:5:6:1:1:2:1:7:8:9", "the size and the tag"),
        ("c:1:9:3:1:2", "as many tasks"),
        ("c:1:9:1:5", "a task"),
        ("c:4:9:1:1", "no application 4"),
        ("i:1:9:1:1", "two communicators"),
    ] {
        let error = Files::trace(format!("{first}{line}\n"), "").import("a.prv").err().expect(line).to_string();
        assert!(error.contains("a.prv: line 6: ") && error.contains(what), "{line}: {error}");
    }
}

#[test]
fn a_trace_can_be_cut_anywhere() {
    for trace in [OF_EXTRAE.to_owned(), Files::of(program(), "a.prv").text("a.prv")] {
        let (files, names) = (Files::trace("", ""), TraceLabels::default());
        for end in 0..trace.len() {
            fs::write(files.path("a.prv"), &trace[..end]).unwrap();
            let entries = SortRuns::new(files.folder.path()).unwrap();
            match TraceScan::scan(&files.path("a.prv"), &names, files.folder.path(), &entries) {
                Ok(scan) => assert_eq!(scan.first_ranks, [0]),
                Err(Error::Malformed { position, .. }) => {
                    let lines = trace[..end].lines().count().max(1) as u64;
                    assert_eq!(position, FilePosition::Line(lines), "only the last line can be wrong");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn records_before_a_truncation_are_kept() {
    let trace = Files::of(program(), "a.prv").text("a.prv");
    let files = Files::trace("", "");
    let mut before = 0;
    for (end, _) in trace.match_indices('\n') {
        fs::write(files.path("a.prv"), &trace[..end]).unwrap();
        let (imported, recording) = files.import("a.prv").unwrap();
        assert_eq!(imported.calls, describe_calls(&recording).len() as u64);
        assert!(imported.calls >= before);
        before = imported.calls;
    }
    fs::write(files.path("a.prv"), trace.trim_end_matches("0\n")).unwrap();
    assert!(files.import("a.prv").is_err());
    assert!(!files.path("imported.sin").exists(), "nothing is left");
}

#[test]
fn names_can_be_cut_anywhere() {
    let exported = Files::of(program(), "a.prv");
    let (pcf, row) = (exported.text("a.pcf"), exported.text("a.row"));
    for end in 0..pcf.len() {
        fs::write(exported.path("a.pcf"), &pcf[..end]).unwrap();
        fs::write(exported.path("a.row"), &row[..end.min(row.len())]).unwrap();
        TraceLabels::read(&exported.path("a.pcf")).unwrap();
        label_parser::read_node_names(&exported.path("a.row")).unwrap();
    }
}

#[test]
fn a_damaged_trace_is_read_or_refused() {
    let whole = Files::of(program(), "a.prv").text("a.prv").into_bytes();
    let files = Files::trace("", NAMES_OF_EXTRAE);
    let (mut random, mut read, mut refused) = (fastrand::Rng::with_seed(1), 0, 0);
    for _ in 0..150 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.u64(..3) {
            let (position, other) = (random.usize(..bytes.len()), random.usize(..bytes.len()));
            match random.u64(..4) {
                0 => bytes[position] = random.u8(..),
                1 => bytes[position] = b"0123456789:\n"[other % 12],
                2 => _ = bytes.drain(position.min(other)..position.max(other).min(position.min(other) + 40)),
                _ => bytes.swap(position, other),
            }
        }
        fs::write(files.path("a.prv"), &bytes).unwrap();
        match files.import("a.prv") {
            Ok((imported, recording)) => {
                assert_eq!(imported.calls, describe_calls(&recording).len() as u64);
                write(&recording, &files.path("again.prv"), &|| {}).unwrap();
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

#[test]
fn any_program_comes_back_through_a_trace() {
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..30 {
        let ranks = 2 + random.usize(..3);
        let program = exchanges(&mut random, ranks);
        let folder = tempfile::tempdir().unwrap();
        let original = describe_calls(&recording(folder.path(), program.clone()));
        let files = Files::of(program, "a.prv");
        let (imported, recording) = files.import("a.prv").unwrap();
        for (one, other) in describe_calls(&recording).iter().zip(&original) {
            assert_eq!(one, other);
        }
        assert_eq!(imported.calls, original.len() as u64);
        assert_eq!(imported.notes.len(), 1, "no message is lost: {:?}", imported.notes);
    }
}

/// A program of rounds in which each rank sends something to the next one, in one of several ways.
fn exchanges(random: &mut fastrand::Rng, ranks: usize) -> Vec<Vec<Call>> {
    let mut calls = vec![Vec::new(); ranks];
    let mut now = 0;
    for _ in 0..20 {
        let (way, tag, bytes) = (random.u64(..4), random.i32(0..3), random.u64(..) >> (random.u64(..60)));
        for (rank, calls) in calls.iter_mut().enumerate() {
            let (next, previous) = (((rank + 1) % ranks) as i32, ((rank + ranks - 1) % ranks) as i32);
            let mut at = now + random.u64(..10);
            let mut add = |descriptor: CallDescriptor| {
                let (enter, leave) = (at + random.u64(..3), at + 3 + random.u64(..5));
                at = leave;
                calls.push((0, enter, leave, descriptor));
            };
            match way {
                0 => add(exchange(next, previous, tag, bytes)),
                1 => {
                    add(receive("MPI_Irecv", previous, tag, bytes));
                    add(send("MPI_Send", next, tag, bytes));
                    add(listing("MPI_Wait", 0, vec![received(0, previous, tag, bytes)]));
                }
                2 => {
                    add(receive("MPI_Irecv", previous, tag, bytes));
                    add(send("MPI_Isend", next, tag, bytes));
                    add(listing("MPI_Waitall", 0, vec![received(1, previous, tag, bytes), sent(0)]));
                }
                _ => add(collective("MPI_Bcast", 0, tag % ranks as i32, if tag % ranks as i32 == rank as i32 { 8 } else { 0 }, 0)),
            }
        }
        now += 100;
    }
    calls
}
