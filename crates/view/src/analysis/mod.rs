//! The analysis: where ranks waited, which messages passed, where the critical path ran and which ranks are alike, kept beside the index.
//!
//! Looking for all that takes some microseconds and a hundred bytes for each call ([`look`]), so it is done once, in the background, and what
//! was found is written down in [`pack`]s (`view.analysis`). Moments are those of the history, in which clocks are put right where they
//! contradict each other.

mod look;
mod pack;
mod things;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sintonia_insight::Summary;
use sintonia_machine::free_memory;
use sintonia_recording::Recording;

use crate::index::levels::{self, Activities, Level};
use crate::index::{Canvas, Index};
use crate::store::{self, Appender, Contents, Error, Section, Store, is_inside};
use look::{Findings, OfLine};
use pack::{Pack, Packed, pack, unpack};
pub use things::{Message, Stretch, Wait};

/// Is told what is being done, and how much of it all is done, from 0 to 1.
pub type Tell<'a> = &'a (dyn Fn(&str, f64) + Sync);

/// Ranks with the same behaviour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Its ranks.
    pub ranks: Vec<u32>,
}

/// What was found, and where in the file it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Found {
    identity: u64,
    sections: Vec<Section>,
    /// The kinds of waits that occur, by number.
    kinds: Vec<String>,
    roles: Vec<Role>,
    /// By rank and thread.
    lines: Vec<FoundOfLine>,
    path: Vec<Pack>,
}

/// What was found of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct FoundOfLine {
    rank: u32,
    thread: u16,
    /// How much of the time it waited, in bins.
    levels: Vec<Level>,
    waits: Vec<Pack>,
    messages: Vec<Pack>,
}

impl Contents for Found {
    const NAME: &'static str = "view.analysis";
    const MAGIC: &'static [u8; 8] = b"SINFOUND";
    const FORMAT: u32 = 2;

    fn identity(&self) -> u64 {
        self.identity
    }

    fn sections(&self) -> &[Section] {
        &self.sections
    }

    fn fits(&self, length: u64) -> bool {
        let fits = |packs: &[Pack]| packs.iter().all(|pack| is_inside(pack.at, pack.bytes.into(), length));
        let line = |line: &FoundOfLine| line.levels.iter().all(|level| level.fits(1, length)) && fits(&line.waits) && fits(&line.messages);
        self.lines.iter().all(line) && self.lines.is_sorted_by_key(|line| (line.rank, line.thread)) && fits(&self.path)
    }
}

/// The analysis of a recording.
pub struct Analysis {
    store: Store<Found>,
}

impl Analysis {
    /// The analysis that was made before, if there is one.
    pub fn find(recording: &Recording, index: &Index) -> Option<Analysis> {
        store::find(recording, index.identity()).map(|store| Analysis { store })
    }

    /// Makes it.
    pub fn make(recording: &Recording, index: &Index, tell: Tell) -> Result<Analysis, Error> {
        let findings = look::look(recording, tell)?;
        tell("writing down what was found", 0.95);
        let store = store::make(recording, index.identity(), |file| write(&findings, index, file))?;
        Ok(Analysis { store })
    }

    /// Why it cannot be made here, if it cannot: a machine that has too little memory would end the program, or stand still.
    pub fn obstacle(recording: &Recording) -> Option<String> {
        let needed = Summary::memory(recording);
        let free = free_memory()?;
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        (needed > free).then(|| {
            format!("to find waits and messages takes about {:.0} GB of memory, {:.0} GB are free", gigabytes(needed), gigabytes(free))
        })
    }

    /// Ranks with the same behaviour.
    pub fn roles(&self) -> &[Role] {
        &self.store.contents.roles
    }

    /// The kinds of waits that occur, by number.
    pub fn kinds(&self) -> &[String] {
        &self.store.contents.kinds
    }

    /// The kind of a wait.
    pub fn kind(&self, wait: &Wait) -> &str {
        usize::try_from(wait.kind).ok().and_then(|kind| self.kinds().get(kind)).map_or("", String::as_str)
    }

    /// Adds how long a thread waited, where the canvas can be painted.
    pub fn draw_waits(&self, rank: u32, thread: u16, canvas: &mut Canvas<1>) -> Result<(), Error> {
        let Some(line) = self.line(rank, thread) else { return Ok(()) };
        if let Some(level) = levels::fitting(&line.levels, canvas.window()) {
            let (mut bytes, (first, at, length)) = (Vec::new(), level.part(1, canvas));
            self.store.read(at, length, &mut bytes)?;
            level.paint(first, &bytes, &[0], canvas);
            return Ok(());
        }
        let (from, to) = canvas.clipped();
        self.each(line.waits.iter().filter(|pack| pack.touches(from, to)), |wait: Wait| {
            let (from, to) = wait.span();
            canvas.paint(from, to, 0);
        })
    }

    /// The waits of some calls of a thread that follow each other.
    pub fn waits(&self, rank: u32, thread: u16, first: u64, last: u64) -> Result<Vec<Wait>, Error> {
        let mut waits = Vec::new();
        let Some(line) = self.line(rank, thread) else { return Ok(waits) };
        let begin = line.waits.partition_point(|pack| pack.rows.1 < first);
        let end = line.waits.partition_point(|pack| pack.rows.0 <= last);
        self.each(line.waits.get(begin..end).unwrap_or_default().iter(), |wait: Wait| {
            if (first..=last).contains(&wait.row) {
                waits.push(wait);
            }
        })?;
        Ok(waits)
    }

    /// The stretches of the critical path that touch a stretch of time.
    pub fn path(&self, from: i64, to: i64) -> Result<Vec<Stretch>, Error> {
        let mut stretches = Vec::new();
        self.each(self.store.contents.path.iter().filter(|pack| pack.touches(from, to)), |stretch: Stretch| {
            if stretch.from < to && from < stretch.to {
                stretches.push(stretch);
            }
        })?;
        Ok(stretches)
    }

    /// How many messages are sent or received in a stretch of time, at least and at most.
    pub fn message_count(&self, from: i64, to: i64) -> (u64, u64) {
        let packs = self.store.contents.lines.iter().flat_map(|line| &line.messages).filter(|pack| pack.touches(from, to));
        packs.fold((0, 0), |(least, most), pack| {
            let (count, is_inside) = (u64::from(pack.count), from <= pack.span.0 && pack.span.1 < to);
            (least + if is_inside { count } else { 0 }, most + count)
        })
    }

    /// The messages that are sent or received in a stretch of time and fulfil a condition.
    pub fn messages(&self, from: i64, to: i64, wanted: impl Fn(&Message) -> bool + Sync) -> Result<Vec<Message>, Error> {
        let of_line = |line: &FoundOfLine| {
            let mut messages = Vec::new();
            self.each(line.messages.iter().filter(|pack| pack.touches(from, to)), |message: Message| {
                let inside = (from..to).contains(&message.sent) || (from..to).contains(&message.received);
                if inside && wanted(&message) {
                    messages.push(message);
                }
            })?;
            Ok(messages)
        };
        let lines: Vec<Vec<Message>> = self.store.contents.lines.par_iter().map(of_line).collect::<Result<_, Error>>()?;
        Ok(lines.concat())
    }

    fn line(&self, rank: u32, thread: u16) -> Option<&FoundOfLine> {
        let lines = &self.store.contents.lines;
        lines.binary_search_by_key(&(rank, thread), |line| (line.rank, line.thread)).ok().map(|place| &lines[place])
    }

    fn each<'a, T: Packed>(&self, packs: impl Iterator<Item = &'a Pack>, mut use_thing: impl FnMut(T)) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for pack in packs {
            self.store.read(pack.at, pack.bytes as usize, &mut bytes)?;
            unpack(&bytes, &mut use_thing);
        }
        Ok(())
    }
}

/// Writes down what was found.
fn write(findings: &Findings, index: &Index, file: &Appender) -> Result<Found, Error> {
    let (kinds, roles) = (findings.kinds.clone(), findings.roles.clone());
    let mut found = Found { identity: index.identity(), kinds, roles, ..Found::default() };
    let lines = findings.lines.par_iter().map(|line| write_line(line, index, file));
    for (section, line) in lines.collect::<Result<Vec<(Section, FoundOfLine)>, Error>>()? {
        found.sections.push(section);
        found.lines.push(line);
    }
    found.lines.sort_by_key(|line| (line.rank, line.thread));
    let mut bytes = Vec::new();
    found.path = pack(&findings.path, &mut bytes);
    let section = file.append(&bytes)?;
    found.path.iter_mut().for_each(|pack| pack.at += section.at);
    found.sections.push(section);
    Ok(found)
}

fn write_line(line: &OfLine, index: &Index, file: &Appender) -> Result<(Section, FoundOfLine), Error> {
    let mut bytes = Vec::new();
    // A bin takes one byte here, and a wait longer to read than a call.
    let activities = Activities { count: line.waits.len() as u64, per_bin: 1 };
    let window = levels::window(index.span(), activities);
    let mut canvas = Canvas::<1>::new(&window);
    for wait in &line.waits {
        let (from, to) = wait.span();
        canvas.paint(from, to, 0);
    }
    let mut levels = levels::write(&canvas, activities, &[0], &mut bytes);
    let (mut waits, mut messages) = (pack(&line.waits, &mut bytes), pack(&line.messages, &mut bytes));
    let section = file.append(&bytes)?;
    levels.iter_mut().for_each(|level| level.at += section.at);
    waits.iter_mut().chain(&mut messages).for_each(|pack| pack.at += section.at);
    Ok((section, FoundOfLine { rank: line.rank, thread: line.thread, levels, waits, messages }))
}
