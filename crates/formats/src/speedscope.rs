//! speedscope's own file format: a sampled profile for each thread of each rank, whose frames are functions at a line.
//!
//! The time axis of a thread is its time on the processor: a sample lasts as long as it stands for.

use std::io::{self, Write};
use std::path::Path;

use serde_json::json;
use sintonia_recording::Recording;

use crate::error::PathContext;
use crate::sampled_stacks::{ProfileFrame, SampledStacks, SampledThread, thread_label};
use crate::{Error, ExportSummary, single_file};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// Writes the samples of all threads; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    let header = &recording.header;
    let mut stacks = SampledStacks::new(recording)?;
    let mut notes = Vec::new();
    let summary = single_file::write(path, |out| {
        let name = header.command.join(" ");
        let exporter = concat!("sintonia ", env!("CARGO_PKG_VERSION"));
        let start = json!({"$schema": SCHEMA, "exporter": exporter, "name": name, "activeProfileIndex": 0}).to_string();
        // The other members of the object follow.
        write!(out, "{},\n\"profiles\":[", start.trim_end_matches('}')).with_path(path)?;
        let mut separator = "";
        for rank in &header.ranks {
            for thread in stacks.read_rank(recording, rank)? {
                out.write_all(separator.as_bytes()).with_path(path)?;
                write_profile(out, &stacks, &thread_label(header, rank, thread.thread), &thread).with_path(path)?;
                separator = ",";
            }
            progress();
        }
        notes = stacks.notes()?;
        write_frames(out, &stacks.frames).with_path(path)
    })?;
    Ok(ExportSummary { notes, ..summary })
}

fn write_profile(out: &mut impl Write, stacks: &SampledStacks, name: &str, thread: &SampledThread) -> io::Result<()> {
    let end = thread.sample_ns * thread.samples.len() as u64;
    let start = json!({"type": "sampled", "name": name, "unit": "nanoseconds", "startValue": 0, "endValue": end}).to_string();
    write!(out, "\n{},\"samples\":[", start.trim_end_matches('}'))?;
    let mut frames: Vec<String> = Vec::new();
    for (index, sample) in thread.samples.iter().enumerate() {
        frames.clear();
        frames.extend(stacks.path(sample.node).map(|node| node.frame.to_string()));
        frames.reverse();
        write!(out, "{}[{}]", if index == 0 { "" } else { "," }, frames.join(","))?;
    }
    let weights = vec![thread.sample_ns.to_string(); thread.samples.len()];
    write!(out, "],\"weights\":[{}]}}", weights.join(","))
}

fn write_frames(out: &mut impl Write, frames: &[ProfileFrame]) -> io::Result<()> {
    let frame = |frame: &ProfileFrame| {
        let mut object = json!({"name": frame.name});
        // Code without debug information is identified by its executable or library.
        let file = frame.file.as_ref().or(Some(&frame.module).filter(|module| !module.is_empty()));
        if let Some(file) = file {
            object["file"] = json!(file);
        }
        if let Some(line) = frame.line {
            object["line"] = json!(line);
        }
        object.to_string()
    };
    let frames: Vec<String> = frames.iter().map(frame).collect();
    write!(out, "\n],\n\"shared\":{{\"frames\":[\n{}\n]}}}}\n", frames.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::sampled_example;
    use serde_json::Value;

    #[test]
    fn every_thread_has_its_samples_in_time_on_the_processor() {
        let (example, folder) = (sampled_example(), tempfile::tempdir().unwrap());
        let path = folder.path().join("a.speedscope.json");
        write(&example.recording, &path, &|| {}).unwrap();
        let file: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(file["$schema"], SCHEMA);
        let profiles = file["profiles"].as_array().unwrap();
        let names: Vec<_> = profiles.iter().map(|profile| profile["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["rank 0 on first", "rank 0 on first, thread 7", "rank 1 on first"]);
        assert_eq!(profiles[0]["samples"], json!([[0, 1], [2, 4], [0, 1, 5], [0, 1], [2, 6]]));
        assert_eq!((&profiles[0]["weights"], &profiles[0]["endValue"]), (&json!([20, 20, 20, 20, 20]), &json!(100)));
        let frames = file["shared"]["frames"].as_array().unwrap();
        assert_eq!(frames[1], json!({"name": "work", "file": "/src/main.c", "line": 8}));
        assert_eq!(frames[3], json!({"name": "code in liba.so", "file": "/lib/liba.so"}));
        assert_eq!(frames[4], json!({"name": "MPI_Send"}));
    }
}
