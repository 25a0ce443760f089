//! A recording that goes out and comes back is the same, whatever its calls are.

use std::path::Path;

use fastrand::Rng;
use sintonia_mpi::{BlockingMode, FUNCTIONS, FunctionId, FunctionRole};
use sintonia_otf2::Event;
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::counters::{self, CounterDefinition, CounterIntervalKind, RankCounters, ThreadCounters};
use sintonia_recording::definitions::{CountersDefinition, FORMAT_VERSION, SamplingDefinition};
use sintonia_recording::header::{
    CallSiteDefinition, CommunicatorDefinition, LinearClock, MpiVersion, NeighbourClass, ObjectDefinition, ProcessExit, RecordedRank,
    RecordingHeader, SourceFrame,
};
use sintonia_recording::host::{HostDescription, ProcessLimits, ThreadUsage};
use sintonia_recording::raw::{self, RequestRef, part};
use sintonia_recording::samples::{self, Sample, StackFrame, ThreadSamples};
use sintonia_recording::sealed::RankFileWriter;

use super::{any_peer, calls, facts, import, one_of};
use crate::otf2;

/// Ticks before the recording begins.
const BEFORE: u64 = 500;
const ABSENT: u32 = 2;

/// A recording of processes that did anything at all, in any order.
pub(super) fn anything(folder: &Path, random: &mut Rng, length: u64, has_samples: bool) {
    let ranks = [0, 1, 3].map(|rank| {
        let (calls, threads, end_ns) = write_rank(folder, rank, random, length);
        if has_samples {
            samples::write(folder, rank, &any_samples(random, end_ns)).unwrap();
            for intervals in CounterIntervalKind::ALL {
                counters::write(folder, rank, intervals, &any_counters(random, end_ns)).unwrap();
            }
        }
        let end = one_of(random, &[ProcessExit::Finalized, ProcessExit::Exited, ProcessExit::Aborted, ProcessExit::CutShort]);
        let clock = LinearClock { origin_ticks: BEFORE, origin_ns: 0.0, ns_per_tick: 1.0 };
        let (pid, begin_ns) = (100 + rank, -(BEFORE as i64));
        RecordedRank {
            rank,
            host: rank % 2,
            pid,
            calls,
            threads,
            begin_ns,
            end_ns,
            end,
            dropped: 1,
            damaged_blocks: u64::from(rank),
            clock,
            usage: vec![ThreadUsage { cpu_ns: 9, affinity: "0-1".into(), ..ThreadUsage::default() }],
            limits: (rank == 1).then(|| ProcessLimits { cpu_quota: Some(0.5), ..ProcessLimits::default() }),
            counters: has_samples.then(|| CountersDefinition { events: vec!["instructions".into(), "power".into()], shortest_ns: 7 }),
            sampling: has_samples.then_some(SamplingDefinition { period_ns: 1000 + u64::from(rank % 2), kernel: true, stacks: true }),
            ..RecordedRank::default()
        }
    });
    if has_samples {
        samples::write_frames(folder, frames()).unwrap();
    }
    header(ranks.to_vec(), one_of(random, &["MPI_COMM_WORLD", "MPI_Init"])).write(folder).unwrap();
}

/// Frames of sampled stacks, some of which are call sites too.
fn frames() -> Vec<StackFrame> {
    let frame = |caller, function: Option<&str>, line: Option<u32>| StackFrame {
        caller,
        function: function.map(Into::into),
        file: line.map(|_| "/src/a.c".into()),
        line,
        module: if line.is_some() { "/bin/a".into() } else { String::new() },
    };
    vec![
        frame(None, Some("main"), Some(90)),
        frame(Some(0), Some("inlined"), Some(7)),
        frame(Some(0), Some("inlined"), Some(9)),
        frame(None, None, None),
        frame(Some(3), Some("MPI_Send"), None),
        frame(Some(1), Some("deeper"), Some(1)),
        frame(None, Some("main"), Some(90)),
    ]
}

/// Counters of two threads in any intervals, of which some follow each other.
fn any_counters(random: &mut Rng, end: i64) -> RankCounters {
    let power = CounterDefinition { name: "power".into(), unit: "W".into(), scale: 0.3, is_sum: false };
    let mut threads = Vec::new();
    for thread in [0, 7] {
        let (mut counters, mut begin) = (ThreadCounters::new(thread), 0);
        while begin <= end {
            let end = begin + random.i64(0..900);
            counters.push(begin, end, &[random.i64(..), random.i64(-5..5)]);
            begin = end + one_of(random, &[0, 1, 300]);
        }
        threads.push(counters);
    }
    RankCounters { counters: vec![CounterDefinition::event_count("instructions"), power], threads }
}

/// Samples of the threads that call MPI, and of one that does not, before, between, in and after calls.
fn any_samples(random: &mut Rng, end: i64) -> Vec<ThreadSamples> {
    let mut threads = Vec::new();
    for thread in [0, 1, 2, 7] {
        let mut times: Vec<i64> = (0..1 + end / 700).map(|_| random.i64(0..end.max(1) + 2000)).collect();
        times.sort_unstable();
        let mut sample = |time| Sample {
            time,
            frame: random.u32(..frames().len() as u32),
            in_kernel: random.bool(),
            in_mpi: random.bool(),
            is_truncated: random.bool(),
        };
        threads.push(ThreadSamples { thread, lost: u64::from(thread), samples: times.into_iter().map(&mut sample).collect() });
    }
    threads
}

fn header(ranks: Vec<RecordedRank>, world: &str) -> RecordingHeader {
    let communicator = |parent, made_by: &str, members: &str, remote: Option<&str>| CommunicatorDefinition {
        parent,
        made_by: made_by.into(),
        members: members.into(),
        remote: remote.map(Into::into),
        ..CommunicatorDefinition::default()
    };
    let strangers = format!("0-1,{}", raw::EXTERNAL);
    let mut communicators = vec![
        communicator(None, world, "0-3", None),
        communicator(None, "MPI_COMM_SELF", "1", None),
        communicator(Some(0), "MPI_Comm_split", "3,1-2", None),
        communicator(Some(2), "MPI_Intercomm_create", "0-2:2", Some("1-3:2")),
        communicator(Some(3), "MPI_Intercomm_merge", "0-3", None),
        communicator(Some(3), "MPI_Comm_dup", "0-2:2", Some("1-3:2")),
        communicator(None, "", &strangers, None),
    ];
    communicators[2].neighbours = vec![NeighbourClass { ranks: "1-3".into(), sources: "-1".into(), destinations: "1".into() }];
    let object =
        |kind: &str, communicator| ObjectDefinition { kind: kind.into(), communicator, path: (kind == "file").then(|| "/data/out".into()) };
    let frame = |function: &str, line| SourceFrame { function: Some(function.into()), file: Some("/src/a.c".into()), line };
    let site = |module: &str, offset, frames: &[SourceFrame]| CallSiteDefinition {
        module: module.into(),
        offset,
        // The second call site is called from the first, the fourth from nowhere known.
        caller: (offset == 0x50).then_some(0),
        frames: frames.to_vec(),
    };
    RecordingHeader {
        format: FORMAT_VERSION,
        command: ["mpirun", "-n", "4", "./a", "-n"].map(String::from).to_vec(),
        started_s: 1.7e9 + 0.25,
        exit_status: Some(3),
        parameters: [("n".to_owned(), 0.1), ("m".to_owned(), 1e300)].into(),
        mpi: MpiVersion { library: "An MPI 5".into(), version: "in\ntwo lines".into(), abi: "openmpi".into() },
        hosts: vec!["there".into(), "elsewhere".into()],
        host_descriptions: ["there", "elsewhere"].map(|name| HostDescription { name: name.into(), ..HostDescription::default() }).to_vec(),
        size: 4,
        ranks,
        communicators,
        objects: vec![object("file", Some(2)), object("window", Some(0)), object("window", None), object("file", None)],
        groups: vec!["0-1".into(), "3".into(), "0-1".into()],
        sites: vec![
            site("/bin/a", 0x40, &[frame("inlined", Some(7)), frame("main", Some(90))]),
            site("/bin/a", 0x50, &[]),
            site("/bin/b", 0x40, &[frame("inlined", Some(8)), frame("main", Some(90))]),
            site("", 0, &[SourceFrame { function: Some("main".into()), ..SourceFrame::default() }]),
            site("/bin/b", u64::MAX - 1, &[SourceFrame { file: Some("b.f90".into()), line: Some(1), function: None }]),
        ],
        operations: FUNCTIONS.iter().map(|function| function.name.to_owned()).collect(),
        clock_error_s: 2.5e-7,
        notes: vec!["something was not seen".into()],
        ..RecordingHeader::default()
    }
}

/// A request that can still be listed.
#[derive(Clone, Copy)]
struct Made {
    thread: u16,
    number: u64,
    persistent: bool,
    /// Whether it is of a one-sided transfer or of a file: only calls that complete it name it then.
    of_memory: bool,
}

fn write_rank(folder: &Path, rank: u32, random: &mut Rng, length: u64) -> (u64, u32, i64) {
    let mut writer = RankFileWriter::create(folder, rank).unwrap();
    let (mut now, mut made, mut next) = (0, Vec::new(), [0u64; 3]);
    for _ in 0..length {
        let thread = random.u16(..3);
        let mut descriptor = any_shape(random);
        descriptor.requests = any_requests(random, &descriptor, thread, &mut made, &next);
        let enter = now + 1 + random.u64(..1000);
        now = enter + random.u64(..1000);
        writer.write_call(thread, enter, now, &descriptor).unwrap();
        if descriptor.makes_request() {
            let persistent = descriptor.function.definition().mode == BlockingMode::Persistent;
            let of_memory = matches!(
                descriptor.function.role(),
                FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange | FunctionRole::FileRead | FunctionRole::FileWrite
            );
            made.push(Made { thread, number: next[usize::from(thread)], persistent, of_memory });
            next[usize::from(thread)] += 1;
        }
        now += 1;
    }
    (writer.finish().unwrap().calls, 3, now as i64)
}

fn any_shape(random: &mut Rng) -> CallDescriptor {
    let operation = loop {
        let operation = FunctionId(random.u16(..FUNCTIONS.len() as u16));
        if operation.role() != FunctionRole::Local {
            break operation;
        }
    };
    let number = |random: &mut Rng| one_of(random, &[0, 1, 2, 3, 4, 5, 6, 7, 1000, raw::NO_OBJECT]);
    let tag = |random: &mut Rng| one_of(random, &[0, 5, i32::MAX, raw::NONE, raw::ANY, -7]);
    let bytes = |random: &mut Rng| one_of(random, &[0, 8, 1 << 40, raw::UNKNOWN_BYTES]);
    // Most calls are as programs make them; some have marks that make no sense.
    let usual = super::super::decoded_call::DecodedCall::new(operation).descriptor.parts;
    let request = if operation.definition().mode == BlockingMode::Blocking { 0 } else { part::REQUEST };
    let any = random.u16(..);
    let parts = one_of(random, &[usual | request, usual | request | part::FORTRAN, any, usual | part::ERROR, part::UNFINISHED]);
    CallDescriptor {
        parts,
        site: one_of(random, &[0, 1, 2, 3, 4]),
        object: number(random),
        peer: any_peer(random),
        tag: tag(random),
        source: any_peer(random),
        recv_tag: tag(random),
        sent: bytes(random),
        received: bytes(random),
        created: number(random),
        value: one_of(random, &[0, 1, 2, -1, i32::MIN]),
        ..CallDescriptor::new(operation)
    }
}

/// Some of the requests that were made and are not complete.
fn any_requests(random: &mut Rng, descriptor: &CallDescriptor, thread: u16, made: &mut Vec<Made>, next: &[u64; 3]) -> Vec<ListedRequest> {
    let completes = matches!(
        descriptor.function.role(),
        FunctionRole::CompleteOne
            | FunctionRole::CompleteAll
            | FunctionRole::CompleteAny
            | FunctionRole::CompleteSome
            | FunctionRole::RequestFree
    );
    let lists = completes || matches!(descriptor.function.role(), FunctionRole::Start | FunctionRole::StartAll) || random.u64(..10) == 0;
    let mut listed = Vec::new();
    for _ in 0..if lists { random.u64(..5).min(made.len() as u64) } else { 0 } {
        let index = random.usize(..made.len());
        let one = made[index];
        if one.of_memory && (!completes || descriptor.function.role() == FunctionRole::RequestFree) {
            continue;
        }
        if completes && !one.persistent {
            made.remove(index);
        }
        let own = next[usize::from(thread)] + u64::from(descriptor.makes_request());
        let request =
            if one.thread == thread { RequestRef::Relative(own - 1 - one.number) } else { RequestRef::Absolute(one.thread, one.number) };
        let (peer, tag, received) = (any_peer(random), one_of(random, &[3, raw::ANY]), one_of(random, &[0, 77, raw::UNKNOWN_BYTES]));
        listed.push(ListedRequest { request, is_receive: random.u64(..2) == 0, peer, tag, received });
    }
    if completes && random.u64(..5) == 0 {
        listed.push(ListedRequest {
            request: RequestRef::UNKNOWN,
            is_receive: false,
            peer: raw::NONE,
            tag: raw::NONE,
            received: raw::UNKNOWN_BYTES,
        });
    }
    listed
}

/// Writes an archive, reads it again and compares.
fn go_out_and_back(recording: &Recording) -> Recording {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.otf2");
    let written = otf2::write(recording, &path, &|| ()).unwrap();
    assert_eq!(written.files, [path.clone(), folder.path().join("run.def"), folder.path().join("run")]);
    let (_kept, back, _) = import(&path);
    let (before, after) = (facts(recording), facts(&back));
    for (name, fact) in &before {
        assert_eq!(after.get(name), Some(fact), "{name}");
    }
    assert_eq!(after.len(), before.len());
    for rank in 0..recording.header.size as u32 {
        let (before, after) = (calls(recording, rank), calls(&back, rank));
        for (index, pair) in before.iter().zip(&after).enumerate() {
            assert_eq!(pair.1, pair.0, "call {index} of rank {rank}, {}", pair.0.name());
        }
        assert_eq!(after.len(), before.len(), "rank {rank}");
        for intervals in CounterIntervalKind::ALL {
            assert_eq!(back.counters(rank, intervals).unwrap(), recording.counters(rank, intervals).unwrap(), "rank {rank}");
        }
        assert_eq!(back.samples(rank).unwrap(), recording.samples(rank).unwrap(), "rank {rank}");
    }
    assert_eq!(back.stack_frames().unwrap(), recording.stack_frames().unwrap());
    back
}

#[test]
fn whatever_processes_do_comes_back_as_it_was() {
    let mut random = Rng::with_seed(1);
    for (length, has_samples) in [(0, false), (1, false), (40, false), (4000, false), (0, true), (1, true), (40, true), (4000, true)] {
        let folder = tempfile::tempdir().unwrap();
        anything(folder.path(), &mut random, length, has_samples);
        let recording = Recording::open(folder.path()).unwrap();
        let back = go_out_and_back(&recording);
        assert!(back.header.rank(ABSENT).is_none());
    }
}

/// OTF2 allows calls with calling contexts or without, not both in one archive.
#[test]
fn calls_have_calling_contexts_if_there_are_samples() {
    let folder = tempfile::tempdir().unwrap();
    anything(folder.path(), &mut Rng::with_seed(2), 40, true);
    let recording = Recording::open(folder.path()).unwrap();
    let kinds = |path: &Path| {
        let archive = sintonia_otf2::ArchiveReader::open(path).unwrap();
        let definitions = sintonia_otf2::Definitions::read(&archive).unwrap();
        let events = definitions.locations().flat_map(|location| archive.events(location).unwrap());
        let mut counts = [0; 3];
        for (_, event) in events.map(Result::unwrap) {
            match event {
                Event::Enter { .. } | Event::Leave { .. } => counts[0] += 1,
                Event::CallingContextEnter { .. } | Event::CallingContextLeave { .. } => counts[1] += 1,
                Event::CallingContextSample { .. } => counts[2] += 1,
                _ => {}
            }
        }
        counts
    };
    let samples: usize =
        [0, 1, 3].map(|rank| recording.samples(rank).unwrap().iter().map(|thread| thread.samples.len()).sum()).iter().sum();
    let path = folder.path().join("with.otf2");
    otf2::write(&recording, &path, &|| ()).unwrap();
    assert_eq!(kinds(&path), [0, 2 * 3 * 40, samples]);
    let path = folder.path().join("without.otf2");
    otf2::write_without_samples(&recording, &path, &|| ()).unwrap();
    assert_eq!(kinds(&path), [2 * 3 * 40, 0, 0]);
}

#[test]
fn sums_are_no_calls() {
    let folder = tempfile::tempdir().unwrap();
    RecordingHeader { format: FORMAT_VERSION, profile: true, size: 1, ..RecordingHeader::default() }.write(folder.path()).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    let error = otf2::write(&recording, &folder.path().join("a.otf2"), &|| ()).unwrap_err();
    assert!(error.to_string().contains("only a profile"));
}

#[test]
fn only_a_complete_recording_claims_to_be_complete() {
    let folder = tempfile::tempdir().unwrap();
    RankFileWriter::create(folder.path(), 0).unwrap().finish().unwrap();
    let rank = RecordedRank { end: ProcessExit::Finalized, ..RecordedRank::default() };
    let claim = |rank: RecordedRank| {
        let world = CommunicatorDefinition { made_by: "MPI_COMM_WORLD".into(), members: "0".into(), ..CommunicatorDefinition::default() };
        let header = RecordingHeader {
            format: FORMAT_VERSION,
            size: 1,
            ranks: vec![rank],
            communicators: vec![world],
            ..RecordingHeader::default()
        };
        header.write(folder.path()).unwrap();
        otf2::write(&Recording::open(folder.path()).unwrap(), &folder.path().join("a.otf2"), &|| ()).unwrap();
        let anchor = sintonia_otf2::AnchorFile::read(&folder.path().join("a.otf2")).unwrap();
        anchor.properties.iter().any(|(name, value)| name == "OTF2::MPI_COMMUNICATION_COMPLETE" && value == "true")
    };
    assert!(claim(rank.clone()));
    assert!(!claim(RecordedRank { dropped: 1, ..rank.clone() }));
    assert!(!claim(RecordedRank { end: ProcessExit::CutShort, ..rank }));
}
