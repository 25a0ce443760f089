//! What is open: the recordings of the command line, and what was given beside them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use sintonia_insight::Summary;
use sintonia_machine::Machine;
use sintonia_model::model::Model;
use sintonia_placement::Host;
use sintonia_program::Traffic;
use sintonia_program::company::{Alone, Company};
use sintonia_program::graph::ProgramGraph;
use sintonia_recording::Recording;
use sintonia_view::answer::{Answer, Question, Refusal};
use sintonia_view::timeline::Timeline;

use super::slow::{Kept, Progress, Slow, Task};
use crate::fit::Found;
use crate::{Error, text};
use sintonia_view::memory;

/// Bytes that are not taken by several at once.
const MUCH_MEMORY: u64 = 1 << 30;

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
    is_analysed: AtomicBool,
    /// Who works on something that takes much memory: one for all recordings.
    turn: Arc<Mutex<()>>,
}

impl Open {
    /// Opens recordings; what is no recording is an error.
    pub fn recordings(paths: &[PathBuf]) -> Result<Open, Error> {
        let turn = Arc::default();
        let open = |path: &PathBuf| Opened::at(path, &turn).map(Arc::new);
        Ok(Open { recordings: paths.iter().map(open).collect::<Result<_, _>>()?, ..Open::default() })
    }

    /// The recording that a question is about.
    pub fn asked(&self, question: &Question) -> Result<&Arc<Opened>, Refusal> {
        self.recordings.get(question.recording).ok_or_else(|| Refusal::Unknown(format!("recording {}", question.recording)))
    }
}

impl Opened {
    fn at(path: &Path, turn: &Arc<Mutex<()>>) -> Result<Opened, Error> {
        Ok(Opened {
            path: path.to_owned(),
            recording: Arc::new(Recording::open(path)?),
            summary: Arc::default(),
            program: Arc::default(),
            traffic: Arc::default(),
            timeline: Arc::default(),
            is_analysed: AtomicBool::new(false),
            turn: Arc::clone(turn),
        })
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        path.file_name().map_or_else(|| self.path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// Answers from what a report shows.
    pub fn with_summary(self: &Arc<Opened>, then: impl FnOnce(&Summary) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        let this = Arc::clone(self);
        let work = move |progress: &Progress| {
            let _turn = this.turn();
            understood(&this.recording, &Alone, &|| progress.step()).map_err(not_there)
        };
        self.summary.answer(Task { doing: "finding wait states and their causes", steps: Summary::steps(&self.recording), work }, then)
    }

    /// What a report shows, where others have found it out already.
    pub fn set_summary(&self, summary: Summary) {
        self.summary.set(summary);
    }

    /// Answers from the program graph; a profile has none.
    pub fn with_program(self: &Arc<Opened>, then: impl FnOnce(&ProgramGraph) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        self.has_calls()?;
        let this = Arc::clone(self);
        let work = move |progress: &Progress| ProgramGraph::of(&this.recording, || progress.step()).map_err(not_there);
        let steps = ProgramGraph::READINGS * self.recording.header.ranks.len();
        self.program.answer(Task { doing: "following the program", steps, work }, then)
    }

    /// Answers from what the ranks exchanged.
    pub fn with_traffic(self: &Arc<Opened>, then: impl FnOnce(&[Traffic]) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        let recording = Arc::clone(&self.recording);
        let work = move |progress: &Progress| {
            let read = |rank| Traffic::read(&recording, rank).inspect(|_| progress.step());
            recording.header.ranks.par_iter().map(read).collect::<Result<Vec<Traffic>, _>>().map_err(not_there)
        };
        let steps = self.recording.header.ranks.len();
        self.traffic.answer(Task { doing: "reading who sent what to whom", steps, work }, |traffic| then(traffic))
    }

    /// Answers from the timeline.
    pub fn with_timeline(self: &Arc<Opened>, then: impl FnOnce(&Arc<Timeline>) -> Result<Answer, Refusal>) -> Result<Answer, Refusal> {
        self.has_calls()?;
        let recording = Arc::clone(&self.recording);
        let work = move |progress: &Progress| Timeline::open(recording, &|share| progress.reach(share)).map(Arc::new).map_err(not_there);
        self.timeline.answer(Task { doing: "making an index of the calls", steps: 1000, work }, then)
    }

    /// Has the timeline look for waits and messages, once, beside answering.
    pub fn analyse_aside(self: &Arc<Opened>, timeline: &Arc<Timeline>) {
        if !self.is_analysed.swap(true, Ordering::Relaxed) {
            timeline.announce_analysis();
            let (this, timeline) = (Arc::clone(self), Arc::clone(timeline));
            std::thread::spawn(move || {
                let _turn = this.turn();
                timeline.analyse();
            });
        }
    }

    /// The right to take much memory: one at a time has it.
    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        (Summary::memory(&self.recording) > MUCH_MEMORY).then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner))
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

/// What a report shows of a recording; without who waited for whom where there is not enough memory to find that out.
pub fn understood(recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<Summary, Error> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // All decide the same, whatever each of them sees, and those on one host share its memory.
    let hosts: Vec<(String, Option<u64>)> = company.gather((host, memory::free()));
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
