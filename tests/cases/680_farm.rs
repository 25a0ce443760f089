//! Farms that were not written for tuning: `factoring` and `workers` know one variable of the program, and its MPI calls show the rest.
//! The programs keep ledgers of their pieces; the sizes in them must be those of the published formulas, computed here.

use std::path::Path;

use serde_json::Value;
use sintonia_tests::fire::{tuning, was_made};
use sintonia_tests::{Mpi, Outcome, Process, for_share_of_mpis, fresh_dir, retry_assertions, sintonia, tests_dir};

const WORKERS: u64 = 4;

/// A piece: its worker, and its tasks.
type Piece = (u64, u64);

/// What the ledger of `680_farm` says: the pieces of each round, and its seconds.
struct Ledger {
    rounds: Vec<(Vec<Piece>, f64)>,
}

impl Ledger {
    fn read(path: &Path) -> Ledger {
        let mut rounds: Vec<(Vec<Piece>, f64)> = Vec::new();
        let mut pieces = Vec::new();
        for line in std::fs::read_to_string(path).expect("a ledger").lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |index: usize| words[index].parse::<f64>().expect("a number");
            match words[0] {
                "piece" => pieces.push((number(2) as u64, number(4) as u64)),
                _ => rounds.push((std::mem::take(&mut pieces), number(2))),
            }
        }
        Ledger { rounds }
    }

    /// Sizes of the pieces, round by round.
    fn sizes(&self) -> Vec<Vec<u64>> {
        self.rounds.iter().map(|(pieces, _)| pieces.iter().map(|(_, tasks)| *tasks).collect()).collect()
    }

    /// Seconds of all rounds from this one on.
    fn seconds_from(&self, round: usize) -> f64 {
        self.rounds[round..].iter().map(|(_, seconds)| seconds).sum()
    }
}

fn build(mpi: &Mpi, folder: &Path, program: &str) {
    mpi.compile(&[tests_dir().join("programs/c").join(format!("{program}.c"))], &folder.join(program));
}

/// Runs a program with a ledger, tuned if there are words of `sintonia tune`.
fn run(mpi: &Mpi, folder: &Path, own: &[&str], program: &str, words: &str) -> Outcome {
    let tune = [sintonia().as_str(), "tune", "--force", "-o", "run.sin", "--json"].map(str::to_owned);
    let own: Vec<String> = match own {
        [] => Vec::new(),
        own => tune.into_iter().chain(own.iter().map(ToString::to_string)).chain(["--".to_owned()]).collect(),
    };
    let program: Vec<String> =
        [format!("./{program}"), "ledger".to_owned()].into_iter().chain(words.split(' ').map(str::to_owned)).collect();
    let outcome = Process::new(own.into_iter().chain(mpi.launch(WORKERS as usize + 1, &program))).env(&mpi.env).limit(120).run_in(folder);
    outcome.expect_status(0);
    outcome
}

fn tuned(mpi: &Mpi, folder: &Path, settings: &str, words: &str) -> (Outcome, Ledger) {
    let outcome = run(mpi, folder, &["--tunlet", &format!("factoring:chunk=\"chunk\",{settings}")], "680_farm", words);
    (outcome, Ledger::read(&folder.join("ledger")))
}

/// Values that a parameter had, in order; its name is in parentheses after that of the variable.
fn values(outcome: &Outcome, parameter: &str) -> Vec<(f64, String)> {
    let report = tuning(outcome);
    let wanted = format!("chunk ({parameter})");
    let decisions = report["decisions"].as_array().expect("decisions");
    let made = decisions.iter().filter(|one| one["action"] == wanted && was_made(one));
    made.map(|one: &Value| (one["new"].as_f64().expect("a number"), one["why"].as_str().expect("a reason").to_owned())).collect()
}

/// Pieces by a rule for the next size, from the remaining tasks, the number of pieces before, and the worker.
fn pieces(tasks: u64, workers: impl Fn(usize) -> u64, mut rule: impl FnMut(u64, usize, u64) -> f64) -> Vec<u64> {
    let (mut remaining, mut sizes) = (tasks, Vec::new());
    while remaining > 0 {
        let size = (rule(remaining, sizes.len(), workers(sizes.len())) as u64).clamp(1, remaining);
        remaining -= size;
        sizes.push(size);
    }
    sizes
}

/// Batches of P pieces: what remained when the batch began is kept.
fn batches(share: impl Fn(f64, usize) -> f64) -> impl FnMut(u64, usize, u64) -> f64 {
    let mut piece = 0.0;
    move |remaining, index, _| {
        if (index as u64).is_multiple_of(WORKERS) {
            piece = (share(remaining as f64, index / WORKERS as usize) / WORKERS as f64 - 1e-9).ceil();
        }
        piece
    }
}

/// Rules whose sizes follow from the number of tasks and workers alone.
fn formula(rule: &str, tasks: u64, workers: impl Fn(usize) -> u64) -> Vec<u64> {
    let (n, p) = (tasks as f64, WORKERS as f64);
    match rule {
        "static" => pieces(tasks, workers, |_, _, _| (n / p).ceil()),
        "ss" => pieces(tasks, workers, |_, _, _| 1.0),
        "gss" => pieces(tasks, workers, |remaining, _, _| (remaining as f64 / p).ceil()),
        "tss" => {
            let first = (n / (2.0 * p)).ceil();
            let count = (2.0 * n / (first + 1.0)).ceil();
            pieces(tasks, workers, |_, index, _| (first - index as f64 * (first - 1.0) / (count - 1.0)).round())
        }
        "fac2" => pieces(tasks, workers, batches(|remaining, _| remaining / 2.0)),
        // Of the weights 3, 1, 1, 1.
        "wf" => {
            let mut half = batches(|remaining, _| remaining / 2.0);
            pieces(tasks, workers, move |remaining, index, worker| {
                (half(remaining, index, worker) * if worker == 1 { 2.0 } else { 2.0 / 3.0 }).round()
            })
        }
        _ => panic!("{rule} has other parameters"),
    }
}

/// Expects the sizes of a rule in the rounds from this one on.
fn expect_rounds(ledger: &Ledger, from: usize, rule: &str, about: &str) {
    for (round, (pieces, _)) in ledger.rounds.iter().enumerate().skip(from) {
        let sizes: Vec<u64> = pieces.iter().map(|(_, tasks)| *tasks).collect();
        let expected = formula(rule, sizes.iter().sum(), |index| pieces.get(index).map_or(0, |(worker, _)| *worker));
        assert_eq!(sizes, expected, "{about}, round {round}");
    }
}

#[test]
fn c680_every_piece_has_the_size_of_the_published_formula() {
    for_share_of_mpis(680, |mpi| {
        let folder = fresh_dir();
        build(mpi, folder.path(), "680_farm");
        let (gives, asks) = ("8 160 16 even give 200", "8 160 16 even ask 200");
        let bare = run(mpi, folder.path(), &[], "680_farm", gives);
        for rule in ["static", "ss", "gss", "tss", "fac2", "wf"] {
            let weights = if rule == "wf" { ",weights=[3,1,1,1]" } else { "" };
            // Sized where a piece is cut, after it is sent, and when a worker asks.
            let ways = [("at=\"give\",total=160,master=0", gives), ("at=\"MPI_Send\",total=\"ntasks\"", gives), ("total=\"ntasks\"", asks)];
            for (way, words) in ways {
                let settings = format!("rule=\"{rule}\"{weights},{way}");
                let (outcome, ledger) = tuned(mpi, folder.path(), &settings, words);
                assert_eq!(outcome.stdout, bare.stdout, "{} {settings}", mpi.name);
                expect_rounds(&ledger, 4, rule, &format!("{} {settings} {words}", mpi.name));
            }
        }
    });
}

#[test]
fn c681_rules_with_measurements_follow_them() {
    retry_assertions(|| {
        let mpi = Mpi::named("openmpi");
        let folder = fresh_dir();
        build(&mpi, folder.path(), "680_farm");
        let words = "12 600 60 uneven give 100";
        let bare = run(&mpi, folder.path(), &[], "680_farm", words);
        let follow = |settings: &str| {
            let (outcome, ledger) = tuned(&mpi, folder.path(), &format!("{settings},total=\"ntasks\",at=\"give\""), words);
            assert_eq!(outcome.stdout, bare.stdout, "{settings}");
            assert!(ledger.sizes().iter().all(|sizes| sizes.iter().sum::<u64>() == 600), "{settings}");
            (outcome, ledger.sizes())
        };
        let p = WORKERS as f64;

        // Hummel's factoring: the margin in the log gives the deviation, and that the published sizes.
        let (outcome, rounds) = follow("rule=\"fac\"");
        let by_margin = |margin: f64| {
            let relative = 2.0 * (2.0 * margin).sqrt() / p;
            let share = |remaining: f64, batch: usize| {
                let b = p * relative / (2.0 * remaining.sqrt());
                let x = if batch == 0 { 1.0 + b * b + b * (b * b + 2.0).sqrt() } else { 2.0 + b * b + b * (b * b + 4.0).sqrt() };
                remaining / x
            };
            pieces(600, |_| 0, batches(share))
        };
        let margins = values(&outcome, "margin");
        assert!(margins.iter().any(|(margin, _)| *margin > 0.0), "{margins:?}");
        // The share of the first batch is rounded to a hundredth before it is sent again.
        let near = |sizes: &[u64], expected: &[u64]| sizes.iter().zip(expected).all(|(one, other)| one.abs_diff(*other) <= 1 + other / 20);
        let matching = rounds.iter().filter(|sizes| margins.iter().any(|(margin, _)| near(sizes, &by_margin(*margin)))).count();
        assert!(matching >= 3, "{margins:?} {rounds:?}");

        // The paper's rule: shares by the mean and deviation that the log gives.
        let (outcome, rounds) = follow("rule=\"daf\"");
        let shares = values(&outcome, "F0");
        for (share, why) in shares.iter().filter(|(_, why)| why.contains("deviation of")) {
            let deviation = why.split("deviation of ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a deviation");
            let expected = 1.0 / (1.0 + deviation.parse::<f64>().expect("a number") / 100.0 * (p / 2.0).sqrt());
            assert!((share - expected).abs() < 0.01, "{share} {why}");
        }
        // Where pauses take long, as on a busy machine, the program's own size is tried, too.
        let first_piece = |share: f64| (600.0 * share / p - 1e-9).ceil() as u64;
        let follows = |sizes: &&Vec<u64>| shares.iter().any(|(share, _)| sizes[0] == first_piece(*share));
        // Half of the tasks, until their times are known.
        let is_first = |sizes: &Vec<u64>| sizes[0] == first_piece(0.5);
        let is_own = |sizes: &Vec<u64>| sizes[0] == 60;
        assert!(rounds.iter().skip(1).all(|sizes| follows(&sizes) || is_own(sizes) || is_first(sizes)), "{shares:?} {rounds:?}");
        assert!(rounds.iter().filter(follows).count() > 0, "{shares:?} {rounds:?}");

        // One size, which overhead and deviation determine; and as many pieces as FAC2.
        let (outcome, rounds) = follow("rule=\"fsc\"");
        let sizes = values(&outcome, "first");
        let is_fixed = |round: &Vec<u64>| round[..round.len() - 1].iter().all(|size| *size == round[0]);
        assert!(
            sizes.iter().any(|(size, _)| rounds.iter().any(|round| is_fixed(round) && round[0] == size.round() as u64)),
            "{sizes:?} {rounds:?}"
        );
        let (_, rounds) = follow("rule=\"mfsc\"");
        let count = formula("fac2", 600, |_| 0).len();
        assert!(rounds.iter().skip(2).all(|round| is_fixed(round) && round.len().abs_diff(count) <= count / 4), "{count} {rounds:?}");
    });
}

#[test]
fn c682_a_slow_worker_gets_smaller_pieces() {
    retry_assertions(|| {
        let mpi = Mpi::named("openmpi");
        let folder = fresh_dir();
        build(&mpi, folder.path(), "680_farm");
        // Not `af`: its pieces move the positions of the others so little that a slow worker cannot be told from long tasks.
        for rule in ["wf", "awf", "awf-b", "awf-c"] {
            let settings = format!("rule=\"{rule}\",total=\"ntasks\",at=\"give\"");
            let (outcome, ledger) = tuned(&mpi, folder.path(), &settings, "16 400 20 slow give 300");
            // The first batch of a round has one piece for every worker, in their order.
            let ratio = |(pieces, _): &(Vec<Piece>, f64)| {
                let others: u64 = pieces[1..WORKERS as usize].iter().map(|(_, tasks)| *tasks).sum();
                pieces[0].1 as f64 * (WORKERS - 1) as f64 / others as f64
            };
            let ratio = median(ledger.rounds[8..].iter().map(ratio).collect());
            assert!(ratio < 0.75, "{rule}: {ratio:.2}: {}", outcome.stderr);
        }
    });
}

#[test]
fn c683_uneven_work_takes_less_time_and_needs_no_number_of_tasks() {
    for_share_of_mpis(683, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            build(mpi, folder.path(), "680_farm");
            // One piece per worker; the last one has all long tasks: twice the ideal time.
            let words = "10 400 100 uneven give 1000";
            let mut ratios = Vec::new();
            for _ in 0..3 {
                let bare = run(mpi, folder.path(), &[], "680_farm", words);
                let plain = Ledger::read(&folder.path().join("ledger")).seconds_from(5);
                let (outcome, ledger) = tuned(mpi, folder.path(), "rule=\"gss\",least=8", words);
                assert_eq!(outcome.stdout, bare.stdout, "{}", mpi.name);
                ratios.push(ledger.seconds_from(5) / plain);
                // After a few rounds the number of tasks is known. The first pieces are equal, and leave what the rule would leave.
                let rule = |tasks: u64| pieces(tasks, |_| 0, |remaining, _, _| (remaining as f64 / WORKERS as f64).ceil().max(8.0));
                let first = rule(400)[..4].iter().sum::<u64>().div_ceil(4);
                let expected: Vec<u64> = [first; 4].into_iter().chain(rule(400 - 4 * first)).collect();
                assert!(ledger.sizes()[6..].iter().all(|sizes| *sizes == expected), "{}: {expected:?} {:?}", mpi.name, ledger.sizes());
            }
            ratios.sort_by(f64::total_cmp);
            assert!(ratios[1] < 0.85, "{}: {ratios:?}", mpi.name);
        });
    });
}

/// Workers and seconds of each round of `681_blocks`.
fn rounds_of_blocks(folder: &Path) -> Vec<(u32, f64)> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[2].parse().expect("a number"), words[3].parse().expect("seconds"))
    };
    std::fs::read_to_string(folder.join("ledger")).expect("a ledger").lines().map(line).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Ratio of tuned to plain of x T² and of T, in the last rounds, and the number of workers at the end.
fn tune_workers(mpi: &Mpi, folder: &Path, words: &str) -> (f64, f64, u32) {
    let (mut index, mut time, mut last) = (Vec::new(), Vec::new(), 0);
    let measure = |rounds: &[(u32, f64)]| {
        let half = &rounds[rounds.len() / 2..];
        (
            median(half.iter().map(|(workers, seconds)| f64::from(*workers) * seconds * seconds).collect()),
            median(half.iter().map(|(_, seconds)| *seconds).collect()),
        )
    };
    for _ in 0..3 {
        let bare = run(mpi, folder, &[], "681_blocks", words);
        let plain = measure(&rounds_of_blocks(folder));
        let outcome = run(mpi, folder, &["--tunlet", "workers:variable=\"in_use\""], "681_blocks", words);
        assert_eq!(outcome.stdout, bare.stdout, "{}", mpi.name);
        let rounds = rounds_of_blocks(folder);
        let tuned = measure(&rounds);
        index.push(tuned.0 / plain.0);
        time.push(tuned.1 / plain.1);
        last = rounds.last().expect("rounds").0;
    }
    (median(index), median(time), last)
}

#[test]
fn c684_the_number_of_workers_changes_where_it_pays() {
    for_share_of_mpis(684, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            build(mpi, folder.path(), "681_blocks");
            // Messages of 128 kB that the master packs, and hardly any work: each further worker costs more than it does.
            let (index, time, workers) = tune_workers(mpi, folder.path(), "24 12 128 4 0");
            assert!(workers < 4 && index < 0.8 && time < 1.5, "{}: {workers} workers, x T² {index:.2}, T {time:.2}", mpi.name);
            // Small messages, and work: two workers are too few.
            let (index, time, workers) = tune_workers(mpi, folder.path(), "12 16 1 2 30000");
            assert!(workers > 2 && index < 0.95 && time < 0.85, "{}: {workers} workers, x T² {index:.2}, T {time:.2}", mpi.name);
        });
    });
}

#[test]
fn c693_what_cannot_be_followed_is_reported_and_changes_nothing() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    build(&mpi, folder.path(), "680_farm");
    let words = "4 200 25 even give 10";
    let bare = run(&mpi, folder.path(), &[], "680_farm", words);
    let plain = Ledger::read(&folder.path().join("ledger")).sizes();
    for (settings, said) in [
        ("chunk=\"chnk\"", "chnk"),
        ("chunk=\"result\"", "cannot be set to a number"),
        ("chunk=\"chunk\",total=\"ntask\"", "ntask"),
        ("chunk=\"chunk\",rule=\"static\"", "give it as `total`"),
    ] {
        let outcome = run(&mpi, folder.path(), &["--tunlet", &format!("factoring:{settings}")], "680_farm", words);
        assert_eq!(outcome.stdout, bare.stdout, "{settings}");
        assert!(outcome.stderr.contains(said), "{settings}: {}", outcome.stderr);
        if !settings.contains("static") {
            assert_eq!(Ledger::read(&folder.path().join("ledger")).sizes(), plain, "{settings}");
        }
    }
}
