//! Resolution of the name of a term: a procedure, a message, a collective, or an operation.
//!
//! PAMELA writes operation, type and computer as one word (`sum_double_w`), so the word has to be split, and be composed so that it can be
//! split again.

use sintonia_machine::{CollectiveKind, Named};

use super::error::ModelProblem;
use super::lexer::is_name_char;
use super::outline::DeclarationOutline;
use crate::model::{ComputeOp, Computer, ModelTerm};
use sintonia_text::suggestion::nearest_name;

/// The types that operations work on.
pub(crate) const TYPES: [&str; 4] = ["int", "long", "float", "double"];

/// Operations with a cost per type in the machine file.
const TYPED: [&str; 20] = [
    "sum", "sub", "mpy", "div", "mod", "load", "store", "bits", "shift", "convert", "sqrt", "sin", "cos", "tan", "exp", "log", "pow",
    "abs", "floor", "random",
];

/// Operations that need no type.
const UNTYPED: [&str; 5] = ["call", "new", "compare", "access", "assign"];

/// Words that start a term or a declaration.
const KEYWORDS: [&str; 10] = ["seq", "par", "tasks", "if", "else", "use", "delay", "language", "parameter", "resource"];

/// The prefix of a message.
const SEND: &str = "send";

/// What a name refers to.
pub(super) enum TermName<'a> {
    /// A procedure, by its index.
    Procedure(usize),
    Message {
        from: &'a str,
        to: &'a str,
    },
    Collective(CollectiveKind),
    Delay,
    Operation {
        word: &'a str,
        of: Option<&'a str>,
        on: Option<&'a str>,
    },
}

/// Resolves a name; otherwise returns the problem and a suggestion.
pub(super) fn resolve_name<'a>(name: &'a str, outline: &DeclarationOutline) -> Result<TermName<'a>, (ModelProblem, Option<String>)> {
    if let Some(procedure) = outline.procedure(name) {
        return Ok(TermName::Procedure(procedure));
    }
    if name == "delay" {
        return Ok(TermName::Delay);
    }
    if let Some(group) = CollectiveKind::from_name(name) {
        return Ok(TermName::Collective(group));
    }
    let (word, rest) = name.split_once('_').map_or((name, None), |(word, rest)| (word, Some(rest)));
    if word == SEND {
        let ends = rest.and_then(|rest| rest.split_once('_')).filter(|(from, to)| is_computer(from) && is_computer(to));
        let (from, to) = ends.ok_or_else(|| {
            let hint = "a message names its sender and receiver, as in send_0_w(8*n)";
            (ModelProblem::UnknownName(name.to_owned()), Some(hint.to_owned()))
        })?;
        return Ok(TermName::Message { from, to });
    }
    operation(name, word, rest).ok_or_else(|| unknown_name(name, word, rest, outline))
}

fn operation<'a>(name: &str, word: &'a str, rest: Option<&'a str>) -> Option<TermName<'a>> {
    let (of, on) = match rest.map(|rest| rest.split_once('_').unwrap_or((rest, ""))) {
        Some((of, on)) if TYPES.contains(&of) => (Some(of), Some(on).filter(|_| name.len() > word.len() + 1 + of.len())),
        _ => (None, rest),
    };
    let is_typed = of.is_some() || !TYPED.contains(&word) && (on.is_some() || UNTYPED.contains(&word));
    let is_operation = is_typed && is_operation_word(word) && on.is_none_or(is_computer);
    is_operation.then_some(TermName::Operation { word, of, on })
}

/// Why a name is not an operation.
fn unknown_name(name: &str, word: &str, rest: Option<&str>, outline: &DeclarationOutline) -> (ModelProblem, Option<String>) {
    let procedure = nearest_name(name, outline.procedure_names());
    let hint = |near: Option<String>| near.map(|near| format!("did you mean `{near}`?"));
    if TYPED.contains(&word) && rest != Some("") && procedure.is_none() {
        let of = rest.and_then(|rest| nearest_name(rest.split('_').next().unwrap_or(rest), TYPES));
        return (ModelProblem::Untyped(word.to_owned()), hint(of.map(|of| format!("{word}_{of}"))));
    }
    let groups = CollectiveKind::ALL.iter().map(|group| group.name());
    let words = TYPED.into_iter().chain(UNTYPED).chain(KEYWORDS).chain(groups);
    (ModelProblem::UnknownName(name.to_owned()), hint(procedure.or_else(|| nearest_name(name, words)).map(str::to_owned)))
}

/// Whether a word can be an operation: it is not reserved, and its end is unambiguous.
pub(crate) fn is_operation_word(word: &str) -> bool {
    is_name(word) && !word.contains('_') && word != SEND && !is_reserved(word)
}

pub(crate) fn is_reserved(name: &str) -> bool {
    KEYWORDS.contains(&name) || CollectiveKind::from_name(name).is_some()
}

/// Whether it can be a name: letters, digits and `_`, and no digit first.
pub(crate) fn is_name(name: &str) -> bool {
    is_computer(name) && !name.starts_with(|first: char| first.is_numeric())
}

/// Whether it can be a computer: a name, or a number.
pub(crate) fn is_computer(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name_char)
}

/// Whether the name of a computer would be taken for a type.
pub(crate) fn begins_with_type(computer: &str) -> bool {
    TYPES.contains(&computer.split('_').next().unwrap_or_default())
}

/// The name with which a term is written.
pub(crate) fn term_spelling(term: &ModelTerm) -> Option<String> {
    match term {
        ModelTerm::Operation { operation: ComputeOp { name, data_type: of, computer: on }, .. } => {
            let on = on.as_ref().map(|Computer(on)| on);
            Some([Some(name), of.as_ref(), on].into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("_"))
        }
        ModelTerm::Message { from: Computer(from), to: Computer(to), .. } => Some(format!("{SEND}_{from}_{to}")),
        ModelTerm::Collective { operation, .. } => Some(operation.name().to_owned()),
        ModelTerm::Delay(_) => Some("delay".to_owned()),
        ModelTerm::Call { procedure, .. } => Some(procedure.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts<'a> = Option<(&'a str, Option<&'a str>, Option<&'a str>)>;

    fn read(name: &str) -> Parts<'_> {
        match resolve_name(name, &DeclarationOutline::scan("search(i) {}")) {
            Ok(TermName::Operation { word, of, on }) => Some((word, of, on)),
            _ => None,
        }
    }

    #[test]
    fn operations_are_taken_apart() {
        assert_eq!(read("sum_double"), Some(("sum", Some("double"), None)));
        assert_eq!(read("sum_double_w"), Some(("sum", Some("double"), Some("w"))));
        assert_eq!(read("sum_double_0"), Some(("sum", Some("double"), Some("0"))));
        assert_eq!(read("compare_w_1"), Some(("compare", None, Some("w_1"))));
        assert_eq!(read("access"), Some(("access", None, None)));
        assert_eq!(read("fft_p"), Some(("fft", None, Some("p"))), "words that the machine may know");
    }

    #[test]
    fn other_names_are_no_operations() {
        for name in ["fft", "sum", "sum_w", "sum_double_", "sum_", "_sum", "barrier_w", "send_w", "search", "bcast", "delay", "seq_w"] {
            assert_eq!(read(name), None, "{name}");
        }
    }

    #[test]
    fn a_hint_names_what_is_near() {
        let hint = |name: &str| resolve_name(name, &DeclarationOutline::scan("search(i) {}")).err().and_then(|(_, hint)| hint);
        assert_eq!(hint("serach"), Some("did you mean `search`?".into()));
        assert_eq!(hint("sum_duoble_w"), Some("did you mean `sum_double`?".into()));
        assert_eq!(hint("bcats"), Some("did you mean `bcast`?".into()));
        assert_eq!(hint("whatever"), None);
    }
}
