//! Files: what the report says of them is what the programs did, in every language, and the programs are not disturbed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, record_command, remove_missing_cores, retry_until_ok, sintonia};

/// The file of a program beside this case.
fn source(name: &str) -> PathBuf {
    sintonia_tests::tests_dir().join("cases/135_files").join(name)
}

fn compile(compiler: &[String], folder: &Path, file: &str, options: &[&str], name: &str, link: &[String]) {
    let mut command = Command::new(&compiler[0]);
    command.args(&compiler[1..]).args(["-g", "-O2"]).arg("-o").arg(folder.join(name)).arg(source(file)).args(options).args(link);
    assert!(command.status().expect("the compiler runs").success());
}

/// Runs a command on some ranks as it is, and recorded; the recording is `run.sin`.
fn run_twice(mpi: &Mpi, folder: &Path, ranks: usize, options: &[&str], program: &[String], env: &[(String, String)]) -> [Outcome; 2] {
    let bare = Process::new(mpi.launch(ranks, program)).env(&mpi.env).env(env).run_in(folder);
    let options = [&["--force"], options].concat();
    let recorded = record_command(&folder.join("run.sin"), &options, mpi.launch(ranks, program));
    let recorded = Process::new(recorded).env(&mpi.env).env(env).run_in(folder);
    bare.expect_status(0);
    recorded.expect_status(0);
    [bare, recorded]
}

fn report(folder: &Path) -> Value {
    let outcome = Process::new([sintonia().as_str(), "report", "--json", "run.sin"]).run_in(folder);
    serde_json::from_str(&outcome.expect_status(0).stdout).expect("JSON")
}

const COUNTERS: [&str; 7] = ["opens", "reads", "writes", "bytes_read", "bytes_written", "syncs", "seeks"];

/// The counters of each file of the report, by its name.
fn reported(report: &Value) -> BTreeMap<String, Vec<u64>> {
    let counters = |file: &Value| COUNTERS.iter().map(|counter| file[counter].as_u64().expect("a number")).collect();
    let name = |file: &Value| file["path"].as_str().expect("a path").rsplit('/').next().unwrap_or_default().to_owned();
    report["files"].as_array().into_iter().flatten().map(|file| (name(file), counters(file))).collect()
}

/// The ledgers that the ranks printed, summed up by file.
fn ledgers(outcome: &Outcome) -> BTreeMap<String, Vec<u64>> {
    let mut files: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in outcome.stdout.lines().filter_map(|line| line.strip_prefix("ledger ")) {
        let (name, numbers) = line.split_once(' ').expect("a name and numbers");
        let sums = files.entry(name.to_owned()).or_insert_with(|| vec![0; COUNTERS.len()]);
        sums.iter_mut().zip(numbers.split(' ')).for_each(|(sum, number)| *sum += number.parse::<u64>().expect("a number"));
    }
    files
}

fn sorted_lines(outcome: &Outcome) -> Vec<&str> {
    let mut lines: Vec<&str> = outcome.stdout.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn c135_the_report_equals_the_ledger_of_the_program() {
    for_every_mpi(|mpi| {
        for options in [&["-pthread"][..], &["-pthread", "-D_FORTIFY_SOURCE=2"], &["-pthread", "-D_FILE_OFFSET_BITS=64", "-no-pie"]] {
            let folder = fresh_dir();
            compile(&mpi.cc, folder.path(), "ledger.c", options, "ledger", &mpi.link);
            for record_options in [&[][..], &["--callpath", "off"], &["--profile"]] {
                let [bare, recorded] = run_twice(mpi, folder.path(), 3, record_options, &["./ledger".into()], &[]);
                assert_eq!(sorted_lines(&bare), sorted_lines(&recorded));
                let (expected, report) = (ledgers(&recorded), report(folder.path()));
                assert_eq!(expected.len(), 11, "{}", recorded.text());
                assert_eq!(reported(&report), expected, "{options:?} {record_options:?}");
                check_details(&report);
            }
        }
    });
}

/// What follows from the program: sizes, order, call sites and ranks.
fn check_details(report: &Value) {
    let files = report["files"].as_array().expect("files");
    let file = |name: &str| files.iter().find(|file| file["path"].as_str().is_some_and(|path| path.ends_with(name))).expect("a file");
    let (posix, stdio, shared) = (file("/posix.1"), file("/stdio.1"), file("/shared"));
    assert_eq!((&posix["shared"], &posix["ranks"]), (&false.into(), &serde_json::json!([1])));
    assert_eq!((&shared["shared"], &shared["ranks"]), (&true.into(), &serde_json::json!([0, 1, 2])));
    // 0 bytes; 1000; up to 10,000; up to 19,000; and 50, 333, 3 and 2 bytes.
    assert_eq!(posix["write_sizes"], serde_json::json!([4, 2, 9, 9, 0, 0, 0, 0, 0, 0]));
    // fputc, the pieces of 24 bytes and two lines; 65,000 bytes at once.
    assert_eq!(stdio["write_sizes"], serde_json::json!([10302, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
    assert_eq!((&stdio["consecutive_writes"], &stdio["consecutive_reads"]), (&10302.into(), &10004.into()));
    // One of the calls went to a descriptor that was closed.
    assert_eq!((&posix["failed"], &stdio["failed"]), (&0.into(), &0.into()));
    let sites = stdio["call_sites"].as_array().expect("call sites");
    assert!(sites.iter().all(|site| site["interface"] == "stdio" && site["function"] == "stdio"), "{sites:?}");
    let text = include_str!("135_files/ledger.c");
    let line = text.lines().position(|line| line.contains("fputc(")).expect("fputc") + 1;
    let fputc = sites.iter().find(|site| site["line"] == line).expect("the line of fputc");
    assert_eq!((&fputc["operation"], &fputc["calls"], &fputc["bytes"]), (&"write".into(), &10000.into(), &10000.into()));
}

#[test]
fn c136_signals_jumps_and_cancellation() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(&mpi.cc, folder.path(), "signals.c", &["-pthread"], "signals", &mpi.link);
        let [bare, recorded] = run_twice(mpi, folder.path(), 2, &[], &["./signals".into()], &[]);
        assert_eq!(sorted_lines(&bare), sorted_lines(&recorded));
        assert!(bare.stdout.contains("read: -1, Interrupted system call, handled 1"), "{}", bare.text());
        assert!(bare.stdout.contains("closed twice -1, Bad file descriptor"), "{}", bare.text());
        let files = reported(&report(folder.path()));
        assert!(files["data.0"][4] > 0 && files.contains_key("part.1.0"), "{files:?}");
    });
}

#[test]
fn c137_languages() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(&mpi.cxx, folder.path(), "streams.cpp", &[], "streams", &mpi.link);
        run_twice(mpi, folder.path(), 2, &[], &["./streams".into()], &[]);
        let files = reported(&report(folder.path()));
        assert_eq!([&files["cxx.0"], &files["cxx.1"]].map(|file| (file[0], file[4])), [(1, 5_000_000); 2]);
        if let Some(fortran) = &mpi.fortran {
            compile(fortran, folder.path(), "records.f90", &[], "records", &mpi.link_fortran);
            run_twice(mpi, folder.path(), 2, &[], &["./records".into()], &[]);
            let files = reported(&report(folder.path()));
            assert_eq!([&files["fortran.0"], &files["fortran.1"]].map(|file| (file[0], file[3], file[4])), [(1, 800_000, 800_000); 2]);
        }
        let program = [mpi.python.display().to_string(), source("pieces.py").display().to_string()];
        run_twice(mpi, folder.path(), 2, &[], &program, &mpi.python_env);
        let files = reported(&report(folder.path()));
        for name in ["python.0", "python.1"] {
            assert_eq!((files[name][0], files[name][3], files[name][4], files[name][5]), (2, 1_200_000, 1_200_000, 1), "{files:?}");
        }
    });
}

#[test]
fn c138_files_are_not_recorded_if_they_are_not_wanted() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(&mpi.cc, folder.path(), "ledger.c", &["-pthread"], "ledger", &mpi.link);
        run_twice(mpi, folder.path(), 2, &["--io", "off"], &["./ledger".into()], &[]);
        assert!(report(folder.path()).get("files").is_none());
        let refused = Process::new(record_command(&folder.path().join("no.sin"), &["--io", "some"], vec!["true".into()]));
        let refused = refused.run_in(folder.path());
        assert!(refused.status != 0 && refused.stderr.contains("invalid value 'some'"), "{}", refused.text());
    });
}

/// The advice on files of one rank: seconds that it promises.
fn promised_s(report: &Value) -> Option<f64> {
    let advice = report["advice"].as_array()?.iter().find(|advice| advice["kind"] == "files_by_one_rank")?;
    assert!(advice["what"].as_str()?.contains("checkpoint.0 alone (40.0 MB at "), "{}", advice["what"]);
    advice["saves_s"].as_f64()
}

#[test]
fn c139_what_the_advice_promises_is_saved_when_all_ranks_write() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let compiler = ["cc".to_owned()];
        compile(&compiler, folder.path(), "slow_disk.c", &["-shared", "-fPIC", "-ldl"], "libslowdisk.so", &[]);
        let library = format!("-L{}", folder.path().display());
        let path = format!("-Wl,-rpath,{}", folder.path().display());
        compile(&mpi.cc, folder.path(), "checkpoint.c", &[&library, &path, "-Wl,--no-as-needed", "-lslowdisk"], "checkpoint", &mpi.link);
        let check = || {
            let seconds = |outcome: &Outcome| outcome.stdout.trim().parse::<f64>().map_err(|error| format!("{error}: {}", outcome.text()));
            let [alone, _] = run_twice(mpi, folder.path(), 4, &[], &["./checkpoint".into()], &[]);
            remove_missing_cores(&folder.path().join("run.sin"));
            let promised = promised_s(&report(folder.path())).ok_or("no advice")?;
            let [all, _] = run_twice(mpi, folder.path(), 4, &[], &["./checkpoint".into(), "all".into()], &[]);
            remove_missing_cores(&folder.path().join("run.sin"));
            if promised_s(&report(folder.path())).is_some() {
                return Err("advice on what is already done".to_owned());
            }
            let saved = seconds(&alone)? - seconds(&all)?;
            let is_kept = saved > 0.4 && (promised - saved).abs() < 0.2 * saved;
            is_kept.then_some(()).ok_or_else(|| format!("{promised} s promised, {saved} s saved"))
        };
        retry_until_ok(check);
    });
}

#[test]
fn c140_a_killed_process_loses_no_counters() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(&mpi.cc, folder.path(), "killed.c", &[], "killed", &mpi.link);
        let command = record_command(&folder.path().join("run.sin"), &[], mpi.launch(1, &["./killed".into()]));
        assert_ne!(Process::new(command).env(&mpi.env).run_in(folder.path()).status, 0);
        assert_eq!(reported(&report(folder.path())), [("data".to_owned(), vec![1, 0, 1000, 0, 8000, 1, 0])].into());
    });
}

#[test]
fn c141_files_of_mpi_io_equal_the_ledger_of_the_program() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(&mpi.cc, folder.path(), "mpi_io.c", &[], "mpi_io", &mpi.link);
        for options in [&[][..], &["--callpath", "off"], &["--profile"]] {
            let [bare, recorded] = run_twice(mpi, folder.path(), 3, options, &["./mpi_io".into()], &[]);
            assert_eq!(sorted_lines(&bare), sorted_lines(&recorded));
            let (expected, report) = (ledgers(&recorded), report(folder.path()));
            assert_eq!(expected.len(), 4, "{}", recorded.text());
            // Sums have no index of the file that a call opened or closed.
            let first = usize::from(options == ["--profile"]);
            let counters = |files: BTreeMap<String, Vec<u64>>| -> Vec<(String, Vec<u64>)> {
                files.into_iter().map(|(name, counters)| (name, counters[first..].to_vec())).collect()
            };
            assert_eq!(counters(reported(&report)), counters(expected), "{options:?}");
            check_mpi_io(&report);
        }
        run_twice(mpi, folder.path(), 2, &["--io", "off"], &["./mpi_io".into()], &[]);
        assert!(report(folder.path()).get("files").is_none());
    });
}

/// What follows from the program: ranks, call sites, and which of them are MPI-IO.
fn check_mpi_io(report: &Value) {
    let files = report["files"].as_array().expect("files");
    let file = |name: &str| files.iter().find(|file| file["path"].as_str().is_some_and(|path| path.ends_with(name))).expect("a file");
    let (shared, own) = (file("/mpi.shared"), file("/mpi.1"));
    assert_eq!((&shared["ranks"], &own["ranks"]), (&serde_json::json!([0, 1, 2]), &serde_json::json!([1])));
    // 100 and 10 integers; 4096.
    assert_eq!(shared["write_sizes"], serde_json::json!([3, 18, 0, 3, 0, 0, 0, 0, 0, 0]));
    let sites = shared["call_sites"].as_array().expect("call sites");
    let line_of = |text: &str| include_str!("135_files/mpi_io.c").lines().position(|line| line.contains(text)).expect(text) + 1;
    let at = |text: &str| sites.iter().find(|site| site["line"] == line_of(text)).expect(text);
    let [write_at, end, posix] = ["MPI_File_write_at(", "MPI_File_read_all_end(", "read(posix"].map(at);
    assert_eq!((&write_at["interface"], &write_at["operation"]), (&"mpi-io".into(), &"write".into()));
    assert_eq!((&write_at["calls"], &write_at["bytes"]), (&18.into(), &7200.into()));
    // The end of a split collective takes time, but is not a read of its own.
    assert!(end["operation"] == "read" && end["calls"] == 0 && end["seconds"].as_f64() > Some(0.0), "{end}");
    assert_eq!((&posix["interface"], &posix["bytes"]), (&"posix".into(), &64.into()));
    let sum = |key: &str| sites.iter().map(|site| site[key].as_f64().expect("a number")).sum::<f64>();
    assert!((sum("seconds") / shared["seconds"].as_f64().expect("seconds") - 1.0).abs() < 1e-6);
}

#[test]
fn c142_languages_of_mpi_io() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        if let Some(fortran) = &mpi.fortran {
            compile(fortran, folder.path(), "mpi_io.f90", &[], "mpi_io_f", &mpi.link_fortran);
            run_twice(mpi, folder.path(), 2, &[], &["./mpi_io_f".into()], &[]);
            let files = reported(&report(folder.path()));
            let of = |name: &str| (files[name][0], files[name][2], files[name][4]);
            assert_eq!(["f08.0", "f08.1"].map(of), [(1, 1, 200); 2], "{files:?}");
            assert_eq!(["mpif.0", "mpif.1"].map(of), [(1, 1, 120); 2], "{files:?}");
        }
        let program = [mpi.python.display().to_string(), source("mpi_io.py").display().to_string()];
        run_twice(mpi, folder.path(), 2, &[], &program, &mpi.python_env);
        let report = report(folder.path());
        let file = &reported(&report)["python.shared"];
        assert_eq!((file[0], file[2], file[4]), (2, 6, 6000));
        let sites = &report["files"].as_array().expect("files").iter().find(|file| file["opens"] == 2).expect("the file")["call_sites"];
        let site = sites.as_array().expect("call sites").iter().find(|site| site["operation"] == "write").expect("the writes");
        assert_eq!((&site["function"], &site["line"]), (&"write_blocks".into(), &10.into()), "{site}");
    });
}
