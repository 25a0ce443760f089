//! Queries on small recordings.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sintonia_recording::off_cpu::{OffCpuInterval, ThreadOffCpu};
use sintonia_recording::openmp::{self, RegionExecution, RegionThread};
use sintonia_recording::raw::part;
use sintonia_recording::testing::{RecordingBuilder, TestCall, call, finalize, init, receive, send};

use super::*;
use crate::sample;

fn timeline(folder: &Path, ranks: &[Vec<TestCall>]) -> RecordingTimeline {
    RecordingTimeline::open(sample::recording(folder, ranks), &|_| ()).unwrap()
}

fn page_query(subject: &str, query: &[(&str, &str)]) -> PageQuery {
    let query: BTreeMap<String, String> = query.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    PageQuery { recording: 0, subject: subject.to_owned(), params: query }
}

fn json(timeline: &RecordingTimeline, subject: &str, query: &[(&str, &str)]) -> Value {
    match timeline.answer(&page_query(subject, query)).unwrap() {
        QueryAnswer::Json(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The header, and the planes by name.
fn picture(timeline: &RecordingTimeline, query: &[(&str, &str)]) -> (Value, BTreeMap<String, Vec<u8>>) {
    let QueryAnswer::Binary { header, bytes } = timeline.answer(&page_query("timeline", query)).unwrap() else { panic!("no picture") };
    let header: Value = serde_json::from_str(&header).unwrap();
    let cells = header["rows"].as_array().unwrap().len() * header["columns"].as_u64().unwrap() as usize;
    let names = header["planes"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
    let (planes, activity) = bytes.split_at(bytes.len() - header["activity"].as_u64().unwrap() as usize);
    let mut planes: BTreeMap<String, Vec<u8>> = names.zip(planes.chunks(cells.max(1)).map(<[u8]>::to_vec)).collect();
    planes.insert("activity".to_owned(), activity.to_vec());
    (header, planes)
}

/// A rank that sends late, and one that waits for it from the start.
fn late_sender() -> Vec<Vec<TestCall>> {
    let around = |inside: TestCall| vec![init().at(0, 1000), inside, finalize().at(10_000, 11_000)];
    vec![around(send(1).sent(100).line(1).at(8000, 8100)), around(receive(0).received(100).line(2).at(2000, 8200))]
}

#[test]
fn a_raster_shows_when_ranks_had_no_core() {
    let calls = late_sender();
    let waiting = OffCpuInterval { begin: 4000, end: 6000, waiting_ns: 1000, blocked_ns: 0, processor: None };
    let folder = tempfile::tempdir().unwrap();
    let recording =
        RecordingBuilder::in_folder(folder.path()).rank(&calls[0]).off_cpu(&[ThreadOffCpu::new(0, vec![waiting])]).rank(&calls[1]);
    let (recording, _) = recording.write().into_parts();
    let timeline = RecordingTimeline::open(Arc::new(recording), &|_| ()).unwrap();
    let (header, planes) = picture(&timeline, &[("columns", "11")]);
    assert_eq!(header["planes"], serde_json::json!(["kind", "share", "no-core"]));
    assert_eq!(planes["no-core"], [[0, 0, 0, 0, 128, 128, 0, 0, 0, 0, 0], [0; 11]].concat());
}

#[test]
fn a_raster_shows_the_dominant_activity() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = timeline(folder.path(), &late_sender());
    let (header, planes) = picture(&timeline, &[("columns", "11")]);
    assert_eq!((&header["from"], &header["to"], &header["exact"], &header["calls"]), (&0.into(), &11_000.into(), &true.into(), &6.into()));
    assert_eq!(header["rows"][1], serde_json::json!({"label": "1", "ranks": "1"}));
    assert_eq!(header["messages"], Value::Null);
    let (absent, computing, receiving) = (0, 1, 3);
    assert_eq!(planes["kind"][..11], [absent, 1, 1, 1, 1, 1, 1, 1, computing, 1, absent]);
    assert_eq!(planes["kind"][11..], [absent, computing, receiving, 3, 3, 3, 3, 3, computing, computing, absent]);
    assert_eq!(planes["share"][8], 230, "nine tenths of the time until it sends");
    let kinds = header["kinds"].as_array().unwrap().len();
    let activity: Vec<&[u8]> = planes["activity"].chunks(kinds).collect();
    assert_eq!((activity.len(), activity[0][absent as usize], activity[1][computing as usize]), (11, 255, 255));
    assert_eq!(activity[3][..4], [0, 128, 0, 128], "one rank computes, the other one receives");
    assert_eq!(planes.len(), 3);
}

#[test]
fn the_analysis_adds_waits_messages_and_the_critical_path() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = timeline(folder.path(), &late_sender());
    assert!(matches!(timeline.answer(&page_query("messages", &[])), Err(QueryError::Unavailable(_))));
    timeline.run_analysis();
    let reopened = RecordingTimeline::open(Arc::new(Recording::open(folder.path()).unwrap()), &|_| ()).unwrap();
    for timeline in [timeline, reopened] {
        let (header, planes) = picture(&timeline, &[("columns", "11")]);
        assert_eq!(header["planes"], serde_json::json!(["kind", "share", "waiting", "path"]));
        assert_eq!((&header["messages"], &header["waits"][0]), (&1.into(), &"late_sender".into()));
        assert_eq!(planes["waiting"][11..], [0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0]);
        assert_eq!(planes["path"][..8], [0, 255, 255, 255, 255, 255, 255, 255], "the sender is on the path until it sends");
        assert_eq!(planes["path"][11 + 2..11 + 8], [0; 6], "while the receiver waits it is not");
        let messages = json(&timeline, "messages", &[]);
        assert_eq!(messages["many"], Value::Null);
        for (column, value) in [("from", 0), ("to", 1), ("sent", 8000), ("received", 8200), ("bytes", 100), ("tag", 7)] {
            assert_eq!(messages[column], serde_json::json!([value]), "{column}");
        }
        let (selected, none) = (json(&timeline, "messages", &[("ranks", "1")]), json(&timeline, "messages", &[("to", "7999")]));
        assert_eq!((selected["from"].as_array().unwrap().len(), none["from"].as_array().unwrap().len()), (1, 0));
        let calls = json(&timeline, "calls", &[("ranks", "1"), ("from", "3000"), ("to", "4000")]);
        assert_eq!((&calls["wait"], &calls["enter"]), (&serde_json::json!([6000]), &serde_json::json!([-1000])));
        assert_eq!(calls["names"][calls["cause"][0].as_u64().unwrap() as usize], "late_sender");
    }
}

#[test]
fn ranks_can_be_selected_and_grouped() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |_| [call("MPI_Send").at(0, 500), call("MPI_Barrier").at(900, 1000)];
    let builder = RecordingBuilder::in_folder(folder.path()).ranks((0..8).map(rank)).missing_rank().header(|header| {
        header.hosts = vec!["a".into(), "b".into()];
        header.ranks.iter_mut().for_each(|rank| rank.host = rank.rank % 2);
    });
    let timeline = RecordingTimeline::open(Arc::new(builder.write().recording), &|_| ()).unwrap();
    let labels = |query: &[(&str, &str)]| {
        let (header, _) = picture(&timeline, query);
        header["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| format!("{} {}", row["label"], row["ranks"]).replace('"', ""))
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(&[("rows", "3")]), ["0-2 0-2", "3-5 3-5", "6-8 6-8"]);
    assert_eq!(labels(&[("ranks", "1,5-6")]), ["1 1", "5 5", "6 6"]);
    assert_eq!(labels(&[("by", "host")]), ["a 0,2,4,6", "b 1,3,5,7", "unknown 8"]);
    let (_, planes) = picture(&timeline, &[("columns", "2"), ("rows", "3")]);
    assert_eq!((planes["kind"][4], planes["share"][4]), (2, 170), "the rank that left nothing is absent");
}

#[test]
fn roles_can_be_given_and_ranks_without_one_come_last() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = timeline(folder.path(), &late_sender());
    let roles = vec![RankRole { name: "receivers".into(), ranks: vec![1] }];
    let (header, planes) = picture(&timeline.with_roles(roles), &[("by", "role"), ("columns", "11")]);
    assert_eq!(header["rows"], serde_json::json!([{"label": "receivers", "ranks": "1"}, {"label": "no role", "ranks": "0"}]));
    assert_eq!(planes["kind"][..5], [0, 1, 3, 3, 3], "the receiver comes first");
}

#[test]
fn the_analysis_is_scheduled_once() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = timeline(folder.path(), &late_sender());
    assert!(timeline.schedule_analysis());
    assert!(!timeline.schedule_analysis(), "one is enough");
    assert!(matches!(timeline.answer(&page_query("messages", &[])), Ok(QueryAnswer::Pending { .. })));
    timeline.run_analysis();
    assert!(!timeline.schedule_analysis());
    timeline.set_analysis_state(AnalysisState::OutOfMemory("no memory".into(), Instant::now()));
    assert!(!timeline.schedule_analysis(), "not at once");
    timeline.set_analysis_state(AnalysisState::OutOfMemory("no memory".into(), Instant::now().checked_sub(2 * RETRY_INTERVAL).unwrap()));
    assert!(timeline.schedule_analysis(), "there may be memory by now");
}

#[test]
fn invalid_queries_are_rejected_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = timeline(folder.path(), &late_sender());
    let error = |subject: &str, query: &[(&str, &str)]| timeline.answer(&page_query(subject, query)).unwrap_err().to_string();
    assert_eq!(error("timeline", &[("from", "5"), ("to", "5")]), "to: 5 is not after `from`, which is 5");
    assert_eq!(error("timeline", &[("columns", "0")]), "columns: 0 is not between 1 and 4096");
    assert_eq!(error("timeline", &[("by", "colour")]), "by: `colour` should be rank, thread, host or role");
    assert_eq!(error("calls", &[("ranks", "0-9")]), "ranks: there is no rank 2: the recording has 2, counted from 0");
    assert_eq!(error("calls", &[("ranks", "x")]), "ranks: `x` should be numbers and ranges of them, such as 0-3,7");
    assert_eq!(error("weather", &[]), "there is no weather");
    assert_eq!(error("timeline", &[("by", "role")]), "wait states and messages were not analysed");
}

#[test]
fn any_time_range_can_be_queried() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = timeline(folder.path(), &late_sender());
    timeline.run_analysis();
    let extremes = [i64::MIN.to_string(), "-5".into(), "0".into(), "8050".into(), i64::MAX.to_string()];
    for from in &extremes {
        for to in extremes.iter().chain(&["8051".to_owned()]) {
            for subject in ["timeline", "calls", "messages", "find"] {
                let _ = timeline.answer(&page_query(subject, &[("from", from), ("to", to)]));
            }
        }
    }
    let (header, _) = picture(&timeline, &[("from", "8050"), ("to", "8053"), ("columns", "1000")]);
    assert_eq!(header["columns"], 3, "no column is narrower than a nanosecond");
}

#[test]
fn the_row_of_a_rank_shows_what_most_of_its_active_threads_do() {
    let folder = tempfile::tempdir().unwrap();
    let waiting = |thread| receive(0).line(2).at(3000, 7000).thread(thread);
    let timeline = timeline(folder.path(), &[vec![init().at(0, 1000), waiting(1), waiting(2), finalize().at(10_000, 11_000)]]);
    let (header, planes) = picture(&timeline, &[("columns", "11")]);
    assert_eq!(planes["kind"], [0, 1, 1, 3, 3, 3, 3, 1, 1, 1, 0]);
    assert_eq!(planes["share"], [255, 255, 255, 170, 170, 170, 170, 255, 255, 255, 255]);
    assert_eq!(header["calls"], 4);
}

#[test]
fn calls_are_those_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let mut ranks: Vec<Vec<TestCall>> = (0..3).map(|rank| sample::arbitrary(rank + 1, 3000)).collect();
    ranks[1].iter_mut().skip(1).step_by(3).for_each(|call| call.thread = 1);
    let timeline = timeline(folder.path(), &ranks);
    let (begin, end) = timeline.index.as_ref().unwrap().span();
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..50 {
        let from = begin + random.i64(0..end - begin);
        let to = from + 1 + random.i64(0..200_000);
        let answer = json(&timeline, "calls", &[("from", &from.to_string()), ("to", &to.to_string())]);
        let column = |name: &str| answer[name].as_array().unwrap().iter().map(|value| value.as_i64().unwrap()).collect::<Vec<i64>>();
        let mut expected = Vec::new();
        for (rank, calls) in ranks.iter().enumerate() {
            let touching = calls.iter().filter(|call| (call.enter as i64) < to && (call.leave as i64 > from || call.enter as i64 >= from));
            expected.extend(touching.map(|call| {
                let [enter, leave] = [call.enter, call.leave].map(|time| time as i64 - from);
                (rank as i64, enter, leave, i64::from(call.descriptor.site), i64::from(call.thread))
            }));
        }
        let found: Vec<_> = (0..column("rank").len())
            .map(|n| (column("rank")[n], column("enter")[n], column("leave")[n], column("site")[n], column("thread")[n]))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(answer["names"][column("operation").first().map_or(0, |n| *n as usize)].is_string(), !found.is_empty());
    }
    let many = json(&timeline, "calls", &[("most", "100")]);
    assert!(many["many"].as_u64().unwrap() >= 9006 && many["rank"].as_array().unwrap().is_empty());
}

#[test]
fn the_next_call_is_found_and_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let ranks: Vec<Vec<TestCall>> = (0..2).map(|rank| sample::arbitrary(rank + 1, 2000)).collect();
    let timeline = timeline(folder.path(), &ranks);
    let (begin, end) = timeline.index.as_ref().unwrap().span();
    let mut random = fastrand::Rng::with_seed(10);
    for _ in 0..50 {
        let (from, longer) = (begin + random.i64(0..end - begin), random.i64(0..3000));
        let all =
            || ranks.iter().flatten().filter(|call| call.descriptor.site == 2 && call.descriptor.function.name().starts_with("MPI_Wait"));
        let fits = |call: &&TestCall| (call.leave - call.enter) as i64 >= longer;
        let next = all().filter(fits).map(|call| call.enter as i64).filter(|enter| *enter >= from).min();
        let before = all().filter(fits).map(|call| call.enter as i64).filter(|enter| *enter < from).max();
        for (back, expected) in [("0", next), ("1", before)] {
            let (from, longer) = (from.to_string(), longer.to_string());
            let query = [("from", from.as_str()), ("back", back), ("operation", "mpi_W"), ("site", "2"), ("longer", &longer)];
            assert_eq!(json(&timeline, "find", &query)["enter"].as_i64(), expected);
        }
    }
    assert_eq!(json(&timeline, "find", &[("operation", "MPI_Alltoall")]), Value::Null);
}

#[test]
fn calls_are_found_by_what_they_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = timeline(folder.path(), &late_sender());
    let error = timeline.answer(&page_query("find", &[("wait", "any")])).unwrap_err();
    assert!(matches!(error, QueryError::Unavailable(_)), "waits are not known yet: {error}");
    timeline.run_analysis();
    let found = json(&timeline, "find", &[("wait", "late_sender"), ("longer", "6000")]);
    assert_eq!((&found["rank"], &found["enter"], &found["operation"]), (&1.into(), &2000.into(), &"MPI_Recv".into()));
    assert_eq!(found, json(&timeline, "find", &[("wait", "any"), ("longer", "6000"), ("back", "1")]));
    // The call took longer than its wait.
    let none = [("longer", "6001"), ("operation", "MPI_Send"), ("from", "2001"), ("ranks", "0")];
    for one in none {
        assert_eq!(json(&timeline, "find", &[("wait", "late_sender"), one]), Value::Null, "{one:?}");
    }
    let error = timeline.answer(&page_query("find", &[("wait", "late_receiver")])).unwrap_err().to_string();
    assert!(error.contains("should be one of any, late_sender"), "{error}");
}

#[test]
fn a_profile_has_no_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let builder = RecordingBuilder::in_folder(folder.path()).ranks(late_sender()).header(|header| header.profile = true);
    let timeline = RecordingTimeline::open(Arc::new(builder.write().recording), &|_| ()).unwrap();
    timeline.run_analysis();
    let error = timeline.answer(&page_query("timeline", &[])).unwrap_err();
    assert!(error.to_string().contains("without --profile"), "{error}");
}

#[test]
fn empty_recordings_have_a_raster() {
    let folder = tempfile::tempdir().unwrap();
    let empty: [Vec<TestCall>; 2] = [vec![], vec![]];
    let builder = RecordingBuilder::in_folder(folder.path()).ranks(empty).header(|header| header.ranks.truncate(1));
    let timeline = RecordingTimeline::open(Arc::new(builder.write().recording), &|_| ()).unwrap();
    timeline.run_analysis();
    let (header, planes) = picture(&timeline, &[]);
    assert_eq!((header["rows"].as_array().unwrap().len(), &header["calls"]), (2, &0.into()));
    assert!(planes["kind"].iter().all(|kind| *kind == 0));
    assert_eq!(json(&timeline, "calls", &[])["rank"], serde_json::json!([]));
    assert_eq!(json(&timeline, "find", &[]), Value::Null);
}

#[test]
fn a_recording_that_was_cut_ends_with_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let stuck = vec![init().at(0, 100), receive(1).mark(part::UNFINISHED).at(300, 1000)];
    let timeline = timeline(folder.path(), &[stuck, vec![init().at(0, 100), call("MPI_Barrier").at(200, 500)]]);
    timeline.run_analysis();
    let (_, planes) = picture(&timeline, &[("columns", "10")]);
    assert_eq!(planes["kind"], [0, 1, 1, 3, 3, 3, 3, 3, 3, 3, 0, 1, 5, 5, 5, 0, 0, 0, 0, 0]);
}

/// Rank 1 of [`late_sender`] starts a region of two threads before it receives.
fn with_region(folder: &Path) -> RecordingTimeline {
    let thread = |useful| RegionThread { useful, ..RegionThread::default() };
    let region = RegionExecution {
        site: 1,
        caller: Some(0),
        executions: 1,
        begin: 1000,
        duration: 1000,
        span: 1000,
        threads: vec![thread(1000), thread(500)],
        ..RegionExecution::default()
    };
    let nested = RegionExecution { level: 1, ..region.clone() };
    let recording = sample::recording(folder, &late_sender());
    openmp::write(folder, 1, &[region, nested]).unwrap();
    RecordingTimeline::open(recording, &|_| ()).unwrap()
}

#[test]
fn threads_of_regions_have_rows() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = with_region(folder.path());
    let (header, planes) = picture(&timeline, &[("columns", "22"), ("by", "thread")]);
    let rows: Vec<&str> = header["rows"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap()).collect();
    assert_eq!(rows, ["0 thread 0", "1 thread 0", "1 thread 1"]);
    assert_eq!((&header["rows"][2]["mpi_thread"], &header["rows"][2]["thread"]), (&0.into(), &1.into()));
    let names: Vec<&str> = header["kinds"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect();
    let kinds = |row: usize| planes["kind"][22 * row..22 * (row + 1)].iter().map(|kind| names[usize::from(*kind)]).collect::<Vec<_>>();
    let [absent, receiving] = [["absent"; 2], ["receiving"; 2]];
    assert_eq!(kinds(1)[..6], [absent, ["parallel"; 2], receiving].concat());
    assert_eq!(kinds(2)[..6], [absent, ["parallel", "barrier"], ["idle"; 2]].concat());
    assert_eq!((kinds(1)[17], kinds(2)[17], kinds(2)[21]), ("computing", "idle", "absent"));
    assert!(planes["share"][44..].iter().all(|share| *share == 255), "each cell has one activity");
}

#[test]
fn threads_without_a_row_are_those_of_later_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = with_region(folder.path());
    let labels = |query: &[(&str, &str)]| {
        let (header, _) = picture(&timeline, &[&[("by", "thread")], query].concat());
        header["rows"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(labels(&[("rows", "2")]), ["0 thread 0"]);
    assert_eq!(labels(&[("rows", "1"), ("ranks", "1")]), ["1 thread 0"]);
}

#[test]
fn the_longest_regions_of_a_window_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = with_region(folder.path());
    let regions = json(&timeline, "regions", &[]);
    assert_eq!((&regions["count"], &regions["rank"], &regions["threads"]), (&1.into(), &serde_json::json!([1]), &serde_json::json!([2])));
    assert_eq!(regions["times"], serde_json::json!([0, 1000, 0, 0, 0, 0, 0, 0, 500, 0, 0, 0, 0, 0]));
    assert_eq!(json(&timeline, "regions", &[("from", "2000"), ("to", "3000")])["count"], 0);
    assert_eq!(json(&timeline, "regions", &[("ranks", "0")])["count"], 0);
}
