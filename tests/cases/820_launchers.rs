//! A placement written for a launcher is where its ranks really are: on their hosts, and on their cores where those are given.
//!
//! The hosts are network namespaces that the test makes and removes; where it may not make them, it says so and passes.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use sintonia_placement::launcher::{CoreBinding, MpiLauncher, PlacementLaunch, available_hosts, missing_hosts};
use sintonia_placement::{Cluster, Host, Placement, SlotDistances};
use sintonia_tests::{Hosts, Mpi, Process, for_every_mpi, fresh_dir, on_every_mpi, skipped, tests_dir};

/// Where a rank was.
#[derive(Debug, PartialEq, Eq)]
struct Seat {
    host: String,
    cores: BTreeSet<u32>,
}

fn launcher(mpi: &Mpi) -> MpiLauncher {
    match mpi.name {
        "openmpi" => MpiLauncher::OpenMpi4,
        "openmpi5" => MpiLauncher::OpenMpi5,
        "intel" => MpiLauncher::Intel,
        _ => MpiLauncher::Mpich,
    }
}

fn cluster(names: &[String]) -> Cluster {
    let hosts = names.iter().map(|name| Host::new(name, 2)).collect();
    Cluster { hosts, topology: None, bytes_per_s: 1e9, distances: SlotDistances::default() }
}

/// Runs a command, changed as a placement wants it.
fn seats(mpi: &Mpi, launch: &PlacementLaunch, original: &[String]) -> Vec<Seat> {
    let folder = fresh_dir();
    let file = folder.path().join("ranks");
    std::fs::write(&file, launch.render().expect("a text")).expect("a file");
    let command = launch.command(original, &file).expect("a command");
    let outcome = Process::new(command.words.clone()).env(&mpi.env).env(&command.environment).run_in(folder.path());
    println!("{}: {command}", mpi.name);
    outcome.expect_status(0);
    let text = |rank: usize| std::fs::read_to_string(folder.path().join(format!("seat-{rank}"))).expect("what the rank left");
    assert!(!folder.path().join(format!("seat-{}", launch.placement.0.len())).exists(), "no more ranks than were placed");
    (0..launch.placement.0.len()).map(|rank| seat(&text(rank))).collect()
}

fn seat(text: &str) -> Seat {
    let (host, cores) = text.split_once(' ').expect("a host and cores");
    Seat { host: host.to_string(), cores: cores.split(' ').map(|core| core.parse().expect("a number")).collect() }
}

/// The program that says where its ranks are, built once for each library.
fn program(mpi: &Mpi) -> Vec<String> {
    static BUILT: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let path = mpi.build_dir().join("where");
    if BUILT.lock().expect("no build has failed").insert(mpi.name) {
        mpi.compile(&[tests_dir().join("programs/c/where.c")], &path);
    }
    vec![path.display().to_string()]
}

/// Ranks are on their hosts; and if cores are given, they share them with exactly those that have the same slot.
fn check(launch: &PlacementLaunch, seats: &[Seat]) {
    let slots = launch.placement.host_slots(launch.cluster);
    let wanted: Vec<&str> = slots.iter().map(|slot| launch.cluster.hosts[slot.host as usize].name.as_str()).collect();
    let found: Vec<&str> = seats.iter().map(|seat| seat.host.as_str()).collect();
    assert_eq!(found, wanted);
    if !launch.binds_cores() {
        return;
    }
    for (seat, slot) in seats.iter().zip(&slots) {
        for (other, other_slot) in seats.iter().zip(&slots) {
            let is_same = slot.slot == other_slot.slot;
            assert_eq!(seat.cores == other.cores, is_same, "{seats:?}");
            assert_eq!(seat.cores.is_disjoint(&other.cores), !is_same, "{seats:?}");
        }
    }
}

/// A command without places. Intel's mpirun takes the first mpiexec.hydra of the path, which may be another library's.
fn plain(mpi: &Mpi, ranks: usize) -> Vec<String> {
    let mut command = mpi.launch(ranks, &program(mpi));
    if launcher(mpi) == MpiLauncher::Intel {
        command[0] = mpi.launcher.with_file_name("mpiexec.hydra").display().to_string();
    }
    command
}

/// A command as users write them, with options that a placement contradicts.
fn original(mpi: &Mpi, hosts: &Hosts) -> Vec<String> {
    let mut command = plain(mpi, 4);
    let [first, second] = hosts.names();
    let options = match launcher(mpi) {
        MpiLauncher::OpenMpi4 | MpiLauncher::OpenMpi5 => format!("--host {first}:2,{second}:2 --map-by node --bind-to none"),
        _ => format!("-hosts {first}:2,{second}:2 -ppn 1"),
    };
    command.splice(1..1, hosts.options(mpi).into_iter().chain(options.split(' ').map(String::from)));
    command
}

fn has_two_cores() -> bool {
    let has = std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= 2);
    if !has {
        skipped("ranks cannot be bound to different cores of one");
    }
    has
}

/// Places four ranks on two hosts in each of these ways.
fn on_two_hosts(cores: CoreBinding, placements: &[[u32; 4]]) {
    let Some(two) = Hosts::create() else { return };
    for_every_mpi(|mpi| {
        let (original, cluster) = (original(mpi, &two), cluster(&two.names()));
        let listed = available_hosts(&original, &|_| None).expect("hosts").expect("some");
        assert_eq!(listed, cluster.hosts);
        assert_eq!(missing_hosts(&cluster.hosts, &listed), Vec::<String>::new());
        for placement in placements {
            let placement = Placement(placement.to_vec());
            let launch = PlacementLaunch { launcher: launcher(mpi), binding: cores, placement: &placement, cluster: &cluster };
            check(&launch, &seats(mpi, &launch, &original));
        }
    });
}

#[test]
fn ranks_are_on_the_hosts_of_the_placement() {
    on_two_hosts(CoreBinding::Free, &[[0, 1, 2, 3], [0, 2, 1, 3], [0, 2, 3, 1], [2, 0, 1, 3], [2, 0, 3, 1], [2, 3, 0, 1]]);
}

#[test]
fn ranks_are_on_the_cores_of_the_placement() {
    if has_two_cores() {
        on_two_hosts(CoreBinding::Bound, &[[0, 1, 2, 3], [1, 3, 0, 2], [3, 0, 2, 1], [2, 3, 1, 0], [1, 2, 3, 0]]);
    }
}

#[test]
fn fewer_ranks_than_slots_leave_the_others_empty() {
    let Some(two) = Hosts::create() else { return };
    for_every_mpi(|mpi| {
        let (original, cluster) = (original(mpi, &two), cluster(&two.names()));
        let placement = Placement(vec![3, 0, 2]);
        let launch = PlacementLaunch { launcher: launcher(mpi), binding: CoreBinding::Free, placement: &placement, cluster: &cluster };
        check(&launch, &seats(mpi, &launch, &original));
    });
}

#[test]
fn ranks_of_one_host_are_on_their_cores() {
    if !has_two_cores() {
        return;
    }
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("the name of this host").trim().to_string();
    for_every_mpi(|mpi| {
        let original = plain(mpi, 2);
        assert_eq!(available_hosts(&original, &|_| None).expect("no fault"), None);
        let cluster = cluster(std::slice::from_ref(&name));
        for slots in [vec![0, 1], vec![1, 0]] {
            let placement = Placement(slots);
            let launch = PlacementLaunch { launcher: launcher(mpi), binding: CoreBinding::Bound, placement: &placement, cluster: &cluster };
            check(&launch, &seats(mpi, &launch, &original));
        }
    });
}

#[test]
fn the_launcher_of_a_recording_is_known() {
    on_every_mpi("c/005_self", |mpi, _, recording| {
        let report = recording.report();
        let library = report["mpi"]["library"].as_str().expect("a name");
        let header = std::fs::read_to_string(Path::new(&recording.path).join("recording.json")).expect("a header");
        let header: serde_json::Value = serde_json::from_str(&header).expect("JSON");
        let command: Vec<String> = serde_json::from_value(header["command"].clone()).expect("words");
        assert_eq!(MpiLauncher::detect(&command, library), Some(launcher(mpi)), "{command:?} with {library}");
    });
}
