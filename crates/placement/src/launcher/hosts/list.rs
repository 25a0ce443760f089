//! Lists of hosts on one line: names with commas between them, ranges of numbers in brackets, a number of slots behind a colon.

use std::collections::HashSet;
use std::ops::Range;

use crate::cluster::Host;
use crate::launcher::error::Fault;
use crate::launcher::launch::is_name;
use crate::launcher::{Error, Reason};

/// So many hosts a list has at most; a slip of the finger in a range should not fill the memory.
const MOST: usize = 1_000_000;

/// A host of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its number of slots, 1 unless told.
    pub slots: u32,
    /// Where in the list it stands.
    at: Range<usize>,
}

/// The hosts of `nodeA:4,nodeB,node[01-04]:8`, as a user tells them; 1 slot unless told. None may stand there twice.
pub fn parse_hosts(text: &str) -> Result<Vec<Host>, Error> {
    let fault = |fault: Fault| Error::in_list("--hosts", text, fault);
    let entries = entries(text).map_err(fault)?;
    let mut seen = HashSet::new();
    if let Some(entry) = entries.iter().find(|entry| !seen.insert(&entry.name)) {
        return Err(fault((entry.at.clone(), Reason::Twice(entry.name.clone()))));
    }
    Ok(entries.into_iter().map(|entry| Host::plain(entry.name, entry.slots)).collect())
}

/// The hosts of a list, in order; ranges become single hosts.
pub fn entries(text: &str) -> Result<Vec<Entry>, Fault> {
    let mut entries: Vec<Entry> = Vec::new();
    for part in parts(text)? {
        let whole = &text[part.clone()];
        let colon = whole.rfind(':').filter(|colon| !whole[*colon..].contains(']'));
        let names = part.start..colon.map_or(part.end, |colon| part.start + colon);
        let slots = match colon {
            Some(colon) => slots(text, part.start + colon + 1..part.end)?,
            None => 1,
        };
        let names = expanded(text, names)?;
        if slots == 0 {
            return Err((part.clone(), Reason::NoSlots(names.into_iter().next().unwrap_or_default())));
        }
        if entries.len() + names.len() > MOST {
            return Err((part, Reason::TooMany(MOST)));
        }
        entries.extend(names.into_iter().map(|name| Entry { name, slots, at: part.clone() }));
    }
    Ok(entries)
}

/// A number of slots.
pub fn slots(text: &str, at: Range<usize>) -> Result<u32, Fault> {
    let number = text[at.clone()].trim();
    number.parse().map_err(|_| (at, Reason::Slots(number.to_owned())))
}

/// The names that a name with ranges stands for: `n[1-2]x[07,09]` for four.
pub fn expanded(text: &str, at: Range<usize>) -> Result<Vec<String>, Fault> {
    let (start, whole) = (at.start, &text[at.clone()]);
    let trimmed = whole.trim();
    if trimmed.is_empty() {
        return Err((at, Reason::NoName));
    }
    let mut names = vec![String::new()];
    let mut rest = start + whole.len() - whole.trim_start().len()..start + whole.trim_end().len();
    while let Some(open) = text[rest.clone()].find('[') {
        let inside = rest.start + open + 1;
        let close = text[inside..rest.end].find(']').map(|close| inside + close).ok_or((at.clone(), Reason::Bracket))?;
        let endings = numbers(text, inside..close)?;
        if names.len().saturating_mul(endings.len()) > MOST {
            return Err((at, Reason::TooMany(MOST)));
        }
        let before = &text[rest.start..rest.start + open];
        names = names.iter().flat_map(|name| endings.iter().map(move |ending| format!("{name}{before}{ending}"))).collect();
        rest.start = close + 1;
    }
    names.iter_mut().for_each(|name| name.push_str(&text[rest.clone()]));
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err((at, Reason::Name(name.clone()))),
        None => Ok(names),
    }
}

/// The numbers of `01-04,07`, as wide as they are written.
fn numbers(text: &str, at: Range<usize>) -> Result<Vec<String>, Fault> {
    let mut numbers = Vec::new();
    let mut start = at.start;
    for range in text[at.clone()].split(',') {
        let here = start..start + range.len();
        start = here.end + 1;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |digits: &str| digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let Some((from, to)) = number(first).zip(number(last)).filter(|(from, to)| from <= to) else {
            return Err((here, Reason::Range(range.to_owned())));
        };
        if to - from >= MOST as u64 || numbers.len() + (to - from) as usize >= MOST {
            return Err((here, Reason::TooMany(MOST)));
        }
        numbers.extend((from..=to).map(|value| format!("{value:0width$}", width = first.len())));
    }
    Ok(numbers)
}

/// What stands between commas that are not in brackets.
pub fn parts(text: &str) -> Result<Vec<Range<usize>>, Fault> {
    let mut parts = Vec::new();
    let (mut start, mut open) = (0, None);
    for (at, letter) in text.char_indices() {
        match (letter, open) {
            ('[', None) => open = Some(at),
            (']', Some(_)) => open = None,
            ('[' | ']', _) => return Err((at..at + 1, Reason::Bracket)),
            (',', None) => {
                parts.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    match open {
        Some(at) => Err((at..at + 1, Reason::Bracket)),
        None => {
            parts.push(start..text.len());
            Ok(parts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(text: &str) -> String {
        parse_hosts(text).expect_err(text).to_string().lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn ranges_keep_their_width_and_may_be_several() {
        let names = |text: &str| entries(text).expect(text).into_iter().map(|entry| entry.name).collect::<Vec<_>>();
        assert_eq!(names("n[08-11]"), ["n08", "n09", "n10", "n11"]);
        assert_eq!(names("n[1,3-4]b"), ["n1b", "n3b", "n4b"]);
        assert_eq!(names("r[1-2]n[0-1]"), ["r1n0", "r1n1", "r2n0", "r2n1"]);
        assert_eq!(names("a, b.c-d_e"), ["a", "b.c-d_e"]);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_the_character() {
        assert_eq!(fault(""), "--hosts, character 1: the name of a host is missing");
        assert_eq!(fault("a,,b"), "--hosts, character 3: the name of a host is missing");
        assert_eq!(fault("a:4,b:"), "--hosts, character 7: `` is not a number of slots");
        assert_eq!(fault("a:-1"), "--hosts, character 3: `-1` is not a number of slots");
        assert_eq!(fault("a:4,b:0"), "--hosts, character 5: host `b` has no slots");
        assert_eq!(fault("a:4,n[1-3],n2:1"), "--hosts, character 12: host `n2` stands here twice; give all its slots at once");
        assert_eq!(fault("n[4-2]"), "--hosts, character 3: `4-2` is not a range of numbers such as 01-04");
        assert_eq!(fault("n[1-x]"), "--hosts, character 3: `1-x` is not a range of numbers such as 01-04");
        assert_eq!(fault("n[1-3"), "--hosts, character 2: a bracket has no partner");
        assert_eq!(fault("n1-3]"), "--hosts, character 5: a bracket has no partner");
        assert_eq!(fault("n[0-99999999999]"), "--hosts, character 3: these are more than 1000000 hosts");
        assert_eq!(fault("n[0-9999]m[0-9999]"), "--hosts, character 1: these are more than 1000000 hosts");
        assert!(fault("a b").starts_with("--hosts, character 1: `a b` is not the name of a host"));
    }

    proptest! {
        #[test]
        fn any_text_gives_hosts_or_an_error(text in r"[a-b0-9é:,\[\]\- ]{0,24}") {
            if let Ok(hosts) = parse_hosts(&text) {
                prop_assert!(!hosts.is_empty() && hosts.iter().all(|host| host.slots > 0 && is_name(&host.name)));
            }
        }

        #[test]
        fn hosts_read_back_as_they_were_written(hosts in proptest::collection::btree_map("[a-z][a-z0-9.-]{0,6}", 1u32..999, 1..6)) {
            let text = hosts.iter().map(|(name, slots)| format!("{name}:{slots}")).collect::<Vec<_>>().join(",");
            let back = parse_hosts(&text).expect("a list").into_iter().map(|host| (host.name, host.slots)).collect();
            prop_assert_eq!(hosts, back);
        }
    }
}
