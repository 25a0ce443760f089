//! Ranks of recorded runs placed: where they talk least far, for every launcher, and honestly where that is of no use.

use serde_json::Value;
use sintonia_tests::{Hosts, Mpi, Process, Program, Recording, for_every_mpi, fresh_dir, on_every_mpi, sintonia};

/// Four hosts of four cores, with a slow network between them.
const MACHINE: &str = r#"
format = 1
[machine]
name = "four hosts"
[[node]]
kind = "PC"
count = 4
cores = 4
hosts = ["a", "b", "c", "d"]
[network.same_node]
transfer.pieces = [{ intercept_s = 1e-6, slope_s_per_byte = 1e-10 }]
[network.other_node]
transfer.pieces = [{ intercept_s = [4e-5, 5e-5, 6e-5], slope_s_per_byte = [8e-8, 8.6e-8, 9e-8] }]
"#;

const FOUR_HOSTS: [&str; 2] = ["--hosts", "a:4,b:4,c:4,d:4"];

fn place(recording: &Recording, options: &[&str]) -> Value {
    let outcome = recording.sintonia("place", &[&["--json"], options].concat());
    outcome.expect_no_crash().expect_status(0);
    serde_json::from_str(&outcome.stdout).expect("one JSON object")
}

/// What is said where something is wrong.
fn refused(recording: &Recording, options: &[&str]) -> String {
    let outcome = recording.sintonia("place", options);
    outcome.expect_no_crash().expect_status(1);
    outcome.stderr.clone()
}

fn machine(recording: &Recording) -> String {
    let path = recording.folder().join("four.machine.toml");
    std::fs::write(&path, MACHINE).expect("the machine file is written");
    path.display().to_string()
}

/// The host of each rank.
fn hosts(placed: &Value) -> Vec<String> {
    let rows = placed["placement"].as_array().expect("a row for each rank");
    rows.iter().map(|row| row["host"].as_str().expect("a host").to_owned()).collect()
}

/// Whether each host has a square of 2 x 2 of the 4 x 4 ranks.
fn is_squares(placed: &Value) -> bool {
    let hosts = hosts(placed);
    let square = |corner: usize| [corner, corner + 1, corner + 4, corner + 5].iter().all(|rank| hosts[*rank] == hosts[corner]);
    hosts.len() == 16 && [0, 2, 8, 10].into_iter().all(square)
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn c800_neighbours_of_a_grid_come_to_one_host() {
    on_every_mpi("c/800_halo", |_, _, recording| {
        for options in
            [&FOUR_HOSTS[..], &["--hosts", "a:4,b:4,c:4,d:4", "--built-in"], &["--hosts", "a:4,b:4,c:4,d:4", "--objective", "bytes"]]
        {
            let placed = place(recording, options);
            assert!(is_squares(&placed), "{options:?}: {:?}", hosts(&placed));
        }
        let placed = place(recording, &FOUR_HOSTS);
        let ratio = number(&placed["cost"]["placed"]) / number(&placed["cost"]["now"]);
        assert!((0.45..0.55).contains(&ratio), "half as much passes the busiest link: {ratio}");
        assert_eq!(placed["useless"], Value::Null);
    });
}

#[test]
fn c800_what_is_gained_is_an_interval_of_replays() {
    on_every_mpi("c/800_halo", |_, _, recording| {
        let machine = machine(recording);
        let placed = place(recording, &["--machine", &machine, "--compare"]);
        assert!(is_squares(&placed));
        let gain: Vec<f64> = placed["gain"].as_array().expect("low, middle, high").iter().map(number).collect();
        assert!(0.0 < gain[0] && gain[0] <= gain[1] && gain[1] <= gain[2] && gain[2] < 1.0, "{gain:?}");
        let candidates = placed["candidates"].as_array().expect("candidates");
        let seconds = |name: &str| {
            let one = candidates.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name} is compared"));
            number(&one["seconds"][1])
        };
        assert!(seconds("Sintonia") < seconds("by core").min(seconds("by node")), "{candidates:?}");
        assert!(seconds("METIS") >= seconds("Sintonia") * 0.99);
    });
}

#[test]
fn c800_the_replayed_time_can_be_the_objective() {
    on_every_mpi("c/800_halo", |_, _, recording| {
        let machine = machine(recording);
        let by_time = place(recording, &["--machine", &machine, "--objective", "time", "--effort", "quick"]);
        let best = |placed: &Value| number(&placed["candidates"].as_array().expect("candidates").last().expect("ours")["seconds"][1]);
        let by_link = place(recording, &["--machine", &machine]);
        assert!(best(&by_time) <= best(&by_link) * 1.0001, "{} {}", best(&by_time), best(&by_link));
    });
}

#[test]
fn c800_the_file_and_the_command_are_for_the_launcher_of_the_recording() {
    on_every_mpi("c/800_halo", |mpi, _, recording| {
        let outcome = recording.sintonia("place", &[&FOUR_HOSTS[..], &["-o", "halo.places"]].concat());
        outcome.expect_no_crash().expect_status(0);
        let text = std::fs::read_to_string(recording.folder().join("halo.places")).expect("the file is there");
        let (line, option) = match mpi.name {
            "openmpi" => ("rank 0=", "--rankfile halo.places"),
            "openmpi5" => ("rank 0=", "--map-by rankfile:file=halo.places"),
            "mpich" | "mpich5" | "mpich5-abi" => (":", "-f halo.places"),
            _ => (":", "-machinefile halo.places"),
        };
        assert!(text.lines().next().is_some_and(|first| first.contains(line)), "{text}");
        assert!(outcome.stdout.contains(option), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("sintonia report"), "{}", outcome.stdout);
    });
}

#[test]
fn c800_one_host_and_everyone_with_everyone_are_told_and_nothing_is_written() {
    let is_silent = |recording: &Recording, options: &[&str], why: &str| {
        let outcome = recording.sintonia("place", &[options, &["-o", "useless"]].concat());
        outcome.expect_no_crash().expect_status(0);
        assert!(outcome.stdout.contains("Placement does not help") && outcome.stdout.contains(why), "{}", outcome.stdout);
        let file = recording.folder().join("useless");
        assert!(!file.exists());
        recording.sintonia("place", &[options, &["-o", "useless", "--force"]].concat()).expect_status(0);
        assert!(file.exists(), "forced, it is written");
    };
    on_every_mpi("c/800_halo", |_, _, recording| is_silent(recording, &["--hosts", "a:16"], "one host"));
    on_every_mpi("c/801_everyone", |_, _, recording| is_silent(recording, &["--hosts", "a:4,b:4"], "every"));
}

#[test]
fn c800_inside_a_host_neighbours_come_to_one_socket() {
    on_every_mpi("c/800_halo", |_, _, recording| {
        let inside = MACHINE
            .replace("count = 4\ncores = 4", "count = 1\ncores = 16\nsockets = 4")
            .replace("[\"a\", \"b\", \"c\", \"d\"]", "[\"a\"]");
        let path = recording.folder().join("inside.machine.toml").display().to_string();
        std::fs::write(&path, inside).expect("the machine file is written");
        let placed = place(recording, &["--machine", &path, "--launcher", "table", "-o", "inside.table"]);
        let rows = placed["placement"].as_array().expect("rows");
        let socket = |rank: usize| rows[rank]["slot"].as_u64().expect("a slot") / 4;
        assert!(
            [0, 2, 8, 10].into_iter().all(|corner| [1, 4, 5].into_iter().all(|next| socket(corner + next) == socket(corner))),
            "{rows:?}"
        );
        assert!(recording.folder().join("inside.table").exists());
    });
}

#[test]
fn c800_what_cannot_be_placed_is_refused_with_a_reason() {
    on_every_mpi("c/800_halo", |_, _, recording| {
        assert!(refused(recording, &["--hosts", "a:4,b:8"]).contains("16 ranks do not fit: a:4,b:8 have 12 slots"));
        assert!(refused(recording, &["--hosts", "a:4,a:12"]).contains("--hosts"));
        let machine = machine(recording);
        assert!(refused(recording, &["--machine", &machine, "--hosts", "a:4,b:4,c:4,e:4"]).contains("has no host `e`"));
        assert!(refused(recording, &[&FOUR_HOSTS[..], &["--objective", "time"]].concat()).contains("--machine"));
        let nameless = recording.folder().join("nameless.machine.toml");
        std::fs::write(&nameless, MACHINE.replace("hosts = [\"a\", \"b\", \"c\", \"d\"]", "")).expect("written");
        let nameless = nameless.display().to_string();
        assert!(refused(recording, &["--machine", &nameless, "-o", "x", "--launcher", "openmpi4"]).contains("has no host names"));
        assert!(!recording.folder().join("x").exists());
    });
    on_every_mpi("c/802_alone", |_, _, recording| {
        assert!(refused(recording, &["--hosts", "a:1,b:1"]).contains("no ranks communicate"));
    });
}

#[test]
fn c800_another_launcher_gets_a_command_of_its_own() {
    on_every_mpi("c/800_halo", |_, _, recording| {
        let outcome = recording.sintonia("place", &[&FOUR_HOSTS[..], &["--launcher", "slurm", "-o", "halo.hosts"]].concat());
        outcome.expect_no_crash().expect_status(0);
        assert!(outcome.stdout.contains("SLURM_HOSTFILE=halo.hosts srun --distribution=arbitrary"), "{}", outcome.stdout);
        assert!(!outcome.stdout.contains("mpirun"), "{}", outcome.stdout);
        let text = std::fs::read_to_string(recording.folder().join("halo.hosts")).expect("the file is there");
        assert_eq!(text.lines().count(), 16);
    });
}

#[test]
fn c800_slots_may_stay_empty_and_nodes_without_names_get_some() {
    on_every_mpi("c/800_halo", |_, _, recording| {
        let placed = place(recording, &["--hosts", "a:64,b:64"]);
        let hosts_used: std::collections::BTreeSet<String> = hosts(&placed).into_iter().collect();
        assert_eq!((hosts_used.len(), number(&placed["cost"]["placed"])), (1, 0.0), "all of them fit on one host");
        let nameless = MACHINE.replace("hosts = [\"a\", \"b\", \"c\", \"d\"]", "").replace("count = 4", "count = 8");
        let path = recording.folder().join("eight.machine.toml").display().to_string();
        std::fs::write(&path, nameless).expect("the machine file is written");
        let placed = place(recording, &["--machine", &path, "--hosts", "node[4-7]:4"]);
        let rows = placed["placement"].as_array().expect("rows");
        let places: std::collections::BTreeSet<String> = rows.iter().map(|row| format!("{} {}", row["host"], row["slot"])).collect();
        assert_eq!(places.len(), 16, "no slot of a host is taken twice: {rows:?}");
    });
}

#[test]
fn c800_a_graph_of_metis_is_placed_and_a_malformed_one_refused_with_its_line() {
    let folder = fresh_dir();
    let place = |text: &str, options: &[&str]| {
        std::fs::write(folder.path().join("g.graph"), text).expect("written");
        let sintonia = sintonia();
        let command = [&[sintonia.as_str(), "place", "--graph", "g.graph"], options].concat();
        Process::new(command).run_in(folder.path())
    };
    let square = "4 4 001\n2 9 3 1\n1 9 4 1\n4 9 1 1\n3 9 2 1\n";
    let outcome = place(square, &["--hosts", "x:2,y:2", "--json"]);
    outcome.expect_status(0);
    // 0 and 1 exchange most, and so do 2 and 3: they are together already.
    let placed: Value = serde_json::from_str(&outcome.stdout).expect("one JSON object");
    assert_eq!(number(&placed["cost"]["now"]), number(&placed["cost"]["placed"]));
    let crossed = place("4 4 001\n2 1 3 9\n1 1 4 9\n4 1 1 9\n3 1 2 9\n", &["--hosts", "x:2,y:2", "-o", "g.table"]);
    crossed.expect_status(0);
    let table = std::fs::read_to_string(folder.path().join("g.table")).expect("the table");
    let host = |rank: usize| table.lines().nth(rank + 1).and_then(|line| line.split_whitespace().nth(1)).expect("a host");
    assert!(host(0) == host(2) && host(1) == host(3) && host(0) != host(1), "{table}");
    for (wrong, line, why) in [
        ("", "line 1", "no graph"),
        ("2 1\n2\n", "line", "ends"),
        ("2 1\n3\n1\n", "line 2", "no vertex 3"),
        ("2 1\n2\nx\n", "line 3", "`x`"),
    ] {
        let outcome = place(wrong, &["--hosts", "x:1,y:1"]);
        outcome.expect_no_crash().expect_status(1);
        assert!(
            outcome.stderr.contains("g.graph") && outcome.stderr.contains(line) && outcome.stderr.contains(why),
            "{wrong:?}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn c800_applied_the_ranks_are_where_they_should_be_and_the_gain_is_measured() {
    let Some(up) = Hosts::create_count(4) else { return };
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let program = Program::find("c/800_halo").build(&mpi).expect("builds");
    let launch = up.launch_on(&mpi, &[4, 4, 4, 4], &program);
    let run = |options: &[&str]| {
        let sintonia = sintonia();
        let mut command: Vec<String> = [&[sintonia.as_str(), "place", "--apply", "--json", "--rounds", "2"], options, &["--"]]
            .concat()
            .into_iter()
            .map(String::from)
            .collect();
        command.extend(launch.iter().cloned());
        Process::new(command).env(&mpi.env).limit(300).run_in(folder.path())
    };
    let outcome = run(&[]);
    outcome.expect_no_crash().expect_status(0);
    let last = outcome.stdout.lines().last().expect("JSON is the last line");
    let applied: Value = serde_json::from_str(last).expect("one JSON object");
    assert!(is_squares(&applied), "{applied}");
    assert_eq!(applied["measured"]["runs"]["rounds"], 2);
    assert!(number(&applied["measured"]["runs"]["placed_s"]) > 0.0);
    assert!(outcome.stdout.contains("halo: ok"), "the program's own output is there");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
    assert!(left.is_empty(), "nothing is left behind: {left:?}");
    let kept = run(&["-o", "halo.places", "--force"]);
    kept.expect_no_crash().expect_status(0);
    let kept = std::fs::read_to_string(folder.path().join("halo.places")).expect("the file is kept");
    assert_eq!(kept.lines().count(), 16);
    let refused = run(&["--hosts", "nobody:16"]);
    refused.expect_status(1);
    assert!(refused.stderr.contains("the launcher does not know nobody"), "{}", refused.stderr);
}

#[test]
fn c800_a_command_that_fails_is_not_placed() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let sintonia = sintonia();
        let mut command: Vec<String> = [sintonia.as_str(), "place", "--apply", "--"].map(String::from).to_vec();
        command.extend(mpi.launch(2, &["sh".into(), "-c".into(), "exit 7".into()]));
        let outcome = Process::new(command).env(&mpi.env).run_in(folder.path());
        assert_eq!(outcome.status, 7, "{}", outcome.text());
        assert!(outcome.stderr.contains("nothing is placed"), "{}", outcome.stderr);
    });
}

#[test]
fn c800_what_is_ended_from_outside_leaves_nothing_behind() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let launch = mpi.launch(2, &["sleep".into(), "100".into()]).join(" ");
        // The recording is there as soon as the command is about to run.
        let begun = "until ls -d .sintonia-place-*/now.sin >/dev/null 2>&1; do sleep 0.1; done; sleep 1";
        let script = format!("{} place --apply -- {launch} & {begun}; kill -TERM $!; wait $!", sintonia());
        let outcome = Process::new(["sh", "-c", &script]).env(&mpi.env).limit(60).run_in(folder.path());
        assert_ne!(outcome.status, 0, "{}", outcome.text());
        assert!(outcome.stderr.contains("nothing is placed"), "{}", outcome.stderr);
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
        assert!(left.is_empty(), "nothing is left behind: {left:?}");
    });
}

#[test]
fn c800_a_launcher_that_is_ended_is_not_believed_when_it_says_that_all_went_well() {
    let folder = fresh_dir();
    let launch = r#"sh -c 'trap "kill \$!; exit 0" TERM; sleep 100 & touch begun; wait'"#;
    let begun = "until test -e begun; do sleep 0.1; done";
    let script = format!("{} place --apply -- {launch} & {begun}; kill -TERM $!; wait $!", sintonia());
    let outcome = Process::new(["sh", "-c", &script]).limit(60).run_in(folder.path());
    assert_eq!(outcome.status, 128 + 15, "{}", outcome.text());
    assert!(outcome.stderr.contains("nothing is placed"), "{}", outcome.stderr);
}
