//! `sintonia tune --attach` sees MPI: calls and bytes against a ledger of the program, the iteration against its clock, findings against a
//! twin that was started, several hosts, and programs that must not notice.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;
use sintonia_tests::{Hosts, Mpi, for_every_mpi, fresh_dir, retry_assertions, sintonia, wait_until};

const LEDGER: &str = include_str!("685_attach/ledger.c");
const THREADS: &str = include_str!("685_attach/threads.c");

/// A command that runs beside the test; ended with its owner.
struct Running {
    child: Child,
    out: PathBuf,
    complaints: PathBuf,
}

impl Running {
    fn start(folder: &Path, name: &str, command: &[String], environment: &[(String, String)]) -> Running {
        let [out, complaints] = ["out", "err"].map(|end| folder.join(format!("{name}.{end}")));
        let mut process = Command::new(&command[0]);
        process.args(&command[1..]).envs(environment.iter().cloned()).current_dir(folder);
        process.stdout(File::create(&out).expect("made")).stderr(File::create(&complaints).expect("made"));
        Running { child: process.spawn().expect("runs"), out, complaints }
    }

    /// `sintonia tune --attach` to another command, with these words.
    fn attach(folder: &Path, name: &str, to: &Running, words: &[&str]) -> Running {
        let own = [sintonia(), "tune".into(), "--attach".into(), to.child.id().to_string()];
        Running::start(folder, name, &own.into_iter().chain(words.iter().map(ToString::to_string)).collect::<Vec<_>>(), &[])
    }

    fn complaints(&self) -> String {
        std::fs::read_to_string(&self.complaints).unwrap_or_default()
    }

    /// What it printed, when it has ended well.
    fn end(mut self) -> String {
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(120) {
            if let Some(status) = self.child.try_wait().expect("asked") {
                assert!(status.success(), "{status}: {}", self.complaints());
                return std::fs::read_to_string(&self.out).expect("an output");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end: {}", self.complaints());
    }

    /// What it printed, up to a line that begins with a word. MPICH over TCP often hangs in MPI_Finalize on a busy machine, with or without
    /// Sintonia: then it is ended.
    fn end_or_kill(mut self, word: &str) -> String {
        let out = || std::fs::read_to_string(&self.out).unwrap_or_default();
        wait_until("the program prints", || out().lines().any(|line| line.starts_with(word)));
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(5) && self.child.try_wait().expect("asked").is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = std::fs::read_to_string(&self.out).unwrap_or_default();
        if self.child.try_wait().expect("asked").is_none() {
            self.signal("TERM");
        }
        output
    }

    /// Ends it with a signal.
    fn signal(mut self, name: &str) {
        let status = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
        self.child.wait().expect("ended");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn compile(mpi: &Mpi, folder: &Path, name: &str, text: &str) -> String {
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&source, text).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-O2", "-g", "-w", "-pthread", "-o"]).arg(&program).arg(&source).args(&mpi.link);
    assert!(command.status().expect("the compiler runs").success());
    program.display().to_string()
}

/// The values of lines that begin with a word.
fn lines<'text>(text: &'text str, word: &str) -> Vec<Vec<&'text str>> {
    text.lines().filter_map(|line| line.strip_prefix(word)).map(|line| line.split_whitespace().collect()).collect()
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number")
}

/// The line of JSON that an attach ends with.
fn report(complaints: &str) -> Value {
    let line = complaints.lines().rev().find(|line| line.starts_with("{\"attached\"")).unwrap_or_else(|| panic!("{complaints}"));
    serde_json::from_str(line).expect("JSON")
}

/// The lines that were told about a topic.
fn told(report: &Value, topic: &str) -> Vec<String> {
    let all = report["told"].as_array().expect("told").iter();
    all.filter(|entry| entry["tunlet"] == topic).map(|entry| entry["what"].as_str().expect("a text").to_owned()).collect()
}

/// The calls and bytes that were seen are those of the ledger.
fn check_ledger(output: &str, report: &Value) {
    assert_eq!(report["dropped"], 0, "{report}");
    let ledger = lines(output, "ledger ");
    assert_eq!(ledger.len(), 10);
    for entry in ledger {
        let seen = report["mpi"].as_array().expect("functions").iter().find(|one| one["function"] == entry[0]);
        let seen = seen.unwrap_or_else(|| panic!("{} is missing: {report}", entry[0]));
        assert_eq!(seen["calls"].as_f64(), Some(number(entry[1])), "{}: {report}", entry[0]);
        // The ledger has no bytes of collectives.
        if number(entry[2]) > 0.0 || entry[0].starts_with("MPI_Wait") {
            assert_eq!(seen["bytes"].as_f64(), Some(number(entry[2])), "{}: {report}", entry[0]);
        }
    }
}

#[test]
fn c685_calls_and_bytes_are_those_of_the_programs_ledger_and_the_iteration_is_its_own() {
    for_every_mpi(|mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            let program = compile(mpi, folder.path(), "ledger", LEDGER);
            let running = Running::start(folder.path(), "program", &mpi.launch(3, std::slice::from_ref(&program)), &mpi.env);
            std::thread::sleep(Duration::from_millis(700));
            let attach = Running::attach(folder.path(), "attach", &running, &["--json", "-o", "log.jsonl"]);
            std::thread::sleep(Duration::from_secs(5));
            File::create(folder.path().join("go")).expect("made");
            let output = running.end();
            let complaints = attach.complaints.clone();
            attach.end();
            let report = report(&std::fs::read_to_string(complaints).expect("complaints"));
            check_ledger(&output, &report);
            // With `go` there from the beginning, nobody attaches.
            let bare = Running::start(folder.path(), "bare", &mpi.launch(3, &[program]), &mpi.env).end();
            assert_eq!(lines(&output, "result "), lines(&bare, "result "));
            let found = told(&report, "iteration");
            let line = 1 + LEDGER.lines().position(|line| line.contains("/* the iteration */")).expect("a line");
            let at = format!("at ledger.c:{line} (MPI_Allreduce)");
            let iteration = found.iter().find(|what| what.ends_with(&at)).unwrap_or_else(|| panic!("{at}: {report}"));
            let words: Vec<&str> = iteration.split_whitespace().collect();
            let unit = if words[2] == "ms," { 1e-3 } else { 1.0 };
            // Nine of ten iterations by the program's own clock; the load of the machine changes meanwhile.
            let own = &lines(&output, "iteration ")[0];
            let (short, long) = (number(words[1]) * unit / number(own[0]), number(words[1]) * unit / number(own[1]));
            println!("{}: {iteration}: {short:.2} of the program's short ones, {long:.2} of its long ones", mpi.name);
            assert!(short > 0.9 && long < 1.1, "{iteration}: {output}");
        });
    });
}

/// Rank 0 computes four times as long: the others wait for it.
#[test]
fn c686_an_attached_program_gets_the_findings_of_a_started_one() {
    for_every_mpi(|mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            let program = [compile(mpi, folder.path(), "ledger", LEDGER), "5000".into(), "4".into()];
            let is_told = |text: &str| text.contains("is spent waiting; where: in MPI_Allreduce") && text.contains("iteration: every");
            let go = folder.path().join("go");
            let mut texts = Vec::new();
            for attaches in [true, false] {
                let _ = std::fs::remove_file(&go);
                let launch = mpi.launch(3, &program);
                let tune = [sintonia(), "tune".into(), "-o".into(), "twin.sin".into(), "--".into()];
                let command = if attaches { launch } else { tune.into_iter().chain(launch).collect() };
                let running = Running::start(folder.path(), "program", &command, &mpi.env);
                let attach = attaches.then(|| {
                    std::thread::sleep(Duration::from_millis(700));
                    Running::attach(folder.path(), "attach", &running, &["-o", "log.jsonl"])
                });
                let complaints = attach.as_ref().map_or(running.complaints.clone(), |attach| attach.complaints.clone());
                let said = || std::fs::read_to_string(&complaints).unwrap_or_default();
                let since = Instant::now();
                while !is_told(&said()) {
                    assert!(since.elapsed() < Duration::from_secs(60), "{}: {}", mpi.name, said());
                    std::thread::sleep(Duration::from_millis(50));
                }
                File::create(&go).expect("made");
                texts.push(running.end());
                attach.into_iter().for_each(|attach| drop(attach.end()));
                if attaches {
                    let is_listed = |line: &str| line.contains(" calls, ") && line.ends_with(" in all processes");
                    assert!(said().lines().any(is_listed), "the summary: {}", said());
                }
            }
            assert_eq!(lines(&texts[0], "result "), lines(&texts[1], "result "));
        });
    });
}

#[test]
fn c687_threads_and_signals_compute_the_same_whoever_attaches_and_is_killed() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = [compile(mpi, folder.path(), "threads", THREADS), "1200".into()];
        let bare = Running::start(folder.path(), "bare", &mpi.launch(2, &program), &mpi.env).end();
        assert!(bare.contains("interrupted often"), "{bare}");
        let running = Running::start(folder.path(), "program", &mpi.launch(2, &program), &mpi.env);
        std::thread::sleep(Duration::from_millis(700));
        // While it measures, and at any stage of attaching.
        for (index, (signal, waits)) in [("INT", true), ("KILL", false), ("KILL", true), ("INT", false)].into_iter().enumerate() {
            let attach = Running::attach(folder.path(), &format!("attach{index}"), &running, &["-o", "log.jsonl"]);
            if waits {
                wait_until("it is attached", || attach.complaints().contains("attached to 2 of 2"));
            }
            std::thread::sleep(Duration::from_millis(200));
            attach.signal(signal);
        }
        assert_eq!(running.end(), bare, "{}", mpi.name);
    });
}

/// A program on two hosts; the launcher's process id is given.
fn attach_on_hosts(mpi: &Mpi, hosts: &Hosts, agent: Option<&str>) -> (String, Value, String) {
    let folder = fresh_dir();
    let program = compile(mpi, folder.path(), "ledger", LEDGER);
    let [first, second] = hosts.names();
    let mut launch = mpi.launch(3, &[program]);
    let names = if mpi.name == "openmpi" { "--host" } else { "-hosts" };
    launch.splice(1..1, hosts.options(mpi).into_iter().chain([names.to_owned(), format!("{first}:2,{second}:1")]));
    if let Some(agent) = agent {
        let usual = launch.iter().position(|word| word.ends_with("hosts/agent")).expect("an agent");
        let script = folder.path().join("agent");
        std::fs::write(&script, agent.replace("AGENT", &launch[usual])).expect("written");
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
        launch[usual] = script.display().to_string();
    }
    let running = Running::start(folder.path(), "program", &launch, &mpi.env);
    std::thread::sleep(Duration::from_millis(2500));
    let attach = Running::attach(folder.path(), "attach", &running, &["--json", "-o", "log.jsonl"]);
    std::thread::sleep(Duration::from_secs(6));
    File::create(folder.path().join("go")).expect("made");
    let output = running.end_or_kill("iteration ");
    let complaints = attach.complaints.clone();
    attach.end();
    let complaints = std::fs::read_to_string(complaints).expect("complaints");
    (output, report(&complaints), complaints)
}

#[test]
fn c688_the_ranks_on_other_hosts_are_attached_to() {
    let Some(hosts) = Hosts::create() else { return };
    for mpi in ["openmpi", "mpich"].map(Mpi::named) {
        let (output, report, complaints) = attach_on_hosts(&mpi, &hosts, None);
        let attached = report["attached"].as_array().expect("processes");
        let pairs: Vec<(u64, &str)> =
            attached.iter().map(|one| (one["rank"].as_u64().expect("a rank"), one["host"].as_str().expect("a host"))).collect();
        let [first, second] = hosts.names();
        assert_eq!(pairs, [(0, first.as_str()), (1, &first), (2, &second)], "{}: {complaints}", mpi.name);
        check_ledger(&output, &report);
        assert!(!told(&report, "iteration").is_empty(), "{report}");
    }
}

#[test]
fn c689_a_host_where_it_fails_is_reported_and_the_others_are_tuned() {
    let Some(hosts) = Hosts::create() else { return };
    // The second host does not let Sintonia in.
    let agent =
        "#!/bin/sh\ncase \"$*\" in *'collect --attach'*) case \"$1\" in *2) echo no entry >&2; exit 1;; esac;; esac\nexec AGENT \"$@\"\n";
    let (output, report, complaints) = attach_on_hosts(&Mpi::named("openmpi"), &hosts, Some(agent));
    assert!(complaints.contains(&format!("host {} is not tuned: no entry", hosts.second())), "{complaints}");
    let ranks: Vec<u64> = report["attached"].as_array().expect("processes").iter().filter_map(|one| one["rank"].as_u64()).collect();
    assert_eq!(ranks, [0, 1], "{complaints}");
    // Two of three ranks made these calls.
    let sendrecv = number(lines(&output, "ledger MPI_Sendrecv ")[0][0]);
    let seen = report["mpi"].as_array().expect("functions").iter().find(|one| one["function"] == "MPI_Sendrecv").expect("calls");
    assert_eq!(seen["calls"].as_f64(), Some(sendrecv * 2.0 / 3.0), "{report}");
}
