//! An MPI library loaded into this process, and the few of its functions that working together needs.
//!
//! All that is unsafe about calling a library that was unknown at build time stays here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::path::Path;
use std::ptr::null_mut;

use super::error::WorldError;
use crate::{Abi, GetLibraryVersion, Layout, short_name, version_text};

/// What C passes in a register for a handle, in every ABI.
pub type Handle = usize;
type Number = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
pub type Everyone = unsafe extern "C" fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle) -> c_int;

/// An MPI library. It stays loaded until the process ends: MPI leaves threads and exit functions behind.
pub struct Library {
    abi: Abi,
    layout: Layout,
    funneled: c_int,
    version: String,
    file: String,
    world: Handle,
    byte: Handle,
    errors_return: Handle,
    functions: Functions,
    /// For functions that only some need; never closed.
    opened: ManuallyDrop<Opened>,
}

struct Functions {
    init_thread: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    abort: unsafe extern "C" fn(Handle, c_int) -> c_int,
    comm_rank: Number,
    comm_size: Number,
    comm_set_errhandler: unsafe extern "C" fn(Handle, Handle) -> c_int,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
    all_to_all: Everyone,
    all_gather: Everyone,
    send: unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle) -> c_int,
    receive: unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void) -> c_int,
    send_receive: SendReceive,
}

type SendReceive = unsafe extern "C" fn(
    *const c_void,
    c_int,
    Handle,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    Handle,
    c_int,
    c_int,
    Handle,
    *mut c_void,
) -> c_int;

/// The most bytes that one message carries. MPI counts in `int`; this is well below what any transport has trouble with.
pub const PIECE: usize = 64 << 20;

impl Library {
    /// Loads a library, by its path or by a name that the loader knows.
    pub fn load(file: &Path) -> Result<Library, WorldError> {
        let unusable = |reason: String| WorldError::Unusable { library: file.display().to_string(), reason };
        Opened::open(file).and_then(|opened| opened.library(file)).map_err(unusable)
    }

    /// What it says of itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its name, version and file, for messages.
    pub fn name(&self) -> String {
        format!("{} ({})", short_name(&self.version), self.file)
    }

    /// One more of its functions.
    ///
    /// # Safety
    /// `F` is a pointer to a function, of the type that the function of this name has.
    pub unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, WorldError> {
        // SAFETY: as the caller promises.
        unsafe { self.opened.function(name) }.map_err(|reason| self.unusable(reason))
    }

    /// One more of its constants: the object that it is with Open MPI, or its number in the other ABIs.
    pub fn constant(&self, open_mpi: &CStr, mpich: Handle, standard: Handle) -> Result<Handle, WorldError> {
        self.opened.constant(self.abi, open_mpi, mpich, standard).map_err(|reason| self.unusable(reason))
    }

    fn unusable(&self, reason: String) -> WorldError {
        WorldError::Unusable { library: self.name(), reason }
    }

    /// Its sizes and constants.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The communicator of all processes.
    pub fn world(&self) -> Handle {
        self.world
    }

    /// The datatype of plain bytes.
    pub fn byte(&self) -> Handle {
        self.byte
    }

    /// The address that stands for no status.
    pub fn no_status(&self) -> *mut c_void {
        self.layout.status_ignore as *mut c_void
    }

    /// Starts MPI; errors become values from here on.
    pub fn start(&self) -> Result<(), WorldError> {
        let mut provided: c_int = 0;
        // SAFETY: MPI has not been started in this process (`World` sees to it), and no arguments are passed on, which MPI allows.
        let result = unsafe { (self.functions.init_thread)(null_mut(), null_mut(), self.funneled, &mut provided) };
        self.check("MPI_Init_thread", result)?;
        // SAFETY: MPI has been started; both handles are constants of this library.
        let result = unsafe { (self.functions.comm_set_errhandler)(self.world, self.errors_return) };
        self.check("MPI_Comm_set_errhandler", result)
    }

    /// Ends MPI: waits until all processes do so.
    pub fn finish(&self) -> Result<(), WorldError> {
        // SAFETY: MPI has been started and not ended, for `World` ends with it.
        let result = unsafe { (self.functions.finalize)() };
        if result == 0 { Ok(()) } else { Err(WorldError::Call { function: "MPI_Finalize", message: format!("error {result}") }) }
    }

    /// Ends all processes.
    pub fn abort(&self, status: i32) -> ! {
        // SAFETY: MPI has been started.
        unsafe { (self.functions.abort)(self.world, status) };
        std::process::exit(status)
    }

    /// The number of this process.
    pub fn rank(&self) -> Result<usize, WorldError> {
        self.number("MPI_Comm_rank", self.functions.comm_rank)
    }

    /// How many processes there are.
    pub fn size(&self) -> Result<usize, WorldError> {
        self.number("MPI_Comm_size", self.functions.comm_size)
    }

    fn number(&self, name: &'static str, function: Number) -> Result<usize, WorldError> {
        let mut number: c_int = 0;
        // SAFETY: MPI has been started, and there is a place for an int.
        let result = unsafe { function(self.world, &mut number) };
        self.check(name, result)?;
        usize::try_from(number).map_err(|_| WorldError::Call { function: name, message: format!("it gave {number}") })
    }

    /// Number `i` of `numbers` goes to process `i`; number `i` of the result came from there. One for each process.
    pub fn all_to_all(&self, numbers: &[u64]) -> Result<Vec<u64>, WorldError> {
        let mut answer = vec![0u64; numbers.len()];
        let (from, to, bytes) = (numbers.as_ptr().cast(), answer.as_mut_ptr().cast(), size_of::<u64>() as c_int);
        // SAFETY: both arrays hold a number for each process (`World::exchange` sees to it).
        let result = unsafe { (self.functions.all_to_all)(from, bytes, self.byte, to, bytes, self.byte, self.world) };
        self.check("MPI_Alltoall", result).map(|()| answer)
    }

    /// What each of `size` processes says.
    pub fn all_gather(&self, mine: u8, size: usize) -> Result<Vec<u8>, WorldError> {
        let mut all = vec![0u8; size];
        let (from, to) = ((&raw const mine).cast(), all.as_mut_ptr().cast());
        // SAFETY: there is a byte to read, and a place for one of each process.
        let result = unsafe { (self.functions.all_gather)(from, 1, self.byte, to, 1, self.byte, self.world) };
        self.check("MPI_Allgather", result).map(|()| all)
    }

    /// Sends at most [`PIECE`] bytes to a process.
    pub fn send(&self, bytes: &[u8], to: usize, tag: i32) -> Result<(), WorldError> {
        // SAFETY: the bytes are readable for their length.
        let result = unsafe { (self.functions.send)(bytes.as_ptr().cast(), count(bytes), self.byte, number(to), tag, self.world) };
        self.check("MPI_Send", result)
    }

    /// Fills at most [`PIECE`] bytes with a message of a process.
    pub fn receive(&self, bytes: &mut [u8], from: usize, tag: i32) -> Result<(), WorldError> {
        self.receive_with(bytes, number(from), tag, self.no_status())
    }

    /// Fills at most [`PIECE`] bytes with the next message of any process, and says which one sent it.
    pub fn receive_any(&self, bytes: &mut [u8], tag: i32) -> Result<usize, WorldError> {
        const { assert!(Abi::Standard.layout().status_bytes <= size_of::<[c_int; 16]>()) };
        let mut status: [c_int; 16] = [0; 16];
        self.receive_with(bytes, self.layout.any_source, tag, status.as_mut_ptr().cast())?;
        let source = status[self.layout.status_source / size_of::<c_int>()];
        usize::try_from(source).map_err(|_| WorldError::Call { function: "MPI_Recv", message: format!("the source is {source}") })
    }

    fn receive_with(&self, bytes: &mut [u8], from: c_int, tag: i32, status: *mut c_void) -> Result<(), WorldError> {
        let (place, length) = (bytes.as_mut_ptr().cast(), count(bytes));
        // SAFETY: the bytes are writable for their length; the status is one of this ABI, or the address that stands for none.
        let result = unsafe { (self.functions.receive)(place, length, self.byte, from, tag, self.world, status) };
        self.check("MPI_Recv", result)
    }

    /// Sends one message and receives another at the same time, each of at most [`PIECE`] bytes.
    pub fn send_receive(&self, bytes: &[u8], to: usize, place: &mut [u8], from: usize, tag: i32) -> Result<(), WorldError> {
        // SAFETY: the bytes are readable and the place is writable for their lengths; they are not the same memory.
        let result = unsafe {
            (self.functions.send_receive)(
                bytes.as_ptr().cast(),
                count(bytes),
                self.byte,
                number(to),
                tag,
                place.as_mut_ptr().cast(),
                count(place),
                self.byte,
                number(from),
                tag,
                self.world,
                self.no_status(),
            )
        };
        self.check("MPI_Sendrecv", result)
    }

    /// What a call that gave `result` comes to.
    pub fn check(&self, function: &'static str, result: c_int) -> Result<(), WorldError> {
        if result == 0 {
            return Ok(());
        }
        let mut text: [c_char; 4096] = [0; 4096];
        let mut length: c_int = 0;
        // SAFETY: the code came from this library, and no library's messages are longer than 512 characters. The last place stays zero.
        let message = unsafe {
            (self.functions.error_string)(result, text.as_mut_ptr(), &mut length);
            CStr::from_ptr(text.as_ptr()).to_string_lossy().trim().to_owned()
        };
        Err(WorldError::Call { function, message })
    }
}

/// A length as MPI counts.
pub fn count(bytes: &[u8]) -> c_int {
    c_int::try_from(bytes.len()).expect("messages are at most a piece long")
}

/// A process as MPI numbers it. One that MPI cannot even name becomes one that it refuses.
pub fn number(process: usize) -> c_int {
    c_int::try_from(process).unwrap_or(c_int::MAX)
}

/// A library that is loaded, and unloaded again unless it is forgotten.
struct Opened(*mut c_void);

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: the handle is one that dlopen gave, and nothing of the library is kept.
        unsafe { libc::dlclose(self.0) };
    }
}

impl Opened {
    fn open(file: &Path) -> Result<Opened, String> {
        let text = CString::new(file.as_os_str().as_encoded_bytes()).map_err(|_| "its name has a zero byte".to_owned())?;
        // SAFETY: what runs on loading is what any program linked with this MPI runs. Local: should it turn out to be the wrong one, its
        // names must not stand before those of the right one.
        let library = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        if !library.is_null() {
            return Ok(Opened(library));
        }
        // SAFETY: dlerror gives a text or nothing, valid until the next call of the loader in this thread.
        let reason = unsafe {
            let text = libc::dlerror();
            if text.is_null() { "it cannot be loaded".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        // The loader mostly begins with the name, which is said already.
        Err(reason.strip_prefix(&format!("{}: ", file.display())).map(str::to_owned).unwrap_or(reason))
    }

    fn library(self, file: &Path) -> Result<Library, String> {
        let version = self.version()?;
        let file_name = file.file_name().unwrap_or_default().to_string_lossy();
        let abi = Abi::of_library(&file_name, &version).ok_or_else(|| format!("it is no MPI known here: {}", short_name(&version)))?;
        let constant = |open_mpi: &CStr, mpich: Handle, standard: Handle| self.constant(abi, open_mpi, mpich, standard);
        Ok(Library {
            abi,
            layout: abi.layout(),
            funneled: if abi == Abi::Standard { 1024 } else { 1 },
            version,
            file: self.file().unwrap_or_else(|| file.display().to_string()),
            world: constant(c"ompi_mpi_comm_world", 0x4400_0000, 0x101)?,
            byte: constant(c"ompi_mpi_byte", 0x4c00_010d, 0x247)?,
            errors_return: constant(c"ompi_mpi_errors_return", 0x5400_0001, 0x143)?,
            functions: self.functions()?,
            // From here on it stays: a library that is used may be referred to from anywhere.
            opened: ManuallyDrop::new(self),
        })
    }

    fn functions(&self) -> Result<Functions, String> {
        // SAFETY (all): the fields have the types that MPI gives these functions; handles are passed as machine words, of which an ABI
        // with smaller ones reads the lower half.
        unsafe {
            Ok(Functions {
                init_thread: self.function(c"MPI_Init_thread")?,
                finalize: self.function(c"MPI_Finalize")?,
                abort: self.function(c"MPI_Abort")?,
                comm_rank: self.function(c"MPI_Comm_rank")?,
                comm_size: self.function(c"MPI_Comm_size")?,
                comm_set_errhandler: self.function(c"MPI_Comm_set_errhandler")?,
                error_string: self.function(c"MPI_Error_string")?,
                all_to_all: self.function(c"MPI_Alltoall")?,
                all_gather: self.function(c"MPI_Allgather")?,
                send: self.function(c"MPI_Send")?,
                receive: self.function(c"MPI_Recv")?,
                send_receive: self.function(c"MPI_Sendrecv")?,
            })
        }
    }

    fn version(&self) -> Result<String, String> {
        // SAFETY: a function of this name has this type.
        unsafe { Ok(version_text(self.function::<GetLibraryVersion>(c"MPI_Get_library_version")?)) }
    }

    /// The file that the loader chose.
    fn file(&self) -> Option<String> {
        let address = self.symbol(c"MPI_Get_library_version").ok()?;
        let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: dladdr fills the place if it knows the address, and zeros are a value of it, too; the name lives as long as the library.
        unsafe {
            let known = libc::dladdr(address as *const c_void, found.as_mut_ptr()) != 0;
            let name = found.assume_init().dli_fname;
            (known && !name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` is a pointer to a function, of the type that the function of this name has.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let address = self.symbol(name)?;
        // SAFETY: sizes agree, and the caller knows the type.
        Ok(unsafe { std::mem::transmute_copy::<usize, F>(&address) })
    }

    /// A constant: an object of the library with Open MPI, a number elsewhere.
    fn constant(&self, abi: Abi, open_mpi: &CStr, mpich: Handle, standard: Handle) -> Result<Handle, String> {
        match abi {
            Abi::OpenMpi => self.symbol(open_mpi),
            Abi::Mpich => Ok(mpich),
            Abi::Standard => Ok(standard),
        }
    }

    fn symbol(&self, name: &CStr) -> Result<usize, String> {
        // SAFETY: looks a name up in a loaded library, nothing is called.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) } as usize;
        if address == 0 { Err(format!("it has no {}", name.to_string_lossy())) } else { Ok(address) }
    }
}
