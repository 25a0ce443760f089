//! Processes that work together under the MPI of their launcher, found and loaded at run time: those of a report, and those of
//! `crates/mpi/examples/world.rs`.

use std::path::Path;

use sintonia_tests::{Family, Mpi, Outcome, Process, for_every_mpi, fresh_dir, on_every_mpi, sintonia};

#[test]
fn a_report_by_several_processes_is_that_of_one_to_the_last_digit() {
    for program in ["c/018_rma", "c/192_farm"] {
        on_every_mpi(program, |mpi, _, recording| {
            let alone = recording.sintonia("report", &["--json"]);
            alone.expect_status(0);
            let report = [sintonia(), "report".to_string(), recording.path.display().to_string(), "--json".to_string()];
            // With five there are more of them than ranks.
            for processes in [2, 5] {
                let together = run(mpi, mpi.launch(processes, &report), &variables(mpi));
                together.expect_status(0);
                assert_eq!(together.stdout, alone.stdout, "{program}: {processes} processes");
            }
        });
    }
}

#[test]
fn parcels_arrive_whole_among_any_number_of_processes() {
    for_every_mpi(|mpi| {
        [2, 3, 5].iter().for_each(|ranks| assert_done(mpi, *ranks, "exchange"));
    });
}

#[test]
fn one_process_is_alone_and_loads_no_mpi() {
    for_every_mpi(|mpi| {
        let outcome = world(mpi, 1, "exchange");
        outcome.expect_status(0);
        assert_eq!(outcome.stdout.trim(), "alone, MPI not loaded");
    });
}

#[test]
fn parcels_may_be_longer_than_a_message() {
    for_every_mpi(|mpi| assert_done(mpi, 2, "large"));
}

#[test]
fn letters_of_any_length_come_in_the_order_of_their_sender() {
    for_every_mpi(|mpi| assert_done(mpi, 3, "letters"));
}

#[test]
fn all_hear_whether_any_says_yes() {
    for_every_mpi(|mpi| assert_done(mpi, 3, "any"));
}

#[test]
fn mistakes_are_errors_and_end_nothing() {
    for_every_mpi(|mpi| assert_done(mpi, 2, "refused"));
}

#[test]
fn a_process_that_aborts_ends_all_with_its_status() {
    for_every_mpi(|mpi| {
        world(mpi, 3, "abort").expect_status(7);
    });
}

#[test]
fn a_process_that_panics_ends_all() {
    for_every_mpi(|mpi| {
        let outcome = world(mpi, 3, "panic");
        assert!(!outcome.timed_out && outcome.status != 0, "{}", outcome.text());
        assert!(outcome.stderr.contains("as asked"), "its message is seen: {}", outcome.text());
    });
}

#[test]
fn a_process_that_cannot_join_ends_all() {
    for_every_mpi(|mpi| {
        let only_rank_1 = "test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} != 1 || export SINTONIA_MPI=/nowhere/libmpi.so; exec $0 join";
        let command = ["sh".to_string(), "-c".to_string(), only_rank_1.to_string(), example()];
        let outcome = run(mpi, mpi.launch(3, &command), &variables(mpi));
        outcome.expect_status(3);
        assert!(outcome.stderr.contains("/nowhere/libmpi.so"), "{}", outcome.text());
    });
}

#[test]
fn the_library_is_that_of_the_launcher() {
    for_every_mpi(|mpi| {
        // Without this variable only the launcher's own folder tells where a library is that the system does not know.
        let hidden = [variables(mpi), vec![("LD_LIBRARY_PATH".to_string(), String::new())]].concat();
        let outcome = run(mpi, mpi.launch(2, &[example(), "join".to_string()]), &hidden);
        outcome.expect_status(0);
        let is_open_mpi = outcome.stdout.contains("Open MPI");
        assert_eq!(is_open_mpi, mpi.family == Family::OpenMpi, "{}", outcome.text());
        if ["openmpi5", "mpich5"].contains(&mpi.name) {
            let beside = prefix(mpi).join("lib/libmpi.so.");
            assert!(outcome.stdout.contains(&beside.display().to_string()), "{}", outcome.text());
        }
    });
}

#[test]
fn a_library_that_does_not_belong_to_the_launcher_is_refused() {
    for_every_mpi(|mpi| {
        let stranger = if mpi.family == Family::OpenMpi { "libmpich.so.12" } else { "libmpi.so.40" };
        let env = [variables(mpi), vec![("SINTONIA_MPI".to_string(), stranger.to_string())]].concat();
        let outcome = run(mpi, mpi.launch(2, &[example(), "join".to_string()]), &env);
        outcome.expect_status(3);
        assert!(outcome.stderr.contains("does not belong to the launcher: 2 processes were started"), "{}", outcome.text());
    });
}

fn assert_done(mpi: &Mpi, ranks: usize, task: &str) {
    let outcome = world(mpi, ranks, task);
    outcome.expect_status(0);
    for rank in 0..ranks {
        let line = format!("rank {rank} of {ranks} did {task} with ");
        assert!(outcome.stdout.contains(&line), "no {line:?}\n{}", outcome.text());
    }
    if mpi.family == Family::Standard {
        assert!(outcome.stdout.contains("libmpi_abi"), "{}", outcome.text());
    }
}

fn world(mpi: &Mpi, ranks: usize, task: &str) -> Outcome {
    run(mpi, mpi.launch(ranks, &[example(), task.to_string()]), &variables(mpi))
}

fn run(mpi: &Mpi, command: Vec<String>, variables: &[(String, String)]) -> Outcome {
    let folder = fresh_dir();
    Process::new(command).env(&mpi.env).env(variables).limit(180).run_in(folder.path())
}

/// A library's own ABI comes before the standard one, so that one has to be asked for.
fn variables(mpi: &Mpi) -> Vec<(String, String)> {
    let standard = prefix(mpi).join("lib").join(mpi.soname).display().to_string();
    if mpi.family == Family::Standard { vec![("SINTONIA_MPI".to_string(), standard)] } else { Vec::new() }
}

/// The folder in which an MPI is installed.
fn prefix(mpi: &Mpi) -> &Path {
    mpi.launcher.parent().and_then(Path::parent).expect("launchers lie in bin/")
}

/// The example, built with the same profile as this test.
fn example() -> String {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().and_then(Path::parent).expect("tests lie in a folder of the profile's");
    let example = folder.join("examples/world");
    assert!(example.is_file(), "{} is not here: run `cargo build -p sintonia-mpi --example world`", example.display());
    example.to_str().expect("paths of tests are text").to_string()
}
