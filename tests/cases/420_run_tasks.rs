//! `sintonia run-tasks`: applications run on real virtual machines, and what happens to them.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sintonia_tests::{Hosts, Outcome, Process, fresh_dir, sintonia, workspace};
use tempfile::TempDir;

fn app(name: &str) -> String {
    workspace().join("apps").join(name).display().to_string()
}

fn run(folder: &Path, words: &[&str]) -> Outcome {
    let own = sintonia();
    Process::new([own.as_str(), "run-tasks"].iter().chain(words).map(ToString::to_string)).limit(120).run_in(folder)
}

fn ran(folder: &Path, words: &[&str]) -> Value {
    let outcome = run(folder, &[words, &["--json"]].concat());
    outcome.expect_status(0);
    serde_json::from_str(&outcome.stdout).expect("one JSON object")
}

/// What the last batch gave.
fn result(outcome: &Value) -> &Value {
    &outcome["batches"].as_array().and_then(|batches| batches.last()).expect("a batch")["results"][0]
}

fn sum(outcome: &Value, key: &str) -> u64 {
    outcome["workers"].as_array().expect("workers").iter().map(|worker| worker[key].as_u64().expect("a number")).sum()
}

#[test]
fn primes_are_counted_right_by_any_number_of_workers() {
    let folder = fresh_dir();
    for workers in ["1", "3"] {
        let outcome = ran(folder.path(), &[&app("primes/primes.pasl"), "--workers", workers, "-p", "tasks=20"]);
        assert_eq!((result(&outcome), sum(&outcome, "tasks")), (&Value::from(78_498), 21), "{outcome}");
    }
    let outcome = ran(folder.path(), &[&app("primes/primes.pasl"), "--workers", "2", "-p", "upto=1000", "-p", "tasks=7"]);
    assert_eq!(result(&outcome), 168);
}

#[test]
fn pi_is_the_same_for_any_number_of_workers() {
    let folder = fresh_dir();
    let pi = |workers: &str, allocation: &str| {
        let words = [&app("pi/pi.pasl"), "--workers", workers, "--allocation", allocation, "-p", "points=4e6", "-p", "tasks=8"];
        result(&ran(folder.path(), &words)).as_f64().expect("a number")
    };
    let one = pi("1", "mixed");
    assert!((one - std::f64::consts::PI).abs() < 0.01, "{one}");
    assert_eq!(one.to_bits(), pi("2", "mixed").to_bits());
    assert_eq!(one.to_bits(), pi("3", "static").to_bits());
}

#[test]
fn dealt_beforehand_every_worker_does_its_own_tasks() {
    let folder = fresh_dir();
    let machine = folder.path().join("two.machine.toml");
    let node = |kind: &str, seconds: &str| {
        format!(
            "[[node]]\nkind = \"{kind}\"\ncount = 1\ncores = 1\n[node.java.int32]\nadd = {{ latency_s = {seconds}, throughput_s = 1e-10 }}\n"
        )
    };
    let text = format!("format = 1\n[machine]\nname = \"two\"\n{}{}", node("slow", "3e-9"), node("fast", "1e-9"));
    std::fs::write(&machine, text).expect("a machine file");
    let machine = machine.display().to_string();
    let words =
        [&app("pi/pi.pasl"), "--workers", "2", "--allocation", "static", "-p", "points=8e5", "-p", "tasks=40", "--machine", &machine];
    let outcome = ran(folder.path(), &words);
    let tasks: Vec<u64> = outcome["workers"].as_array().expect("workers").iter().filter_map(|worker| worker["tasks"].as_u64()).collect();
    // One more is that of the batch that adds up.
    assert!(tasks[0].abs_diff(10) <= 1 && tasks[1].abs_diff(30) <= 1 && tasks[0] + tasks[1] == 41, "{outcome}");
    assert_eq!(sum(&outcome, "replicas"), 0);
    let problem = outcome["prediction_problem"].as_str().expect("this machine file has next to nothing");
    assert!(!problem.is_empty() && outcome["predicted_seconds"].is_null(), "{outcome}");
}

#[test]
fn workers_beyond_the_cores_of_the_machine_file_are_as_fast_as_those_within() {
    let folder = fresh_dir();
    let machine = folder.path().join("one.machine.toml");
    let text = "format = 1\n[machine]\nname = \"one\"\n[[node]]\nkind = \"PC\"\ncount = 1\ncores = 1\n\
                [node.java.int32]\nadd = { latency_s = 1e-9, throughput_s = 1e-10 }\n";
    std::fs::write(&machine, text).expect("a machine file");
    let machine = machine.display().to_string();
    let words =
        [&app("pi/pi.pasl"), "--workers", "2", "--allocation", "static", "-p", "points=8e5", "-p", "tasks=40", "--machine", &machine];
    let outcome = ran(folder.path(), &words);
    for worker in outcome["workers"].as_array().expect("workers") {
        assert!(worker["tasks"].as_u64().expect("a number").abs_diff(20) <= 1 && worker["factor"] == 1.0, "{outcome}");
    }
}

/// Twelve tasks of some tenths of a second each, which say when they begin; each gives the square of its number, and the last batch their sum.
const SLOW: (&str, &str) = (
    "application slow;\nbatch square { tasks: 12; run: Slow.square(task); }\nbatch sum { tasks: 1; run: Slow.sum(square); }\nflow square -> sum {}\n",
    "final class Slow {
    static long square(long task) throws Exception {
        System.out.println(\"began \" + task);
        Thread.sleep(300);
        return task * task;
    }
    static long sum(long[] squares) {
        long sum = 0;
        for (long square : squares) sum += square;
        return sum;
    }
}
",
);

fn written(class: &str, (pasl, java): (&str, &str)) -> (TempDir, PathBuf) {
    let folder = fresh_dir();
    let path = folder.path().join("app.pasl");
    std::fs::write(&path, pasl).expect("an application");
    std::fs::write(folder.path().join(class).with_extension("java"), java).expect("a class");
    (folder, path)
}

/// An application that runs while the test does something to it.
struct Running {
    child: Child,
    folder: TempDir,
}

const PATIENCE: Duration = Duration::from_secs(90);

impl Running {
    fn start(words: &[&str]) -> Running {
        let folder = fresh_dir();
        let file = |name: &str| File::create(folder.path().join(name)).expect("a file");
        let mut command = Command::new(sintonia());
        // A group of its own is what a terminal sends signals to.
        command.arg("run-tasks").args(words).stdin(Stdio::null()).stdout(file("out")).stderr(file("err")).process_group(0);
        Running { child: command.spawn().expect("sintonia starts"), folder }
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).expect("what it wrote")
    }

    /// Waits until what it has written to its standard error is as wanted.
    fn until<T>(&self, wanted: impl Fn(&str) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(found) = wanted(&self.text("err")) {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "it did not come so far: {}", self.text("err"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn until_begun(&self) {
        self.until(|text| (text.matches("began").count() >= 3).then_some(()));
    }

    /// The virtual machines that it has started.
    fn workers(&self) -> Vec<u32> {
        children(self.child.id())
    }

    fn end(mut self) -> (Option<i32>, String, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                break status;
            }
            if began.elapsed() > PATIENCE {
                self.child.kill().expect("it can be ended");
                panic!("it did not end: {}", self.text("err"));
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        (status.code(), self.text("out"), self.text("err"))
    }
}

fn children(process: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).expect("the children of a process");
    children.split_whitespace().map(|id| id.parse().expect("a number")).collect()
}

fn signal(name: &str, process: u32) {
    signal_to(name, &process.to_string());
}

fn signal_to(name: &str, whom: &str) {
    let sent = Command::new("kill").args([name, "--", whom]).status().expect("kill");
    assert!(sent.success());
}

/// Whether that process is a worker.
fn is_virtual_machine(process: &u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/cmdline")).is_ok_and(|words| words.contains("\0SintoniaWorker\0"))
}

/// Whether these processes have ended, if a moment is given to them.
fn have_ended(processes: &[u32]) -> bool {
    let began = Instant::now();
    while processes.iter().any(is_virtual_machine) && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    !processes.iter().any(is_virtual_machine)
}

/// Sends a signal to one of three workers in the middle of a run, which must go on as if nothing had happened.
fn one_is_sent(name: &str, allocation: &str) -> Value {
    let (_folder, path) = written("Slow", SLOW);
    let running = Running::start(&[&path.display().to_string(), "--workers", "3", "--allocation", allocation, "--json"]);
    running.until_begun();
    let workers = running.workers();
    assert_eq!(workers.len(), 3);
    signal(name, workers[1]);
    let (status, out, err) = running.end();
    assert_eq!(status, Some(0), "{err}");
    assert!(have_ended(&workers), "no virtual machine stays");
    let outcome: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!(result(&outcome), 650, "{outcome}");
    outcome
}

#[test]
fn a_worker_that_is_killed_is_survived() {
    for allocation in ["mixed", "static"] {
        let outcome = one_is_sent("-KILL", allocation);
        let lost = outcome["workers"].as_array().expect("workers").iter().filter(|worker| !worker["lost"].is_null()).count();
        assert_eq!(lost, 1, "{outcome}");
    }
}

#[test]
fn a_worker_that_hangs_is_survived() {
    let outcome = one_is_sent("-STOP", "mixed");
    assert!(sum(&outcome, "replicas") > 0, "somebody did its task again: {outcome}");
    one_is_sent("-STOP", "static");
}

#[test]
fn without_any_worker_left_the_run_ends() {
    let (_folder, path) = written("Slow", SLOW);
    let running = Running::start(&[&path.display().to_string(), "--workers", "2"]);
    running.until(|text| text.contains("began").then_some(()));
    running.workers().iter().for_each(|worker| signal("-KILL", *worker));
    let (status, _, err) = running.end();
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("all workers are lost") && err.matches("its connection closed").count() == 2, "{err}");
}

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let (_folder, path) = written("Slow", SLOW);
    for (name, status) in [("-INT", Some(130)), ("-KILL", None)] {
        let running = Running::start(&[&path.display().to_string(), "--workers", "3"]);
        running.until_begun();
        let workers = running.workers();
        signal(name, running.child.id());
        assert_eq!(running.end().0, status);
        assert!(have_ended(&workers), "{name}");
    }
}

#[test]
fn on_a_terminal_an_interrupt_is_one_though_the_workers_hear_it_first() {
    let (_folder, path) = written("Slow", SLOW);
    let running = Running::start(&[&path.display().to_string(), "--workers", "1"]);
    running.until(|text| text.contains("began").then_some(()));
    signal_to("-INT", &format!("-{}", running.child.id()));
    let (status, _, err) = running.end();
    assert_eq!(status, Some(130), "{err}");
}

#[test]
fn a_run_that_was_stopped_for_a_while_goes_on() {
    let (_folder, path) = written("Slow", SLOW);
    let running = Running::start(&[&path.display().to_string(), "--workers", "2", "--json"]);
    running.until_begun();
    let group = format!("-{}", running.child.id());
    signal_to("-STOP", &group);
    std::thread::sleep(Duration::from_secs(11));
    signal_to("-CONT", &group);
    let (status, out, err) = running.end();
    assert_eq!(status, Some(0), "{err}");
    let outcome: Value = serde_json::from_str(&out).expect("one JSON object");
    assert!(outcome["workers"].as_array().expect("workers").iter().all(|worker| worker["lost"].is_null()), "{outcome}");
    assert_eq!(result(&outcome), 650);
}

/// A run without workers of its own, the token of its workers, and where they come.
fn listening() -> (TempDir, Running, String, String) {
    let (folder, path) = written("Slow", SLOW);
    let running = Running::start(&[&path.display().to_string(), "--workers", "0", "--listen", "127.0.0.1", "--json"]);
    let (token, address) = running.until(|text| {
        let words: Vec<&str> = text.lines().next()?.split_whitespace().collect();
        let token = words.iter().find_map(|word| word.strip_prefix("SINTONIA_TASKS_TOKEN="))?;
        Some((token.to_owned(), words.last()?.to_string()))
    });
    (folder, running, token, address)
}

fn worker_by_hand(token: &str, address: &str) -> Child {
    let mut command = Command::new(sintonia());
    command.args(["run-tasks", "--worker", address]).env("SINTONIA_TASKS_TOKEN", token).stderr(Stdio::piped());
    command.spawn().expect("a worker starts")
}

fn errors_of(worker: Child) -> (Option<i32>, String) {
    let ended = worker.wait_with_output().expect("it ends");
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn a_worker_can_be_started_by_hand_with_the_token() {
    let (_folder, running, token, address) = listening();
    for rubbish in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xFF; 5000], &[0, 0, 0, 1]] {
        TcpStream::connect(&address).and_then(|mut stream| stream.write_all(rubbish)).expect("a stranger may knock");
    }
    let (status, said) = errors_of(worker_by_hand("guessed", &address));
    assert!(status == Some(1) && said.contains("does not know the token of this worker"), "{said}");
    assert!(!running.text("err").contains("began"));
    let worker = worker_by_hand(&token, &address);
    let (status, out, err) = running.end();
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(errors_of(worker).0, Some(0));
    let outcome: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!((result(&outcome), outcome["workers"].as_array().map(Vec::len)), (&Value::from(650), Some(1)));
}

#[test]
fn a_worker_by_hand_ends_with_its_command() {
    for name in ["-TERM", "-KILL"] {
        let (_folder, running, token, address) = listening();
        let worker = worker_by_hand(&token, &address);
        // First it has another child, the compiler.
        let machine = running.until(|_| children(worker.id()).into_iter().find(is_virtual_machine));
        signal(name, worker.id());
        assert_ne!(errors_of(worker).0, Some(0));
        assert!(have_ended(&[machine]), "{name}");
        signal("-TERM", running.child.id());
        assert!([Some(1), Some(130)].contains(&running.end().0));
    }
}

#[test]
fn a_worker_runs_nothing_for_one_who_does_not_hold_its_token() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let worker = worker_by_hand("secret", &listener.local_addr().expect("an address").to_string());
    let (mut stream, _) = listener.accept().expect("a worker");
    let mut hello = [0; 25];
    stream.read_exact(&mut hello).expect("its first word");
    assert!(!hello.windows(6).any(|bytes| bytes == b"secret"), "the token stays where it is");
    // A random number, and then no classes with a seal that somebody guessed.
    let welcome = [&[0, 0, 0, 17, 2][..], &[7; 16]].concat();
    stream.write_all(&[welcome, vec![0, 0, 0, 5, 4, 0, 0, 0, 0], vec![0; 16]].concat()).expect("it listens");
    let (status, said) = errors_of(worker);
    assert!(status == Some(1) && said.contains("does not hold the token of this worker"), "{said}");
}

#[test]
fn workers_on_other_hosts_do_their_part() {
    let Some(_hosts) = Hosts::create() else { return };
    let folder = fresh_dir();
    let words =
        ["--workers", "2", "--hosts", "snth1,snth2", "--launch", "ip netns exec {host}", "--listen", "10.78.0.254", "-p", "tasks=30"];
    let outcome = ran(folder.path(), &[&[app("primes/primes.pasl").as_str()][..], &words].concat());
    assert_eq!(result(&outcome), 78_498);
    assert!(outcome["workers"].as_array().expect("workers").iter().all(|worker| worker["tasks"].as_u64() > Some(0)), "{outcome}");
}

#[test]
fn a_host_that_is_cut_off_in_the_middle_is_survived() {
    let Some(hosts) = Hosts::create() else { return };
    let (_folder, path) = written("Slow", SLOW);
    let words = ["--workers", "2", "--hosts", "snth1,snth2", "--launch", "ip netns exec {host}", "--listen", "10.78.0.254", "--json"];
    let running = Running::start(&[&[path.display().to_string().as_str()][..], &words].concat());
    running.until_begun();
    let cut = Command::new("ip").args(["-n", &hosts.second(), "link", "set", "eth0", "down"]).status().expect("ip");
    assert!(cut.success());
    let (status, out, err) = running.end();
    assert_eq!(status, Some(0), "{err}");
    let outcome: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!(result(&outcome), 650, "{outcome}");
    assert!(sum(&outcome, "replicas") > 0, "somebody did its task again: {outcome}");
}

#[test]
fn an_exception_in_a_task_ends_the_run_and_is_shown() {
    let pasl = "application bad;\nbatch only { tasks: 3; run: Bad.divide(task - 2); }\n";
    let java = "final class Bad {\n    static long divide(long by) {\n        return 1 / by;\n    }\n}\n";
    let (folder, path) = written("Bad", (pasl, java));
    let outcome = run(folder.path(), &[&path.display().to_string(), "--workers", "1"]);
    outcome.expect_status(1);
    for part in ["task 2 of only", "java.lang.ArithmeticException: / by zero", "at Bad.divide(Bad.java:3)"] {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.text());
    }
}

#[test]
fn what_cannot_be_sent_ends_the_run_and_not_one_worker_after_the_other() {
    let pasl = "application odd;\nbatch first { tasks: 2; run: Odd.first(task); }\nbatch second { tasks: 1; run: Odd.second(first); }\nflow first -> second {}\n";
    let class = |first: &str, second: &str| format!("final class Odd {{ static {first} static long second({second} a) {{ return 1; }} }}");
    for (java, message) in [
        (
            class("double[][] first(long task) { return new double[2][]; }", "double[][][]"),
            "task 1 of first: a task returns an array of null",
        ),
        (class("Integer[] first(long task) { return new Integer[] { 1 }; }", "int[][]"), "a task returns an array of Integer"),
        (class("void first(long task) { }", "long[]"), "task 1 of second: results of void methods cannot be passed to a task"),
        (class("long[][] first(long task) { return new long[0][]; }", "long[][][]"), "an empty array of arrays cannot be passed to a task"),
        (
            class("long first(long task) { return task; }", "double[]"),
            "argument 1 of Odd.second is of type double[], which long[] cannot become",
        ),
        (
            class("long first(float task) { return 1; }", "long[]"),
            "argument 1 of Odd.first is of type float, which the number 1.0 cannot become",
        ),
    ] {
        let (folder, path) = written("Odd", (pasl, &java));
        let outcome = run(folder.path(), &[&path.display().to_string(), "--workers", "1"]);
        outcome.expect_status(1);
        assert!(outcome.stderr.contains(message), "{message}: {}", outcome.text());
    }
}

#[test]
fn a_task_that_ends_its_workers_is_named() {
    let pasl = "application last;\nbatch only { tasks: 1; run: Last.only(task); }\n";
    let java = "final class Last { static long only(long task) { System.exit(3); return 0; } }\n";
    let (folder, path) = written("Last", (pasl, java));
    let outcome = run(folder.path(), &[&path.display().to_string(), "--workers", "2"]);
    outcome.expect_status(1);
    assert!(outcome.stderr.contains("its connection closed during task 1 of only"), "{}", outcome.text());
}

#[test]
fn replicas_that_disagree_are_told() {
    let pasl = "application odd;\nbatch who { tasks: 1; run: Odd.who(task); }\nbatch after { tasks: 1; run: Odd.after(who); }\nflow who -> after {}\n";
    let java = "final class Odd {
    static long who(long task) throws Exception {
        Thread.sleep(500);
        return ProcessHandle.current().pid();
    }
    static long after(long[] who) throws Exception {
        Thread.sleep(3000);
        return who[0];
    }
}
";
    let (folder, path) = written("Odd", (pasl, java));
    let outcome = run(folder.path(), &[&path.display().to_string(), "--workers", "2"]);
    outcome.expect_status(1);
    assert!(outcome.stderr.contains("task 1 of who gave ") && outcome.stderr.contains("must not depend on anything"), "{}", outcome.text());
}

#[test]
fn what_is_wrong_with_an_application_is_told_before_anything_runs() {
    let good = "application x;\nparameter n;\nbatch b { tasks: n; run: X.f(task); }\n";
    let java = "final class X { static long f(long a) { return a; } }\n";
    for (pasl, java, words, message) in [
        (good, "final class X { static long f(long a) { return a } }\n", &["-p", "n=1"][..], "X.java:1: error: ';' expected"),
        (good, java, &[], "the parameter `n` has no value: give one with -p n=…"),
        (good, java, &["-p", "n=0"], "would have 0 tasks"),
        (good, java, &["-p", "m=1"], "x has no parameter `m`; it has: n"),
        (&good.replace("X.f", "Y.f"), java, &["-p", "n=1"], "Y.java: there is no such file, and Y.f of the application needs it"),
        (&good.replace("X.f", "X.g"), java, &["-p", "n=1"], "there is no static method X.g of 1 arguments"),
        (&good.replace("batch b", "batch"), java, &["-p", "n=1"], "app.pasl:3"),
    ] {
        let (folder, path) = written("X", (pasl, java));
        let outcome = run(folder.path(), &[&[path.display().to_string().as_str(), "--workers", "1"][..], words].concat());
        outcome.expect_status(1);
        assert!(outcome.stderr.contains(message), "{message}: {}", outcome.text());
    }
}

#[test]
fn without_a_jdk_it_is_said_what_to_install() {
    let folder = fresh_dir();
    let environment = [("PATH".to_owned(), "/nowhere".to_owned()), ("JAVA_HOME".to_owned(), String::new())];
    for words in [vec!["run-tasks".to_owned(), app("pi/pi.pasl")], vec!["bench".to_owned(), "--java".to_owned()]] {
        let outcome = Process::new([sintonia()].into_iter().chain(words)).env(&environment).run_in(folder.path());
        outcome.expect_status(1);
        assert!(outcome.stderr.contains("default-jdk-headless"), "{}", outcome.text());
    }
}

#[test]
fn operations_of_java_are_measured_and_added_to_a_machine_file() {
    let folder = fresh_dir();
    let file = folder.path().join("here.machine.toml").display().to_string();
    let text = "format = 1\n[machine]\nname = \"here\"\n[[node]]\nkind = \"PC\"\ncount = 3\ncores = 2\n";
    std::fs::write(&file, text).expect("a machine file");
    let own = sintonia();
    let bench = [own.as_str(), "bench", "--java", "--quick", "--from", &file, "--json"];
    let outcome = Process::new(bench).limit(400).run_in(folder.path());
    outcome.expect_status(0);
    let machine: Value = serde_json::from_str(&outcome.stdout).expect("one JSON object");
    let node = &machine["nodes"][0];
    assert_eq!((node["kind"].as_str(), node["count"].as_u64(), &node["compute"]), (Some("PC"), Some(3), &serde_json::json!({})));
    let latency = |of: &str, what: &str| node["java"][of][what]["latency_s"][1].as_f64().unwrap_or_else(|| panic!("{of} {what}: {node}"));
    for of in ["int32", "int64", "float32", "float64"] {
        for what in ["add", "subtract", "multiply", "divide", "remainder", "compare", "convert", "store", "load", "abs"] {
            assert!(latency(of, what) > 0.0, "{of} {what}");
        }
        assert!(latency(of, "divide") > latency(of, "add"), "{of}: {node}");
        assert_eq!(latency(of, "access"), 0.0);
    }
    for what in ["sqrt", "sin", "cos", "tan", "exp", "log", "pow", "floor", "random"] {
        assert!(latency("float64", what) > 0.0, "{what}");
    }
    assert!(latency("float64", "sin") > latency("float64", "add"));
    let task = &machine["networks"]["same_node"]["messages"]["task"];
    assert_eq!(task["measured"]["bytes"], serde_json::json!([0, 1 << 20]));
    let again = Process::new([own.as_str(), "bench", "--from", &file]).run_in(folder.path());
    again.expect_status(0);
    assert!(again.stdout.contains("ns, Java"), "{}", again.text());
    let words =
        [&app("pi/pi.pasl"), "--workers", "1", "-p", "points=1e6", "-p", "tasks=4", "--machine", &file, "--taken", "Pi.java:16=0.785"];
    let predicted = ran(folder.path(), &words)["predicted_seconds"].clone();
    let [low, middle, high] = [0, 1, 2].map(|at| predicted[at].as_f64().unwrap_or_else(|| panic!("no number: {predicted}")));
    assert!(0.0 < low && low <= middle && middle <= high, "{predicted}");
}
