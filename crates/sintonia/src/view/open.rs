//! What is open: the recordings of the command line, and what was given beside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use sintonia_insight::Summary;
use sintonia_machine::{Machine, free_memory};
use sintonia_model::model::Model;
use sintonia_placement::Host;
use sintonia_program::Traffic;
use sintonia_program::company::{Alone, Company};
use sintonia_program::graph::ProgramGraph;
use sintonia_recording::{Recording, header};
use sintonia_view::answer::{Answer, Question, Refusal};
use sintonia_view::timeline::{self, Stamp, Timeline};

use super::slow::{Kept, Progress, Slow, Task};
use super::turn::Turn;
use crate::fit::Found;
use crate::{Error, text};

/// Bytes that are not taken by several at once.
const MUCH_MEMORY: u64 = 128 << 20;
/// Pairs of ranks in a report, the heaviest first: `communication` has all of them, and a thousand ranks can have a million.
const MOST_PAIRS: usize = 64;

/// Everything that questions are about.
#[derive(Default)]
pub struct Open {
    /// The recordings, in the order of the command line.
    pub recordings: Vec<Arc<Opened>>,
    /// The machine file, if one was given.
    pub machine: Option<Machine>,
    /// The model, if one was given.
    pub model: Option<Model>,
    /// The hosts to place ranks on, if they were given.
    pub hosts: Option<Vec<Host>>,
    /// The model of all recordings.
    pub fitted: Arc<Slow<Found>>,
    /// Answers to questions in particular that took a while.
    pub kept: Kept,
    /// Who replays: every turn of a dial asks for one more.
    pub replays: Arc<Turn>,
    /// Who works on something that takes much memory.
    memory: Arc<Turn>,
}

/// A recording that is open, and what has been found out about it.
pub struct Opened {
    /// Where it is.
    pub path: PathBuf,
    /// The recording.
    pub recording: Arc<Recording>,
    summary: Arc<Slow<Summary>>,
    program: Arc<Slow<ProgramGraph>>,
    traffic: Arc<Slow<Vec<Traffic>>>,
    timeline: Arc<Slow<Arc<Timeline>>>,
    /// The turn of all recordings together.
    memory: Arc<Turn>,
    /// Its header when it was opened.
    stamp: Option<Stamp>,
}

impl Open {
    /// Opens recordings; what is no recording is an error.
    pub fn recordings(paths: &[PathBuf]) -> Result<Open, Error> {
        let memory = Arc::default();
        let open = |path: &PathBuf| Opened::at(path, &memory).map(Arc::new);
        Ok(Open { recordings: paths.iter().map(open).collect::<Result<_, _>>()?, memory: Arc::clone(&memory), ..Open::default() })
    }

    /// The recording that a question is about, as long as it is the one that was opened.
    pub fn asked(&self, question: &Question) -> Result<&Arc<Opened>, Refusal> {
        let opened = self.recordings.get(question.recording);
        let opened = opened.ok_or_else(|| Refusal::Unknown(format!("recording {}", question.recording)))?;
        match (stamp(&opened.recording), opened.stamp) {
            (Some(now), Some(then)) if now != then => Err(not_there(timeline::Error::Changed)),
            // Without a header the run may still go on; who reads a rank's file sees whether it is still the same.
            _ => Ok(opened),
        }
    }

    /// What it takes to read the histories of recordings, if that takes much memory.
    pub fn turn_to_read(&self, recordings: &[Arc<Opened>]) -> Option<Arc<Turn>> {
        recordings.iter().any(|opened| opened.takes_much_memory()).then(|| Arc::clone(&self.memory))
    }
}

/// What tells a recording from another one in its place.
fn stamp(recording: &Recording) -> Option<Stamp> {
    std::fs::metadata(recording.folder().join(header::FILE)).ok().map(|file| Stamp::of(&file))
}

impl Opened {
    fn at(path: &Path, memory: &Arc<Turn>) -> Result<Opened, Error> {
        let recording = Arc::new(Recording::open(path)?);
        Ok(Opened {
            path: path.to_owned(),
            stamp: stamp(&recording),
            recording,
            summary: Arc::default(),
            program: Arc::default(),
            traffic: Arc::default(),
            timeline: Arc::default(),
            memory: Arc::clone(memory),
        })
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        path.file_name().map_or_else(|| self.path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// How many calls it holds, as its header tells.
    pub fn calls(&self) -> u64 {
        self.recording.header.ranks.iter().map(|rank| rank.calls).fold(0, u64::saturating_add)
    }

    /// Answers from what a report shows.
    pub fn with_summary(self: &Arc<Opened>, then: impl FnOnce(&Summary) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        let this = Arc::clone(self);
        let work = move |progress: &Progress| understood(&this.recording, &Alone, &|| progress.step()).map(kept).map_err(not_there);
        let (doing, steps) = ("finding wait states and their causes".into(), Summary::steps(&self.recording));
        self.summary.answer(Task { doing, steps, turn: self.turn(), work }, then)
    }

    /// What a report shows, where others have found it out already.
    pub fn set_summary(&self, summary: Summary) {
        self.summary.set(kept(summary));
    }

    /// Answers from the program graph; a profile has none.
    pub fn with_program(self: &Arc<Opened>, then: impl FnOnce(&ProgramGraph) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        self.has_calls()?;
        let this = Arc::clone(self);
        let work = move |progress: &Progress| ProgramGraph::of(&this.recording, || progress.step()).map_err(not_there);
        let steps = ProgramGraph::READINGS * self.recording.header.ranks.len();
        self.program.answer(Task { doing: "following the program".into(), steps, turn: None, work }, then)
    }

    /// Answers from what the ranks exchanged.
    pub fn with_traffic(self: &Arc<Opened>, then: impl FnOnce(&[Traffic]) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        let recording = Arc::clone(&self.recording);
        let work = move |progress: &Progress| {
            let read = |rank| Traffic::read(&recording, rank).inspect(|_| progress.step());
            recording.header.ranks.par_iter().map(read).collect::<Result<Vec<Traffic>, _>>().map_err(not_there)
        };
        let steps = self.recording.header.ranks.len();
        self.traffic.answer(Task { doing: "reading who sent what to whom".into(), steps, turn: None, work }, |traffic| then(traffic))
    }

    /// Answers from the timeline.
    pub fn with_timeline(self: &Arc<Opened>, then: impl FnOnce(&Arc<Timeline>) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        self.has_calls()?;
        let recording = Arc::clone(&self.recording);
        let work = move |progress: &Progress| Timeline::open(recording, &|share| progress.reach(share)).map(Arc::new).map_err(not_there);
        self.timeline.answer(Task { doing: "making an index of the calls".into(), steps: 1000, turn: None, work }, then)
    }

    /// Has the timeline look for waits and messages, once, beside answering.
    pub fn analyse_aside(self: &Arc<Opened>, timeline: &Arc<Timeline>) {
        if timeline.announce_analysis() {
            let (turn, timeline) = (self.turn(), Arc::clone(timeline));
            std::thread::spawn(move || {
                let progress = Arc::new(Progress::new("looking for waits and messages".into(), 1));
                let _held = turn.map(|turn| turn.wait(&progress));
                timeline.analyse();
            });
        }
    }

    /// What it takes to read all of its history: of those that take much memory for it, one at a time may.
    fn turn(&self) -> Option<Arc<Turn>> {
        self.takes_much_memory().then(|| Arc::clone(&self.memory))
    }

    fn takes_much_memory(&self) -> bool {
        Summary::memory(&self.recording) > MUCH_MEMORY
    }

    /// An error where there is not enough memory to read its history: for those who have nothing to tell without it.
    pub fn has_room(&self) -> Result<(), Refusal> {
        let needed = Summary::memory(&self.recording);
        match free_memory().filter(|free| *free < needed) {
            None => Ok(()),
            Some(free) => Err(Refusal::NotThere(format!(
                "to find that out takes {} of memory, and {} are free",
                text::bytes(needed),
                text::bytes(free)
            ))),
        }
    }

    /// An error for a profile: the order of its calls is not known.
    pub fn has_calls(&self) -> Result<(), Refusal> {
        match self.recording.header.profile {
            true => {
                Err(Refusal::NotThere("Only sums were kept of this run (record --profile): the order of its calls is not known.".into()))
            }
            false => Ok(()),
        }
    }
}

/// What is kept of what a report shows.
fn kept(mut summary: Summary) -> Summary {
    summary.pairs.truncate(MOST_PAIRS);
    summary
}

/// What a report shows of a recording; without who waited for whom where there is not enough memory to find that out.
pub fn understood(recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<Summary, Error> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // All decide the same, whatever each of them sees, and those on one host share its memory.
    let hosts: Vec<(String, Option<u64>)> = company.gather((host, free_memory()));
    let needed = |host: &str| {
        Summary::memory(recording) / hosts.len().max(1) as u64 * hosts.iter().filter(|(other, _)| other == host).count() as u64
    };
    let scarce = hosts.iter().find_map(|(host, free)| free.filter(|free| *free < needed(host)).map(|free| (needed(host), free)));
    let Some((needed, free)) = scarce else { return Ok(Summary::of(recording, company, progress)?) };
    let mut summary = Summary::of_sums(recording, company, progress)?;
    summary.not_recorded.push(format!(
        "who waited for whom was not looked for: it takes {} of memory, and {} are free; several hosts can look together: mpirun -n 16 \
         sintonia report --html FILE NAME.sin",
        text::bytes(needed),
        text::bytes(free)
    ));
    Ok(summary)
}

/// What went wrong, for whoever asked.
pub fn not_there(error: impl std::fmt::Display) -> Refusal {
    Refusal::NotThere(error.to_string())
}
