//! Sealing raw files and reading the result: nothing is lost, nothing is mixed up.

use std::fs;

use crate::support::*;
use sintonia_mpi::FunctionId;
use sintonia_recording::call_table::{CallDescriptor, RequestId};
use sintonia_recording::definitions::{
    DefinitionRecord, LIVE_DIR, LocalCommunicator, LocalGroup, LocalNeighbours, LocalObject, NoteDefinition, OffCpuDefinition,
    WorldDefinition,
};
use sintonia_recording::header::ProcessExit;
use sintonia_recording::host::OffCpuSource;
use sintonia_recording::raw::off_cpu::{MAGIC, RawInterval};
use sintonia_recording::raw::{self, RequestRef, part, profile};
use sintonia_recording::seal::{SealOptions, seal};
use sintonia_recording::sealed::RankFileWriter;
use sintonia_recording::testing::{RecordingBuilder, call};
use sintonia_recording::{Error, Recording, RunDescription};

#[test]
fn groups_that_calls_name_and_neighbours_are_told_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str, group: u64| payload(name).object(2, raw::NONE).part(part::VALUE, group);
    for rank in 0..2 {
        let mut process = process("here", 1 + rank as u32);
        process.clock(0).world(1, rank, 2);
        let sides = LocalNeighbours { sources: format!("{},{}", raw::PROC_NULL, 1 - rank), destinations: (1 - rank).to_string() };
        process.define(DefinitionRecord::Communicator(LocalCommunicator {
            id: 3,
            parent: Some(0),
            made_by: "MPI_Dist_graph_create_adjacent".into(),
            members: "0-1".into(),
            neighbours: Some(sides),
            ..LocalCommunicator::default()
        }));
        process.define(DefinitionRecord::Object(LocalObject { id: 2, kind: "window".into(), communicator: Some(0), path: None }));
        // Each process numbers its groups in order of their first use.
        let members = if rank == 0 { ["0-1", "1"] } else { ["1", "0-1"] };
        for (id, members) in members.iter().enumerate() {
            process.define(DefinitionRecord::Group(LocalGroup { id: id as u32, members: (*members).into() }));
        }
        process.call(10, 20, &named("MPI_Win_post", 0)).call(30, 40, &named("MPI_Win_start", 1)).call(50, 60, &named("MPI_Win_start", 9));
        process.call(70, 80, &named("MPI_Win_start", 1).mark(part::ERROR)).call(90, 95, &named("MPI_Win_lock", 1));
        process.end("finalized", 100).write(folder.path());
    }
    seal(folder.path(), &SealOptions::default()).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    let groups = |rank: u32| {
        let descriptors: Vec<CallDescriptor> = recording.tables(rank).unwrap()[0].calls().map(|call| call.descriptor.clone()).collect();
        let kinds: Vec<(bool, i32)> =
            descriptors[2..].iter().map(|descriptor| (descriptor.has_group_operand(), descriptor.value)).collect();
        assert_eq!(kinds, [(false, 0), (false, 1), (false, 1)], "a group that is not there, an error code and a kind of lock");
        [0, 1].map(|call: usize| recording.named_group(descriptors[call].value).to_vec())
    };
    assert_eq!((groups(0), groups(1)), ([vec![0, 1], vec![1]], [vec![1], vec![0, 1]]));
    assert_eq!(recording.header.groups.len(), 2);
    assert_eq!(recording.named_group(-1).len() + recording.named_group(7).len(), 0);
    let graph = recording.header.communicators.iter().position(|c| c.made_by == "MPI_Dist_graph_create_adjacent").unwrap() as u32;
    let neighbours = recording.neighbours(graph, 1).unwrap();
    assert_eq!((&neighbours.sources[..], &neighbours.destinations[..]), (&[raw::PROC_NULL, 0][..], &[0][..]));
    assert_eq!((recording.neighbours(0, 1), recording.neighbours(99, 1)), (None, None));
}

/// Many different calls, in time order.
fn some_calls(count: u64) -> Vec<(u64, u64, Payload)> {
    let mut random = fastrand::Rng::with_seed(5);
    let mut now = 1000;
    let call = |_| {
        let (gap, duration) = (random.u64(..10), random.u64(..10));
        now += 1 + random.u64(..1 << (3 * gap));
        let enter = now;
        now += random.u64(..1 << (3 * duration));
        let name = ["MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Isend"][random.usize(..4)];
        let mut payload = payload(name).site(0x1000 + random.u64(..5)).object(0, random.i32(0..4)).tag(random.i32(0..3));
        if name == "MPI_Isend" {
            payload = payload.mark(part::REQUEST);
        }
        (enter, now, payload.sent(random.u64(..3)).part(part::VALUE, 7))
    };
    (0..count).map(call).collect()
}

#[test]
fn what_was_called_is_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let calls = some_calls(5000);
    let mut process = process("here", 1);
    process.clock(0).world(1, 0, 4).end("finalized", 1 << 50);
    calls.iter().for_each(|(enter, leave, payload)| {
        process.call(*enter, *leave, payload);
    });
    assert!(process.streams[0].blocks.len() > 20, "many blocks are put together");
    process.write(folder.path());
    let sealed = seal(folder.path(), &SealOptions::default()).unwrap();
    assert_eq!((sealed.ranks, sealed.calls), (1, 5000));
    assert!(!folder.path().join(LIVE_DIR).exists());

    let recording = Recording::open(folder.path()).unwrap();
    let on_disk: u64 = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert_eq!(on_disk, sealed.bytes);
    let tables = recording.tables(0).unwrap();
    let zero = calls[0].0;
    let mut made = 0;
    for (call, (enter, leave, payload)) in tables[0].calls().zip(&calls) {
        let words = payload.words();
        let raw = raw::CallPayload::parse(&words).unwrap();
        assert_eq!((call.enter, call.leave), ((enter - zero) as i64, (leave - zero) as i64));
        assert_eq!(call.descriptor.function.0, raw.function_index());
        assert_eq!(call.descriptor.parts, raw.parts());
        assert_eq!(recording.site(call.descriptor.site).offset, raw.site() - 0x1000);
        assert_eq!(raw::pair(call.descriptor.object, call.descriptor.peer), raw.part(part::OBJECT).unwrap());
        assert_eq!(raw::pair(call.descriptor.tag as u32, call.descriptor.recv_tag), raw.part(part::TAG).unwrap());
        assert_eq!((call.descriptor.sent, call.descriptor.value), (raw.part(part::SENT).unwrap(), 7));
        let request = call.descriptor.makes_request().then_some(RequestId { thread: 0, number: made });
        made += u64::from(call.descriptor.makes_request());
        assert_eq!(call.request, request);
    }
    let totals = recording.totals(0).unwrap();
    assert_eq!(totals.iter().map(|(_, t)| t.calls).sum::<u64>(), 5000);
    let time: i64 = calls.iter().map(|(enter, leave, _)| (leave - enter) as i64).sum();
    assert_eq!(totals.iter().map(|(_, t)| t.total_ns as i64).sum::<i64>(), time);
    assert_eq!(recording.incomplete_ranks().iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [1, 2, 3], "rank 0 is complete");
}

#[test]
fn the_header_tells_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDescription {
        command: vec!["mpirun".into(), "./a".into()],
        started_s: 12.5,
        parameters: [("n".into(), 4.0)].into(),
        ..RunDescription::default()
    };
    run.write(folder.path()).unwrap();
    for rank in 0..3 {
        let mut process = usual("here", 10 + rank as u32, 1, rank, 4, 1000 * rank as u64);
        process.define(DefinitionRecord::Note(NoteDefinition { text: "something".into() }));
        process.write(folder.path());
    }
    seal(folder.path(), &SealOptions { exit_status: Some(3), notes: vec!["more".into()], ..SealOptions::default() }).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    let header = &recording.header;
    assert_eq!((&header.command, header.started_s, header.exit_status), (&run.command, 12.5, Some(3)));
    assert_eq!((header.parameters["n"], header.mpi.library.as_str(), header.hosts.len()), (4.0, "Open MPI 4.1.4", 1));
    assert_eq!((header.size, header.ranks.len(), header.clock_error_s), (4, 3, 0.0));
    assert_eq!(header.notes, ["more", "ranks 0-2: something"]);
    let rank = &header.ranks[2];
    assert_eq!((rank.rank, rank.pid, rank.calls, rank.threads, rank.end), (2, 12, 3, 1, ProcessExit::Finalized));
    assert_eq!((rank.begin_ns, rank.end_ns), (2000, 2050));
    assert_eq!(recording.members(0), [0, 1, 2, 3]);
    let why: Vec<(u32, String)> = recording.incomplete_ranks().into_iter().map(|(rank, why)| (rank, why.to_string())).collect();
    assert_eq!(why, [(3, "no data".to_owned())]);
    assert!(recording.tables(3).unwrap().is_empty() && recording.totals(7).unwrap().is_empty());
}

#[test]
fn memory_that_was_not_written_out_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let calls = some_calls(200);
    let mut killed = process("here", 1);
    killed.clock(0).world(1, 0, 1);
    let mut stream = Stream::new(0);
    calls.iter().for_each(|(enter, leave, payload)| stream.call(*enter, *leave, payload));
    let blocks = stream.blocks.len();
    assert!(blocks > 3);
    // The first two blocks were written out; one of them is still in memory, the last is open, and one slot is unused.
    let last_moment = calls.last().unwrap().1;
    let under_way = payload("MPI_Recv").object(0, 0);
    let mut tail = stream.block(blocks - 1, false, Some((last_moment + 5, &under_way)));
    tail.extend(stream.block(1, true, None));
    tail.extend((2..blocks - 1).flat_map(|number| stream.block(number, true, None)));
    tail.extend(vec![0; RAW_BLOCK]);
    killed.tails.push((0, tail));
    killed.others.push(("t0.calls".into(), stream.bytes(0)[..2 * RAW_BLOCK].to_vec()));
    killed.write(folder.path());
    seal(folder.path(), &SealOptions::default()).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    let tables = recording.tables(0).unwrap();
    assert_eq!(tables[0].len(), 201);
    assert!(tables[0].enter.is_sorted());
    let last = tables[0].calls().last().unwrap();
    assert_eq!((last.descriptor.function.name(), last.descriptor.parts & part::UNFINISHED), ("MPI_Recv", part::UNFINISHED));
    let rank = &recording.header.ranks[0];
    assert_eq!((rank.end, rank.damaged_blocks, rank.end_ns), (ProcessExit::CutShort, 0, last.leave));
    assert_eq!(recording.incomplete_ranks()[0].1.to_string(), "cut short");
}

#[test]
fn an_open_recording_is_read_without_being_touched() {
    let folder = tempfile::tempdir().unwrap();
    usual("here", 1, 1, 0, 1, 0).write(folder.path());
    let before: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!(recording.tables(0).unwrap()[0].len(), 3);
    assert!(recording.header.notes[0].contains("not sealed"), "{:?}", recording.header.notes);
    let after: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(before, after);
}

#[test]
fn requests_are_known_by_number_whichever_thread_completes_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = process("here", 1);
    process.clock(0).world(1, 1, 4).end("finalized", 1000);
    // Receives are posted on a communicator whose ranks 0 and 1 are world ranks 3 and 1.
    process.communicator(5, Some(0), "MPI_Comm_split", &[3, 1]);
    let receive = payload("MPI_Irecv").object(5, raw::ANY).mark(part::REQUEST).site(0x1010);
    let on_world = payload("MPI_Irecv").object(0, raw::ANY).mark(part::REQUEST).site(0x1018);
    let own = payload("MPI_Waitall").receive(RequestRef::Relative(0), 2, 9, 64).receive(RequestRef::Relative(1), 0, 8, 32).site(0x1020);
    process.call(10, 11, &receive).call(20, 21, &on_world).call(30, 60, &own).call(70, 71, &receive).call(100, 101, &receive);
    process.call(102, 103, &receive.clone().mark(part::FORTRAN)).call(130, 140, &receive);
    let mut other = Stream::new(1);
    other.call(65, 110, &payload("MPI_Wait").receive(RequestRef::Absolute(0, 2), 1, 7, 16).site(0x1030));
    other.call(120, 121, &payload("MPI_Wait").receive(RequestRef::Absolute(0, 3), 0, 7, 16).site(0x1030));
    // By its clock, this thread completes a receive before the other one has posted it.
    other.call(132, 135, &payload("MPI_Wait").receive(RequestRef::Absolute(0, 5), 0, 7, 16).site(0x1030));
    process.streams.push(other);
    process.write(folder.path());
    seal(folder.path(), &SealOptions::default()).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    let tables = recording.tables(1).unwrap();
    let listed = |table: usize| -> Vec<(u16, u64, i32)> {
        tables[table].calls().flat_map(|call| call.requests().map(|(id, r)| (id.thread, id.number, r.peer)).collect::<Vec<_>>()).collect()
    };
    assert_eq!(listed(0), [(0, 1, 2), (0, 0, 3)]);
    assert_eq!(listed(1), [(0, 2, 1), (0, 3, 3), (0, 5, 3)]);
    let mut calls = recording.calls(1).unwrap();
    let order: Vec<u16> = std::iter::from_fn(|| calls.next_call().map(|call| call.thread)).collect();
    assert_eq!(order[order.len() - 2..], [0, 1], "creation comes before completion");
    let made: Vec<u64> = tables[0].calls().filter_map(|call| Some(call.request?.number)).collect();
    assert_eq!(made, [0, 1, 2, 3, 4, 5]);
    assert_eq!(recording.header.ranks[0].threads, 2);
}

#[test]
fn a_list_that_goes_on_in_further_records_is_one_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = process("here", 1);
    process.clock(0).world(1, 0, 2).end("finalized", 1000);
    process.streams[0].limit = 12;
    let wait = |from: u64| (from..from + 3).fold(payload("MPI_Waitall"), |p, n| p.receive(RequestRef::Relative(n), 1, n as i32, 8));
    process.call(5, 6, &payload("MPI_Init"));
    process.call(10, 10, &wait(0)).call(10, 10, &wait(3).mark(part::CONTINUED)).call(10, 30, &wait(6).mark(part::CONTINUED));
    process.call(40, 50, &payload("MPI_Finalize"));
    assert!(process.streams[0].blocks.len() > 2, "the list goes on in another block");
    process.write(folder.path());
    seal(folder.path(), &SealOptions::default()).unwrap();
    let table = Recording::open(folder.path()).unwrap().tables(0).unwrap().remove(0);
    assert_eq!((table.enter, table.leave), (vec![0, 5, 35], vec![1, 25, 45]));
    let tags: Vec<i32> = table.descriptors[1].requests.iter().map(|r| r.tag).collect();
    assert_eq!(tags, (0..9).collect::<Vec<_>>());
    assert_eq!(table.descriptors[1].parts, 0);
}

#[test]
fn calls_on_windows_and_files_name_them_and_their_peers() {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        let mut process = process("here", 1 + rank as u32);
        process.clock(0).world(1, rank, 4).end("finalized", 1000);
        process.communicator(2, Some(0), "MPI_Comm_split", &[2, 0, 1]);
        for (id, kind) in [(3 + rank as u32, "window"), (7, "file")] {
            process.define(DefinitionRecord::Object(LocalObject { id, kind: kind.into(), communicator: Some(2), path: None }));
        }
        process.call(10, 20, &payload("MPI_Win_create").object(2, raw::NONE).part(part::CREATED, 3 + rank as u64));
        process.call(30, 40, &payload("MPI_Put").object(3 + rank as u32, 0).sent(8));
        process.call(50, 60, &payload("MPI_File_write_all").object(7, raw::NONE).sent(8));
        process.call(70, 80, &payload("MPI_Put").object(99, 0).sent(8));
        process.write(folder.path());
    }
    seal(folder.path(), &SealOptions::default()).unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    let kinds: Vec<&str> = recording.header.objects.iter().map(|o| o.kind.as_str()).collect();
    assert_eq!(kinds, ["window", "file"]);
    for rank in 0..2 {
        let descriptors = &recording.tables(rank).unwrap()[0].descriptors;
        let communicator = recording.header.objects[0].communicator.unwrap();
        assert_eq!((descriptors[0].object, descriptors[0].created), (communicator, 0));
        assert_eq!((descriptors[1].object, descriptors[1].peer), (0, 2));
        assert_eq!((descriptors[2].object, descriptors[2].peer), (1, raw::NONE));
        assert_eq!((descriptors[3].object, descriptors[3].peer), (raw::NO_OBJECT, raw::EXTERNAL));
        assert_eq!(recording.members(communicator), [2, 0, 1]);
    }
}

#[test]
fn programs_that_run_one_after_the_other_are_recordings_of_their_own() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("runs.sin");
    for rank in 0..2 {
        usual("here", 1 + rank as u32, 77, rank, 2, 10_000).write(&folder);
        usual("here", 5 + rank as u32, 11, rank, 2, 50_000).write(&folder);
    }
    let mut spawned = usual("here", 9, 5, 0, 1, 10_035);
    for definition in &mut spawned.definitions {
        if let DefinitionRecord::World(world) = definition {
            *world = WorldDefinition { spawned: true, ..world.clone() };
        }
    }
    spawned.write(&folder);
    let sealed = seal(&folder, &SealOptions::default()).unwrap();
    assert_eq!(sealed.recordings, [folder.clone(), parent.path().join("runs-2.sin")]);
    let first = Recording::open(&folder).unwrap();
    assert_eq!(first.header.ranks.iter().map(|r| (r.rank, r.pid)).collect::<Vec<_>>(), [(0, 1), (1, 2), (2, 9)]);
    let communicators: Vec<&str> = first.header.communicators.iter().map(|c| c.members.as_str()).collect();
    assert_eq!(communicators, ["0-1", "0", "1", "2", "2"], "the spawned world is another communicator");
    let barrier =
        |rank: u32| first.tables(rank).unwrap()[0].descriptors.iter().find(|s| s.function.name() == "MPI_Barrier").unwrap().object;
    assert_eq!((barrier(0), barrier(1), barrier(2)), (0, 0, 3));
    let second = Recording::open(&sealed.recordings[1]).unwrap();
    assert_eq!(second.header.ranks.iter().map(|r| (r.rank, r.pid)).collect::<Vec<_>>(), [(0, 5), (1, 6)]);
    assert_eq!(second.header.ranks[0].begin_ns, 0);
}

#[test]
fn a_program_without_mpi_is_a_recording_without_ranks() {
    let folder = tempfile::tempdir().unwrap();
    process("here", 1).write(folder.path());
    let error = Recording::open(folder.path()).err().unwrap();
    assert!(matches!(error, Error::NoMpiCalls { .. }), "{error}");
    assert!(error.to_string().contains("no MPI call was seen"));
    let sealed = seal(folder.path(), &SealOptions { exit_status: Some(4), ..SealOptions::default() }).unwrap();
    assert_eq!((sealed.ranks, sealed.calls, sealed.recordings.len()), (0, 0, 1));
    let recording = Recording::open(folder.path()).unwrap();
    assert_eq!((recording.header.ranks.len(), recording.header.exit_status), (0, Some(4)));
    assert!(recording.incomplete_ranks().is_empty() && recording.tables(0).unwrap().is_empty());
}

#[test]
fn processes_that_hang_in_init_are_ranked_by_number() {
    let folder = tempfile::tempdir().unwrap();
    for pid in [9, 10] {
        let mut process = process("here", pid);
        process.clock(0);
        process.call(10, 20, &payload("MPI_Init"));
        process.write(folder.path());
    }
    seal(folder.path(), &SealOptions::default()).unwrap();
    let header = Recording::open(folder.path()).unwrap().header;
    assert_eq!(header.ranks.iter().map(|r| (r.rank, r.pid)).collect::<Vec<_>>(), [(0, 9), (1, 10)]);
    assert!(header.notes[0].contains("learned its rank"), "{:?}", header.notes);
}

fn profile_region(entries: &[[u64; profile::ENTRY_WORDS]]) -> Vec<u8> {
    let header = [raw::PROFILE_MAGIC, entries.len() as u64, 100, 900, 2, 100, 100, 0];
    let mut words: Vec<u64> = header.to_vec();
    words.extend(entries.iter().flatten());
    words.resize(words.len() + 5 * profile::ENTRY_WORDS, 0);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_profile_is_read_as_totals() {
    let folder = tempfile::tempdir().unwrap();
    let send = FunctionId::from_name("MPI_Send").unwrap();
    let mut entry = [0; profile::ENTRY_WORDS];
    entry[profile::KEY] = raw::payload_header(send.0, part::FORTRAN, 0, 0);
    entry[profile::SITE] = 0x1010;
    entry[profile::OBJECT] = raw::pair(2, 0);
    entry[profile::CLASS] = u64::from(profile::size_class(1000));
    (entry[profile::CALLS], entry[profile::TICKS], entry[profile::MIN_TICKS], entry[profile::MAX_TICKS]) = (10, 500, 20, 90);
    entry[profile::SENT] = 9000;
    for rank in 0..2 {
        let mut process = process("here", 1 + rank as u32);
        process.clock(0).clock(10_000).world(1, rank, 2).end("finalized", 1000).communicator(2, Some(0), "MPI_Comm_split", &[1, 0]);
        for thread in 0..2 {
            process.others.push((format!("t{thread}.profile"), profile_region(&[entry])));
        }
        process.write(folder.path());
    }
    let sealed = seal(folder.path(), &SealOptions::default()).unwrap();
    assert_eq!(sealed.calls, 40);
    let recording = Recording::open(folder.path()).unwrap();
    assert!(recording.header.profile);
    let rank = &recording.header.ranks[0];
    assert_eq!((rank.calls, rank.threads, rank.begin_ns, rank.end_ns, rank.dropped), (20, 2, 0, 800, 4));
    let totals = recording.totals(0).unwrap();
    let (descriptor, sums) = &totals[0];
    assert_eq!(totals.len(), 1);
    assert_eq!(
        (descriptor.function, descriptor.peer, descriptor.sent, descriptor.parts),
        (send, 1, 1024, part::FORTRAN | part::OBJECT | part::SENT)
    );
    assert_eq!((sums.calls, sums.total_ns, sums.min_ns, sums.max_ns, sums.sent), (20, 1000, 20, 90, 18_000));
    assert!(recording.tables(0).unwrap().is_empty());
    assert!(recording.incomplete_ranks().is_empty());
}

/// A raw file of intervals, with unused records at its end.
fn off_cpu_file(intervals: &[RawInterval]) -> Vec<u8> {
    let records = [[MAGIC, 0, 0, 0]].into_iter().chain(intervals.iter().map(|interval| interval.to_words())).chain([[0; 4]; 5]);
    records.flatten().flat_map(u64::to_le_bytes).collect()
}

#[test]
fn times_off_the_processor_are_kept_for_each_thread_and_a_damaged_record_loses_only_itself() {
    let interval = |begin: u64| RawInterval { begin, end: begin + 10, waiting_ns: 4, blocked_ns: 6, processor: Some(1) };
    let whole = off_cpu_file(&[interval(100), interval(200), interval(205), interval(300)]);
    let seal_with = |first: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        let mut process = usual("here", 1, 1, 0, 1, 0);
        process.define(DefinitionRecord::OffCpu(OffCpuDefinition { source: OffCpuSource::RunQueue }));
        process.others.push(("t0.offcpu".into(), first.to_vec()));
        process.others.push(("t3.offcpu".into(), off_cpu_file(&[interval(70)])));
        process.write(folder.path());
        seal(folder.path(), &SealOptions::default()).unwrap();
        let recording = Recording::open(folder.path()).unwrap();
        assert_eq!(recording.header.ranks[0].off_cpu, Some(OffCpuSource::RunQueue));
        let begins = |thread: &sintonia_recording::off_cpu::ThreadOffCpu| {
            (thread.thread, thread.intervals().iter().map(|interval| interval.begin).collect::<Vec<_>>())
        };
        recording.off_cpu(0).unwrap().iter().map(begins).collect::<Vec<_>>()
    };
    let zero = seal_with(&whole)[1].1[0] - 70;
    let others = (3, vec![70 + zero]);
    let expected = |begins: &[i64]| vec![(0, begins.iter().map(|begin| begin + zero).collect()), others.clone()];
    assert_eq!(seal_with(&whole), expected(&[100, 200, 210, 300]), "intervals do not overlap");
    let mut damaged = whole.clone();
    damaged[2 * 32 + 9] ^= 1;
    assert_eq!(seal_with(&damaged), expected(&[100, 205, 300]));
    assert_eq!(seal_with(&whole[..3 * 32 + 7]), expected(&[100, 200]), "a file that was cut");
    for unreadable in [&b""[..], b"SIN", &whole[32..]] {
        assert_eq!(seal_with(unreadable), std::slice::from_ref(&others));
    }
}

#[test]
fn a_rank_can_be_read_call_by_call() {
    let folder = tempfile::tempdir().unwrap();
    let isend = call("MPI_Isend");
    let mut writer = RankFileWriter::create(folder.path(), 0).unwrap();
    for call in 0..300_000 {
        if call == 200_000 {
            // Whatever number a block starts with is valid from there on.
            writer.set_next_request(1, 0).unwrap();
        }
        writer.write_call((call % 2) as u16, 10 * call, 10 * call + 3, &isend).unwrap();
    }
    let recording = RecordingBuilder::in_folder(folder.path()).written_rank(writer.finish().unwrap(), 3_000_000).write();

    let mut calls = recording.calls(0).unwrap();
    let mut seen: [Vec<(i64, i64, Option<RequestId>)>; 2] = Default::default();
    let mut last = 0;
    while let Some(call) = calls.next_call() {
        assert!(call.leave >= last, "calls come in the order in which they ended");
        last = call.leave;
        seen[usize::from(call.thread)].push((call.enter, call.leave, call.request));
    }
    for table in recording.tables(0).unwrap() {
        let whole: Vec<_> = table.calls().map(|call| (call.enter, call.leave, call.request)).collect();
        assert_eq!(whole, seen[usize::from(table.thread)]);
    }
    assert!(recording.calls(7).unwrap().next_call().is_none());
}
