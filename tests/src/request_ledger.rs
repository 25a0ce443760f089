//! Completions of requests beside the ledger that a program keeps of them: see `programs/c/062_request_ledger.c`.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Call, Recording};

/// Compares the completions of each rank with its ledger, call by call; returns for each rank how many there are, and of how many it is not
/// known which request they completed.
pub fn compare_with_ledgers(recording: &Recording, ranks: usize) -> Vec<(usize, usize)> {
    let compare = |rank| {
        let ledger = recording.folder().join(format!("ledger-{rank}.txt"));
        let ledger = std::fs::read_to_string(ledger).expect("the program wrote its ledger");
        compare_with_ledger(&recording.calls(rank), &ledger)
    };
    (0..ranks).map(compare).collect()
}

fn compare_with_ledger(calls: &[Call], ledger: &str) -> (usize, usize) {
    let keys = request_keys(calls);
    let mut threads: BTreeMap<i64, Vec<&Call>> = BTreeMap::new();
    calls.iter().filter(|call| !call.completed.is_empty()).for_each(|call| threads.entry(call.thread).or_default().push(call));
    let mut expected: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in ledger.lines() {
        let (thread, completion) = line.split_once(' ').expect("a line begins with a thread");
        expected.entry(thread).or_default().push(completion);
    }
    assert_eq!(threads.len(), expected.len(), "threads that completed requests");
    let (mut completions, mut unknown) = (0, 0);
    // Threads are numbered in the order of their first calls, which need not be that of the ledger.
    for recorded in threads.into_values() {
        let of_thread = calls.iter().filter(|call| call.thread == recorded[0].thread).find_map(|call| call.request.as_ref().and(call.tag));
        let number = (of_thread.expect("a thread sends") / TAGS_OF_THREAD).to_string();
        let expected = &expected[number.as_str()];
        for (call, line) in recorded.iter().zip(expected) {
            let found: Vec<&str> =
                call.completed.iter().map(|c| keys.get(&c.request.to_string()).map_or("unknown", String::as_str)).collect();
            unknown += compare_line(call, &found, line);
            completions += found.len();
        }
        assert_eq!(recorded.len(), expected.len(), "calls of thread {number} that completed requests");
    }
    (completions, unknown)
}

/// Tags of each thread of `programs/c/062_request_ledger.c`.
const TAGS_OF_THREAD: i64 = 8192;

/// Compares the requests that a call completed with a line of the ledger; returns how many are unknown.
fn compare_line(call: &Call, found: &[&str], line: &str) -> usize {
    let mut words = line.split(' ');
    assert_eq!(words.next(), Some(call.operation.as_str()), "thread {} completed {found:?}, not {line}", call.thread);
    let expected: Vec<&str> = words.collect();
    let certain = expected.iter().filter(|key| !key.ends_with('?'));
    let copied: BTreeSet<&str> = expected.iter().filter_map(|key| key.strip_suffix('?')).collect();
    let known: BTreeSet<&str> = found.iter().copied().filter(|key| *key != "unknown").collect();
    let missing: Vec<_> = certain.filter(|key| !known.contains(**key)).collect();
    let wrong: Vec<_> = known.iter().filter(|key| !copied.contains(**key) && !expected.contains(*key)).collect();
    assert!(missing.is_empty() && wrong.is_empty() && found.len() == expected.len(), "{}: found {found:?}, not {line}", call.operation);
    found.len() - known.len()
}

/// The key that the ledger has for each request.
fn request_keys(calls: &[Call]) -> BTreeMap<String, String> {
    let mut without_tag: BTreeMap<(i64, char), usize> = BTreeMap::new();
    let mut keys = BTreeMap::new();
    for call in calls {
        let Some(request) = &call.request else { continue };
        let kind = match call.operation.as_str() {
            "MPI_Isend" | "MPI_Issend" => 's',
            "MPI_Irecv" => 'r',
            "MPI_Send_init" => 'S',
            "MPI_Recv_init" => 'R',
            "MPI_Psend_init" => 'P',
            "MPI_Precv_init" => 'Q',
            "MPI_Grequest_start" => 'g',
            _ => 'c',
        };
        let number = call.tag.unwrap_or_else(|| {
            let next = without_tag.entry((call.thread, kind)).or_default();
            *next += 1;
            *next as i64 - 1
        });
        let known = keys.insert(request.to_string(), format!("{kind}{number}"));
        assert_eq!(known, None, "two requests share the identity {request}");
    }
    keys
}
