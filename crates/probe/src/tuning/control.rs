//! Control variables of the MPI library, through its tools interface (MPI_T).
//!
//! A variable is looked up by its name and only that one is read: after `MPI_Init`, Open MPI 4 has variables of components that it has
//! unloaded, and reading those ends the process. Whether a variable may be written, and when, is for the library to say; that it accepts
//! a value does not mean that it looks at it again.
//!
//! Open MPI lets next to nothing be written, but takes the first value of every variable from the environment. So before `MPI_Init`, which is
//! where the library gets to know its variables, they are set there; afterwards through the interface, as in other libraries.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::OnceLock;

use sintonia_mpi::Abi;

use super::acts::set_environment;
use super::aside::aside;
use crate::library::{Library, as_function, library};

type Index = unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int;
type Information = unsafe extern "C" fn(
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
type Allocate = unsafe extern "C" fn(c_int, *mut c_void, *mut usize, *mut c_int) -> c_int;
type Free = unsafe extern "C" fn(*mut usize) -> c_int;
type Access = unsafe extern "C" fn(usize, *mut c_void) -> c_int;

/// The functions of the interface.
struct Interface {
    library: &'static Library,
    begin: unsafe extern "C" fn(c_int, *mut c_int) -> c_int,
    index: Index,
    information: Information,
    allocate: Allocate,
    free: Free,
    read: Access,
    write: Access,
}

/// A number as a variable holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Truth,
    Int,
    Unsigned,
    Long,
    UnsignedLong,
    Double,
}

/// The numbers of one library: what types are called, and from where on a scope allows writing.
struct Names {
    types: Vec<(usize, Number)>,
    text: Option<usize>,
    constant: c_int,
    read_only: c_int,
    not_bound: c_int,
}

impl Names {
    fn of(library: &Library) -> Names {
        use Number::{Double, Int, Long, Truth, Unsigned, UnsignedLong};
        match library.abi {
            Abi::Mpich => Names {
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
                    ("ompi_mpi_c_bool", Truth),
                    ("ompi_mpi_int", Int),
                    ("ompi_mpi_unsigned", Unsigned),
                    ("ompi_mpi_long", Long),
                    ("ompi_mpi_unsigned_long", UnsignedLong),
                    ("ompi_mpi_long_long_int", Long),
                    ("ompi_mpi_unsigned_long_long", UnsignedLong),
                    ("ompi_mpi_count", Long),
                    ("ompi_mpi_double", Double),
                ];
                let known = |(name, number): &(&str, Number)| library.variable(name).map(|address| (address, *number));
                Names {
                    types: names.iter().filter_map(known).collect(),
                    text: library.variable("ompi_mpi_char"),
                    constant: 0,
                    read_only: 1,
                    not_bound: 0,
                }
            }
            Abi::Standard => Names {
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

impl Number {
    const ALL: [Number; 6] = [Number::Truth, Number::Int, Number::Unsigned, Number::Long, Number::UnsignedLong, Number::Double];

    /// The value that stands at a place.
    fn read(self, place: u64) -> f64 {
        match self {
            Number::Truth => f64::from(place as u8),
            Number::Int => f64::from(place as i32),
            Number::Unsigned => f64::from(place as u32),
            Number::Long => place as i64 as f64,
            Number::UnsignedLong => place as f64,
            Number::Double => f64::from_bits(place),
        }
    }

    /// What stands at a place that holds a value; `None` if it cannot.
    fn write(self, value: f64) -> Option<u64> {
        let whole = |least: f64, most: f64| (value.fract() == 0.0 && (least..=most).contains(&value)).then_some(value);
        match self {
            Number::Truth => whole(0.0, 1.0).map(|value| value as u64),
            Number::Int => whole(i32::MIN.into(), i32::MAX.into()).map(|value| u64::from(value as i32 as u32)),
            Number::Unsigned => whole(0.0, u32::MAX.into()).map(|value| u64::from(value as u32)),
            Number::Long => whole(i64::MIN as f64, i64::MAX as f64).map(|value| value as i64 as u64),
            Number::UnsignedLong => whole(0.0, u64::MAX as f64).map(|value| value as u64),
            Number::Double => value.is_finite().then(|| value.to_bits()),
        }
    }
}

/// Sets a variable; the value it held before, or why it cannot be set.
pub fn set(name: &str, value: f64) -> Result<f64, String> {
    let library = library().ok_or("the program has not called MPI yet")?;
    if library.abi == Abi::OpenMpi && !library.initialized() { set_before(library, name, value) } else { set_now(library, name, value) }
}

fn set_now(library: &'static Library, name: &str, value: f64) -> Result<f64, String> {
    /// The interface stays started: some libraries forget what was set when it ends before MPI begins.
    static BEGUN: OnceLock<bool> = OnceLock::new();
    let interface = Interface::of(library).ok_or(NO_INTERFACE)?;
    if !BEGUN.get_or_init(|| interface.begin()) {
        return Err(NO_INTERFACE.into());
    }
    let About { index, number, is_writable } = interface.about(name)?;
    if !is_writable {
        return Err(format!("the MPI library only lets {name} be read"));
    }
    let wanted = number.write(value).ok_or_else(|| number.cannot_be(name, value))?;
    let handle = Handle::of(&interface, index, name)?;
    let before = number.read(handle.read()?);
    handle.write(wanted)?;
    Ok(before)
}

const NO_INTERFACE: &str = "the MPI library has no tools interface";

/// Open MPI, before it begins: the environment is set, and it is seen whether the library takes the value from there.
fn set_before(library: &'static Library, name: &str, value: f64) -> Result<f64, String> {
    let (before, number) = look(library, name)?;
    number.write(value).ok_or_else(|| number.cannot_be(name, value))?;
    let variable = format!("OMPI_MCA_{name}");
    let told = std::env::var_os(&variable);
    set_environment(&variable, &value.to_string())?;
    if look(library, name)?.0 == value {
        return Ok(before);
    }
    // SAFETY: the program waits for what is to be done before MPI begins.
    match told {
        Some(told) => unsafe { std::env::set_var(&variable, told) },
        None => unsafe { std::env::remove_var(&variable) },
    }
    Err(format!("the MPI library has read {name} already, or does not take {value}"))
}

/// What a variable would hold if MPI began now. That is asked in a copy of the process: the library reads its variables only once, and
/// Open MPI 5 does not survive to begin after its interface has ended.
fn look(library: &'static Library, name: &str) -> Result<(f64, Number), String> {
    let asked = || {
        let interface = Interface::of(library).filter(Interface::begin).ok_or(NO_INTERFACE)?;
        let About { index, number, .. } = interface.about(name)?;
        let handle = Handle::of(&interface, index, name)?;
        Ok((number.read(handle.read()?), number))
    };
    let answer = aside(|| match asked() {
        Ok((value, number)) => [&[number as u8][..], &value.to_ne_bytes()].concat(),
        Err(problem) => [&[PROBLEM][..], String::as_bytes(&problem)].concat(),
    });
    let broken = || format!("the MPI library does not tell of {name} before it begins");
    match answer.map_err(|problem| format!("{}: {problem}", broken()))?.split_first() {
        Some((&PROBLEM, why)) => Err(String::from_utf8_lossy(why).into_owned()),
        Some((number, value)) => {
            let number = Number::ALL.into_iter().find(|known| *known as u8 == *number).ok_or_else(broken)?;
            Ok((f64::from_ne_bytes(value.try_into().map_err(|_| broken())?), number))
        }
        None => Err(broken()),
    }
}

/// In the place of a kind of number: why there is none.
const PROBLEM: u8 = u8::MAX;

impl Number {
    fn cannot_be(self, name: &str, value: f64) -> String {
        format!("{name} is {}, and cannot be {value}", self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Number::Truth => "0 or 1",
            Number::Int | Number::Long => "a whole number",
            Number::Unsigned | Number::UnsignedLong => "a whole number, not negative",
            Number::Double => "a number",
        }
    }
}

/// What the library tells of a variable.
struct About {
    index: c_int,
    number: Number,
    is_writable: bool,
}

impl Interface {
    fn of(library: &'static Library) -> Option<Interface> {
        let find = |name: &str| library.function(name);
        // SAFETY: functions of these names have these types in every ABI; handles and datatypes are passed as machine words or addresses of
        // words.
        unsafe {
            Some(Interface {
                library,
                begin: as_function(find("T_init_thread")?),
                index: as_function(find("T_cvar_get_index")?),
                information: as_function(find("T_cvar_get_info")?),
                allocate: as_function(find("T_cvar_handle_alloc")?),
                free: as_function(find("T_cvar_handle_free")?),
                read: as_function(find("T_cvar_read")?),
                write: as_function(find("T_cvar_write")?),
            })
        }
    }

    /// Starts the interface; `false` if the library does not.
    fn begin(&self) -> bool {
        // SAFETY: may be called at any time, with a place for a number.
        unsafe { (self.begin)(self.library.layout.thread_multiple, &mut 0) == 0 }
    }

    fn find(&self, name: &str) -> Result<c_int, String> {
        let unknown = || format!("the MPI library has no control variable {name}");
        let text = CString::new(name).map_err(|_| unknown())?;
        let mut index = 0;
        // SAFETY: a name, and a place for a number.
        if unsafe { (self.index)(text.as_ptr(), &mut index) } == 0 { Ok(index) } else { Err(unknown()) }
    }

    /// What the library tells of a variable, if it is a number for the whole process, and no constant.
    fn about(&self, name: &str) -> Result<About, String> {
        let index = self.find(name)?;
        const ROOM: usize = 4096;
        let (mut room, mut more_room) = ([0 as c_char; ROOM], [0 as c_char; ROOM]);
        let (mut length, mut more_length) = (ROOM as c_int, ROOM as c_int);
        let (mut verbosity, mut bound, mut scope, mut datatype, mut kind) = (0, 0, 0, 0, 0);
        // SAFETY: a place for each answer, texts with their length.
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
            return Err(format!("the MPI library does not tell of {name}"));
        }
        let names = Names::of(self.library);
        let datatype = self.library.truncate(datatype);
        match names.types.iter().find(|(known, _)| *known == datatype) {
            _ if scope == names.constant => Err(format!("{name} is a constant of the MPI library")),
            _ if bound != names.not_bound => Err(format!("{name} is a variable of each communicator or other object, not of the process")),
            Some((_, number)) => Ok(About { index, number: *number, is_writable: scope != names.read_only }),
            None if names.text == Some(datatype) => Err(format!("{name} is a text, not a number")),
            None => Err(format!("{name} is of a type that is not known here")),
        }
    }
}

/// A variable that can be read and written.
struct Handle<'interface> {
    interface: &'interface Interface,
    handle: usize,
    name: &'interface str,
}

impl<'interface> Handle<'interface> {
    fn of(interface: &'interface Interface, index: c_int, name: &'interface str) -> Result<Handle<'interface>, String> {
        let (mut handle, mut count) = (0, 0);
        // SAFETY: the variable belongs to no object, and there is a place for handle and number.
        if unsafe { (interface.allocate)(index, std::ptr::null_mut(), &mut handle, &mut count) } != 0 {
            return Err(format!("the MPI library does not give access to {name}"));
        }
        let handle = Handle { interface, handle, name };
        if count == 1 { Ok(handle) } else { Err(format!("{name} is a list of {count} numbers")) }
    }

    fn read(&self) -> Result<u64, String> {
        let mut place = 0u64;
        // SAFETY: one number of at most eight bytes is read.
        match unsafe { (self.interface.read)(self.handle, (&raw mut place).cast()) } {
            0 => Ok(place),
            _ => Err(format!("the MPI library does not let {} be read", self.name)),
        }
    }

    fn write(&self, mut place: u64) -> Result<(), String> {
        // SAFETY: one number of at most eight bytes is written.
        match unsafe { (self.interface.write)(self.handle, (&raw mut place).cast()) } {
            0 => Ok(()),
            _ if self.interface.library.initialized() => {
                Err(format!("the MPI library does not let {} be set now: MPI has begun, and it may allow it only before", self.name))
            }
            _ => Err(format!("the MPI library does not let {} be set", self.name)),
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: a handle that the library gave, and nobody uses any more.
        unsafe { (self.interface.free)(&mut self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_held_as_their_type_holds_them() {
        for (number, value) in
            [(Number::Truth, 1.0), (Number::Int, -7.0), (Number::Unsigned, 4e9), (Number::Long, -5e12), (Number::UnsignedLong, 9e15)]
        {
            assert_eq!(number.write(value).map(|place| number.read(place)), Some(value), "{number:?}");
        }
        assert_eq!(Number::Double.write(0.5).map(|place| Number::Double.read(place)), Some(0.5));
        // What lies behind a short number in its place does not count.
        assert_eq!(Number::Int.read(0xdead_0000_0003), 3.0);
    }

    #[test]
    fn a_number_that_the_type_does_not_hold_is_not_written() {
        assert_eq!((Number::Int.write(0.5), Number::Unsigned.write(-1.0), Number::Int.write(3e9)), (None, None, None));
        assert_eq!((Number::Truth.write(2.0), Number::Truth.write(0.0)), (None, Some(0)));
        assert_eq!((Number::Double.write(f64::NAN), Number::Long.write(f64::INFINITY)), (None, None));
    }
}
