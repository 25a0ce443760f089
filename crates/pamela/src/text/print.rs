//! Models as text.
//!
//! The layout depends on nothing but the model: declarations first, one term on a line, four blanks for each block. A block that holds one
//! operation stands on the line of what it belongs to if it fits there.

use std::fmt::{self, Display, Formatter, Write};

use sintonia_machine::Collective;

use super::name;
use crate::model::{Language, Model, Order, Parameter, Procedure, Resource, Term};

/// What should not be longer than this is not.
const WIDTH: usize = 120;
const INDENT: usize = 4;

impl Display for Model {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::default();
        printer.model(self)?;
        out.write_str(&printer.text)
    }
}

impl Display for Term {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::default();
        printer.term(self)?;
        out.write_str(&printer.text)
    }
}

#[derive(Default)]
struct Printer {
    text: String,
    /// Where the line begins that is being written.
    line: usize,
    depth: usize,
}

/// How terms are separated in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Semicolon,
    Bars,
}

/// What a term is written as, apart from notes in it: a block of one is the one.
enum Layout<'a> {
    Nothing,
    One(&'a Term),
    Many(&'a [Term], Separator),
}

fn layout(term: &Term) -> Layout<'_> {
    let is_note = |term: &Term| matches!(term, Term::Note(_));
    match term {
        Term::Sequence(terms) | Term::Parallel(terms) if terms.is_empty() => Layout::Nothing,
        Term::Sequence(terms) | Term::Parallel(terms) if terms.len() == 1 => layout(&terms[0]),
        Term::Parallel(terms) if terms.iter().filter(|term| !is_note(term)).count() > 1 => Layout::Many(terms, Separator::Bars),
        Term::Sequence(terms) | Term::Parallel(terms) => Layout::Many(terms, Separator::Semicolon),
        other => Layout::One(other),
    }
}

impl Write for Printer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        Ok(())
    }
}

impl Printer {
    fn model(&mut self, model: &Model) -> fmt::Result {
        if model.language == Language::Java {
            self.write_str("language java;\n")?;
        }
        self.paragraph(&model.parameters, Printer::parameter)?;
        self.paragraph(&model.resources, Printer::resource)?;
        for procedure in &model.procedures {
            self.paragraph(std::slice::from_ref(procedure), Printer::procedure)?;
        }
        Ok(())
    }

    /// Declarations that stand together, behind an empty line if there is anything before.
    fn paragraph<T>(&mut self, list: &[T], print: impl Fn(&mut Self, &T) -> fmt::Result) -> fmt::Result {
        if !list.is_empty() && !self.text.is_empty() {
            self.write_char('\n')?;
        }
        for one in list {
            self.line = self.text.len();
            print(self, one)?;
            self.write_char('\n')?;
        }
        Ok(())
    }

    fn parameter(&mut self, parameter: &Parameter) -> fmt::Result {
        let value = parameter.value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
        let declaration = format!("parameter {}{value};", parameter.name);
        match parameter.note.as_deref() {
            None => self.write_str(&declaration),
            Some(note) if !note.contains('\n') && letters(&declaration) + letters(note) + 5 <= WIDTH => {
                write!(self, "{declaration}  {}", commented(note))
            }
            Some(note) => {
                self.comment(note)?;
                self.write_str(&declaration)
            }
        }
    }

    fn resource(&mut self, resource: &Resource) -> fmt::Result {
        write!(self, "resource {}", resource.name)?;
        if !resource.multiplicity.is_one() {
            write!(self, "({})", resource.multiplicity)?;
        }
        self.write_char(';')
    }

    fn procedure(&mut self, procedure: &Procedure) -> fmt::Result {
        procedure.note.as_deref().map_or(Ok(()), |note| self.comment(note))?;
        self.write_str(&procedure.name)?;
        if !procedure.parameters.is_empty() {
            write!(self, "({})", procedure.parameters.join(", "))?;
        }
        self.write_char(' ')?;
        match layout(&procedure.body) {
            Layout::Nothing => self.write_str("{}"),
            Layout::One(term) => self.lines(std::slice::from_ref(term), Separator::Semicolon),
            Layout::Many(terms, separator) => self.lines(terms, separator),
        }
    }

    /// A note, each of its lines on one of its own.
    fn comment(&mut self, note: &str) -> fmt::Result {
        for line in note.split('\n') {
            self.write_str(&commented(line))?;
            self.next_line()?;
        }
        Ok(())
    }

    fn next_line(&mut self) -> fmt::Result {
        self.write_char('\n')?;
        self.line = self.text.len();
        self.text.extend(std::iter::repeat_n(' ', INDENT * self.depth));
        Ok(())
    }

    /// A block with a line for each term.
    fn lines(&mut self, terms: &[Term], separator: Separator) -> fmt::Result {
        self.write_char('{')?;
        self.depth += 1;
        let last = terms.iter().rposition(|term| !matches!(term, Term::Note(_)));
        for (place, term) in terms.iter().enumerate() {
            self.next_line()?;
            if let Term::Note(note) = term {
                self.note(note)?;
                continue;
            }
            self.term(term)?;
            match separator {
                Separator::Bars if Some(place) == last => {}
                Separator::Bars => self.write_str(" ||")?,
                Separator::Semicolon if self.text.ends_with('}') => {}
                Separator::Semicolon => self.write_char(';')?,
            }
        }
        self.depth -= 1;
        self.next_line()?;
        self.write_char('}')
    }

    fn note(&mut self, note: &str) -> fmt::Result {
        for (place, line) in note.split('\n').enumerate() {
            if place > 0 {
                self.next_line()?;
            }
            self.write_str(&commented(line))?;
        }
        Ok(())
    }

    /// Something in braces, on this line if it is short.
    fn block(&mut self, term: &Term) -> fmt::Result {
        match layout(term) {
            Layout::Nothing => self.write_str("{}"),
            Layout::Many(terms, separator) => self.lines(terms, separator),
            Layout::One(term) => match single(term).filter(|text| self.column() + letters(text) + 4 <= WIDTH) {
                Some(text) => write!(self, "{{ {text} }}"),
                None => self.lines(std::slice::from_ref(term), Separator::Semicolon),
            },
        }
    }

    fn column(&self) -> usize {
        letters(&self.text[self.line..])
    }

    fn term(&mut self, term: &Term) -> fmt::Result {
        match layout(term) {
            Layout::Nothing => self.write_str("{}"),
            Layout::Many(terms, separator) => self.lines(terms, separator),
            Layout::One(Term::Note(note)) => self.lines(&[Term::Note(note.clone())], Separator::Semicolon),
            Layout::One(term) => self.one(term),
        }
    }

    fn one(&mut self, term: &Term) -> fmt::Result {
        match term {
            Term::Loop { order, index, from, to, body } => {
                let word = match order {
                    Order::Sequential => "seq",
                    Order::Parallel => "par",
                };
                write!(self, "{word}({index}={from},{to}) ")?;
                self.block(body)
            }
            Term::Tasks { index, from, to, computer, body } => {
                write!(self, "tasks({index}={from},{to}) on {computer} ")?;
                self.block(body)
            }
            Term::If { place, share, then, otherwise } => {
                self.write_str("if ")?;
                place.as_ref().map_or(Ok(()), |place| write!(self, "{} ", quoted(place)))?;
                share.as_ref().map_or(Ok(()), |share| write!(self, "({share}) "))?;
                self.block(then)?;
                match layout(otherwise) {
                    Layout::Nothing => Ok(()),
                    other => {
                        self.write_str(" else ")?;
                        // A chain of conditions does not wander to the right.
                        if let Layout::One(next @ Term::If { .. }) = other { self.one(next) } else { self.block(otherwise) }
                    }
                }
            }
            Term::Use { resource, body } => {
                write!(self, "use({resource}, ")?;
                self.term(body)?;
                self.write_char(')')
            }
            other => single(other).map_or(Ok(()), |text| self.write_str(&text)),
        }
    }
}

/// A term that holds no others.
fn single(term: &Term) -> Option<String> {
    let name = name::spelled(term)?;
    let arguments = match term {
        Term::Operation { times, .. } if times.is_one() => return Some(name),
        Term::Operation { times: argument, .. } | Term::Message { bytes: argument, .. } | Term::Delay(argument) => vec![argument],
        Term::Group { operation: Collective::Barrier, bytes, processes } if bytes.is_zero() => vec![processes],
        Term::Group { bytes, processes, .. } => vec![bytes, processes],
        Term::Call { arguments, .. } if !arguments.is_empty() => arguments.iter().collect(),
        _ => return Some(name),
    };
    let arguments: Vec<String> = arguments.into_iter().map(ToString::to_string).collect();
    Some(format!("{name}({})", arguments.join(", ")))
}

fn commented(line: &str) -> String {
    match line.trim() {
        "" => "//".to_owned(),
        line => format!("// {line}"),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn letters(text: &str) -> usize {
    text.chars().count()
}
