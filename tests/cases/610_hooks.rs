//! What `sintonia tune` does inside a program, command by command: the test is the analyzer, and sees every answer.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sintonia_link::probe_protocol::{
    ActionRepeat, CommandOutcome as Answer, HookKind, HookSide, HookTarget, ProbeAction, ProbeCommand, ProbeMessage, Recorded,
};
use sintonia_link::ring::{HookEvent, HookPoint, MPI_FUNCTION};
use sintonia_link::session::SharedSecret;
use sintonia_mpi::FunctionId;
use sintonia_symbols::{ModuleCache, ProgramImage};
use sintonia_tests::{Family, Mpi, Outcome, Process, for_every_mpi, fresh_dir, record_command};
use sintonia_tune::collector::{CollectorEvent, ProcessCollector};

/// A program that goes on from stage to stage as it is let, and says what it sees.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile int stage = 0;
int chunk = 7;
volatile int sink;
__attribute__((noinline)) int work(int n) { sink++; return n * 3 + chunk; }
__attribute__((noinline)) int other(int n) { sink++; return -n; }
__attribute__((noinline)) void wait_for(int wanted) { for (int i = 0; stage < wanted && i < 20000; i++) usleep(1000); }
static void control(const char *name)
{
    int given, index, count, value[64] = {0};
    MPI_T_cvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &given);
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) { printf("%s unknown\n", name); return; }
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, value);
    printf("%s %d\n", name, value[0]);
    MPI_T_cvar_handle_free(&handle);
}
static void *in_thread(void *nothing)
{
    int token[3] = {0};
    MPI_Sendrecv_replace(token, 3, MPI_INT, 0, 4, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return nothing;
}
static void messages(int rank)
{
    int data[5] = {0};
    MPI_Request request;
    MPI_Comm copy;
    pthread_t thread;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int round = 0; round < 3; round++) {
        if (round == 2) MPI_Pcontrol(0);
        if (rank == 0) MPI_Send(data, 5 - round, MPI_INT, 1, 9, copy);
        if (rank == 1) MPI_Recv(data, 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
    }
    MPI_Pcontrol(1);
    if (rank == 0) MPI_Isend(data, 2, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
    else MPI_Irecv(data, 2, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&copy);
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
}
static void on_trap(int signal) { (void)signal; chunk = 1000; }
int main(int argc, char **argv)
{
    int rank, given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "messages")) messages(rank);
    if (!strcmp(argv[1], "control")) { wait_for(1); control(argv[2]); }
    if (!strcmp(argv[1], "often")) for (int i = 0; stage < 1 && i < 1000000000; i++) work(i);
    if (!strcmp(argv[1], "signals")) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        signal(SIGTRAP, on_trap);
        wait_for(1);
        for (int i = 0; stage < 2 && i < 1000000000; i++) work(i);
        raise(SIGTRAP);
    }
    if (!strcmp(argv[1], "work"))
        for (int until = 1; until <= 4; until++) {
            printf("%d %s\n", work(2), getenv("SINTONIA_TEST_WORD") ? getenv("SINTONIA_TEST_WORD") : "nothing");
            wait_for(until);
        }
    printf("chunk %d\n", chunk);
    MPI_Finalize();
    return 0;
}
"#;

fn compile(mpi: &Mpi, folder: &Path) -> String {
    let (source, program) = (folder.join("hooked.c"), folder.join("hooked"));
    std::fs::write(&source, PROGRAM).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(&source).args(&mpi.link);
    assert!(command.status().expect("the compiler runs").success());
    program.display().to_string()
}

/// A process as the analyzer knows it: what it was asked in turn, and what came of it.
#[derive(Default)]
struct ProcessReport {
    rank: Option<u32>,
    answers: HashMap<u64, Vec<Answer>>,
    throttled: Vec<(u32, u64, f64)>,
    events: Vec<(usize, HookEvent)>,
}

impl ProcessReport {
    /// The latest answer to a command, by its place among all.
    fn answer(&self, command: u64) -> &Answer {
        self.answers.get(&command).and_then(|answers| answers.last()).unwrap_or_else(|| panic!("command {command} was not answered"))
    }

    fn refused(&self, command: u64) -> &str {
        let Answer::Refused(why) = self.answer(command) else { panic!("{:?}", self.answer(command)) };
        why
    }

    /// The events of a function of MPI.
    fn calls(&self, name: &str) -> Vec<(usize, HookEvent)> {
        let hook = MPI_FUNCTION | u32::from(FunctionId::from_name(name).expect("a function of MPI").0);
        self.events.iter().copied().filter(|(_, event)| event.hook == hook).collect()
    }
}

/// Commands of one phase, made when their process is known. The first is before `MPI_Init`, the second behind it; the others follow when the
/// program waits to go on to the first stage, to the second and so on, or when a hook took itself out.
type Phase<'test> = &'test dyn Fn(&Symbols) -> Vec<ProbeCommand>;

/// Where things are in a process.
struct Symbols(ProgramImage);

impl Symbols {
    fn function(&self, name: &str) -> HookTarget {
        let found = self.0.functions(name).expect("a function");
        HookTarget { address: found[0].address, size: found[0].size as usize, padding: found[0].padding as usize }
    }

    fn hook(&self, name: &str, kind: HookKind) -> ProbeCommand {
        ProbeCommand::Hook {
            function: self.function(name),
            kind,
            at_entry: vec![],
            at_exit: vec![],
            may_throttle: true,
            recorded: Recorded::ALL,
        }
    }

    fn set(&self, name: &str, bits: u64) -> ProbeAction {
        ProbeAction::Set { location: self.0.variable(name).expect("a variable").location, bits }
    }

    /// Lets the program go on to a stage.
    fn stage(&self, stage: u64) -> ProbeCommand {
        ProbeCommand::Execute(self.set("stage", stage))
    }
}

const WRAP: HookKind = HookKind::Wrap { stack: false };

/// The number of the commands that the test does not ask for itself.
const OWN: u64 = 0;
/// The hook of the function by which the program waits; those that a test asks for follow.
const WAITING: u32 = 0;

/// A process under way: its commands are numbered through from 1, phase after phase.
struct UnderWay {
    process: sintonia_tune::collector::ProcessConnection,
    report: ProcessReport,
    phase: usize,
    sent: u64,
    has_rank: bool,
}

impl UnderWay {
    fn may_go_on(&self) -> bool {
        let waits_for =
            |stage: usize| self.report.events.iter().any(|(_, event)| event.hook == WAITING && event.words[0] as usize == stage);
        match self.phase {
            0 => true,
            1 => self.has_rank,
            phase => waits_for(phase - 1) || !self.report.throttled.is_empty(),
        }
    }

    fn send_phase(&mut self, phases: &[Phase]) {
        let Some(phase) = phases.get(self.phase).filter(|_| self.may_go_on()) else { return };
        let symbols = Symbols(ProgramImage::from_process(self.process.id, &mut ModuleCache::default()).expect("its files can be read"));
        if self.phase == 1 {
            self.process.send_command(OWN, symbols.hook("wait_for", HookKind::Pass)).expect("sent");
        }
        for command in phase(&symbols) {
            self.sent += 1;
            self.process.send_command(self.sent, command).expect("sent");
        }
        match self.phase {
            0 => self.process.send_command(OWN, ProbeCommand::Begin).expect("sent"),
            1 => self.process.send_command(OWN, ProbeCommand::Resume).expect("sent"),
            _ => {}
        }
        self.phase += 1;
    }

    fn read(&mut self) {
        let events = &mut self.report.events;
        let _ = self.process.drain(|ring, _, event| events.push((ring, event)));
    }
}

/// Runs the program and gives its processes commands; what it printed, and what each process reported, by rank.
fn drive(mpi: &Mpi, ranks: usize, arguments: &[&str], phases: &[Phase]) -> (Outcome, Vec<ProcessReport>) {
    let folder = fresh_dir();
    let mut program = vec![compile(mpi, folder.path())];
    program.extend(arguments.iter().map(ToString::to_string));
    let (secret, doors) = (SharedSecret::new().expect("randomness"), folder.path().join("doors"));
    let collector = ProcessCollector::open(&doors, &secret).expect("a door");
    let command = record_command(&folder.path().join("run.sin"), &[], mpi.launch(ranks, &program));
    let mut env = mpi.env.clone();
    env.extend([("SINTONIA_TUNE".into(), doors.display().to_string()), ("SINTONIA_SECRET".into(), secret.to_hex())]);
    let mut processes: HashMap<u32, UnderWay> = HashMap::new();
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| Process::new(command).env(&env).limit(60).run_in(folder.path()));
        let since = Instant::now();
        loop {
            let is_over = run.is_finished() || since.elapsed() > Duration::from_secs(70);
            let news: Vec<CollectorEvent> = collector.events().collect();
            news.into_iter().for_each(|news| heard(&mut processes, news));
            for process in processes.values_mut() {
                process.send_phase(phases);
                process.read();
            }
            if is_over {
                return run.join().expect("the program runs");
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    });
    let mut reports: Vec<ProcessReport> = processes.into_values().map(|process| process.report).collect();
    reports.sort_by_key(|report| report.rank);
    (outcome, reports)
}

fn heard(processes: &mut HashMap<u32, UnderWay>, news: CollectorEvent) {
    match news {
        CollectorEvent::Connected(process) => {
            let rank = process.rank_and_size.map(|(rank, _)| rank);
            let report = ProcessReport { rank, ..ProcessReport::default() };
            let number = process.id;
            processes.insert(number, UnderWay { process: *process, report, phase: 0, sent: 0, has_rank: false });
        }
        CollectorEvent::Message(number, word) => {
            let process = processes.get_mut(&number).expect("who speaks has come");
            match word {
                ProbeMessage::Rank { rank, .. } => {
                    assert_eq!(*process.report.rank.get_or_insert(rank), rank, "the launcher says the same as MPI");
                    process.has_rank = true;
                }
                ProbeMessage::Answer { number, outcome } => {
                    process.report.answers.entry(number).or_default().push(outcome);
                }
                ProbeMessage::Throttled { hook, calls, seconds_per_call } => process.report.throttled.push((hook, calls, seconds_per_call)),
                ProbeMessage::Hello { .. } | ProbeMessage::Clock { .. } | ProbeMessage::Finalizing | ProbeMessage::Surveyed(_) => {}
            }
        }
        CollectorEvent::Disconnected(_) => {}
        CollectorEvent::Rejected(who) => panic!("{who}"),
    }
}

fn watch(name: &str) -> ProbeCommand {
    ProbeCommand::Watch(FunctionId::from_name(name).expect("a function of MPI").0)
}

#[test]
fn c610_functions_of_mpi_are_measure_points_without_hooks() {
    for_every_mpi(|mpi| {
        let before = |_: &Symbols| {
            let unwatch = ProbeCommand::Unwatch(FunctionId::from_name("MPI_Barrier").expect("a function of MPI").0);
            vec![
                watch("MPI_Init_thread"),
                watch("MPI_Send"),
                watch("MPI_Recv"),
                watch("MPI_Wait"),
                watch("MPI_Sendrecv_replace"),
                watch("MPI_Barrier"),
                unwatch,
                watch("MPI_Comm_rank"),
                ProbeCommand::Watch(9999),
            ]
        };
        let (outcome, reports) = drive(mpi, 2, &["messages"], &[&before, &|_| vec![]]);
        outcome.expect_status(0);
        let [sender, receiver] = &reports[..] else { panic!("two processes, not {}", reports.len()) };
        for process in &reports {
            assert!((1..=7).all(|order| *process.answer(order) == Answer::Done(0)));
            assert!(process.refused(8).contains("MPI_Comm_rank") && process.refused(9).contains("no such MPI function"));
            assert_eq!(process.calls("MPI_Init_thread").len(), 2, "what is asked for before MPI begins is there when it does");
            assert!(process.calls("MPI_Barrier").is_empty());
        }
        let messages = [(sender.calls("MPI_Send"), 1), (receiver.calls("MPI_Recv"), 0)];
        for (calls, peer) in &messages {
            let moments: Vec<HookPoint> = calls.iter().map(|(_, event)| event.point).collect();
            assert_eq!(
                moments,
                [HookPoint::Entry, HookPoint::Exit].repeat(3),
                "MPI_Pcontrol switches off what is recorded, not what is measured"
            );
            let exits = calls.iter().filter(|(_, event)| event.point == HookPoint::Exit);
            let seen: Vec<[u64; 3]> = exits.map(|(_, event)| [event.words[0], event.words[1], event.words[2]]).collect();
            assert_eq!(seen, [[20, *peer, 9], [16, *peer, 9], [12, *peer, 9]]);
            for pair in calls.chunks(2) {
                let [(_, entry), (_, exit)] = pair else { unreachable!("pairs") };
                assert_eq!((exit.words[5], exit.stack), (entry.ticks, entry.stack));
                assert!(exit.ticks > entry.ticks);
            }
        }
        let communicator = |calls: &[(usize, HookEvent)]| calls[1].1.words[3];
        let world = receiver.calls("MPI_Wait")[1].1.words[3] as i64;
        assert!(communicator(&messages[0].0) == communicator(&messages[1].0) && communicator(&messages[0].0) as i64 != world);
        let wait = receiver.calls("MPI_Wait")[1].1;
        assert_eq!([wait.words[0], wait.words[1], wait.words[2]], [8, 0, 3], "a completed receive tells of its message");
        let threaded = sender.calls("MPI_Sendrecv_replace");
        assert_eq!(threaded.len(), 2, "calls that MPI makes of itself are not the program's");
        assert_ne!(threaded[0].0, sender.calls("MPI_Send")[0].0, "each thread has its own ring");
    });
}

/// The hook of the function that a test asks for first.
const FIRST: u32 = 1;

#[test]
fn c611_a_function_is_replaced_and_restored_and_measured_all_the_while() {
    let replace = |symbols: &Symbols| {
        let other = symbols.function("other").address;
        vec![symbols.hook("work", WRAP), symbols.hook("work", HookKind::Replace(other))]
    };
    let phases: [Phase; 5] = [
        &|_| vec![],
        &replace,
        &|symbols| vec![ProbeCommand::Restore(FIRST), symbols.stage(1)],
        &|symbols| vec![symbols.hook("work", HookKind::Replace(symbols.function("other").address)), symbols.stage(2)],
        &|symbols| vec![ProbeCommand::Unhook(FIRST), symbols.stage(4)],
    ];
    let (outcome, reports) = drive(&Mpi::named("openmpi"), 1, &["work"], &phases);
    outcome.expect_status(0);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines, ["-2 nothing", "13 nothing", "-2 nothing", "13 nothing", "chunk 7"]);
    assert_eq!((reports[0].answer(1), reports[0].answer(2)), (&Answer::Hooked(FIRST), &Answer::Hooked(FIRST)));
    let exits = reports[0].events.iter().filter(|(_, event)| event.hook == FIRST && event.point == HookPoint::Exit);
    let results: Vec<i32> = exits.map(|(_, event)| event.words[0] as i32).collect();
    assert_eq!(results, [-2, 13, -2], "both are measured, until the hook is taken out");
}

const LIBRARY: &str = r#"
#include <mpi.h>
#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { puts("loaded"); }
int better(int n) { MPI_Barrier(MPI_COMM_WORLD); return n * 1000; }
"#;

/// A library that says that it is loaded, and has something better to do.
fn library(mpi: &Mpi, folder: &Path) -> String {
    let (source, file) = (folder.join("loaded.c"), folder.join("loaded.so"));
    std::fs::write(&source, LIBRARY).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-shared", "-fPIC", "-o"]).arg(&file).arg(&source).args(&mpi.link);
    assert!(command.status().expect("the compiler runs").success());
    file.display().to_string()
}

#[test]
fn c612_a_library_is_loaded_at_once_or_when_a_function_is_entered() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let path = library(mpi, folder.path());
        let load = |path: &str| ProbeAction::Load { path: path.to_string() };
        let at_entry = |symbols: &Symbols| {
            let actions = vec![load(&path), load("/nowhere/x.so")];
            vec![
                symbols.hook("work", WRAP),
                ProbeCommand::Schedule { hook: FIRST, side: HookSide::Entry, actions, repeat: ActionRepeat::Once },
            ]
        };
        let phases: [Phase; 3] = [&|_| vec![ProbeCommand::Execute(load("/nowhere/x.so"))], &at_entry, &|symbols| {
            vec![ProbeCommand::Execute(load(&path)), symbols.stage(4)]
        }];
        let (outcome, reports) = drive(mpi, 1, &["work"], &phases);
        outcome.expect_status(0);
        assert!(reports[0].refused(1).contains("/nowhere/x.so: cannot open shared object file"), "{}", reports[0].refused(1));
        let Answer::Executed { results, .. } = reports[0].answer(3) else { panic!("{:?}", reports[0].answer(3)) };
        assert!(results[0] == Ok(1) && results[1].as_ref().is_err_and(|why| why.contains("/nowhere/x.so")), "{results:?}");
        assert_eq!(before(reports[0].answer(4)), 1, "to load it again does no harm");
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!(lines[..2], ["loaded", "13 nothing"]);
    });
}

#[test]
fn c613_the_environment_is_set_before_mpi_begins_and_while_it_runs() {
    let word = |value: &str| ProbeAction::Environment { name: "SINTONIA_TEST_WORD".into(), value: value.into() };
    let phases: [Phase; 3] = [
        &|_| {
            vec![
                ProbeCommand::Execute(word("early")),
                ProbeCommand::Execute(ProbeAction::Environment { name: "a=b".into(), value: "x".into() }),
            ]
        },
        &|_| vec![],
        &|symbols| vec![ProbeCommand::Execute(word("late")), symbols.stage(4)],
    ];
    let (outcome, reports) = drive(&Mpi::named("mpich"), 1, &["work"], &phases);
    outcome.expect_status(0);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines, ["13 early", "13 late", "13 late", "13 late", "chunk 7"]);
    assert_eq!((before(reports[0].answer(1)), before(reports[0].answer(3))), (0, 0));
    assert!(reports[0].refused(2).contains("a=b"));
}

fn control(name: &str, bits: f64) -> ProbeCommand {
    ProbeCommand::Execute(ProbeAction::Control { name: name.into(), bits })
}

/// The result of an action that was executed at once.
fn before(answer: &Answer) -> u64 {
    let Answer::Made { before, .. } = answer else { panic!("{answer:?}") };
    *before
}

fn number(answer: &Answer) -> f64 {
    f64::from_bits(before(answer))
}

#[test]
fn c614_control_variables_of_mpich_are_set_while_it_runs() {
    const NAME: &str = "MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE";
    for_every_mpi(|mpi| {
        if mpi.family != Family::Mpich {
            return;
        }
        let set = |symbols: &Symbols| {
            let wrong =
                [control("MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZ", 1.0), control(NAME, 0.5), control("MPIR_CVAR_DEFAULT_THREAD_LEVEL", 1.0)];
            [control(NAME, 512.0), control(NAME, 1024.0)].into_iter().chain(wrong).chain([symbols.stage(1)]).collect()
        };
        let (outcome, reports) = drive(mpi, 2, &["control", NAME], &[&|_| vec![], &|_| vec![], &set]);
        outcome.expect_status(0);
        assert_eq!(outcome.stdout.matches(&format!("{NAME} 1024\n")).count(), 2, "{}", outcome.stdout);
        for process in &reports {
            assert_eq!((number(process.answer(1)), number(process.answer(2))), (2048.0, 512.0));
            assert!(process.refused(3).contains("no control variable MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZ"));
            assert!(process.refused(4).contains("an integer, and cannot be 0.5"));
            assert!(process.refused(5).contains("a string, not a number"));
        }
    });
}

#[test]
fn c615_control_variables_of_open_mpi_are_set_before_it_begins() {
    const NAME: &str = "coll_tuned_allreduce_algorithm";
    for_every_mpi(|mpi| {
        if mpi.family != Family::OpenMpi {
            return;
        }
        let before = |_: &Symbols| {
            vec![
                control("coll_tuned_use_dynamic_rules", 1.0),
                control(NAME, 3.0),
                control("coll_tuned_allreduce_algoritm", 3.0),
                control("coll_tuned_use_dynamic_rules", 2.0),
                control(NAME, 3.5),
                control("btl", 1.0),
            ]
        };
        let after = |symbols: &Symbols| vec![control("btl_self_eager_limit", 0.0), symbols.stage(1)];
        let (outcome, reports) = drive(mpi, 2, &["control", NAME], &[&before, &|_| vec![], &after]);
        outcome.expect_status(0);
        assert_eq!(outcome.stdout.matches(&format!("{NAME} 3\n")).count(), 2, "{}", outcome.stdout);
        for process in &reports {
            assert_eq!((number(process.answer(1)), number(process.answer(2))), (0.0, 0.0));
            assert!(process.refused(3).contains("no control variable coll_tuned_allreduce_algoritm"));
            assert!(process.refused(4).contains("0 or 1, and cannot be 2"));
            assert!(process.refused(5).contains("an integer, and cannot be 3.5"));
            assert!(process.refused(6).contains("a string, not a number"));
            assert!(process.refused(7).contains("btl_self_eager_limit is read-only"), "{}", process.refused(7));
        }
    });
}

#[test]
fn c616_a_hook_that_fires_too_often_takes_itself_out_and_says_so() {
    let phases: [Phase; 3] = [&|_| vec![], &|symbols| vec![symbols.hook("work", WRAP)], &|symbols| vec![symbols.stage(1)]];
    let (outcome, reports) = drive(&Mpi::named("openmpi"), 1, &["often"], &phases);
    outcome.expect_status(0);
    let [(hook, calls, seconds)] = reports[0].throttled[..] else { panic!("{:?}", reports[0].throttled) };
    assert!(hook == FIRST && calls > 100_000 && seconds < 10e-6, "{calls} calls of {seconds} s");
}

#[test]
fn c617_what_was_arranged_can_be_taken_back() {
    let arrange = |symbols: &Symbols| {
        let arrange =
            |bits, repeat| ProbeCommand::Schedule { hook: FIRST, side: HookSide::Entry, actions: vec![symbols.set("chunk", bits)], repeat };
        vec![
            symbols.hook("work", WRAP),
            arrange(100, ActionRepeat::Once),
            ProbeCommand::Cancel(2),
            arrange(200, ActionRepeat::Always),
            ProbeCommand::Cancel(2),
            ProbeCommand::Schedule { hook: 7, side: HookSide::Exit, actions: vec![], repeat: ActionRepeat::Once },
        ]
    };
    let cancel = |symbols: &Symbols| vec![ProbeCommand::Cancel(4), ProbeCommand::Execute(symbols.set("chunk", 7)), symbols.stage(4)];
    let (outcome, reports) = drive(&Mpi::named("openmpi"), 1, &["work"], &[&|_| vec![], &arrange, &cancel]);
    outcome.expect_status(0);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines, ["206 nothing", "13 nothing", "13 nothing", "13 nothing", "chunk 7"]);
    assert_eq!((reports[0].answer(3), reports[0].answer(7)), (&Answer::Done(0), &Answer::Done(0)));
    assert!(matches!(reports[0].answer(4), Answer::Executed { results, .. } if results[..] == [Ok(7)]), "{:?}", reports[0].answer(4));
    assert!(reports[0].refused(5).contains("never scheduled") && reports[0].refused(6).contains("does not observe"));
}

#[test]
fn c618_a_program_that_blocks_all_signals_and_takes_traps_itself_is_hooked_all_the_same() {
    let hot = |symbols: &Symbols| {
        let mut orders = vec![symbols.stage(1)];
        for _ in 0..20 {
            orders.extend([symbols.hook("work", WRAP), ProbeCommand::Unhook(FIRST)]);
        }
        orders.push(symbols.stage(2));
        orders
    };
    for_every_mpi(|mpi| {
        let (outcome, reports) = drive(mpi, 1, &["signals"], &[&|_| vec![], &|_| vec![], &hot]);
        outcome.expect_status(0);
        for order in 1..=20 {
            assert_eq!((reports[0].answer(2 * order), reports[0].answer(2 * order + 1)), (&Answer::Hooked(FIRST), &Answer::Done(0)));
        }
        assert_eq!(outcome.stdout, "chunk 1000\n", "its own handler is called for its own trap");
    });
}

#[test]
fn c619_a_function_of_a_library_that_is_loaded_takes_the_place_of_one_of_the_program() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let path = library(mpi, folder.path());
        let phases: [Phase; 4] = [
            &|_| vec![watch("MPI_Barrier")],
            &|_| vec![ProbeCommand::Execute(ProbeAction::Load { path: path.clone() })],
            &|symbols| vec![symbols.hook("work", HookKind::Replace(symbols.function("better").address)), symbols.stage(1)],
            &|symbols| vec![ProbeCommand::Restore(FIRST), symbols.stage(4)],
        ];
        let (outcome, reports) = drive(mpi, 1, &["work"], &phases);
        outcome.expect_status(0);
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert_eq!(lines, ["loaded", "13 nothing", "2000 nothing", "13 nothing", "13 nothing", "chunk 7"]);
        assert_eq!(reports[0].calls("MPI_Barrier").len(), 2, "calls of MPI in the library are seen");
    });
}
