//! Reads hostfiles (Open MPI), machinefiles (MPICH, Intel MPI), nodefiles (PBS) and rankfiles.

use std::ops::Range;
use std::path::Path;

use sintonia_text::source_pos::SourcePos;

use super::{HostSlotCounts, host_list};
use crate::cluster::Host;
use crate::launcher::error::HostFault;
use crate::launcher::{Error, HostSyntaxError};

/// The hosts of a file; repeated hosts add up their slots.
pub(super) fn read_hosts(path: &Path) -> Result<Vec<Host>, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
    let text = String::from_utf8_lossy(&bytes);
    let hosts = parse(&text).map_err(|(at, reason)| Error::Line { place: Box::new(SourcePos::from_span(path, &text, at)), reason })?;
    Ok(hosts.into_hosts())
}

fn parse(text: &str) -> Result<HostSlotCounts, HostFault> {
    let mut hosts = HostSlotCounts::default();
    let mut start = 0;
    for line in text.split('\n') {
        let end = start + line.find('#').unwrap_or(line.len());
        if !text[start..end].trim().is_empty() {
            parse_line(text, start..end, &mut hosts)?;
        }
        start += line.len() + 1;
    }
    Ok(hosts)
}

/// A line with a host: `host`, `host:4`, `host slots=4`, or of a rankfile `rank 0=host slot=1`. Other attributes are ignored.
fn parse_line(text: &str, line: Range<usize>, hosts: &mut HostSlotCounts) -> Result<(), HostFault> {
    let words = words(text, line.clone());
    let first = words[0].clone();
    if &text[first.clone()] == "rank" {
        let host = words.get(1).and_then(|word| text[word.clone()].split_once('=')).map(|(_, host)| host);
        let host =
            host.filter(|host| !host.is_empty()).ok_or_else(|| (line.clone(), HostSyntaxError::Rank(text[line].trim().to_owned())))?;
        hosts.add(host, 1);
        return Ok(());
    }
    let entries =
        host_list::parse_entries(&text[first.clone()]).map_err(|(at, reason)| (first.start + at.start..first.start + at.end, reason))?;
    let options =
        words[1..].iter().find_map(|word| slots_value(text, word.clone())).map(|at| host_list::parse_slots(text, at)).transpose()?;
    entries.iter().for_each(|entry| hosts.add(&entry.name, options.unwrap_or(entry.slots)));
    Ok(())
}

/// The position of the number of slots, if this word gives it.
fn slots_value(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let (name, _) = text[word.clone()].split_once('=')?;
    ["slots", "cpu", "count"].contains(&name.trim()).then_some(word.start + name.len() + 1..word.end)
}

/// The words of a non-empty line; spaces around `=` do not separate words.
fn words(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut at = line.start;
    for piece in text[line].split_inclusive(char::is_whitespace) {
        let word = at..at + piece.trim_end().len();
        at += piece.len();
        match words.last_mut() {
            _ if word.is_empty() => {}
            Some(last) if text[last.clone()].ends_with('=') || text[word.clone()].starts_with('=') => last.end = word.end,
            _ => words.push(word),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(String, u32)> {
        parse(text).expect(text).hosts
    }

    #[test]
    fn slots_may_be_told_in_every_launchers_way() {
        let expected = [("a".to_owned(), 4), ("b".to_owned(), 2)];
        for text in
            ["a slots=4\nb slots=2", "a:4\r\nb:2\r\n", "a cpu=4\n\n#\nb\nb", "a max_slots=9 slots = 4 # a\nb count =2", "a\na\nb\na\nb\na"]
        {
            assert_eq!(read(text), expected, "{text:?}");
        }
        assert_eq!(read(""), []);
    }

    #[test]
    fn a_line_of_a_rankfile_without_a_host_is_a_fault() {
        for text in ["rank 0", "rank", "rank 0="] {
            assert_eq!(parse(text).expect_err(text).1, HostSyntaxError::Rank(text.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_hosts_or_a_fault_within_it(text in r"[a-c0-9é:=#\[\],\- \t\r\nrankslot]{0,40}") {
            if let Err((at, _)) = parse(&text) {
                prop_assert!(at.start <= at.end && at.end <= text.len() && text.get(at).is_some());
            }
        }
    }
}
