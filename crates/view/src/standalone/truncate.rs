//! Truncates answers for the standalone file. A truncated answer lists the lists concerned.
//!
//! Lists whose entries are referred to by index are never truncated. An answer that is still too long is omitted.

use flate2::Compression;
use serde_json::{Map, Value, json};

use crate::answer::QueryAnswer;
use crate::gzip::compress;

/// Key of the truncated lists in an answer, with their full lengths.
const TRUNCATED_KEY: &str = "cut";
/// List lengths to try, in this order.
const MAX_LENGTHS: [usize; 6] = [16_384, 4096, 1024, 256, 64, 16];

/// Lists that may be truncated, by subject; `phases.ranks` is the list `ranks` of each phase. Columns of a table keep equal lengths.
const TRUNCATABLE_LISTS: &[(&str, &[&str])] = &[
    ("about", &["recordings.command", "recordings.incomplete"]),
    (
        "report",
        &[
            "command",
            "host_descriptions",
            "resources",
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
            "core_delays",
            "critical_path.segments",
            "critical_path.calls",
            "critical_path.ranks",
            "tuning",
            "openmp.regions",
            "openmp.per_rank",
            "files",
            "files.ranks",
            "files.call_sites",
            "counters.ranks",
            "counters.segments",
            "counters.functions",
        ],
    ),
    ("program", &["command", "messages", "completions", "one_operation", "phases.ranks", "roles.segments"]),
    ("communication", &["from", "to", "bytes", "messages", "seconds"]),
    ("replay", &["per_rank", "call_sites"]),
    ("placement", &["links.busiest"]),
    ("tuning", &["entries"]),
];

/// The serialized answer, truncated to a compressed size; `None` if that is not possible.
pub(super) fn truncate_to_fit(subject: &str, answer: QueryAnswer, max_gzip_bytes: usize) -> Option<Vec<u8>> {
    let json = match &answer {
        QueryAnswer::Json(text) => Some(text.clone()),
        _ => None,
    };
    let whole = answer.into_bytes();
    if gzip_size(&whole) <= max_gzip_bytes {
        return Some(whole);
    }
    let lists = truncatable_lists(subject)?;
    let value: Value = serde_json::from_str(&json?).ok()?;
    let cut = |max_length: usize| truncate_lists(value.clone(), lists, max_length).to_string().into_bytes();
    MAX_LENGTHS.into_iter().map(cut).find(|bytes| gzip_size(bytes) <= max_gzip_bytes)
}

fn truncatable_lists(subject: &str) -> Option<&'static [&'static str]> {
    TRUNCATABLE_LISTS.iter().find(|(name, _)| *name == subject).map(|(_, lists)| *lists)
}

/// Compressed size.
pub(super) fn gzip_size(bytes: &[u8]) -> usize {
    compress(bytes, Compression::fast()).len()
}

/// Truncates lists to a length and notes their full lengths.
fn truncate_lists(mut value: Value, lists: &[&str], max_length: usize) -> Value {
    let mut lengths = Map::new();
    for list in lists {
        let longest = truncate_list(&mut value, list, max_length);
        if longest > max_length {
            lengths.insert((*list).to_owned(), json!(longest));
        }
    }
    if let Value::Object(object) = &mut value
        && !lengths.is_empty()
    {
        object.insert(TRUNCATED_KEY.to_owned(), Value::Object(lengths));
    }
    value
}

/// Truncates a list, in every entry of the lists on its path. Returns the maximum length before.
fn truncate_list(value: &mut Value, list: &str, max_length: usize) -> usize {
    match value {
        Value::Array(entries) if list.is_empty() => {
            let length = entries.len();
            entries.truncate(max_length);
            length
        }
        Value::Array(entries) => entries.iter_mut().map(|entry| truncate_list(entry, list, max_length)).max().unwrap_or(0),
        Value::Object(object) => {
            let (name, rest) = list.split_once('.').unwrap_or((list, ""));
            object.get_mut(name).map_or(0, |value| truncate_list(value, rest, max_length))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random answers, the same in every run.
    struct Random(fastrand::Rng);

    impl Random {
        fn new(seed: u64) -> Random {
            Random(fastrand::Rng::with_seed(seed))
        }

        fn below(&mut self, end: usize) -> usize {
            self.0.usize(..end)
        }

        fn list(&mut self, length: usize, mut entry: impl FnMut(&mut Random) -> Value) -> Value {
            (0..length).map(|_| entry(self)).collect()
        }
    }

    #[test]
    fn answers_that_fit_are_unchanged() {
        assert_eq!(truncate_to_fit("report", QueryAnswer::Json("{ \"a\": [1] }".into()), 1000), Some(b"{ \"a\": [1] }".to_vec()));
        let binary = QueryAnswer::Binary { header: "{}".into(), bytes: vec![7] };
        assert_eq!(truncate_to_fit("timeline", binary, 1000), Some(b"\x02\0\0\0{}\x07".to_vec()));
    }

    #[test]
    fn long_lists_are_truncated_and_noted() {
        let pairs: Vec<u32> = (0..100).collect();
        let value = json!({"pairs": pairs, "sites": [{"ranks": [1, 2, 3]}, {"ranks": [1]}], "of": {"all": [1, 2, 3]}, "kept": [1, 2, 3]});
        let expected = json!({
            "pairs": [0, 1], "sites": [{"ranks": [1, 2]}, {"ranks": [1]}], "of": {"all": [1, 2]}, "kept": [1, 2, 3],
            "cut": {"pairs": 100, "sites.ranks": 3, "of.all": 3},
        });
        assert_eq!(truncate_lists(value, &["pairs", "sites.ranks", "of.all", "not.there"], 2), expected);
    }

    #[test]
    fn an_answer_is_truncated_until_it_fits_or_omitted() {
        let mut random = Random::new(1);
        let long = json!({"entries": random.list(50_000, |random| json!(random.below(1 << 40)))}).to_string();
        let fitted = truncate_to_fit("tuning", QueryAnswer::Json(long.clone()), 20_000).unwrap();
        assert!(gzip_size(&fitted) <= 20_000);
        let kept: Value = serde_json::from_slice(&fitted).unwrap();
        assert_eq!((kept["entries"].as_array().unwrap().len(), &kept["cut"]["entries"]), (1024, &json!(50_000)));
        assert_eq!(truncate_to_fit("tuning", QueryAnswer::Json(long.clone()), 10), None);
        assert_eq!(truncate_to_fit("scaling", QueryAnswer::Json(long), 20_000), None, "nothing of it may be cut");
        let bytes = (0..9999).map(|_| random.below(256) as u8).collect();
        assert_eq!(truncate_to_fit("timeline", QueryAnswer::Binary { header: "{}".into(), bytes }, 100), None);
    }

    /// Fields that are indices, and the lists they refer to.
    const REFERENCES_BY_INDEX: &[(&str, &[(&str, &str)])] = &[
        (
            "program",
            &[
                ("loops.header", "nodes"),
                ("scopes.nodes", "nodes"),
                ("scopes.parent", "scopes"),
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

    /// A large answer with the index references of a real one.
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
                "scopes": random.list(MANY, |random| json!({"parent": number(random), "nodes": [number(random)]})),
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

    /// All values at a path: `roles.nodes.node` is the `node` of each of the `nodes` of each of the `roles`.
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
    fn index_references_stay_valid_after_truncation() {
        let mut random = Random::new(7);
        for (subject, numbers) in REFERENCES_BY_INDEX {
            let whole = large(subject, &mut random);
            let cuts = MAX_LENGTHS.map(|max_length| truncate_lists(whole.clone(), truncatable_lists(subject).unwrap(), max_length));
            assert!(cuts.iter().any(|cut| cut[TRUNCATED_KEY].is_object()), "{subject} can be cut");
            for cut in cuts {
                for (number, list) in *numbers {
                    let length = at(&cut, list).len();
                    let found = at(&cut, number).into_iter().all(|number| number.as_u64().is_some_and(|number| (number as usize) < length));
                    assert!(found, "{subject}: {number} in {list}, where {} was cut", cut[TRUNCATED_KEY]);
                    assert_eq!(length, at(&whole, list).len(), "{subject}: {list}");
                }
            }
        }
    }

    #[test]
    fn columns_of_a_table_keep_equal_lengths() {
        let whole = large("communication", &mut Random::new(3)).to_string();
        let cut: Value = serde_json::from_slice(&truncate_to_fit("communication", QueryAnswer::Json(whole), 5000).unwrap()).unwrap();
        let lengths = ["from", "to", "bytes", "messages", "seconds"].map(|column| cut[column].as_array().unwrap().len());
        assert!(lengths.iter().all(|length| *length == lengths[0] && *length < 2000), "{lengths:?}");
        assert_eq!(cut["labels"].as_array().unwrap().len(), cut["ranks"].as_array().unwrap().len());
    }
}
