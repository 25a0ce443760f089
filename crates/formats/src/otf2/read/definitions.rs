//! The global definitions of an archive, as far as they say something of MPI.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;
use crate::otf2::attributes::Field;
use crate::otf2::bytes::{Reader, UNDEFINED, UNDEFINED_LONG};
use crate::otf2::chunks::{Chunks, Content};
use crate::otf2::definition::{CPU_THREAD, MACHINE, MPI, MPI_IO, NANOSECONDS, PROCESS, SHARED_MEMORY, group_type, kind, value_type};
use crate::otf2::facts::{self, Value};
use crate::otf2::table::Table;

/// What is defined, by the numbers of the archive and in the order in which it is defined.
#[derive(Default)]
pub struct Definitions {
    /// Ticks a second.
    pub resolution: u64,
    /// The time at which the trace begins.
    pub offset: u64,
    /// That moment in nanoseconds since 1970.
    pub real_time: Option<u64>,
    strings: Table<String>,
    /// Attributes that mean something here.
    pub attributes: Table<Field>,
    /// The machine and its parts.
    pub nodes: HashMap<u32, Node>,
    /// Processes and whatever else has locations.
    pub processes: Vec<Process>,
    /// Threads and whatever else has events.
    pub locations: Vec<Location>,
    /// Functions and other regions.
    pub regions: Table<Region>,
    /// The locations that stand for the ranks of MPI. EZTrace gives its group the number of another one, so it is kept by itself.
    pub ranks: Option<Vec<u64>>,
    /// Groups of processes.
    pub groups: HashMap<u32, Group>,
    /// Communicators.
    pub communicators: Vec<Communicator>,
    /// Windows and files.
    pub objects: Vec<Object>,
    io_paradigms: HashMap<u8, String>,
    /// Source lines.
    pub lines: Table<Line>,
    /// Calling contexts.
    pub contexts: Vec<Context>,
    /// Call sites, as Sintonia writes them: the file of code and the place in it, by context.
    pub sites: HashMap<u32, (String, u64)>,
    /// Facts of the run.
    pub run: Vec<(String, Value)>,
    /// Facts of processes.
    pub facts: HashMap<u32, Vec<(String, Value)>>,
    /// The numbers of threads.
    pub threads: HashMap<u64, u64>,
}

/// A part of the machine.
pub struct Node {
    /// Its name.
    pub name: String,
    /// What it is.
    pub class: String,
    /// What it is a part of.
    pub parent: u32,
    /// Whether processes share memory in it.
    pub shared_memory: bool,
}

/// A process, or a device.
pub struct Process {
    /// Its number.
    pub number: u32,
    /// Whether it is a process.
    pub is_process: bool,
    /// Where it runs.
    pub node: u32,
}

/// A thread, or something else that has events.
pub struct Location {
    /// Its number.
    pub id: u64,
    /// Whether it is a thread.
    pub is_thread: bool,
    /// Its process.
    pub process: u32,
}

/// A function or another region of the program.
#[derive(Clone)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// Its name as the linker knows it.
    pub canonical: String,
    /// Its source file.
    pub file: Option<String>,
}

/// A group of processes.
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: u8,
    /// Its members.
    pub members: Vec<u64>,
    /// The paradigm that uses it.
    pub paradigm: u8,
    /// Its flags.
    pub flags: u32,
}

/// A communicator.
pub struct Communicator {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// The group of its members, and the other one if it is between two groups.
    pub groups: (u32, Option<u32>),
    /// The communicator it was made from.
    pub parent: u32,
}

/// A window or a file.
pub struct Object {
    /// Its number among those of its kind.
    pub number: u32,
    /// Whether it is a window.
    pub is_window: bool,
    /// The communicator it was made on.
    pub communicator: u32,
}

/// A source line.
#[derive(Clone)]
pub struct Line {
    /// Its file.
    pub file: Option<String>,
    /// Its number.
    pub line: Option<u32>,
}

/// A calling context.
pub struct Context {
    /// Its number.
    pub number: u32,
    /// The region that was called.
    pub region: u32,
    /// Where in it the next call is made.
    pub line: u32,
    /// The context around it.
    pub around: u32,
}

/// Reads the global definitions.
pub fn read(path: &Path, chunk: u64) -> Result<Definitions, Error> {
    let mut definitions = Definitions { resolution: NANOSECONDS, ..Definitions::default() };
    let mut chunks = Chunks::open(path, Content::Definitions, chunk)?;
    loop {
        let at = chunks.position();
        let Some(record) = chunks.next(|_, _| None)? else { break };
        let kind = record.kind;
        let understood = definitions.add(kind, record.content);
        understood.ok_or_else(|| chunks.malformed(at, format!("a definition of kind {kind} makes no sense")))?;
    }
    Ok(definitions)
}

impl Definitions {
    /// A string; `None` if it is not defined.
    pub fn string(&self, number: u32) -> Option<&str> {
        self.strings.get(number).map(String::as_str)
    }

    /// Whether Sintonia made the archive: then it says more than others do.
    pub fn is_ours(&self) -> bool {
        !self.run.is_empty()
    }

    fn text(&self, number: u32) -> String {
        self.string(number).unwrap_or_default().to_owned()
    }

    fn add(&mut self, kind: u8, mut content: Reader) -> Option<()> {
        let content = &mut content;
        match kind {
            kind::CLOCK_PROPERTIES => self.add_clock(content)?,
            kind::STRING => self.strings.insert(content.u32()?, content.string()?),
            kind::ATTRIBUTE => {
                let (number, name) = (content.u32()?, content.u32()?);
                if let Some(field) = self.string(name).and_then(Field::named) {
                    self.attributes.insert(number, field);
                }
            }
            kind::SYSTEM_TREE_NODE => {
                let (number, name, class, parent) = (content.u32()?, content.u32()?, content.u32()?, content.u32()?);
                let (name, class) = (self.text(name), self.text(class));
                self.nodes.insert(number, Node { name, class, parent, shared_memory: false });
            }
            kind::SYSTEM_TREE_NODE_DOMAIN => {
                let (number, domain) = (content.u32()?, content.u8()?);
                if let Some(node) = self.nodes.get_mut(&number) {
                    node.shared_memory |= domain == SHARED_MEMORY;
                }
            }
            kind::LOCATION_GROUP => {
                let (number, _name, kind, node) = (content.u32()?, content.u32()?, content.u8()?, content.u32()?);
                self.processes.push(Process { number, is_process: kind == PROCESS, node });
            }
            kind::LOCATION => {
                let (id, _name, kind, _events, process) = (content.u64()?, content.u32()?, content.u8()?, content.u64()?, content.u32()?);
                self.locations.push(Location { id, is_thread: kind == CPU_THREAD, process });
            }
            kind::REGION => self.add_region(content)?,
            kind::GROUP => self.add_group(content)?,
            kind::COMM | kind::INTER_COMM => self.add_communicator(kind, content)?,
            kind::RMA_WIN => {
                let (number, _name, communicator) = (content.u32()?, content.u32()?, content.u32()?);
                self.objects.push(Object { number, is_window: true, communicator });
            }
            kind::IO_PARADIGM => {
                let (number, name) = (content.u8()?, content.u32()?);
                self.io_paradigms.insert(number, self.text(name));
            }
            kind::IO_HANDLE => self.add_file(content)?,
            kind::SOURCE_CODE_LOCATION => {
                let (number, file, line) = (content.u32()?, content.u32()?, content.u32()?);
                let file = self.string(file).filter(|file| !file.is_empty()).map(str::to_owned);
                self.lines.insert(number, Line { file, line: Some(line).filter(|line| *line != 0 && *line != UNDEFINED) });
            }
            kind::CALLING_CONTEXT => {
                let (number, region, line, around) = (content.u32()?, content.u32()?, content.u32()?, content.u32()?);
                self.contexts.push(Context { number, region, line, around });
            }
            kind::SYSTEM_TREE_NODE_PROPERTY => {
                let (node, (name, value)) = (content.u32()?, self.old_property(content)?);
                if node == MACHINE && name.starts_with(facts::PREFIX) {
                    self.run.push((name, value));
                }
            }
            kind::LOCATION_GROUP_PROPERTY => {
                let (process, property) = (content.u32()?, self.old_property(content)?);
                self.facts.entry(process).or_default().push(property);
            }
            kind::LOCATION_PROPERTY => {
                let (location, property) = (content.u64()?, self.old_property(content)?);
                if let (facts::THREAD, Value::Number(thread)) = (property.0.as_str(), property.1) {
                    self.threads.insert(location, thread);
                }
            }
            kind::CALLING_CONTEXT_PROPERTY => self.add_site(content)?,
            _ => {}
        }
        Some(())
    }

    fn add_clock(&mut self, content: &mut Reader) -> Option<()> {
        (self.resolution, self.offset) = (content.u64()?.max(1), content.u64()?);
        let _length = content.u64()?;
        // Old archives do not say when they were made.
        self.real_time = content.u64().filter(|time| *time != UNDEFINED_LONG);
        Some(())
    }

    fn add_region(&mut self, content: &mut Reader) -> Option<()> {
        let (number, name, _about, _kind) = (content.u32()?, content.u32()?, content.u32()?, content.u8()?);
        let (file, _begin, _end) = (content.u32()?, content.u32()?, content.u32()?);
        let canonical = content.u32().unwrap_or(name);
        let file = self.string(file).filter(|file| !file.is_empty()).map(str::to_owned);
        self.regions.insert(number, Region { name: self.text(name), canonical: self.text(canonical), file });
        Some(())
    }

    fn add_group(&mut self, content: &mut Reader) -> Option<()> {
        let (number, name, old_kind, count) = (content.u32()?, content.u32()?, content.u8()?, content.u32()?);
        // Each member takes at least a byte: a count that is out of proportion is refused before room is made for it.
        if count as usize > content.left() {
            return None;
        }
        let members = (0..count).map(|_| content.u64()).collect::<Option<Vec<u64>>>()?;
        // Old archives have only MPI's groups, and end here.
        let (kind, paradigm) = (content.u8().unwrap_or(old_kind), content.u8().unwrap_or(MPI));
        if (kind, paradigm) == (group_type::LOCATIONS, MPI) {
            self.ranks.get_or_insert(members);
            return Some(());
        }
        self.groups.insert(number, Group { name: self.text(name), kind, members, paradigm, flags: content.u32().unwrap_or(0) });
        Some(())
    }

    fn add_communicator(&mut self, kind: u8, content: &mut Reader) -> Option<()> {
        let (number, name, group) = (content.u32()?, content.u32()?, content.u32()?);
        let other = if kind == kind::INTER_COMM { Some(content.u32()?) } else { None };
        self.communicators.push(Communicator { number, name: self.text(name), groups: (group, other), parent: content.u32()? });
        Some(())
    }

    fn add_file(&mut self, content: &mut Reader) -> Option<()> {
        let (number, _name, _file, paradigm) = (content.u32()?, content.u32()?, content.u32()?, content.u8()?);
        let (_flags, communicator) = (content.u32()?, content.u32()?);
        if self.io_paradigms.get(&paradigm).is_some_and(|name| name == MPI_IO) {
            self.objects.push(Object { number, is_window: false, communicator });
        }
        Some(())
    }

    fn add_site(&mut self, content: &mut Reader) -> Option<()> {
        let (context, name) = (content.u32()?, content.u32()?);
        let value = self.value(content)?;
        match (self.string(name), value) {
            (Some(facts::MODULE), Value::Text(module)) => self.sites.entry(context).or_default().0 = module,
            (Some(facts::OFFSET), Value::Number(offset)) => self.sites.entry(context).or_default().1 = offset,
            _ => {}
        }
        Some(())
    }

    /// A property of a kind that was once only a text.
    fn old_property(&self, content: &mut Reader) -> Option<(String, Value)> {
        let (name, text) = (content.u32()?, content.u32()?);
        let value = if content.left() == 0 { Value::Text(self.text(text)) } else { self.value(content)? };
        Some((self.text(name), value))
    }

    fn value(&self, content: &mut Reader) -> Option<Value> {
        match content.u8()? {
            value_type::STRING => content.u32().map(|text| Value::Text(self.text(text))),
            value_type::UINT64 => content.u64().map(Value::Number),
            value_type::INT64 => content.u64().map(|number| Value::Signed(number as i64)),
            value_type::DOUBLE => content.f64().map(Value::Fraction),
            // Other types are not used for anything that means something here.
            _ => Some(Value::Number(0)),
        }
    }
}
