//! An MPI library loaded into this process, with the functions that [`CommWorld`](super::CommWorld) needs.
//!
//! All unsafe calls into a library unknown at build time are confined to this module.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::path::Path;
use std::ptr::null_mut;

use super::error::WorldError;
use crate::{Abi, AbiLayout, GetLibraryVersion, short_name, version_text};

/// A handle as C passes it in a register, in every ABI.
pub(super) type Handle = usize;
type CommQueryFn = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
pub(super) type AllToAllFn = unsafe extern "C" fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle) -> c_int;

/// An MPI library. It stays loaded until the process ends, because MPI leaves threads and exit handlers behind.
pub(super) struct LoadedMpi {
    abi: Abi,
    layout: AbiLayout,
    funneled: c_int,
    version: String,
    file: String,
    world: Handle,
    byte: Handle,
    errors_return: Handle,
    functions: CoreFunctions,
    /// For looking up further functions; never closed.
    handle: ManuallyDrop<LibraryHandle>,
}

struct CoreFunctions {
    init_thread: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    abort: unsafe extern "C" fn(Handle, c_int) -> c_int,
    comm_rank: CommQueryFn,
    comm_size: CommQueryFn,
    comm_set_errhandler: unsafe extern "C" fn(Handle, Handle) -> c_int,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
    all_to_all: AllToAllFn,
    all_gather: AllToAllFn,
    send: unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle) -> c_int,
    receive: unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void) -> c_int,
    send_receive: SendReceiveFn,
}

type SendReceiveFn = unsafe extern "C" fn(
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

/// Maximum size of one message. MPI counts are `int`; this is well below the limits of any transport.
pub(super) const MAX_MESSAGE_BYTES: usize = 64 << 20;

impl LoadedMpi {
    /// Loads a library by path, or by a name that the loader resolves.
    pub(super) fn load(file: &Path) -> Result<LoadedMpi, WorldError> {
        let unusable = |reason: String| WorldError::Unusable { library: file.display().to_string(), reason };
        LibraryHandle::open(file).and_then(|opened| opened.into_mpi(file)).map_err(unusable)
    }

    /// Its version text.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Name, version and file, for messages.
    pub(super) fn name(&self) -> String {
        format!("{} ({})", short_name(&self.version), self.file)
    }

    /// Looks up a further function.
    ///
    /// # Safety
    /// `F` is a function pointer of the type that the function of this name has.
    pub(super) unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, WorldError> {
        // SAFETY: as the caller promises.
        unsafe { self.handle.function(name) }.map_err(|reason| self.unusable(reason))
    }

    /// Looks up a further constant: a symbol in Open MPI, a number in the other ABIs.
    pub(super) fn constant(&self, open_mpi: &CStr, mpich: Handle, standard: Handle) -> Result<Handle, WorldError> {
        self.handle.constant(self.abi, open_mpi, mpich, standard).map_err(|reason| self.unusable(reason))
    }

    fn unusable(&self, reason: String) -> WorldError {
        WorldError::Unusable { library: self.name(), reason }
    }

    /// Sizes and constants of its ABI.
    pub(super) fn layout(&self) -> &AbiLayout {
        &self.layout
    }

    /// `MPI_COMM_WORLD`.
    pub(super) fn world(&self) -> Handle {
        self.world
    }

    /// `MPI_BYTE`.
    pub(super) fn byte(&self) -> Handle {
        self.byte
    }

    /// `MPI_STATUS_IGNORE`.
    pub(super) fn status_ignore(&self) -> *mut c_void {
        self.layout.status_ignore as *mut c_void
    }

    /// Initialises MPI, and makes errors return codes.
    pub(super) fn init(&self) -> Result<(), WorldError> {
        let mut provided: c_int = 0;
        // SAFETY: MPI has not been initialised in this process (checked by `CommWorld`), and null arguments are allowed.
        let result = unsafe { (self.functions.init_thread)(null_mut(), null_mut(), self.funneled, &mut provided) };
        self.check("MPI_Init_thread", result)?;
        // SAFETY: MPI has been initialised; both handles are constants of this library.
        let result = unsafe { (self.functions.comm_set_errhandler)(self.world, self.errors_return) };
        self.check("MPI_Comm_set_errhandler", result)
    }

    /// Finalises MPI; returns when all processes do.
    pub(super) fn finalize(&self) -> Result<(), WorldError> {
        // SAFETY: MPI has been initialised and not finalised, because finalising consumes `CommWorld`.
        let result = unsafe { (self.functions.finalize)() };
        if result == 0 { Ok(()) } else { Err(WorldError::Call { function: "MPI_Finalize", message: format!("error {result}") }) }
    }

    /// Aborts all processes.
    pub(super) fn abort(&self, status: i32) -> ! {
        // SAFETY: MPI has been initialised.
        unsafe { (self.functions.abort)(self.world, status) };
        std::process::exit(status)
    }

    /// Rank of this process.
    pub(super) fn rank(&self) -> Result<usize, WorldError> {
        self.query("MPI_Comm_rank", self.functions.comm_rank)
    }

    /// Number of processes.
    pub(super) fn size(&self) -> Result<usize, WorldError> {
        self.query("MPI_Comm_size", self.functions.comm_size)
    }

    fn query(&self, name: &'static str, function: CommQueryFn) -> Result<usize, WorldError> {
        let mut number: c_int = 0;
        // SAFETY: MPI has been initialised, and the pointer is valid for an int.
        let result = unsafe { function(self.world, &mut number) };
        self.check(name, result)?;
        usize::try_from(number).map_err(|_| WorldError::Call { function: name, message: format!("it gave {number}") })
    }

    /// `MPI_Alltoall` of one number per process.
    pub(super) fn all_to_all(&self, numbers: &[u64]) -> Result<Vec<u64>, WorldError> {
        let mut answer = vec![0u64; numbers.len()];
        let (from, to, bytes) = (numbers.as_ptr().cast(), answer.as_mut_ptr().cast(), size_of::<u64>() as c_int);
        // SAFETY: both arrays hold one number per process (checked by `CommWorld::all_to_all`).
        let result = unsafe { (self.functions.all_to_all)(from, bytes, self.byte, to, bytes, self.byte, self.world) };
        self.check("MPI_Alltoall", result).map(|()| answer)
    }

    /// `MPI_Allgather` of one byte.
    pub(super) fn all_gather(&self, mine: u8, size: usize) -> Result<Vec<u8>, WorldError> {
        let mut all = vec![0u8; size];
        let (from, to) = ((&raw const mine).cast(), all.as_mut_ptr().cast());
        // SAFETY: one byte is readable, and `size` bytes are writable.
        let result = unsafe { (self.functions.all_gather)(from, 1, self.byte, to, 1, self.byte, self.world) };
        self.check("MPI_Allgather", result).map(|()| all)
    }

    /// Sends up to [`MAX_MESSAGE_BYTES`] bytes.
    pub(super) fn send(&self, bytes: &[u8], to: usize, tag: i32) -> Result<(), WorldError> {
        // SAFETY: the bytes are readable for their length.
        let result =
            unsafe { (self.functions.send)(bytes.as_ptr().cast(), message_count(bytes), self.byte, rank_to_int(to), tag, self.world) };
        self.check("MPI_Send", result)
    }

    /// Receives up to [`MAX_MESSAGE_BYTES`] bytes from a process.
    pub(super) fn receive(&self, bytes: &mut [u8], from: usize, tag: i32) -> Result<(), WorldError> {
        self.receive_status(bytes, rank_to_int(from), tag, self.status_ignore())
    }

    /// Receives up to [`MAX_MESSAGE_BYTES`] bytes from any process, and returns the source.
    pub(super) fn receive_any(&self, bytes: &mut [u8], tag: i32) -> Result<usize, WorldError> {
        const { assert!(Abi::Standard.layout().status_bytes <= size_of::<[c_int; 16]>()) };
        let mut status: [c_int; 16] = [0; 16];
        self.receive_status(bytes, self.layout.any_source, tag, status.as_mut_ptr().cast())?;
        let source = status[self.layout.status_source / size_of::<c_int>()];
        usize::try_from(source).map_err(|_| WorldError::Call { function: "MPI_Recv", message: format!("the source is {source}") })
    }

    fn receive_status(&self, bytes: &mut [u8], from: c_int, tag: i32, status: *mut c_void) -> Result<(), WorldError> {
        let (buffer, length) = (bytes.as_mut_ptr().cast(), message_count(bytes));
        // SAFETY: the bytes are writable for their length; the status is one of this ABI, or `MPI_STATUS_IGNORE`.
        let result = unsafe { (self.functions.receive)(buffer, length, self.byte, from, tag, self.world, status) };
        self.check("MPI_Recv", result)
    }

    /// `MPI_Sendrecv`, each message of up to [`MAX_MESSAGE_BYTES`] bytes.
    pub(super) fn sendrecv(&self, bytes: &[u8], to: usize, buffer: &mut [u8], from: usize, tag: i32) -> Result<(), WorldError> {
        // SAFETY: both buffers are valid for their lengths and do not overlap.
        let result = unsafe {
            (self.functions.send_receive)(
                bytes.as_ptr().cast(),
                message_count(bytes),
                self.byte,
                rank_to_int(to),
                tag,
                buffer.as_mut_ptr().cast(),
                message_count(buffer),
                self.byte,
                rank_to_int(from),
                tag,
                self.world,
                self.status_ignore(),
            )
        };
        self.check("MPI_Sendrecv", result)
    }

    /// Converts a return code to a result.
    pub(super) fn check(&self, function: &'static str, result: c_int) -> Result<(), WorldError> {
        if result == 0 {
            return Ok(());
        }
        let mut text: [c_char; 4096] = [0; 4096];
        let mut length: c_int = 0;
        // SAFETY: the code came from this library, and no library's messages are longer than 512 characters. The last element stays zero.
        let message = unsafe {
            (self.functions.error_string)(result, text.as_mut_ptr(), &mut length);
            CStr::from_ptr(text.as_ptr()).to_string_lossy().trim().to_owned()
        };
        Err(WorldError::Call { function, message })
    }
}

/// A length as an MPI count.
pub(super) fn message_count(bytes: &[u8]) -> c_int {
    c_int::try_from(bytes.len()).expect("messages are at most a piece long")
}

/// A rank as an `int`. One that is out of range becomes one that MPI rejects.
pub(super) fn rank_to_int(process: usize) -> c_int {
    c_int::try_from(process).unwrap_or(c_int::MAX)
}

/// A loaded library, unloaded on drop.
struct LibraryHandle(*mut c_void);

impl Drop for LibraryHandle {
    fn drop(&mut self) {
        // SAFETY: the handle came from dlopen, and nothing refers to the library any more.
        unsafe { libc::dlclose(self.0) };
    }
}

impl LibraryHandle {
    fn open(file: &Path) -> Result<LibraryHandle, String> {
        let text = CString::new(file.as_os_str().as_encoded_bytes()).map_err(|_| "its name has a zero byte".to_owned())?;
        // SAFETY: loading runs the same code as in any program linked with this MPI. RTLD_LOCAL, so that the symbols of a wrong library
        // cannot shadow those of the right one.
        let library = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        if !library.is_null() {
            return Ok(LibraryHandle(library));
        }
        // SAFETY: dlerror returns null or a string valid until the next loader call of this thread.
        let reason = unsafe {
            let text = libc::dlerror();
            if text.is_null() { "it cannot be loaded".to_owned() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
        };
        // The loader's message usually starts with the file name, which the caller adds.
        Err(reason.strip_prefix(&format!("{}: ", file.display())).map(str::to_owned).unwrap_or(reason))
    }

    fn into_mpi(self, file: &Path) -> Result<LoadedMpi, String> {
        let version = self.version()?;
        let file_name = file.file_name().unwrap_or_default().to_string_lossy();
        let abi = Abi::detect(&file_name, &version).ok_or_else(|| format!("it is an unknown MPI: {}", short_name(&version)))?;
        let constant = |open_mpi: &CStr, mpich: Handle, standard: Handle| self.constant(abi, open_mpi, mpich, standard);
        Ok(LoadedMpi {
            abi,
            layout: abi.layout(),
            funneled: if abi == Abi::Standard { 1024 } else { 1 },
            version,
            file: self.loaded_path().unwrap_or_else(|| file.display().to_string()),
            world: constant(c"ompi_mpi_comm_world", 0x4400_0000, 0x101)?,
            byte: constant(c"ompi_mpi_byte", 0x4c00_010d, 0x247)?,
            errors_return: constant(c"ompi_mpi_errors_return", 0x5400_0001, 0x143)?,
            functions: self.functions()?,
            // From here on it stays loaded, because pointers to it may exist anywhere.
            handle: ManuallyDrop::new(self),
        })
    }

    fn functions(&self) -> Result<CoreFunctions, String> {
        // SAFETY: the fields have the types that MPI gives these functions; handles are passed as machine words, of which an ABI with
        // smaller handles reads the lower half.
        unsafe {
            Ok(CoreFunctions {
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
    fn loaded_path(&self) -> Option<String> {
        let address = self.address_of(c"MPI_Get_library_version").ok()?;
        let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: dladdr fills the struct if it knows the address, and all zeros are valid, too; the name lives as long as the library.
        unsafe {
            let known = libc::dladdr(address as *const c_void, found.as_mut_ptr()) != 0;
            let name = found.assume_init().dli_fname;
            (known && !name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` is a function pointer of the type that the function of this name has.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let address = self.address_of(name)?;
        // SAFETY: sizes agree, and the caller guarantees the type.
        Ok(unsafe { std::mem::transmute_copy::<usize, F>(&address) })
    }

    /// A constant: a symbol in Open MPI, a number in the other ABIs.
    fn constant(&self, abi: Abi, open_mpi: &CStr, mpich: Handle, standard: Handle) -> Result<Handle, String> {
        match abi {
            Abi::OpenMpi => self.address_of(open_mpi),
            Abi::Mpich => Ok(mpich),
            Abi::Standard => Ok(standard),
        }
    }

    fn address_of(&self, name: &CStr) -> Result<usize, String> {
        // SAFETY: looks up a name in a loaded library; nothing is called.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) } as usize;
        if address == 0 { Err(format!("it has no {}", name.to_string_lossy())) } else { Ok(address) }
    }
}
