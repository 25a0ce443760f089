//! Sampled stacks in the formats of other tools: read by those tools or against their definitions, all formats have the same samples, and the
//! share of each function is that of the ledger which the program keeps.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{
    Mpi, Outcome, Process, for_every_mpi, fresh_dir, readers_python, record_command, retry_until_ok, sintonia, tests_dir,
};

const TREE: &str = include_str!("145_sample_formats/tree.c");

/// By how many points the share of a stack may differ from the ledger.
const MAX_POINTS: f64 = 3.0;

/// Samples by rank and by the names of the functions, outermost first.
type Counts = BTreeMap<(u64, String), u64>;

#[test]
fn c145_every_format_has_the_shares_of_the_ledger() {
    for_every_mpi(|mpi| retry_until_ok(|| check_shares(mpi)));
}

#[test]
fn c146_a_recording_without_samples_is_refused() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        record_tree(mpi, folder.path(), &["--sample", "off"], "0.1");
        for format in ["speedscope", "collapsed", "pprof", "firefox"] {
            let outcome = export(folder.path(), &["--to", format]);
            outcome.expect_status(1);
            assert!(outcome.stderr.contains("has no samples"), "{}", outcome.text());
        }
        let files = std::fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.expect("an entry").file_name());
        assert!(files.into_iter().all(|file| !file.to_string_lossy().starts_with("tree.") || file == "tree.sin"), "nothing is left");
    });
}

fn check_shares(mpi: &Mpi) -> Result<(), String> {
    let folder = fresh_dir();
    let folder = folder.path();
    let ledger = ledger(&record_tree(mpi, folder, &["--sample", "499"], "4").stdout);
    let collapsed = collapsed_counts(folder);
    compare("collapsed", &collapsed, &ledger)?;
    for (format, counts) in
        [("speedscope", speedscope_counts(folder)), ("pprof", pprof_counts(folder)), ("firefox", firefox_counts(folder))]
    {
        compare(format, &counts, &ledger)?;
        assert_eq!(counts, collapsed, "{format}: the same samples in every format");
    }
    Ok(())
}

/// Compiles and records `tree` as `tree.sin`.
fn record_tree(mpi: &Mpi, folder: &Path, options: &[&str], seconds: &str) -> Outcome {
    std::fs::write(folder.join("source.c"), TREE).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-g", "-O2", "-o"]).args([folder.join("program"), folder.join("source.c")]).args(&mpi.link);
    assert!(command.status().expect("the compiler runs").success());
    let launch = mpi.launch(2, &["./program".to_string(), seconds.to_string()]);
    let outcome = Process::new(record_command(&folder.join("tree.sin"), options, launch)).env(&mpi.env).run_in(folder);
    outcome.expect_status(0);
    outcome
}

fn export(folder: &Path, options: &[&str]) -> Outcome {
    let words = [sintonia(), "export".into(), "tree.sin".into()].into_iter().chain(options.iter().map(ToString::to_string));
    Process::new(words).run_in(folder)
}

/// Seconds by rank and stack, as the program printed them.
fn ledger(printed: &str) -> BTreeMap<(u64, String), f64> {
    let entry = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        ((words[1].parse().expect("a rank"), words[2].to_owned()), words[3].parse().expect("seconds"))
    };
    printed.lines().filter(|line| line.starts_with("ledger ")).map(entry).collect()
}

/// Compares the share of each stack of the ledger, with all that it called, in the samples of its rank that are in the ledger.
fn compare(format: &str, counts: &Counts, ledger: &BTreeMap<(u64, String), f64>) -> Result<(), String> {
    for rank in 0..2 {
        let stacks = || ledger.iter().filter(|((other, _), _)| *other == rank).map(|((_, stack), seconds)| (stack, seconds));
        let samples_in = |stack: &str| -> u64 {
            let is_below = |names: &str| names == stack || names.strip_prefix(stack).is_some_and(|rest| rest.starts_with(';'));
            counts.iter().filter(|((other, names), _)| *other == rank && is_below(names)).map(|(_, count)| count).sum()
        };
        let all_samples: u64 = stacks().map(|(stack, _)| samples_in(stack)).sum();
        let all_seconds: f64 = stacks().map(|(_, seconds)| seconds).sum();
        // The rest is MPI_Init and MPI_Finalize.
        if all_samples < 500 || (all_samples as f64) < 0.8 * samples_in("main") as f64 {
            return Err(format!("{format}, rank {rank}: only {all_samples} samples in the functions of the ledger"));
        }
        for (stack, seconds) in stacks() {
            let share = 100.0 * samples_in(stack) as f64 / all_samples as f64;
            let expected = 100.0 * seconds / all_seconds;
            if (share - expected).abs() > MAX_POINTS {
                return Err(format!(
                    "{format}, rank {rank}, {stack}: {share:.1} % of {all_samples} samples, {expected:.1} % in the ledger"
                ));
            }
        }
    }
    Ok(())
}

/// Sums the lines of collapsed stacks; those without ranks have the same sum.
fn collapsed_counts(folder: &Path) -> Counts {
    let lines = |options: &[&str], file: &str| {
        export(folder, options).expect_status(0);
        std::fs::read_to_string(folder.join(file)).expect("the export")
    };
    let count = |line: &str| line.rsplit_once(' ').and_then(|(_, count)| count.parse::<u64>().ok()).expect("a count");
    let text = lines(&["--to", "collapsed", "--by-rank"], "tree.collapsed");
    let entry = |line: &str| {
        let (rank, names) = line.strip_prefix("rank ").and_then(|line| line.split_once(';')).expect("a rank");
        ((rank.parse().expect("a number"), names.rsplit_once(' ').expect("a count").0.to_owned()), count(line))
    };
    let counts: Counts = text.lines().map(entry).collect();
    let together = lines(&["-o", "all.folded"], "all.folded");
    assert_eq!(together.lines().map(count).sum::<u64>(), counts.values().sum::<u64>());
    counts
}

/// The rank in a label like `rank 3 on host`.
fn rank_of(label: &str) -> u64 {
    label.split([' ', ',']).nth(1).and_then(|rank| rank.parse().ok()).unwrap_or_else(|| panic!("no rank in {label:?}"))
}

/// What a reader finds that checks the file against speedscope's schema.
fn speedscope_counts(folder: &Path) -> Counts {
    export(folder, &["--to", "speedscope"]).expect_status(0);
    let reader = [readers_python(), tests_dir().join("readers/speedscope.py"), folder.join("tree.speedscope.json")];
    let outcome = Process::new(reader.map(|word| word.display().to_string())).run_in(folder);
    let profiles: Value = serde_json::from_str(&outcome.expect_status(0).stdout).expect("JSON");
    let mut counts = Counts::new();
    for profile in profiles.as_array().expect("profiles") {
        assert_eq!(profile["unit"], "nanoseconds");
        for (names, count) in profile["stacks"].as_object().expect("stacks") {
            let rank = rank_of(profile["name"].as_str().expect("a name"));
            *counts.entry((rank, names.clone())).or_default() += count[0].as_u64().expect("a count");
        }
    }
    counts
}

/// What `go tool pprof` reads: samples with their values, locations and labels, then the locations.
fn pprof_counts(folder: &Path) -> Counts {
    export(folder, &["--to", "pprof"]).expect_status(0);
    let outcome =
        Process::new(["go", "tool", "pprof", "-raw", "tree.pb.gz"]).env(&[("HOME".into(), folder.display().to_string())]).run_in(folder);
    let text = &outcome.expect_status(0).stdout;
    let (samples, rest) = text
        .split_once("Samples:\nsamples/count cpu/nanoseconds\n")
        .expect("the samples")
        .1
        .split_once("Locations\n")
        .expect("the locations");
    let locations: BTreeMap<&str, &str> = rest.lines().take_while(|line| *line != "Mappings").filter_map(location).collect();
    let (mut counts, mut current) = (Counts::new(), None);
    for line in samples.lines() {
        if let Some(rank) = line.trim().strip_prefix("rank:[") {
            let (names, count) = current.take().expect("a sample");
            *counts.entry((rank.split(']').next().expect("a rank").parse().expect("a number"), names)).or_default() += count;
        } else if let Some((values, ids)) = line.split_once(": ").filter(|(values, _)| !values.contains("thread")) {
            let names: Vec<&str> = ids.split_whitespace().rev().map(|id| locations[id]).collect();
            current = Some((names.join(";"), values.split_whitespace().next().expect("a value").parse::<u64>().expect("a count")));
        }
    }
    counts
}

/// The number and the function of a location: `     1: 0x0 M=1 main source.c:12 s=0`.
fn location(line: &str) -> Option<(&str, &str)> {
    let (id, rest) = line.split_once(':')?;
    let (_, rest) = rest.split_once(" M=")?.1.split_once(' ')?;
    let (name, _) = rest.rsplit_once(" s=")?.0.rsplit_once(' ')?;
    Some((id.trim(), name))
}

/// What the tables of a processed profile lead to; every index must be in range.
fn firefox_counts(folder: &Path) -> Counts {
    export(folder, &["--to", "firefox"]).expect_status(0);
    let text = std::fs::read_to_string(folder.join("tree.firefox.json")).expect("the export");
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    let shared = &profile["shared"];
    let column = |table: &str, name: &str| -> Vec<Option<usize>> {
        let values = shared[table][name].as_array().unwrap_or_else(|| panic!("{table}.{name}"));
        assert_eq!(Some(values.len() as u64), shared[table]["length"].as_u64(), "{table}.{name}");
        values.iter().map(|value| value.as_u64().map(|index| index as usize)).collect()
    };
    let (prefixes, frames) = (column("stackTable", "prefix"), column("stackTable", "frame"));
    let (functions, names) = (column("frameTable", "func"), column("funcTable", "name"));
    let (lines, sources, files) = (column("frameTable", "line"), column("funcTable", "source"), column("sources", "filename"));
    assert!(prefixes.iter().enumerate().all(|(stack, prefix)| prefix.is_none_or(|prefix| prefix < stack)), "a prefix comes first");
    let function = |stack: usize| functions[frames[stack].expect("a frame")].expect("a function");
    let name = |stack: usize| shared["stringArray"][names[function(stack)].expect("a name")].as_str().expect("a string");
    let mut counts = Counts::new();
    for thread in profile["threads"].as_array().expect("threads") {
        let samples = &thread["samples"];
        let stacks = samples["stack"].as_array().expect("stacks");
        for column in ["timeDeltas", "threadCPUDelta"] {
            assert_eq!(samples[column].as_array().map(Vec::len), Some(stacks.len()), "{column}");
        }
        for stack in stacks {
            let stack = stack.as_u64().expect("an index") as usize;
            let mut path: Vec<&str> = std::iter::successors(Some(stack), |stack| prefixes[*stack]).map(name).collect();
            path.reverse();
            *counts.entry((rank_of(thread["name"].as_str().expect("a name")), path.join(";"))).or_default() += 1;
        }
    }
    let in_source = (0..frames.len()).find(|stack| name(*stack) == "beta").expect("a stack with beta");
    let file = files[sources[function(in_source)].expect("a source")].expect("a file");
    assert!(shared["stringArray"][file].as_str().is_some_and(|file| file.ends_with("source.c")));
    let line = lines[frames[in_source].expect("a frame")].expect("a line");
    assert!(TREE.lines().nth(line - 1).is_some_and(|line| line.contains("sink -=")), "line {line}");
    counts
}
