//! What the host is, where ranks and threads may run, what they used and which limits they had: compared with other tools and with a
//! ledger that the program keeps itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{Family, Mpi, Process, Program, Recording, for_every_mpi, fresh_dir, not_applicable, on_every_mpi, record_command};

/// Processors of a set such as `0-2,5`.
fn processors(set: &str) -> BTreeSet<u32> {
    let bounds = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        (first.trim().parse::<u32>().expect("a processor"), last.trim().parse::<u32>().expect("a processor"))
    };
    set.split(',').map(bounds).flat_map(|(first, last)| first..=last).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is text"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// What a tool prints.
fn printed(command: &[&str]) -> String {
    let output = Command::new(command[0]).args(&command[1..]).env("LC_ALL", "C").output().expect("the tool runs");
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A field of `lscpu -J`; nested ones are searched, too.
fn lscpu(name: &str) -> Option<String> {
    fn search(fields: &Value, name: &str) -> Option<String> {
        fields.as_array()?.iter().find_map(|field| match &field["field"] {
            Value::String(known) if known == name => field["data"].as_str().map(String::from),
            _ => search(&field["children"], name),
        })
    }
    let all: Value = serde_json::from_str(&printed(&["lscpu", "-J"])).expect("JSON");
    search(&all["lscpu"], name)
}

fn lscpu_number(name: &str) -> f64 {
    lscpu(name).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("lscpu prints {name}"))
}

#[test]
fn c060_the_host_is_what_other_tools_say() {
    on_every_mpi("c/005_self", |_, _, recording| {
        let report = recording.report();
        let host = &report["host_descriptions"][0];
        assert_eq!(host["name"], report["hosts"][0]);
        assert_eq!(processors(text(&host["processors"])), processors(&lscpu("On-line CPU(s) list:").expect("online")));
        let sockets = lscpu_number("Socket(s):");
        let cores = lscpu_number("Core(s) per socket:") * sockets;
        assert_eq!((number(&host["sockets"]), number(&host["cores"])), (sockets, cores));
        assert_eq!(number(&host["numa_nodes"]), lscpu_number("NUMA node(s):"));
        let siblings = host["smt_siblings"].as_array().map_or(0, Vec::len) as f64;
        assert_eq!(siblings, if lscpu_number("Thread(s) per core:") > 1.0 { cores } else { 0.0 });
        assert_eq!(host["cpu_model"].as_str(), lscpu("Model name:").as_deref());
        assert_eq!(text(&host["kernel"]), printed(&["uname", "-r"]).trim());
        let free = printed(&["free", "-b"]);
        let memory = free.lines().find_map(|line| line.strip_prefix("Mem:")?.split_whitespace().next()?.parse::<f64>().ok());
        assert_eq!(Some(number(&host["memory_bytes"])), memory);
        for when in ["load_at_start", "load_at_end"] {
            assert_eq!(host[when].as_array().map(Vec::len), Some(3), "{host}");
        }
        let all = recording.sintonia("report", &["--all"]).stdout;
        let model = text(&host["cpu_model"]);
        assert!(all.lines().any(|line| line == "Hosts"), "{all}");
        assert!(all.replace("\n      ", " ").contains(model), "{all}");
    });
}

#[test]
fn c060_usage_lies_between_the_bounds_of_the_ledger() {
    on_every_mpi("c/060_usage_ledger", |mpi, _, recording| {
        let report = recording.report();
        for rank in 0..2 {
            let ledger: Value =
                serde_json::from_str(&std::fs::read_to_string(recording.folder().join(format!("ledger-{rank}.json"))).expect("a ledger"))
                    .expect("JSON");
            let threads = &report["resources"][rank]["threads"];
            assert_eq!(threads.as_array().map(Vec::len), Some(3), "{}: {threads}", mpi.name);
            for thread in 0..3 {
                check_thread(&threads[thread], &ledger[thread], &format!("{}: rank {rank}, thread {thread}", mpi.name));
            }
        }
    });
}

fn check_thread(usage: &Value, ledger: &Value, who: &str) {
    let set = |value: &Value| processors(text(value));
    assert_eq!(set(&usage["affinity"]), set(&ledger["affinity"]), "{who}");
    let at_end = if usage["affinity_at_end"].is_null() { &usage["affinity"] } else { &usage["affinity_at_end"] };
    assert_eq!(set(at_end), set(&ledger["at_end"]), "{who}");
    let counted = ["elapsed_ns", "cpu_ns", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"];
    for field in counted {
        let (lower, found, upper) = (number(&ledger["lower"][field]), number(&usage[field]), number(&ledger["upper"][field]));
        assert!(lower <= found && found <= upper, "{who}: {field}: {lower} <= {found} <= {upper}");
    }
    if !usage["waiting_ns"].is_null() {
        let (lower, found) = (number(&ledger["lower"]["waiting_ns"]), number(&usage["waiting_ns"]));
        assert!(lower <= found && found <= number(&usage["elapsed_ns"]), "{who}: {lower} <= {found}");
    }
}

/// Records a program by a command that starts the launcher.
fn recorded(mpi: &Mpi, program: &Program, before: &[&str], options: &[&str], environment: &[(String, String)]) -> Recording {
    let folder = fresh_dir();
    let path = folder.path().join("run.sin");
    let mut launch = mpi.launch(program.ranks, &program.build(mpi).expect("builds"));
    launch.splice(1..1, options.iter().map(ToString::to_string));
    launch.splice(0..0, before.iter().map(ToString::to_string));
    let run = Process::new(record_command(&path, &[], launch)).env(&mpi.env).env(environment).limit(180).run_in(folder.path());
    run.expect_status(0);
    Recording::at(run, path, folder)
}

/// The affinity of the first thread of each rank.
fn affinities(recording: &Recording) -> Vec<BTreeSet<u32>> {
    let report = recording.report();
    let ranks = report["resources"].as_array().expect("a list").clone();
    ranks.iter().map(|rank| processors(text(&rank["threads"][0]["affinity"]))).collect()
}

/// The processors of this test.
fn own_processors() -> BTreeSet<u32> {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    processors(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list"))
}

#[test]
fn c060_a_run_under_taskset_may_use_one_processor() {
    let last = *own_processors().last().expect("a processor");
    let program = Program::find("c/005_self");
    for_every_mpi(|mpi| {
        let recording = recorded(mpi, &program, &["taskset", "-c", &last.to_string()], &[], &[]);
        for affinity in affinities(&recording) {
            assert_eq!(affinity, BTreeSet::from([last]), "{}", mpi.name);
        }
    });
}

#[test]
fn c060_ranks_bound_to_cores_say_so() {
    if own_processors().len() < 2 {
        return not_applicable("two ranks cannot be bound to two cores here");
    }
    let program = Program::find("c/060_usage_ledger");
    for_every_mpi(|mpi| {
        let options: &[&str] =
            if mpi.family == Family::OpenMpi { &["--bind-to", "core", "--map-by", "core"] } else { &["-bind-to", "core"] };
        let environment = [("OMPI_MCA_hwloc_base_binding_policy".to_string(), "core".to_string())];
        let recording = recorded(mpi, &program, &[], options, &environment);
        let ledger = |rank: usize| {
            let text = std::fs::read_to_string(recording.folder().join(format!("ledger-{rank}.json"))).expect("a ledger");
            let ledger: Value = serde_json::from_str(&text).expect("JSON");
            processors(ledger[0]["affinity"].as_str().expect("text"))
        };
        let (found, expected) = (affinities(&recording), [ledger(0), ledger(1)]);
        assert_eq!(found, expected, "{}", mpi.name);
        assert!(found[0].is_disjoint(&found[1]), "{}: each rank has its own core: {found:?}", mpi.name);
        let all = recording.sintonia("report", &["--all"]).stdout;
        let title = all.lines().position(|line| line == "Processors on which the ranks may run");
        let lines: Vec<&str> = all.lines().skip(title.unwrap_or_else(|| panic!("{all}")) + 1).take(2).collect();
        assert!(lines[0].starts_with("  rank 0: ") && lines[1].starts_with("  rank 1: "), "{all}");
    });
}

/// A control group of version 1 or 2 that the test makes and removes.
struct QuotaGroup {
    folder: PathBuf,
    statistics: &'static str,
}

impl QuotaGroup {
    /// A group with a tenth of a processor: little enough on a busy machine, too; `None` where the test may not make one.
    fn create() -> Option<QuotaGroup> {
        let name = format!("sintonia-test-{}", std::process::id());
        let v1 = Path::new("/sys/fs/cgroup/cpu");
        let (root, is_v1) = if v1.join("cpu.cfs_quota_us").exists() { (v1, true) } else { (Path::new("/sys/fs/cgroup"), false) };
        let folder = root.join(name);
        std::fs::create_dir(&folder).ok()?;
        let group = QuotaGroup { folder, statistics: if is_v1 { "throttled_time " } else { "throttled_usec " } };
        let quota = if is_v1 { ("cpu.cfs_quota_us", "10000") } else { ("cpu.max", "10000 100000") };
        std::fs::write(group.folder.join(quota.0), quota.1).ok()?;
        Some(group)
    }

    fn throttled_ns(&self) -> f64 {
        let text = std::fs::read_to_string(self.folder.join("cpu.stat")).expect("statistics");
        let value = text.lines().find_map(|line| line.strip_prefix(self.statistics)?.trim().parse::<f64>().ok()).expect("a number");
        if self.statistics.contains("usec") { value * 1000.0 } else { value }
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}

#[test]
fn c060_a_quota_is_reported_with_the_time_it_took() {
    let Some(group) = QuotaGroup::create() else { return not_applicable("the test may not make a control group with a quota") };
    let program = Program::find("c/060_usage_ledger");
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.folder.display());
    for_every_mpi(|mpi| {
        let before = group.throttled_ns();
        let recording = recorded(mpi, &program, &["sh", "-c", &enter, "sh"], &[], &[]);
        let throttled = group.throttled_ns() - before;
        let report = recording.report();
        for rank in 0..2 {
            let limits = &report["resources"][rank]["limits"];
            assert_eq!(number(&limits["cpu_quota"]), 0.1, "{}: {limits}", mpi.name);
            assert!(group.folder.ends_with(text(&limits["cpu_quota_group"]).trim_start_matches('/')), "{}: {limits}", mpi.name);
            let found = number(&limits["throttled_ns"]);
            assert!(found <= throttled, "{}: {found} of {throttled}", mpi.name);
            // Part of it is the launcher's, which starts before the recording.
            assert!(found > 0.0 || throttled < 1e9, "{}: {found} of {throttled}", mpi.name);
        }
        let all = recording.sintonia("report", &["--all"]).stdout;
        assert!(all.contains("processor time of 0.10 processors"), "{all}");
    });
}
