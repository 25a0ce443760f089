//! Sums of selections, compared with single calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sintonia_insight::RunSummary;
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;
use sintonia_recording::testing::{TestCall, call, finalize, init, receive, send};

use super::RecordingTimeline;
use crate::answer::{PageQuery, QueryAnswer};
use crate::index::{ActivityKind, KIND_COUNT};
use crate::sample;

fn sums(timeline: &RecordingTimeline, params: &[(&str, String)]) -> Value {
    let params = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    match timeline.answer(&PageQuery { recording: 0, subject: "sums".to_owned(), params }).unwrap() {
        QueryAnswer::Json(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// Calls, nanoseconds and bytes by operation and site.
fn by_site(answer: &Value) -> BTreeMap<(String, u64), [u64; 3]> {
    let column = |name: &str| numbers(&answer["sites"][name]);
    let operations = column("operation").into_iter().map(|index| answer["operations"][index as usize].as_str().unwrap().to_owned());
    let keys = operations.zip(column("site"));
    let values = column("calls").into_iter().zip(column("ns")).zip(column("bytes"));
    keys.zip(values.map(|((calls, ns), bytes)| [calls, ns, bytes])).collect()
}

/// The same from single calls, and the nanoseconds of each kind of activity.
type Expected = (BTreeMap<(String, u64), [u64; 3]>, [u64; KIND_COUNT]);

fn expected(recording: &Recording, ranks: &[u32], from: i64, to: i64) -> Expected {
    let (mut sites, mut activity) = (BTreeMap::<(String, u64), [u64; 3]>::new(), [0; KIND_COUNT]);
    for table in ranks.iter().flat_map(|rank| recording.tables(*rank).unwrap()) {
        let role = |row: usize| table.descriptors[table.descriptor_ids[row] as usize].function.role();
        let last = table.len() - 1;
        let (begin, end) = (from.max(table.leave[0]), to.min(table.enter[last]));
        let inside = |row: usize, from: i64, to: i64| (table.leave[row].min(to) - table.enter[row].max(from)).max(0) as u64;
        for row in 0..table.len() {
            let descriptor = &table.descriptors[table.descriptor_ids[row] as usize];
            let sum = sites.entry((descriptor.function.name().to_owned(), descriptor.site.into())).or_default();
            let begins = u64::from((from..to).contains(&table.enter[row]));
            let bytes = descriptor.bytes_sent() + descriptor.bytes_received();
            *sum = [sum[0] + begins, sum[1] + inside(row, from, to), sum[2] + begins * bytes];
            if begin < end {
                activity[ActivityKind::from_role(role(row)) as usize] += inside(row, begin, end);
            }
        }
        let mpi: u64 = (0..table.len()).map(|row| inside(row, begin, end.max(begin))).sum();
        activity[ActivityKind::Computing as usize] += (end - begin).max(0) as u64 - mpi;
        activity[ActivityKind::Absent as usize] += (to - from - (end - begin).max(0)) as u64;
    }
    sites.retain(|_, sum| *sum != [0; 3]);
    (sites, activity)
}

#[test]
fn sums_of_any_selection_are_those_of_its_calls() {
    let folder = tempfile::tempdir().unwrap();
    let mut ranks: Vec<Vec<TestCall>> = [(1, 100_000), (2, 70_000), (3, 300)].map(|(seed, calls)| sample::arbitrary(seed, calls)).into();
    ranks.iter_mut().flatten().zip(1..).for_each(|(call, number)| call.descriptor.sent = number % 5);
    let recording = sample::recording(folder.path(), &ranks);
    let timeline = RecordingTimeline::open(Arc::clone(&recording), &|_| ()).unwrap();
    let (begin, end) = timeline.index.as_ref().unwrap().span();
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..60 {
        let width = ((end - begin) >> random.u64(..20)).max(1);
        let from = begin + random.i64(0..end - begin) - width / 2;
        let selected = ["0-2", "0", "1,2"][round % 3];
        let ranks: &[u32] = [&[0, 1, 2][..], &[0], &[1, 2]][round % 3];
        let answer = sums(&timeline, &[("from", from.to_string()), ("to", (from + width).to_string()), ("ranks", selected.to_owned())]);
        let (sites, activity) = expected(&recording, ranks, from, from + width);
        assert_eq!(by_site(&answer), sites, "round {round}: {from} to {}", from + width);
        assert_eq!(numbers(&answer["activity"]), activity, "round {round}: {from} to {}", from + width);
        let per_rank: u64 = numbers(&answer["per_rank"]["calls"]).iter().sum();
        assert_eq!(per_rank, sites.values().map(|sum| sum[0]).sum::<u64>());
    }
}

#[test]
fn sums_of_the_whole_run_are_those_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let mut calls = sample::arbitrary(5, 20_000);
    calls.iter_mut().skip(1).step_by(3).for_each(|call| call.thread = 1);
    let recording = sample::recording(folder.path(), &[calls, sample::arbitrary(6, 9000)]);
    let timeline = RecordingTimeline::open(Arc::clone(&recording), &|_| ()).unwrap();
    let answer = sums(&timeline, &[]);
    let report = RunSummary::without_history(&recording, &SingleProcess, &|_, _| ()).unwrap();
    let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u64;
    let (calls, mpi) = (numbers(&answer["per_rank"]["calls"]), numbers(&answer["per_rank"]["mpi"]));
    for (index, rank) in report.per_rank.iter().enumerate() {
        assert_eq!((calls[index], mpi[index]), (rank.calls, nanoseconds(rank.mpi_s)), "rank {index}");
    }
    let mut operations = BTreeMap::<String, [u64; 3]>::new();
    for ((operation, _), [calls, ns, bytes]) in by_site(&answer) {
        let sum = operations.entry(operation).or_default();
        *sum = [sum[0] + calls, sum[1] + ns, sum[2] + bytes];
    }
    let reported =
        report.operations.iter().map(|total| (total.operation.to_owned(), [total.calls, nanoseconds(total.seconds), total.bytes]));
    assert_eq!(operations, reported.collect());
    let (found, reported) = (&answer["efficiency"], report.efficiency.unwrap());
    for (name, value) in
        [("parallel", reported.parallel), ("load_balance", reported.load_balance), ("communication", reported.communication)]
    {
        assert!((found[name].as_f64().unwrap() - value).abs() < 1e-6, "{name}: {found}, {value}");
    }
}

/// A rank that is late for every message, and one that waits for it.
fn late_messages(count: u64) -> Vec<Vec<TestCall>> {
    let (mut sender, mut receiver) = (vec![init().at(0, 10)], vec![init().at(0, 10)]);
    for number in 0..count {
        let begin = 100 * (number + 1);
        sender.push(send(1).sent(8).line((number % 2) as u32).at(begin + 50, begin + 60));
        receiver.push(receive(0).received(8).line((number % 3) as u32).at(begin, begin + 61));
    }
    let end = 100 * (count + 2);
    sender.push(finalize().at(end, end + 1));
    receiver.push(finalize().at(end, end + 1));
    vec![sender, receiver]
}

#[test]
fn waits_of_a_selection_are_cut_at_its_ends() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = RecordingTimeline::open(sample::recording(folder.path(), &late_messages(30_000)), &|_| ()).unwrap();
    assert_eq!(sums(&timeline, &[])["waits"], Value::Null);
    timeline.run_analysis();
    let waits = |from: u64, to: u64| sums(&timeline, &[("from", from.to_string()), ("to", to.to_string())])["waits"].clone();
    let whole = waits(0, 4_000_000);
    assert_eq!(whole["kinds"], json!([["late_sender", "late sender"]]));
    assert_eq!((numbers(&whole["count"]), numbers(&whole["ns"])), (vec![10_000; 3], vec![500_000; 3]));
    assert_eq!(whole["ranks"], json!([[1], [1], [1]]));
    let total = |waits: &Value, column: &str| numbers(&waits[column]).iter().sum::<u64>();
    // Messages 999 to 25,998 begin in the window; of the wait for message 998, 30 ns are in it, and of the last 20 ns are.
    let part = waits(99_920, 2_599_920);
    assert_eq!((total(&part, "count"), total(&part, "ns")), (25_000, 25_000 * 50 + 30 - 30));
    assert_eq!(total(&waits(150, 160), "count"), 0);
}

#[test]
fn a_selection_without_computation_has_no_efficiency() {
    let folder = tempfile::tempdir().unwrap();
    let calls = vec![init().at(0, 1000), call("MPI_Barrier").at(2000, 9000), finalize().at(10_000, 11_000)];
    let timeline = RecordingTimeline::open(sample::recording(folder.path(), &[calls]), &|_| ()).unwrap();
    let window = |from: i64, to: i64| sums(&timeline, &[("from", from.to_string()), ("to", to.to_string())]);
    assert_eq!((&window(3000, 8000)["efficiency"], &window(3000, 8000)["elapsed_ns"]), (&Value::Null, &json!(5000)));
    assert_eq!(window(0, 11_000)["efficiency"]["parallel"], json!(2000.0 / 9000.0));
    let before = window(-5000, 500);
    assert_eq!((&before["elapsed_ns"], &before["efficiency"]), (&json!(0), &Value::Null));
    assert_eq!((numbers(&before["per_rank"]["init"]), numbers(&before["sites"]["ns"])), (vec![500], vec![500]));
}
