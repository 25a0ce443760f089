//! Files of hosts: what Open MPI calls a hostfile, MPICH and Intel MPI a machinefile, PBS a nodefile, and rankfiles.

use std::ops::Range;
use std::path::Path;

use sintonia_text::place::Place;

use super::{Counted, list};
use crate::cluster::Host;
use crate::launcher::error::Fault;
use crate::launcher::{Error, Reason};

/// The hosts of a file; slots of a host that stands there several times are added up.
pub fn hosts(path: &Path) -> Result<Vec<Host>, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
    let text = String::from_utf8_lossy(&bytes);
    let hosts = parsed(&text).map_err(|(at, reason)| Error::Line { place: Box::new(Place::of(path, &text, at)), reason })?;
    Ok(hosts.hosts())
}

fn parsed(text: &str) -> Result<Counted, Fault> {
    let mut hosts = Counted::default();
    let mut start = 0;
    for line in text.split('\n') {
        let end = start + line.find('#').unwrap_or(line.len());
        if !text[start..end].trim().is_empty() {
            read_line(text, start..end, &mut hosts)?;
        }
        start += line.len() + 1;
    }
    Ok(hosts)
}

/// A line with a host: `host`, `host:4`, `host slots=4`, or of a rankfile `rank 0=host slot=1`. What else is said of it does not matter here.
fn read_line(text: &str, line: Range<usize>, hosts: &mut Counted) -> Result<(), Fault> {
    let words = words(text, line.clone());
    let first = words[0].clone();
    if &text[first.clone()] == "rank" {
        let host = words.get(1).and_then(|word| text[word.clone()].split_once('=')).map(|(_, host)| host);
        let host = host.filter(|host| !host.is_empty()).ok_or_else(|| (line.clone(), Reason::Rank(text[line].trim().to_owned())))?;
        hosts.add(host, 1);
        return Ok(());
    }
    let entries = list::entries(&text[first.clone()]).map_err(|(at, reason)| (first.start + at.start..first.start + at.end, reason))?;
    let told = words[1..].iter().find_map(|word| value(text, word.clone())).map(|at| list::slots(text, at)).transpose()?;
    entries.iter().for_each(|entry| hosts.add(&entry.name, told.unwrap_or(entry.slots)));
    Ok(())
}

/// Where the number of slots stands in a word that tells it.
fn value(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let (name, _) = text[word.clone()].split_once('=')?;
    ["slots", "cpu", "count"].contains(&name.trim()).then_some(word.start + name.len() + 1..word.end)
}

/// The words of a line that has some; spaces around `=` do not end one.
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
        parsed(text).expect(text).hosts
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
            assert_eq!(parsed(text).expect_err(text).1, Reason::Rank(text.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_hosts_or_a_fault_within_it(text in r"[a-c0-9é:=#\[\],\- \t\r\nrankslot]{0,40}") {
            if let Err((at, _)) = parsed(&text) {
                prop_assert!(at.start <= at.end && at.end <= text.len() && text.get(at).is_some());
            }
        }
    }
}
