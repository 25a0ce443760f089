//! End-to-end tests of the page in a real browser, on real recordings. The scenarios are in `crates/view/web/test/scenarios`, one file per
//! subject; this file provides their recordings. `SINTONIA_UPDATE_PICTURES=1` replaces the stored screenshots.

use std::path::{Path, PathBuf};

use sintonia_tests::view::Served;
use sintonia_tests::{
    Mpi, Process, Program, Recording, SourceProgram, fresh_dir, run_in_web, run_scenario, sintonia, tests_dir, workspace,
};

#[test]
fn unit_tests_pass() {
    run_in_web(&["node", "--test", "test/unit.mjs", "test/unit-views.mjs", "test/unit-functions.mjs"]);
}

#[test]
fn every_view_draws_is_accessible_and_saves() {
    run_served("all-views", &[&grid().path]);
}

#[test]
fn the_overview_leads_to_the_places_it_names() {
    run_served("overview", &[&problem().path]);
}

#[test]
fn the_timeline_goes_from_the_run_to_single_calls() {
    run_served("timeline", &[&grid().path]);
}

#[test]
fn figures_are_those_of_the_selection() {
    run_served("selection", &[&problem().path]);
}

#[test]
fn threads_of_a_rank_are_not_drawn_over_each_other() {
    run_served("threads", &[&Recording::record(mpi(), &Program::find("c/226_late_sender_threads"), &[]).path]);
}

#[test]
fn it_can_be_read_on_a_large_screen() {
    run_served_with("large-screen", &[&grid().path, &problem().path], &["--machine", &machine()]);
}

#[test]
fn the_matrix_shows_who_sent_to_whom() {
    run_served("matrix", &[&grid().path]);
}

#[test]
fn the_program_shows_its_roles_and_phases() {
    run_served("program", &[&grid().path]);
}

#[test]
fn call_sites_show_their_source() {
    run_served("sites", &[&problem().path]);
}

#[test]
fn a_run_of_one_rank_is_shown() {
    let alone = Program::find("c/005_self");
    run_served("unusual", &[&Recording::record(mpi(), &alone, &[]).path]);
}

#[test]
fn a_program_without_calls_is_shown() {
    let source = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n";
    let recording = recorded("quiet", source, 2);
    run_served("unusual", &[&recording.path]);
}

#[test]
fn a_recording_that_was_cut_is_shown() {
    let recording = grid();
    let calls = recording.path.join("rank-00001.calls");
    let bytes = std::fs::read(&calls).expect("the calls of a rank");
    std::fs::write(&calls, &bytes[..bytes.len() / 2]).expect("cut");
    run_served("unusual", &[&recording.path]);
}

#[test]
fn names_with_html_in_them_stay_names() {
    let source = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n";
    let recording = recorded("<img src=x onerror=alert(1)>", source, 2);
    run_served("html-names", &[&recording.path]);
}

#[test]
fn two_recordings_are_shown() {
    run_served("unusual", &[&grid().path, &problem().path]);
}

#[test]
fn a_file_shows_the_same_page_without_a_network() {
    run_on_file("standalone-file", &[&grid().path]);
}

#[test]
fn a_file_of_two_recordings_compares_them() {
    run_on_file("all-views", &[&grid().path, &problem().path]);
}

#[test]
fn the_main_views_look_as_they_did() {
    let folder = fresh_dir();
    run_served("screenshots", &[&kept_recording("waves", folder.path())]);
}

#[test]
fn functions_and_threads_look_as_they_did() {
    let folder = fresh_dir();
    let recording = kept_recording("plate", folder.path());
    // The source is shown as well.
    std::fs::copy(tests_dir().join("recordings/plate.c"), folder.path().join("plate.c")).expect("copied");
    for name in ["recording.json", "stacks.json"] {
        let text = std::fs::read_to_string(recording.join(name)).expect("a file of the recording");
        std::fs::write(recording.join(name), text.replace("/home/ada/plate", &folder.path().display().to_string())).expect("written");
    }
    run_served("screenshots-hybrid", &[&recording]);
}

#[test]
fn a_replay_follows_its_dials() {
    run_served_with("replay", &[&problem().path], &["--machine", &machine()]);
}

#[test]
fn two_recordings_are_compared() {
    // Two versions of a program: the second one works less before its sum.
    let version = |work_us: u32| {
        let source = format!(
            "#include <mpi.h>\n#include <unistd.h>\nint main(int argc, char **argv) {{\n  int rank, sum;\n  MPI_Init(&argc, &argv);\n  \
             MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n  for (int i = 0; i < 3; i++) {{\n    usleep(rank == 0 ? {work_us} : 1000);\n    \
             MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n    MPI_Barrier(MPI_COMM_WORLD);\n  }}\n  \
             return MPI_Finalize();\n}}\n"
        );
        recorded("sums", &source, 2).without_missing_cores()
    };
    run_served("comparison", &[&version(300_000).path, &version(20_000).path]);
}

#[test]
fn ranks_are_shown_where_they_are_and_where_they_should_be() {
    let halo = Recording::record(mpi(), &Program::find("c/800_halo"), &[]);
    run_served_with("placement", &[&halo.path], &["--hosts", "one:4,two:4,three:4,four:4"]);
}

#[test]
fn a_model_is_shown_as_curves() {
    let folder = fresh_dir();
    let model = folder.path().join("lu.model.toml");
    let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n^2/p + p\"\n\
                [[parameter]]\nname = \"n\"\nfrom = 1\nto = 20\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
    std::fs::write(&model, text).expect("a model");
    run_served_with("scaling", &[&grid().path], &["--model", model.to_str().expect("paths of tests are text")]);
}

#[test]
fn a_machine_is_shown_as_lines_over_sizes() {
    run_served_with("machine", &[&grid().path], &["--machine", &machine()]);
}

#[test]
fn a_tuning_is_shown_while_it_goes_on() {
    let recording = grid();
    let folder = recording.path.to_str().expect("paths of tests are text");
    std::fs::write(recording.path.join("tuning.jsonl"), "").expect("a log");
    let served = Served::start(&[&recording.path]);
    // A recording is not sealed while the program runs; the scenario writes the log, and seals it.
    std::fs::create_dir(recording.path.join("live")).expect("a folder");
    std::fs::rename(recording.path.join("recording.json"), recording.path.join("later.json")).expect("not sealed");
    run_in_web(&["env", &format!("SINTONIA_TUNED={folder}"), "node", "test/run.mjs", "tuning", &served.address]);
}

/// A copy of a recording that is kept, because the index is stored in it.
fn kept_recording(name: &str, folder: &Path) -> PathBuf {
    let copy = folder.join(format!("{name}.sin"));
    std::fs::create_dir(&copy).expect("a folder");
    for file in std::fs::read_dir(tests_dir().join(format!("recordings/{name}.sin"))).expect("the recording that is kept").flatten() {
        std::fs::copy(file.path(), copy.join(file.file_name())).expect("copied");
    }
    copy
}

/// Serves recordings and runs a scenario on the page.
fn run_served(name: &str, recordings: &[&Path]) {
    run_served_with(name, recordings, &[]);
}

/// The same with more options on the command line.
fn run_served_with(name: &str, recordings: &[&Path], options: &[&str]) {
    let served = Served::start_with(recordings, options);
    run_scenario(name, &served.address);
}

/// Writes recordings as one HTML file and runs a scenario on it.
fn run_on_file(name: &str, recordings: &[&Path]) {
    let folder = fresh_dir();
    let file = folder.path().join("report.html");
    let path = |path: &Path| path.to_str().expect("paths of tests are text").to_owned();
    let mut command = vec![sintonia(), "report".into()];
    command.extend(recordings.iter().map(|recording| path(recording)));
    command.extend(["--html".into(), path(&file)]);
    Process::new(command).run_in(folder.path()).expect_no_crash().expect_status(0);
    run_scenario(name, &format!("file://{}", file.display()));
}

/// A machine file with enough nodes for all ranks.
fn machine() -> String {
    workspace().join("crates/machine/data/loggp.machine.toml").to_str().expect("paths of tests are text").to_owned()
}

/// One MPI library is enough: differences between them are tested elsewhere.
fn mpi() -> &'static Mpi {
    &Mpi::available()[0]
}

/// Nine ranks in a grid, with two roles.
fn grid() -> Recording {
    Recording::record(mpi(), &Program::find("c/191_grid"), &[])
}

/// Two ranks with a wait state whose cause the report names.
fn problem() -> Recording {
    Recording::record(mpi(), &Program::find("c/243_late_sender_compute"), &[]).without_missing_cores()
}

/// A program of a name, recorded.
fn recorded(name: &str, source: &str, ranks: usize) -> Recording {
    SourceProgram { name, source, ranks, ..SourceProgram::default() }.record(mpi(), &[])
}
