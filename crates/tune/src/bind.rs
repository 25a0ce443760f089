//! From names to hooks: what a tunlet needs, found in a process of the program.

use sintonia_link::order::{Act, Function, Order, Read, Shape, Side, Source, Width};
use sintonia_link::ring::Event;
use sintonia_symbols::{Parameter, Place, Program, Type, Variable};

use crate::point::{MeasurePoint, TuningPoint};

/// Why something that a tunlet needs is not there.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The name leads nowhere.
    #[error(transparent)]
    Name(#[from] sintonia_symbols::Problem),
    /// No such parameter, and no such variable.
    #[error("`{value}` of `{function}`: it is no parameter of it{}, and {problem}", parameters(known))]
    NoValue {
        /// What was asked for.
        value: String,
        /// Of which function.
        function: String,
        /// The parameters it has.
        known: Vec<String>,
        /// Why it is no variable either.
        problem: Box<sintonia_symbols::Problem>,
    },
    /// It cannot be read at that moment.
    #[error("`{value}` of `{function}` cannot be read: {why}")]
    Unreadable {
        /// What was asked for.
        value: String,
        /// Of which function.
        function: String,
        /// Why.
        why: String,
    },
    /// It is no single value.
    #[error("`{variable}` is {kind}, and cannot be set to a number")]
    NotSettable {
        /// The variable.
        variable: String,
        /// What it is.
        kind: Type,
    },
    /// Too much for one hook.
    #[error("more than {} values besides arguments are asked for at one side of `{function}`", sintonia_link::ring::READS)]
    TooMany {
        /// The function.
        function: String,
    },
}

fn parameters(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(" (it has {})", known.join(", ")) }
}

/// How a value comes out of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoder {
    from: From,
    kind: Type,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    Word(usize),
    Float(usize),
    Read(usize),
}

impl Decoder {
    /// The value as a number.
    pub fn decode(&self, event: &Event) -> f64 {
        let bits = match self.from {
            From::Word(place) => event.words[place],
            From::Float(place) => event.floats[place],
            From::Read(place) => event.reads[place],
        };
        value_of(&self.kind, bits)
    }
}

/// The number that bits of a type stand for.
pub fn value_of(kind: &Type, bits: u64) -> f64 {
    match kind {
        Type::Float { bytes: 4 } => f64::from(f32::from_bits(bits as u32)),
        Type::Float { .. } => f64::from_bits(bits),
        Type::Whole { signed: true, bytes } => {
            let unused = 64 - 8 * (*bytes).clamp(1, 8) as u32;
            ((bits << unused) as i64 >> unused) as f64
        }
        Type::Whole { signed: false, bytes } | Type::Truth { bytes } => {
            let unused = 64 - 8 * (*bytes).clamp(1, 8) as u32;
            (bits << unused >> unused) as f64
        }
        _ => bits as f64,
    }
}

/// The bits of a number in a type; `None` where the type holds no such number.
fn bits(kind: &Type, value: f64) -> Option<u64> {
    match kind {
        Type::Float { bytes: 4 } => Some(u64::from((value as f32).to_bits())),
        Type::Float { bytes: 8 } => Some(value.to_bits()),
        Type::Whole { signed: true, bytes: 1 | 2 | 4 | 8 } => Some(value.round() as i64 as u64),
        Type::Whole { signed: false, bytes: 1 | 2 | 4 | 8 } | Type::Truth { .. } => Some(value.round().max(0.0) as u64),
        _ => None,
    }
}

/// The hook of one function, for all points that look at it.
#[derive(Debug, Clone)]
pub struct Hook {
    /// Its name, as tunlets write it.
    pub name: String,
    functions: Vec<sintonia_symbols::Function>,
    at_entry: Vec<Read>,
    at_exit: Vec<Read>,
    /// Who listens.
    pub listeners: Vec<Listener>,
}

/// A measure point that listens to a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Listener {
    /// Which tunlet.
    pub tunlet: usize,
    /// Which of its points.
    pub point: usize,
    /// Which side of the function.
    pub side: Side,
    /// How its values come out of an event.
    pub decoders: Vec<Decoder>,
}

impl Hook {
    /// A hook that nobody listens to yet.
    pub fn of(program: &Program, name: &str) -> Result<Hook, BindError> {
        Ok(Hook {
            name: name.to_owned(),
            functions: program.functions(name)?,
            at_entry: Vec::new(),
            at_exit: Vec::new(),
            listeners: Vec::new(),
        })
    }

    /// The orders that put it in place: one for each copy of the function.
    pub fn orders(&self) -> Vec<Order> {
        let order = |function: &sintonia_symbols::Function| Order::Hook {
            function: Function { address: function.address, size: function.size as usize, padding: function.padding as usize },
            shape: Shape::Wrap { stack: function.stack },
            at_entry: self.at_entry.clone(),
            at_exit: self.at_exit.clone(),
        };
        self.functions.iter().map(order).collect()
    }

    /// Lets a point listen.
    pub fn listen(&mut self, program: &Program, tunlet: usize, place: usize, point: &MeasurePoint) -> Result<(), BindError> {
        let decoders = point.values.iter().map(|value| self.value(program, value, point.side)).collect::<Result<_, BindError>>()?;
        self.listeners.push(Listener { tunlet, point: place, side: point.side, decoders });
        Ok(())
    }

    fn value(&mut self, program: &Program, value: &str, side: Side) -> Result<Decoder, BindError> {
        let function = &self.functions[0];
        let parameters = function.parameters.clone().unwrap_or_default();
        if side == Side::Exit && value == "result" {
            return self.result();
        }
        if let Some(parameter) = parameters.iter().find(|parameter| parameter.name == value) {
            return self.parameter(parameter, side);
        }
        let known: Vec<String> = parameters.into_iter().map(|parameter| parameter.name).collect();
        let no_value =
            |problem| BindError::NoValue { value: value.to_owned(), function: self.name.clone(), known, problem: Box::new(problem) };
        let variable = program.variable(value).map_err(no_value)?;
        let source = match variable.behind[..] {
            [] => Source::At(variable.address),
            [offset] => Source::Behind { pointer: variable.address, offset: offset as i64 },
            _ => return Err(self.unreadable(value, "it stands behind more than one pointer")),
        };
        self.read(source, variable.kind, value, side)
    }

    fn result(&self) -> Result<Decoder, BindError> {
        match &self.functions[0].result {
            Some(kind @ Type::Float { bytes: 4 | 8 }) => Ok(Decoder { from: From::Float(0), kind: kind.clone() }),
            Some(kind) if kind.is_single() => Ok(Decoder { from: From::Word(0), kind: kind.clone() }),
            Some(kind) => Err(self.unreadable("result", &format!("it is {kind}"))),
            None => Err(self.unreadable("result", "the function returns nothing, or was built without debug information")),
        }
    }

    fn parameter(&mut self, parameter: &Parameter, side: Side) -> Result<Decoder, BindError> {
        let Parameter { name, kind, by_reference, place, .. } = parameter;
        if side == Side::Exit {
            return Err(self.unreadable(name, "parameters are known at entry only"));
        }
        let decoder = |from| Decoder { from, kind: kind.clone() };
        match *place {
            Place::Word(argument) if *by_reference => self.read(Source::BehindArgument { argument, offset: 0 }, kind.clone(), name, side),
            Place::Word(word) => Ok(decoder(From::Word(word.into()))),
            Place::Float(float) if float < 2 => Ok(decoder(From::Float(float.into()))),
            Place::Float(float) => self.read(Source::FloatArgument(float), kind.clone(), name, side),
            Place::Stack(word) if !by_reference => self.read(Source::StackArgument(word), kind.clone(), name, side),
            _ => Err(self.unreadable(name, "the compiler left it out, or passes it in pieces")),
        }
    }

    /// Adds something to be read.
    fn read(&mut self, source: Source, kind: Type, value: &str, side: Side) -> Result<Decoder, BindError> {
        let Some(width) = Width::of(kind.bytes()).filter(|_| kind.is_single()) else {
            return Err(self.unreadable(value, &format!("it is {kind}")));
        };
        let read = Read { source, width };
        let list = if side == Side::Entry { &mut self.at_entry } else { &mut self.at_exit };
        let place = list.iter().position(|known| *known == read).unwrap_or_else(|| {
            list.push(read);
            list.len() - 1
        });
        if place >= sintonia_link::ring::READS {
            return Err(BindError::TooMany { function: self.name.clone() });
        }
        Ok(Decoder { from: From::Read(place), kind })
    }

    fn unreadable(&self, value: &str, why: &str) -> BindError {
        BindError::Unreadable { value: value.to_owned(), function: self.name.clone(), why: why.to_owned() }
    }
}

/// A tuning point, found in a process.
#[derive(Debug, Clone, PartialEq)]
pub struct Knob {
    variable: Variable,
    /// The type of the variable.
    pub kind: Type,
    width: Width,
}

impl Knob {
    /// Finds what a tuning point is about.
    pub fn of(program: &Program, point: &TuningPoint) -> Result<Knob, BindError> {
        let variable = program.variable(&point.variable)?;
        let not_settable = || BindError::NotSettable { variable: point.variable.clone(), kind: variable.kind.clone() };
        let width = Width::of(variable.kind.bytes())
            .filter(|_| variable.kind != Type::Pointer && variable.kind.is_single())
            .ok_or_else(not_settable)?;
        Ok(Knob { kind: variable.kind.clone(), width, variable })
    }

    /// What sets it.
    pub fn set(&self, value: f64) -> Option<Act> {
        let bits = bits(&self.kind, value)?;
        Some(Act::Set { address: self.variable.address, behind: self.variable.behind.clone(), width: self.width, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_of_bits_as_they_went_in() {
        let types = [
            Type::Float { bytes: 4 },
            Type::Float { bytes: 8 },
            Type::Whole { signed: true, bytes: 1 },
            Type::Whole { signed: true, bytes: 4 },
            Type::Whole { signed: true, bytes: 8 },
        ];
        for kind in types {
            assert_eq!(value_of(&kind, bits(&kind, -5.0).expect("a number")), -5.0, "{kind}");
        }
        let byte = Type::Whole { signed: false, bytes: 1 };
        assert_eq!(value_of(&byte, 0x1ff), 255.0);
        assert_eq!(bits(&byte, -3.0), Some(0));
        assert_eq!(bits(&Type::Pointer, 1.0), None);
    }
}
