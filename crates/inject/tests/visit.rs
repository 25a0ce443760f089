//! Attaches to real processes: their behaviour must not change.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sintonia_inject::{AttachReport, AttachRequest, InjectError, attach};

/// The two programs, built once: the target process, and a stand-in for the probe.
fn built() -> &'static (PathBuf, Vec<u8>) {
    static BUILT: OnceLock<(PathBuf, Vec<u8>)> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let (host, guest) = (folder.join("host"), folder.join("guest.so"));
        compile(&["-O2", "-pthread"], &source.join("host.c"), &host, &["-lm"]);
        compile(&["-O2", "-fPIC", "-shared", "-Wl,-soname,libsintonia_probe.so"], &source.join("guest.c"), &guest, &[]);
        (host, std::fs::read(guest).expect("the guest"))
    })
}

fn compile(options: &[&str], source: &Path, into: &Path, libraries: &[&str]) {
    let status = Command::new("cc").args(options).arg("-o").arg(into).arg(source).args(libraries).status();
    assert!(status.expect("the compiler runs").success());
}

/// A running target process.
struct Host {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    door: PathBuf,
}

impl Host {
    fn start(words: &[&str]) -> Host {
        let mut child = Command::new(&built().0).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
        let mut out = BufReader::new(child.stdout.take().expect("an output"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        assert_eq!(line, "begun\n");
        std::thread::sleep(Duration::from_millis(20));
        let door = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("door-{}", child.id()));
        let _ = std::fs::remove_file(&door);
        Host { child, out, door }
    }

    fn visit(&self, secret: &str) -> Result<AttachReport, InjectError> {
        attach(self.child.id(), &AttachRequest { probe: &built().1, socket_dir: &self.door, secret, rank_and_size: (3, 4) })
    }

    /// Output of the target and of the stand-in.
    fn end(mut self) -> (String, String) {
        let (mut said, mut complaints) = (String::new(), String::new());
        self.out.read_to_string(&mut said).expect("text");
        self.child.stderr.take().expect("an output").read_to_string(&mut complaints).expect("text");
        let status = self.child.wait().expect("ends");
        assert!(status.success(), "{status}: {said}{complaints}");
        let told = std::fs::read_to_string(&self.door).unwrap_or_default();
        let _ = std::fs::remove_file(&self.door);
        (said + &complaints, told)
    }
}

const UNDISTURBED: &str = "interrupted 0, wrong 0\n";

#[test]
fn whatever_a_thread_waits_for_it_goes_on_waiting() {
    let kinds = ["pipe", "sleep", "lock", "futex", "poll", "epoll", "signal", "semaphore", "socket"];
    let hosts = kinds.map(|kind| (kind, Host::start(&["4", kind])));
    for (kind, host) in &hosts {
        let visit = host.visit("s").unwrap_or_else(|problem| panic!("{kind}: {problem}"));
        println!("{kind}: {visit:?}");
        assert_eq!(visit.thread, host.child.id());
    }
    for (kind, host) in hosts {
        let (said, told) = host.end();
        assert_eq!((said.as_str(), told.as_str()), (UNDISTURBED, "visit 1 of rank 3 of 4 with s\n"), "{kind}");
    }
}

#[test]
fn whatever_a_thread_does_it_goes_on_doing() {
    for kinds in
        [&["hot"][..], &["memory"], &["yielding"], &["alarmed"], &["memory", "memory", "hot", "epoll"], &["hot", "sleep", "alarmed"]]
    {
        let host = Host::start(&[&["1.5"], kinds].concat());
        let visit = host.visit("s").unwrap_or_else(|problem| panic!("{kinds:?}: {problem}"));
        println!("{kinds:?}: {visit:?}");
        let (said, told) = host.end();
        assert_eq!((said.as_str(), told.as_str()), (UNDISTURBED, "visit 1 of rank 3 of 4 with s\n"), "{kinds:?}");
    }
}

/// Lifetime of a target in seconds, which also limits attaching: on a busy machine each attach takes a while.
const LIVES: &str = "8";
const VISITED: Duration = Duration::from_secs(6);

#[test]
fn a_process_is_visited_up_to_a_hundred_times() {
    let host = Host::start(&[LIVES, "hot", "memory", "sleep", "epoll", "alarmed"]);
    let begun = Instant::now();
    let visits = (0..100).take_while(|_| begun.elapsed() < VISITED);
    let mut stops: Vec<Duration> = visits.map(|_| host.visit("s").expect("visited").stop_duration).collect();
    stops.sort_unstable();
    let (visits, at) = (stops.len(), |percent: usize| stops[(stops.len() - 1) * percent / 100]);
    println!("{visits} visits, stopped for {:?} at least, {:?} in the middle, {:?} for 95 %, {:?} at most", at(0), at(50), at(95), at(100));
    assert!(visits > 1);
    let memory = std::fs::read_to_string(format!("/proc/{}/maps", host.child.id())).expect("maps");
    assert_eq!(memory.lines().filter(|line| line.contains("memfd:libsintonia_probe") && line.contains(" r-xp ")).count(), 1);
    let (said, told) = host.end();
    assert_eq!(said, UNDISTURBED);
    assert_eq!((told.lines().count(), told.lines().last()), (visits, Some(&*format!("visit {visits} of rank 3 of 4 with s"))));
}

#[test]
fn a_visitor_that_is_killed_at_any_time_leaves_the_process_as_it_was() {
    let host = Host::start(&[LIVES, "hot", "lock", "epoll", "pipe", "memory"]);
    let begun = Instant::now();
    let visitor = || {
        let mut visitor = Command::new(env!("CARGO_BIN_EXE_visitor"));
        visitor.arg(host.child.id().to_string()).arg(&host.door).arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest.so"));
        visitor.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runs")
    };
    host.visit("s").expect("visited before");
    let one_visit = begun.elapsed();
    let killed = (0..40u32).take_while(|_| begun.elapsed() < VISITED);
    for round in killed {
        let mut visitor = visitor();
        std::thread::sleep(one_visit * round / 10);
        visitor.kill().expect("killed");
        visitor.wait().expect("ended");
    }
    host.visit("s").expect("visited after");
    let (said, told) = host.end();
    assert_eq!(said, UNDISTURBED);
    assert!(told.lines().count() > 1, "few visits: {told}");
}

#[test]
fn what_the_guest_says_is_told() {
    let host = Host::start(&["1", "sleep"]);
    assert_eq!(host.visit("unwilling").expect_err("refused").to_string(), format!("process {}: not today", host.child.id()));
    assert_eq!(host.end().0, UNDISTURBED);
}

#[test]
fn what_is_no_library_is_not_loaded_and_harms_nobody() {
    let host = Host::start(&["1", "sleep"]);
    let outcome = attach(host.child.id(), &AttachRequest { probe: b"nothing", socket_dir: &host.door, secret: "s", rank_and_size: (0, 1) });
    assert!(
        matches!(&outcome, Err(InjectError::NotLoaded { why, .. }) if why.contains("invalid ELF header") || why.contains("too short")),
        "{outcome:?}"
    );
    assert_eq!(host.end().0, UNDISTURBED);
}

#[test]
fn who_cannot_be_visited_is_told_why() {
    let message = AttachRequest { probe: &[], socket_dir: Path::new("/"), secret: "", rank_and_size: (0, 1) };
    assert!(matches!(attach(u32::MAX / 2, &message), Err(InjectError::NoProcess(_))));
    let host = Host::start(&["1", "sleep"]);
    let process = host.child.id();
    let kill = |signal: &str| assert!(Command::new("kill").args([signal, &process.to_string()]).status().expect("kill runs").success());
    kill("-STOP");
    std::thread::sleep(Duration::from_millis(20));
    assert!(matches!(attach(process, &message), Err(InjectError::Stopped(_))));
    kill("-CONT");
    assert_eq!(host.end().0, UNDISTURBED);
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("still.c");
    std::fs::write(&source, "#include <unistd.h>\nint main(void) { sleep(1); return 0; }\n").expect("written");
    let program = source.with_extension("static");
    compile(&["-static"], &source, &program, &[]);
    let mut child = Command::new(&program).spawn().expect("runs");
    std::thread::sleep(Duration::from_millis(50));
    assert!(matches!(attach(child.id(), &message), Err(InjectError::StaticallyLinked(_))));
    assert!(child.wait().expect("ends").success());
}
