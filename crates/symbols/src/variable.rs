//! Variables that threads share: by name, and what is inside them.

use gimli::{AttributeValue, Operation};
use sintonia_text::near::nearest;

use crate::debug::{Debug, Reference};
use crate::module::{Module, Program};
use crate::path::{Path, Step};
use crate::problem::Problem;
use crate::types::{self, Type};

/// Where a value is, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The address of the value; or of the first pointer on the way to it.
    pub address: u64,
    /// What is added to each pointer on the way, in turn.
    pub behind: Vec<u64>,
    /// The type of the value.
    pub kind: Type,
}

impl Program {
    /// A variable as it is written in the source: `grid.nx`, `work->chunk`, `file.c:table[3]`, `module::limit`.
    pub fn variable(&self, text: &str) -> Result<Variable, Problem> {
        let path = Path::parse(text)?;
        for module in &self.modules {
            if let Some(debug) = module.debug()
                && let Some(found) = in_debug(debug, &path)?
            {
                return walk(module, debug, found, text, &path.steps);
            }
        }
        match self.modules.iter().find(|module| module.symbols().named(&path.name).is_some_and(|symbol| !symbol.is_function)) {
            Some(module) => Err(Problem::NoDebug { path: module.path.clone(), name: path.name }),
            None => Err(self.unknown_variable(path.name)),
        }
    }

    /// A variable whose type the user declares: only its address is needed.
    pub fn variable_of_type(&self, name: &str, kind: Type) -> Result<Variable, Problem> {
        let found = self.modules.iter().find_map(|module| {
            let symbol = module.symbols().named(name).filter(|symbol| !symbol.is_function)?;
            Some(Variable { address: symbol.address + module.bias, behind: Vec::new(), kind: kind.clone() })
        });
        found.ok_or_else(|| self.unknown_variable(name.to_owned()))
    }

    fn unknown_variable(&self, name: String) -> Problem {
        let own = self.modules.first();
        let debug: Vec<&str> =
            own.and_then(Module::debug).map(|debug| debug.index().variables.keys().map(String::as_str).collect()).unwrap_or_default();
        let symbols =
            own.iter().flat_map(|module| &module.symbols().list).filter(|symbol| !symbol.is_function).map(|symbol| symbol.name.as_str());
        let near = nearest(&name, debug.into_iter().chain(symbols)).map(str::to_owned);
        Problem::Unknown { what: "variable", name, near }
    }
}

/// The one variable with this name; `None` if there is none.
fn in_debug(debug: &Debug, path: &Path) -> Result<Option<Reference>, Problem> {
    let small = path.name.to_lowercase();
    let index = &debug.index().variables;
    let Some(all) = index.get(&path.name).or_else(|| index.get(&small)) else { return Ok(None) };
    let in_file = |found: &&Reference| path.file.as_ref().is_none_or(|file| debug.file(found.unit) == *file);
    let all: Vec<Reference> = all.iter().filter(in_file).copied().collect();
    if all.is_empty() {
        return Ok(None);
    }
    let mut with_place: Vec<(Reference, Location)> = all.iter().filter_map(|found| Some((*found, location(debug, *found)?))).collect();
    // A shared block of Fortran is told of in every function that uses it.
    with_place.dedup_by(|one, other| one.1 == other.1);
    match with_place[..] {
        [] => Err(Problem::OptimisedAway(path.name.clone())),
        [(found, _)] => Ok(Some(found)),
        _ => {
            let files = with_place.iter().map(|(found, _)| debug.file(found.unit)).collect();
            Err(Problem::Ambiguous { name: path.name.clone(), files })
        }
    }
}

/// Where a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Address(u64),
    PerThread,
}

fn location(debug: &Debug, reference: Reference) -> Option<Location> {
    let entry = debug.entry(reference)?;
    let unit = &debug.units[reference.unit];
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location).ok()?? else { return None };
    let mut operations = expression.operations(unit.encoding());
    let mut address = None;
    while let Ok(Some(operation)) = operations.next() {
        match operation {
            Operation::Address { address: at } => address = Some(at),
            Operation::AddressIndex { index } => address = debug.dwarf.address(unit, index).ok(),
            Operation::PlusConstant { value } => address = address.map(|address| address.wrapping_add(value)),
            Operation::TLS => return Some(Location::PerThread),
            _ => {}
        }
    }
    address.map(Location::Address)
}

/// From the variable to what is meant.
fn walk(module: &Module, debug: &Debug, found: Reference, text: &str, steps: &[Step]) -> Result<Variable, Problem> {
    let address = match location(debug, found) {
        Some(Location::Address(address)) => address + module.bias,
        Some(Location::PerThread) => return Err(Problem::ThreadLocal(text.to_owned())),
        None => return Err(Problem::OptimisedAway(text.to_owned())),
    };
    let wrong = |part: String, what: String| Problem::WrongPath { path: text.to_owned(), part, what };
    let Some(kind) = types::of_entry(debug, found) else { return Err(wrong(text.to_owned(), "its type is not told".into())) };
    let mut walker = Walker { debug, address, behind: Vec::new(), kind };
    for step in steps {
        walker.step(step).map_err(|what| wrong(part(step), what))?;
    }
    Ok(Variable { address: walker.address, behind: walker.behind, kind: types::describe(debug, walker.kind) })
}

fn part(step: &Step) -> String {
    match step {
        Step::Field(name) => name.clone(),
        Step::Element(number) => format!("[{number}]"),
        Step::Target => "*".into(),
    }
}

struct Walker<'debug> {
    debug: &'debug Debug,
    address: u64,
    behind: Vec<u64>,
    kind: Reference,
}

impl Walker<'_> {
    fn bare(&self) -> Result<Reference, String> {
        types::bare(self.debug, self.kind).ok_or_else(|| "its type is not told".to_owned())
    }

    fn add(&mut self, distance: u64) {
        match self.behind.last_mut() {
            Some(last) => *last = last.wrapping_add(distance),
            None => self.address = self.address.wrapping_add(distance),
        }
    }

    /// Goes to where a pointer points.
    fn follow(&mut self) -> Result<(), String> {
        let kind = self.bare()?;
        let entry = self.debug.entry(kind).ok_or("its type is not told")?;
        self.kind = self.debug.reference(kind.unit, &entry, gimli::DW_AT_type).ok_or("what it points to is not told")?;
        self.behind.push(0);
        Ok(())
    }

    fn is_pointer(&self) -> bool {
        types::describe(self.debug, self.kind) == Type::Pointer
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Target if self.is_pointer() => self.follow(),
            Step::Target => Err(format!("this is {}, and no pointer", types::describe(self.debug, self.kind))),
            Step::Element(number) => self.element(*number),
            Step::Field(name) => self.field(name),
        }
    }

    fn field(&mut self, name: &str) -> Result<(), String> {
        if self.is_pointer() {
            self.follow()?;
        }
        let kind = self.bare()?;
        match types::field(self.debug, kind, name) {
            Some((kind, distance)) => {
                self.kind = kind;
                self.add(distance);
                Ok(())
            }
            None => Err(self.no_field(kind, name)),
        }
    }

    fn no_field(&self, kind: Reference, name: &str) -> String {
        let Type::Structure { name: structure, .. } = types::describe(self.debug, kind) else {
            return format!("this is {}, which has no fields", types::describe(self.debug, kind));
        };
        let names = types::field_names(self.debug, kind);
        let near = nearest(name, names.iter().map(String::as_str)).map(|near| format!("; did you mean `{near}`?"));
        format!("the structure `{structure}` has no field `{name}`{}", near.unwrap_or_else(|| format!("; it has {}", names.join(", "))))
    }

    fn element(&mut self, number: u64) -> Result<(), String> {
        if self.is_pointer() {
            self.follow()?;
            let bytes = types::describe(self.debug, self.kind).bytes();
            self.add(number.wrapping_mul(bytes));
            return Ok(());
        }
        let kind = self.bare()?;
        let is_array = matches!(types::describe(self.debug, kind), Type::Array { .. });
        let Some((element, bytes, counts)) = types::array(self.debug, kind).filter(|_| is_array) else {
            return Err(format!("this is {}, which has no elements", types::describe(self.debug, kind)));
        };
        match counts[..] {
            [Some(count)] if number >= count => return Err(format!("the array has only {count} elements, counted from 0")),
            [_] => {}
            _ => return Err("only arrays with one direction have numbered elements".into()),
        }
        self.kind = element;
        self.add(number * bytes);
        Ok(())
    }
}
