//! Makes an answer small enough for a file: long lists lose their ends, and the answer says so.
//!
//! Only lists whose entries nothing names by number are cut: whatever says "node 5000" must find it. An answer that is still too long is
//! left out.

use flate2::Compression;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::gzip::packed;

/// What a cut answer says of it: the lists that were cut, by name, and how long they were.
const NOTE: &str = "cut";
/// How long lists may be: the first that is short enough is taken.
const LENGTHS: [usize; 6] = [16_384, 4096, 1024, 256, 64, 16];

/// The lists that can be cut, by subject; `phases.ranks` is the list `ranks` of each phase. Columns of one table are of one length, before
/// and after.
const CAN_BE_CUT: &[(&str, &[&str])] = &[
    ("about", &["recordings.command", "recordings.incomplete"]),
    (
        "report",
        &[
            "command",
            "per_rank",
            "operations",
            "call_sites",
            "pairs",
            "unfinished",
            "incomplete",
            "incomplete_ranks",
            "wait_states",
            "wait_states.ranks",
            "wait_states.waited_for",
            "root_causes",
            "root_causes.ranks",
            "critical_path.segments",
            "critical_path.calls",
            "critical_path.ranks",
            "tuning",
        ],
    ),
    ("program", &["command", "messages", "completions", "one_operation", "phases.ranks", "roles.segments"]),
    ("communication", &["from", "to", "bytes", "messages", "seconds"]),
    ("replay", &["per_rank", "call_sites"]),
    ("placement", &["links.busiest"]),
    ("tuning", &["entries"]),
];

/// The answer about a subject in at most so many bytes when packed, as it would be served; `None` if it cannot be made that small.
pub fn to_fit(subject: &str, answer: Answer, most_packed: usize) -> Option<Vec<u8>> {
    let json = match &answer {
        Answer::Json(text) => Some(text.clone()),
        _ => None,
    };
    let whole = answer.into_bytes();
    if size(&whole) <= most_packed {
        return Some(whole);
    }
    let lists = lists(subject)?;
    let value: Value = serde_json::from_str(&json?).ok()?;
    let cut = |most: usize| cut(value.clone(), lists, most).to_string().into_bytes();
    LENGTHS.into_iter().map(cut).find(|bytes| size(bytes) <= most_packed)
}

/// The lists of a subject that can be cut.
fn lists(subject: &str) -> Option<&'static [&'static str]> {
    CAN_BE_CUT.iter().find(|(name, _)| *name == subject).map(|(_, lists)| *lists)
}

/// How many bytes these take when packed.
pub fn size(bytes: &[u8]) -> usize {
    packed(bytes, Compression::fast()).len()
}

/// The same with none of these lists longer than that.
fn cut(mut value: Value, lists: &[&str], most: usize) -> Value {
    let mut lengths = Map::new();
    for list in lists {
        let longest = shorten(&mut value, list, most);
        if longest > most {
            lengths.insert((*list).to_owned(), json!(longest));
        }
    }
    if let Value::Object(object) = &mut value
        && !lengths.is_empty()
    {
        object.insert(NOTE.to_owned(), Value::Object(lengths));
    }
    value
}

/// Cuts a list, in every entry of the lists on the way to it; how long the longest was.
fn shorten(value: &mut Value, list: &str, most: usize) -> usize {
    match value {
        Value::Array(entries) if list.is_empty() => {
            let length = entries.len();
            entries.truncate(most);
            length
        }
        Value::Array(entries) => entries.iter_mut().map(|entry| shorten(entry, list, most)).max().unwrap_or(0),
        Value::Object(object) => {
            let (name, rest) = list.split_once('.').unwrap_or((list, ""));
            object.get_mut(name).map_or(0, |value| shorten(value, rest, most))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same each time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 20) as usize % end
        }

        fn list(&mut self, length: usize, mut entry: impl FnMut(&mut Random) -> Value) -> Value {
            (0..length).map(|_| entry(self)).collect()
        }
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        assert_eq!(to_fit("report", Answer::Json("{ \"a\": [1] }".into()), 1000), Some(b"{ \"a\": [1] }".to_vec()));
        let binary = Answer::Binary { header: "{}".into(), bytes: vec![7] };
        assert_eq!(to_fit("timeline", binary, 1000), Some(b"\x02\0\0\0{}\x07".to_vec()));
    }

    #[test]
    fn long_lists_lose_their_ends_and_it_is_told() {
        let pairs: Vec<u32> = (0..100).collect();
        let value = json!({"pairs": pairs, "sites": [{"ranks": [1, 2, 3]}, {"ranks": [1]}], "of": {"all": [1, 2, 3]}, "kept": [1, 2, 3]});
        let expected = json!({
            "pairs": [0, 1], "sites": [{"ranks": [1, 2]}, {"ranks": [1]}], "of": {"all": [1, 2]}, "kept": [1, 2, 3],
            "cut": {"pairs": 100, "sites.ranks": 3, "of.all": 3},
        });
        assert_eq!(cut(value, &["pairs", "sites.ranks", "of.all", "not.there"], 2), expected);
    }

    #[test]
    fn an_answer_is_cut_until_it_fits_and_left_out_if_it_cannot() {
        let mut random = Random(1);
        let long = json!({"entries": random.list(50_000, |random| json!(random.below(1 << 40)))}).to_string();
        let fitted = to_fit("tuning", Answer::Json(long.clone()), 20_000).unwrap();
        assert!(size(&fitted) <= 20_000);
        let kept: Value = serde_json::from_slice(&fitted).unwrap();
        assert_eq!((kept["entries"].as_array().unwrap().len(), &kept["cut"]["entries"]), (1024, &json!(50_000)));
        assert_eq!(to_fit("tuning", Answer::Json(long.clone()), 10), None);
        assert_eq!(to_fit("scaling", Answer::Json(long), 20_000), None, "nothing of it may be cut");
        let bytes = (0..9999).map(|_| random.below(256) as u8).collect();
        assert_eq!(to_fit("timeline", Answer::Binary { header: "{}".into(), bytes }, 100), None);
    }

    /// Numbers that name something, and the list that it is in.
    const NAMED_BY_NUMBER: &[(&str, &[(&str, &str)])] = &[
        (
            "program",
            &[
                ("loops.header", "nodes"),
                ("loops.nodes", "nodes"),
                ("loops.parent", "loops"),
                ("roles.nodes.node", "nodes"),
                ("roles.segments.from", "nodes"),
                ("roles.segments.to", "nodes"),
                ("roles.loops.loop", "loops"),
                ("messages.from.node", "nodes"),
                ("messages.to.role", "roles"),
                ("completions.begin", "nodes"),
                ("one_operation", "nodes"),
                ("phases.nodes", "nodes"),
                ("phases.parent", "phases"),
            ],
        ),
        ("communication", &[("from", "labels"), ("to", "labels")]),
        ("about", &[("recordings.host_of", "recordings.hosts")]),
        ("report", &[("phases.part_of", "phases")]),
    ];

    /// A large answer, of the shape of a real one as far as numbers name something in it.
    fn large(subject: &str, random: &mut Random) -> Value {
        const MANY: usize = 500;
        let name = |random: &mut Random| json!(format!("{:x}", random.below(1 << 40)));
        let number = |random: &mut Random| json!(random.below(MANY));
        match subject {
            "program" => json!({
                "nodes": random.list(MANY, |random| json!({"operation": name(random)})),
                "loops": random.list(MANY, |random| json!({"header": number(random), "parent": number(random), "nodes": [number(random)]})),
                "roles": random.list(20, |random| json!({
                    "ranks": random.list(100, number),
                    "nodes": random.list(50, |random| json!({"node": number(random)})),
                    "segments": random.list(50, |random| json!({"from": number(random), "to": number(random)})),
                    "loops": random.list(50, |random| json!({"loop": number(random)})),
                })),
                "messages": random.list(2000, |random| json!({"from": {"node": number(random)}, "to": {"role": random.below(20)}})),
                "completions": random.list(MANY, |random| json!({"begin": number(random)})),
                "one_operation": random.list(MANY, |random| random.list(3, number)),
                "phases": random.list(30, |random| json!({
                    "parent": random.below(30), "nodes": random.list(20, number),
                    "ranks": random.list(100, |random| json!({"rank": number(random)})),
                })),
            }),
            "communication" => json!({
                "labels": random.list(128, name), "ranks": random.list(128, name),
                "from": random.list(2000, |random| json!(random.below(128))), "to": random.list(2000, |random| json!(random.below(128))),
                "bytes": random.list(2000, number), "messages": random.list(2000, number), "seconds": random.list(2000, number),
            }),
            "about" => json!({"recordings": random.list(3, |random| json!({
                "command": random.list(900, name), "hosts": random.list(50, name),
                "host_of": random.list(MANY, |random| json!(random.below(50))),
                "sites": random.list(MANY, name),
                "incomplete": random.list(2000, |random| json!({"rank": number(random), "why": name(random)})),
            }))}),
            "report" => json!({
                "pairs": random.list(2000, |random| json!({"from": number(random)})),
                "phases": random.list(30, |random| json!({"part_of": random.below(30)})),
            }),
            other => panic!("{other}"),
        }
    }

    /// Everything at a path: `roles.nodes.node` is the `node` of each of the `nodes` of each of the `roles`.
    fn at<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
        match value {
            Value::Array(entries) => entries.iter().flat_map(|entry| at(entry, path)).collect(),
            _ if path.is_empty() => vec![value],
            _ => {
                let (name, rest) = path.split_once('.').unwrap_or((path, ""));
                at(&value[name], rest)
            }
        }
    }

    #[test]
    fn numbers_that_name_something_find_it_however_much_was_cut() {
        let mut random = Random(7);
        for (subject, numbers) in NAMED_BY_NUMBER {
            let whole = large(subject, &mut random);
            let cuts = LENGTHS.map(|most| cut(whole.clone(), lists(subject).unwrap(), most));
            assert!(cuts.iter().any(|cut| cut[NOTE].is_object()), "{subject} can be cut");
            for cut in cuts {
                for (number, list) in *numbers {
                    let length = at(&cut, list).len();
                    let found = at(&cut, number).into_iter().all(|number| number.as_u64().is_some_and(|number| (number as usize) < length));
                    assert!(found, "{subject}: {number} in {list}, where {} was cut", cut[NOTE]);
                    assert_eq!(length, at(&whole, list).len(), "{subject}: {list}");
                }
            }
        }
    }

    #[test]
    fn columns_of_a_table_stay_of_one_length() {
        let whole = large("communication", &mut Random(3)).to_string();
        let cut: Value = serde_json::from_slice(&to_fit("communication", Answer::Json(whole), 5000).unwrap()).unwrap();
        let lengths = ["from", "to", "bytes", "messages", "seconds"].map(|column| cut[column].as_array().unwrap().len());
        assert!(lengths.iter().all(|length| *length == lengths[0] && *length < 2000), "{lengths:?}");
        assert_eq!(cut["labels"].as_array().unwrap().len(), cut["ranks"].as_array().unwrap().len());
    }
}
