//! Parses host lists: names separated by commas, numeric ranges in brackets, a number of slots after a colon.

use std::collections::HashSet;
use std::ops::Range;

use crate::cluster::Host;
use crate::launcher::error::HostFault;
use crate::launcher::placement_launch::is_host_name;
use crate::launcher::{Error, HostSyntaxError};

/// Maximum number of hosts, so that a typo in a range does not exhaust memory.
const MAX_HOSTS: usize = 1_000_000;

/// A host of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HostListEntry {
    /// Its name.
    pub name: String,
    /// Its number of slots (default 1).
    pub slots: u32,
    /// Its position in the list.
    span: Range<usize>,
}

/// The hosts of `nodeA:4,nodeB,node[01-04]:8`, given by the user; 1 slot by default. Each may appear once.
pub fn parse_hosts(text: &str) -> Result<Vec<Host>, Error> {
    let fault = |fault: HostFault| Error::in_list("--hosts", text, fault);
    let entries = parse_entries(text).map_err(fault)?;
    let mut seen = HashSet::new();
    if let Some(entry) = entries.iter().find(|entry| !seen.insert(&entry.name)) {
        return Err(fault((entry.span.clone(), HostSyntaxError::Twice(entry.name.clone()))));
    }
    Ok(entries.into_iter().map(|entry| Host::new(entry.name, entry.slots)).collect())
}

/// The hosts of a list, in order, with ranges expanded.
pub(super) fn parse_entries(text: &str) -> Result<Vec<HostListEntry>, HostFault> {
    let mut entries: Vec<HostListEntry> = Vec::new();
    for part in split_commas(text)? {
        let whole = &text[part.clone()];
        let colon = whole.rfind(':').filter(|colon| !whole[*colon..].contains(']'));
        let names = part.start..colon.map_or(part.end, |colon| part.start + colon);
        let slots = match colon {
            Some(colon) => parse_slots(text, part.start + colon + 1..part.end)?,
            None => 1,
        };
        let names = expand_names(text, names)?;
        if slots == 0 {
            return Err((part.clone(), HostSyntaxError::NoSlots(names.into_iter().next().unwrap_or_default())));
        }
        if entries.len() + names.len() > MAX_HOSTS {
            return Err((part, HostSyntaxError::TooMany(MAX_HOSTS)));
        }
        entries.extend(names.into_iter().map(|name| HostListEntry { name, slots, span: part.clone() }));
    }
    Ok(entries)
}

/// A number of slots.
pub(super) fn parse_slots(text: &str, at: Range<usize>) -> Result<u32, HostFault> {
    let number = text[at.clone()].trim();
    number.parse().map_err(|_| (at, HostSyntaxError::Slots(number.to_owned())))
}

/// Expands the ranges of a name: `n[1-2]x[07,09]` gives four names.
pub(super) fn expand_names(text: &str, at: Range<usize>) -> Result<Vec<String>, HostFault> {
    let (start, whole) = (at.start, &text[at.clone()]);
    let trimmed = whole.trim();
    if trimmed.is_empty() {
        return Err((at, HostSyntaxError::NoName));
    }
    let mut names = vec![String::new()];
    let mut rest = start + whole.len() - whole.trim_start().len()..start + whole.trim_end().len();
    while let Some(open) = text[rest.clone()].find('[') {
        let inside = rest.start + open + 1;
        let close = text[inside..rest.end].find(']').map(|close| inside + close).ok_or((at.clone(), HostSyntaxError::Bracket))?;
        let endings = expand_ranges(text, inside..close)?;
        if names.len().saturating_mul(endings.len()) > MAX_HOSTS {
            return Err((at, HostSyntaxError::TooMany(MAX_HOSTS)));
        }
        let before = &text[rest.start..rest.start + open];
        names = names.iter().flat_map(|name| endings.iter().map(move |ending| format!("{name}{before}{ending}"))).collect();
        rest.start = close + 1;
    }
    names.iter_mut().for_each(|name| name.push_str(&text[rest.clone()]));
    match names.iter().find(|name| !is_host_name(name)) {
        Some(name) => Err((at, HostSyntaxError::Name(name.clone()))),
        None => Ok(names),
    }
}

/// The numbers of `01-04,07`, with leading zeros.
fn expand_ranges(text: &str, at: Range<usize>) -> Result<Vec<String>, HostFault> {
    let mut numbers = Vec::new();
    let mut start = at.start;
    for range in text[at.clone()].split(',') {
        let here = start..start + range.len();
        start = here.end + 1;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |digits: &str| digits.parse::<u64>().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let Some((from, to)) = number(first).zip(number(last)).filter(|(from, to)| from <= to) else {
            return Err((here, HostSyntaxError::Range(range.to_owned())));
        };
        if to - from >= MAX_HOSTS as u64 || numbers.len() + (to - from) as usize >= MAX_HOSTS {
            return Err((here, HostSyntaxError::TooMany(MAX_HOSTS)));
        }
        numbers.extend((from..=to).map(|value| format!("{value:0width$}", width = first.len())));
    }
    Ok(numbers)
}

/// The byte ranges between commas outside brackets.
pub(super) fn split_commas(text: &str) -> Result<Vec<Range<usize>>, HostFault> {
    let mut parts = Vec::new();
    let (mut start, mut open) = (0, None);
    for (at, character) in text.char_indices() {
        match (character, open) {
            ('[', None) => open = Some(at),
            (']', Some(_)) => open = None,
            ('[' | ']', _) => return Err((at..at + 1, HostSyntaxError::Bracket)),
            (',', None) => {
                parts.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    match open {
        Some(at) => Err((at..at + 1, HostSyntaxError::Bracket)),
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
        let names = |text: &str| parse_entries(text).expect(text).into_iter().map(|entry| entry.name).collect::<Vec<_>>();
        assert_eq!(names("n[08-11]"), ["n08", "n09", "n10", "n11"]);
        assert_eq!(names("n[1,3-4]b"), ["n1b", "n3b", "n4b"]);
        assert_eq!(names("r[1-2]n[0-1]"), ["r1n0", "r1n1", "r2n0", "r2n1"]);
        assert_eq!(names("a, b.c-d_e"), ["a", "b.c-d_e"]);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_the_character() {
        assert_eq!(fault(""), "--hosts, character 1: missing host name");
        assert_eq!(fault("a,,b"), "--hosts, character 3: missing host name");
        assert_eq!(fault("a:4,b:"), "--hosts, character 7: `` is not a number of slots");
        assert_eq!(fault("a:-1"), "--hosts, character 3: `-1` is not a number of slots");
        assert_eq!(fault("a:4,b:0"), "--hosts, character 5: host `b` has no slots");
        assert_eq!(fault("a:4,n[1-3],n2:1"), "--hosts, character 12: host `n2` is listed twice; give all its slots at once");
        assert_eq!(fault("n[4-2]"), "--hosts, character 3: `4-2` is not a range of numbers such as 01-04");
        assert_eq!(fault("n[1-x]"), "--hosts, character 3: `1-x` is not a range of numbers such as 01-04");
        assert_eq!(fault("n[1-3"), "--hosts, character 2: unbalanced bracket");
        assert_eq!(fault("n1-3]"), "--hosts, character 5: unbalanced bracket");
        assert_eq!(fault("n[0-99999999999]"), "--hosts, character 3: more than 1000000 hosts");
        assert_eq!(fault("n[0-9999]m[0-9999]"), "--hosts, character 1: more than 1000000 hosts");
        assert!(fault("a b").starts_with("--hosts, character 1: `a b` is not a host name"));
    }

    proptest! {
        #[test]
        fn any_text_gives_hosts_or_an_error(text in r"[a-b0-9é:,\[\]\- ]{0,24}") {
            if let Ok(hosts) = parse_hosts(&text) {
                prop_assert!(!hosts.is_empty() && hosts.iter().all(|host| host.slots > 0 && is_host_name(&host.name)));
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
