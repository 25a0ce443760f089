//! The MPI library loaded by the program: its ABI, and the functions that the probe itself calls.
//!
//! The probe uses the profiling names (`PMPI_`), so that no other tool sees its calls.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use sintonia_mpi::{Abi, AbiLayout, GetLibraryVersion, version_text};

/// An MPI handle as a machine word, as C passes it in a register.
pub(crate) type Handle = usize;

type Call1 = unsafe extern "C" fn(usize) -> c_int;
type Call2 = unsafe extern "C" fn(usize, usize) -> c_int;
type Call3 = unsafe extern "C" fn(usize, usize, usize) -> c_int;
type Convert = unsafe extern "C" fn(c_int) -> usize;
type DistGraphNeighbors = unsafe extern "C" fn(usize, c_int, *mut c_int, *mut c_int, c_int, *mut c_int, *mut c_int) -> c_int;

/// The MPI library of this process.
pub(crate) struct ProgramMpi {
    /// Its ABI.
    pub abi: Abi,
    /// Sizes and constants of that ABI.
    pub layout: AbiLayout,
    /// Version text.
    pub version: String,
    /// Path of its file.
    pub path: String,
    /// `MPI_COMM_WORLD`.
    pub comm_world: Handle,
    /// `MPI_COMM_SELF`.
    pub comm_self: Handle,
    /// `MPI_COMM_NULL`.
    pub comm_null: Handle,
    /// `MPI_REQUEST_NULL`.
    pub request_null: Handle,
    /// `MPI_BYTE`.
    pub byte: Handle,
    /// `MPI_LOCK_SHARED`.
    pub shared_lock: i32,
    /// The request shared by operations that complete immediately, if it is a fixed one.
    pub complete_request: Handle,
    /// MPICH with the standard ABI, where handles are addresses: the requests that were found to be shared.
    shared_requests: [AtomicUsize; 4],
    /// Whether it is MPICH.
    is_mpich: bool,
    /// Whether a multiple-completion call reports errors of single requests only if it gets statuses: Open MPI from version 5 on.
    pub needs_statuses_for_errors: bool,
    functions: PmpiFunctions,
    fortran: OnceLock<FortranSentinels>,
    /// `dlopen` handle.
    loaded: usize,
}

struct PmpiFunctions {
    initialized: Call1,
    query_thread: Call1,
    comm_rank: Call2,
    comm_size: Call2,
    comm_remote_size: Call2,
    comm_test_inter: Call2,
    comm_group: Call2,
    comm_remote_group: Call2,
    comm_get_parent: Option<Call1>,
    comm_dup: Call2,
    topology: Call2,
    cart_dimensions: Call2,
    cart_shift: unsafe extern "C" fn(usize, c_int, c_int, *mut c_int, *mut c_int) -> c_int,
    graph_neighbors_count: unsafe extern "C" fn(usize, c_int, *mut c_int) -> c_int,
    graph_neighbors: unsafe extern "C" fn(usize, c_int, c_int, *mut c_int) -> c_int,
    dist_graph_neighbors_count: Option<unsafe extern "C" fn(usize, *mut c_int, *mut c_int, *mut c_int) -> c_int>,
    dist_graph_neighbors: Option<DistGraphNeighbors>,
    comm_free: Call1,
    group_size: Call2,
    group_rank: Call2,
    group_translate_ranks: unsafe extern "C" fn(usize, c_int, *const c_int, usize, *mut c_int) -> c_int,
    group_free: Call1,
    allgather: unsafe extern "C" fn(*const c_void, c_int, usize, *mut c_void, c_int, usize, usize) -> c_int,
    send: unsafe extern "C" fn(*const c_void, c_int, usize, c_int, c_int, usize) -> c_int,
    receive: unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, usize) -> c_int,
    type_size: Call2,
    type_size_x: Option<Call2>,
    get_count: Call3,
    test_cancelled: Call2,
    session_group: Option<unsafe extern "C" fn(usize, *const c_char, *mut usize) -> c_int>,
    from_fortran: [Option<Convert>; 6],
}

/// Contents of an `MPI_Status`.
pub(crate) struct MpiStatus {
    /// Source of the message.
    pub source: i32,
    /// Its tag.
    pub tag: i32,
    /// Size of the message.
    pub bytes: u64,
    /// Whether the receive was cancelled, so that there was no message.
    pub cancelled: bool,
}

/// Kinds of handles that have a Fortran form.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum HandleKind {
    Communicator,
    Datatype,
    Request,
    Window,
    File,
    Group,
}

/// The neighbours of a process in a topology, as ranks of the communicator.
pub(crate) struct CommNeighbors {
    /// Neighbours that send to it.
    pub sources: Vec<i32>,
    /// Neighbours that it sends to.
    pub destinations: Vec<i32>,
}

/// Addresses of the special constants in Fortran.
#[derive(Default)]
struct FortranSentinels {
    status_ignore: Vec<usize>,
    in_place: Vec<usize>,
}

static LIBRARY_PATH: OnceLock<PathBuf> = OnceLock::new();
static LIBRARY: OnceLock<Option<ProgramMpi>> = OnceLock::new();
/// The same as a plain pointer, once it is open: one load.
static OPENED: AtomicPtr<ProgramMpi> = AtomicPtr::new(std::ptr::null_mut());

/// Sets the library of this process. The first one wins.
pub(crate) fn set_path(path: &Path) {
    LIBRARY_PATH.get_or_init(|| path.to_path_buf());
}

/// Whether an MPI library is loaded.
pub(crate) fn is_loaded() -> bool {
    LIBRARY_PATH.get().is_some()
}

/// Opens the loaded library. Not before the program calls it: until then its initialisers may not have run.
pub(crate) fn open() -> Option<&'static ProgramMpi> {
    let library = LIBRARY.get_or_init(|| ProgramMpi::open(LIBRARY_PATH.get()?)).as_ref()?;
    OPENED.store((&raw const *library).cast_mut(), Ordering::Release);
    Some(library)
}

/// The MPI library of this process, once it is open; `None` also if it is not supported.
#[inline(always)]
pub(crate) fn library() -> Option<&'static ProgramMpi> {
    // SAFETY: null, or a reference to a static that is never written again.
    unsafe { OPENED.load(Ordering::Acquire).as_ref() }
}

/// Whether a number of MPICH is that of a predefined object: it is marked in the two highest bits.
#[inline(always)]
const fn is_predefined(number: u32) -> bool {
    number >> 30 == 1
}

impl ProgramMpi {
    fn open(path: &Path) -> Option<ProgramMpi> {
        let text = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
        // SAFETY: the library is already loaded; nothing is loaded or run.
        let library = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        let find = |name: &str| find(library, name);
        // SAFETY: a function of this name has this type.
        let version = unsafe { version_text(as_function::<GetLibraryVersion>(find("Get_library_version")?)) };
        let abi = Abi::detect(&path.file_name()?.to_string_lossy(), &version)?;
        let constant = |openmpi: &str, mpich: usize, standard: usize| match abi {
            // Copy relocations place the library's variables in the program, so look them up globally first.
            Abi::OpenMpi => symbol(libc::RTLD_DEFAULT, openmpi).or_else(|| symbol(library, openmpi)),
            Abi::Mpich => Some(mpich),
            Abi::Standard => Some(standard),
        };
        let old = ["Open MPI v1", "Open MPI v2", "Open MPI v3", "Open MPI v4"].iter().any(|text| version.starts_with(text));
        let is_mpich = version.starts_with("MPICH");
        Some(ProgramMpi {
            abi,
            layout: abi.layout(),
            needs_statuses_for_errors: abi == Abi::OpenMpi && !old,
            version,
            path: path.to_string_lossy().into_owned(),
            comm_world: constant("ompi_mpi_comm_world", 0x4400_0000, 0x101)?,
            comm_self: constant("ompi_mpi_comm_self", 0x4400_0001, 0x102)?,
            comm_null: constant("ompi_mpi_comm_null", 0x0400_0000, 0x100)?,
            request_null: constant("ompi_request_null", 0x2c00_0000, 0x180)?,
            byte: constant("ompi_mpi_byte", 0x4c00_010d, 583)?,
            shared_lock: match abi {
                Abi::OpenMpi => 2,
                Abi::Mpich => 235,
                Abi::Standard => 302,
            },
            complete_request: constant("ompi_request_empty", 0, 0).unwrap_or(0),
            shared_requests: Default::default(),
            is_mpich,
            functions: PmpiFunctions::find(abi, &find)?,
            fortran: OnceLock::new(),
            loaded: library as usize,
        })
    }

    /// The address of an MPI function, by its name without `MPI_`.
    pub(crate) fn function(&self, name: &str) -> Option<usize> {
        find(self.loaded as *mut c_void, name)
    }

    /// The address of a variable of the library, as the program sees it.
    pub(crate) fn variable(&self, name: &str) -> Option<usize> {
        symbol(libc::RTLD_DEFAULT, name).or_else(|| symbol(self.loaded as *mut c_void, name))
    }

    /// Whether MPI has been initialised.
    pub(crate) fn initialized(&self) -> bool {
        let mut flag: c_int = 0;
        // SAFETY: MPI_Initialized may be called at any time, with a pointer to an int.
        unsafe { (self.functions.initialized)(&raw mut flag as usize) == 0 && flag != 0 }
    }

    /// Whether the thread level is `MPI_THREAD_MULTIPLE`.
    pub(crate) fn allows_threads(&self) -> bool {
        let mut level: c_int = 0;
        // SAFETY: MPI has been initialised, and the pointer is valid for an int.
        let result = unsafe { (self.functions.query_thread)(&raw mut level as usize) };
        result == 0 && level == self.layout.thread_multiple
    }

    fn query(&self, call: Call2, handle: Handle) -> Option<i32> {
        let mut number: c_int = 0;
        // SAFETY: all functions passed here take a valid handle and a pointer to an int.
        let result = unsafe { call(handle, &raw mut number as usize) };
        (result == 0).then_some(number)
    }

    /// The rank of this process in a communicator.
    pub(crate) fn rank(&self, communicator: Handle) -> Option<i32> {
        self.query(self.functions.comm_rank, communicator)
    }

    /// The size of a communicator.
    pub(crate) fn size(&self, communicator: Handle) -> Option<i32> {
        self.query(self.functions.comm_size, communicator)
    }

    /// Size of the remote group of an intercommunicator; `None` for an intracommunicator.
    pub(crate) fn remote_size(&self, communicator: Handle) -> Option<i32> {
        let between = self.query(self.functions.comm_test_inter, communicator)? != 0;
        if between { self.query(self.functions.comm_remote_size, communicator) } else { None }
    }

    /// The neighbours of this process, if the communicator has a topology.
    pub(crate) fn neighbors(&self, communicator: Handle, rank: i32) -> Option<CommNeighbors> {
        let kind = self.query(self.functions.topology, communicator)?;
        let [cart, graph, dist_graph] = self.layout.topologies;
        match kind {
            _ if kind == cart => self.cart_neighbors(communicator).map(CommNeighbors::symmetric),
            _ if kind == graph => self.graph_neighbors(communicator, rank).map(CommNeighbors::symmetric),
            _ if kind == dist_graph => self.dist_graph_neighbors(communicator),
            _ => None,
        }
    }

    /// On a grid: predecessor and successor in each dimension, the order used by neighborhood collectives.
    fn cart_neighbors(&self, communicator: Handle) -> Option<Vec<i32>> {
        let dimensions = self.query(self.functions.cart_dimensions, communicator)?;
        let mut neighbors = Vec::new();
        for dimension in 0..dimensions {
            let (mut before, mut after) = (0, 0);
            // SAFETY: the communicator has that dimension, and the pointers are valid.
            let result = unsafe { (self.functions.cart_shift)(communicator, dimension, 1, &mut before, &mut after) };
            if result != 0 {
                return None;
            }
            neighbors.extend([before, after]);
        }
        Some(neighbors)
    }

    fn graph_neighbors(&self, communicator: Handle, rank: i32) -> Option<Vec<i32>> {
        let mut count = 0;
        // SAFETY: the communicator has a graph topology, and the pointer is valid.
        if unsafe { (self.functions.graph_neighbors_count)(communicator, rank, &mut count) } != 0 {
            return None;
        }
        let mut neighbors = int_buffer(count);
        // SAFETY: the buffer has as many elements as MPI reported neighbours.
        let result = unsafe { (self.functions.graph_neighbors)(communicator, rank, count, neighbors.as_mut_ptr()) };
        (result == 0).then_some(neighbors)
    }

    fn dist_graph_neighbors(&self, communicator: Handle) -> Option<CommNeighbors> {
        let (mut from, mut to, mut weighted) = (0, 0, 0);
        // SAFETY: the communicator has a distributed graph topology, and the pointers are valid.
        if unsafe { self.functions.dist_graph_neighbors_count?(communicator, &mut from, &mut to, &mut weighted) } != 0 {
            return None;
        }
        let [mut sources, mut source_weights, mut destinations, mut destination_weights] = [from, from, to, to].map(int_buffer);
        // SAFETY: the buffers have as many elements as MPI reported neighbours.
        let result = unsafe {
            self.functions.dist_graph_neighbors?(
                communicator,
                from,
                sources.as_mut_ptr(),
                source_weights.as_mut_ptr(),
                to,
                destinations.as_mut_ptr(),
                destination_weights.as_mut_ptr(),
            )
        };
        (result == 0).then_some(CommNeighbors { sources, destinations })
    }

    /// The group of a communicator, or its remote group; free it with [`ProgramMpi::free_group`].
    pub(crate) fn group(&self, communicator: Handle, remote: bool) -> Option<Handle> {
        let call = if remote { self.functions.comm_remote_group } else { self.functions.comm_group };
        // SAFETY: a valid communicator, and a pointer to space for a handle.
        self.created_handle(|place| unsafe { call(communicator, place) })
    }

    /// The group of all processes known to a session.
    pub(crate) fn session_group(&self, session: Handle) -> Option<Handle> {
        let call = self.functions.session_group?;
        // SAFETY: a valid session, a string, and a pointer to space for a handle.
        self.created_handle(|place| unsafe { call(session, c"mpi://WORLD".as_ptr(), place as *mut usize) })
    }

    fn created_handle(&self, call: impl FnOnce(usize) -> c_int) -> Option<Handle> {
        let mut handle = 0usize;
        (call(&raw mut handle as usize) == 0).then(|| self.truncate(handle))
    }

    /// Frees a group.
    pub(crate) fn free_group(&self, mut group: Handle) {
        // SAFETY: a group that MPI returned to the probe.
        unsafe { (self.functions.group_free)(&raw mut group as usize) };
    }

    /// Ranks of a group's members in another group; `MPI_UNDEFINED` for those not in it.
    pub(crate) fn translate(&self, group: Handle, into: Handle) -> Option<Vec<i32>> {
        let size = self.query(self.functions.group_size, group)?;
        let own: Vec<c_int> = (0..size).collect();
        let mut other = vec![0; own.len()];
        // SAFETY: both arrays have `size` elements.
        let result = unsafe { (self.functions.group_translate_ranks)(group, size, own.as_ptr(), into, other.as_mut_ptr()) };
        (result == 0).then_some(other)
    }

    /// Size of a group, and rank of this process in it.
    pub(crate) fn group_size_and_rank(&self, group: Handle) -> Option<(i32, i32)> {
        Some((self.query(self.functions.group_size, group)?, self.query(self.functions.group_rank, group)?))
    }

    /// Whether this process was spawned by other MPI processes.
    pub(crate) fn spawned(&self) -> bool {
        let Some(call) = self.functions.comm_get_parent else { return false };
        // SAFETY: MPI has been initialised, and the pointer is valid for a handle.
        self.created_handle(|place| unsafe { call(place) }).is_some_and(|parent| parent != self.comm_null)
    }

    /// Duplicates a communicator for the probe's own use.
    pub(crate) fn duplicate(&self, communicator: Handle) -> Option<Handle> {
        // SAFETY: a valid communicator, and a pointer to space for a handle.
        self.created_handle(|place| unsafe { (self.functions.comm_dup)(communicator, place) })
    }

    /// Frees a communicator of the probe.
    pub(crate) fn free(&self, mut communicator: Handle) {
        // SAFETY: a communicator created by `duplicate`.
        unsafe { (self.functions.comm_free)(&raw mut communicator as usize) };
    }

    /// `MPI_Allgather` of one value per process.
    pub(crate) fn all_gather<T: Copy + Default>(&self, mine: &T, communicator: Handle, size: usize) -> Option<Vec<T>> {
        let mut all = vec![T::default(); size];
        let bytes = size_of::<T>() as c_int;
        // SAFETY: `all` has room for `size` values.
        let result = unsafe {
            (self.functions.allgather)((&raw const *mine).cast(), bytes, self.byte, all.as_mut_ptr().cast(), bytes, self.byte, communicator)
        };
        (result == 0).then_some(all)
    }

    /// Sends bytes to a process.
    pub(crate) fn send(&self, bytes: &[u8], to: i32, communicator: Handle) -> bool {
        // SAFETY: `bytes` is readable for its length.
        unsafe { (self.functions.send)(bytes.as_ptr().cast(), bytes.len() as c_int, self.byte, to, 1, communicator) == 0 }
    }

    /// Receives bytes from a process.
    pub(crate) fn receive(&self, bytes: &mut [u8], from: i32, communicator: Handle) -> bool {
        let (ignore, length) = (self.layout.status_ignore, bytes.len() as c_int);
        // SAFETY: `bytes` is writable for its length.
        unsafe { (self.functions.receive)(bytes.as_mut_ptr().cast(), length, self.byte, from, 1, communicator, ignore) == 0 }
    }

    /// The size of a datatype in bytes.
    pub(crate) fn datatype_size(&self, datatype: Handle) -> Option<u64> {
        if let Some(call) = self.functions.type_size_x {
            let mut size = 0i64;
            // SAFETY: a datatype that MPI accepted, and a pointer to an MPI_Count.
            let result = unsafe { call(datatype, &raw mut size as usize) };
            return (result == 0 && size >= 0).then_some(size as u64);
        }
        self.query(self.functions.type_size, datatype).and_then(|size| u64::try_from(size).ok())
    }

    /// Reads a status that MPI has filled.
    ///
    /// # Safety
    /// `status` is the address of a filled status, in C's or Fortran's form (they have the same layout in every ABI).
    #[inline(always)]
    pub(crate) unsafe fn status(&self, status: usize) -> MpiStatus {
        // SAFETY: the layout gives the offsets of the fields; other values are queried from MPI.
        unsafe {
            let field = |offset: usize| ((status + offset) as *const i32).read_unaligned();
            let (bytes, cancelled) = match self.abi {
                Abi::OpenMpi => (((status + 16) as *const u64).read_unaligned(), field(12) != 0),
                Abi::Mpich => (u64::from(field(0) as u32) | (field(4) as u32 as u64 >> 1) << 32, field(4) & 1 != 0),
                Abi::Standard => {
                    let (mut count, mut cancelled): (c_int, c_int) = (0, 0);
                    (self.functions.get_count)(status, self.byte, &raw mut count as usize);
                    (self.functions.test_cancelled)(status, &raw mut cancelled as usize);
                    (u64::try_from(count).unwrap_or(0), cancelled != 0)
                }
            };
            MpiStatus { source: field(self.layout.status_source), tag: field(self.layout.status_source + 4), bytes, cancelled }
        }
    }

    /// Converts a Fortran handle to C.
    #[inline(always)]
    pub(crate) fn c_handle(&self, kind: HandleKind, number: i32) -> Handle {
        match (self.abi, self.functions.from_fortran[kind as usize]) {
            (Abi::Mpich, _) if !matches!(kind, HandleKind::File) => number as u32 as usize,
            // SAFETY: handle conversion is a table lookup, allowed at any time.
            (_, Some(convert)) => unsafe { convert(number) },
            (_, None) => number as u32 as usize,
        }
    }

    /// Clears the bits of a register or memory word that do not belong to the handle.
    #[inline(always)]
    pub(crate) fn truncate(&self, handle: usize) -> Handle {
        if self.layout.handle_bytes == 4 { handle as u32 as usize } else { handle }
    }

    /// Whether the request is shared by all operations that complete immediately.
    #[inline(always)]
    pub(crate) fn is_shared_request(&self, request: Handle) -> bool {
        match self.abi {
            Abi::OpenMpi => request == self.complete_request,
            Abi::Mpich => is_predefined(request as u32),
            Abi::Standard => self.shared_requests.iter().any(|shared| shared.load(Ordering::Relaxed) == request),
        }
    }

    /// The same for a request that a call has just created.
    #[inline(always)]
    pub(crate) fn is_created_request_shared(&self, request: Handle) -> bool {
        self.is_shared_request(request) || self.abi == Abi::Standard && self.is_mpich && self.find_shared_request(request)
    }

    /// Finds out whether MPICH shares a request, and remembers it.
    fn find_shared_request(&self, request: Handle) -> bool {
        // SAFETY: the handle of a pending request is the address of an object of MPICH, which begins with its number.
        let is_shared = is_predefined(unsafe { *(request as *const u32) });
        if is_shared {
            let free = |shared: &&AtomicUsize| shared.compare_exchange(0, request, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            return self.shared_requests.iter().find(free).is_some();
        }
        false
    }

    /// Whether the argument is `MPI_STATUS_IGNORE` or `MPI_STATUSES_IGNORE`.
    #[inline(always)]
    pub(crate) fn ignores_status(&self, address: usize, fortran: bool) -> bool {
        if fortran { self.sentinels().status_ignore.contains(&address) } else { address == self.layout.status_ignore }
    }

    /// Whether the argument is `MPI_IN_PLACE`.
    #[inline(always)]
    pub(crate) fn is_in_place(&self, address: usize, fortran: bool) -> bool {
        if fortran { self.sentinels().in_place.contains(&address) } else { address == self.layout.in_place }
    }

    fn sentinels(&self) -> &FortranSentinels {
        self.fortran.get_or_init(|| FortranSentinels::find(self.abi))
    }
}

impl CommNeighbors {
    fn symmetric(neighbors: Vec<i32>) -> CommNeighbors {
        CommNeighbors { sources: neighbors.clone(), destinations: neighbors }
    }
}

/// A buffer of `count` integers with a valid address even if it is empty: MPI may require one.
fn int_buffer(count: c_int) -> Vec<c_int> {
    let mut places = Vec::with_capacity(1);
    places.resize(usize::try_from(count).unwrap_or(0), 0);
    places
}

impl FortranSentinels {
    fn find(abi: Abi) -> FortranSentinels {
        let variable = |name: &str| symbol(libc::RTLD_DEFAULT, name);
        // SAFETY: these variables of MPICH hold an address.
        let pointer = |name: &str| variable(name).map(|place| unsafe { *(place as *const usize) }).filter(|address| *address != 0);
        if abi == Abi::OpenMpi {
            let mangled = |base: &str| {
                [base.to_string(), format!("{base}_"), format!("{base}__"), base.to_uppercase()]
                    .iter()
                    .filter_map(|n| variable(n))
                    .collect::<Vec<_>>()
            };
            let status_ignore = [mangled("mpi_fortran_status_ignore"), mangled("mpi_fortran_statuses_ignore")].concat();
            return FortranSentinels { status_ignore, in_place: mangled("mpi_fortran_in_place") };
        }
        let status_ignore = [
            pointer("MPI_F_STATUS_IGNORE"),
            pointer("MPI_F_STATUSES_IGNORE"),
            pointer("MPI_F08_STATUS_IGNORE"),
            pointer("MPI_F08_STATUSES_IGNORE"),
            variable("MPIR_F08_MPI_STATUS_IGNORE_OBJ"),
            variable("MPIR_F08_MPI_STATUSES_IGNORE_OBJ"),
        ];
        let in_place = [pointer("MPIR_F_MPI_IN_PLACE"), variable("MPIR_F08_MPI_IN_PLACE")];
        FortranSentinels {
            status_ignore: status_ignore.into_iter().flatten().collect(),
            in_place: in_place.into_iter().flatten().collect(),
        }
    }
}

impl PmpiFunctions {
    fn find(abi: Abi, find: &impl Fn(&str) -> Option<usize>) -> Option<PmpiFunctions> {
        // SAFETY (all): the functions have the types that MPI gives them; handles are passed as machine words, which works for every ABI.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: see above.
                unsafe { as_function(find($name)?) }
            };
        }
        macro_rules! optional {
            ($name:literal) => {
                // SAFETY: see above.
                find($name).map(|address| unsafe { as_function(address) })
            };
        }
        let convert = |name: &str| -> Option<Convert> {
            let name = if abi == Abi::Standard { format!("{name}_fromint") } else { format!("{name}_f2c") };
            // SAFETY: conversions take an int and return a handle.
            find(&name).map(|address| unsafe { as_function(address) })
        };
        Some(PmpiFunctions {
            initialized: function!("Initialized"),
            query_thread: function!("Query_thread"),
            comm_rank: function!("Comm_rank"),
            comm_size: function!("Comm_size"),
            comm_remote_size: function!("Comm_remote_size"),
            comm_test_inter: function!("Comm_test_inter"),
            comm_group: function!("Comm_group"),
            comm_remote_group: function!("Comm_remote_group"),
            comm_get_parent: optional!("Comm_get_parent"),
            comm_dup: function!("Comm_dup"),
            topology: function!("Topo_test"),
            cart_dimensions: function!("Cartdim_get"),
            cart_shift: function!("Cart_shift"),
            graph_neighbors_count: function!("Graph_neighbors_count"),
            graph_neighbors: function!("Graph_neighbors"),
            dist_graph_neighbors_count: optional!("Dist_graph_neighbors_count"),
            dist_graph_neighbors: optional!("Dist_graph_neighbors"),
            comm_free: function!("Comm_free"),
            group_size: function!("Group_size"),
            group_rank: function!("Group_rank"),
            group_translate_ranks: function!("Group_translate_ranks"),
            group_free: function!("Group_free"),
            allgather: function!("Allgather"),
            send: function!("Send"),
            receive: function!("Recv"),
            type_size: function!("Type_size"),
            type_size_x: optional!("Type_size_x"),
            get_count: function!("Get_count"),
            test_cancelled: function!("Test_cancelled"),
            session_group: optional!("Group_from_session_pset"),
            from_fortran: [convert("Comm"), convert("Type"), convert("Request"), convert("Win"), convert("File"), convert("Group")],
        })
    }
}

/// An address as a function pointer.
///
/// # Safety
/// `F` is a function pointer of the type that the function at this address has.
pub(crate) unsafe fn as_function<F: Copy>(address: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    // SAFETY: sizes agree, and the caller guarantees the type.
    unsafe { std::mem::transmute_copy::<usize, F>(&address) }
}

/// The address of a symbol of a library.
pub(crate) fn symbol(library: *mut c_void, name: &str) -> Option<usize> {
    let name = CString::new(name).ok()?;
    // SAFETY: looks up a name; nothing is called.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) } as usize;
    (address != 0).then_some(address)
}

fn find(library: *mut c_void, name: &str) -> Option<usize> {
    symbol(library, &format!("PMPI_{name}")).or_else(|| symbol(library, &format!("MPI_{name}")))
}
