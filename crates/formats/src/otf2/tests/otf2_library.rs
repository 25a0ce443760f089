//! Traces that the OTF2 library wrote: regions, an OpenMP thread and metrics; calling contexts and samples. What is expected is what
//! `write_archives.c`, which is beside them, says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sintonia_recording::Recording;

use super::{calls, import};

pub(super) fn archive(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../otf2/tests/data/otf2-library").join(name)
}

/// A function with its file and line.
type Place = (String, String, Option<u32>);

fn place(function: &str, file: &str, line: u32) -> Place {
    (function.into(), file.into(), Some(line))
}

/// How often each call path is taken, innermost first.
fn call_paths(recording: &Recording, rank: u32) -> BTreeMap<Vec<Place>, usize> {
    let mut counts = BTreeMap::new();
    for call in calls(recording, rank) {
        let sites = std::iter::successors(Some(call.descriptor.site), |site| recording.site(*site).caller);
        let place = |site: u32| {
            let frame = &recording.site(site).frames[0];
            (frame.function.clone().unwrap_or_default(), frame.file.clone().unwrap_or_default(), frame.line)
        };
        *counts.entry(sites.map(place).collect()).or_default() += 1;
    }
    counts
}

/// How many samples each stack has, innermost first, and whether they are in MPI.
fn stacks(recording: &Recording, rank: u32, thread: u16) -> BTreeMap<(Vec<Place>, bool), usize> {
    let (frames, mut counts) = (recording.stack_frames().unwrap(), BTreeMap::new());
    let threads = recording.samples(rank).unwrap();
    for sample in threads.iter().filter(|samples| samples.thread == thread).flat_map(|samples| &samples.samples) {
        let stack = std::iter::successors(Some(sample.frame), |frame| frames[*frame as usize].caller);
        let place = |frame: u32| {
            let frame = &frames[frame as usize];
            (frame.function.clone().unwrap_or_default(), frame.file.clone().unwrap_or_default(), frame.line)
        };
        *counts.entry((stack.map(place).collect(), sample.in_mpi)).or_default() += 1;
    }
    counts
}

#[test]
fn calls_have_the_path_of_the_regions_around_them() {
    let (_folder, recording, notes) = import(&archive("regions.otf2"));
    let exchange = place("exchange", "comm.c", 3);
    let main = place("main", "main.c", 10);
    let expected = BTreeMap::from([
        (vec![exchange.clone(), place("smooth", "smooth.c", 5), main.clone()], 3),
        (vec![exchange, place("solve", "solve.c", 20), main], 6),
    ]);
    for rank in [0, 1] {
        assert_eq!(call_paths(&recording, rank), expected, "rank {rank}");
    }
    let expected_notes = ["write_archives.c made the trace", "metrics are left out: they are read at other times than events (1)"];
    assert_eq!(notes, expected_notes);
    // The two are one source line, told apart by their callers.
    let sites: Vec<u32> = calls(&recording, 0).iter().map(|call| call.descriptor.site).take(2).collect();
    let distinguishing = |site: u32| {
        let callers = recording.call_paths().distinguishing_callers(site);
        callers.iter().map(|caller| recording.site(caller.site).frames[caller.frame].function.clone().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((distinguishing(sites[0]), distinguishing(sites[1])), (vec!["smooth".to_owned()], vec!["solve".to_owned()]));
}

#[test]
fn regions_of_an_openmp_thread_are_stacks_of_their_own() {
    let (_folder, recording, _) = import(&archive("regions.otf2"));
    let parallel = vec![place("!$omp parallel @solve.c:22", "solve.c", 22)];
    let worker = stacks(&recording, 0, 1);
    assert_eq!(worker.keys().collect::<Vec<_>>(), [&(parallel, false)]);
    let master: usize = stacks(&recording, 0, 0).values().sum();
    // The worker is in its regions for 3 * 910 of the 3 * 1230 ticks of the other.
    let ratio = worker.values().sum::<usize>() as f64 / master as f64;
    assert!((0.5..1.0).contains(&ratio), "{ratio}");
}

#[test]
fn calls_have_the_path_of_their_calling_context() {
    let (_folder, recording, _) = import(&archive("unwinding.otf2"));
    let exchange = place("exchange", "comm.c", 4);
    let expected = BTreeMap::from([
        (vec![exchange.clone(), place("smooth", "smooth.c", 7), place("main", "main.c", 12)], 3),
        (vec![exchange, place("solve", "solve.c", 25), place("main", "main.c", 13)], 6),
    ]);
    for rank in [0, 1] {
        assert_eq!(call_paths(&recording, rank), expected, "rank {rank}");
    }
}

#[test]
fn samples_of_a_trace_are_samples_of_the_recording() {
    let (_folder, recording, notes) = import(&archive("unwinding.otf2"));
    let exchange = place("exchange", "comm.c", 4);
    let solve = [place("solve", "solve.c", 25), place("main", "main.c", 13)];
    for rank in [0, 1] {
        let under_solve = |function: Place| [&[function], &solve[..]].concat();
        let in_smooth = vec![exchange.clone(), place("smooth", "smooth.c", 7), place("main", "main.c", 12)];
        let expected = BTreeMap::from([
            ((in_smooth, true), 3),
            ((under_solve(place("compute", "solve.c", 31)), false), 3 * (5 + rank as usize)),
            ((under_solve(place("compute", "solve.c", 32)), false), 3 * 2),
            // The library's own function in the call is cut.
            ((under_solve(exchange.clone()), true), 3 * 2),
        ]);
        assert_eq!(stacks(&recording, rank, 0), expected, "rank {rank}");
        assert_eq!(recording.header.ranks[rank as usize].sampling.unwrap().period_ns, 100);
    }
    assert_eq!(notes, ["write_archives.c made the trace"]);
}
