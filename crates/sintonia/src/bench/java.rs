//! `sintonia bench --java`: measures the cost of operations in a Java virtual machine, and adds it to a machine file.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use sintonia_machine::bench::{BenchSample, implausible, java, local_machine, local_node_index};
use sintonia_machine::{MessageMetric, PairClass};
use sintonia_tasks::{Jdk, measure_round_trips};

use super::{BenchArgs, check_output, convert, host_file_name, machine_name, print_machine, write_machine};
use crate::Error;
use crate::progress::ProgressBar;

/// Task sizes whose round trip is measured, in bytes.
const TASK_SIZES: [u64; 12] = [0, 8, 64, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];
/// Repetitions of each.
const REPETITIONS: usize = 101;

/// Measures, and writes a machine file.
pub(super) fn run(args: &BenchArgs) -> Result<ExitCode, Error> {
    let name = || PathBuf::from(format!("{}.machine.toml", host_file_name()));
    // A machine file given with --from is extended in place; a file of another tool cannot hold Java costs.
    let own = args.from.clone().filter(|from| from.extension().is_some_and(|ending| ending == "toml"));
    let path = args.output.clone().or(own).unwrap_or_else(name);
    check_output(&path, args.force || args.from.as_ref() == Some(&path))?;
    let mut machine = args.from.as_deref().map_or_else(|| Ok(local_machine(&machine_name(&path))), convert::read_machine)?;
    let place = local_node_index(&machine).map_err(|error| Error::Other(error.to_string()))?;
    let launches = measure_launches(args)?;
    machine.nodes[place].java = java::costs(&launches);
    machine.metadata.notes.extend(implausible("Java", &machine.nodes[place].java));
    if let Some(timing) = java::task_timing(&launches) {
        machine.networks.entry(PairClass::SameNode).or_default().messages.insert(MessageMetric::Task, timing);
    }
    write_machine(&machine, &path)?;
    print_machine(&machine, &path, args.json)
}

fn measure_launches(args: &BenchArgs) -> Result<Vec<Vec<BenchSample>>, Error> {
    let other = |error: sintonia_tasks::Error| Error::Other(error.to_string());
    let jdk = Jdk::find().map_err(other)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(format!("{}.java", java::CLASS_NAME));
    std::fs::write(&file, java::program_source())?;
    jdk.compile(&[file], folder.path(), folder.path()).map_err(other)?;
    let count = args.launches.unwrap_or(if args.quick { 1 } else { 3 }) as usize;
    let progress = ProgressBar::with_lines("measuring", count * (java::line_count() + TASK_SIZES.len()));
    let mut launches = Vec::with_capacity(count);
    for _ in 0..count {
        let mut samples = measure_launch(&jdk, folder.path(), &progress)?;
        let ways = measure_round_trips(&jdk, &TASK_SIZES, REPETITIONS).map_err(other)?;
        samples.extend(ways.iter().filter_map(|(bytes, seconds)| java::task_sample(*bytes, seconds)));
        TASK_SIZES.iter().for_each(|_| progress.step());
        launches.push(samples);
    }
    Ok(launches)
}

/// One virtual machine that measures everything.
fn measure_launch(jdk: &Jdk, folder: &Path, progress: &ProgressBar) -> Result<Vec<BenchSample>, Error> {
    let mut command = jdk.command(&java::JVM_FLAGS, folder, java::CLASS_NAME);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut samples = Vec::new();
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines) {
        if let Some(sample) = java::parse_line(&line?) {
            progress.step();
            samples.push(sample);
        }
    }
    let status = child.wait()?;
    if status.success() && samples.len() == java::line_count() {
        return Ok(samples);
    }
    Err(Error::Other(format!(
        "the Java virtual machine ended with {status} after {} of {} measurements",
        samples.len(),
        java::line_count()
    )))
}
