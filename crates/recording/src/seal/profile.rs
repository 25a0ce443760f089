//! The sums of a thread that did not record every call.

use std::fs;
use std::path::Path;

use crate::error::{At, Error};
use crate::raw::{PROFILE_MAGIC, profile};
use crate::seal::stream::Survey;
use crate::seal::translate::Translator;
use crate::sealed::{Sums, Writer, Written};
use crate::table::Shape;

/// The sums of one thread.
pub struct Profile {
    thread: u16,
    entries: Vec<[u64; profile::ENTRY_WORDS]>,
    /// What they hold together.
    pub survey: Survey,
}

impl Profile {
    /// Reads the sums of a thread; a file that is none counts as damaged.
    pub fn read(thread: u16, path: &Path) -> Result<Profile, Error> {
        let bytes = fs::read(path).at(path)?;
        let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect();
        let Some((header, entries)) = words.split_first_chunk::<{ profile::HEADER_WORDS }>().filter(|(h, _)| h[0] == PROFILE_MAGIC) else {
            return Ok(Profile { thread, entries: Vec::new(), survey: Survey { damaged: 1, ..Survey::default() } });
        };
        let entries: Vec<[u64; profile::ENTRY_WORDS]> =
            entries.chunks_exact(profile::ENTRY_WORDS).filter_map(|entry| entry.try_into().ok()).filter(used).collect();
        let [_, _, first, last, dropped, ticks, nanoseconds, _] = *header;
        let survey = Survey {
            calls: entries.iter().fold(0, |sum, entry| entry[profile::CALLS].saturating_add(sum)),
            first: (!entries.is_empty()).then_some(first),
            last,
            dropped,
            anchors: Some([(ticks, nanoseconds); 2]),
            sites: entries.iter().map(|entry| entry[profile::SITE]).collect(),
            ..Survey::default()
        };
        Ok(Profile { thread, entries, survey })
    }
}

fn used(entry: &[u64; profile::ENTRY_WORDS]) -> bool {
    entry[profile::CALLS] > 0
}

/// Writes the sums of one rank.
pub fn write(folder: &Path, rank: u32, profiles: &[Profile], translator: &Translator) -> Result<Written, Error> {
    let mut writer = Writer::create(folder, rank)?;
    for profile in profiles {
        let sums: Vec<(Shape, Sums)> = profile.entries.iter().filter_map(|entry| translator.sums(entry)).collect();
        writer.sums(profile.thread, &sums)?;
    }
    writer.finish()
}
