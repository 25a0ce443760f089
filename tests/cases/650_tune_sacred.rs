//! `sintonia tune` where things go wrong: several hosts, parts of the tool that are killed or hang, ranks that die, strangers at the door.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;
use sintonia_tests::fire::xfire;
use sintonia_tests::{Hosts, Mpi, fresh_dir, sintonia, wait_until};

/// A fire that burns for some seconds.
const FIRE: &str =
    "points = 1500\nspacing = 12\nend = 12\nsubsteps = 4\nheavy_below = -150\nheavy = 1\nheavy_works = 0\nidle_per_point = 100\n";

/// A run that is tuned in the background.
struct Run {
    child: Child,
    folder: tempfile::TempDir,
}

impl Run {
    /// Begins to tune a program; `launch` makes its command line.
    fn begin(mpi: &Mpi, options: &[&str], launch: impl FnOnce(&[String]) -> Vec<String>) -> Run {
        let folder = fresh_dir();
        let program = xfire(mpi, folder.path(), FIRE);
        let words = [&["tune", "--tunlet", "factoring", "--json", "-o", "run.sin"][..], options, &["--"]].concat();
        let mut command = Command::new(sintonia());
        command.args(words).args(launch(&program)).envs(mpi.env.iter().cloned()).current_dir(folder.path());
        let file = |name: &str| File::create(folder.path().join(name)).expect("made");
        command.stdout(file("result")).stderr(file("said"));
        Run { child: command.spawn().expect("runs"), folder }
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// The processes below the command whose command line holds this.
    fn processes(&self, what: &str) -> Vec<u32> {
        let all = std::fs::read_dir("/proc").expect("there").flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let folder = self.folder.path().display().to_string();
        let is_meant = |process: &u32| {
            let read = |file: &str| std::fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
            let (command, environment) = (read("cmdline"), read("environ"));
            contains(&command, what.as_bytes()) && (contains(&command, folder.as_bytes()) || self.is_own(&environment))
        };
        all.filter(is_meant).collect()
    }

    /// Whether a process carries the secret of this run.
    fn is_own(&self, environment: &[u8]) -> bool {
        let own = self.setting("SINTONIA_SECRET");
        own.is_some_and(|secret| contains(environment, secret.as_bytes()))
    }

    /// A variable in the environment of the program's processes.
    fn setting(&self, name: &str) -> Option<String> {
        let folder = self.folder.path().display().to_string();
        let all = std::fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        all.into_iter().find_map(|process| {
            let command = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
            let environment = std::fs::read(format!("/proc/{process}/environ")).ok()?;
            let begin = format!("{name}=");
            let value = environment.split(|byte| *byte == 0).find_map(|pair| pair.strip_prefix(begin.as_bytes()))?;
            contains(&command, folder.as_bytes()).then(|| String::from_utf8_lossy(value).into_owned())
        })
    }

    /// Waits for the program's end; its result and the line of JSON.
    fn end(mut self) -> (i32, String, Value) {
        let since = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("asked") {
                Some(status) => break status.code().unwrap_or(-1),
                None if since.elapsed() > Duration::from_secs(100) => {
                    let _ = self.child.kill();
                    panic!("it does not end: {}", self.text("said"));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let said = self.text("said");
        let line = said.lines().rev().find(|line| line.starts_with("{\"decisions\"")).unwrap_or("null");
        (status, self.text("result"), serde_json::from_str(line).expect("JSON"))
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len().max(1)).any(|window| window == part)
}

/// The result without the tool.
fn bare(mpi: &Mpi) -> String {
    let folder = fresh_dir();
    let program = xfire(mpi, folder.path(), FIRE);
    let outcome = sintonia_tests::Process::new(mpi.launch(4, &program)).env(&mpi.env).limit(100).run_in(folder.path());
    outcome.expect_status(0);
    outcome.stdout
}

fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([name, &process.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

#[test]
fn c650_processes_on_several_hosts_are_tuned_and_the_secret_is_on_no_command_line() {
    let Some(hosts) = Hosts::create() else { return };
    let mpi = Mpi::named("openmpi");
    // With one host to collect from, the second host comes to the first.
    for fan_out in ["16", "1"] {
        let run = Run::begin(&mpi, &["--fan-out", fan_out], |program| hosts.launch(&mpi, 4, 2, program));
        wait_until("hosts collect", || run.processes("collect").len() == 2);
        let secret = run.setting("SINTONIA_SECRET").expect("it is there");
        for entry in std::fs::read_dir("/proc").expect("there").flatten() {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            assert!(!contains(&command, secret.as_bytes()), "{}", String::from_utf8_lossy(&command));
        }
        let folder = PathBuf::from(run.setting("SINTONIA_TUNE").expect("it is there"));
        assert_eq!(folder.metadata().expect("a folder").mode() & 0o077, 0, "others may not enter");
        let collectors = run.processes("collect");
        let (status, result, report) = run.end();
        assert_eq!((status, report["processes"].as_u64(), report["dropped"].as_u64()), (0, Some(4), Some(0)), "{report}");
        assert_eq!(result, bare(&mpi));
        assert!(report["decisions"].as_array().is_some_and(|decisions| decisions.len() > 5), "{report}");
        assert_eq!(report["told"], serde_json::json!([]), "{report}");
        wait_until("collectors end", || collectors.iter().all(|process| !Path::new(&format!("/proc/{process}")).exists()));
        assert!(!folder.exists(), "the folder goes with the last of them");
    }
}

#[test]
fn c651_a_collector_that_is_killed_or_hangs_takes_nothing_with_it() {
    let Some(hosts) = Hosts::create() else { return };
    let mpi = Mpi::named("openmpi");
    let expected = bare(&mpi);
    for how in ["-KILL", "-STOP"] {
        let run = Run::begin(&mpi, &[], |program| hosts.launch(&mpi, 4, 2, program));
        wait_until("hosts collect", || run.processes("collect").len() == 2);
        std::thread::sleep(Duration::from_millis(500));
        let collector = run.processes("collect")[0];
        signal(collector, how);
        let (status, result, report) = run.end();
        if how == "-STOP" {
            signal(collector, "-KILL");
        }
        assert_eq!((status, result.as_str()), (0, expected.as_str()), "{how}: {report}");
    }
}

#[test]
fn c652_a_rank_that_is_killed_does_not_hang_the_tool() {
    for mpi in [Mpi::named("openmpi"), Mpi::named("mpich")] {
        let run = Run::begin(&mpi, &[], |program| mpi.launch(4, program));
        let ranks = || -> Vec<u32> {
            let is_rank = |process: &u32| std::fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe.ends_with("xfire"));
            run.processes("xfire").into_iter().filter(is_rank).collect()
        };
        wait_until("ranks run", || ranks().len() == 4);
        std::thread::sleep(Duration::from_millis(700));
        signal(ranks()[3], "-KILL");
        let (status, _, report) = run.end();
        assert_ne!(status, 0, "{}: {report}", mpi.name);
        assert!(report["exit_status"].as_i64().is_some_and(|status| status != 0), "{}: {report}", mpi.name);
    }
}

#[test]
fn c653_strangers_at_the_doors_are_refused_and_told_of() {
    let mpi = Mpi::named("openmpi");
    let run = Run::begin(&mpi, &[], |program| mpi.launch(4, program));
    wait_until("the program runs", || run.setting("SINTONIA_UP").is_some());
    let folder = PathBuf::from(run.setting("SINTONIA_TUNE").expect("it is there"));
    let door = std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()).next().expect("a door");
    let up = run.setting("SINTONIA_UP").expect("it is there");
    let mut streams: Vec<Box<dyn Stream>> = vec![Box::new(UnixStream::connect(door).expect("a door"))];
    streams.extend(up.split(',').filter_map(|address| TcpStream::connect(address).ok()).map(|stream| Box::new(stream) as Box<dyn Stream>));
    assert!(streams.len() >= 2, "{up}");
    for stream in &mut streams {
        // Something that looks like a greeting and a proof, and is none.
        stream.write_all(&[7; 64]).expect("written");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(answer.len(), 32, "nothing is said but a random number");
    }
    let (status, result, report) = run.end();
    assert_eq!((status, result), (0, bare(&mpi)));
    let refused =
        report["told"].as_array().expect("a list").iter().any(|one| one["what"].as_str().is_some_and(|what| what.contains("was refused")));
    assert!(refused, "{report}");
}

/// A way to a door.
trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Rank 0 is late, and all others wait for it in one function.
const LATE: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static void compute(double ms) { struct timespec t = { 0, (long)(1e6 * ms) }; nanosleep(&t, 0); }
__attribute__((noinline)) double exchange(int size, double value) { double sum; MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); return sum / size; }
__attribute__((noinline)) double step(int rank, int size, double value) { compute(rank == 0 ? 20 : 2); return exchange(size, value); }
__attribute__((noinline)) void simulate(int rank, int size, int steps) { double value = rank; for (int i = 0; i < steps; i++) value = step(rank, size, value); if (!rank) printf("%g\n", value); }
int main(int c, char **v) { int rank, size; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size); simulate(rank, size, 400); MPI_Finalize(); return 0; }
"#;

#[test]
fn c654_advise_finds_why_where_and_when_while_the_program_runs() {
    for mpi in [Mpi::named("openmpi"), Mpi::named("mpich")] {
        let folder = fresh_dir();
        std::fs::write(folder.path().join("late.c"), LATE).expect("written");
        let mut command = Command::new(&mpi.cc[0]);
        command.args(&mpi.cc[1..]).args(["-O2", "-g", "-o", "late", "late.c"]).args(&mpi.link).current_dir(folder.path());
        assert!(command.status().expect("the compiler runs").success());
        let program = [folder.path().join("late").display().to_string()];
        let own = ["tune", "--tunlet", "advise", "--json", "-o", "late.sin", "--"].map(String::from);
        let words = [sintonia()].into_iter().chain(own).chain(mpi.launch(4, &program));
        let outcome = sintonia_tests::Process::new(words).env(&mpi.env).limit(100).run_in(folder.path());
        outcome.expect_status(0);
        assert_eq!(outcome.stdout, "1.5\n");
        let found = |part: &str| outcome.stderr.lines().filter(|line| line.starts_with('{')).any(|line| line.contains(part));
        assert!(
            found("is spent waiting; where: in MPI_Allreduce, on ranks 1-3, under main > simulate > step > exchange"),
            "{}",
            outcome.stderr
        );
        let report = sintonia_tests::Process::new([&sintonia(), "report", "late.sin"]).limit(60).run_in(folder.path());
        assert!(report.stdout.contains("Tuning: 0 changes") && report.stdout.contains("is spent waiting"), "{}", report.stdout);
    }
}
