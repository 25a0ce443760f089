//! Control variables of the MPI library, through its tools interface (MPI_T).
//!
//! A variable is looked up by name and only that one is read: after `MPI_Init`, Open MPI 4 still lists variables of unloaded components,
//! and reading those crashes the process. Whether and when a variable may be written is up to the library; that it accepts a value does not
//! mean that it uses it.
//!
//! Open MPI allows hardly any variable to be written, but takes initial values from the environment. So before `MPI_Init`, when the library
//! registers its variables, they are set in the environment; afterwards through the interface, as in other libraries.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use sintonia_link::probe_protocol::{ControlInfo, ControlSettable};
use sintonia_mpi::Abi;

use super::environment::set_environment;
use super::process_copy::run_in_copy;
use crate::library::{ProgramMpi, as_function, library};

type IndexFn = unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int;
type InfoFn = unsafe extern "C" fn(
    c_int,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut usize,
    *mut usize,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;
type AllocFn = unsafe extern "C" fn(c_int, *mut c_void, *mut usize, *mut c_int) -> c_int;
type FreeFn = unsafe extern "C" fn(*mut usize) -> c_int;
type AccessFn = unsafe extern "C" fn(usize, *mut c_void) -> c_int;

/// The variables of the library, as they are before `MPI_Init`. Asked for in a copy of the process, as in [`read_in_copy`].
pub(super) fn list() -> Result<Vec<ControlInfo>, String> {
    let library = library().ok_or("the program has not called MPI yet")?;
    if library.initialized() {
        return Err("the control variables of the MPI library can be listed only before MPI_Init".into());
    }
    let asked = || {
        let interface = ToolsInterface::load(library).filter(ToolsInterface::init)?;
        let variables: Vec<ControlInfo> = (0..interface.variables()).filter_map(|index| interface.describe(index)).collect();
        postcard::to_allocvec(&variables).ok()
    };
    let answer = run_in_copy(|| asked().unwrap_or_default())
        .map_err(|problem| format!("the MPI library does not list its control variables: {problem}"))?;
    if answer.is_empty() {
        return Err(NO_INTERFACE.into());
    }
    postcard::from_bytes(&answer).map_err(|_| "the MPI library failed while it listed its control variables".into())
}

/// The functions of the interface.
struct ToolsInterface {
    library: &'static ProgramMpi,
    begin: unsafe extern "C" fn(c_int, *mut c_int) -> c_int,
    count: unsafe extern "C" fn(*mut c_int) -> c_int,
    index: IndexFn,
    information: InfoFn,
    allocate: AllocFn,
    free: FreeFn,
    read: AccessFn,
    write: AccessFn,
}

/// Numeric type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberType {
    Boolean,
    Int,
    Unsigned,
    Long,
    UnsignedLong,
    Double,
}

/// Constants of one library: datatypes, scopes and binding.
struct MpiTypeCodes {
    types: Vec<(usize, NumberType)>,
    text: Option<usize>,
    constant: c_int,
    read_only: c_int,
    not_bound: c_int,
}

impl MpiTypeCodes {
    fn for_library(library: &ProgramMpi) -> MpiTypeCodes {
        use NumberType::{Boolean, Double, Int, Long, Unsigned, UnsignedLong};
        match library.abi {
            Abi::Mpich => MpiTypeCodes {
                types: vec![
                    (0x4c00_0405, Int),
                    (0x4c00_0406, Unsigned),
                    (0x4c00_0807, Long),
                    (0x4c00_0808, UnsignedLong),
                    (0x4c00_0809, Long),
                    (0x4c00_0819, UnsignedLong),
                    (0x4c00_0845, Long),
                    (0x4c00_080b, Double),
                ],
                text: Some(0x4c00_0101),
                constant: 60438,
                read_only: 60439,
                not_bound: 9700,
            },
            Abi::OpenMpi => {
                let names = [
                    ("ompi_mpi_c_bool", Boolean),
                    ("ompi_mpi_int", Int),
                    ("ompi_mpi_unsigned", Unsigned),
                    ("ompi_mpi_long", Long),
                    ("ompi_mpi_unsigned_long", UnsignedLong),
                    ("ompi_mpi_long_long_int", Long),
                    ("ompi_mpi_unsigned_long_long", UnsignedLong),
                    ("ompi_mpi_count", Long),
                    ("ompi_mpi_double", Double),
                ];
                let known = |(name, number): &(&str, NumberType)| library.variable(name).map(|address| (address, *number));
                MpiTypeCodes {
                    types: names.iter().filter_map(known).collect(),
                    text: library.variable("ompi_mpi_char"),
                    constant: 0,
                    read_only: 1,
                    not_bound: 0,
                }
            }
            Abi::Standard => MpiTypeCodes {
                types: vec![
                    (521, Int),
                    (525, Unsigned),
                    (522, Long),
                    (526, UnsignedLong),
                    (523, Long),
                    (527, UnsignedLong),
                    (514, Long),
                    (532, Double),
                ],
                text: Some(579),
                constant: 1,
                read_only: 2,
                not_bound: 1,
            },
        }
    }
}

impl NumberType {
    const ALL: [NumberType; 6] =
        [NumberType::Boolean, NumberType::Int, NumberType::Unsigned, NumberType::Long, NumberType::UnsignedLong, NumberType::Double];

    /// Decodes a value from its memory representation.
    fn decode(self, place: u64) -> f64 {
        match self {
            NumberType::Boolean => f64::from(place as u8),
            NumberType::Int => f64::from(place as i32),
            NumberType::Unsigned => f64::from(place as u32),
            NumberType::Long => place as i64 as f64,
            NumberType::UnsignedLong => place as f64,
            NumberType::Double => f64::from_bits(place),
        }
    }

    /// Encodes a value; `None` if it is out of range.
    fn encode(self, value: f64) -> Option<u64> {
        let whole = |least: f64, most: f64| (value.fract() == 0.0 && (least..=most).contains(&value)).then_some(value);
        match self {
            NumberType::Boolean => whole(0.0, 1.0).map(|value| value as u64),
            NumberType::Int => whole(i32::MIN.into(), i32::MAX.into()).map(|value| u64::from(value as i32 as u32)),
            NumberType::Unsigned => whole(0.0, u32::MAX.into()).map(|value| u64::from(value as u32)),
            NumberType::Long => whole(i64::MIN as f64, i64::MAX as f64).map(|value| value as i64 as u64),
            NumberType::UnsignedLong => whole(0.0, u64::MAX as f64).map(|value| value as u64),
            NumberType::Double => value.is_finite().then(|| value.to_bits()),
        }
    }
}

/// Sets a variable; returns its old value, or why it cannot be set.
pub(super) fn set(name: &str, value: f64) -> Result<f64, String> {
    let library = library().ok_or("the program has not called MPI yet")?;
    if library.abi == Abi::OpenMpi && !library.initialized() {
        set_before_init(library, name, value)
    } else {
        set_after_init(library, name, value)
    }
}

fn set_after_init(library: &'static ProgramMpi, name: &str, value: f64) -> Result<f64, String> {
    /// The interface stays initialised: some libraries lose changes if it is finalised before MPI is initialised.
    static BEGUN: OnceLock<bool> = OnceLock::new();
    let interface = ToolsInterface::load(library).ok_or(NO_INTERFACE)?;
    if !BEGUN.get_or_init(|| interface.init()) {
        return Err(NO_INTERFACE.into());
    }
    let ControlVariable { index, number, is_writable } = interface.lookup(name)?;
    if !is_writable {
        return Err(format!("{name} is read-only in the MPI library"));
    }
    let wanted = number.encode(value).ok_or_else(|| number.range_error(name, value))?;
    let handle = VariableHandle::allocate(&interface, index, name)?;
    let before = number.decode(handle.read()?);
    handle.write(wanted)?;
    // A library may accept a value and keep another one.
    match number.decode(handle.read()?) {
        kept if kept == value => Ok(before),
        kept => {
            if let Some(previous) = number.encode(before) {
                handle.write(previous)?;
            }
            Err(format!("the MPI library turns {name} = {value} into {kept}"))
        }
    }
}

const NO_INTERFACE: &str = "the MPI library has no tools interface";

/// Open MPI before `MPI_Init`: sets the environment, and checks that the library takes the value from it.
fn set_before_init(library: &'static ProgramMpi, name: &str, value: f64) -> Result<f64, String> {
    let (before, number) = read_in_copy(library, name)?;
    number.encode(value).ok_or_else(|| number.range_error(name, value))?;
    let variable = format!("OMPI_MCA_{name}");
    let previous = std::env::var_os(&variable);
    set_environment(&variable, &value.to_string())?;
    if read_in_copy(library, name)?.0 == value {
        return Ok(before);
    }
    match previous {
        // SAFETY: the program waits for actions before `MPI_Init`.
        Some(previous) => unsafe { std::env::set_var(&variable, previous) },
        // SAFETY: as above.
        None => unsafe { std::env::remove_var(&variable) },
    }
    Err(format!("the MPI library has already read {name}, or rejects {value}"))
}

/// The value that a variable would have if MPI were initialised now. Queried in a copy of the process: the library reads its variables only
/// once, and Open MPI 5 crashes if MPI is initialised after the interface was finalised.
fn read_in_copy(library: &'static ProgramMpi, name: &str) -> Result<(f64, NumberType), String> {
    let asked = || {
        let interface = ToolsInterface::load(library).filter(ToolsInterface::init).ok_or(NO_INTERFACE)?;
        let ControlVariable { index, number, .. } = interface.lookup(name)?;
        let handle = VariableHandle::allocate(&interface, index, name)?;
        Ok((number.decode(handle.read()?), number))
    };
    let answer = run_in_copy(|| match asked() {
        Ok((value, number)) => [&[number as u8][..], &value.to_ne_bytes()].concat(),
        Err(problem) => [&[PROBLEM][..], String::as_bytes(&problem)].concat(),
    });
    let broken = || format!("the MPI library does not provide {name} before MPI_Init");
    match answer.map_err(|problem| format!("{}: {problem}", broken()))?.split_first() {
        Some((&PROBLEM, why)) => Err(String::from_utf8_lossy(why).into_owned()),
        Some((number, value)) => {
            let number = NumberType::ALL.into_iter().find(|known| *known as u8 == *number).ok_or_else(broken)?;
            Ok((f64::from_ne_bytes(value.try_into().map_err(|_| broken())?), number))
        }
        None => Err(broken()),
    }
}

/// Marks an error message in place of a number type.
const PROBLEM: u8 = u8::MAX;

impl NumberType {
    fn range_error(self, name: &str, value: f64) -> String {
        format!("{name} is {}, and cannot be {value}", self.name())
    }

    fn c_name(self) -> &'static str {
        match self {
            NumberType::Boolean => "bool",
            NumberType::Int => "int",
            NumberType::Unsigned => "unsigned",
            NumberType::Long => "long",
            NumberType::UnsignedLong => "unsigned long",
            NumberType::Double => "double",
        }
    }

    fn name(self) -> &'static str {
        match self {
            NumberType::Boolean => "0 or 1",
            NumberType::Int | NumberType::Long => "an integer",
            NumberType::Unsigned | NumberType::UnsignedLong => "a non-negative integer",
            NumberType::Double => "a number",
        }
    }
}

/// A control variable.
struct ControlVariable {
    index: c_int,
    number: NumberType,
    is_writable: bool,
}

impl ToolsInterface {
    fn load(library: &'static ProgramMpi) -> Option<ToolsInterface> {
        let find = |name: &str| library.function(name);
        // SAFETY: functions of these names have these types in every ABI; handles and datatypes are passed as machine words or pointers to
        // words.
        unsafe {
            Some(ToolsInterface {
                library,
                begin: as_function(find("T_init_thread")?),
                count: as_function(find("T_cvar_get_num")?),
                index: as_function(find("T_cvar_get_index")?),
                information: as_function(find("T_cvar_get_info")?),
                allocate: as_function(find("T_cvar_handle_alloc")?),
                free: as_function(find("T_cvar_handle_free")?),
                read: as_function(find("T_cvar_read")?),
                write: as_function(find("T_cvar_write")?),
            })
        }
    }

    /// Initialises the interface; `false` on failure.
    fn init(&self) -> bool {
        // SAFETY: may be called at any time, with a pointer to an int.
        unsafe { (self.begin)(self.library.layout.thread_multiple, &mut 0) == 0 }
    }

    fn find(&self, name: &str) -> Result<c_int, String> {
        let unknown = || format!("the MPI library has no control variable {name}");
        let text = CString::new(name).map_err(|_| unknown())?;
        let mut index = 0;
        // SAFETY: a string, and a pointer to an int.
        if unsafe { (self.index)(text.as_ptr(), &mut index) } == 0 { Ok(index) } else { Err(unknown()) }
    }

    /// Number of variables.
    fn variables(&self) -> c_int {
        let mut count = 0;
        // SAFETY: a pointer to an int.
        if unsafe { (self.count)(&mut count) } == 0 { count } else { 0 }
    }

    /// What the library says about a variable.
    fn information(&self, index: c_int) -> Option<VariableInformation> {
        const ROOM: usize = 4096;
        let (mut room, mut more_room) = ([0 as c_char; ROOM], [0 as c_char; ROOM]);
        let (mut length, mut more_length) = (ROOM as c_int, ROOM as c_int);
        let (mut verbosity, mut bound, mut scope, mut datatype, mut kind) = (0, 0, 0, 0, 0);
        // SAFETY: a valid pointer for each result, buffers with their lengths.
        let result = unsafe {
            (self.information)(
                index,
                room.as_mut_ptr(),
                &mut length,
                &mut verbosity,
                &mut datatype,
                &mut kind,
                more_room.as_mut_ptr(),
                &mut more_length,
                &mut bound,
                &mut scope,
            )
        };
        if result != 0 {
            return None;
        }
        room[ROOM - 1] = 0;
        // SAFETY: ends with a zero at the latest in its last byte.
        let name = unsafe { CStr::from_ptr(room.as_ptr()) }.to_string_lossy().into_owned();
        Some(VariableInformation { name, datatype: self.library.truncate(datatype), bound, scope })
    }

    /// Looks up a variable, which must be a number, not bound to an object, and not constant.
    fn lookup(&self, name: &str) -> Result<ControlVariable, String> {
        let index = self.find(name)?;
        let Some(VariableInformation { datatype, bound, scope, .. }) = self.information(index) else {
            return Err(format!("the MPI library gives no information on {name}"));
        };
        let names = MpiTypeCodes::for_library(self.library);
        match names.types.iter().find(|(known, _)| *known == datatype) {
            _ if scope == names.constant => Err(format!("{name} is a constant of the MPI library")),
            _ if bound != names.not_bound => Err(format!("{name} is bound to an MPI object, not to the process")),
            Some((_, number)) => Ok(ControlVariable { index, number: *number, is_writable: scope != names.read_only }),
            None if names.text == Some(datatype) => Err(format!("{name} is a string, not a number")),
            None => Err(format!("{name} has an unknown type")),
        }
    }

    /// Name, type, value and scope of a variable, for a list.
    fn describe(&self, index: c_int) -> Option<ControlInfo> {
        let VariableInformation { name, datatype, bound, scope } = self.information(index)?;
        let names = MpiTypeCodes::for_library(self.library);
        let number = names.types.iter().find(|(known, _)| *known == datatype).map(|(_, number)| *number);
        let is_free = bound == names.not_bound;
        let value = match number {
            Some(number) if is_free => {
                let handle = VariableHandle::allocate(self, index, &name).ok();
                handle.and_then(|handle| handle.read().ok()).map(|place| number.decode(place).to_string())
            }
            _ => None,
        };
        let settable = match number {
            None => ControlSettable::Never,
            Some(_) if scope == names.constant || !is_free => ControlSettable::Never,
            // Its values come from the environment.
            Some(_) if self.library.abi == Abi::OpenMpi => ControlSettable::BeforeInit,
            Some(_) if scope == names.read_only => ControlSettable::Never,
            Some(_) => ControlSettable::AnyTime,
        };
        let text = if names.text == Some(datatype) { "string" } else { "unknown" };
        Some(ControlInfo { name, kind: number.map_or(text, NumberType::c_name).into(), value, settable })
    }
}

/// What the library says about a variable.
struct VariableInformation {
    name: String,
    datatype: usize,
    bound: c_int,
    scope: c_int,
}

/// An open handle of a variable.
struct VariableHandle<'interface> {
    interface: &'interface ToolsInterface,
    handle: usize,
    name: &'interface str,
}

impl<'interface> VariableHandle<'interface> {
    fn allocate(interface: &'interface ToolsInterface, index: c_int, name: &'interface str) -> Result<VariableHandle<'interface>, String> {
        let (mut handle, mut count) = (0, 0);
        // SAFETY: the variable is not bound to an object, and the pointers are valid.
        if unsafe { (interface.allocate)(index, std::ptr::null_mut(), &mut handle, &mut count) } != 0 {
            return Err(format!("the MPI library does not give access to {name}"));
        }
        let handle = VariableHandle { interface, handle, name };
        if count == 1 { Ok(handle) } else { Err(format!("{name} is an array of {count} numbers")) }
    }

    fn read(&self) -> Result<u64, String> {
        let mut place = 0u64;
        // SAFETY: reads one number of at most eight bytes.
        match unsafe { (self.interface.read)(self.handle, (&raw mut place).cast()) } {
            0 => Ok(place),
            _ => Err(format!("the MPI library does not allow reading {}", self.name)),
        }
    }

    fn write(&self, mut place: u64) -> Result<(), String> {
        // SAFETY: writes one number of at most eight bytes.
        match unsafe { (self.interface.write)(self.handle, (&raw mut place).cast()) } {
            0 => Ok(()),
            _ if self.interface.library.initialized() => {
                Err(format!("the MPI library does not allow setting {} now; it may allow it only before MPI_Init", self.name))
            }
            _ => Err(format!("the MPI library does not allow setting {}", self.name)),
        }
    }
}

impl Drop for VariableHandle<'_> {
    fn drop(&mut self) {
        // SAFETY: a handle from the library, not used any more.
        unsafe { (self.interface.free)(&mut self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_held_as_their_type_holds_them() {
        for (number, value) in [
            (NumberType::Boolean, 1.0),
            (NumberType::Int, -7.0),
            (NumberType::Unsigned, 4e9),
            (NumberType::Long, -5e12),
            (NumberType::UnsignedLong, 9e15),
        ] {
            assert_eq!(number.encode(value).map(|place| number.decode(place)), Some(value), "{number:?}");
        }
        assert_eq!(NumberType::Double.encode(0.5).map(|place| NumberType::Double.decode(place)), Some(0.5));
        // Bytes after a short number are ignored.
        assert_eq!(NumberType::Int.decode(0xdead_0000_0003), 3.0);
    }

    #[test]
    fn a_number_that_the_type_does_not_hold_is_not_written() {
        assert_eq!((NumberType::Int.encode(0.5), NumberType::Unsigned.encode(-1.0), NumberType::Int.encode(3e9)), (None, None, None));
        assert_eq!((NumberType::Boolean.encode(2.0), NumberType::Boolean.encode(0.0)), (None, Some(0)));
        assert_eq!((NumberType::Double.encode(f64::NAN), NumberType::Long.encode(f64::INFINITY)), (None, None));
    }
}
