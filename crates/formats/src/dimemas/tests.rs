use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::example::example;

const EXAMPLE: &str = "\
#DIMEMAS:\"ring\":1,00000:2(1,1),2
d:1:1:2:0:1
d:1:2:1:1
1:0:0:0.5
2:0:0:1:800:7:1:0
3:0:0:1:80:8:1:1
3:0:0:1:80:8:1:2
20:0:0:40000001:1
10:0:0:1:1:0:0:64:64:1
10:0:0:11:1:0:0:8:8:1
3:1:0:0:800:7:1:0
2:1:0:0:80:8:1:3
10:1:0:1:1:1:0:64:64
10:1:0:11:1:0:0:8:8
10:1:0:0:2:0:0:0:0
s:0:0
s:1:100
";

fn opened(text: &[u8]) -> Result<DimemasTrace, Error> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    open(file.path()).and_then(|trace| {
        // The steps are read while the file is there.
        for (rank, thread) in trace.threads().collect::<Vec<_>>() {
            all(&trace, rank, thread)?;
        }
        Ok(trace)
    })
}

fn all(trace: &DimemasTrace, rank: u32, thread: u16) -> Result<Vec<TraceAction>, Error> {
    trace.actions(rank, thread).collect()
}

#[test]
fn each_task_has_its_steps() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(EXAMPLE.as_bytes()).unwrap();
    let trace = open(file.path()).unwrap();
    assert_eq!((trace.rank_count(), trace.members(1), trace.members(2)), (2, vec![0, 1], vec![1]));
    let envelope = |peer, tag| TraceEnvelope { peer, tag, communicator: 1 };
    let group = |operation, root, bytes| TraceAction::Collective { operation, communicator: 1, root, sent: bytes, received: bytes };
    let first = [
        TraceAction::Compute { seconds: 0.5 },
        TraceAction::Send { to: envelope(1, 7), bytes: 800, synchronous: false, completion: Completion::Blocking },
        TraceAction::Receive { from: envelope(1, 8), bytes: 80, completion: Completion::Nonblocking },
        TraceAction::Wait { is_send: false, message: envelope(1, 8) },
        group(CollectiveOp::Broadcast, Some(1), 64),
        group(CollectiveOp::Allreduce, None, 8),
    ];
    assert_eq!(all(&trace, 0, 0).unwrap(), first);
    let second = all(&trace, 1, 0).unwrap();
    assert_eq!(second[1], TraceAction::Send { to: envelope(0, 8), bytes: 80, synchronous: true, completion: Completion::Detached });
    assert_eq!(second[2], group(CollectiveOp::Broadcast, Some(1), 64));
    assert_eq!(second.len(), 5);
}

#[test]
fn errors_are_reported_with_their_line() {
    let message = |text: &str| opened(text.as_bytes()).unwrap_err().to_string();
    let with = |record: &str| message(&EXAMPLE.replace("2:0:0:1:800:7:1:0", record));
    assert!(message("").ends_with("the file is empty: not a Dimemas trace"));
    assert!(message("hello\n").contains("line 1: not a Dimemas header"));
    assert!(with("2:9:0:1:800:7:1:0").ends_with("line 5: there is no task 9: the header has 2"));
    assert!(with("2:0:0:5:800:7:1:0").ends_with("line 5: there is no task 5: the header has 2"));
    assert!(with("2:0:0:1:800").ends_with("line 5: a message has five or six fields after the thread, not 2"));
    assert!(with("3:0:0:-1:800:7:1:0").ends_with("line 5: a wildcard receive whose source the trace does not have: it cannot be replayed"));
    assert!(with("1:0:0:-3").ends_with("line 5: invalid duration of -3 seconds"));
    assert!(with("7:0:0:1").ends_with("line 5: unknown record type 7"));
    assert!(with("10:0:0:99:1:0:0:0:0").ends_with("unknown collective 99"));
    assert!(message(&EXAMPLE.replace("d:1:1:2:0:1", "d:1:1:3:0:1")).ends_with("should have 3 members, but 2 are listed"));
}

#[test]
fn a_receive_is_written_where_it_began_with_what_it_got() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.dim");
    let written = write(&example().recording, &path, &|| {}).unwrap();
    assert_eq!(written.notes, ["waits for nonblocking sends are left out: Dimemas has none"]);
    let text = std::fs::read_to_string(&path).unwrap();
    let (header, records) = text.split_once('\n').unwrap();
    assert!(header.starts_with("#DIMEMAS:\"./program\":1,") && header.ends_with(":3(2,1,1),1"), "{header}");
    assert!(records.starts_with("d:1:1:3:0:1:2\n"), "{records}");
    let lines: Vec<&str> = text.lines().filter(|line| line.split(':').nth(1) == Some("1") && !line.starts_with(['d', 's'])).collect();
    let expected = [
        "1:1:0:0.000000000",
        "3:1:0:0:1000:7:1:1",
        "3:1:0:2:64:8:1:1",
        "2:1:0:2:16:9:1:2",
        "1:1:0:0.000000010",
        "3:1:0:0:0:7:1:2",
        "3:1:0:2:0:8:1:2",
        "3:1:0:0:2000:7:1:0",
        "1:1:0:0.000000040",
        "10:1:0:11:1:0:0:8:8:1",
    ];
    assert_eq!(lines, expected);
    let threads: Vec<(u32, u16)> = open(&path).unwrap().threads().collect();
    assert_eq!(threads, [(0, 0), (0, 1), (1, 0), (2, 0)]);
}

#[test]
fn where_each_thread_begins_is_said_at_the_end_and_that_at_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.dim");
    write(&example().recording, &path, &|| {}).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let offset: usize = text.split([',', ':']).nth(3).and_then(|offset| offset.parse().ok()).unwrap();
    let offsets: Vec<(&str, &str)> = text[offset..]
        .lines()
        .flat_map(|line| {
            let (task, threads) = line.strip_prefix("s:").and_then(|line| line.split_once(':')).unwrap();
            threads.split(':').map(move |thread| (task, thread))
        })
        .collect();
    let begins: Vec<String> =
        offsets.iter().map(|(_, offset)| text[offset.parse::<usize>().unwrap()..].lines().next().unwrap().to_owned()).collect();
    assert_eq!(begins, ["1:0:0:0.000000000", "1:0:1:0.000000000", "1:1:0:0.000000000", "1:2:0:0.000000000"]);
}

proptest! {
    #[test]
    fn any_damage_gives_a_trace_or_an_error(at in 0..EXAMPLE.len(), byte: u8, cut in 0..EXAMPLE.len()) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = opened(&bytes);
        let _ = opened(&bytes[..cut]);
    }
}
