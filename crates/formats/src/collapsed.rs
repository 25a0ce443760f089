//! Collapsed stacks, read by flamegraph.pl, inferno, speedscope and others: a line for each stack, outermost function first, and its number of
//! samples.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use sintonia_recording::Recording;

use crate::error::PathContext;
use crate::sampled_stacks::SampledStacks;
use crate::{Error, ExportSummary, single_file};

/// Samples by rank (if each rank has stacks of its own) and by the names of their functions.
type CollapsedStacks = BTreeMap<(Option<u32>, String), u64>;

/// Writes the stacks of all ranks together; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    write_stacks(recording, path, progress, false)
}

/// Writes the stacks with their rank as the outermost frame; `progress` is called after each rank.
pub fn write_by_rank(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    write_stacks(recording, path, progress, true)
}

fn write_stacks(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync), by_rank: bool) -> Result<ExportSummary, Error> {
    let mut stacks = SampledStacks::new(recording)?;
    let mut collapsed = CollapsedStacks::new();
    for rank in &recording.header.ranks {
        let threads = stacks.read_rank(recording, rank)?;
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        threads.iter().flat_map(|thread| &thread.samples).for_each(|sample| *counts.entry(sample.node).or_default() += 1);
        for (node, count) in counts {
            *collapsed.entry((by_rank.then_some(rank.rank), stack_names(&stacks, node))).or_default() += count;
        }
        progress();
    }
    let notes = stacks.notes()?;
    let summary = single_file::write(path, |out| write_lines(out, &collapsed).with_path(path))?;
    Ok(ExportSummary { notes, ..summary })
}

fn stack_names(stacks: &SampledStacks, node: u32) -> String {
    let mut names: Vec<String> = stacks.path(node).map(|node| frame_name(&stacks.frames[node.frame as usize].name)).collect();
    names.reverse();
    names.join(";")
}

/// A name without what ends a name or a line.
fn frame_name(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

fn write_lines(out: &mut impl Write, collapsed: &CollapsedStacks) -> io::Result<()> {
    for ((rank, names), count) in collapsed {
        match rank {
            Some(rank) => writeln!(out, "rank {rank};{names} {count}")?,
            None => writeln!(out, "{names} {count}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::sampled_example;

    #[test]
    fn equal_stacks_are_one_line() {
        let (example, folder) = (sampled_example(), tempfile::tempdir().unwrap());
        let path = folder.path().join("a.collapsed");
        let text = |by_rank: bool| {
            write_stacks(&example.recording, &path, &|| {}, by_rank).unwrap();
            std::fs::read_to_string(&path).unwrap()
        };
        assert_eq!(text(false), "code in liba.so 1\nmain;MPI 1\nmain;MPI_Send 1\nmain;work 3\nmain;work;[kernel] 1\n");
        let by_rank = text(true);
        assert!(by_rank.starts_with("rank 0;code in liba.so 1\n") && by_rank.ends_with("rank 1;main;work 1\n"), "{by_rank}");
    }

    #[test]
    fn a_name_does_not_end_a_line_or_a_frame() {
        assert_eq!(frame_name("operator()(char;\n)"), "operator()(char: )");
    }
}
