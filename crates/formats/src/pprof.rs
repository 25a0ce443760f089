//! pprof's profile, a gzipped message of Protocol Buffers: read by `go tool pprof`, Grafana Pyroscope, Polar Signals and others.
//!
//! A sample is a stack of a thread with its number of samples and its time on the processor; the labels `rank` and `thread` tell them
//! apart. A location is a function at a line. Addresses are not recorded, so an inlined function is a location of its own.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use sintonia_recording::Recording;
use sintonia_recording::header::RecordingHeader;

use crate::error::PathContext;
use crate::protobuf::ProtobufMessage;
use crate::sampled_stacks::SampledStacks;
use crate::{Error, ExportSummary, single_file};

// Field numbers of `profile.proto`.
const PROFILE_SAMPLE_TYPE: u32 = 1;
const PROFILE_SAMPLE: u32 = 2;
const PROFILE_MAPPING: u32 = 3;
const PROFILE_LOCATION: u32 = 4;
const PROFILE_FUNCTION: u32 = 5;
const PROFILE_STRING_TABLE: u32 = 6;
const PROFILE_TIME_NANOS: u32 = 9;
const PROFILE_DURATION_NANOS: u32 = 10;
const PROFILE_PERIOD_TYPE: u32 = 11;
const PROFILE_PERIOD: u32 = 12;
const PROFILE_COMMENT: u32 = 13;
const VALUE_TYPE_TYPE: u32 = 1;
const VALUE_TYPE_UNIT: u32 = 2;
const SAMPLE_LOCATION_ID: u32 = 1;
const SAMPLE_VALUE: u32 = 2;
const SAMPLE_LABEL: u32 = 3;
const LABEL_KEY: u32 = 1;
const LABEL_STR: u32 = 2;
const MAPPING_ID: u32 = 1;
const MAPPING_FILENAME: u32 = 5;
const MAPPING_HAS_FUNCTIONS: u32 = 7;
const MAPPING_HAS_FILENAMES: u32 = 8;
const MAPPING_HAS_LINE_NUMBERS: u32 = 9;
const MAPPING_HAS_INLINE_FRAMES: u32 = 10;
const LOCATION_ID: u32 = 1;
const LOCATION_MAPPING_ID: u32 = 2;
const LOCATION_LINE: u32 = 4;
const LINE_FUNCTION_ID: u32 = 1;
const LINE_LINE: u32 = 2;
const FUNCTION_ID: u32 = 1;
const FUNCTION_NAME: u32 = 2;
const FUNCTION_SYSTEM_NAME: u32 = 3;
const FUNCTION_FILENAME: u32 = 4;

/// Writes the samples of all threads; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    let mut stacks = SampledStacks::new(recording)?;
    let mut notes = Vec::new();
    let summary = single_file::write(path, |out| {
        let mut file = ProfileWriter { out: GzEncoder::new(out, Compression::default()), strings: StringTable::new() };
        file.write_header(&recording.header).with_path(path)?;
        for rank in &recording.header.ranks {
            for thread in stacks.read_rank(recording, rank)? {
                let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
                thread.samples.iter().for_each(|sample| *counts.entry(sample.node).or_default() += 1);
                let labels = [("rank", u64::from(rank.rank)), ("thread", u64::from(thread.thread))];
                for (node, count) in counts {
                    file.write_sample(&stacks, node, [count, count * thread.sample_ns], labels).with_path(path)?;
                }
            }
            progress();
        }
        notes = stacks.notes()?;
        file.write_locations(&stacks).with_path(path)?;
        file.finish().with_path(path)
    })?;
    Ok(ExportSummary { notes, ..summary })
}

/// The strings of a profile, of which the first is empty.
struct StringTable {
    strings: Vec<String>,
    indices: HashMap<String, u64>,
}

impl StringTable {
    fn new() -> StringTable {
        StringTable { strings: vec![String::new()], indices: HashMap::from([(String::new(), 0)]) }
    }

    fn index(&mut self, text: &str) -> u64 {
        *self.indices.entry(text.to_owned()).or_insert_with(|| {
            self.strings.push(text.to_owned());
            self.strings.len() as u64 - 1
        })
    }
}

/// Writes the fields of a profile, one after another.
struct ProfileWriter<W: Write> {
    out: GzEncoder<W>,
    strings: StringTable,
}

impl<W: Write> ProfileWriter<W> {
    fn write_field(&mut self, fill: impl FnOnce(&mut ProtobufMessage, &mut StringTable)) -> io::Result<()> {
        let mut message = ProtobufMessage::default();
        fill(&mut message, &mut self.strings);
        self.out.write_all(message.as_bytes())
    }

    fn write_header(&mut self, header: &RecordingHeader) -> io::Result<()> {
        let begin = header.ranks.iter().map(|rank| rank.begin_ns).min().unwrap_or(0);
        let end = header.ranks.iter().map(|rank| rank.end_ns).max().unwrap_or(0);
        let period = header.ranks.iter().filter_map(|rank| rank.sampling).map(|sampling| sampling.period_ns).max();
        self.write_field(|profile, strings| {
            for (field, kind, unit) in [
                (PROFILE_SAMPLE_TYPE, "samples", "count"),
                (PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds"),
                (PROFILE_PERIOD_TYPE, "cpu", "nanoseconds"),
            ] {
                profile.nested(field, |value_type| {
                    value_type.uint64(VALUE_TYPE_TYPE, strings.index(kind));
                    value_type.uint64(VALUE_TYPE_UNIT, strings.index(unit));
                });
            }
            profile.int64(PROFILE_TIME_NANOS, (header.started_s * 1e9) as i64);
            profile.int64(PROFILE_DURATION_NANOS, end.saturating_sub(begin));
            profile.uint64(PROFILE_PERIOD, period.unwrap_or(0));
            profile.packed(PROFILE_COMMENT, [strings.index(&header.command.join(" "))]);
        })
    }

    fn write_sample(&mut self, stacks: &SampledStacks, node: u32, values: [u64; 2], labels: [(&str, u64); 2]) -> io::Result<()> {
        self.write_field(|profile, strings| {
            profile.nested(PROFILE_SAMPLE, |sample| {
                sample.packed(SAMPLE_LOCATION_ID, stacks.path(node).map(|node| id(node.frame as usize)));
                sample.packed(SAMPLE_VALUE, values);
                // A number of 0 would be no label.
                for (key, value) in labels {
                    sample.nested(SAMPLE_LABEL, |label| {
                        label.uint64(LABEL_KEY, strings.index(key));
                        label.uint64(LABEL_STR, strings.index(&value.to_string()));
                    });
                }
            });
        })
    }

    /// Writes a location for each frame, with its function and mapping.
    fn write_locations(&mut self, stacks: &SampledStacks) -> io::Result<()> {
        let (mut functions, mut modules) = (HashMap::new(), HashMap::new());
        for (index, frame) in stacks.frames.iter().enumerate() {
            let (next_function, next_module) = (id(functions.len()), id(modules.len()));
            let function = *functions.entry((&frame.name, &frame.file)).or_insert(next_function);
            let module = *modules.entry(&frame.module).or_insert(next_module);
            self.write_field(|profile, strings| {
                if function == next_function {
                    write_function(profile, strings, function, &frame.name, frame.file.as_deref());
                }
                if module == next_module {
                    write_mapping(profile, strings, module, &frame.module);
                }
                profile.nested(PROFILE_LOCATION, |location| {
                    location.uint64(LOCATION_ID, id(index));
                    location.uint64(LOCATION_MAPPING_ID, module);
                    location.nested(LOCATION_LINE, |line| {
                        line.uint64(LINE_FUNCTION_ID, function);
                        line.uint64(LINE_LINE, frame.line.unwrap_or(0).into());
                    });
                });
            })?;
        }
        Ok(())
    }

    /// Writes the strings and ends the file.
    fn finish(mut self) -> io::Result<()> {
        let mut message = ProtobufMessage::default();
        self.strings.strings.iter().for_each(|text| message.string(PROFILE_STRING_TABLE, text));
        self.out.write_all(message.as_bytes())?;
        self.out.finish().map(|_| ())
    }
}

/// Ids are not zero.
fn id(index: usize) -> u64 {
    index as u64 + 1
}

fn write_function(profile: &mut ProtobufMessage, strings: &mut StringTable, id: u64, name: &str, file: Option<&str>) {
    profile.nested(PROFILE_FUNCTION, |function| {
        function.uint64(FUNCTION_ID, id);
        function.uint64(FUNCTION_NAME, strings.index(name));
        function.uint64(FUNCTION_SYSTEM_NAME, strings.index(name));
        function.uint64(FUNCTION_FILENAME, strings.index(file.unwrap_or_default()));
    });
}

/// Names are final: a reader need not look for the file.
fn write_mapping(profile: &mut ProtobufMessage, strings: &mut StringTable, id: u64, module: &str) {
    profile.nested(PROFILE_MAPPING, |mapping| {
        mapping.uint64(MAPPING_ID, id);
        mapping.uint64(MAPPING_FILENAME, strings.index(module));
        for field in [MAPPING_HAS_FUNCTIONS, MAPPING_HAS_FILENAMES, MAPPING_HAS_LINE_NUMBERS, MAPPING_HAS_INLINE_FRAMES] {
            mapping.uint64(field, 1);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::sampled_example;
    use crate::protobuf::{ProtobufField, decode_fields};
    use std::io::Read;

    fn profile() -> Vec<u8> {
        let (example, folder) = (sampled_example(), tempfile::tempdir().unwrap());
        let path = folder.path().join("a.pb.gz");
        write(&example.recording, &path, &|| {}).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn messages(profile: &[u8], wanted: u32) -> Vec<Vec<ProtobufField<'_>>> {
        let found = decode_fields(profile).into_iter().filter_map(|field| match field {
            ProtobufField::Bytes(field, bytes) if field == wanted => Some(decode_fields(bytes)),
            _ => None,
        });
        found.collect()
    }

    #[test]
    fn stacks_of_a_thread_are_summed() {
        let profile = profile();
        let samples = messages(&profile, PROFILE_SAMPLE);
        assert_eq!(samples.len(), 6, "four stacks of one thread, and two of other threads");
        // main < work twice, 20 ns each: innermost first.
        let first = &samples[0];
        assert_eq!(first[0], ProtobufField::Bytes(SAMPLE_LOCATION_ID, &[2, 1]));
        assert_eq!(first[1], ProtobufField::Bytes(SAMPLE_VALUE, &[2, 40]));
    }

    #[test]
    fn functions_and_mappings_are_defined_once() {
        let profile = profile();
        let count = |field| messages(&profile, field).len();
        assert_eq!([PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_MAPPING].map(count), [7, 6, 3]);
        let strings = decode_fields(&profile).into_iter().find(|field| matches!(field, ProtobufField::Bytes(PROFILE_STRING_TABLE, _)));
        assert_eq!(strings, Some(ProtobufField::Bytes(PROFILE_STRING_TABLE, b"")));
    }
}
