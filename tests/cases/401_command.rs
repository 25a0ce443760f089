//! The command itself: its options, and what it says when it is given something it cannot use.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{Mpi, Outcome, Process, Program, Recording, fresh_dir, on_every_mpi, own_lines, record_command, sintonia, skipped};

/// One library is enough for what does not depend on it.
fn any_mpi() -> &'static Mpi {
    &Mpi::available()[0]
}

fn run(folder: &Path, arguments: &[&str]) -> Outcome {
    let command = std::iter::once(sintonia()).chain(arguments.iter().map(ToString::to_string));
    Process::new(command).env(&any_mpi().env).run_in(folder)
}

// ---- record: options

#[test]
fn json_on_the_last_line_of_stderr() {
    let program = Program::find("c/001_send_modes");
    let recording = Recording::record(any_mpi(), &program, &["--json"]);
    let last = recording.run.stderr.lines().last().expect("something on stderr");
    let summary: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"));
    assert_eq!((&summary["ranks"], &summary["exit_status"]), (&3.into(), &0.into()));
    assert_eq!(summary["calls"], recording.report()["calls"]);
    assert_eq!(summary["bytes_on_disk"], recording.bytes_on_disk());
    let name = summary["recording"].as_str().expect("the path of the recording");
    assert!(name.ends_with("run.sin"), "{name}");
}

#[test]
fn a_long_run_with_little_memory_loses_nothing() {
    on_every_mpi_with("c/049_many_calls", &["--memory", "1M"], |program, recording| {
        assert_eq!(recording.calls_at(program, "send", "MPI_Send"), 500_000);
        let bytes = recording.bytes_on_disk();
        assert!(bytes <= 16 * 500_000 + 65_536, "{bytes} bytes for half a million calls: more than 16 per call");
    });
}

#[test]
fn a_profile_has_the_same_sums_and_does_not_grow() {
    let program = Program::find("c/049_many_calls");
    let full = Recording::record(any_mpi(), &program, &[]);
    let profile = Recording::record(any_mpi(), &program, &["--profile"]);
    profile.run.expect_status(0);
    assert_eq!(profile.count("MPI_Send"), 500_000);
    assert_eq!(profile.calls_at(&program, "send", "MPI_Send"), 500_000);
    assert!(profile.bytes_on_disk() * 10 < full.bytes_on_disk(), "{} bytes", profile.bytes_on_disk());
    let short = Recording::record(any_mpi(), &Program::find("c/005_self"), &["--profile"]);
    assert!(profile.bytes_on_disk() < 4 * short.bytes_on_disk().max(4096), "a profile grows with the run");
}

#[test]
fn a_profile_knows_pairs_and_call_sites() {
    on_every_mpi_with("c/008_sendrecv", &["--profile"], |program, recording| {
        assert_eq!(recording.pair(0, 1), (4, 24));
        assert_eq!(recording.pair(2, 0), (3, 20));
        assert_eq!(recording.calls_at(program, "sendrecv", "MPI_Sendrecv"), 3);
    });
}

#[test]
fn scratch_folders_are_gathered() {
    let scratch = fresh_dir();
    let program = Program::find("c/001_send_modes");
    let recording = Recording::record(any_mpi(), &program, &["--scratch", &scratch.path().display().to_string()]);
    recording.run.expect_status(0);
    assert_eq!(recording.count("MPI_Send"), 3);
    assert_eq!(recording.report()["incomplete_ranks"], Value::Array(vec![]));
}

#[test]
fn parameters_of_the_run_are_kept() {
    let program = Program::find("c/001_send_modes");
    let recording = Recording::record(any_mpi(), &program, &["--param", "n=4096", "--param", "steps=77"]);
    recording.run.expect_status(0);
    let description = std::fs::read_to_string(recording.path.join("recording.json")).expect("recording.json");
    assert!(description.contains("4096") && description.contains("77"), "{description}");
}

#[test]
fn a_script_may_call_the_launcher() {
    let mpi = any_mpi();
    let program = Program::find("c/008_sendrecv");
    let launch = mpi.launch(3, &program.build(mpi).expect("builds")).join(" ");
    let folder = fresh_dir();
    let output = folder.path().join("run.sin");
    let script = format!("echo before; {launch}; echo after; exit 9");
    let command = record_command(&output, &[], vec!["sh".into(), "-c".into(), script]);
    let outcome = Process::new(command).env(&mpi.env).run_in(folder.path());
    outcome.expect_status(9);
    assert_eq!(outcome.stdout, "before\nsendrecv: done\nafter\n");
    let report = report(&output);
    assert_eq!(report["ranks"], 3);
}

#[test]
fn a_script_that_runs_two_programs_still_runs_both() {
    let mpi = any_mpi();
    let first = mpi.launch(3, &Program::find("c/008_sendrecv").build(mpi).expect("builds")).join(" ");
    let second = mpi.launch(2, &Program::find("c/003_waits").build(mpi).expect("builds")).join(" ");
    let folder = fresh_dir();
    let script = format!("{first} && {second}");
    let bare = Process::new(["sh", "-c", &script]).env(&mpi.env).run_in(folder.path());
    let output = folder.path().join("run.sin");
    let command = record_command(&output, &[], vec!["sh".into(), "-c".into(), script]);
    let recorded = Process::new(command).env(&mpi.env).run_in(folder.path());
    assert_eq!((recorded.status, &recorded.stdout), (bare.status, &bare.stdout), "{}", recorded.text());
    run(folder.path(), &["report", "run.sin"]).expect_no_crash();
}

#[test]
fn a_program_without_a_launcher_is_one_rank() {
    let mpi = any_mpi();
    let folder = fresh_dir();
    let output = folder.path().join("run.sin");
    let command = record_command(&output, &[], Program::find("c/005_self").build(mpi).expect("builds"));
    let outcome = Process::new(command).env(&mpi.env).run_in(folder.path());
    outcome.expect_status(0);
    assert_eq!(outcome.stdout, "sum 4950\n");
    assert_eq!(report(&output)["ranks"], 1);
}

// ---- record: what cannot be recorded

#[test]
fn a_program_that_is_not_there() {
    let folder = fresh_dir();
    let outcome = run(folder.path(), &["record", "-o", "run.sin", "--", "./nothing-here"]);
    outcome.expect_no_crash().expect_status(1);
    assert!(outcome.stderr.contains("nothing-here"), "{}", outcome.text());
}

#[test]
fn a_program_that_is_not_executable() {
    let folder = fresh_dir();
    std::fs::write(folder.path().join("notes.txt"), "not a program\n").expect("a file");
    let outcome = run(folder.path(), &["record", "-o", "run.sin", "--", "./notes.txt"]);
    outcome.expect_no_crash().expect_status(1);
    assert!(outcome.stderr.contains("notes.txt"), "{}", outcome.text());
}

#[test]
fn a_program_without_mpi() {
    let folder = fresh_dir();
    let outcome = run(folder.path(), &["record", "-o", "run.sin", "--", "sh", "-c", "echo hello; exit 4"]);
    outcome.expect_no_crash().expect_status(4);
    assert_eq!(outcome.stdout, "hello\n");
    assert!(outcome.stderr.contains("no MPI calls were recorded"), "{}", outcome.text());
    assert!(outcome.stderr.contains("run.sin is an empty recording"), "says what it left: {}", outcome.text());
    run(folder.path(), &["report", "run.sin"]).expect_no_crash();
}

#[test]
fn a_recording_is_named_after_the_script_or_program_that_runs() {
    let folder = fresh_dir();
    std::fs::write(folder.path().join("app.py"), "exit\n").expect("a script");
    for (command, name) in [(&["nice", "sh", "app.py"][..], "app.sin"), (&["env", "X=1", "nice", "-n", "1", "/bin/true"], "true.sin")] {
        let outcome = run(folder.path(), &[&["record", "--"][..], command].concat());
        outcome.expect_no_crash().expect_status(0);
        assert!(folder.path().join(name).is_dir(), "{command:?}: {}", outcome.text());
    }
}

#[test]
fn a_program_with_the_mpi_library_inside() {
    let folder = fresh_dir();
    let library = "int PMPI_Init(int *c, char ***v) { return !c + !v; }\nint PMPI_Finalize(void) { return 0; }\n";
    std::fs::write(folder.path().join("mpi.c"), library).expect("a source");
    let program = compile(folder.path(), &[&folder.path().join("mpi.c").display().to_string()]);
    let outcome = run(folder.path(), &["record", "-o", "run.sin", "--", &program.display().to_string()]);
    outcome.expect_no_crash().expect_status(5);
    assert!(outcome.stderr.contains("statically linked with its MPI library"), "{}", outcome.text());
}

#[test]
fn a_statically_linked_program() {
    let folder = fresh_dir();
    let program = compile(folder.path(), &["-static"]);
    let outcome = run(folder.path(), &["record", "-o", "run.sin", "--", &program.display().to_string()]);
    outcome.expect_no_crash().expect_status(5);
    assert_eq!(outcome.stdout, "hello\n");
    assert!(outcome.stderr.contains("static"), "says why nothing was recorded: {}", outcome.text());
}

#[test]
fn a_setuid_program() {
    let folder = fresh_dir();
    let program = compile(folder.path(), &[]);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).expect("the setuid bit");
    let outcome = run(folder.path(), &["record", "-o", "run.sin", "--", &program.display().to_string()]);
    outcome.expect_no_crash().expect_status(5);
    assert_eq!(outcome.stdout, "hello\n");
    let why = ["setuid", "set-user-ID"].iter().any(|why| outcome.stderr.contains(why));
    assert!(why, "says why nothing can be recorded: {}", outcome.text());
}

#[test]
fn an_output_folder_that_exists() {
    let mpi = any_mpi();
    let program = Program::find("c/005_self");
    let recording = Recording::record(mpi, &program, &[]);
    let before = recording.report();
    let again = |options: &[&str]| {
        let launch = mpi.launch(1, &program.build(mpi).expect("builds"));
        program.process(mpi, record_command(&recording.path, options, launch)).run_in(recording.folder())
    };
    let refused = again(&[]);
    refused.expect_no_crash().expect_status(1);
    assert!(refused.stderr.contains("--force"), "{}", refused.text());
    assert_eq!(refused.stdout, "", "nothing was run");
    assert_eq!(recording.report(), before, "the old recording is untouched");
    again(&["--force"]).expect_status(0);
    assert_eq!(recording.count("MPI_Isend"), 100);
}

#[test]
fn without_a_name_force_replaces_the_recording_of_the_program() {
    let (mpi, program, folder) = (any_mpi(), Program::find("c/005_self"), fresh_dir());
    let launch = mpi.launch(1, &program.build(mpi).expect("builds"));
    let recordings_after = |options: &[&str]| {
        let command = [sintonia(), "record".into()].into_iter().chain(options.iter().map(ToString::to_string)).chain(["--".into()]);
        program.process(mpi, command.chain(launch.clone()).collect()).run_in(folder.path()).expect_status(0);
        std::fs::read_dir(folder.path())
            .expect("a folder")
            .flatten()
            .filter(|entry| entry.path().extension() == Some("sin".as_ref()))
            .count()
    };
    assert_eq!(recordings_after(&[]), 1);
    assert_eq!(recordings_after(&["--force"]), 1, "replaced");
    assert_eq!(recordings_after(&[]), 2, "beside it");
}

#[test]
fn force_never_removes_what_is_no_recording() {
    let folder = fresh_dir();
    let precious = folder.path().join("run.sin/thesis.txt");
    std::fs::create_dir(folder.path().join("run.sin")).expect("a folder");
    std::fs::write(&precious, "years of work").expect("a file");
    run(folder.path(), &["record", "--force", "-o", "run.sin", "--", "true"]).expect_no_crash();
    assert_eq!(std::fs::read_to_string(&precious).ok().as_deref(), Some("years of work"));
}

#[test]
fn an_output_folder_that_cannot_be_made() {
    let folder = fresh_dir();
    std::fs::write(folder.path().join("file"), "").expect("a file");
    let outcome = run(folder.path(), &["record", "-o", "file/run.sin", "--", "echo", "hello"]);
    outcome.expect_no_crash().expect_status(1);
    assert!(outcome.stderr.contains("file/run.sin"), "{}", outcome.text());
    assert_eq!(outcome.stdout, "", "nothing was run");
}

#[test]
fn a_disk_too_small_for_a_recording() {
    let disk = match SmallDisk::mount("128k") {
        Ok(disk) => disk,
        Err(reason) => return skipped(reason),
    };
    let output = disk.folder.path().join("run.sin").display().to_string();
    let outcome = run(disk.folder.path(), &["record", "-o", &output, "--", "echo", "hello"]);
    outcome.expect_no_crash().expect_status(1);
    assert!(outcome.stderr.contains("not enough space"), "{}", outcome.text());
    assert_eq!(outcome.stdout, "", "nothing was run");
}

#[test]
fn a_disk_that_fills_up_does_not_disturb_the_program() {
    let disk = match SmallDisk::mount("16m") {
        Ok(disk) => disk,
        Err(reason) => return skipped(reason),
    };
    let mpi = any_mpi();
    let program = Program::find("c/049_many_calls");
    let launch = mpi.launch(1, &program.build(mpi).expect("builds")).join(" ");
    let folder = disk.folder.path().display();
    let output = disk.folder.path().join("run.sin");
    let script = format!("head -c 50000000 /dev/zero 2>/dev/null >{folder}/filler; exec {launch}");
    let work = fresh_dir();
    let command = record_command(&output, &[], vec!["sh".into(), "-c".into(), script]);
    let outcome = program.process(mpi, command).run_in(work.path());
    outcome.expect_no_crash().expect_status(0);
    assert_eq!(outcome.stdout, "many calls: done\n");
    let (said, other) = own_lines(&outcome.stderr);
    assert!(said.len() == 1 && other.is_empty(), "Sintonia says one sentence, and nobody else any: {}", outcome.text());
    assert!(said[0].contains("the disk is full"), "{}", said[0]);
    run(work.path(), &["report", &output.display().to_string()]).expect_no_crash();
}

// ---- wrong usage

#[test]
fn a_command_without_the_separator() {
    let folder = fresh_dir();
    let outcome = run(folder.path(), &["record", "mpirun", "-n", "2", "./a"]);
    outcome.expect_no_crash().expect_status(2);
    assert!(outcome.stderr.contains("sintonia record -- mpirun -n 2 ./a"), "{}", outcome.text());
}

#[test]
fn wrong_usage_is_status_2() {
    let folder = fresh_dir();
    for arguments in [&["record"][..], &["record", "--"], &["nonsense"], &["report"], &["report", "x", "--nonsense"]] {
        let outcome = run(folder.path(), arguments);
        outcome.expect_no_crash().expect_status(2);
        assert!(!outcome.stderr.is_empty(), "{arguments:?} says nothing");
    }
}

#[test]
fn every_verb_has_help_with_an_example() {
    let folder = fresh_dir();
    for verb in ["record", "report", "graph", "doctor"] {
        let outcome = run(folder.path(), &[verb, "--help"]);
        outcome.expect_no_crash().expect_status(0);
        assert!(outcome.stdout.contains(&format!("sintonia {verb}")), "{}", outcome.text());
    }
}

#[test]
fn doctor_tells_what_is_here() {
    let folder = fresh_dir();
    run(folder.path(), &["doctor"]).expect_no_crash().expect_status(0);
    let outcome = run(folder.path(), &["doctor", "--json"]);
    outcome.expect_no_crash().expect_status(0);
    let summary: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.text()));
    assert!(summary.is_object() && summary.to_string().contains("MPI"), "{summary}");
}

#[test]
fn a_report_is_one_screen() {
    let recording = Recording::record(any_mpi(), &Program::find("c/015_communicators"), &[]);
    let text = recording.sintonia("report", &[]);
    text.expect_no_crash().expect_status(0);
    let lines = text.stdout.lines().count();
    assert!((5..=60).contains(&lines), "{lines} lines:\n{}", text.stdout);
    let all = recording.sintonia("report", &["--all"]);
    all.expect_no_crash().expect_status(0);
    assert!(all.stdout.lines().count() >= lines);
}

fn on_every_mpi_with(name: &str, options: &[&str], check: impl Fn(&Program, &Recording)) {
    sintonia_tests::for_every_mpi(|mpi| {
        let program = Program::find(name);
        let recording = Recording::record(mpi, &program, options);
        recording.run.expect_status(0);
        check(&program, &recording);
    });
}

fn report(path: &Path) -> Value {
    let outcome = run(path.parent().expect("a folder"), &["report", "--json", &path.display().to_string()]);
    outcome.expect_no_crash().expect_status(0);
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.text()))
}

/// A program without MPI that prints a line and returns 5.
fn compile(folder: &Path, flags: &[&str]) -> PathBuf {
    let source = folder.join("hello.c");
    std::fs::write(&source, "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 5; }\n").expect("a source");
    let program = folder.join("hello");
    let status = Command::new("gcc").args(flags).arg(&source).arg("-o").arg(&program).status();
    assert!(status.is_ok_and(|status| status.success()), "gcc builds hello.c");
    program
}

/// A file system of that size, for as long as it lives. Only root can have one.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    fn mount(size: &str) -> Result<SmallDisk, String> {
        let folder = fresh_dir();
        let size = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Ok(SmallDisk { folder }),
            Ok(output) => Err(format!("mount: {}", String::from_utf8_lossy(&output.stderr).trim())),
            Err(error) => Err(format!("mount: {error}")),
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

#[test]
fn the_version_of_the_library_is_in_the_report() {
    on_every_mpi("c/005_self", |_, _, recording| {
        let report = recording.report();
        for key in ["library", "version"] {
            assert!(report["mpi"][key].as_str().is_some_and(|text| !text.is_empty()), "{}", report["mpi"]);
        }
    });
}
