//! Sums over calls beside a ledger that the program keeps itself, at rates at which single events cannot all be read.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use sintonia_link::probe_protocol::HookSide;
use sintonia_link::session::SharedSecret;
use sintonia_tests::fire::tuning;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, record_command, sintonia};
use sintonia_tune::analyzer::{Analyzer, TuningSummary};
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::host_agent::now_ns;
use sintonia_tune::statistics::RunningStats;
use sintonia_tune::tree::HostTree;
use sintonia_tune::tuning_points::{Actor, EventJoin, MeasurePoint, TunletRequirements};
use sintonia_tune::tunlet::{EventSummary, TuningAction, Tunlet};

/// A program that counts and times its calls: inside of a function, and around its calls.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define THREADS 3
struct ledger { long calls; double total, most; };
static __thread struct ledger inside, around;
static __thread jmp_buf back;
static volatile int sink;
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}
static void note(struct ledger *ledger, double seconds)
{
    ledger->calls++;
    ledger->total += seconds;
    if (seconds > ledger->most) ledger->most = seconds;
}
__attribute__((noinline)) int work(int n)
{
    double begin = now(), end;
    do end = now(); while (end - begin < 1.5e-6);
    note(&inside, end - begin);
    return n + 1;
}
__attribute__((noinline)) int leaves(int n)
{
    sink++;
    if (n % 3 == 0) longjmp(back, 1);
    return n;
}
__attribute__((noinline)) int recursive(int n)
{
    int inner = n == 0 ? 0 : recursive(n - 1);
    sink += inner;
    return inner + 1;
}
__attribute__((noinline)) int exchange(int n)
{
    static char data[20000];
    double begin = now();
    MPI_Sendrecv_replace(data, n, MPI_CHAR, 0, 1, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    note(&around, now() - begin);
    return n;
}
struct result { struct ledger inside, around; long left; };
static void *calls(void *argument)
{
    int count = atoi(argument);
    struct result *result = calloc(1, sizeof *result);
    for (int i = 0; i < count; i++) {
        double begin = now();
        sink += work(i);
        note(&around, now() - begin);
    }
    for (int i = 0; i < 1000; i++) {
        if (setjmp(back) == 0) leaves(i);
        else result->left++;
    }
    sink += recursive(99);
    result->inside = inside;
    result->around = around;
    return result;
}
static void print(int rank, const char *name, struct ledger one) { printf("%d %s %ld %.9f %.9f\n", rank, name, one.calls, one.total, one.most); }
static void merge(struct ledger *all, struct ledger one)
{
    all->calls += one.calls;
    all->total += one.total;
    if (one.most > all->most) all->most = one.most;
}
int main(int argc, char **argv)
{
    int rank, given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2) {
        long bytes = 0;
        double begin = now();
        for (int i = 0; i < atoi(argv[1]); i++) bytes += 2 * exchange(i % 20000); /* sent and received */
        print(rank, "mpi", around);
        print(rank, "whole", (struct ledger){1, now() - begin, 0});
        printf("%d bytes %ld\n", rank, bytes);
    } else {
        pthread_t threads[THREADS];
        struct ledger all_inside = {0}, all_around = {0};
        long left = 0;
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, calls, argv[1]);
        for (int i = 0; i < THREADS; i++) {
            void *result;
            pthread_join(threads[i], &result);
            merge(&all_inside, ((struct result *)result)->inside);
            merge(&all_around, ((struct result *)result)->around);
            left += ((struct result *)result)->left;
        }
        print(rank, "inside", all_inside);
        print(rank, "around", all_around);
        printf("%d left %ld\n", rank, left);
    }
    MPI_Finalize();
    return 0;
}
"#;

fn compile(mpi: &Mpi, folder: &Path) -> String {
    let (source, program) = (folder.join("ledger.c"), folder.join("ledger"));
    std::fs::write(&source, PROGRAM).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-O2", "-g", "-pthread", "-o"]).arg(&program).arg(&source).args(&mpi.link);
    assert!(command.status().expect("the compiler runs").success());
    program.display().to_string()
}

/// The sum of a column over the lines of all ranks with this name; the maximum for the last column.
fn ledger(outcome: &Outcome, name: &str) -> [f64; 3] {
    let lines = outcome.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|words| words.get(1) == Some(&name)).fold([0.0; 3], |[calls, total, most], words| {
        let column = |index: usize| words.get(index).map_or(0.0, |word| word.parse::<f64>().expect("a number"));
        [calls + column(2), total + column(3), most.max(column(4))]
    })
}

/// What a measure point was told: number of calls, and the statistics of each value.
type PointTotals = HashMap<usize, (u64, Vec<RunningStats>)>;

/// A tunlet that adds up all summaries.
struct AddingTunlet {
    points: Vec<MeasurePoint>,
    totals: Arc<Mutex<PointTotals>>,
}

impl Tunlet for AddingTunlet {
    fn name(&self) -> &str {
        "adding"
    }

    fn requirements(&mut self, _processes: u32) -> TunletRequirements {
        TunletRequirements { measures: self.points.clone(), tunes: Vec::new() }
    }

    fn on_summary(&mut self, summary: &EventSummary) -> Vec<TuningAction> {
        let mut totals = self.totals.lock().expect("not poisoned");
        let (count, values) = totals.entry(summary.point).or_insert_with(|| (0, vec![RunningStats::default(); summary.values.len()]));
        *count += summary.count;
        values.iter_mut().zip(&summary.values).for_each(|(all, more)| all.merge(more));
        Vec::new()
    }
}

fn point(function: &str, side: HookSide, values: &[&str]) -> MeasurePoint {
    let values = values.iter().map(ToString::to_string).collect();
    MeasurePoint { actor: Actor::All, function: function.into(), side, values, join: EventJoin::Over(0.05) }
}

/// Runs the program with the test as its analyzer: what it printed, the summary of the run, and what each point was told.
fn measure(mpi: &Mpi, ranks: usize, arguments: &[&str], points: Vec<MeasurePoint>) -> (Outcome, TuningSummary, PointTotals) {
    let folder = fresh_dir();
    let mut program = vec![compile(mpi, folder.path())];
    program.extend(arguments.iter().map(ToString::to_string));
    let (secret, doors) = (SharedSecret::new().expect("randomness"), folder.path().join("doors"));
    let tree = HostTree::new(ProcessCollector::open(&doors, &secret).expect("a door"), None, now_ns());
    let totals = Arc::<Mutex<PointTotals>>::default();
    let analyzer = Analyzer::new(vec![Box::new(AddingTunlet { points, totals: totals.clone() })], tree, false);
    let command = record_command(&folder.path().join("run.sin"), &[], mpi.launch(ranks, &program));
    let mut env = mpi.env.clone();
    env.extend([("SINTONIA_TUNE".into(), doors.display().to_string()), ("SINTONIA_SECRET".into(), secret.to_hex())]);
    let (outcome, summary) = std::thread::scope(|scope| {
        let run = scope.spawn(|| Process::new(command).env(&env).limit(60).run_in(folder.path()));
        let summary = analyzer.run(|| run.is_finished(), |_| ());
        (run.join().expect("the program runs"), summary)
    });
    outcome.expect_status(0);
    let totals = std::mem::take(&mut *totals.lock().expect("not poisoned"));
    (outcome, summary, totals)
}

/// The clock of the program and that of the time stamps differ a little.
fn is_between(value: f64, least: f64, most: f64) -> bool {
    (0.99 * least..=1.01 * most).contains(&value)
}

#[test]
fn c690_sums_of_a_function_are_exact_whatever_its_rate() {
    for_every_mpi(|mpi| {
        let points = vec![
            point("work", HookSide::Exit, &["seconds"]),
            point("work", HookSide::Entry, &[]),
            point("leaves", HookSide::Exit, &["seconds"]),
            point("leaves", HookSide::Entry, &[]),
            point("recursive", HookSide::Exit, &["seconds", "mpi_seconds"]),
        ];
        let (outcome, summary, totals) = measure(mpi, 2, &["60000"], points);
        let ([calls, inside, most_inside], [_, around, most_around]) = (ledger(&outcome, "inside"), ledger(&outcome, "around"));
        let [left, ..] = ledger(&outcome, "left");
        assert_eq!((calls, left), (360_000.0, 2004.0), "the program itself");
        let count = |point: usize| totals.get(&point).map_or(0, |(count, _)| *count);
        assert_eq!([count(0), count(1)], [360_000; 2], "{}", mpi.name);
        assert_eq!([count(2), count(3)], [6000 - 2004, 6000], "{}: a call that was left has an entry and no exit", mpi.name);
        assert_eq!(count(4), 600, "{}: every level of a recursion is a call", mpi.name);
        let seconds = totals[&0].1[0];
        assert!(is_between(seconds.sum(), inside, around), "{}: {inside} {} {around}", mpi.name, seconds.sum());
        assert!(is_between(seconds.maximum(), most_inside, most_around), "{}: {most_inside} {} {most_around}", mpi.name, seconds.maximum());
        assert_eq!(totals[&4].1[1].sum(), 0.0, "it calls no MPI");
        assert_eq!(summary.dropped, 0, "{}", mpi.name);
        assert!(summary.events >= 720_000, "{}: {}", mpi.name, summary.events);
    });
}

#[test]
fn c691_sums_of_an_mpi_function_are_exact_and_count_for_the_function_around_it() {
    for_every_mpi(|mpi| {
        let points = vec![
            point("MPI_Sendrecv_replace", HookSide::Exit, &["seconds", "bytes"]),
            point("exchange", HookSide::Exit, &["seconds", "mpi_seconds"]),
        ];
        let (outcome, summary, totals) = measure(mpi, 2, &["50000", "mpi"], points);
        let ([calls, around, most], [_, whole, _], [bytes, ..]) =
            (ledger(&outcome, "mpi"), ledger(&outcome, "whole"), ledger(&outcome, "bytes"));
        assert_eq!([totals[&0].0, totals[&1].0], [calls as u64; 2], "{}", mpi.name);
        let [seconds, sent] = totals[&0].1[..] else { panic!("two values") };
        assert_eq!(sent.sum().round(), bytes, "{}", mpi.name);
        assert_eq!(sent.maximum(), 2.0 * 19_999.0, "{}", mpi.name);
        assert!(is_between(seconds.sum(), 0.0, around) && is_between(seconds.maximum(), 0.0, most), "{}", mpi.name);
        let [of_exchange, in_mpi] = totals[&1].1[..] else { panic!("two values") };
        assert!((in_mpi.sum() / seconds.sum() - 1.0).abs() < 1e-6, "{}: {} {}", mpi.name, in_mpi.sum(), seconds.sum());
        assert!(is_between(of_exchange.sum(), around, whole), "{}: {around} {} {whole}", mpi.name, of_exchange.sum());
        assert_eq!(summary.dropped, 0, "{}", mpi.name);
    });
}

#[test]
fn c692_advise_drops_nothing() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = [compile(mpi, folder.path()), "150000".into(), "mpi".into()];
        let own = [sintonia(), "tune".into(), "--json".into(), "--".into()];
        let tuned = Process::new(own.into_iter().chain(mpi.launch(4, &program))).env(&mpi.env).limit(60).run_in(folder.path());
        tuned.expect_status(0);
        let report = tuning(&tuned);
        let [calls, ..] = ledger(&tuned, "mpi");
        assert_eq!(report["dropped"], 0, "{}", mpi.name);
        assert!(report["events"].as_f64().expect("a number") >= 2.0 * calls, "{}: {} of {calls} calls", mpi.name, report["events"]);
    });
}
