//! Makes an answer small enough for a file: long lists lose their ends, and the answer says so.

use flate2::Compression;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::gzip::packed;

/// What a cut answer says of it: the lists that were cut, by name, and how long they were.
const NOTE: &str = "cut";
/// How long lists may be: the first that is short enough is taken.
const LENGTHS: [usize; 6] = [16_384, 4096, 1024, 256, 64, 16];

/// An answer that takes at most so many bytes when packed, as it would be served; `None` if it cannot be made that small.
pub fn to_fit(answer: Answer, most_packed: usize) -> Option<Vec<u8>> {
    let json = match &answer {
        Answer::Json(text) => Some(text.clone()),
        _ => None,
    };
    let whole = answer.into_bytes();
    if size(&whole) <= most_packed {
        return Some(whole);
    }
    let value: Value = serde_json::from_str(&json?).ok()?;
    let cut = |most: usize| cut(value.clone(), most).to_string().into_bytes();
    LENGTHS.into_iter().map(cut).find(|bytes| size(bytes) <= most_packed)
}

fn size(bytes: &[u8]) -> usize {
    packed(bytes, Compression::fast()).len()
}

/// The same with no list longer than that.
fn cut(mut value: Value, most: usize) -> Value {
    let mut lengths = Map::new();
    shorten(&mut value, "", most, &mut lengths);
    if let Value::Object(object) = &mut value
        && !lengths.is_empty()
    {
        object.insert(NOTE.to_owned(), Value::Object(lengths));
    }
    value
}

fn shorten(value: &mut Value, name: &str, most: usize, lengths: &mut Map<String, Value>) {
    match value {
        Value::Array(list) => {
            if list.len() > most {
                let longest = lengths.get(name).and_then(Value::as_u64).unwrap_or(0).max(list.len() as u64);
                lengths.insert(name.to_owned(), json!(longest));
                list.truncate(most);
            }
            list.iter_mut().for_each(|value| shorten(value, name, most, lengths));
        }
        Value::Object(object) => object.iter_mut().for_each(|(key, value)| {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            shorten(value, &name, most, lengths);
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        assert_eq!(to_fit(Answer::Json("{ \"a\": [1] }".into()), 1000), Some(b"{ \"a\": [1] }".to_vec()));
        let binary = Answer::Binary { header: "{}".into(), bytes: vec![7] };
        assert_eq!(to_fit(binary, 1000), Some(b"\x02\0\0\0{}\x07".to_vec()));
    }

    #[test]
    fn long_lists_lose_their_ends_and_it_is_told() {
        let value = json!({"pairs": (0..100).collect::<Vec<_>>(), "sites": [{"ranks": [1, 2, 3]}, {"ranks": [1]}], "name": "x"});
        let expected =
            json!({"pairs": [0, 1], "sites": [{"ranks": [1, 2]}, {"ranks": [1]}], "name": "x", "cut": {"pairs": 100, "sites.ranks": 3}});
        assert_eq!(cut(value, 2), expected);
    }

    #[test]
    fn an_answer_is_cut_until_it_fits_and_left_out_if_it_cannot() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 20
        };
        let long = json!({"list": (0..50_000).map(|_| next()).collect::<Vec<u64>>()}).to_string();
        let fitted = to_fit(Answer::Json(long.clone()), 20_000).unwrap();
        assert!(size(&fitted) <= 20_000);
        let kept: Value = serde_json::from_slice(&fitted).unwrap();
        assert_eq!((kept["list"].as_array().unwrap().len(), &kept["cut"]["list"]), (1024, &json!(50_000)));
        assert_eq!(to_fit(Answer::Json(long), 10), None);
        assert_eq!(to_fit(Answer::Binary { header: "{}".into(), bytes: (0..9999).map(|_| next() as u8).collect() }, 100), None);
    }
}
