//! `sintonia bench --java`: what operations cost in a Java virtual machine, added to a machine file.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use sintonia_machine::bench::{Place, Sample, implausible, java};
use sintonia_machine::{About, Costs, Figure, Layout, Machine, Message, Node, PairClass};
use sintonia_tasks::{Jdk, round_trips};

use super::{Arguments, convert, date, host, may_write, show};
use crate::progress::Progress;
use crate::{Error, output};

/// The sizes of tasks whose way is measured.
const SIZES: [u64; 12] = [0, 8, 64, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];
/// How often each.
const TIMES: usize = 101;

/// Measures, and writes a machine file.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let name = || PathBuf::from(format!("{}.machine.toml", host()));
    // Who names a machine file to add to wants it to have more in it afterwards; one of another tool has no place for it.
    let own = arguments.from.clone().filter(|from| from.extension().is_some_and(|ending| ending == "toml"));
    let path = arguments.output.clone().or(own).unwrap_or_else(name);
    may_write(&path, arguments.force || arguments.from.as_ref() == Some(&path))?;
    let mut machine = arguments.from.as_deref().map_or_else(|| Ok(only_here(&path)), convert::read)?;
    let place = node(&machine)?;
    let launches = launches(arguments)?;
    machine.nodes[place].java = java::costs(&launches);
    machine.about.notes.extend(implausible("Java", &machine.nodes[place].java));
    if let Some(timing) = java::timing(&launches) {
        machine.networks.entry(PairClass::SameNode).or_default().messages.insert(Message::Task, timing);
    }
    output::to_file(&path, |out| out.write_all(machine.to_text().as_bytes()))?;
    show(&machine, &path, arguments.json)
}

/// A machine of which nothing is known but where it is.
fn only_here(path: &Path) -> Machine {
    let place = Place::here();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let about = About {
        name: name.trim_end_matches(".toml").trim_end_matches(".machine").to_owned(),
        date: Some(date::today()),
        ..About::default()
    };
    let (compute, java) = (Costs::new(), Costs::new());
    let node = Node {
        kind: place.processor,
        count: 1,
        cores: place.cores as u64,
        speed: Figure::ONE,
        layout: Layout::default(),
        compute,
        java,
        memory: Vec::new(),
    };
    Machine { about, nodes: vec![node], ..Machine::default() }
}

/// The node of the machine that this is: the one of this kind, or the only one.
fn node(machine: &Machine) -> Result<usize, Error> {
    let here = Place::here().processor;
    match (machine.nodes.iter().position(|node| node.kind == here), machine.nodes.len()) {
        (Some(at), _) => Ok(at),
        (None, 1) => Ok(0),
        _ => {
            let kinds: Vec<&str> = machine.nodes.iter().map(|node| node.kind.as_str()).collect();
            Err(Error::Other(format!("none of the machine's nodes is this one, of kind \"{here}\"; they are: {}", kinds.join(", "))))
        }
    }
}

fn launches(arguments: &Arguments) -> Result<Vec<Vec<Sample>>, Error> {
    let other = |error: sintonia_tasks::Error| Error::Other(error.to_string());
    let jdk = Jdk::find().map_err(other)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(format!("{}.java", java::CLASS));
    std::fs::write(&file, java::source())?;
    jdk.compile(&[file], folder.path(), folder.path()).map_err(other)?;
    let count = arguments.launches.unwrap_or(if arguments.quick { 1 } else { 3 }) as usize;
    let progress = Progress::new("measuring", count * (java::lines() + SIZES.len()));
    let mut launches = Vec::with_capacity(count);
    for _ in 0..count {
        let mut samples = launch(&jdk, folder.path(), &progress)?;
        let ways = round_trips(&jdk, &SIZES, TIMES).map_err(other)?;
        samples.extend(ways.iter().filter_map(|(bytes, seconds)| java::task(*bytes, seconds)));
        SIZES.iter().for_each(|_| progress.step());
        launches.push(samples);
    }
    Ok(launches)
}

/// One virtual machine that measures everything.
fn launch(jdk: &Jdk, folder: &Path, progress: &Progress) -> Result<Vec<Sample>, Error> {
    let mut command = jdk.command(&java::OPTIONS, folder, java::CLASS);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut samples = Vec::new();
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines) {
        if let Some(sample) = java::hear(&line?) {
            progress.step();
            samples.push(sample);
        }
    }
    let status = child.wait()?;
    if status.success() && samples.len() == java::lines() {
        return Ok(samples);
    }
    Err(Error::Other(format!("the Java virtual machine ended with {status} after {} of {} measurements", samples.len(), java::lines())))
}
