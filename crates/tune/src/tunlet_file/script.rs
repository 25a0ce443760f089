//! Scripts in Rhai, for tunlets that formulas cannot express: a script receives events and requests changes.
//!
//! A script has no access to files, processes or other modules, and limited steps, memory and time for each call. One that fails or does
//! not end is disabled and reported; the tuned program continues.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rhai::{AST, CallFnOptions, Dynamic, Engine, EvalAltResult, Map, Position, Scope};
use rustix::time::{ClockId, clock_gettime};

use super::metric_store::MetricStore;
use sintonia_text::source_pos::SourcePos;

use super::TunletValue;
use super::error::{Error, TunletFileProblem};
use super::measure::MeasuredEvent;

/// Most steps of a call.
const MAX_STEPS: u64 = 1_000_000;
/// Steps between two checks of the clock.
const STEPS_PER_CLOCK_CHECK: u64 = 512;
/// CPU time limit of a call; time when others use the processor does not count.
const MAX_TIME: Duration = Duration::from_millis(100);
/// Deepest nesting of calls.
const MAX_DEPTH: usize = 32;
/// Largest text, and largest list or map.
const MAX_TEXT_LENGTH: usize = 1 << 16;
const MAX_ENTRIES: usize = 1 << 14;
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

/// State shared between a script and the functions it calls, during a call.
#[derive(Debug, Default)]
struct ScriptContext {
    requests: Vec<ScriptRequest>,
    /// Values of performance functions.
    values: HashMap<String, f64>,
    /// Deadline of the call, in CPU time of the thread.
    deadline: Duration,
}

pub(super) struct TunletScript {
    engine: Engine,
    text: String,
    ast: AST,
    /// `this` of all its functions: state between calls.
    state: Dynamic,
    shared: Arc<Mutex<ScriptContext>>,
    /// Number of lines before it in the file that contains it, and the name of that file.
    lines_before: usize,
    file: String,
}

impl std::fmt::Debug for TunletScript {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Script({})", self.file)
    }
}

impl TunletScript {
    /// Parses a script: inline text, or the name of a file next to the tunlet's.
    pub(super) fn parse(value: &TunletValue, tunlet_path: &Path) -> Result<TunletScript, Error> {
        let text = value.nonblank_text()?;
        if text.contains('\n') {
            let lines_before = value.first_line().saturating_sub(1);
            return TunletScript::new(&text, tunlet_path.display().to_string(), lines_before).map_err(|(position, reason)| {
                let line = position.line().unwrap_or(1) - 1;
                let begin: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                let at = begin + position.position().unwrap_or(1) - 1;
                value.error_within(at..at + 1, TunletFileProblem::Syntax(reason))
            });
        }
        let path = tunlet_path.parent().unwrap_or(Path::new("")).join(&text);
        let code = std::fs::read_to_string(&path).map_err(|source| Error::Unreadable { path: path.clone(), source })?;
        TunletScript::new(&code, path.display().to_string(), 0).map_err(|(position, reason)| {
            let begin: usize = code.split_inclusive('\n').take(position.line().unwrap_or(1) - 1).map(str::len).sum();
            let at = begin + position.position().unwrap_or(1) - 1;
            Error::Invalid { place: SourcePos::from_span(&path, &code, at..at + 1), problem: Box::new(TunletFileProblem::Syntax(reason)) }
        })
    }

    fn new(text: &str, file: String, lines_before: usize) -> Result<TunletScript, (Position, String)> {
        let shared = Arc::new(Mutex::new(ScriptContext::default()));
        let engine = engine(&shared);
        let code = engine.compile(text).map_err(|error| (error.position(), error.err_type().to_string()))?;
        let functions: Vec<(String, usize)> =
            code.iter_functions().map(|function| (function.name.to_owned(), function.params.len())).collect();
        let has = |name: &str| functions.iter().any(|(known, parameters)| known == name && *parameters == 1);
        if !has("happened") && !has("passed") {
            return Err((Position::new(1, 1), "a script needs a function `happened(event)` or `passed(time)`".into()));
        }
        Ok(TunletScript { engine, text: text.into(), ast: code, state: Dynamic::from(Map::new()), shared, lines_before, file })
    }

    /// Passes an event to the script; returns its requests, or why it failed.
    pub(super) fn handle_event(
        &mut self,
        board: &MetricStore,
        measure: usize,
        event: &MeasuredEvent,
    ) -> Result<Vec<ScriptRequest>, String> {
        let names = &board.measures[measure];
        let number = |(name, value): (&String, &f64)| (name.as_str().into(), Dynamic::from(*value));
        let values: Map = names.values.iter().zip(&event.values).map(number).collect();
        let fields = [
            ("point", Dynamic::from(names.name.clone())),
            ("rank", Dynamic::from(i64::from(event.rank))),
            ("time", Dynamic::from(event.time)),
            ("values", Dynamic::from(values)),
        ];
        let event: Map = fields.into_iter().map(|(name, value)| (name.into(), value)).collect();
        self.call("happened", Dynamic::from(event), board)
    }

    /// Tells the script the time; returns its requests, or why it failed.
    pub(super) fn handle_tick(&mut self, board: &MetricStore, time: f64) -> Result<Vec<ScriptRequest>, String> {
        self.call("passed", Dynamic::from(time), board)
    }

    fn call(&mut self, function: &str, argument: Dynamic, board: &MetricStore) -> Result<Vec<ScriptRequest>, String> {
        if !self.ast.iter_functions().any(|known| known.name == function && known.params.len() == 1) {
            return Ok(Vec::new());
        }
        {
            let mut shared = lock(&self.shared);
            let known = board.performance.iter().filter_map(|one| Some((one.name.clone(), board.value(&one.formula)?)));
            shared.values = known.collect();
            shared.deadline = thread_cpu_time() + MAX_TIME;
        }
        let options = CallFnOptions::new().eval_ast(false).bind_this_ptr(&mut self.state);
        let result: Result<Dynamic, _> = self.engine.call_fn_with_options(options, &mut Scope::new(), &self.ast, function, (argument,));
        let requests = std::mem::take(&mut lock(&self.shared).requests);
        result.map(|_| requests).map_err(|error| self.describe_error(&error, function))
    }

    /// Where a function is defined.
    fn definition(&self, function: &str) -> Position {
        let line = self.text.lines().position(|line| line.trim_start().starts_with("fn ") && line.contains(function));
        let line = line.and_then(|line| u16::try_from(line + 1).ok());
        line.map_or(Position::NONE, |line| Position::new(line, 1))
    }

    /// An error with its position; a timeout has none, so the function's is used.
    fn describe_error(&self, error: &EvalAltResult, function: &str) -> String {
        let inner = error.unwrap_inner();
        let positions = [inner.position(), error.position(), self.definition(function)];
        let position = positions.into_iter().find(|position| !position.is_none()).unwrap_or(Position::NONE);
        let what = match inner {
            EvalAltResult::ErrorTerminated(..) => format!("it took more than {} ms", MAX_TIME.as_millis()),
            EvalAltResult::ErrorTooManyOperations(_) => format!("it took more than {MAX_STEPS} steps"),
            EvalAltResult::ErrorRuntime(value, _) => value.to_string(),
            other => {
                let mut bare = other.to_string();
                if let Some(at) = bare.rfind(" (line ") {
                    bare.truncate(at);
                }
                bare
            }
        };
        let (Some(line), column) = (position.line(), position.position().unwrap_or(1)) else { return format!("{}: {what}", self.file) };
        format!("{}:{}:{column}: {what}", self.file, self.lines_before + line)
    }
}

/// CPU time of this thread.
fn thread_cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

fn lock(shared: &Mutex<ScriptContext>) -> std::sync::MutexGuard<'_, ScriptContext> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

type ScriptError = Box<EvalAltResult>;

fn engine(shared: &Arc<Mutex<ScriptContext>>) -> Engine {
    let mut engine = Engine::new();
    engine.set_max_operations(MAX_STEPS).set_max_call_levels(MAX_DEPTH).set_max_string_size(MAX_TEXT_LENGTH);
    engine.set_max_array_size(MAX_ENTRIES).set_max_map_size(MAX_ENTRIES).set_max_expr_depths(64, 64);
    engine.disable_symbol("eval");
    // Built into the language; it would block the analyzer.
    engine.register_fn("sleep", |_: i64| Err::<(), ScriptError>("a script cannot sleep".into()));
    engine.register_fn("sleep", |_: f64| Err::<(), ScriptError>("a script cannot sleep".into()));
    let clock = shared.clone();
    let late = move |steps: u64| steps.is_multiple_of(STEPS_PER_CLOCK_CHECK) && thread_cpu_time() > lock(&clock).deadline;
    engine.on_progress(move |steps| late(steps).then_some(Dynamic::UNIT));
    let context = shared.clone();
    engine.on_print(move |text| drop(push_request(&context, ScriptRequest::Report(text.into()))));
    engine.on_debug(|_, _, _| {});
    let context = shared.clone();
    engine.register_fn("tell", move |text: &str| push_request(&context, ScriptRequest::Report(text.into())));
    register_change(&mut engine, shared);
    let known = shared.clone();
    engine.register_fn("value", move |name: &str| lock(&known).values.get(name).map_or(Dynamic::UNIT, |value| Dynamic::from(*value)));
    engine
}

fn register_change(engine: &mut Engine, shared: &Arc<Mutex<ScriptContext>>) {
    let (all, all_whole, one, one_whole) = (shared.clone(), shared.clone(), shared.clone(), shared.clone());
    let change = |name: &str, value: f64, rank: Option<i64>, why: &str| {
        let rank = rank.map(u32::try_from).transpose().map_err(|_| ScriptError::from("a rank cannot be negative"))?;
        Ok::<ScriptRequest, ScriptError>(ScriptRequest::Change { name: name.into(), value, rank, why: why.into() })
    };
    engine.register_fn("change", move |name: &str, value: f64, why: &str| push_request(&all, change(name, value, None, why)?));
    engine.register_fn("change", move |name: &str, value: i64, why: &str| push_request(&all_whole, change(name, value as f64, None, why)?));
    engine.register_fn("change_in", move |rank: i64, name: &str, value: f64, why: &str| {
        push_request(&one, change(name, value, Some(rank), why)?)
    });
    engine.register_fn("change_in", move |rank: i64, name: &str, value: i64, why: &str| {
        push_request(&one_whole, change(name, value as f64, Some(rank), why)?)
    });
}

fn push_request(shared: &Mutex<ScriptContext>, request: ScriptRequest) -> Result<(), ScriptError> {
    let mut shared = lock(shared);
    if shared.requests.len() == MAX_REQUESTS {
        return Err(format!("more than {MAX_REQUESTS} requests in one call").into());
    }
    shared.requests.push(request);
    Ok(())
}
