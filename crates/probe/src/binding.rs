//! How calls of MPI come to the probe: the addresses that the dynamic linker wrote into each loaded file of code are replaced by stubs.
//!
//! The probe exports no MPI function. It looks at what every file of code refers to, and where that is an MPI function *that exists in the
//! loaded MPI library* it leads the reference through a stub. So nothing seems to exist that does not (mpi4py asks which functions its MPI
//! has), a user's own function called `mpi_send` is left alone, libraries loaded later or privately (`dlopen`) are seen, addresses asked
//! for with `dlsym` are seen, and each call goes on to exactly the function that the linker had chosen for that caller.

mod elf;

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use sintonia_mpi::{Family, Role, Symbol};

use self::elf::{Object, Reference};
use crate::library;
use crate::process;
use crate::stub;
use crate::tuning;

/// The address of the system's `dlsym`, for the stub to jump to.
pub static REAL_DLSYM: AtomicUsize = AtomicUsize::new(0);
/// The address of the system's `dlopen`.
pub static REAL_DLOPEN: AtomicUsize = AtomicUsize::new(0);

/// How many files of code had been loaded when the binder last looked.
static LOADED: AtomicU64 = AtomicU64::new(0);
static BINDER: Mutex<Option<Binder>> = Mutex::new(None);

/// Looks at everything that is loaded now, and arranges to be told of what is loaded later.
pub fn start() {
    REAL_DLSYM.store(libc::dlsym as *const () as usize, Ordering::Relaxed);
    REAL_DLOPEN.store(libc::dlopen as *const () as usize, Ordering::Relaxed);
    look();
}

/// Looks at what has been loaded since the last time.
pub fn look() {
    let loaded = elf::loaded_count();
    if LOADED.swap(loaded, Ordering::Relaxed) == loaded {
        return;
    }
    let objects = elf::objects();
    let mut binder = lock();
    let binder = binder.get_or_insert_default();
    for object in objects.iter().filter(|object| binder.is_new(object)) {
        if !library::is_loaded() && exports(object, "PMPI_Init") {
            library::found(Path::new(&object.path));
        }
    }
    for object in &objects {
        binder.bind(object);
    }
}

fn lock() -> MutexGuard<'static, Option<Binder>> {
    BINDER.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What has been bound so far.
#[derive(Default)]
struct Binder {
    /// Files of code that were looked at when MPI was known: address and path.
    bound: HashMap<usize, String>,
    /// Stubs by name and target.
    stubs: HashMap<(String, usize), usize>,
    /// Whether the functions of a file of code are those of MPI's Fortran bindings, by its address.
    fortran: HashMap<usize, bool>,
    full: bool,
}

impl Binder {
    fn is_new(&self, object: &Object) -> bool {
        self.bound.get(&object.base) != Some(&object.path)
    }

    fn bind(&mut self, object: &Object) {
        if !self.is_new(object) || object.is_system() || object.is_probe() {
            return;
        }
        let mpi = library::is_loaded();
        // Once MPI is known a file need not be looked at again; before, only its references to dlsym and dlopen are replaced.
        if mpi {
            self.bound.insert(object.base, object.path.clone());
        }
        let is_mpi_library = mpi && is_mpi_library(object);
        let is_tuned = tuning::is_wanted();
        for reference in object.references() {
            let stub = match reference.name {
                name if is_tuned && sintonia_hook::stand_in(name).is_some() => sintonia_hook::stand_in(name),
                _ if is_mpi_library => None,
                "dlsym" => Some(stub::dlsym_stub()),
                "dlopen" => Some(stub::dlopen_stub()),
                name if mpi && (name.starts_with("MPI_") || name.starts_with("mpi_")) => self.stub_for_reference(object, &reference),
                _ => None,
            };
            if let Some(stub) = stub {
                object.write(&reference, stub);
            }
        }
    }

    fn stub_for_reference(&mut self, object: &Object, reference: &Reference) -> Option<usize> {
        let symbol = wanted(reference.name)?;
        let target = object.target(reference)?;
        self.stub(reference.name, symbol, target)
    }

    /// The stub that leads to a target; `None` if the target is not MPI's.
    fn stub(&mut self, name: &str, symbol: Symbol, target: usize) -> Option<usize> {
        if let Some(stub) = self.stubs.get(&(name.to_string(), target)) {
            return Some(*stub);
        }
        if symbol.family != Family::C && !self.is_fortran_binding(target) {
            return None;
        }
        let place = self.stubs.len();
        if place >= stub::MOST_ENTRIES {
            if !std::mem::replace(&mut self.full, true) {
                process::note("more MPI functions are called than the probe has stubs for; some are not recorded");
            }
            return None;
        }
        let stub = stub::prepare(place, symbol, target)?;
        self.stubs.insert((name.to_string(), target), stub);
        Some(stub)
    }

    /// Whether a function with a Fortran name is MPI's, and not one of the user's own with that name.
    fn is_fortran_binding(&mut self, target: usize) -> bool {
        let Some((base, path)) = elf::file_of(target) else { return false };
        *self.fortran.entry(base).or_insert_with(|| {
            let defines = |name: &str| elf::defines(base, &path, name);
            let profiling = ["pmpi_init_", "PMPI_INIT", "pmpi_init_f08_", "pmpir_init_f08_", "pmpir_send_f08ts_", "pmpi_send_f08_"];
            // Arguments of the library with 8-byte integers cannot be told apart from the usual ones; it calls C functions that are seen.
            !path.contains("ilp64") && (profiling.iter().any(|name| defines(name)) || defines("MPI_Init") && defines("mpi_init_"))
        })
    }
}

/// The symbol, if calls of that function are recorded.
fn wanted(name: &str) -> Option<Symbol> {
    Symbol::parse(name).filter(|symbol| symbol.operation.role() != Role::Local)
}

/// Whether a file of code is part of an MPI library: what it calls is not the program's call.
fn is_mpi_library(object: &Object) -> bool {
    let names = ["PMPI_Init", "pmpi_init_", "pmpi_init_f08_", "pmpir_init_f08_"];
    object.path.contains("/openmpi/mca_") || names.iter().any(|name| exports(object, name))
}

fn exports(object: &Object, name: &str) -> bool {
    elf::defines(object.base, &object.path, name)
}

/// Stands before `dlsym`. Gives the address of a stub, or 0 to let the system answer as if the probe were not there.
pub unsafe extern "C" fn on_dlsym(handle: *mut c_void, name: *const c_char) -> usize {
    std::panic::catch_unwind(|| {
        look();
        if handle == libc::RTLD_NEXT || name.is_null() {
            return 0;
        }
        // SAFETY: the caller of dlsym passes a string.
        let Ok(text) = unsafe { CStr::from_ptr(name) }.to_str() else { return 0 };
        let Some(symbol) = wanted(text).filter(|_| library::is_loaded()) else { return 0 };
        // SAFETY: the same question that the program asks. Should it fail, the system answers it again for the program.
        let target = unsafe { libc::dlsym(handle, name) } as usize;
        if target == 0 {
            return 0;
        }
        let mut binder = lock();
        binder.get_or_insert_default().stub(text, symbol, target).unwrap_or(0)
    })
    .unwrap_or(0)
}

/// Stands before `dlopen`. Gives the handle, or 0 to let the system answer as if the probe were not there.
pub unsafe extern "C" fn on_dlopen(path: *const c_char, flags: c_int) -> usize {
    std::panic::catch_unwind(|| {
        look();
        // Where a name without a slash is searched depends on the caller, so only paths can be opened in its place.
        // SAFETY: the caller of dlopen passes a string or null.
        if path.is_null() || !unsafe { CStr::from_ptr(path) }.to_bytes().contains(&b'/') {
            return 0;
        }
        // SAFETY: what the program asked for, with its own arguments.
        let handle = unsafe { libc::dlopen(path, flags) } as usize;
        look();
        handle
    })
    .unwrap_or(0)
}
