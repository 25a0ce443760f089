//! The definitions of one process, and the paths of its raw files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sintonia_mpi::FUNCTIONS;

use crate::definitions::{
    CallPathDefinition, ClockReading, CountersDefinition, DefinitionRecord, EndDefinition, FORMAT_VERSION, LibraryDefinition,
    LocalCommunicator, LocalGroup, LocalObject, MAX_RANKS, MeasuredClockOffset, ModuleDefinition, PythonLineDefinition, SamplingDefinition,
    WorldDefinition,
};
use crate::error::{Error, WithPath};
use crate::host::{HostDescription, OffCpuSource, ProcessLimits, ProcessMemory, ThreadUsage};

/// A file with a higher number is damaged.
const MAX_FILES: u32 = 1 << 16;

/// A process as described by its definitions.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessDefinitions {
    /// Common prefix of its file names.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Its command line.
    pub arguments: Vec<String>,
    /// Whether its ticks come from the time stamp counter.
    pub time_stamp_counter: bool,
    /// Its MPI library.
    pub library: Option<LibraryDefinition>,
    /// Its membership in its world.
    pub world: Option<WorldDefinition>,
    /// Executable files mapped into it, in order of detection.
    pub modules: Vec<ModuleDefinition>,
    /// Its call paths, by their number, each with the number of modules that were defined before it.
    pub call_paths: BTreeMap<u32, (CallPathDefinition, usize)>,
    /// Lines of Python on its call paths, by their number.
    pub python_lines: BTreeMap<u32, PythonLineDefinition>,
    /// Communicators it is a member of.
    pub communicators: Vec<LocalCommunicator>,
    /// Windows and files.
    pub objects: Vec<LocalObject>,
    /// Groups named by its calls.
    pub groups: Vec<LocalGroup>,
    /// Its host.
    pub host_description: Option<HostDescription>,
    /// Limits of its control group.
    pub limits: Option<ProcessLimits>,
    /// Its resident memory.
    pub memory: Option<ProcessMemory>,
    /// What its threads used, by their number.
    pub usage: BTreeMap<u16, ThreadUsage>,
    /// How it is known when its threads were off the processor.
    pub off_cpu: Option<OffCpuSource>,
    /// How its threads were sampled.
    pub sampling: Option<SamplingDefinition>,
    /// What was counted of its threads.
    pub counters: Option<CountersDefinition>,
    /// Clock readings.
    pub readings: Vec<ClockReading>,
    /// Measured clock offsets to rank 0.
    pub offsets: Vec<MeasuredClockOffset>,
    /// Its notes, and problems found in its definitions.
    pub notes: Vec<String>,
    /// How it ended.
    pub end: Option<EndDefinition>,
    /// The numbers of its threads, by the system's id.
    pub thread_numbers: BTreeMap<i64, u16>,
    /// Samples of its threads.
    pub samples: Option<PathBuf>,
    /// The file of its OpenMP regions.
    pub openmp: Option<PathBuf>,
    /// Paths of the files it used.
    pub files: Vec<String>,
    /// Its files with counters of these, by their number.
    pub file_counters: Vec<(u32, PathBuf)>,
    /// The files of its threads, by their number.
    pub threads: BTreeMap<u16, ThreadFiles>,
}

/// The files of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadFiles {
    /// Blocks that were written out.
    pub calls: Option<PathBuf>,
    /// The mapped memory of the thread.
    pub tail: Option<PathBuf>,
    /// Totals, instead of both.
    pub profile: Option<PathBuf>,
    /// When it was off the processor.
    pub off_cpu: Option<PathBuf>,
    /// What was counted between its calls.
    pub counters: Option<PathBuf>,
    /// Its accesses to files that took long.
    pub file_accesses: Option<PathBuf>,
}

/// All processes with definitions in a directory, and notes on files that belong to none.
pub(super) fn read_all(live: &Path) -> Result<(Vec<ProcessDefinitions>, Vec<String>), Error> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(live).with_path(live)? {
        names.push(entry.with_path(live)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    let mut processes = BTreeMap::new();
    for name in names.iter().filter_map(|name| name.strip_suffix(".defs")) {
        processes.insert(name, ProcessDefinitions::read(live, name)?);
    }
    for file in &names {
        if let Some(process) = file.strip_suffix(".samples").and_then(|owner| processes.get_mut(owner)) {
            process.samples = Some(live.join(file));
        }
    }
    for name in names.iter().filter_map(|name| name.strip_suffix(".omp")) {
        if let Some(process) = processes.get_mut(name) {
            process.openmp = Some(live.join(format!("{name}.omp")));
        }
    }
    let mut orphans = 0;
    for (file, owner, thread, kind) in names.iter().filter_map(|file| parse_thread_file(file)) {
        match processes.get_mut(owner) {
            Some(process) => process.threads.entry(thread).or_default().add(kind, live.join(file)),
            None => orphans += 1,
        }
    }
    for (file, owner, piece) in names.iter().filter_map(|file| parse_counter_file(file)) {
        if let Some(process) = processes.get_mut(owner) {
            process.file_counters.push((piece, live.join(file)));
        }
    }
    let notes = (orphans > 0).then(|| format!("{orphans} files of calls have no definitions and were ignored"));
    Ok((processes.into_values().collect(), notes.into_iter().collect()))
}

/// Splits the name of a raw file, `HOST-PID.tN.KIND`, into file, process, thread and kind.
fn parse_thread_file(file: &str) -> Option<(&str, &str, u16, &str)> {
    let (rest, kind) = file.rsplit_once('.')?;
    let (owner, thread) = rest.rsplit_once(".t")?;
    matches!(kind, "calls" | "tail" | "profile" | "offcpu" | "io" | "counters").then_some((file, owner, thread.parse().ok()?, kind))
}

/// Splits the name of a file with counters of files, `HOST-PID.pN.files`, into file, process and number.
fn parse_counter_file(file: &str) -> Option<(&str, &str, u32)> {
    let (owner, piece) = file.strip_suffix(".files")?.rsplit_once(".p")?;
    Some((file, owner, piece.parse().ok()?))
}

impl ThreadFiles {
    fn add(&mut self, kind: &str, path: PathBuf) {
        let slot = match kind {
            "calls" => &mut self.calls,
            "tail" => &mut self.tail,
            "offcpu" => &mut self.off_cpu,
            "io" => &mut self.file_accesses,
            "counters" => &mut self.counters,
            _ => &mut self.profile,
        };
        *slot = Some(path);
    }
}

impl ProcessDefinitions {
    fn read(live: &Path, name: &str) -> Result<ProcessDefinitions, Error> {
        let path = live.join(format!("{name}.defs"));
        let bytes = fs::read(&path).with_path(&path)?;
        let (host, pid) = name.rsplit_once('-').unwrap_or((name, ""));
        let mut process =
            ProcessDefinitions { name: name.into(), host: host.into(), pid: pid.parse().unwrap_or(0), ..ProcessDefinitions::default() };
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            match serde_json::from_slice(line) {
                Ok(definition) => process.add(definition, &path)?,
                // The last line is truncated if the process was killed while writing it.
                Err(_) if lines.peek().is_none() => {}
                Err(error) => process.notes.push(format!("{name}.defs:{}:{}: cannot be parsed: {error}", number + 1, error.column())),
            }
        }
        Ok(process)
    }

    fn add(&mut self, definition: DefinitionRecord, path: &Path) -> Result<(), Error> {
        match definition {
            DefinitionRecord::Process(process) => {
                check_version(process.format, process.functions, path)?;
                self.host = process.host;
                self.pid = process.pid;
                self.arguments = process.arguments;
                self.time_stamp_counter = process.time_stamp_counter;
            }
            DefinitionRecord::Library(library) => self.library = Some(library),
            DefinitionRecord::World(world) if world.rank < 0 || world.rank >= world.size || world.size > MAX_RANKS as i32 => {
                self.notes.push(format!("{}: rank {} of {} is invalid", self.name, world.rank, world.size));
            }
            DefinitionRecord::World(world) => self.world = Some(world),
            DefinitionRecord::Module(module) => self.modules.push(module),
            DefinitionRecord::CallPath(path) => _ = self.call_paths.insert(path.id, (path, self.modules.len())),
            DefinitionRecord::PythonLine(line) => _ = self.python_lines.insert(line.id, line),
            DefinitionRecord::Communicator(communicator) => self.communicators.push(communicator),
            DefinitionRecord::Object(object) => self.objects.push(object),
            DefinitionRecord::Group(group) => self.groups.push(group),
            DefinitionRecord::Thread(thread) => _ = self.thread_numbers.insert(thread.system_id, thread.number),
            // They are numbered in the order of their definition.
            DefinitionRecord::File(file) => {
                self.files.resize(self.files.len().max(file.id.min(MAX_FILES) as usize + 1), String::new());
                self.files[file.id.min(MAX_FILES) as usize] = file.path;
            }
            DefinitionRecord::Host(host) => self.host_description = Some(host),
            DefinitionRecord::Limits(limits) => self.limits = Some(limits),
            DefinitionRecord::Memory(memory) => self.memory = Some(memory),
            DefinitionRecord::Usage(usage) => _ = self.usage.insert(usage.thread, usage),
            DefinitionRecord::OffCpu(off_cpu) => self.off_cpu = Some(off_cpu.source),
            DefinitionRecord::Sampling(sampling) => self.sampling = Some(sampling),
            DefinitionRecord::Counters(counters) => self.counters = Some(counters),
            DefinitionRecord::Clock(reading) => self.readings.push(reading),
            DefinitionRecord::Offset(offset) => self.offsets.push(offset),
            DefinitionRecord::Note(note) => self.notes.push(note.text),
            DefinitionRecord::End(end) => self.end = Some(end),
        }
        Ok(())
    }
}

fn check_version(found: u32, functions: usize, path: &Path) -> Result<(), Error> {
    if found > FORMAT_VERSION {
        return Err(Error::NewerFormat { path: path.to_owned(), found, known: FORMAT_VERSION });
    }
    if functions != FUNCTIONS.len() {
        return Err(Error::FunctionTableMismatch { path: path.to_owned(), found: functions, known: FUNCTIONS.len() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_whose_it_is() {
        assert_eq!(parse_thread_file("node-1.lan-77.t3.calls"), Some(("node-1.lan-77.t3.calls", "node-1.lan-77", 3, "calls")));
        assert_eq!(parse_thread_file("a.t1-5.2.t0.tail"), Some(("a.t1-5.2.t0.tail", "a.t1-5.2", 0, "tail")));
        for other in ["run.json", "host-1.defs", "host-1.t.calls", "host-1.t70000.calls", "calls", "host-1.t1.other"] {
            assert_eq!(parse_thread_file(other), None, "{other}");
        }
    }

    #[test]
    fn a_cut_last_line_is_passed_over_and_an_unknown_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "{\"define\":\"note\",\"text\":\"a\"}\n{\"define\":\"later\"}\n{\"define\":\"note\",\"text\":\"b\"}\n{\"define\":\"no";
        fs::write(folder.path().join("here-5.defs"), lines).unwrap();
        let (processes, _) = read_all(folder.path()).unwrap();
        assert_eq!((processes[0].host.as_str(), processes[0].pid), ("here", 5));
        assert_eq!(processes[0].notes.len(), 3);
        assert!(processes[0].notes[1].starts_with("here-5.defs:2:"), "{}", processes[0].notes[1]);
    }
}
