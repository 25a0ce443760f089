//! The processed profile of the Firefox Profiler, for profiler.firefox.com: a process for each rank, with its threads.
//!
//! All threads share the tables of stacks, frames and functions, as in the files that samply writes.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use sintonia_recording::Recording;
use sintonia_recording::header::{RecordedRank, RecordingHeader};

use crate::error::PathContext;
use crate::sampled_stacks::{FrameKind, ProfileFrame, SampledStacks, SampledThread, thread_label};
use crate::timeline::{self, TimeOrigin};
use crate::{Error, ExportSummary, single_file};

/// The version of Gecko's format, and that of the processed format.
const GECKO_VERSION: u32 = 24;
const PROCESSED_VERSION: u32 = 62;

/// Categories of frames, with their colours.
const CATEGORIES: [(&str, &str); 4] = [("Other", "grey"), ("Computation", "blue"), ("MPI", "orange"), ("Kernel", "red")];

/// In the table of resources: a library.
const RESOURCE_LIBRARY: u32 = 1;

/// Writes the samples of all threads; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    let header = &recording.header;
    let mut stacks = SampledStacks::new(recording)?;
    let mut notes = Vec::new();
    let summary = single_file::write(path, |out| {
        write!(out, "{{\"meta\":{},\n\"threads\":[", metadata(header)).with_path(path)?;
        let mut separator = "";
        for rank in &header.ranks {
            for thread in stacks.read_rank(recording, rank)? {
                write!(out, "{separator}\n{}", thread_object(header, rank, &thread)).with_path(path)?;
                separator = ",";
            }
            progress();
        }
        notes = stacks.notes()?;
        write_shared(out, &stacks).with_path(path)
    })?;
    Ok(ExportSummary { notes, ..summary })
}

fn metadata(header: &RecordingHeader) -> Value {
    let category = |(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]});
    let period_ns = header.ranks.iter().filter_map(|rank| rank.sampling).map(|sampling| sampling.period_ns).max();
    let start_ms = TimeOrigin::from_header(header).unix_time_ns(header).map_or(0.0, |ns| ns as f64 / 1e6);
    json!({
        "categories": CATEGORIES.map(category),
        "debug": false,
        "doesNotUseFrameImplementation": true,
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "importedFrom": "sintonia",
        "interval": milliseconds(period_ns.unwrap_or(1)),
        "markerSchema": [],
        "pausedRanges": [],
        "preprocessedProfileVersion": PROCESSED_VERSION,
        "processType": 0,
        "product": header.command.join(" "),
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "sourceCodeIsNotOnSearchfox": true,
        "startTime": start_ms,
        "symbolicated": true,
        "usesOnlyOneStackType": true,
        "version": GECKO_VERSION,
    })
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn thread_object(header: &RecordingHeader, rank: &RecordedRank, thread: &SampledThread) -> Value {
    let origin = TimeOrigin::from_header(header);
    let count = thread.samples.len();
    let mut previous_ns = 0;
    let time_delta = |sample: &crate::sampled_stacks::StackSample| {
        let ns = origin.relative_ns(sample.time).max(previous_ns);
        let delta = ns - previous_ns;
        previous_ns = ns;
        milliseconds(delta)
    };
    let time_deltas: Vec<f64> = thread.samples.iter().map(time_delta).collect();
    let stacks: Vec<u32> = thread.samples.iter().map(|sample| sample.node).collect();
    json!({
        "name": thread_label(header, rank, thread.thread),
        "isMainThread": thread.thread == 0,
        // Process ids of different hosts may be equal.
        "pid": rank.rank.to_string(),
        "tid": format!("{}.{}", rank.rank, thread.thread),
        "processName": timeline::rank_label(header, rank),
        "processType": "default",
        "processStartupTime": milliseconds(origin.relative_ns(rank.begin_ns)),
        "processShutdownTime": milliseconds(origin.relative_ns(rank.end_ns)),
        "registerTime": milliseconds(origin.relative_ns(rank.begin_ns)),
        "unregisterTime": null,
        "pausedRanges": [],
        "showMarkersInTimeline": false,
        "markers": {"length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": []},
        "samples": {
            "length": count,
            "stack": stacks,
            "timeDeltas": time_deltas,
            "threadCPUDelta": vec![thread.sample_ns; count],
            "weight": null,
            "weightType": "samples",
        },
    })
}

/// Values of a table, each once.
struct InternedTable<T> {
    values: Vec<T>,
    indices: HashMap<T, usize>,
}

impl<T: Clone + Eq + Hash> InternedTable<T> {
    fn new() -> InternedTable<T> {
        InternedTable { values: Vec::new(), indices: HashMap::new() }
    }

    fn index(&mut self, value: &T) -> usize {
        if let Some(index) = self.indices.get(value) {
            return *index;
        }
        self.values.push(value.clone());
        self.indices.insert(value.clone(), self.values.len() - 1);
        self.values.len() - 1
    }
}

/// Writes the libraries and the tables that all threads use.
fn write_shared(out: &mut impl Write, stacks: &SampledStacks) -> io::Result<()> {
    let (mut strings, mut libraries, mut sources) = (InternedTable::new(), InternedTable::new(), InternedTable::new());
    let mut functions = InternedTable::new();
    let frames = frame_table(&stacks.frames, &mut functions);
    let functions = function_table(&functions.values, &mut strings, &mut libraries, &mut sources);
    let shared = json!({
        "frameTable": frames,
        "funcTable": functions,
        "nativeSymbols": {"length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []},
        "resourceTable": resource_table(&libraries.values, &mut strings),
        "sources": source_table(&sources.values, &mut strings),
        "stackTable": {
            "length": stacks.nodes.len(),
            "frame": stacks.nodes.iter().map(|node| node.frame).collect::<Vec<_>>(),
            "prefix": stacks.nodes.iter().map(|node| node.caller).collect::<Vec<_>>(),
        },
        "stringArray": strings.values,
    });
    let libraries: Vec<Value> = libraries.values.iter().map(library).collect();
    write!(
        out,
        "\n],\n\"libs\":{},\n\"shared\":{shared},\n\"pages\":[],\"profilerOverhead\":[],\"counters\":[]}}\n",
        Value::from(libraries)
    )
}

/// A function, without its line.
type Function = (FrameKind, String, Option<String>, String);

fn frame_table(frames: &[ProfileFrame], functions: &mut InternedTable<Function>) -> Value {
    let function = |frame: &ProfileFrame| functions.index(&(frame.kind, frame.name.clone(), frame.file.clone(), frame.module.clone()));
    let category = |frame: &ProfileFrame| match frame.kind {
        FrameKind::Function => 1,
        FrameKind::Mpi => 2,
        FrameKind::Kernel => 3,
    };
    let (count, none) = (frames.len(), vec![Value::Null; frames.len()]);
    json!({
        "length": count,
        "address": vec![-1; count],
        "category": frames.iter().map(category).collect::<Vec<u32>>(),
        "column": none,
        "func": frames.iter().map(function).collect::<Vec<_>>(),
        "inlineDepth": vec![0; count],
        "innerWindowID": vec![0; count],
        "line": frames.iter().map(|frame| frame.line).collect::<Vec<_>>(),
        "nativeSymbol": none,
        "subcategory": vec![0; count],
    })
}

fn function_table(
    functions: &[Function],
    strings: &mut InternedTable<String>,
    libraries: &mut InternedTable<String>,
    sources: &mut InternedTable<String>,
) -> Value {
    let (count, none) = (functions.len(), vec![Value::Null; functions.len()]);
    let mut resource = |module: &String| if module.is_empty() { -1 } else { libraries.index(module) as i64 };
    json!({
        "length": count,
        "name": functions.iter().map(|(_, name, ..)| strings.index(name)).collect::<Vec<_>>(),
        "isJS": vec![false; count],
        "relevantForJS": vec![false; count],
        "resource": functions.iter().map(|(.., module)| resource(module)).collect::<Vec<_>>(),
        "source": functions.iter().map(|(_, _, file, _)| file.as_ref().map(|file| sources.index(file))).collect::<Vec<_>>(),
        "lineNumber": none,
        "columnNumber": none,
    })
}

/// A resource for each library, at its index.
fn resource_table(libraries: &[String], strings: &mut InternedTable<String>) -> Value {
    let count = libraries.len();
    json!({
        "length": count,
        "lib": (0..count).collect::<Vec<_>>(),
        "name": libraries.iter().map(|library| strings.index(&file_name(library))).collect::<Vec<_>>(),
        "host": vec![Value::Null; count],
        "type": vec![RESOURCE_LIBRARY; count],
    })
}

fn source_table(files: &[String], strings: &mut InternedTable<String>) -> Value {
    let (count, none) = (files.len(), vec![Value::Null; files.len()]);
    json!({
        "length": count,
        "id": none,
        "filename": files.iter().map(|file| strings.index(file)).collect::<Vec<_>>(),
        "startLine": vec![1; count],
        "startColumn": vec![1; count],
        "sourceMapURL": none,
    })
}

fn library(path: &String) -> Value {
    let name = file_name(path);
    json!({
        "name": name, "path": path, "debugName": name, "debugPath": path, "breakpadId": "", "codeId": null, "arch": null,
    })
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::sampled_example;

    fn numbers(table: &Value, column: &str) -> Vec<Option<u64>> {
        table[column].as_array().unwrap().iter().map(Value::as_u64).collect()
    }

    fn profile() -> Value {
        let (example, folder) = (sampled_example(), tempfile::tempdir().unwrap());
        let path = folder.path().join("a.firefox.json");
        write(&example.recording, &path, &|| {}).unwrap();
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
    }

    #[test]
    fn columns_of_a_table_are_as_long_as_it_says() {
        let profile = profile();
        let shared = profile["shared"].as_object().unwrap();
        for (name, table) in shared.iter().filter(|(name, _)| *name != "stringArray") {
            for (column, values) in table.as_object().unwrap().iter().filter(|(column, _)| *column != "length") {
                assert_eq!(Some(values.as_array().unwrap().len() as u64), table["length"].as_u64(), "{name}.{column}");
            }
        }
    }

    #[test]
    fn a_sample_leads_to_its_functions_and_lines() {
        let profile = profile();
        let shared = &profile["shared"];
        let samples = &profile["threads"][0]["samples"];
        assert_eq!(samples["timeDeltas"], json!([50e-6, 100e-6, 50e-6, 50e-6, 150e-6]));
        let (frames, prefixes) = (numbers(&shared["stackTable"], "frame"), numbers(&shared["stackTable"], "prefix"));
        let stack = numbers(samples, "stack")[2].unwrap();
        let path: Vec<_> = std::iter::successors(Some(stack), |stack| prefixes[*stack as usize])
            .map(|stack| {
                let frame = frames[stack as usize].unwrap() as usize;
                let function = numbers(&shared["frameTable"], "func")[frame].unwrap() as usize;
                let name = numbers(&shared["funcTable"], "name")[function].unwrap() as usize;
                let category = numbers(&shared["frameTable"], "category")[frame].unwrap() as usize;
                let category = profile["meta"]["categories"][category]["name"].as_str().unwrap();
                (shared["stringArray"][name].as_str().unwrap(), numbers(&shared["frameTable"], "line")[frame], category)
            })
            .collect();
        assert_eq!(path, [("[kernel]", None, "Kernel"), ("work", Some(8), "Computation"), ("main", Some(3), "Computation")]);
        let main = numbers(&shared["funcTable"], "source")[0].unwrap() as usize;
        let file = numbers(&shared["sources"], "filename")[main].unwrap() as usize;
        assert_eq!(shared["stringArray"][file], "/src/main.c");
    }
}
