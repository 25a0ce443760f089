use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::goal::graph::{ANY, GoalOpKind};

const EXAMPLE: &str = "\
// two ranks
num_ranks 2

rank 0 {
l1: calc 1000 cpu 1
/* a comment
   over lines */ l2: send 8b to 1 tag 5 cpu 2 nic 3
l2 requires l1
last: recv 9 b from -1 tag -1
last irequires l2 // begun is enough
}
rank 1 { l1: recv 8b from 0 tag 5
recv 8b from 0 tag 5
send 9b to 0 }
";

fn parse(text: &[u8]) -> Result<GoalSchedule, Error> {
    text::read(text, text.len() as u64, Path::new("x.goal"))
}

fn message(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_schedule_is_read_with_its_dependencies_and_channels() {
    let goal = parse(EXAMPLE.as_bytes()).unwrap();
    let kinds: Vec<GoalOpKind> = goal.operations().iter().map(|operation| operation.kind).collect();
    assert_eq!(
        kinds,
        [GoalOpKind::Compute, GoalOpKind::Send, GoalOpKind::Receive, GoalOpKind::Receive, GoalOpKind::Receive, GoalOpKind::Send]
    );
    assert_eq!((goal.rank_count(), goal.rank_operations(0), goal.rank_operations(1), goal.cpus(), goal.nics()), (2, 0..3, 3..6, 3, 4));
    let [compute, send, any, receive, again, back] = goal.operations() else { panic!("{goal:?}") };
    assert_eq!((compute.size, send.size, any.size), (1000, 8, 9));
    assert_eq!((send.channel(), receive.channel()), (again.channel(), send.channel()));
    assert_ne!(back.channel(), send.channel());
    let open = goal.channels()[any.channel().unwrap()];
    assert_eq!((open.source, open.destination, open.tag), (ANY, 0, ANY));
    assert!(open.matches(goal.channels()[back.channel().unwrap()]));
    assert!(goal.dependents(0).iter().all(|waiting| waiting.operation() == 1 && !waiting.waits_for_start()));
    assert!(goal.dependents(1).iter().all(|waiting| waiting.operation() == 2 && waiting.waits_for_start()));
}

#[test]
fn an_operation_is_found_in_its_file_again() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(EXAMPLE.as_bytes()).unwrap();
    let source_line =
        |rank, operation| find_source_line(file.path(), rank, operation).map(|source_line| (source_line.line, source_line.text));
    assert_eq!(source_line(0, 2), Some((9, "last: recv 9 b from -1 tag -1".to_owned())));
    assert_eq!(source_line(1, 2), Some((14, "send 9b to 0 }".to_owned())));
    assert_eq!(source_line(1, 3), None);
}

#[test]
fn errors_are_reported_with_their_line() {
    let in_rank = |statement: &str| message(&format!("num_ranks 2\nrank 0 {{\nl1: calc 5\n{statement}\n}}\nrank 1 {{\n}}\n"));
    assert!(in_rank("l2 requires l1").ends_with("line 4: no operation before this line in rank 0 has the label `l2`"));
    assert!(in_rank("l1: calc 6").ends_with("line 4: the label `l1` is already defined"));
    assert!(in_rank("l2: send 5b to 2").ends_with("there is no rank 2: `num_ranks` is 2"));
    assert!(in_rank("l2: send 5b from 1").ends_with("found `from`; expected `to`"));
    assert!(in_rank("l2: send 5b to -1").ends_with("found `-1`; expected a number: a rank"));
    assert!(in_rank("l2: sned 5b to 1").ends_with("found `sned`; expected `send`, `recv` or `calc`"));
    assert!(in_rank("l2: calc 99999999999999999999").ends_with("this number is too large for nanoseconds"));
    assert!(in_rank("l2: calc 5 cpu 256").ends_with("`cpu 256` is too large: they are numbered from 0 to 255"));
    assert!(in_rank("rank 1 {").ends_with("rank 1 begins before rank 0 has ended: a `}` is missing"));
    assert!(message("rank 0 {\n").ends_with("line 1: there is no rank 0: `num_ranks` is 0"));
    assert!(message("num_ranks 1\nrank 0 {\n").ends_with("the file ends within rank 0: a `}` is missing"));
    assert!(message("num_ranks 2\nrank 1 {\n}\n").ends_with("rank 0 is missing: `num_ranks` is 2"));
    assert!(message("num_ranks 123456789\n").contains("`num_ranks` is 123456789, but this file can have from 1 to 20 ranks"));
    assert!(message("").ends_with("`num_ranks` is missing: not a GOAL schedule"));
    assert!(message(&"x".repeat(100_000)).ends_with("line 1: this line is too long for a GOAL schedule"));
}

/// A rank as `txt2bin` writes it: operations (type, peer, size, tag, cpu, nic), and for each what waits for its end.
fn binary_rank(operations: &[(u8, u32, u64, u32)], dependents: &[Vec<u32>]) -> Vec<u8> {
    let mut bytes = [operations.len() as u32, 0].map(u32::to_le_bytes).concat();
    let mut listed = 0u32;
    for ((kind, peer, size, tag), waiting) in operations.iter().zip(dependents) {
        bytes.extend([0; 4]);
        bytes.push(*kind);
        bytes.extend(peer.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(tag.to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend([waiting.len() as u32, listed, 0, 0].map(u32::to_le_bytes).concat());
        listed += waiting.len() as u32;
    }
    bytes.extend(dependents.iter().flatten().flat_map(|waiting| waiting.to_le_bytes()));
    bytes
}

fn binary_example() -> Vec<u8> {
    let ranks = [binary_rank(&[(3, 0, 70, 0), (1, 1, 8, 5)], &[vec![1], vec![]]), binary_rank(&[(2, 0, 8, 5)], &[vec![]])];
    let mut bytes = [&4223u64.to_le_bytes()[..], &2u32.to_le_bytes(), &[0, 0]].concat();
    let mut begin = 6 + 2 * 16u64;
    for rank in &ranks {
        bytes.extend([begin, begin + rank.len() as u64].map(u64::to_le_bytes).concat());
        begin += rank.len() as u64;
    }
    bytes.extend(ranks.concat());
    bytes
}

fn parse_binary(bytes: &[u8]) -> Result<GoalSchedule, Error> {
    binary::read(std::io::Cursor::new(bytes), bytes.len() as u64, Path::new("x.bin"))
}

#[test]
fn the_binary_form_says_the_same_as_the_text() {
    let text = "num_ranks 2\nrank 0 {\nl1: calc 70\nl2: send 8b to 1 tag 5\nl2 requires l1\n}\nrank 1 {\nl1: recv 8b from 0 tag 5\n}\n";
    assert_eq!(parse_binary(&binary_example()).unwrap(), parse(text.as_bytes()).unwrap());
}

#[test]
fn a_file_is_known_by_its_first_bytes() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&binary_example()).unwrap();
    assert_eq!(read(file.path()).unwrap().operations(), parse_binary(&binary_example()).unwrap().operations());
}

#[test]
fn a_schedule_that_loggopsim_destroyed_is_said_to_be() {
    let mut bytes = binary_example();
    bytes[..8].copy_from_slice(&2342u64.to_le_bytes());
    assert!(parse_binary(&bytes).unwrap_err().to_string().contains("convert the text again"));
}

proptest! {
    #[test]
    fn any_bytes_give_a_schedule_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
        let _ = parse_binary(&bytes);
    }

    #[test]
    fn words_in_any_order_give_a_schedule_or_an_error(
        words in prop::collection::vec(prop::sample::select(vec![
            "num_ranks", "rank", "{", "}", "\n", "l1", "l2", ":", "send", "recv", "calc", "3", "0", "b", "to", "from", "tag", "-1", "cpu", "nic",
            "requires", "irequires", "//", "/*", "*/",
        ]), 0..60)
    ) {
        let _ = parse(words.join(" ").as_bytes());
    }

    #[test]
    fn a_damaged_schedule_gives_a_schedule_or_an_error(at in 0..EXAMPLE.len(), byte: u8, cut in 0..EXAMPLE.len()) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = parse(&bytes);
        let _ = parse(&bytes[..cut]);
    }

    #[test]
    fn a_damaged_binary_schedule_gives_a_schedule_or_an_error(at in 8..binary_example().len(), byte: u8, cut in 0..binary_example().len()) {
        let mut bytes = binary_example();
        bytes[at] = byte;
        let _ = parse_binary(&bytes);
        let _ = parse_binary(&bytes[..cut]);
    }
}
