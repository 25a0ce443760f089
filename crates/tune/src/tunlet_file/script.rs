//! Scripts of tunlets, for what formulas cannot express: a script receives events and requests changes.
//!
//! One that fails or does not end is disabled and reported; the tuned program continues.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sintonia_text::line_col::LineTable;
use sintonia_text::source_pos::SourcePos;

use super::TunletValue;
use super::error::{Error, TunletFileProblem};
use super::measure::MeasuredEvent;
use super::metric_store::MetricStore;
use crate::script::{Script, ScriptError, ScriptHost, ScriptValue};

/// CPU time limit of a call; time when others use the processor does not count.
const MAX_TIME: Duration = Duration::from_millis(100);
/// Most requests of one call.
const MAX_REQUESTS: usize = 1 << 10;

/// A request of a script.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptRequest {
    /// Change the tune of this name.
    Change {
        name: String,
        value: f64,
        /// In this process only.
        rank: Option<u32>,
        why: String,
    },
    /// Log a finding.
    Report(String),
}

#[derive(Debug)]
pub(super) struct TunletScript {
    text: String,
    script: Script,
    /// `this` of all its functions: state between calls.
    state: ScriptValue,
    /// Number of lines before it in the file that contains it, and the name of that file.
    lines_before: usize,
    file: String,
}

impl TunletScript {
    /// Parses a script: inline text, or the name of a file next to the tunlet's.
    pub(super) fn parse(value: &TunletValue, tunlet_path: &Path) -> Result<TunletScript, Error> {
        let text = value.nonblank_text()?;
        if text.contains('\n') {
            let lines_before = value.first_line().saturating_sub(1);
            return TunletScript::new(&text, tunlet_path.display().to_string(), lines_before)
                .map_err(|error| value.error_within(error.at..error.at + 1, TunletFileProblem::Syntax(error.reason)));
        }
        let path = tunlet_path.parent().unwrap_or(Path::new("")).join(&text);
        let code = std::fs::read_to_string(&path).map_err(|source| Error::Unreadable { path: path.clone(), source })?;
        TunletScript::new(&code, path.display().to_string(), 0).map_err(|error| Error::Invalid {
            place: SourcePos::from_span(&path, &code, error.at..error.at + 1),
            problem: Box::new(TunletFileProblem::Syntax(error.reason)),
        })
    }

    fn new(text: &str, file: String, lines_before: usize) -> Result<TunletScript, ScriptError> {
        let script = Script::parse(text)?;
        if !script.handles("happened") && !script.handles("passed") {
            return Err(ScriptError { at: 0, reason: "a script needs a function `happened(event)` or `passed(time)`".into() });
        }
        Ok(TunletScript { text: text.into(), script, state: ScriptValue::Map([].into()), lines_before, file })
    }

    /// Passes an event to the script; returns its requests, or why it failed.
    pub(super) fn handle_event(
        &mut self,
        board: &MetricStore,
        measure: usize,
        event: &MeasuredEvent,
    ) -> Result<Vec<ScriptRequest>, String> {
        let names = &board.measures[measure];
        let values = names.values.iter().zip(&event.values).map(|(name, value)| (name.as_str().into(), ScriptValue::Float(*value)));
        let fields = [
            ("point", ScriptValue::text(&names.name)),
            ("rank", ScriptValue::Int(event.rank.into())),
            ("time", ScriptValue::Float(event.time)),
            ("values", ScriptValue::Map(values.collect())),
        ];
        self.call("happened", ScriptValue::Map(fields.map(|(name, value)| (name.into(), value)).into()), board)
    }

    /// Tells the script the time; returns its requests, or why it failed.
    pub(super) fn handle_tick(&mut self, board: &MetricStore, time: f64) -> Result<Vec<ScriptRequest>, String> {
        self.call("passed", ScriptValue::Float(time), board)
    }

    fn call(&mut self, function: &str, argument: ScriptValue, board: &MetricStore) -> Result<Vec<ScriptRequest>, String> {
        if !self.script.handles(function) {
            return Ok(Vec::new());
        }
        let known = board.performance.iter().filter_map(|one| Some((one.name.as_str(), board.value(&one.formula)?)));
        let mut host = TunletHost { requests: Vec::new(), values: known.collect(), deadline: thread_cpu_time() + MAX_TIME };
        let result = self.script.call(function, argument, &mut self.state, &mut host);
        result.map(|_| host.requests).map_err(|error| self.describe_error(&error))
    }

    fn describe_error(&self, error: &ScriptError) -> String {
        let place = LineTable::new(&self.text).line_col(&(error.at..error.at + 1));
        format!("{}:{}:{}: {}", self.file, self.lines_before + place.line, place.column, error.reason)
    }
}

/// CPU time of this thread.
fn thread_cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// What a script reaches during a call.
struct TunletHost<'a> {
    requests: Vec<ScriptRequest>,
    /// Values of performance functions.
    values: HashMap<&'a str, f64>,
    /// Deadline of the call, in CPU time of the thread.
    deadline: Duration,
}

impl ScriptHost for TunletHost<'_> {
    fn call(&mut self, name: &str, arguments: &[ScriptValue]) -> Option<Result<ScriptValue, String>> {
        let request = match (name, arguments) {
            ("value", [ScriptValue::Text(name)]) => {
                let value = self.values.get(&**name).map_or(ScriptValue::Unit, |value| ScriptValue::Float(*value));
                return Some(Ok(value));
            }
            ("tell", [ScriptValue::Text(text)]) => ScriptRequest::Report(text.to_string()),
            ("change", [ScriptValue::Text(name), value, ScriptValue::Text(why)]) => {
                ScriptRequest::Change { name: name.to_string(), value: value.number()?, rank: None, why: why.to_string() }
            }
            ("change_in", [ScriptValue::Int(rank), ScriptValue::Text(name), value, ScriptValue::Text(why)]) => {
                let Ok(rank) = u32::try_from(*rank) else { return Some(Err("a rank cannot be negative".into())) };
                ScriptRequest::Change { name: name.to_string(), value: value.number()?, rank: Some(rank), why: why.to_string() }
            }
            _ => return None,
        };
        if self.requests.len() == MAX_REQUESTS {
            return Some(Err(format!("more than {MAX_REQUESTS} requests in one call")));
        }
        self.requests.push(request);
        Some(Ok(ScriptValue::Unit))
    }

    fn interruption(&mut self) -> Option<String> {
        (thread_cpu_time() > self.deadline).then(|| format!("it took more than {} ms", MAX_TIME.as_millis()))
    }
}
