//! What every rank did when: answers about the timeline of a recording, from the whole run down to single calls.
//!
//! The row of a rank shows its first thread, as the efficiencies of a report do: other threads may wait in MPI all the time without holding
//! up the computation. Lists of calls hold those of all threads.

mod ask;
mod calls;
mod find;
mod messages;
mod picture;
mod rows;
#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sintonia_recording::Recording;

use crate::analysis::Analysis;
pub use crate::analysis::Role;
use crate::answer::{Answer, Question, Refusal};
use crate::index::{Drawer, Index};
pub use crate::store::{Error, Stamp};

/// The timeline of one recording.
pub struct Timeline {
    recording: Arc<Recording>,
    /// There is none for a profile: it holds no calls.
    index: Option<Index>,
    analysis: Mutex<State>,
    /// Ranks with the same behaviour, where somebody knows them without an analysis.
    roles: Option<Vec<Role>>,
}

/// What could not be done for want of memory is tried again after this time.
const AGAIN: Duration = Duration::from_secs(30);

/// How far the analysis is.
#[derive(Clone)]
enum State {
    Unasked,
    Announced,
    Working {
        doing: String,
        done: f64,
    },
    Made(Arc<Analysis>),
    /// There is not enough memory for it, at that moment.
    Hindered(String, Instant),
    Failed(String),
}

impl Timeline {
    /// What can be asked of it.
    pub const SUBJECTS: [&'static str; 4] = ["timeline", "calls", "messages", "find"];

    /// Opens the timeline of a recording. That reads all of the recording if it was not opened before; `progress` is told how much of it is
    /// done, from 0 to 1.
    pub fn open(recording: Arc<Recording>, progress: &(dyn Fn(f64) + Sync)) -> Result<Timeline, Error> {
        let index = if recording.header.profile { None } else { Some(Index::open(&recording, progress)?) };
        let made = index.as_ref().and_then(|index| Analysis::find(&recording, index));
        let analysis = Mutex::new(made.map_or(State::Unasked, |analysis| State::Made(Arc::new(analysis))));
        Ok(Timeline { recording, index, analysis, roles: None })
    }

    /// The same where it is known which ranks are alike, so that this need not be looked for.
    pub fn with_roles(self, roles: Vec<Role>) -> Timeline {
        Timeline { roles: Some(roles), ..self }
    }

    /// Whether [`Timeline::analyse`] should be called, which the asker then does: until then answers that need it are still to come, not
    /// missing.
    pub fn announce_analysis(&self) -> bool {
        let mut state = self.analysis.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = match &*state {
            State::Unasked => self.index.is_some(),
            State::Hindered(_, since) => since.elapsed() > AGAIN,
            _ => false,
        };
        if is_due {
            *state = State::Announced;
        }
        is_due
    }

    /// Looks for waits, messages, the critical path and roles, if that was not done before. It takes long and much memory, so it is done
    /// beside answering, and answers have what it finds as soon as it is done. Where it fails, answers that need it say why.
    pub fn analyse(&self) {
        let is_due = matches!(self.state(), State::Unasked | State::Announced | State::Hindered(..));
        let Some(index) = self.index.as_ref().filter(|_| is_due) else { return };
        let tell = |doing: &str, done: f64| self.set(State::Working { doing: doing.to_owned(), done });
        tell("looking for waits and messages", 0.0);
        let make = || match Analysis::obstacle(&self.recording) {
            Some(why) => State::Hindered(why, Instant::now()),
            None => match Analysis::make(&self.recording, index, &tell) {
                Ok(analysis) => State::Made(Arc::new(analysis)),
                Err(error) => State::Failed(error.to_string()),
            },
        };
        // Whoever asks must not wait for ever for what has broken down.
        let broken = |_| State::Failed("looking for waits and messages broke down: this is a mistake of the command".to_owned());
        let state = std::panic::catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(broken);
        self.set(state);
    }

    /// Answers a question about one of [`Timeline::SUBJECTS`].
    pub fn answer(&self, question: &Question) -> Result<Answer, Refusal> {
        let Some(index) = &self.index else {
            let why = "the recording holds sums, not calls: record again without --profile to see when things happened";
            return Err(Refusal::NotThere(why.to_owned()));
        };
        let state = self.state();
        let analysis = match &state {
            State::Made(analysis) => Some(&**analysis),
            _ => None,
        };
        let roles = self.roles.as_deref().or_else(|| analysis.map(Analysis::roles));
        let view = View { recording: &self.recording, index, analysis, roles };
        match (question.subject.as_str(), analysis) {
            ("timeline", None) if question.get("by") == Some("role") && roles.is_none() => state.instead(),
            ("timeline", _) => picture::answer(view, question),
            ("calls", _) => calls::answer(view, question),
            ("find", None) if question.get("wait").is_some() => state.instead(),
            ("find", _) => find::answer(view, question),
            ("messages", None) => state.instead(),
            ("messages", Some(analysis)) => messages::answer(view, analysis, question),
            (other, _) => Err(Refusal::Unknown(other.to_owned())),
        }
    }

    fn state(&self) -> State {
        self.analysis.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, state: State) {
        *self.analysis.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

impl State {
    /// What is answered while the analysis is not there.
    fn instead(self) -> Result<Answer, Refusal> {
        match self {
            State::Announced => Ok(Answer::Working { doing: "waiting until waits and messages can be looked for".to_owned(), done: 0.0 }),
            State::Working { doing, done } => Ok(Answer::Working { doing, done }),
            State::Failed(why) | State::Hindered(why, _) => Err(Refusal::NotThere(why)),
            State::Unasked | State::Made(_) => Err(Refusal::NotThere("waits and messages were not looked for".to_owned())),
        }
    }
}

/// What an answer is made from.
#[derive(Clone, Copy)]
struct View<'a> {
    recording: &'a Recording,
    index: &'a Index,
    analysis: Option<&'a Analysis>,
    roles: Option<&'a [Role]>,
}

impl<'a> View<'a> {
    fn drawer(self) -> Drawer<'a> {
        Drawer::new(self.index, self.recording)
    }
}

/// A question that cannot be answered because a file cannot be read.
impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::NotThere(error.to_string())
    }
}
