//! Redirects MPI calls to the probe by replacing the addresses that the dynamic linker wrote into each loaded file.
//!
//! The probe exports no MPI function. It scans the references of every loaded file, and redirects those to MPI functions *that exist in the
//! loaded MPI library* through a stub. So no function seems to exist that does not (mpi4py checks which functions its MPI has), a user's
//! own function named `mpi_send` is left alone, libraries loaded later or privately (`dlopen`) and addresses obtained with `dlsym` are
//! covered, and each call reaches exactly the function that the linker chose for that caller.

mod elf;

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use sintonia_mpi::{FunctionRole, LanguageBinding, MpiSymbol};

use self::elf::{LoadedObject, ReferenceSlot, SymbolReference};
use crate::file_io;
use crate::library;
use crate::process;
use crate::settings;
use crate::stub;
use crate::wrapper_table;

/// Address of the system's `dlsym`, for the stub to jump to.
pub(crate) static REAL_DLSYM: AtomicUsize = AtomicUsize::new(0);
/// Address of the system's `dlopen`.
pub(crate) static REAL_DLOPEN: AtomicUsize = AtomicUsize::new(0);
/// Address of the system's `dlclose`.
pub(crate) static REAL_DLCLOSE: AtomicUsize = AtomicUsize::new(0);
/// Address of the system's `longjmp`.
pub(crate) static REAL_LONGJMP: AtomicUsize = AtomicUsize::new(0);
/// Address of the system's `__longjmp_chk`: `longjmp` in programs compiled with `_FORTIFY_SOURCE`.
pub(crate) static REAL_LONGJMP_CHK: AtomicUsize = AtomicUsize::new(0);

/// Number of loaded files at the last scan.
static LOADED_COUNT: AtomicU64 = AtomicU64::new(0);
static BINDER: Mutex<Option<SymbolBinder>> = Mutex::new(None);

/// Binds everything that is loaded now, and intercepts later loading.
pub(crate) fn start() {
    REAL_DLSYM.store(libc::dlsym as *const () as usize, Ordering::Relaxed);
    REAL_DLOPEN.store(libc::dlopen as *const () as usize, Ordering::Relaxed);
    REAL_DLCLOSE.store(libc::dlclose as *const () as usize, Ordering::Relaxed);
    for (name, real) in [("longjmp", &REAL_LONGJMP), ("__longjmp_chk", &REAL_LONGJMP_CHK)] {
        real.store(library::symbol(libc::RTLD_DEFAULT, name).unwrap_or(0), Ordering::Relaxed);
    }
    bind_new_objects();
}

/// Binds what has been loaded since the last scan.
pub(crate) fn bind_new_objects() {
    let loaded = elf::loaded_count();
    if LOADED_COUNT.swap(loaded, Ordering::Relaxed) == loaded {
        return;
    }
    let objects = elf::objects();
    let mut binder = lock();
    let binder = binder.get_or_insert_default();
    for object in objects.iter().filter(|object| binder.is_new(object)) {
        if !library::is_loaded() && exports(object, "PMPI_Init") {
            library::set_path(Path::new(&object.path));
        }
    }
    for object in &objects {
        binder.bind(object);
    }
}

fn lock() -> MutexGuard<'static, Option<SymbolBinder>> {
    BINDER.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// State of the binding.
#[derive(Default)]
struct SymbolBinder {
    /// Files that were bound when MPI was known: address and path.
    bound: HashMap<usize, String>,
    /// Stubs by name and target.
    stubs: HashMap<(String, usize), usize>,
    /// Whether a file, given by its address, provides MPI's Fortran bindings.
    fortran: HashMap<usize, bool>,
    full: bool,
    /// References to restore when a session ends.
    replaced: Vec<ReplacedReference>,
}

impl SymbolBinder {
    fn is_new(&self, object: &LoadedObject) -> bool {
        self.bound.get(&object.base) != Some(&object.path)
    }

    fn bind(&mut self, object: &LoadedObject) {
        if !self.is_new(object) || object.is_system() || object.is_probe() {
            return;
        }
        let mpi = library::is_loaded();
        // Once MPI is known a file is not scanned again; before, only its references to dlsym and dlopen are replaced.
        if mpi {
            self.bound.insert(object.base, object.path.clone());
        }
        let is_mpi_library = mpi && is_mpi_library(object);
        let is_tuned = settings::is_tuned();
        let uses_files = settings::settings().file_io && !is_communication_library(object);
        for reference in object.references() {
            let stub = match reference.name {
                name if is_tuned && sintonia_hook::signal_wrapper(name).is_some() => sintonia_hook::signal_wrapper(name),
                _ if is_mpi_library => None,
                "dlsym" => Some(stub::dlsym_stub()),
                "dlopen" => Some(stub::dlopen_stub()),
                "dlclose" => Some(stub::dlclose_stub()),
                "longjmp" | "_longjmp" | "siglongjmp" if mpi => is_bound_to(object, &reference, &REAL_LONGJMP).then(stub::longjmp_stub),
                "__longjmp_chk" if mpi => is_bound_to(object, &reference, &REAL_LONGJMP_CHK).then(stub::longjmp_chk_stub),
                name if mpi && (name.starts_with("MPI_") || name.starts_with("mpi_")) => self.stub_for_reference(object, &reference),
                name if mpi => {
                    let wrapper = wrapper_table::wrapper_of(name, || object.target(&reference).filter(|target| !file_io::is_stub(*target)));
                    wrapper.filter(|wrapper| uses_files || !file_io::is_stub(*wrapper))
                }
                _ => None,
            };
            if let Some(stub) = stub {
                object.write(&reference, stub);
            }
        }
    }

    fn stub_for_reference(&mut self, object: &LoadedObject, reference: &SymbolReference) -> Option<usize> {
        let symbol = recorded_symbol(reference.name)?;
        let target = object.target(reference)?;
        self.stub(reference.name, symbol, target)
    }

    /// The stub for a target; `None` if the target is not an MPI function.
    fn stub(&mut self, name: &str, symbol: MpiSymbol, target: usize) -> Option<usize> {
        if let Some(stub) = self.stubs.get(&(name.to_string(), target)) {
            return Some(*stub);
        }
        if symbol.binding != LanguageBinding::C && !self.is_fortran_binding(target) {
            return None;
        }
        let index = self.stubs.len();
        if index >= stub::MOST_ENTRIES {
            if !std::mem::replace(&mut self.full, true) {
                process::note("more MPI functions are called than the probe has stubs for; some are not recorded");
            }
            return None;
        }
        let stub = stub::bind(index, symbol, target)?;
        self.stubs.insert((name.to_string(), target), stub);
        Some(stub)
    }

    /// Whether a function with a Fortran name is MPI's, and not the user's own.
    fn is_fortran_binding(&mut self, target: usize) -> bool {
        let Some((base, path)) = elf::object_containing(target) else { return false };
        *self.fortran.entry(base).or_insert_with(|| {
            let defines = |name: &str| elf::defines(base, &path, name);
            let profiling = ["pmpi_init_", "PMPI_INIT", "pmpi_init_f08_", "pmpir_init_f08_", "pmpir_send_f08ts_", "pmpi_send_f08_"];
            // In the library with 8-byte integers, arguments have another size; it calls C functions, which are recorded.
            !path.contains("ilp64") && (profiling.iter().any(|name| defines(name)) || defines("MPI_Init") && defines("mpi_init_"))
        })
    }
}

/// Whether a reference is to the system's function, and not to one of the program or of another tool.
fn is_bound_to(object: &LoadedObject, reference: &SymbolReference, real: &AtomicUsize) -> bool {
    object.target(reference).is_some_and(|target| target == real.load(Ordering::Relaxed))
}

/// The symbol, if calls of that function are recorded.
fn recorded_symbol(name: &str) -> Option<MpiSymbol> {
    MpiSymbol::parse(name).filter(|symbol| symbol.function.role() != FunctionRole::Local)
}

/// Whether a file is part of an MPI library: its calls are not those of the program.
fn is_mpi_library(object: &LoadedObject) -> bool {
    let names = ["PMPI_Init", "pmpi_init_", "pmpi_init_f08_", "pmpir_init_f08_"];
    object.path.contains("/openmpi/mca_") || names.iter().any(|name| exports(object, name))
}

/// Whether a file is a library that MPI libraries use: its accesses to files are not those of the program.
fn is_communication_library(object: &LoadedObject) -> bool {
    const NAMES: [&str; 20] = [
        "libopen-",
        "libpmix",
        "libprrte",
        "libpmi",
        "libucp",
        "libuct",
        "libucs",
        "libucm",
        "libucc",
        "libfabric",
        "libevent",
        "libhwloc",
        "libpsm",
        "libibverbs",
        "librdmacm",
        "libmunge",
        "libslurm",
        "libflux",
        "libmpi",
        "mca_",
    ];
    let name = object.path.rsplit('/').next().unwrap_or_default();
    object.path.contains("/pmix/") || NAMES.iter().any(|prefix| name.starts_with(prefix))
}

fn exports(object: &LoadedObject, name: &str) -> bool {
    elf::defines(object.base, &object.path, name)
}

/// A reference that was replaced in a running program.
struct ReplacedReference {
    base: usize,
    path: String,
    slot: ReferenceSlot,
    original: usize,
    stub: usize,
}

/// Binds the MPI calls of everything that is loaded in a running program; returns the number of references that lead to stubs.
pub(crate) fn bind_running() -> usize {
    let mut binder = lock();
    let binder = binder.get_or_insert_default();
    stub::enable(binder.stubs.len());
    LOADED_COUNT.store(elf::loaded_count(), Ordering::Relaxed);
    let objects = elf::objects();
    if let Some(object) = objects.iter().find(|object| exports(object, "PMPI_Init")) {
        library::set_path(Path::new(&object.path));
    }
    if library::is_loaded() {
        objects.iter().for_each(|object| binder.bind_running(object));
    }
    binder.replaced.len()
}

/// The same, if anything was loaded since the last scan.
pub(crate) fn bind_running_if_loaded() {
    if LOADED_COUNT.load(Ordering::Relaxed) != elf::loaded_count() {
        bind_running();
    }
}

/// Restores all references of a running program. Addresses of stubs that it has copied meanwhile stay valid: stubs pass calls on.
pub(crate) fn restore() {
    if let Some(binder) = lock().as_mut() {
        for ReplacedReference { base, path, slot, original, stub } in binder.replaced.drain(..) {
            if let Some(_pin) = elf::pin(base, &path) {
                slot.replace(stub, original);
            }
        }
    }
    stub::disable_all();
}

impl SymbolBinder {
    /// Replaces the references of a file to MPI functions while the program runs. A pointer in a variable of the program is left alone: it
    /// may hold something else by now.
    fn bind_running(&mut self, object: &LoadedObject) {
        if object.is_system() || object.is_probe() || is_mpi_library(object) {
            return;
        }
        let Some(_pin) = elf::pin(object.base, &object.path) else { return };
        for reference in object.references() {
            let Some(symbol) = recorded_symbol(reference.name).filter(|_| reference.is_call()) else { continue };
            let slot = object.slot(&reference);
            let original = slot.address();
            if stub::is_stub(original) {
                continue;
            }
            let target = if object.contains(original) { object.target(&reference) } else { Some(original) };
            let Some(stub) = target.and_then(|target| self.stub(reference.name, symbol, target)) else { continue };
            if slot.replace(original, stub) {
                self.replaced.push(ReplacedReference { base: object.base, path: object.path.clone(), slot, original, stub });
            }
        }
    }
}

/// Interceptor of `dlsym`. Returns the address of a stub, or 0 to let the system answer as without the probe.
pub(crate) unsafe extern "C" fn on_dlsym(handle: *mut c_void, name: *const c_char) -> usize {
    std::panic::catch_unwind(|| {
        bind_new_objects();
        if handle == libc::RTLD_NEXT || name.is_null() {
            return 0;
        }
        // SAFETY: the caller of dlsym passes a string.
        let Ok(text) = unsafe { CStr::from_ptr(name) }.to_str() else { return 0 };
        let Some(symbol) = recorded_symbol(text).filter(|_| library::is_loaded()) else { return 0 };
        // SAFETY: the program's own lookup. If it fails, the system repeats it for the program.
        let target = unsafe { libc::dlsym(handle, name) } as usize;
        if target == 0 {
            return 0;
        }
        let mut binder = lock();
        binder.get_or_insert_default().stub(text, symbol, target).unwrap_or(0)
    })
    .unwrap_or(0)
}

/// Interceptor of `dlopen`. Returns the handle, or 0 to let the system answer as without the probe.
pub(crate) unsafe extern "C" fn on_dlopen(path: *const c_char, flags: c_int) -> usize {
    std::panic::catch_unwind(|| {
        bind_new_objects();
        // The search path for a name without a slash depends on the caller, so only paths are opened here.
        // SAFETY: the caller of dlopen passes a string or null.
        if path.is_null() || !unsafe { CStr::from_ptr(path) }.to_bytes().contains(&b'/') {
            return 0;
        }
        // SAFETY: the program's call with its own arguments.
        let handle = unsafe { libc::dlopen(path, flags) } as usize;
        bind_new_objects();
        handle
    })
    .unwrap_or(0)
}
