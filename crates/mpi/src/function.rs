//! The table of MPI functions: what each one does, and the positions of its arguments.

/// What a function does. The probe observes all functions of one role with the same code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionRole {
    /// Sends one message.
    Send,
    /// Receives one message.
    Receive,
    /// Sends one message and receives another.
    SendReceive,
    /// Looks for a message without receiving it.
    Probe,
    /// Looks for a message and removes it from matching.
    MatchedProbe,
    /// Receives a message returned by a matched probe.
    MatchedReceive,
    /// Starts one persistent request.
    Start,
    /// Starts an array of persistent requests.
    StartAll,
    /// Waits or tests for one request.
    CompleteOne,
    /// Waits or tests for all requests of an array.
    CompleteAll,
    /// Waits or tests for one request of an array.
    CompleteAny,
    /// Waits or tests for some requests of an array.
    CompleteSome,
    /// Frees a request that may not be complete.
    RequestFree,
    /// Cancels a request.
    Cancel,
    /// Creates a request that is not for communication.
    RequestCreate,
    /// Marks partitions of a partitioned send as ready.
    PartitionReady,
    /// Tests whether a partition has arrived.
    PartitionArrived,
    /// Collective communication.
    Collective(CollectiveOp),
    /// Creates a communicator, or connects two worlds.
    CommunicatorCreate,
    /// Frees a communicator.
    CommunicatorFree,
    /// One-sided transfer to a target.
    Put,
    /// One-sided transfer from a target.
    Get,
    /// One-sided transfer to and from a target.
    Exchange,
    /// Creates a window.
    WindowCreate,
    /// Frees a window.
    WindowFree,
    /// Synchronises one-sided communication.
    WindowSync,
    /// Opens a file.
    FileOpen,
    /// Closes a file.
    FileClose,
    /// Reads from a file.
    FileRead,
    /// Writes to a file.
    FileWrite,
    /// Any other file operation that can take time.
    FileOther,
    /// Creates or commits a datatype.
    Datatype,
    /// Frees a datatype.
    DatatypeFree,
    /// Initialises MPI.
    Init,
    /// Finalises MPI.
    Finalize,
    /// Initialises a session.
    SessionInit,
    /// Finalises a session.
    SessionFinalize,
    /// Aborts all processes.
    Abort,
    /// `MPI_Pcontrol`: switches recording on and off.
    Switch,
    /// Takes time, but transfers no data between processes.
    Other,
    /// Local query that returns at once; not intercepted.
    Local,
}

/// Kind of the object that a call is made on, as opposed to one that it creates or frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A communicator.
    Communicator,
    /// A window.
    Window,
    /// A file.
    File,
}

impl FunctionRole {
    /// Whether it accesses, synchronises, creates or frees a window.
    pub const fn is_one_sided(self) -> bool {
        matches!(
            self,
            FunctionRole::Put
                | FunctionRole::Get
                | FunctionRole::Exchange
                | FunctionRole::WindowCreate
                | FunctionRole::WindowFree
                | FunctionRole::WindowSync
        )
    }

    /// Whether it is a file operation.
    pub const fn is_file(self) -> bool {
        matches!(
            self,
            FunctionRole::FileOpen | FunctionRole::FileClose | FunctionRole::FileRead | FunctionRole::FileWrite | FunctionRole::FileOther
        )
    }

    /// Whether it completes requests.
    pub const fn is_completion(self) -> bool {
        matches!(self, FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome)
    }

    /// Kind of the object a call is made on. Windows and files are created on a communicator; later calls are made on the object itself.
    pub const fn object_kind(self) -> ObjectKind {
        match self {
            FunctionRole::WindowCreate | FunctionRole::FileOpen => ObjectKind::Communicator,
            _ if self.is_one_sided() => ObjectKind::Window,
            _ if self.is_file() => ObjectKind::File,
            _ => ObjectKind::Communicator,
        }
    }
}

/// A collective communication operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MPI's")]
pub enum CollectiveOp {
    Barrier,
    Broadcast,
    Reduce,
    Allreduce,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
}

impl CollectiveOp {
    /// All operations, in order of their discriminants.
    pub const ALL: [CollectiveOp; 22] = {
        use CollectiveOp::*;
        [
            Barrier,
            Broadcast,
            Reduce,
            Allreduce,
            Gather,
            Gatherv,
            Scatter,
            Scatterv,
            Allgather,
            Allgatherv,
            Alltoall,
            Alltoallv,
            Alltoallw,
            ReduceScatter,
            ReduceScatterBlock,
            Scan,
            Exscan,
            NeighborAllgather,
            NeighborAllgatherv,
            NeighborAlltoall,
            NeighborAlltoallv,
            NeighborAlltoallw,
        ]
    };

    /// Whether it is a neighborhood collective.
    pub const fn is_neighborhood(self) -> bool {
        use CollectiveOp::*;
        matches!(self, NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw)
    }
}

/// Whether an operation is blocking, nonblocking or persistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockingMode {
    /// Complete when the call returns.
    Blocking,
    /// Complete when its request completes.
    Nonblocking,
    /// Started repeatedly through its request.
    Persistent,
}

/// Index of each argument that the probe reads, counting from 0 in the C binding; [`ArgumentSlots::ABSENT`] for missing ones.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of MPI's parameters")]
pub struct ArgumentSlots {
    pub object: u8,
    pub window: u8,
    pub file: u8,
    pub created: u8,
    pub request: u8,
    pub status: u8,
    pub message: u8,
    pub flag: u8,
    pub index: u8,
    pub outcount: u8,
    pub length: u8,
    pub partitions: u8,
    pub root: u8,
    pub dest: u8,
    pub source: u8,
    pub send_tag: u8,
    pub recv_tag: u8,
    pub level: u8,
    pub send_buffer: u8,
    pub recv_buffer: u8,
    pub send_count: u8,
    pub send_type: u8,
    pub recv_count: u8,
    pub recv_type: u8,
}

impl ArgumentSlots {
    /// Index of an argument that the function does not have.
    pub const ABSENT: u8 = u8::MAX;

    /// No arguments.
    pub const NONE: ArgumentSlots = {
        const A: u8 = ArgumentSlots::ABSENT;
        ArgumentSlots {
            object: A,
            window: A,
            file: A,
            created: A,
            request: A,
            status: A,
            message: A,
            flag: A,
            index: A,
            outcount: A,
            length: A,
            partitions: A,
            root: A,
            dest: A,
            source: A,
            send_tag: A,
            recv_tag: A,
            level: A,
            send_buffer: A,
            recv_buffer: A,
            send_count: A,
            send_type: A,
            recv_count: A,
            recv_type: A,
        }
    };
}

impl ArgumentSlots {
    /// Applies a function to all present indices.
    pub fn map_indices(&self, place: impl Fn(u8) -> u8) -> ArgumentSlots {
        let at = |slot: u8| if slot == ArgumentSlots::ABSENT { slot } else { place(slot) };
        ArgumentSlots {
            object: at(self.object),
            window: at(self.window),
            file: at(self.file),
            created: at(self.created),
            request: at(self.request),
            status: at(self.status),
            message: at(self.message),
            flag: at(self.flag),
            index: at(self.index),
            outcount: at(self.outcount),
            length: at(self.length),
            partitions: at(self.partitions),
            root: at(self.root),
            dest: at(self.dest),
            source: at(self.source),
            send_tag: at(self.send_tag),
            recv_tag: at(self.recv_tag),
            level: at(self.level),
            send_buffer: at(self.send_buffer),
            recv_buffer: at(self.recv_buffer),
            send_count: at(self.send_count),
            send_type: at(self.send_type),
            recv_count: at(self.recv_count),
            recv_type: at(self.recv_type),
        }
    }
}

/// One MPI function.
#[derive(Debug)]
pub struct MpiFunction {
    /// Its name in C.
    pub name: &'static str,
    /// What it does.
    pub role: FunctionRole,
    /// Whether it is blocking, nonblocking or persistent.
    pub mode: BlockingMode,
    /// Whether `mpif.h` and `use mpi` provide it.
    pub fortran: bool,
    /// Whether `mpi_f08` provides it.
    pub f08: bool,
    /// Whether it has a large-count variant.
    pub large: bool,
    /// Number of parameters in C.
    pub parameters: u8,
    /// Number of leading parameters that Fortran lacks (`argc`, `argv`).
    pub c_only: u8,
    /// Number of string parameters; Fortran compilers pass a hidden length for each.
    pub strings: u8,
    /// Positions of its arguments.
    pub slots: ArgumentSlots,
}

/// All MPI functions, sorted by name.
pub static FUNCTIONS: &[MpiFunction] = &include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// An MPI function, as its index in [`FUNCTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u16);

impl FunctionId {
    /// Finds a function by its C name.
    pub fn from_name(name: &str) -> Option<FunctionId> {
        FUNCTIONS.binary_search_by(|f| f.name.cmp(name)).ok().map(|place| FunctionId(place as u16))
    }

    /// The function with this index, if it exists.
    pub fn from_index(number: u16) -> Option<FunctionId> {
        (usize::from(number) < FUNCTIONS.len()).then_some(FunctionId(number))
    }

    /// Its entry in [`FUNCTIONS`].
    pub fn definition(self) -> &'static MpiFunction {
        &FUNCTIONS[usize::from(self.0)]
    }

    /// Its name in C.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// What it does.
    pub fn role(self) -> FunctionRole {
        self.definition().role
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_sorted_so_that_names_can_be_searched() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(FunctionId::from_name("MPI_Send").map(FunctionId::name), Some("MPI_Send"));
        assert_eq!(FunctionId::from_name("MPI_Nothing"), None);
    }

    #[test]
    fn slots_point_at_the_arguments_of_the_c_binding() {
        let send = FunctionId::from_name("MPI_Send").unwrap().definition();
        assert_eq!((send.slots.send_count, send.slots.dest, send.slots.send_tag, send.slots.object), (1, 3, 4, 5));
        let sendrecv = FunctionId::from_name("MPI_Sendrecv").unwrap().definition();
        assert_eq!((sendrecv.slots.source, sendrecv.slots.recv_tag, sendrecv.slots.status), (8, 9, 11));
        let waitsome = FunctionId::from_name("MPI_Waitsome").unwrap().definition();
        assert_eq!((waitsome.slots.length, waitsome.slots.request, waitsome.slots.outcount, waitsome.slots.index), (0, 1, 2, 3));
        assert_eq!(FunctionId::from_name("MPI_Init_thread").unwrap().definition().c_only, 2);
        assert_eq!(FunctionId::from_name("MPI_File_open").unwrap().definition().strings, 1);
    }

    #[test]
    fn everything_that_makes_or_completes_a_request_knows_where_the_request_is() {
        for f in FUNCTIONS.iter().filter(|f| f.role != FunctionRole::Local) {
            let needs = f.mode != BlockingMode::Blocking
                || matches!(
                    f.role,
                    FunctionRole::Start
                        | FunctionRole::StartAll
                        | FunctionRole::CompleteOne
                        | FunctionRole::CompleteAll
                        | FunctionRole::CompleteAny
                        | FunctionRole::CompleteSome
                        | FunctionRole::RequestFree
                );
            assert!(!needs || f.slots.request != ArgumentSlots::ABSENT, "{}", f.name);
        }
    }

    #[test]
    fn windows_and_files_are_made_with_a_communicator_and_then_called_by_themselves() {
        let kind = |name: &str| FunctionId::from_name(name).unwrap().role().object_kind();
        for name in ["MPI_Send", "MPI_Bcast", "MPI_Win_create", "MPI_File_open", "MPI_Comm_free"] {
            assert_eq!(kind(name), ObjectKind::Communicator, "{name}");
        }
        assert_eq!([kind("MPI_Put"), kind("MPI_Win_fence")], [ObjectKind::Window; 2]);
        assert_eq!([kind("MPI_File_read_all"), kind("MPI_File_sync")], [ObjectKind::File; 2]);
    }

    #[test]
    fn objects_are_where_the_arguments_are() {
        for f in FUNCTIONS.iter().filter(|f| {
            !matches!(f.role, FunctionRole::Local | FunctionRole::Other | FunctionRole::SessionInit | FunctionRole::SessionFinalize)
        }) {
            let ArgumentSlots { object, window, file, .. } = f.slots;
            let slots = [(object, ObjectKind::Communicator), (window, ObjectKind::Window), (file, ObjectKind::File)];
            for (_, kind) in slots.into_iter().filter(|(slot, _)| *slot != ArgumentSlots::ABSENT) {
                assert_eq!(f.role.object_kind(), kind, "{}", f.name);
            }
        }
    }

    #[test]
    fn every_collective_has_its_communicator() {
        for f in FUNCTIONS.iter().filter(|f| matches!(f.role, FunctionRole::Collective(_))) {
            assert_ne!(f.slots.object, ArgumentSlots::ABSENT, "{}", f.name);
        }
    }
}
