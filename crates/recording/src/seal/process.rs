//! What one process left behind: its definitions, and the names of the files with its calls.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sintonia_mpi::FUNCTIONS;

use crate::definitions::{
    ClockOffset, ClockReading, Definition, End, FORMAT, Library, LocalCommunicator, LocalGroup, LocalObject, MOST_RANKS, Module, World,
};
use crate::error::{At, Error};

/// A process, as its definitions describe it.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// The name that all its files begin with.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its number there.
    pub pid: u32,
    /// Its command line.
    pub arguments: Vec<String>,
    /// Whether its ticks are those of the time stamp counter.
    pub time_stamp_counter: bool,
    /// Its MPI library.
    pub library: Option<Library>,
    /// Its place in its world.
    pub world: Option<World>,
    /// Files of code mapped into it, in the order in which they were seen.
    pub modules: Vec<Module>,
    /// Communicators it is a member of.
    pub communicators: Vec<LocalCommunicator>,
    /// Windows and files.
    pub objects: Vec<LocalObject>,
    /// Groups that its calls named.
    pub groups: Vec<LocalGroup>,
    /// What its clocks showed.
    pub readings: Vec<ClockReading>,
    /// How far its host's clock is from that of rank 0.
    pub offsets: Vec<ClockOffset>,
    /// What it has to tell, and what about its definitions is odd.
    pub notes: Vec<String>,
    /// How it ended.
    pub end: Option<End>,
    /// The files of its threads, by their number.
    pub threads: BTreeMap<u16, ThreadFiles>,
}

/// The files of one thread.
#[derive(Clone, Debug, Default)]
pub struct ThreadFiles {
    /// Blocks that were written out.
    pub calls: Option<PathBuf>,
    /// The memory of the thread.
    pub tail: Option<PathBuf>,
    /// Sums, instead of both.
    pub profile: Option<PathBuf>,
}

/// All processes that left something in a folder, and notes about files that belong to none.
pub fn read_all(live: &Path) -> Result<(Vec<Process>, Vec<String>), Error> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(live).at(live)? {
        names.push(entry.at(live)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    let mut processes = BTreeMap::new();
    for name in names.iter().filter_map(|name| name.strip_suffix(".defs")) {
        processes.insert(name, Process::read(live, name)?);
    }
    let mut strays = 0;
    for (file, owner, thread, kind) in names.iter().filter_map(|file| thread_file(file)) {
        match processes.get_mut(owner) {
            Some(process) => process.threads.entry(thread).or_default().add(kind, live.join(file)),
            None => strays += 1,
        }
    }
    let notes = (strays > 0).then(|| format!("{strays} files of calls have no definitions beside them and were left out"));
    Ok((processes.into_values().collect(), notes.into_iter().collect()))
}

/// The process, thread and kind that the name of a file says: `HOST-PID.tN.KIND`.
fn thread_file(file: &str) -> Option<(&str, &str, u16, &str)> {
    let (rest, kind) = file.rsplit_once('.')?;
    let (owner, thread) = rest.rsplit_once(".t")?;
    matches!(kind, "calls" | "tail" | "profile").then_some((file, owner, thread.parse().ok()?, kind))
}

impl ThreadFiles {
    fn add(&mut self, kind: &str, path: PathBuf) {
        let place = match kind {
            "calls" => &mut self.calls,
            "tail" => &mut self.tail,
            _ => &mut self.profile,
        };
        *place = Some(path);
    }
}

impl Process {
    fn read(live: &Path, name: &str) -> Result<Process, Error> {
        let path = live.join(format!("{name}.defs"));
        let bytes = fs::read(&path).at(&path)?;
        let (host, pid) = name.rsplit_once('-').unwrap_or((name, ""));
        let mut process = Process { name: name.into(), host: host.into(), pid: pid.parse().unwrap_or(0), ..Process::default() };
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            match serde_json::from_slice(line) {
                Ok(definition) => process.add(definition, &path)?,
                // The last line is cut where the process was killed while it wrote.
                Err(_) if lines.peek().is_none() => {}
                Err(error) => process.notes.push(format!("{name}.defs:{}:{}: not understood: {error}", number + 1, error.column())),
            }
        }
        Ok(process)
    }

    fn add(&mut self, definition: Definition, path: &Path) -> Result<(), Error> {
        match definition {
            Definition::Process(process) => {
                check_version(process.format, process.functions, path)?;
                self.host = process.host;
                self.pid = process.pid;
                self.arguments = process.arguments;
                self.time_stamp_counter = process.time_stamp_counter;
            }
            Definition::Library(library) => self.library = Some(library),
            Definition::World(world) if world.rank < 0 || world.rank >= world.size || world.size > MOST_RANKS as i32 => {
                self.notes.push(format!("{}: rank {} of {} makes no sense", self.name, world.rank, world.size));
            }
            Definition::World(world) => self.world = Some(world),
            Definition::Module(module) => self.modules.push(module),
            Definition::Communicator(communicator) => self.communicators.push(communicator),
            Definition::Object(object) => self.objects.push(object),
            Definition::Group(group) => self.groups.push(group),
            Definition::Thread(_) => {}
            Definition::Clock(reading) => self.readings.push(reading),
            Definition::Offset(offset) => self.offsets.push(offset),
            Definition::Note(note) => self.notes.push(note.text),
            Definition::End(end) => self.end = Some(end),
        }
        Ok(())
    }
}

fn check_version(found: u32, functions: usize, path: &Path) -> Result<(), Error> {
    if found > FORMAT {
        return Err(Error::Newer { path: path.to_owned(), found, known: FORMAT });
    }
    if functions != FUNCTIONS.len() {
        return Err(Error::OtherFunctions { path: path.to_owned(), found: functions, known: FUNCTIONS.len() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_whose_it_is() {
        assert_eq!(thread_file("node-1.lan-77.t3.calls"), Some(("node-1.lan-77.t3.calls", "node-1.lan-77", 3, "calls")));
        assert_eq!(thread_file("a.t1-5.2.t0.tail"), Some(("a.t1-5.2.t0.tail", "a.t1-5.2", 0, "tail")));
        for other in ["run.json", "host-1.defs", "host-1.t.calls", "host-1.t70000.calls", "calls", "host-1.t1.other"] {
            assert_eq!(thread_file(other), None, "{other}");
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
