//! The engine against the LogGOPS simulation: without overheads, both have the same messages.

use std::io::Write;
use std::path::Path;

use sintonia_formats::goal::{GoalSchedule, read};
use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_recording::header::{CommunicatorDefinition, RecordingHeader};

use super::*;

use crate::changes::ReplayChanges;
use crate::engine::{RecordedNetwork, ReplayResult, replay};
use crate::goal::{GoalResult, simulate};
use crate::interval_bound::IntervalBound;
use crate::platform::{Platform, RankPlacement};
use crate::replay_recording::ReplayRecorder;
use crate::scenario::ReplayScenario;
use crate::what_if::WhatIf;

/// Latency, and time for each byte after the first.
#[derive(Clone, Copy)]
struct Line {
    latency_ns: f64,
    byte_ns: f64,
}

const LATENCY_ONLY: Line = Line { latency_ns: 2000.0, byte_ns: 0.0 };
const WITH_BANDWIDTH: Line = Line { latency_ns: 2000.0, byte_ns: 1.0 };

impl Line {
    /// A machine of one rank per node without overheads.
    fn machine(self) -> Machine {
        let piece = |first_ns: f64| {
            format!(
                "pieces = [{{ from_bytes = 1, intercept_s = {:e}, slope_s_per_byte = {:e} }}]",
                (first_ns - self.byte_ns) * 1e-9,
                self.byte_ns * 1e-9
            )
        };
        let text = format!(
            "format = 1\n[machine]\nname = \"line\"\n[[node]]\nkind = \"n\"\ncount = 1024\ncores = 1\n\
             [network.other_node.gap]\n{}\n[network.other_node.transfer]\n{}\n",
            piece(0.0),
            piece(self.latency_ns)
        );
        Machine::parse(&text, Path::new("line.machine.toml")).unwrap()
    }

    fn loggops(self) -> LogGopsParameters {
        LogGopsParameters { latency_s: self.latency_ns * 1e-9, gap_s_per_byte: self.byte_ns * 1e-9, ..LogGopsParameters::IDEAL }
    }
}

fn with_goal<T>(text: &str, then: impl FnOnce(&GoalSchedule) -> T) -> T {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    then(&read(file.path()).unwrap())
}

fn ranks(ranks: &[String]) -> String {
    let rank_lines = ranks.iter().enumerate().map(|(rank, text)| format!("rank {rank} {{\n{text}\n}}\n"));
    format!("num_ranks {}\n{}", ranks.len(), rank_lines.collect::<String>())
}

fn in_engine(goal: &GoalSchedule, line: Line) -> ReplayResult {
    let platform = Platform::new(&line.machine(), goal.rank_count() as u32, &RankPlacement::Block, IntervalBound::Middle).unwrap();
    let schedule = OrderedGoal::new(goal).unwrap();
    replay(&schedule, &ReplayCosts::Machine(Box::new(platform)), &ReplayChanges::default(), None).unwrap()
}

/// Both times agree; returns them in nanoseconds.
fn same_time(name: &str, text: &str, line: Line) -> f64 {
    with_goal(text, |goal| {
        let (engine, loggops): (ReplayResult, GoalResult) = (in_engine(goal, line), simulate(goal, &line.loggops()).unwrap());
        let (found_s, expected_s) = (engine.replayed_s, loggops.seconds());
        // Computations are stored as 32-bit floating point numbers.
        assert!((found_s - expected_s).abs() <= 1e-6 * expected_s, "{name}: {found_s} instead of {expected_s}\n{text}");
        assert_eq!((engine.unmatched.sends, engine.unmatched.receives), (0, 0), "{name}");
        found_s * 1e9
    })
}

/// Operations of a rank, each after the others named.
#[derive(Default)]
struct RankText {
    lines: Vec<String>,
    count: usize,
}

impl RankText {
    fn add(&mut self, operation: String, after: &[usize]) -> usize {
        self.count += 1;
        self.lines.push(format!("l{}: {operation}", self.count));
        self.lines.extend(after.iter().map(|other| format!("l{} requires l{other}", self.count)));
        self.count
    }
}

fn join(texts: Vec<RankText>) -> String {
    ranks(&texts.iter().map(|rank| rank.lines.join("\n")).collect::<Vec<_>>())
}

fn ping_pong(rounds: usize, size: u64) -> String {
    let rank = |own: usize| {
        let (mut text, mut last) = (RankText::default(), Vec::new());
        for _ in 0..rounds {
            for turn in 0..2 {
                let operation = if turn == own { format!("send {size}b to {}", 1 - own) } else { format!("recv {size}b from {}", 1 - own) };
                last = vec![text.add(operation, &last)];
            }
        }
        text
    };
    join(vec![rank(0), rank(1)])
}

fn ring(count: usize, rounds: usize, size: u64) -> String {
    let rank = |own: usize| {
        let (mut text, mut last) = (RankText::default(), Vec::new());
        for round in 0..rounds {
            let work = text.add(format!("calc {}", 500 + 37 * ((own + round) % 11)), &last);
            let sent = text.add(format!("send {size}b to {} tag {round}", (own + 1) % count), &[work]);
            last = vec![sent, text.add(format!("recv {size}b from {} tag {round}", (own + count - 1) % count), &[work])];
        }
        text
    };
    join((0..count).map(rank).collect())
}

/// The root's sends all start at once and share its NIC.
fn binomial_broadcast(count: usize, size: u64) -> String {
    let mut texts: Vec<RankText> = (0..count).map(|_| RankText::default()).collect();
    for rank in 1..count {
        let parent = rank - (1 << rank.ilog2());
        texts[rank].add(format!("recv {size}b from {parent}"), &[]);
        let after: &[usize] = if parent > 0 { &[1] } else { &[] };
        texts[parent].add(format!("send {size}b to {rank}"), after);
    }
    join(texts)
}

fn dissemination(count: usize, rounds: usize, size: u64) -> String {
    let rank = |own: usize| {
        let (mut text, mut last) = (RankText::default(), Vec::new());
        for round in 0..rounds {
            for distance in (0..).map(|power| 1 << power).take_while(|distance| *distance < count) {
                let sent = text.add(format!("send {size}b to {} tag {round}", (own + distance) % count), &last);
                last = vec![sent, text.add(format!("recv {size}b from {} tag {round}", (own + count - distance) % count), &last)];
            }
        }
        text
    };
    join((0..count).map(rank).collect())
}

fn stencil(width: usize, steps: usize, size: u64) -> String {
    let rank = |own: usize| {
        let (x, y) = (own % width, own / width);
        let sides = [(x + 1, y, 0, 1), (x.wrapping_sub(1), y, 1, 0), (x, y + 1, 2, 3), (x, y.wrapping_sub(1), 3, 2)];
        let peers: Vec<(usize, u32, u32)> =
            sides.into_iter().filter(|(x, y, ..)| *x < width && *y < width).map(|(x, y, out, back)| (y * width + x, out, back)).collect();
        let (mut text, mut last) = (RankText::default(), Vec::new());
        for step in 0..steps {
            let work = text.add(format!("calc {}", 10_000 + (own * 7919 + step * 104_729) % 5_000), &last);
            last = peers.iter().map(|(peer, _, back)| text.add(format!("recv {size}b from {peer} tag {back}"), &[work])).collect();
            last.extend(peers.iter().map(|(peer, out, _)| text.add(format!("send {size}b to {peer} tag {out}"), &[work])));
        }
        text
    };
    join((0..width * width).map(rank).collect())
}

#[test]
fn without_overheads_the_engine_takes_as_long_as_loggopsim() {
    for size in [1, 100, 50_000] {
        let one_way = WITH_BANDWIDTH.latency_ns + WITH_BANDWIDTH.byte_ns * (size - 1) as f64;
        let found = same_time("ping-pong", &ping_pong(5, size), WITH_BANDWIDTH);
        assert!((found - 10.0 * one_way).abs() < 1e-3, "{found}");
        same_time("ring", &ring(7, 4, size), WITH_BANDWIDTH);
        same_time("binomial broadcast", &binomial_broadcast(32, size), WITH_BANDWIDTH);
        same_time("dissemination", &dissemination(13, 3, size), WITH_BANDWIDTH);
    }
    // With larger messages, receiving keeps LogGOPSim's CPU from sending.
    same_time("stencil", &stencil(4, 5, 100), WITH_BANDWIDTH);
}

#[test]
fn without_bandwidth_any_graph_takes_as_long_as_in_loggopsim() {
    for seed in 0..200 {
        same_time(&format!("random {seed}"), &random_graph(seed), LATENCY_ONLY);
    }
}

/// Messages are drawn in one order for all ranks, an operation waits only for earlier ones, and every message has a tag of its own, so it
/// always comes to its end.
fn random_graph(seed: u64) -> String {
    let mut state = seed;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let count = 2 + draw(8);
    let mut texts: Vec<RankText> = (0..count).map(|_| RankText::default()).collect();
    for tag in 0..5 + draw(80) {
        let source = draw(count);
        let target = (source + 1 + draw(count - 1)) % count;
        let size = [1, 100, 5_000][draw(3)];
        let calc = [0, 1, 700, 3_000, 20_000][draw(5)];
        let operations =
            [(source, format!("send {size}b to {target} tag {tag}")), (target, format!("recv {size}b from {source} tag {tag}"))];
        for (rank, operation) in operations.into_iter().chain([(draw(count), format!("calc {calc}"))]) {
            let known = texts[rank].count;
            let mut after: Vec<usize> = (0..draw(3)).filter(|_| known > 0).map(|_| known - draw(known.min(6))).collect();
            after.dedup();
            texts[rank].add(operation, &after);
        }
    }
    join(texts)
}

#[test]
fn wildcard_receives_match_as_in_loggopsim() {
    let receiver =
        "l1: recv 8b from -1 tag 4\nl2: calc 700\nl2 requires l1\nl3: recv 8b from -1 tag -1\nl3 requires l1\nl4: calc 90\nl4 requires l3";
    let sender = |work: u32, tag: u32| format!("l1: calc {work}\nl2: send 8b to 0 tag {tag}\nl2 requires l1");
    let text = ranks(&[receiver.to_owned(), sender(9_000, 4), sender(3_000, 4)]);
    assert_eq!(same_time("wildcards", &text, LATENCY_ONLY).round(), 11_090.0);
}

#[test]
fn processors_of_a_rank_wait_for_each_other() {
    let one = |text: &str| same_time(text, &ranks(&[text.to_owned()]), LATENCY_ONLY).round();
    assert_eq!(one("calc 1000 cpu 0\ncalc 700 cpu 1"), 1000.0);
    assert_eq!(one("l1: calc 1000 cpu 0\nl2: calc 700 cpu 1\nl2 requires l1"), 1700.0);
    assert_eq!(one("l1: calc 1000 cpu 0\nl2: calc 700 cpu 1\nl2 irequires l1"), 1000.0);
    let there_and_back = "l1: calc 100 cpu 0\nl2: calc 20 cpu 1\nl2 requires l1\nl3: calc 3 cpu 0\nl3 requires l2\nl4: calc 5000 cpu 2\nl4 requires l1\nl4 requires l2";
    assert_eq!(one(there_and_back), 5120.0);
}

#[test]
fn a_message_received_by_one_processor_is_used_by_another() {
    let receiver =
        "l1: recv 8b from 0\nl2: calc 500 cpu 1\nl2 requires l1\nl3: send 8b to 0 cpu 1\nl3 requires l2\nl4: calc 9 cpu 2\nl4 requires l1";
    let text = ranks(&["l1: send 8b to 1\nl2: recv 8b from 1".to_owned(), receiver.to_owned()]);
    assert_eq!(same_time("two processors", &text, LATENCY_ONLY).round(), 4_500.0);
}

#[test]
fn processors_of_a_rank_share_its_interface() {
    let sender = "l1: calc 10 cpu 1\nl2: send 5001b to 1 cpu 1\nl2 requires l1\nl3: send 5001b to 2 cpu 0".to_owned();
    let text = ranks(&[sender, "recv 5001b from 0".to_owned(), "recv 5001b from 0".to_owned()]);
    assert_eq!(same_time("one interface", &text, WITH_BANDWIDTH).round(), 12_000.0);
}

#[test]
fn a_large_message_is_complete_when_it_is_received() {
    let machine = with_eager(WITH_BANDWIDTH.machine(), 1000);
    let texts = ["l1: send 2001b to 1\nl2: calc 10\nl2 requires l1", "l1: calc 50000\nl2: recv 2001b from 0\nl2 requires l1"];
    with_goal(&ranks(&texts.map(str::to_owned)), |goal| {
        let schedule = OrderedGoal::new(goal).unwrap();
        let scenario = |what_ifs| ReplayScenario { schedule: &schedule, bounds: None, machine: Some(machine.clone()), what_ifs };
        let ends = |what_ifs: &str| -> Vec<f64> {
            let what_ifs = if what_ifs.is_empty() { Vec::new() } else { WhatIf::parse(what_ifs).unwrap() };
            scenario(what_ifs).run().unwrap().outcome.ranks.iter().map(|rank| (rank.replayed_s * 1e9).round()).collect()
        };
        assert_eq!(ends(""), [50_010.0, 54_000.0]);
        assert_eq!(ends("eager=1MiB"), [10.0, 50_000.0]);
        assert_eq!(ends("eager=1MiB,compute=x0.02"), [0.0, 4_000.0]);
    });
}

fn with_eager(mut machine: Machine, bytes: u64) -> Machine {
    machine.networks.values_mut().for_each(|network| network.eager_bytes = Some(bytes));
    machine
}

#[test]
fn a_halo_exchange_becomes_receives_sends_and_one_waitall() {
    with_goal(&stencil(3, 2, 8), |goal| {
        let schedule = OrderedGoal::new(goal).unwrap();
        let mut reader = schedule.open(LocationId { rank: 4, thread: 0 }).unwrap();
        let mut chunk = CallChunk::default();
        assert_eq!(reader.read_chunk(&mut chunk).unwrap(), ChunkStatus::NewActions);
        let names: Vec<&str> = chunk.calls.iter().map(|call| chunk.actions[call.action as usize].call.function.name()).collect();
        let step: Vec<&str> = [["MPI_Send"; 4], ["MPI_Irecv"; 4]].concat().into_iter().chain(["MPI_Waitall"]).collect();
        assert_eq!(names, [vec!["MPI_Init"], step.repeat(2)].concat());
        assert_eq!(reader.read_chunk(&mut chunk).unwrap(), ChunkStatus::End);
    });
}

#[test]
fn a_replayed_goal_schedule_can_be_written_as_a_recording_of_the_same_time() {
    let receiver = "l1: recv 8b from 0 tag 2147483653\nl2: calc 500 cpu 1\nl2 requires l1\nl3: send 8b to 0 cpu 1\nl3 requires l2";
    let sender = "l0: calc 60\nl1: send 8b to 1 tag 2147483653\nl1 requires l0\nl2: recv 8b from 1\nl3: calc 40\nl3 requires l2".to_owned();
    let text = ranks(&[sender, receiver.to_owned()]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("goal.sin");
    let expected_s = with_goal(&text, |goal| {
        let schedule = OrderedGoal::new(goal).unwrap();
        let scenario = ReplayScenario { schedule: &schedule, bounds: None, machine: Some(LATENCY_ONLY.machine()), what_ifs: Vec::new() };
        let mut recorder = ReplayRecorder::create(&path, schedule.locations().unwrap()).unwrap();
        let outcome = scenario.run_with_sink(&mut recorder).unwrap();
        let made_by =
            |made_by: &str| CommunicatorDefinition { made_by: made_by.into(), members: "0-1".into(), ..CommunicatorDefinition::default() };
        let communicators = OrderedGoal::COMMUNICATORS.map(made_by).to_vec();
        recorder.finish(RecordingHeader { size: 2, communicators, ..RecordingHeader::default() }).unwrap();
        outcome.replayed_s
    });
    assert!((expected_s - 4.6e-6).abs() < 1e-12, "{expected_s}");
    let recording = Recording::open(&path).unwrap();
    let again = replay(&recording, &ReplayCosts::Recorded(RecordedNetwork::default()), &ReplayChanges::default(), None).unwrap();
    assert!((again.replayed_s - expected_s).abs() < 1e-9, "{} instead of {expected_s}", again.replayed_s);
    assert_eq!((again.unmatched.sends, again.unmatched.receives), (0, 0));
}

#[test]
fn a_schedule_that_cannot_end_is_reported_with_its_line() {
    with_goal(&ranks(&["calc 5\nrecv 8b from 1 tag 6".to_owned(), "calc 1".to_owned()]), |goal| {
        let message = OrderedGoal::new(goal).err().unwrap().to_string();
        assert!(message.contains("1 receive is never matched") && message.contains("line 4"), "{message}");
    });
}
