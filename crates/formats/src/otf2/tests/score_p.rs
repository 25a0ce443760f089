//! A trace that Score-P wrote: mapped numbers, corrected clocks, regions of the program.

use std::path::PathBuf;

use sintonia_recording::counters::CounterIntervalKind;

use super::{calls, import};

/// The trace; `tests/data/README.md` says where it is from.
pub(super) fn archive() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/score-p/traces.otf2"))
}

/// The trace of the same program with metrics of PAPI.
pub(super) fn archive_with_metrics() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/score-p-papi/traces.otf2"))
}

/// Score-P's clock, as otf2-print shows it.
const TICKS_PER_SECOND: u128 = 2_095_197_216;
const BEGIN: u128 = 7_397_466_976_977_800;

fn nanoseconds(ticks: u128) -> i64 {
    ((ticks - BEGIN) * 1_000_000_000 / TICKS_PER_SECOND) as i64
}

#[test]
fn calls_messages_and_times_are_those_that_otf2_print_shows() {
    let (_folder, recording, notes) = import(&archive());
    let all = [calls(&recording, 0), calls(&recording, 1)];
    let names: Vec<&str> = all[0].iter().map(|call| call.name()).collect();
    assert_eq!((names.len(), names[0], names[17]), (18, "MPI_Init", "MPI_Finalize"));
    assert!(names[1..17].chunks(2).all(|pair| pair == ["MPI_Send", "MPI_Recv"]), "{names:?}");
    let (send, receive) = (&all[0][1].descriptor, &all[1][1].descriptor);
    assert_eq!((send.object, send.peer, send.tag, send.sent), (0, 1, 10, 16384));
    assert_eq!((receive.object, receive.peer, receive.tag, receive.received), (0, 0, 10, 16384));
    assert_eq!(all[0][1].times, [7_397_467_382_750_926, 7_397_467_382_788_022].map(nanoseconds));
    // The clock of rank 1 was corrected.
    assert_eq!(all[1][1].times, [7_397_467_382_769_925, 7_397_467_382_809_869].map(nanoseconds));
    assert_eq!(
        notes,
        ["Score-P 7.1 made the trace", "calls of local functions such as MPI_Comm_rank are left out, as `sintonia record` does (4)"]
    );
}

#[test]
fn the_header_says_what_the_trace_says_of_the_run() {
    let (_folder, recording, _) = import(&archive());
    let header = &recording.header;
    assert_eq!((header.size, header.hosts.clone()), (2, vec!["quartz10".to_owned()]));
    assert_eq!(header.command, ["/g/g92/bhatele1/umd/traces/score-p/ping-pong.otf2"]);
    assert_eq!(header.ranks.iter().map(|rank| (rank.rank, rank.pid)).collect::<Vec<_>>(), [(0, 26601), (1, 26602)]);
    assert_eq!(header.ranks[1].begin_ns, nanoseconds(7_397_466_977_062_212));
    let communicators: Vec<(&str, &str)> = header.communicators.iter().map(|c| (c.made_by.as_str(), c.members.as_str())).collect();
    assert_eq!(communicators, [("MPI_COMM_WORLD", "0-1"), ("MPI_COMM_SELF", "0"), ("MPI_COMM_SELF", "1")]);
    assert!(recording.incomplete_ranks().is_empty());
}

#[test]
fn a_call_comes_from_the_function_around_it() {
    let (_folder, recording, _) = import(&archive());
    for call in calls(&recording, 0) {
        let site = recording.site(call.descriptor.site);
        assert_eq!(site.frames[0].function.as_deref(), Some("int main(int, char**)"));
        assert!(site.module.ends_with("ping-pong.c"), "{}", site.module);
    }
}

#[test]
fn the_folder_of_the_trace_will_do() {
    let (_folder, recording, _) = import(archive().parent().unwrap());
    assert_eq!(recording.header.size, 2);
}

#[test]
fn functions_of_the_program_are_sampled_and_mpi_has_its_time() {
    let (_folder, recording, _) = import(&archive());
    let frames = recording.stack_frames().unwrap();
    assert!(frames.iter().any(|frame| frame.function.as_deref() == Some("int main(int, char**)")), "{frames:?}");
    for rank in [0, 1] {
        let period_ns = recording.header.ranks[rank as usize].sampling.unwrap().period_ns;
        let threads = recording.samples(rank).unwrap();
        let in_mpi = threads.iter().flat_map(|thread| &thread.samples).filter(|sample| sample.in_mpi).count();
        let expected: i64 = calls(&recording, rank).iter().map(|call| call.times[1] - call.times[0]).sum();
        let difference = (in_mpi as i64 * period_ns as i64 - expected).abs();
        assert!(
            difference < expected / 50 + 20 * period_ns as i64,
            "rank {rank}: {in_mpi} samples of {period_ns} ns, {expected} ns in calls"
        );
    }
}

/// Metrics are read at each enter and leave; a segment has what was counted from the leave of a call to the enter of the next one.
#[test]
fn metrics_of_papi_are_counters_between_calls() {
    let (_folder, recording, _) = import(&archive_with_metrics());
    let counters = recording.counters(0, CounterIntervalKind::Segments).unwrap();
    let names: Vec<&str> = counters.counters.iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(names, ["PAPI_TOT_CYC", "PAPI_L2_TCM", "PAPI_BR_MSP"]);
    assert!(counters.counters.iter().all(|counter| counter.is_sum && counter.scale == 1.0 && counter.unit.is_empty()));
    assert!(counters.counters[0].counts_cycles());
    assert_eq!(recording.header.ranks[0].counters.as_ref().unwrap().events, names);
    // One between each two of the 18 calls; MPI_Comm_size and MPI_Comm_rank are part of the first.
    let calls = calls(&recording, 0);
    let thread = counters.thread(0).unwrap();
    assert_eq!(thread.len(), calls.len() - 1);
    for pair in calls.windows(2) {
        let interval = thread.ending_at(pair[1].times[0]).unwrap();
        assert_eq!(interval.begin, pair[0].times[1]);
    }
    // As otf2-print shows the leave of MPI_Init and the enter of the first MPI_Send, and the leave of that and the enter of MPI_Recv.
    let first: Vec<&[i64]> = thread.iter().map(|interval| interval.values).take(2).collect();
    assert_eq!(
        first,
        [[88_062_349 - 87_997_941, 468_495 - 467_279, 180_398 - 180_169], [88_109_356 - 88_103_153, 469_336 - 469_226, 180_473 - 180_466]]
    );
}
