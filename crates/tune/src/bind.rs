//! From names to hooks: what a tunlet needs, found in a process of the program.

use sintonia_link::order::{Act, Function, Order, Read, Shape, Side, Source, Width};
use sintonia_link::ring::Event;
use sintonia_symbols::{Parameter, Place, Program, Type, Variable};

use crate::point::{Argument, Join, Kind, MeasurePoint, Target};
use crate::station::Took;
use crate::tunlet::Happening;

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
    /// It has another type than the tunlet declares.
    #[error("`{variable}` is {kind}, and not {declared} as the tunlet says")]
    OtherType {
        /// The variable.
        variable: String,
        /// What it is.
        kind: Type,
        /// What it is said to be.
        declared: Kind,
    },
    /// It is not known how the function is called.
    #[error("`{function}` cannot be called: {why}")]
    NotCallable {
        /// The function.
        function: String,
        /// Why.
        why: String,
    },
    /// Several copies of a function.
    #[error("`{0}` exists in several copies, and cannot be replaced or called as one")]
    Several(String),
    /// No value of a function of MPI.
    #[error("`{value}` of `{function}`: of a function of MPI one can read seconds, bytes, peer, tag and communicator, when it returns")]
    NotOfMpi {
        /// What was asked for.
        value: String,
        /// Of which function.
        function: String,
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
    Took(Timing),
}

/// What is known of how long a call took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// All of it: `seconds`.
    Seconds,
    /// How much of that in functions of MPI: `mpi_seconds`.
    InMpi,
}

impl Timing {
    fn named(name: &str) -> Option<Timing> {
        match name {
            "seconds" => Some(Timing::Seconds),
            "mpi_seconds" => Some(Timing::InMpi),
            _ => None,
        }
    }
}

impl Decoder {
    /// How long a call took, which the events themselves do not say.
    fn of_timing(timing: Timing) -> Decoder {
        Decoder { from: From::Took(timing), kind: Type::Float { bytes: 8 } }
    }

    /// The value as a number, of a call that took so long.
    fn decode(&self, event: &Event, took: Took) -> f64 {
        let bits = match self.from {
            From::Took(Timing::Seconds) => return took.seconds,
            From::Took(Timing::InMpi) => return took.in_mpi,
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
    let whole = value.round();
    // As many values as so many bytes have.
    let values = |bytes: &u64| 2f64.powi(8 * *bytes as i32);
    match kind {
        Type::Float { bytes: 4 } => Some(value as f32).filter(|short| short.is_finite()).map(|short| u64::from(short.to_bits())),
        Type::Float { bytes: 8 } => Some(value.to_bits()),
        Type::Whole { signed: true, bytes: bytes @ (1 | 2 | 4 | 8) } => {
            let half = values(bytes) / 2.0;
            (-half..half).contains(&whole).then_some(whole as i64 as u64)
        }
        Type::Whole { signed: false, bytes: bytes @ (1 | 2 | 4 | 8) } => (0.0..values(bytes)).contains(&whole).then_some(whole as u64),
        Type::Truth { .. } => (0.0..=1.0).contains(&whole).then_some(whole as u64),
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
    /// Whether events may be joined.
    pub join: Join,
    /// How its values come out of an event.
    decoders: Vec<Decoder>,
}

impl Listener {
    /// What an event, of a call that took so long, means to it.
    pub fn happening(&self, event: &Event, rank: u32, time: f64, took: Took) -> Happening {
        let values = self.decoders.iter().map(|decoder| decoder.decode(event, took)).collect();
        Happening { point: self.point, rank, side: self.side, time, values }
    }
}

/// Lets a point listen to a function of MPI, which is measured without a hook.
pub fn mpi_listener(tunlet: usize, place: usize, point: &MeasurePoint) -> Result<Listener, BindError> {
    let whole = |word| Decoder { from: From::Word(word), kind: Type::Whole { signed: true, bytes: 8 } };
    let decoder = |value: &String| match value.as_str() {
        _ if point.side == Side::Entry => None,
        "seconds" => Some(Decoder::of_timing(Timing::Seconds)),
        "bytes" => Some(whole(0)),
        "peer" => Some(whole(1)),
        "tag" => Some(whole(2)),
        "communicator" => Some(whole(3)),
        _ => None,
    };
    let no_value = |value: &String| BindError::NotOfMpi { value: value.clone(), function: point.function.clone() };
    let decoders = point.values.iter().map(|value| decoder(value).ok_or_else(|| no_value(value))).collect::<Result<_, BindError>>()?;
    Ok(Listener { tunlet, point: place, side: point.side, join: point.join, decoders })
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
            function: place_of(function),
            shape: Shape::Wrap { stack: function.stack },
            at_entry: self.at_entry.clone(),
            at_exit: self.at_exit.clone(),
            may_throttle: true,
        };
        self.functions.iter().map(order).collect()
    }

    /// Whether somebody wants to know this of calls.
    pub fn wants(&self, timing: Timing) -> bool {
        self.listeners.iter().flat_map(|listener| &listener.decoders).any(|decoder| decoder.from == From::Took(timing))
    }

    /// Lets a point listen.
    pub fn listen(&mut self, program: &Program, tunlet: usize, place: usize, point: &MeasurePoint) -> Result<(), BindError> {
        let decoders = point.values.iter().map(|value| self.value(program, value, point.side)).collect::<Result<_, BindError>>()?;
        self.listeners.push(Listener { tunlet, point: place, side: point.side, join: point.join, decoders });
        Ok(())
    }

    fn value(&mut self, program: &Program, value: &str, side: Side) -> Result<Decoder, BindError> {
        let function = &self.functions[0];
        let parameters = function.parameters.clone().unwrap_or_default();
        if side == Side::Exit && value == "result" {
            return self.result();
        }
        if let Some(timing) = Timing::named(value).filter(|_| side == Side::Exit) {
            return Ok(Decoder::of_timing(timing));
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
pub enum Knob {
    /// A variable of the program.
    Variable {
        /// Where it is.
        variable: Variable,
        /// How many bytes it has.
        width: Width,
    },
    /// A function that is called.
    Call {
        /// Where it begins.
        address: u64,
        /// What it is passed: where, of which type, and what.
        arguments: Vec<(Place, Type, Argument)>,
    },
    /// A function that is replaced.
    Replace {
        /// Which.
        function: Function,
        /// Where the other begins.
        by: u64,
    },
    /// A library that is loaded.
    Library(String),
    /// A control variable of the MPI library.
    Control(String),
    /// A variable of the environment.
    Environment(String),
}

impl Knob {
    /// What needs no symbols of the program.
    pub fn without_symbols(target: &Target) -> Option<Knob> {
        match target {
            Target::Library(path) => Some(Knob::Library(path.clone())),
            Target::Control(name) => Some(Knob::Control(name.clone())),
            Target::Environment(name) => Some(Knob::Environment(name.clone())),
            Target::Variable(_) | Target::Typed { .. } | Target::Call { .. } | Target::Replace { .. } => None,
        }
    }

    /// Finds what a tuning point is about.
    pub fn of(program: &Program, target: &Target) -> Result<Knob, BindError> {
        match target {
            Target::Variable(name) => Knob::of_variable(program, name),
            Target::Typed { variable, kind } => {
                let found = Knob::of_variable(program, variable)?;
                match &found {
                    Knob::Variable { variable: about, .. } if !is_of(&about.kind, *kind) => {
                        Err(BindError::OtherType { variable: variable.clone(), kind: about.kind.clone(), declared: *kind })
                    }
                    _ => Ok(found),
                }
            }
            Target::Call { function, arguments } => Knob::of_call(&only(program, function)?, function, arguments),
            Target::Replace { function, by } => {
                let (function, by) = (only(program, function)?, only(program, by)?);
                Ok(Knob::Replace { function: place_of(&function), by: by.address })
            }
            Target::Library(_) | Target::Control(_) | Target::Environment(_) => Ok(Knob::without_symbols(target).expect("one of these")),
        }
    }

    fn of_variable(program: &Program, name: &str) -> Result<Knob, BindError> {
        let variable = program.variable(name)?;
        let not_settable = || BindError::NotSettable { variable: name.to_owned(), kind: variable.kind.clone() };
        let width = Width::of(variable.kind.bytes())
            .filter(|_| variable.kind != Type::Pointer && variable.kind.is_single())
            .ok_or_else(not_settable)?;
        Ok(Knob::Variable { width, variable })
    }

    fn of_call(found: &sintonia_symbols::Function, name: &str, arguments: &[Argument]) -> Result<Knob, BindError> {
        let not_callable = |why: String| BindError::NotCallable { function: name.to_owned(), why };
        let parameters = match &found.parameters {
            Some(parameters) => &parameters[..],
            None if arguments.is_empty() => &[],
            None => return Err(not_callable("it was built without debug information, so nobody knows what it takes".into())),
        };
        if parameters.len() != arguments.len() {
            return Err(not_callable(format!("it takes {} arguments, and {} are given", parameters.len(), arguments.len())));
        }
        let pass = |(parameter, argument): (&Parameter, &Argument)| match parameter.place {
            Place::Word(word) if word < 6 && !parameter.by_reference => Ok((parameter.place, parameter.kind.clone(), *argument)),
            Place::Float(float) if float < 4 => Ok((parameter.place, parameter.kind.clone(), *argument)),
            _ => Err(not_callable(format!("its parameter {} is not passed in a register", parameter.name))),
        };
        let arguments = parameters.iter().zip(arguments).map(pass).collect::<Result<_, BindError>>()?;
        Ok(Knob::Call { address: found.address, arguments })
    }

    /// What is done for a value, at once or at a moment; `None` if there is no such value.
    pub fn act(&self, value: f64) -> Option<Act> {
        match self {
            Knob::Variable { variable, width } => {
                let bits = bits(&variable.kind, value)?;
                Some(Act::Set { address: variable.address, behind: variable.behind.clone(), width: *width, bits })
            }
            Knob::Call { address, arguments } => {
                let (mut words, mut floats) = ([0; 6], [0.0; 4]);
                for (place, kind, argument) in arguments {
                    let number = match argument {
                        Argument::Wished => value,
                        Argument::Number(number) => *number,
                    };
                    match (place, kind) {
                        (Place::Float(float), Type::Float { bytes: 4 }) => {
                            floats[usize::from(*float)] = f64::from_bits(u64::from((number as f32).to_bits()));
                        }
                        (Place::Float(float), _) => floats[usize::from(*float)] = number,
                        (Place::Word(word), kind) => words[usize::from(*word)] = bits(kind, number)?,
                        _ => return None,
                    }
                }
                Some(Act::Call { address: *address, words, floats })
            }
            Knob::Replace { .. } => None,
            Knob::Library(path) => (value != 0.0).then(|| Act::Load { path: path.clone() }),
            Knob::Control(name) => Some(Act::Control { name: name.clone(), bits: value }),
            Knob::Environment(name) => Some(Act::Environment { name: name.clone(), value: value.to_string() }),
        }
    }

    /// The value before, as the answer says; `None` of what has none.
    pub fn value(&self, given: u64) -> Option<f64> {
        match self {
            Knob::Variable { variable, .. } => Some(value_of(&variable.kind, given)),
            Knob::Control(_) => Some(f64::from_bits(given)),
            Knob::Call { .. } | Knob::Replace { .. } | Knob::Library(_) | Knob::Environment(_) => None,
        }
    }
}

/// Whether a type is the one that was declared.
fn is_of(kind: &Type, declared: Kind) -> bool {
    match (kind, declared) {
        (Type::Whole { bytes, signed }, Kind::Whole { bytes: said, signed: can_be_negative }) => {
            *bytes == said && *signed == can_be_negative
        }
        (Type::Float { bytes }, Kind::Real { bytes: said }) => *bytes == said,
        (Type::Truth { .. }, Kind::Truth) => true,
        _ => false,
    }
}

/// A function that exists once.
fn only(program: &Program, name: &str) -> Result<sintonia_symbols::Function, BindError> {
    let mut found = program.functions(name)?;
    match found.pop() {
        Some(function) if found.is_empty() => Ok(function),
        _ => Err(BindError::Several(name.to_owned())),
    }
}

fn place_of(function: &sintonia_symbols::Function) -> Function {
    Function { address: function.address, size: function.size as usize, padding: function.padding as usize }
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
        for (kind, value) in [(&byte, -3.0), (&byte, 256.0), (&byte, f64::NAN), (&Type::Float { bytes: 4 }, 1e300)] {
            assert_eq!(bits(kind, value), None, "{kind} holds no {value}");
        }
        assert_eq!((bits(&byte, 255.4), bits(&Type::Whole { signed: true, bytes: 2 }, 32768.0)), (Some(255), None));
        assert_eq!(bits(&Type::Pointer, 1.0), None);
    }
}
