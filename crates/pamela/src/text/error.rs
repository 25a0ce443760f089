//! What can be wrong with the text of a model, said with the place.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sintonia_formula::Expected;
use sintonia_text::spot::{Lines, Spot};

use super::term::MOST_DEPTH;

/// More mistakes than these are not looked for.
pub(super) const MOST_MISTAKES: usize = 100;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text is wrong, at one place at least.
    #[error("{}", lines(.0))]
    Wrong(Vec<Mistake>),
    /// A model that was built has a name that its text cannot have.
    #[error("`{name}`{} cannot be {what}", inside(procedure.as_deref()))]
    Unwritable {
        /// The name.
        name: String,
        /// What it should be.
        what: &'static str,
        /// The procedure it is in.
        procedure: Option<String>,
    },
}

impl Error {
    /// The mistakes in the text, from its beginning on.
    pub fn mistakes(&self) -> &[Mistake] {
        match self {
            Error::Wrong(mistakes) => mistakes,
            _ => &[],
        }
    }
}

fn lines(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
}

fn inside(procedure: Option<&str>) -> String {
    procedure.map(|procedure| format!(", in the procedure `{procedure}`,")).unwrap_or_default()
}

/// A mistake; lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}:{line}:{column}: {problem}{excerpt}{}", file.display(), below(hint.as_deref()))]
pub struct Mistake {
    /// The file.
    pub file: PathBuf,
    /// Which bytes of it.
    pub bytes: Range<usize>,
    /// The line.
    pub line: usize,
    /// The first character in it.
    pub column: usize,
    /// The first character behind.
    pub end_column: usize,
    /// What is wrong.
    pub problem: Problem,
    /// What may have been meant.
    pub hint: Option<String>,
    /// The line itself with a mark below, ready to be shown.
    excerpt: String,
}

impl Mistake {
    pub(super) fn at(path: &Path, lines: &Lines, bytes: Range<usize>, problem: Problem, hint: Option<String>) -> Mistake {
        let Spot { line, column, end_column, excerpt } = lines.spot(&bytes);
        Mistake { file: path.to_owned(), bytes, line, column, end_column, problem, hint, excerpt }
    }
}

fn below(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\n    hint: {hint}")).unwrap_or_default()
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// Bytes that are no characters.
    #[error("this is not text in UTF-8")]
    NotText,
    /// A character that begins nothing.
    #[error("`{0}` means nothing here")]
    Strange(String),
    /// Something that is opened and never closed.
    #[error("this {0} has no end")]
    Endless(&'static str),
    /// A block that is never closed.
    #[error("this `{{` is never closed")]
    Unclosed,
    /// The end of a block that was never opened.
    #[error("this `}}` closes nothing")]
    Unopened,
    /// A procedure inside of another.
    #[error("the procedure `{0}` begins inside of another")]
    Inside(String),
    /// Something else should stand here.
    #[error("expected {what}, found {found}")]
    Expected {
        /// What should.
        what: String,
        /// What does.
        found: String,
    },
    /// Two ways to go on in one block.
    #[error("`;` and `||` stand in one block, so it is not clear what is done at the same time")]
    Mixed,
    /// Something is wrong in a formula.
    #[error("{0}")]
    Formula(Expected),
    /// The name of a term means nothing.
    #[error("there is no procedure and no operation `{0}`")]
    UnknownName(String),
    /// A formula has a symbol that nobody gives a value.
    #[error("`{0}` is not known here: it is no parameter of the model, and neither an index nor a parameter around it")]
    UnknownSymbol(String),
    /// What is used is neither declared nor a computer.
    #[error("there is no resource and no computer `{0}`")]
    UnknownResource(String),
    /// An operation lacks its type.
    #[error("`{0}` needs the type that it works on: int, long, float or double")]
    Untyped(String),
    /// Too many or too few arguments.
    #[error("`{name}` takes {takes}, not {given}")]
    Arguments {
        /// Of what.
        name: String,
        /// How many it takes, in words.
        takes: String,
        /// How many there are.
        given: usize,
    },
    /// The same name twice.
    #[error("there are two {what} `{name}`")]
    Twice {
        /// Of what kind.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A parameter has the name of the number of processes.
    #[error("no parameter can be called `{0}`: that is the number of processes, which a prediction is asked for")]
    Processes(String),
    /// A procedure has a name that means something else.
    #[error("no procedure can be called `{0}`: that is a word of the language")]
    Reserved(String),
    /// Procedures that call each other in a circle.
    #[error("a procedure must not call itself: {}", .0.join(" calls "))]
    Cycle(Vec<String>),
    /// There is nothing to do.
    #[error("there is no procedure, so the model does nothing")]
    NoProcedure,
    /// The program needs what nobody gives it.
    #[error("the program `{0}` has parameters, which nobody gives")]
    Given(String),
    /// A language that is not known.
    #[error("there is no language `{0}`: it is c or java")]
    UnknownLanguage(String),
    /// A number that cannot be what it is used for.
    #[error("{what} must be {must}, not {value}")]
    Range {
        /// What it is used for.
        what: &'static str,
        /// What it must be.
        must: &'static str,
        /// What it is.
        value: String,
    },
    /// Terms stand too deep inside each other.
    #[error("terms stand more than {MOST_DEPTH} deep inside each other")]
    TooDeep,
}

impl Problem {
    /// Whether it is about names, which cannot be told where the text does not even show what is declared.
    fn is_about_names(&self) -> bool {
        use Problem::*;
        matches!(self, UnknownName(_) | UnknownSymbol(_) | UnknownResource(_) | Arguments { .. } | Untyped(_))
    }
}

/// The mistakes found so far, by their bytes.
#[derive(Debug)]
pub(super) struct Mistakes {
    list: Vec<(Range<usize>, Problem, Option<String>)>,
    /// Whether it is not sure what the text declares.
    pub(super) names_unsure: bool,
}

impl Mistakes {
    pub(super) fn new(names_unsure: bool) -> Mistakes {
        Mistakes { list: Vec::new(), names_unsure }
    }

    pub(super) fn add(&mut self, bytes: Range<usize>, problem: Problem, hint: Option<String>) {
        if !self.are_enough() {
            self.list.push((bytes, problem, hint));
        }
    }

    pub(super) fn are_enough(&self) -> bool {
        self.list.len() >= MOST_MISTAKES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// An error, if there are any.
    pub(super) fn into_result(mut self, path: &Path, text: &str) -> Result<(), Error> {
        let is_sure = |(_, problem, _): &(_, Problem, _)| !problem.is_about_names();
        if self.names_unsure && self.list.iter().any(is_sure) {
            self.list.retain(is_sure);
        }
        if self.list.is_empty() {
            return Ok(());
        }
        self.list.sort_by_key(|(bytes, ..)| bytes.start);
        let places = Lines::of(text);
        let placed = |(bytes, problem, hint)| Mistake::at(path, &places, bytes, problem, hint);
        Err(Error::Wrong(self.list.into_iter().map(placed).collect()))
    }
}
