//! What can be tuned in a program: functions to hook, variables to set, control variables of the MPI library, and why others cannot.

mod size_variables;
mod survey;

use std::path::{Path, PathBuf};

use serde::Serialize;
use sintonia_link::probe_protocol::ControlInfo;
use sintonia_symbols::{InlineSite, ListedFunction, ListedVariable, ProgramImage, SymbolError, ValueType};

use crate::bind::decode_value;

pub use size_variables::SizeVariable;
pub use survey::ProgramSurvey;

/// What can be tuned in a program.
#[derive(Debug, Clone, Serialize)]
pub struct ProgramList {
    /// The main program.
    pub program: PathBuf,
    /// The run in which calls and values were observed, if there was one.
    pub run: Option<ObservedRun>,
    /// Functions, the most useful first.
    pub functions: Vec<FunctionLine>,
    /// Variables: those that can be set first.
    pub variables: Vec<VariableLine>,
    /// Control variables of the MPI library; none if the program was not run.
    pub controls: Vec<ControlInfo>,
    /// What could not be found out.
    pub problems: Vec<String>,
}

/// A run in which calls and values were observed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ObservedRun {
    /// Processes of this host.
    pub processes: usize,
    /// The longest time that one of them was observed.
    pub seconds: f64,
}

/// A function.
#[derive(Debug, Clone, Serialize)]
pub struct FunctionLine {
    /// The name to write.
    pub name: String,
    /// Its symbols.
    pub symbols: Vec<String>,
    /// File and line.
    pub declared_at: Option<String>,
    /// Whether it can be hooked.
    pub can_be_hooked: bool,
    /// Why it cannot be hooked.
    pub why_not: Option<String>,
    /// Where calls were inlined, which a hook does not see.
    pub inlined_at: Vec<String>,
    /// Other functions with the same code.
    pub merged_with: Vec<String>,
    /// Its calls, if they were counted.
    pub calls: Option<CallFigures>,
    #[serde(skip)]
    is_of_program: bool,
}

/// Calls of a function in an observed run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CallFigures {
    /// In all processes.
    pub calls: u64,
    /// In a process, on average.
    pub calls_per_second: f64,
    /// Mean duration, with everything that it calls.
    pub seconds_per_call: f64,
    /// Share of the time of the processes, with everything that it calls.
    pub share_of_time: f64,
    /// Whether it is called so often that its hook was removed: then it was counted for a short time only.
    pub is_too_often: bool,
}

/// A variable.
#[derive(Debug, Clone, Serialize)]
pub struct VariableLine {
    /// The name to write.
    pub name: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// File and line.
    pub declared_at: Option<String>,
    /// Its value: in the file, or at the end of the observed run in the lowest rank.
    pub value: Option<f64>,
    /// Whether processes had different values.
    pub differs: bool,
    /// Whether it can be set.
    pub can_be_set: bool,
    /// Why it cannot be set, or only in part.
    pub why_not: Option<String>,
}

impl ProgramList {
    /// The list for a program that is not run.
    pub fn from_file(path: &Path) -> Result<ProgramList, SymbolError> {
        let image = ProgramImage::from_file(path)?;
        let functions = image.list_functions();
        let variables = image.list_variables();
        let mut list = ProgramList::new(path.to_owned(), &image, &functions, &variables);
        for (line, variable) in list.variables.iter_mut().zip(&variables) {
            line.value = initial_value(&image, variable);
        }
        list.sort();
        Ok(list)
    }

    /// The list without values and calls, not sorted.
    fn new(program: PathBuf, image: &ProgramImage, functions: &[ListedFunction], variables: &[ListedVariable]) -> ProgramList {
        let mut problems = Vec::new();
        if let Some(own) = image.modules.first() {
            if own.is_stripped() {
                problems
                    .push("the program is stripped: it has neither symbols nor debug information; build it with -g and without -s".into());
            } else if variables.is_empty() && functions.iter().all(|function| function.declared_at.is_none()) {
                problems
                    .push("the program has no debug information: variables and inlined functions are not known; build it with -g".into());
            }
        }
        ProgramList {
            program,
            run: None,
            functions: functions.iter().map(|function| FunctionLine::new(image, function)).collect(),
            variables: variables.iter().map(VariableLine::new).collect(),
            controls: Vec::new(),
            problems,
        }
    }

    /// The most useful first: functions by their share of the time, then those that can be hooked; variables that can be set; control
    /// variables that can be set.
    fn sort(&mut self) {
        self.functions.sort_by(|one, other| {
            let share = |line: &FunctionLine| line.calls.filter(|calls| calls.calls > 0).map_or(-1.0, |calls| calls.share_of_time);
            let rank = |line: &FunctionLine| (!line.can_be_hooked, !line.is_of_program);
            share(other).total_cmp(&share(one)).then_with(|| rank(one).cmp(&rank(other))).then_with(|| one.name.cmp(&other.name))
        });
        self.variables.sort_by(|one, other| (!one.can_be_set, &one.name).cmp(&(!other.can_be_set, &other.name)));
        self.controls.sort_by_key(|control| (control.settable, std::cmp::Reverse(usefulness(&control.name)), control.name.clone()));
    }
}

impl FunctionLine {
    fn new(image: &ProgramImage, function: &ListedFunction) -> FunctionLine {
        let why_not = why_not_hooked(image, function);
        let mut merged_with: Vec<String> = function.copies.iter().flat_map(|copy| copy.merged_with.clone()).collect();
        merged_with.dedup();
        FunctionLine {
            name: function.name.clone(),
            symbols: function.symbols.clone(),
            declared_at: display_place(&function.declared_at),
            can_be_hooked: why_not.is_none(),
            why_not,
            inlined_at: function.inlined_at.iter().map(InlineSite::to_string).collect(),
            merged_with,
            calls: None,
            is_of_program: is_of_program(function),
        }
    }
}

impl VariableLine {
    fn new(variable: &ListedVariable) -> VariableLine {
        VariableLine {
            name: variable.name.clone(),
            type_name: variable.type_name.clone(),
            declared_at: display_place(&variable.declared_at),
            value: None,
            differs: false,
            can_be_set: variable.is_settable(),
            why_not: variable.why_not.clone(),
        }
    }
}

/// Whether a control variable is likely to matter for performance, by the words of its name: 2, 1, or 0 for what concerns messages to the user
/// and errors.
fn usefulness(control: &str) -> u8 {
    const USEFUL: [&str; 10] =
        ["eager", "algorithm", "segment", "max_send_size", "pipeline", "fanout", "progress", "threshold", "min_send", "short_msg"];
    const USELESS: [&str; 12] =
        ["verbose", "verbosity", "debug", "warn", "abort", "priority", "exclusivity", "version", "print", "show", "dump", "help"];
    let name = control.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match (has(&USELESS), has(&USEFUL)) {
        (true, _) => 0,
        (false, true) => 2,
        (false, false) => 1,
    }
}

/// Whether a function was written for the program, and does not come from a library's header.
fn is_of_program(function: &ListedFunction) -> bool {
    let is_of_library = |name: &str| ["std::", "__gnu_cxx::", "void std::"].iter().any(|begin| name.starts_with(begin));
    function.declared_at.is_some() && !is_of_library(&function.name)
}

fn why_not_hooked(image: &ProgramImage, function: &ListedFunction) -> Option<String> {
    if function.is_startup() {
        return Some("it is start-up code of the compiler".into());
    }
    if function.copies.is_empty() {
        let reason =
            if function.symbols.is_empty() { "all its calls were inlined" } else { "only a part of it is left, the rest was inlined" };
        return Some(reason.into());
    }
    // One copy that can be hooked is enough to see calls.
    let refusals: Vec<String> = function.copies.iter().filter_map(|copy| why_not_patched(image, copy)).collect();
    refusals.first().filter(|_| refusals.len() == function.copies.len()).cloned()
}

fn why_not_patched(image: &ProgramImage, copy: &sintonia_symbols::ResolvedFunction) -> Option<String> {
    let Some(body) = image.initial_bytes(copy.address, copy.size) else { return Some("its code is not in the file".into()) };
    // The last function of a section has less space behind it than the next symbol suggests.
    let padding = image.initial_bytes(copy.address + copy.size, copy.padding).unwrap_or_default();
    sintonia_hook::check_code(copy.address, &body, &padding).err().map(|refusal| refusal.to_string())
}

/// The value that the file has for a variable.
fn initial_value(image: &ProgramImage, variable: &ListedVariable) -> Option<f64> {
    let resolved = variable.resolved.as_ref().filter(|resolved| is_number(&resolved.value_type))?;
    let bytes = resolved.value_type.bytes();
    let found = image.initial_bytes(resolved.location.fixed_address()?, bytes)?;
    let mut word = [0; 8];
    word.get_mut(..found.len())?.copy_from_slice(&found);
    Some(decode_value(&resolved.value_type, u64::from_le_bytes(word)))
}

/// Whether a value of this type is shown as a number.
fn is_number(kind: &ValueType) -> bool {
    kind.is_scalar() && *kind != ValueType::Pointer
}

fn display_place(place: &Option<(String, u64)>) -> Option<String> {
    place.as_ref().map(|(file, line)| format!("{file}:{line}"))
}
