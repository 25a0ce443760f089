//! The printer of models.
//!
//! The layout depends only on the model: declarations first, one term per line, four spaces per block. A block of one operation is printed
//! on the same line if it fits.

use std::fmt::{self, Display, Formatter, Write};

use sintonia_machine::CollectiveKind;

use super::name;
use crate::model::{LoopOrder, ModelParameter, ModelTerm, PamelaModel, ProcedureDecl, ResourceDecl, SourceLanguage};

/// The maximum line width for blocks of one term.
const WIDTH: usize = 120;
const INDENT: usize = 4;

impl Display for PamelaModel {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut printer = ModelPrinter::default();
        printer.model(self)?;
        out.write_str(&printer.text)
    }
}

impl Display for ModelTerm {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut printer = ModelPrinter::default();
        printer.term(self)?;
        out.write_str(&printer.text)
    }
}

#[derive(Default)]
struct ModelPrinter {
    text: String,
    /// The offset at which the current line starts.
    line_start: usize,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TermSeparator {
    Semicolon,
    Bars,
}

/// How a term is printed, apart from comments in it; a block of one term is that term.
enum TermLayout<'a> {
    Empty,
    One(&'a ModelTerm),
    Many(&'a [ModelTerm], TermSeparator),
}

fn layout(term: &ModelTerm) -> TermLayout<'_> {
    let is_note = |term: &ModelTerm| matches!(term, ModelTerm::Comment(_));
    match term {
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) if terms.is_empty() => TermLayout::Empty,
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) if terms.len() == 1 => layout(&terms[0]),
        ModelTerm::Parallel(terms) if terms.iter().filter(|term| !is_note(term)).count() > 1 => {
            TermLayout::Many(terms, TermSeparator::Bars)
        }
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => TermLayout::Many(terms, TermSeparator::Semicolon),
        other => TermLayout::One(other),
    }
}

impl Write for ModelPrinter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        Ok(())
    }
}

impl ModelPrinter {
    fn model(&mut self, model: &PamelaModel) -> fmt::Result {
        if model.language == SourceLanguage::Java {
            self.write_str("language java;\n")?;
        }
        self.paragraph(&model.parameters, ModelPrinter::parameter)?;
        self.paragraph(&model.resources, ModelPrinter::resource)?;
        for procedure in &model.procedures {
            self.paragraph(std::slice::from_ref(procedure), ModelPrinter::procedure)?;
        }
        Ok(())
    }

    /// A group of declarations, separated by an empty line from what is before it.
    fn paragraph<T>(&mut self, list: &[T], print: impl Fn(&mut Self, &T) -> fmt::Result) -> fmt::Result {
        if !list.is_empty() && !self.text.is_empty() {
            self.write_char('\n')?;
        }
        for one in list {
            self.line_start = self.text.len();
            print(self, one)?;
            self.write_char('\n')?;
        }
        Ok(())
    }

    fn parameter(&mut self, parameter: &ModelParameter) -> fmt::Result {
        let value = parameter.value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
        let declaration = format!("parameter {}{value};", parameter.name);
        match parameter.comment.as_deref() {
            None => self.write_str(&declaration),
            Some(note) if !note.contains('\n') && char_count(&declaration) + char_count(note) + 5 <= WIDTH => {
                write!(self, "{declaration}  {}", commented(note))
            }
            Some(note) => {
                self.comment(note)?;
                self.write_str(&declaration)
            }
        }
    }

    fn resource(&mut self, resource: &ResourceDecl) -> fmt::Result {
        write!(self, "resource {}", resource.name)?;
        if !resource.multiplicity.is_one() {
            write!(self, "({})", resource.multiplicity)?;
        }
        self.write_char(';')
    }

    fn procedure(&mut self, procedure: &ProcedureDecl) -> fmt::Result {
        procedure.comment.as_deref().map_or(Ok(()), |note| self.comment(note))?;
        self.write_str(&procedure.name)?;
        if !procedure.parameters.is_empty() {
            write!(self, "({})", procedure.parameters.join(", "))?;
        }
        self.write_char(' ')?;
        match layout(&procedure.body) {
            TermLayout::Empty => self.write_str("{}"),
            TermLayout::One(term) => self.block_lines(std::slice::from_ref(term), TermSeparator::Semicolon),
            TermLayout::Many(terms, separator) => self.block_lines(terms, separator),
        }
    }

    /// A comment, one line of it per line.
    fn comment(&mut self, note: &str) -> fmt::Result {
        for line in note.split('\n') {
            self.write_str(&commented(line))?;
            self.next_line()?;
        }
        Ok(())
    }

    fn next_line(&mut self) -> fmt::Result {
        self.write_char('\n')?;
        self.line_start = self.text.len();
        self.text.extend(std::iter::repeat_n(' ', INDENT * self.depth));
        Ok(())
    }

    /// A block with one line per term.
    fn block_lines(&mut self, terms: &[ModelTerm], separator: TermSeparator) -> fmt::Result {
        self.write_char('{')?;
        self.depth += 1;
        let last = terms.iter().rposition(|term| !matches!(term, ModelTerm::Comment(_)));
        for (place, term) in terms.iter().enumerate() {
            self.next_line()?;
            if let ModelTerm::Comment(note) = term {
                self.note(note)?;
                continue;
            }
            self.term(term)?;
            match separator {
                TermSeparator::Bars if Some(place) == last => {}
                TermSeparator::Bars => self.write_str(" ||")?,
                TermSeparator::Semicolon if self.text.ends_with('}') => {}
                TermSeparator::Semicolon => self.write_char(';')?,
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

    /// A block in braces, on this line if it is short.
    fn block(&mut self, term: &ModelTerm) -> fmt::Result {
        match layout(term) {
            TermLayout::Empty => self.write_str("{}"),
            TermLayout::Many(terms, separator) => self.block_lines(terms, separator),
            TermLayout::One(term) => match simple_term(term).filter(|text| self.column() + char_count(text) + 4 <= WIDTH) {
                Some(text) => write!(self, "{{ {text} }}"),
                None => self.block_lines(std::slice::from_ref(term), TermSeparator::Semicolon),
            },
        }
    }

    fn column(&self) -> usize {
        char_count(&self.text[self.line_start..])
    }

    fn term(&mut self, term: &ModelTerm) -> fmt::Result {
        match layout(term) {
            TermLayout::Empty => self.write_str("{}"),
            TermLayout::Many(terms, separator) => self.block_lines(terms, separator),
            TermLayout::One(ModelTerm::Comment(note)) => self.block_lines(&[ModelTerm::Comment(note.clone())], TermSeparator::Semicolon),
            TermLayout::One(term) => self.compound_term(term),
        }
    }

    fn compound_term(&mut self, term: &ModelTerm) -> fmt::Result {
        match term {
            ModelTerm::Loop { order, index, from, to, body } => {
                let word = match order {
                    LoopOrder::Sequential => "seq",
                    LoopOrder::Parallel => "par",
                };
                write!(self, "{word}({index}={from},{to}) ")?;
                self.block(body)
            }
            ModelTerm::Tasks { index, from, to, computer, body } => {
                write!(self, "tasks({index}={from},{to}) on {computer} ")?;
                self.block(body)
            }
            ModelTerm::If { position: place, share, then, otherwise } => {
                self.write_str("if ")?;
                place.as_ref().map_or(Ok(()), |place| write!(self, "{} ", quoted(place)))?;
                share.as_ref().map_or(Ok(()), |share| write!(self, "({share}) "))?;
                self.block(then)?;
                match layout(otherwise) {
                    TermLayout::Empty => Ok(()),
                    other => {
                        self.write_str(" else ")?;
                        // Chained conditions are not indented further.
                        if let TermLayout::One(next @ ModelTerm::If { .. }) = other {
                            self.compound_term(next)
                        } else {
                            self.block(otherwise)
                        }
                    }
                }
            }
            ModelTerm::Use { resource, body } => {
                write!(self, "use({resource}, ")?;
                self.term(body)?;
                self.write_char(')')
            }
            other => simple_term(other).map_or(Ok(()), |text| self.write_str(&text)),
        }
    }
}

/// A term without subterms.
fn simple_term(term: &ModelTerm) -> Option<String> {
    let name = name::term_spelling(term)?;
    let arguments = match term {
        ModelTerm::Operation { times, .. } if times.is_one() => return Some(name),
        ModelTerm::Operation { times: argument, .. } | ModelTerm::Message { bytes: argument, .. } | ModelTerm::Delay(argument) => {
            vec![argument]
        }
        ModelTerm::Collective { operation: CollectiveKind::Barrier, bytes, processes } if bytes.is_zero() => vec![processes],
        ModelTerm::Collective { bytes, processes, .. } => vec![bytes, processes],
        ModelTerm::Call { arguments, .. } if !arguments.is_empty() => arguments.iter().collect(),
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

fn char_count(text: &str) -> usize {
    text.chars().count()
}
