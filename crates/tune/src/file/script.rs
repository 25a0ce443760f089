//! A script where formulas are not enough, in Rhai: it is told what happens and says what is to be changed.
//!
//! A script has no way to files, processes or other modules, and only so many steps, so much memory and so much time for each call. One that
//! fails or does not end is switched off and told of; the program it tunes goes on.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rhai::{AST, CallFnOptions, Dynamic, Engine, EvalAltResult, Map, Position, Scope};
use rustix::time::{ClockId, clock_gettime};

use super::board::Board;
use sintonia_text::place::Place;

use super::error::{Error, Problem};
use super::measure::Event;
use super::table::Value;

/// Steps of a call.
const MOST_STEPS: u64 = 1_000_000;
/// Steps between two looks at the clock.
const STEPS_PER_LOOK: u64 = 512;
/// Time of a call on the processor: that others use it too is not the script's fault.
const MOST_TIME: Duration = Duration::from_millis(100);
/// Calls inside each other.
const MOST_DEPTH: usize = 32;
/// Letters of a text, entries of a list or a map.
const MOST_LETTERS: usize = 1 << 16;
const MOST_ENTRIES: usize = 1 << 14;
/// Wishes of one call.
const MOST_WANTS: usize = 1 << 10;

/// What a script wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// A change of what is named so.
    Change {
        name: String,
        value: f64,
        /// In this process only.
        rank: Option<u32>,
        why: String,
    },
    /// To tell something.
    Tell(String),
}

/// What a script and the functions that it calls share while a call lasts.
#[derive(Debug, Default)]
struct Shared {
    wants: Vec<Want>,
    /// Performance functions that have a value.
    values: HashMap<String, f64>,
    /// When it must have ended, on the clock of the thread.
    until: Duration,
}

/// A script.
pub struct Script {
    engine: Engine,
    text: String,
    code: AST,
    /// `this` of all its functions: what it keeps between calls.
    state: Dynamic,
    shared: Arc<Mutex<Shared>>,
    /// Where its first line stands in the file that it is part of, and the name of that file.
    lines_before: usize,
    file: String,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Script({})", self.file)
    }
}

impl Script {
    /// Reads a script: the text itself, or the name of a file beside the tunlet's.
    pub fn read(value: &Value, beside: &Path) -> Result<Script, Error> {
        let text = value.text()?;
        if text.contains('\n') {
            let lines_before = value.first_line().saturating_sub(1);
            return Script::new(&text, beside.display().to_string(), lines_before).map_err(|(place, reason)| {
                let line = place.line().unwrap_or(1) - 1;
                let begin: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                let at = begin + place.position().unwrap_or(1) - 1;
                value.error_within(at..at + 1, Problem::Syntax(reason))
            });
        }
        let path = beside.parent().unwrap_or(Path::new("")).join(&text);
        let code = std::fs::read_to_string(&path).map_err(|source| Error::Unreadable { path: path.clone(), source })?;
        Script::new(&code, path.display().to_string(), 0).map_err(|(place, reason)| {
            let begin: usize = code.split_inclusive('\n').take(place.line().unwrap_or(1) - 1).map(str::len).sum();
            let at = begin + place.position().unwrap_or(1) - 1;
            Error::Wrong { place: Place::of(&path, &code, at..at + 1), problem: Box::new(Problem::Syntax(reason)) }
        })
    }

    fn new(text: &str, file: String, lines_before: usize) -> Result<Script, (Position, String)> {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let engine = engine(&shared);
        let code = engine.compile(text).map_err(|error| (error.position(), error.err_type().to_string()))?;
        let functions: Vec<(String, usize)> =
            code.iter_functions().map(|function| (function.name.to_owned(), function.params.len())).collect();
        let has = |name: &str| functions.iter().any(|(known, parameters)| known == name && *parameters == 1);
        if !has("happened") && !has("passed") {
            return Err((Position::new(1, 1), "a script has a function `happened(event)` or `passed(time)`".into()));
        }
        Ok(Script { engine, text: text.into(), code, state: Dynamic::from(Map::new()), shared, lines_before, file })
    }

    /// Tells the script of an event; what it wants, or why it failed.
    pub fn happened(&mut self, board: &Board, measure: usize, event: &Event) -> Result<Vec<Want>, String> {
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

    /// Tells the script that time has passed; what it wants, or why it failed.
    pub fn passed(&mut self, board: &Board, time: f64) -> Result<Vec<Want>, String> {
        self.call("passed", Dynamic::from(time), board)
    }

    fn call(&mut self, function: &str, argument: Dynamic, board: &Board) -> Result<Vec<Want>, String> {
        if !self.code.iter_functions().any(|known| known.name == function && known.params.len() == 1) {
            return Ok(Vec::new());
        }
        {
            let mut shared = lock(&self.shared);
            let known = board.performance.iter().filter_map(|one| Some((one.name.clone(), board.value(&one.formula)?)));
            shared.values = known.collect();
            shared.until = used() + MOST_TIME;
        }
        let options = CallFnOptions::new().eval_ast(false).bind_this_ptr(&mut self.state);
        let result: Result<Dynamic, _> = self.engine.call_fn_with_options(options, &mut Scope::new(), &self.code, function, (argument,));
        let wants = std::mem::take(&mut lock(&self.shared).wants);
        result.map(|_| wants).map_err(|error| self.told(&error, function))
    }

    /// Where a function is defined.
    fn definition(&self, function: &str) -> Position {
        let line = self.text.lines().position(|line| line.trim_start().starts_with("fn ") && line.contains(function));
        let line = line.and_then(|line| u16::try_from(line + 1).ok());
        line.map_or(Position::NONE, |line| Position::new(line, 1))
    }

    /// An error with its place in the file: where one took too long is not known, then it is the function.
    fn told(&self, error: &EvalAltResult, function: &str) -> String {
        let inner = error.unwrap_inner();
        let places = [inner.position(), error.position(), self.definition(function)];
        let place = places.into_iter().find(|place| !place.is_none()).unwrap_or(Position::NONE);
        let what = match inner {
            EvalAltResult::ErrorTerminated(..) => format!("it took more than {} ms", MOST_TIME.as_millis()),
            EvalAltResult::ErrorTooManyOperations(_) => format!("it took more than {MOST_STEPS} steps"),
            EvalAltResult::ErrorRuntime(value, _) => value.to_string(),
            other => {
                let mut bare = other.to_string();
                if let Some(at) = bare.rfind(" (line ") {
                    bare.truncate(at);
                }
                bare
            }
        };
        let (Some(line), column) = (place.line(), place.position().unwrap_or(1)) else { return format!("{}: {what}", self.file) };
        format!("{}:{}:{column}: {what}", self.file, self.lines_before + line)
    }
}

/// The time that this thread has had the processor.
fn used() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

type Failed = Box<EvalAltResult>;

fn engine(shared: &Arc<Mutex<Shared>>) -> Engine {
    let mut engine = Engine::new();
    engine.set_max_operations(MOST_STEPS).set_max_call_levels(MOST_DEPTH).set_max_string_size(MOST_LETTERS);
    engine.set_max_array_size(MOST_ENTRIES).set_max_map_size(MOST_ENTRIES).set_max_expr_depths(64, 64);
    engine.disable_symbol("eval");
    // Of the language itself, and it would keep everybody waiting.
    engine.register_fn("sleep", |_: i64| Err::<(), Failed>("a script cannot sleep".into()));
    engine.register_fn("sleep", |_: f64| Err::<(), Failed>("a script cannot sleep".into()));
    let clock = shared.clone();
    let late = move |steps: u64| steps.is_multiple_of(STEPS_PER_LOOK) && used() > lock(&clock).until;
    engine.on_progress(move |steps| late(steps).then_some(Dynamic::UNIT));
    let told = shared.clone();
    engine.on_print(move |text| drop(want(&told, Want::Tell(text.into()))));
    engine.on_debug(|_, _, _| {});
    let told = shared.clone();
    engine.register_fn("tell", move |text: &str| want(&told, Want::Tell(text.into())));
    register_change(&mut engine, shared);
    let known = shared.clone();
    engine.register_fn("value", move |name: &str| lock(&known).values.get(name).map_or(Dynamic::UNIT, |value| Dynamic::from(*value)));
    engine
}

fn register_change(engine: &mut Engine, shared: &Arc<Mutex<Shared>>) {
    let (all, all_whole, one, one_whole) = (shared.clone(), shared.clone(), shared.clone(), shared.clone());
    let change = |name: &str, value: f64, rank: Option<i64>, why: &str| {
        let rank = rank.map(u32::try_from).transpose().map_err(|_| Failed::from("a rank is not below zero"))?;
        Ok::<Want, Failed>(Want::Change { name: name.into(), value, rank, why: why.into() })
    };
    engine.register_fn("change", move |name: &str, value: f64, why: &str| want(&all, change(name, value, None, why)?));
    engine.register_fn("change", move |name: &str, value: i64, why: &str| want(&all_whole, change(name, value as f64, None, why)?));
    engine.register_fn("change_in", move |rank: i64, name: &str, value: f64, why: &str| want(&one, change(name, value, Some(rank), why)?));
    engine.register_fn("change_in", move |rank: i64, name: &str, value: i64, why: &str| {
        want(&one_whole, change(name, value as f64, Some(rank), why)?)
    });
}

fn want(shared: &Mutex<Shared>, wanted: Want) -> Result<(), Failed> {
    let mut shared = lock(shared);
    if shared.wants.len() == MOST_WANTS {
        return Err(format!("more than {MOST_WANTS} wishes in one call").into());
    }
    shared.wants.push(wanted);
    Ok(())
}
