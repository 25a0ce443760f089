//! Resolves names of the source to hooks and addresses in a process.

use sintonia_link::pieces::{COMPUTATION, NumberLocation, PIECE, PieceParameter, PieceSettings, PieceTotal};
use sintonia_link::probe_protocol::{
    HookKind, HookRead, HookSide, HookTarget, ProbeAction, ProbeCommand, ReadSource, Recorded, ValueWidth,
};
use sintonia_link::ring::HookEvent;
use sintonia_link::value_location::AccessError;
use sintonia_mpi::FunctionId;
use sintonia_symbols::{ArgumentLocation, FunctionParameter, ProgramImage, ResolvedVariable, ValueType};

use crate::call_duration::CallDuration;
use crate::tuning_points::{
    COMPUTATIONS, CallArgument, DeclaredType, EventJoin, MeasurePoint, PIECES, PieceTarget, TaskTotal, TuningTarget,
};
use crate::tunlet::PointEvent;

/// Why a requirement of a tunlet cannot be bound.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BindError {
    /// The name cannot be resolved.
    #[error(transparent)]
    Name(#[from] sintonia_symbols::SymbolError),
    /// Neither a parameter nor a variable.
    #[error("`{value}` of `{function}`: it is not a parameter{}, and {problem}", parameters(known))]
    NoValue {
        /// The requested value.
        value: String,
        /// The function.
        function: String,
        /// Parameters of the function.
        known: Vec<String>,
        /// Why it is not a variable either.
        problem: Box<sintonia_symbols::SymbolError>,
    },
    /// The value cannot be read there.
    #[error("`{value}` of `{function}` cannot be read: {why}")]
    Unreadable {
        /// The requested value.
        value: String,
        /// The function.
        function: String,
        /// The reason.
        why: String,
    },
    /// Not a scalar.
    #[error("`{variable}` is {kind}, and cannot be set to a number")]
    NotSettable {
        /// The variable.
        variable: String,
        /// Its type.
        kind: ValueType,
    },
    /// One value for each thread.
    #[error("every thread has a variable `{0}` of its own: it can be read, but not set")]
    ThreadLocal(String),
    /// Not the declared type.
    #[error("`{variable}` is {kind}, and not {declared} as the tunlet says")]
    OtherType {
        /// The variable.
        variable: String,
        /// Its type.
        kind: ValueType,
        /// The declared type.
        declared: DeclaredType,
    },
    /// The calling convention is unknown.
    #[error("`{function}` cannot be called: {why}")]
    NotCallable {
        /// The function.
        function: String,
        /// The reason.
        why: String,
    },
    /// A function with several copies.
    #[error("`{0}` has several copies, and cannot be replaced or called")]
    Ambiguous(String),
    /// Not a value of an MPI function.
    #[error("`{value}` of `{function}`: an MPI function has seconds, bytes, peer, tag and communicator, at exit")]
    NotOfMpi {
        /// The requested value.
        value: String,
        /// The function.
        function: String,
    },
    /// Too many reads for one hook.
    #[error("more than {} values besides arguments are requested at entry or exit of `{function}`", sintonia_link::ring::MAX_READS)]
    TooMany {
        /// The function.
        function: String,
    },
}

impl BindError {
    /// Whether a library that is loaded later may have the name.
    pub(crate) fn is_unknown_name(&self) -> bool {
        use sintonia_symbols::SymbolError::{Stripped, Unknown};
        match self {
            BindError::Name(problem) => matches!(problem, Unknown { .. } | Stripped { .. }),
            BindError::NoValue { problem, .. } => matches!(**problem, Unknown { .. } | Stripped { .. }),
            _ => false,
        }
    }
}

fn parameters(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(" (it has {})", known.join(", ")) }
}

/// How a value is decoded from an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueDecoder {
    source: ValueSource,
    kind: ValueType,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ValueSource {
    Word(usize),
    Float(usize),
    Read(usize),
    Timing(CallTimeKind),
    /// The bytes of an MPI function.
    Bytes,
    /// It cannot be read there, which was reported.
    Missing,
}

/// A quantity whose sums over all calls the program keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SummedQuantity {
    /// The duration.
    Seconds,
    /// The part in MPI functions.
    InMpi,
    /// The bytes of an MPI function.
    Bytes,
}

/// Durations of a call that can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallTimeKind {
    /// `seconds`: the whole call.
    Seconds,
    /// `mpi_seconds`: the part in MPI functions.
    InMpi,
}

impl CallTimeKind {
    fn from_name(name: &str) -> Option<CallTimeKind> {
        match name {
            "seconds" => Some(CallTimeKind::Seconds),
            "mpi_seconds" => Some(CallTimeKind::InMpi),
            _ => None,
        }
    }
}

impl ValueDecoder {
    /// The duration of a call, which is not in the event itself.
    fn for_timing(timing: CallTimeKind) -> ValueDecoder {
        ValueDecoder { source: ValueSource::Timing(timing), kind: ValueType::Float { bytes: 8 } }
    }

    /// A value that cannot be read: the others of its measure point can.
    const MISSING: ValueDecoder = ValueDecoder { source: ValueSource::Missing, kind: ValueType::Other };

    /// The value as a number, not a number if there was none; `duration` is that of the call.
    fn decode(&self, event: &HookEvent, duration: CallDuration) -> f64 {
        let bits = match self.source {
            ValueSource::Missing => return f64::NAN,
            ValueSource::Timing(CallTimeKind::Seconds) => return duration.seconds,
            ValueSource::Timing(CallTimeKind::InMpi) => return duration.mpi_seconds,
            ValueSource::Word(place) => event.words[place],
            ValueSource::Bytes => event.words[0],
            ValueSource::Float(place) => event.floats[place],
            ValueSource::Read(place) if AccessError::from_marker(event.reads[place]).is_some() => return f64::NAN,
            ValueSource::Read(place) => event.reads[place],
        };
        decode_value(&self.kind, bits)
    }
}

/// Converts bits of a type to a number.
pub(crate) fn decode_value(kind: &ValueType, bits: u64) -> f64 {
    match kind {
        ValueType::Float { bytes: 4 } => f64::from(f32::from_bits(bits as u32)),
        ValueType::Float { .. } => f64::from_bits(bits),
        ValueType::Integer { signed: true, bytes } => {
            let unused = 64 - 8 * (*bytes).clamp(1, 8) as u32;
            ((bits << unused) as i64 >> unused) as f64
        }
        ValueType::BitField { signed, bits: size } => {
            let unused = 64 - u32::from((*size).clamp(1, 64));
            if *signed { ((bits << unused) as i64 >> unused) as f64 } else { (bits << unused >> unused) as f64 }
        }
        ValueType::Integer { signed: false, bytes } | ValueType::Boolean { bytes } => {
            let unused = 64 - 8 * (*bytes).clamp(1, 8) as u32;
            (bits << unused >> unused) as f64
        }
        _ => bits as f64,
    }
}

/// Converts a number to bits of a type; `None` if the type cannot hold it.
fn encode_value(kind: &ValueType, value: f64) -> Option<u64> {
    let whole = value.round();
    // Number of distinct values of that many bits.
    let values = |bits: u64| 2f64.powi(bits as i32);
    let signed = |bits: u64| (-values(bits) / 2.0..values(bits) / 2.0).contains(&whole).then_some(whole as i64 as u64);
    let unsigned = |bits: u64| (0.0..values(bits)).contains(&whole).then_some(whole as u64);
    match kind {
        ValueType::Float { bytes: 4 } => Some(value as f32).filter(|short| short.is_finite()).map(|short| u64::from(short.to_bits())),
        ValueType::Float { bytes: 8 } => Some(value.to_bits()),
        ValueType::Integer { signed: true, bytes: bytes @ (1 | 2 | 4 | 8) } => signed(8 * bytes),
        ValueType::Integer { signed: false, bytes: bytes @ (1 | 2 | 4 | 8) } => unsigned(8 * bytes),
        ValueType::BitField { signed: true, bits } => signed(u64::from(*bits)),
        ValueType::BitField { signed: false, bits } => unsigned(u64::from(*bits)),
        ValueType::Boolean { .. } => (0.0..=1.0).contains(&whole).then_some(whole as u64),
        _ => None,
    }
}

/// The hook of one function, shared by all its measure points.
#[derive(Debug, Clone)]
pub(crate) struct FunctionHook {
    /// Function name, as tunlets write it.
    pub name: String,
    functions: Vec<sintonia_symbols::ResolvedFunction>,
    at_entry: Vec<HookRead>,
    at_exit: Vec<HookRead>,
    pub listeners: Vec<HookListener>,
}

/// A measure point at a hook.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookListener {
    /// Index of the tunlet.
    pub tunlet: usize,
    /// Index of the measure point.
    pub point: usize,
    /// Entry or exit of the function.
    pub side: HookSide,
    /// Whether events may be aggregated.
    pub join: EventJoin,
    /// Decoders of the point's values.
    decoders: Vec<ValueDecoder>,
    /// Names of the point's values.
    values: Vec<String>,
}

impl HookListener {
    /// Decodes an event of a call with this duration.
    pub(crate) fn decode_event(&self, event: &HookEvent, rank: u32, time: f64, duration: CallDuration) -> PointEvent {
        let values = self.decoders.iter().map(|decoder| decoder.decode(event, duration)).collect();
        PointEvent { point: self.point, rank, side: self.side, time, values, change: 0 }
    }

    /// The quantities whose sums give the point's values, if its events are aggregated and sums suffice.
    pub(crate) fn summed(&self) -> Option<Vec<SummedQuantity>> {
        let quantity = |decoder: &ValueDecoder| match decoder.source {
            ValueSource::Timing(CallTimeKind::Seconds) => Some(SummedQuantity::Seconds),
            ValueSource::Timing(CallTimeKind::InMpi) => Some(SummedQuantity::InMpi),
            ValueSource::Bytes => Some(SummedQuantity::Bytes),
            ValueSource::Word(_) | ValueSource::Float(_) | ValueSource::Read(_) | ValueSource::Missing => None,
        };
        if self.join == EventJoin::Each { None } else { self.decoders.iter().map(quantity).collect() }
    }

    /// The values that could not be read, and why.
    pub(crate) fn unreadable<'event>(&'event self, event: &'event HookEvent) -> impl Iterator<Item = (&'event str, AccessError)> {
        let reason = |decoder: &ValueDecoder| match decoder.source {
            ValueSource::Read(place) => AccessError::from_marker(event.reads[place]),
            _ => None,
        };
        self.decoders.iter().zip(&self.values).filter_map(move |(decoder, name)| Some((name.as_str(), reason(decoder)?)))
    }
}

/// The number of events that need no hook: the index of an MPI function, or what the probe makes of calls.
pub(crate) fn event_number(function: &str) -> Option<u16> {
    match function {
        PIECES => Some(PIECE),
        COMPUTATIONS => Some(COMPUTATION),
        _ => FunctionId::from_name(function).map(|operation| operation.0),
    }
}

/// The word with a value of a piece or a computation.
fn piece_word(function: &str, side: HookSide, value: &str) -> Option<usize> {
    let names: &[&str] = match (function, side) {
        (PIECES, HookSide::Entry) => &["tasks", "worker", "first", "round", "bytes", "total"],
        (PIECES, HookSide::Exit) => &["tasks", "worker", "over", "round", "bytes"],
        (COMPUTATIONS, HookSide::Exit) => &["bytes", "peer"],
        _ => &[],
    };
    names.iter().position(|name| *name == value)
}

/// A listener for an MPI function, which is measured without a hook, and the values that it cannot have.
pub(crate) fn mpi_listener(tunlet: usize, place: usize, point: &MeasurePoint) -> (HookListener, Vec<BindError>) {
    let whole = |word| ValueDecoder { source: ValueSource::Word(word), kind: ValueType::Integer { signed: true, bytes: 8 } };
    let decoder = |value: &str| match value {
        value if piece_word(&point.function, point.side, value).is_some() => piece_word(&point.function, point.side, value).map(whole),
        _ if point.side == HookSide::Entry => None,
        "seconds" => Some(ValueDecoder::for_timing(CallTimeKind::Seconds)),
        "bytes" => Some(ValueDecoder { source: ValueSource::Bytes, ..whole(0) }),
        "peer" => Some(whole(1)),
        "tag" => Some(whole(2)),
        "communicator" => Some(whole(3)),
        _ => None,
    };
    let no_value = |value: &str| BindError::NotOfMpi { value: value.to_owned(), function: point.function.clone() };
    listener(tunlet, place, point, |value| decoder(value).ok_or_else(|| no_value(value)))
}

/// A listener for a measure point. A value that cannot be read is missing from its events and does not prevent the others.
fn listener(
    tunlet: usize,
    place: usize,
    point: &MeasurePoint,
    mut decoder: impl FnMut(&str) -> Result<ValueDecoder, BindError>,
) -> (HookListener, Vec<BindError>) {
    let mut problems = Vec::new();
    let mut decode = |value: &String| {
        decoder(value).unwrap_or_else(|problem| {
            problems.push(problem);
            ValueDecoder::MISSING
        })
    };
    let decoders = point.values.iter().map(&mut decode).collect();
    let listener = HookListener { tunlet, point: place, side: point.side, join: point.join, decoders, values: point.values.clone() };
    (listener, problems)
}

impl FunctionHook {
    /// A hook without listeners.
    pub(crate) fn new(program: &ProgramImage, name: &str) -> Result<FunctionHook, BindError> {
        Ok(FunctionHook {
            name: name.to_owned(),
            functions: program.functions(name)?,
            at_entry: Vec::new(),
            at_exit: Vec::new(),
            listeners: Vec::new(),
        })
    }

    /// Whether only entries are listened to, and the exit need not be seen.
    fn listens_at_entry_only(&self) -> bool {
        !self.listeners.is_empty() && self.listeners.iter().all(|listener| listener.side == HookSide::Entry)
    }

    /// The commands that install it: one for each copy of the function. Changes may have to be made at exit.
    pub(crate) fn commands(&self, needs_exit: bool, recorded: Recorded) -> Vec<ProbeCommand> {
        let entry_only = !needs_exit && self.listens_at_entry_only();
        let command = |function: &sintonia_symbols::ResolvedFunction| ProbeCommand::Hook {
            function: function_range(function),
            kind: if entry_only { HookKind::Pass } else { HookKind::Wrap { stack: function.uses_stack } },
            at_entry: self.at_entry.clone(),
            at_exit: self.at_exit.clone(),
            may_throttle: true,
            recorded,
        };
        self.functions.iter().map(command).collect()
    }

    /// The commands that install it only to execute actions there: nothing is read, and it is not removed for being called often.
    pub(crate) fn sync_commands(&self) -> Vec<ProbeCommand> {
        let command = |function: &sintonia_symbols::ResolvedFunction| ProbeCommand::Hook {
            function: function_range(function),
            kind: HookKind::Wrap { stack: function.uses_stack },
            at_entry: Vec::new(),
            at_exit: Vec::new(),
            may_throttle: false,
            recorded: Recorded::TOTALS,
        };
        self.functions.iter().map(command).collect()
    }

    /// Whether a listener needs this duration.
    pub(crate) fn needs_timing(&self, timing: CallTimeKind) -> bool {
        self.listeners.iter().flat_map(|listener| &listener.decoders).any(|decoder| decoder.source == ValueSource::Timing(timing))
    }

    /// What the user must know about the calls that the hook sees.
    pub(crate) fn notes(&self) -> Vec<String> {
        let name = &self.name;
        let inlined = self
            .inlined_at()
            .map(|sites| format!("`{name}` was inlined at {sites}; calls there are not seen, only those of the copy that is left"));
        let mut merged: Vec<String> =
            self.functions.iter().flat_map(|function| &function.merged_with).map(|other| format!("`{other}`")).collect();
        merged.dedup();
        let together = (!merged.is_empty()).then(|| {
            format!("`{name}` has the same code as {}, merged by the compiler: their calls are seen as its own", merged.join(", "))
        });
        inlined.into_iter().chain(together).collect()
    }

    /// Where calls were inlined, if any were.
    pub(crate) fn inlined_at(&self) -> Option<String> {
        let sites = &self.functions.iter().find(|function| !function.inlined_at.is_empty())?.inlined_at;
        Some(sintonia_symbols::display_sites(sites))
    }

    /// Adds a measure point, and returns which of its values cannot be read.
    pub(crate) fn add_listener(&mut self, program: &ProgramImage, tunlet: usize, place: usize, point: &MeasurePoint) -> Vec<BindError> {
        let (listener, problems) = listener(tunlet, place, point, |value| self.value_decoder(program, value, point.side));
        self.listeners.push(listener);
        problems
    }

    fn value_decoder(&mut self, program: &ProgramImage, value: &str, side: HookSide) -> Result<ValueDecoder, BindError> {
        let function = &self.functions[0];
        let parameters = function.parameters.clone().unwrap_or_default();
        if side == HookSide::Exit && value == "result" {
            return self.result_decoder();
        }
        if let Some(timing) = CallTimeKind::from_name(value).filter(|_| side == HookSide::Exit) {
            return Ok(ValueDecoder::for_timing(timing));
        }
        if let Some(parameter) = parameters.iter().find(|parameter| parameter.name == value) {
            return self.parameter_decoder(parameter, side);
        }
        let known: Vec<String> = parameters.into_iter().map(|parameter| parameter.name).collect();
        let no_value =
            |problem| BindError::NoValue { value: value.to_owned(), function: self.name.clone(), known, problem: Box::new(problem) };
        let variable = program.variable(value).map_err(no_value)?;
        let source = variable.location.fixed_address().map_or_else(|| ReadSource::Computed(variable.location), ReadSource::At);
        self.add_read(source, variable.value_type, value, side)
    }

    fn result_decoder(&self) -> Result<ValueDecoder, BindError> {
        match &self.functions[0].result {
            Some(kind @ ValueType::Float { bytes: 4 | 8 }) => Ok(ValueDecoder { source: ValueSource::Float(0), kind: kind.clone() }),
            Some(kind) if kind.is_scalar() => Ok(ValueDecoder { source: ValueSource::Word(0), kind: kind.clone() }),
            Some(kind) => Err(self.unreadable("result", &format!("it is {kind}"))),
            None => Err(self.unreadable("result", "the function returns nothing, or was built without debug information")),
        }
    }

    fn parameter_decoder(&mut self, parameter: &FunctionParameter, side: HookSide) -> Result<ValueDecoder, BindError> {
        let FunctionParameter { name, value_type: kind, by_reference, location: place, .. } = parameter;
        if side == HookSide::Exit {
            return Err(self.unreadable(name, "parameters are available at entry only"));
        }
        let decoder = |from| ValueDecoder { source: from, kind: kind.clone() };
        match *place {
            ArgumentLocation::IntRegister(argument) if *by_reference => {
                self.add_read(ReadSource::BehindArgument { argument, offset: 0 }, kind.clone(), name, side)
            }
            ArgumentLocation::IntRegister(word) => Ok(decoder(ValueSource::Word(word.into()))),
            ArgumentLocation::FloatRegister(float) if float < 2 => Ok(decoder(ValueSource::Float(float.into()))),
            ArgumentLocation::FloatRegister(float) => self.add_read(ReadSource::FloatArgument(float), kind.clone(), name, side),
            ArgumentLocation::Stack(word) if !by_reference => self.add_read(ReadSource::StackArgument(word), kind.clone(), name, side),
            _ => Err(self.unreadable(name, "the compiler optimised it out, or passes it in pieces")),
        }
    }

    /// Adds a value to read in the probe.
    fn add_read(&mut self, source: ReadSource, kind: ValueType, value: &str, side: HookSide) -> Result<ValueDecoder, BindError> {
        // The width of a computed value is in its location.
        let computed = matches!(source, ReadSource::Computed(_)).then_some(ValueWidth::Eight);
        let Some(width) = computed.or_else(|| ValueWidth::from_bytes(kind.bytes())).filter(|_| kind.is_scalar()) else {
            return Err(self.unreadable(value, &format!("it is {kind}")));
        };
        let read = HookRead { source, width };
        let list = if side == HookSide::Entry { &mut self.at_entry } else { &mut self.at_exit };
        let place = list.iter().position(|known| *known == read).unwrap_or_else(|| {
            list.push(read);
            list.len() - 1
        });
        if place >= sintonia_link::ring::MAX_READS {
            list.truncate(sintonia_link::ring::MAX_READS);
            return Err(BindError::TooMany { function: self.name.clone() });
        }
        Ok(ValueDecoder { source: ValueSource::Read(place), kind })
    }

    fn unreadable(&self, value: &str, why: &str) -> BindError {
        BindError::Unreadable { value: value.to_owned(), function: self.name.clone(), why: why.to_owned() }
    }
}

/// A tuning target, resolved in a process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ResolvedTarget {
    /// A variable of the program.
    Variable(ResolvedVariable),
    /// A function to call.
    Call {
        /// Entry address.
        address: u64,
        /// Location, type and value of each argument.
        arguments: Vec<(ArgumentLocation, ValueType, CallArgument)>,
    },
    /// A function to replace.
    Replace {
        /// The replaced function.
        function: HookTarget,
        /// Address of the replacement.
        by: u64,
    },
    /// A library to load.
    Library(String),
    /// A control variable of the MPI library.
    Control(String),
    /// An environment variable.
    Environment(String),
    /// A parameter of the sizes of pieces.
    Piece(PieceSettings, PieceParameter),
}

impl ResolvedTarget {
    /// Resolves targets that need no symbols.
    pub(crate) fn without_symbols(target: &TuningTarget) -> Option<ResolvedTarget> {
        match target {
            TuningTarget::Library(path) => Some(ResolvedTarget::Library(path.clone())),
            TuningTarget::Control(name) => Some(ResolvedTarget::Control(name.clone())),
            TuningTarget::Environment(name) => Some(ResolvedTarget::Environment(name.clone())),
            TuningTarget::Variable(_)
            | TuningTarget::Typed { .. }
            | TuningTarget::Call { .. }
            | TuningTarget::Replace { .. }
            | TuningTarget::Piece(_) => None,
        }
    }

    /// Resolves a target.
    pub(crate) fn resolve(program: &ProgramImage, target: &TuningTarget) -> Result<ResolvedTarget, BindError> {
        match target {
            TuningTarget::Variable(name) => ResolvedTarget::resolve_variable(program, name),
            TuningTarget::Typed { variable, kind } => {
                let found = ResolvedTarget::resolve_variable(program, variable)?;
                match &found {
                    ResolvedTarget::Variable(about) if !matches_type(&about.value_type, *kind) => {
                        Err(BindError::OtherType { variable: variable.clone(), kind: about.value_type.clone(), declared: *kind })
                    }
                    _ => Ok(found),
                }
            }
            TuningTarget::Call { function, arguments } => {
                ResolvedTarget::resolve_call(&unique_function(program, function)?, function, arguments)
            }
            TuningTarget::Replace { function, by } => {
                let (function, by) = (unique_function(program, function)?, unique_function(program, by)?);
                Ok(ResolvedTarget::Replace { function: function_range(&function), by: by.address })
            }
            TuningTarget::Piece(target) => Ok(ResolvedTarget::Piece(piece_settings(program, target)?, target.parameter)),
            TuningTarget::Library(_) | TuningTarget::Control(_) | TuningTarget::Environment(_) => {
                Ok(ResolvedTarget::without_symbols(target).expect("these need no symbols"))
            }
        }
    }

    fn resolve_variable(program: &ProgramImage, name: &str) -> Result<ResolvedTarget, BindError> {
        let variable = program.variable(name)?;
        let not_settable = || BindError::NotSettable { variable: name.to_owned(), kind: variable.value_type.clone() };
        if variable.value_type == ValueType::Pointer || !variable.value_type.is_scalar() {
            return Err(not_settable());
        }
        if variable.location.is_thread_local() {
            return Err(BindError::ThreadLocal(name.to_owned()));
        }
        Ok(ResolvedTarget::Variable(variable))
    }

    fn resolve_call(
        found: &sintonia_symbols::ResolvedFunction,
        name: &str,
        arguments: &[CallArgument],
    ) -> Result<ResolvedTarget, BindError> {
        let not_callable = |why: String| BindError::NotCallable { function: name.to_owned(), why };
        let parameters = match &found.parameters {
            Some(parameters) => &parameters[..],
            None if arguments.is_empty() => &[],
            None => return Err(not_callable("it was built without debug information, so its parameters are unknown".into())),
        };
        if parameters.len() != arguments.len() {
            return Err(not_callable(format!("it takes {} arguments, and {} are given", parameters.len(), arguments.len())));
        }
        let pass = |(parameter, argument): (&FunctionParameter, &CallArgument)| match parameter.location {
            ArgumentLocation::IntRegister(word) if word < 6 && !parameter.by_reference => {
                Ok((parameter.location, parameter.value_type.clone(), *argument))
            }
            ArgumentLocation::FloatRegister(float) if float < 4 => Ok((parameter.location, parameter.value_type.clone(), *argument)),
            _ => Err(not_callable(format!("its parameter {} is not passed in a register", parameter.name))),
        };
        let arguments = parameters.iter().zip(arguments).map(pass).collect::<Result<_, BindError>>()?;
        Ok(ResolvedTarget::Call { address: found.address, arguments })
    }

    /// The action that sets a value; `None` if the target cannot have it.
    pub(crate) fn action(&self, value: f64) -> Option<ProbeAction> {
        match self {
            ResolvedTarget::Variable(variable) => {
                let bits = encode_value(&variable.value_type, value)?;
                Some(ProbeAction::Set { location: variable.location.clone(), bits })
            }
            ResolvedTarget::Call { address, arguments } => {
                let (mut words, mut floats) = ([0; 6], [0.0; 4]);
                for (place, kind, argument) in arguments {
                    let number = match argument {
                        CallArgument::Wished => value,
                        CallArgument::Number(number) => *number,
                    };
                    match (place, kind) {
                        (ArgumentLocation::FloatRegister(float), ValueType::Float { bytes: 4 }) => {
                            floats[usize::from(*float)] = f64::from_bits(u64::from((number as f32).to_bits()));
                        }
                        (ArgumentLocation::FloatRegister(float), _) => floats[usize::from(*float)] = number,
                        (ArgumentLocation::IntRegister(word), kind) => words[usize::from(*word)] = encode_value(kind, number)?,
                        _ => return None,
                    }
                }
                Some(ProbeAction::Call { address: *address, words, floats })
            }
            ResolvedTarget::Replace { .. } => None,
            ResolvedTarget::Library(path) => (value != 0.0).then(|| ProbeAction::Load { path: path.clone() }),
            ResolvedTarget::Control(name) => Some(ProbeAction::Control { name: name.clone(), bits: value }),
            ResolvedTarget::Environment(name) => Some(ProbeAction::Environment { name: name.clone(), value: value.to_string() }),
            ResolvedTarget::Piece(settings, parameter) => {
                Some(ProbeAction::Piece { settings: settings.clone(), parameter: *parameter, value })
            }
        }
    }

    /// The value that is there after a change to `value`: what the type of a variable makes of it.
    pub(crate) fn stored_value(&self, value: f64) -> f64 {
        match self {
            ResolvedTarget::Variable(variable) => {
                encode_value(&variable.value_type, value).map_or(value, |bits| decode_value(&variable.value_type, bits))
            }
            _ => value,
        }
    }

    /// The previous value from a probe's answer; `None` if the target has none.
    pub(crate) fn previous_value(&self, given: u64) -> Option<f64> {
        match self {
            ResolvedTarget::Variable(variable) => Some(decode_value(&variable.value_type, given)),
            ResolvedTarget::Control(_) | ResolvedTarget::Piece(..) => Some(f64::from_bits(given)),
            ResolvedTarget::Call { .. } | ResolvedTarget::Replace { .. } | ResolvedTarget::Library(_) | ResolvedTarget::Environment(_) => {
                None
            }
        }
    }
}

/// How pieces are found and sized.
fn piece_settings(program: &ProgramImage, target: &PieceTarget) -> Result<PieceSettings, BindError> {
    let total = match &target.total {
        None => PieceTotal::Observed,
        Some(TaskTotal::Number(total)) => PieceTotal::Number(*total),
        Some(TaskTotal::Variable(name)) => PieceTotal::Variable(number_location(program, name)?),
    };
    Ok(PieceSettings {
        variable: Some(number_location(program, &target.variable)?),
        total,
        tag: target.tag,
        moment: target.moment,
        is_master: target.is_master,
        least: target.least,
    })
}

/// A variable that holds an integer or a floating-point number.
fn number_location(program: &ProgramImage, name: &str) -> Result<NumberLocation, BindError> {
    let ResolvedTarget::Variable(variable) = ResolvedTarget::resolve_variable(program, name)? else {
        return Err(BindError::Ambiguous(name.to_owned()));
    };
    match variable.value_type {
        ValueType::Integer { .. } | ValueType::BitField { .. } => Ok(NumberLocation { location: variable.location, is_float: false }),
        ValueType::Float { bytes: 4 | 8 } => Ok(NumberLocation { location: variable.location, is_float: true }),
        kind => Err(BindError::NotSettable { variable: name.to_owned(), kind }),
    }
}

/// Whether a type is the declared one.
fn matches_type(kind: &ValueType, declared: DeclaredType) -> bool {
    match (kind, declared) {
        (ValueType::Integer { bytes, signed }, DeclaredType::Whole { bytes: said, signed: can_be_negative }) => {
            *bytes == said && *signed == can_be_negative
        }
        (ValueType::Float { bytes }, DeclaredType::Real { bytes: said }) => *bytes == said,
        (ValueType::Boolean { .. }, DeclaredType::Truth) => true,
        _ => false,
    }
}

/// A function with a single copy.
fn unique_function(program: &ProgramImage, name: &str) -> Result<sintonia_symbols::ResolvedFunction, BindError> {
    let mut found = program.functions(name)?;
    match found.pop() {
        Some(function) if found.is_empty() => Ok(function),
        _ => Err(BindError::Ambiguous(name.to_owned())),
    }
}

fn function_range(function: &sintonia_symbols::ResolvedFunction) -> HookTarget {
    HookTarget { address: function.address, size: function.size as usize, padding: function.padding as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_and_decoding_round_trip() {
        let types = [
            ValueType::Float { bytes: 4 },
            ValueType::Float { bytes: 8 },
            ValueType::Integer { signed: true, bytes: 1 },
            ValueType::Integer { signed: true, bytes: 4 },
            ValueType::Integer { signed: true, bytes: 8 },
        ];
        for kind in types {
            assert_eq!(decode_value(&kind, encode_value(&kind, -5.0).expect("a number")), -5.0, "{kind}");
        }
        let byte = ValueType::Integer { signed: false, bytes: 1 };
        assert_eq!(decode_value(&byte, 0x1ff), 255.0);
        for (kind, value) in [(&byte, -3.0), (&byte, 256.0), (&byte, f64::NAN), (&ValueType::Float { bytes: 4 }, 1e300)] {
            assert_eq!(encode_value(kind, value), None, "{kind} holds no {value}");
        }
        assert_eq!((encode_value(&byte, 255.4), encode_value(&ValueType::Integer { signed: true, bytes: 2 }, 32768.0)), (Some(255), None));
        assert_eq!(encode_value(&ValueType::Pointer, 1.0), None);
        let (signed, unsigned) = (ValueType::BitField { signed: true, bits: 3 }, ValueType::BitField { signed: false, bits: 3 });
        assert_eq!((decode_value(&signed, 0b111), decode_value(&unsigned, 0b111)), (-1.0, 7.0));
        assert_eq!((encode_value(&signed, 3.0), encode_value(&signed, 4.0)), (Some(3), None));
        assert_eq!((encode_value(&unsigned, 7.0), encode_value(&unsigned, 8.0), encode_value(&unsigned, -1.0)), (Some(7), None, None));
    }
}
