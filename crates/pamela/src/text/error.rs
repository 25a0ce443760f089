//! Diagnostics for the text of a model, with positions.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sintonia_formula::ParseErrorKind;
use sintonia_text::line_col::{LineCol, LineTable};

/// Maximum nesting depth of terms.
pub(super) const MAX_DEPTH: usize = 256;

/// Parsing stops after this many diagnostics.
pub(super) const MAX_DIAGNOSTICS: usize = 100;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
    /// The text has at least one error.
    #[error("{}", lines(.0))]
    Invalid(Vec<ModelDiagnostic>),
    /// A model that was not parsed has a name that cannot be written.
    #[error("`{name}`{} cannot be {what}", inside(procedure.as_deref()))]
    Unwritable {
        /// The name.
        name: String,
        /// What it should name.
        what: &'static str,
        /// The procedure it is in.
        procedure: Option<String>,
    },
}

impl Error {
    /// The diagnostics in order of their positions.
    pub fn diagnostics(&self) -> &[ModelDiagnostic] {
        match self {
            Error::Invalid(mistakes) => mistakes,
            _ => &[],
        }
    }
}

fn lines(mistakes: &[ModelDiagnostic]) -> String {
    mistakes.iter().map(ModelDiagnostic::to_string).collect::<Vec<_>>().join("\n")
}

fn inside(procedure: Option<&str>) -> String {
    procedure.map(|procedure| format!(", in the procedure `{procedure}`,")).unwrap_or_default()
}

/// A diagnostic. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}:{line}:{column}: {problem}{excerpt}{}", file.display(), below(hint.as_deref()))]
pub struct ModelDiagnostic {
    /// The file.
    pub file: PathBuf,
    /// The byte range.
    pub bytes: Range<usize>,
    /// The line.
    pub line: usize,
    /// The first column.
    pub column: usize,
    /// The column behind the end.
    pub end_column: usize,
    /// What is wrong.
    pub problem: ModelProblem,
    /// A suggestion.
    pub hint: Option<String>,
    /// The source line with a marker below it.
    excerpt: String,
}

impl ModelDiagnostic {
    pub(super) fn new(path: &Path, lines: &LineTable, bytes: Range<usize>, problem: ModelProblem, hint: Option<String>) -> ModelDiagnostic {
        let LineCol { line, column, end_column, excerpt } = lines.line_col(&bytes);
        ModelDiagnostic { file: path.to_owned(), bytes, line, column, end_column, problem, hint, excerpt }
    }
}

fn below(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\n    hint: {hint}")).unwrap_or_default()
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelProblem {
    /// Bytes that are not UTF-8.
    #[error("this is not UTF-8")]
    NotUtf8,
    /// A character that starts no token.
    #[error("unexpected character `{0}`")]
    InvalidCharacter(String),
    /// Something without its closing delimiter.
    #[error("unterminated {0}")]
    Unterminated(&'static str),
    /// A block that is never closed.
    #[error("this `{{` is never closed")]
    Unclosed,
    /// The end of a block that was never opened.
    #[error("unmatched `}}`")]
    Unopened,
    /// A procedure inside another one.
    #[error("the procedure `{0}` is inside another one")]
    NestedProcedure(String),
    /// Another token is expected.
    #[error("expected {what}, found {found}")]
    Expected {
        /// What is expected.
        what: String,
        /// What was found.
        found: String,
    },
    /// Both separators in one block.
    #[error("`;` and `||` are mixed in one block, so it is not clear what runs in parallel")]
    MixedSeparators,
    /// An error in a formula.
    #[error("{0}")]
    Formula(ParseErrorKind),
    /// An undefined name of a term.
    #[error("there is no procedure and no operation `{0}`")]
    UnknownName(String),
    /// An undefined symbol in a formula.
    #[error("undefined symbol `{0}`: it is neither a parameter of the model nor an index or procedure parameter in scope")]
    UnknownSymbol(String),
    /// A resource that is neither declared nor a computer.
    #[error("there is no resource and no computer `{0}`")]
    UnknownResource(String),
    /// An operation without its type.
    #[error("`{0}` needs a data type: int, long, float or double")]
    Untyped(String),
    /// Too many or too few arguments.
    #[error("`{name}` takes {takes}, not {given}")]
    Arguments {
        /// The name of the procedure or operation.
        name: String,
        /// The expected arguments.
        takes: String,
        /// The number of arguments given.
        given: usize,
    },
    /// The same name twice.
    #[error("there are two {what} `{name}`")]
    Duplicate {
        /// The kind of declaration.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A parameter has the name of the number of processes.
    #[error("no parameter can be called `{0}`: that is the number of processes, which is given to a prediction")]
    ReservedParameter(String),
    /// A procedure has a reserved name.
    #[error("no procedure can be called `{0}`: that is a reserved word")]
    Reserved(String),
    /// Recursive procedures.
    #[error("a procedure must not call itself: {}", .0.join(" calls "))]
    Cycle(Vec<String>),
    /// There is no procedure.
    #[error("there is no procedure, so the model does nothing")]
    NoProcedure,
    /// The main procedure has parameters.
    #[error("the main procedure `{0}` cannot have parameters")]
    MainParameters(String),
    /// An unknown language.
    #[error("unknown language `{0}`: use c or java")]
    UnknownLanguage(String),
    /// A value outside its range.
    #[error("{what} must be {must}, not {value}")]
    OutOfRange {
        /// What it is the value of.
        what: &'static str,
        /// The condition it violates.
        must: &'static str,
        /// Its value.
        value: String,
    },
    /// The nesting is too deep.
    #[error("terms are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

impl ModelProblem {
    /// Whether it concerns names, which cannot be judged if the declarations could not be parsed.
    fn is_about_names(&self) -> bool {
        use ModelProblem::*;
        matches!(self, UnknownName(_) | UnknownSymbol(_) | UnknownResource(_) | Arguments { .. } | Untyped(_))
    }
}

/// The diagnostics found so far, by byte range.
#[derive(Debug)]
pub(super) struct DiagnosticList {
    list: Vec<(Range<usize>, ModelProblem, Option<String>)>,
    /// Whether it is uncertain what the text declares.
    pub(super) declarations_uncertain: bool,
}

impl DiagnosticList {
    pub(super) fn new(declarations_uncertain: bool) -> DiagnosticList {
        DiagnosticList { list: Vec::new(), declarations_uncertain }
    }

    pub(super) fn add(&mut self, bytes: Range<usize>, problem: ModelProblem, hint: Option<String>) {
        if !self.is_full() {
            self.list.push((bytes, problem, hint));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MAX_DIAGNOSTICS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// An error if there are any.
    pub(super) fn into_result(mut self, path: &Path, text: &str) -> Result<(), Error> {
        let is_sure = |(_, problem, _): &(_, ModelProblem, _)| !problem.is_about_names();
        if self.declarations_uncertain && self.list.iter().any(is_sure) {
            self.list.retain(is_sure);
        }
        if self.list.is_empty() {
            return Ok(());
        }
        self.list.sort_by_key(|(bytes, ..)| bytes.start);
        let places = LineTable::new(text);
        let placed = |(bytes, problem, hint)| ModelDiagnostic::new(path, &places, bytes, problem, hint);
        Err(Error::Invalid(self.list.into_iter().map(placed).collect()))
    }
}
