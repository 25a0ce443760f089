//! The parts of a run: their figures add up to those of the whole run, whatever communicates across their borders.

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_insight::RunSummary;
use sintonia_insight::region_of_interest::{RegionOfInterest, RegionOfInterestError};
use sintonia_program::process_group::SingleProcess;
use sintonia_program::region::{RegionError, RegionSelection, TimeBound};
use sintonia_program::testing::run_in_group;
use sintonia_recording::Recording;
use sintonia_recording::header::ObjectDefinition;
use sintonia_recording::testing::{RecordingBuilder, TestProcess, Workload, call, finalize, init, record_program};

/// Sums of a report that add up over the parts of a run, in nanoseconds, bytes or numbers.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    calls: BTreeMap<&'static str, [u64; 3]>,
    waits: BTreeMap<(&'static str, &'static str, String), u64>,
    messages: BTreeMap<(i32, i32), [u64; 2]>,
    ranks: BTreeMap<u32, [u64; 2]>,
}

impl Sums {
    fn add(&mut self, summary: &RunSummary) {
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        let add = |sum: &mut [u64], more: &[u64]| sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        for operation in &summary.operations {
            let sum = self.calls.entry(operation.operation).or_default();
            add(sum, &[operation.calls, ns(operation.seconds), operation.bytes]);
        }
        for wait in &summary.wait_states {
            *self.waits.entry((wait.kind, wait.operation, wait.source.to_string())).or_default() += ns(wait.seconds);
        }
        for pair in &summary.pairs {
            add(self.messages.entry((pair.from, pair.to)).or_default(), &[pair.messages, pair.bytes]);
        }
        for rank in &summary.per_rank {
            add(self.ranks.entry(rank.rank).or_default(), &[ns(rank.mpi_s), ns(rank.outside_s)]);
        }
    }
}

fn whole(recording: &Recording) -> RunSummary {
    RunSummary::from_recording(recording, &SingleProcess, &|_, _| ()).unwrap()
}

fn select(folder: &Path, selection: &RegionSelection) -> Result<RegionOfInterest, RegionOfInterestError> {
    RegionOfInterest::select(Recording::open(folder).unwrap(), selection)
}

fn part(folder: &Path, selection: &RegionSelection) -> RunSummary {
    RunSummary::from_region(&select(folder, selection).unwrap(), &SingleProcess, &|_, _| ()).unwrap()
}

fn between(from: f64, to: f64) -> RegionSelection {
    RegionSelection::Time { from: Some(TimeBound::Share(from)), to: Some(TimeBound::Share(to)) }
}

#[test]
fn the_parts_of_a_run_add_up_to_it() {
    for workload in Workload::ALL {
        let folder = tempfile::tempdir().unwrap();
        let mut expected = Sums::default();
        expected.add(&whole(&workload.record(folder.path(), 600, 4)));
        let mut parts = Sums::default();
        for (from, to) in [(0.0, 0.21), (0.21, 0.5), (0.5, 0.77), (0.77, 1.0)] {
            parts.add(&part(folder.path(), &between(from, to)));
        }
        // A piece of a call that counts in another part has a time and no calls.
        assert_eq!(parts, expected, "{}", workload.name());
    }
}

#[test]
fn the_whole_run_as_a_part_has_the_figures_of_the_run() {
    for workload in Workload::ALL {
        let folder = tempfile::tempdir().unwrap();
        let run = whole(&workload.record(folder.path(), 300, 4));
        let all = part(folder.path(), &between(0.0, 1.0));
        assert_eq!(all.efficiency.map(|e| e.load_balance), run.efficiency.map(|e| e.load_balance), "{}", workload.name());
        assert_eq!((&all.wait_states, &all.call_sites), (&run.wait_states, &run.call_sites), "{}", workload.name());
        assert_eq!((all.calls, &all.pairs, &all.sizes), (run.calls, &run.pairs, &run.sizes), "{}", workload.name());
    }
}

#[test]
fn several_processes_find_the_same_of_a_part() {
    let folder = tempfile::tempdir().unwrap();
    Workload::Windows.record(folder.path(), 300, 4);
    let region = select(folder.path(), &between(0.3, 0.6)).unwrap();
    let one = RunSummary::from_region(&region, &SingleProcess, &|_, _| ()).unwrap();
    let several = run_in_group(3, |comm| RunSummary::from_region(&region, comm, &|_, _| ()).unwrap());
    assert!(several.iter().all(|summary| *summary == one));
}

/// Ten iterations with a reduction; then ten with a message to the next rank.
fn two_loops(process: &mut TestProcess) {
    process.compute(5000);
    for _ in 0..10 {
        process.compute(1000);
        process.collective(20, "MPI_Allreduce", 0, 0, [8, 8]);
    }
    let (rank, ranks) = (process.signed_rank(), process.ranks as i32);
    for _ in 0..10 {
        process.compute(500);
        process.send_receive(30, (rank + 1) % ranks, (rank + ranks - 1) % ranks, 7, 64);
    }
    process.compute(2000);
}

fn calls_at(summary: &RunSummary, operation: &str) -> u64 {
    summary.operations.iter().find(|one| one.operation == operation).map_or(0, |one| one.calls)
}

#[test]
fn all_iterations_of_a_loop_are_its_phase() {
    let recording = record_program(3, two_loops);
    let folder = recording.path();
    let phases = whole(&recording).phases;
    let number = 1 + phases.iter().position(|phase| phase.repeats).unwrap();
    let of_phase = part(folder, &RegionSelection::Phase(number.to_string()));
    let of_loop = part(folder, &RegionSelection::Iterations { first: 0, end: None });
    assert_eq!(calls_at(&of_loop, "MPI_Allreduce"), 30);
    assert_eq!(of_loop.calls, 30);
    for summary in [&of_phase, &of_loop] {
        let phase = &phases[number - 1];
        assert!((summary.work_s - phase.seconds).abs() < 1e-9, "{} s and {} s", summary.work_s, phase.seconds);
        assert_eq!(summary.efficiency, phase.efficiency);
    }
}

#[test]
fn iterations_add_up_to_their_loop() {
    let recording = record_program(3, two_loops);
    let iterations = |first, end| part(recording.path(), &RegionSelection::Iterations { first, end });
    let mut sums = [Sums::default(), Sums::default()];
    sums[0].add(&iterations(0, None));
    [iterations(0, Some(1)), iterations(1, Some(4)), iterations(4, None)].iter().for_each(|part| sums[1].add(part));
    assert_eq!(sums[0], sums[1]);
    assert_eq!(calls_at(&iterations(1, Some(4)), "MPI_Allreduce"), 9);
    assert!(iterations(2, Some(3)).region.unwrap().name.starts_with("iteration 2 of the loop"));
}

#[test]
fn what_is_not_in_the_run_is_no_part_of_it() {
    let recording = record_program(2, two_loops);
    let error = |selection: RegionSelection| match select(recording.path(), &selection) {
        Err(RegionOfInterestError::Region(error)) => error,
        _ => panic!("no error"),
    };
    assert!(matches!(error(between(0.5, 0.5)), RegionError::EmptyInterval { .. }));
    let late = RegionSelection::Time { from: Some(TimeBound::Seconds(100.0)), to: None };
    assert!(matches!(error(late), RegionError::EmptyInterval { .. }));
    assert!(matches!(error(RegionSelection::Phase("99".into())), RegionError::UnknownPhase { .. }));
    assert!(matches!(error(RegionSelection::CallPath("nowhere".into())), RegionError::UnknownFunction { .. }));
    let beyond = error(RegionSelection::Iterations { first: 10, end: None });
    assert!(beyond.to_string().contains("has 10 iterations, numbered from 0; there is no iteration 10"), "{beyond}");
}

/// Two ranks write a file together: parts of the run share the time of a write across their border, and one of them has the call.
#[test]
fn a_collective_write_across_a_border_is_in_both_parts() {
    let folder = tempfile::tempdir().unwrap();
    let write = || call("MPI_File_write_all").on(0).sent(64);
    let calls = |late: u64| {
        vec![
            init().line(1).at_ms(0, 10),
            write().line(2).at_ms(20 + late, 50),
            write().line(2).at_ms(60 + late, 90),
            finalize().line(9).at_ms(100, 110),
        ]
    };
    let recording = RecordingBuilder::in_folder(&folder.path().join("run.sin")).ranks([calls(0), calls(5)]).header(|header| {
        header.objects = vec![ObjectDefinition { kind: "file".into(), communicator: Some(0), path: Some("out.dat".into()) }];
    });
    let recording = recording.write();
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let sums =
        |summary: &RunSummary| summary.files.iter().map(|file| (file.writes, file.bytes_written, ns(file.seconds))).collect::<Vec<_>>();
    let run = sums(&whole(&recording));
    assert_eq!(run, [(4, 256, 110_000_000)]);
    let parts = [(0.0, 0.3), (0.3, 1.0)].map(|(from, to)| sums(&part(recording.path(), &between(from, to)))[0]);
    assert!(parts.iter().all(|(.., ns)| *ns > 0), "{parts:?}");
    assert_eq!((parts[0].0 + parts[1].0, parts[0].1 + parts[1].1, parts[0].2 + parts[1].2), run[0], "{parts:?}");
}
