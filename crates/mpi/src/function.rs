//! The list of MPI functions as a table: what each one does, and where its arguments stand.

/// What a call of a function does; the probe has one way of looking at a call per role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends one message.
    Send,
    /// Receives one message.
    Receive,
    /// Sends one message and receives another.
    SendReceive,
    /// Looks for a message without receiving it.
    Probe,
    /// Looks for a message and takes it out of matching.
    MatchedProbe,
    /// Receives a message that a matched probe took.
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
    /// Gives a request back before it is complete.
    RequestFree,
    /// Cancels a request.
    Cancel,
    /// Makes a request that is no communication of data.
    RequestCreate,
    /// Marks partitions of a partitioned send as ready.
    PartitionReady,
    /// Asks whether a partition has arrived.
    PartitionArrived,
    /// Moves data among all members of a communicator.
    Collective(Pattern),
    /// Makes a communicator (or two processes' worlds meet).
    CommunicatorCreate,
    /// Frees a communicator.
    CommunicatorFree,
    /// One-sided transfer to a target.
    Put,
    /// One-sided transfer from a target.
    Get,
    /// One-sided transfer to and from a target.
    Exchange,
    /// Makes a window.
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
    /// Any other operation on a file that can take time.
    FileOther,
    /// Makes or commits a datatype.
    Datatype,
    /// Frees a datatype.
    DatatypeFree,
    /// Starts MPI.
    Init,
    /// Ends MPI.
    Finalize,
    /// Starts a session.
    SessionInit,
    /// Ends a session.
    SessionFinalize,
    /// Ends all processes.
    Abort,
    /// `MPI_Pcontrol`: switches recording.
    Switch,
    /// Takes time, but moves no data between processes.
    Other,
    /// Answers at once from local knowledge; not intercepted.
    Local,
}

/// What the object of a call is: that with which it is made, not one that it makes or frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A communicator.
    Communicator,
    /// A window.
    Window,
    /// A file.
    File,
}

impl Role {
    /// Whether a call has to do with a window: accesses or synchronises it, makes or frees it.
    pub const fn is_one_sided(self) -> bool {
        matches!(self, Role::Put | Role::Get | Role::Exchange | Role::WindowCreate | Role::WindowFree | Role::WindowSync)
    }

    /// Whether a call has to do with a file: opens or closes it, or is made on it.
    pub const fn is_file(self) -> bool {
        matches!(self, Role::FileOpen | Role::FileClose | Role::FileRead | Role::FileWrite | Role::FileOther)
    }

    /// What the object of a call is, if it has one: windows and files are made with a communicator, and afterwards called by themselves.
    pub const fn object_kind(self) -> ObjectKind {
        match self {
            Role::WindowCreate | Role::FileOpen => ObjectKind::Communicator,
            _ if self.is_one_sided() => ObjectKind::Window,
            _ if self.is_file() => ObjectKind::File,
            _ => ObjectKind::Communicator,
        }
    }
}

/// How data moves in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MPI's")]
pub enum Pattern {
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

impl Pattern {
    /// All of them, each at its own place.
    pub const ALL: [Pattern; 22] = {
        use Pattern::*;
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

    /// Whether the members exchange data with their neighbours in a topology only.
    pub const fn is_among_neighbours(self) -> bool {
        use Pattern::*;
        matches!(self, NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw)
    }
}

/// When the operation of a call is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When the call returns.
    Blocking,
    /// When its request completes.
    Nonblocking,
    /// Each time its request is started and completes.
    Persistent,
}

/// The place of each argument that the probe reads, counted from 0 in the C binding; [`Slots::ABSENT`] where there is none.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of MPI's parameters")]
pub struct Slots {
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

impl Slots {
    /// The slot of an argument that the function does not have.
    pub const ABSENT: u8 = u8::MAX;

    /// No argument at all.
    pub const NONE: Slots = {
        const A: u8 = Slots::ABSENT;
        Slots {
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

impl Slots {
    /// The same slots counted in another way.
    pub fn map(&self, place: impl Fn(u8) -> u8) -> Slots {
        let at = |slot: u8| if slot == Slots::ABSENT { slot } else { place(slot) };
        Slots {
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
pub struct Function {
    /// Its name in C.
    pub name: &'static str,
    /// What a call does.
    pub role: Role,
    /// When the operation is complete.
    pub mode: Mode,
    /// Whether `mpif.h` and `use mpi` have it.
    pub fortran: bool,
    /// Whether `mpi_f08` has it.
    pub f08: bool,
    /// Whether it has a large-count form.
    pub large: bool,
    /// How many parameters it has in C.
    pub parameters: u8,
    /// How many of the first parameters Fortran does not have (`argc`, `argv`).
    pub c_only: u8,
    /// How many parameters are strings; Fortran compilers pass a hidden length for each.
    pub strings: u8,
    /// Where its arguments stand.
    pub slots: Slots,
}

/// All MPI functions, sorted by name.
pub static FUNCTIONS: &[Function] = &include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// An MPI function as a small number: its place in [`FUNCTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Operation(pub u16);

impl Operation {
    /// The operation with this C name.
    pub fn named(name: &str) -> Option<Operation> {
        FUNCTIONS.binary_search_by(|f| f.name.cmp(name)).ok().map(|place| Operation(place as u16))
    }

    /// The operation with this number, if there is one.
    pub fn from_number(number: u16) -> Option<Operation> {
        (usize::from(number) < FUNCTIONS.len()).then_some(Operation(number))
    }

    /// The function itself.
    pub fn function(self) -> &'static Function {
        &FUNCTIONS[usize::from(self.0)]
    }

    /// Its name in C.
    pub fn name(self) -> &'static str {
        self.function().name
    }

    /// What a call does.
    pub fn role(self) -> Role {
        self.function().role
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_sorted_so_that_names_can_be_searched() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(Operation::named("MPI_Send").map(Operation::name), Some("MPI_Send"));
        assert_eq!(Operation::named("MPI_Nothing"), None);
    }

    #[test]
    fn slots_point_at_the_arguments_of_the_c_binding() {
        let send = Operation::named("MPI_Send").unwrap().function();
        assert_eq!((send.slots.send_count, send.slots.dest, send.slots.send_tag, send.slots.object), (1, 3, 4, 5));
        let sendrecv = Operation::named("MPI_Sendrecv").unwrap().function();
        assert_eq!((sendrecv.slots.source, sendrecv.slots.recv_tag, sendrecv.slots.status), (8, 9, 11));
        let waitsome = Operation::named("MPI_Waitsome").unwrap().function();
        assert_eq!((waitsome.slots.length, waitsome.slots.request, waitsome.slots.outcount, waitsome.slots.index), (0, 1, 2, 3));
        assert_eq!(Operation::named("MPI_Init_thread").unwrap().function().c_only, 2);
        assert_eq!(Operation::named("MPI_File_open").unwrap().function().strings, 1);
    }

    #[test]
    fn everything_that_makes_or_completes_a_request_knows_where_the_request_is() {
        for f in FUNCTIONS.iter().filter(|f| f.role != Role::Local) {
            let needs = f.mode != Mode::Blocking
                || matches!(
                    f.role,
                    Role::Start
                        | Role::StartAll
                        | Role::CompleteOne
                        | Role::CompleteAll
                        | Role::CompleteAny
                        | Role::CompleteSome
                        | Role::RequestFree
                );
            assert!(!needs || f.slots.request != Slots::ABSENT, "{}", f.name);
        }
    }

    #[test]
    fn windows_and_files_are_made_with_a_communicator_and_then_called_by_themselves() {
        let kind = |name: &str| Operation::named(name).unwrap().role().object_kind();
        for name in ["MPI_Send", "MPI_Bcast", "MPI_Win_create", "MPI_File_open", "MPI_Comm_free"] {
            assert_eq!(kind(name), ObjectKind::Communicator, "{name}");
        }
        assert_eq!([kind("MPI_Put"), kind("MPI_Win_fence")], [ObjectKind::Window; 2]);
        assert_eq!([kind("MPI_File_read_all"), kind("MPI_File_sync")], [ObjectKind::File; 2]);
    }

    #[test]
    fn objects_are_where_the_arguments_are() {
        for f in FUNCTIONS.iter().filter(|f| !matches!(f.role, Role::Local | Role::Other | Role::SessionInit | Role::SessionFinalize)) {
            let Slots { object, window, file, .. } = f.slots;
            let slots = [(object, ObjectKind::Communicator), (window, ObjectKind::Window), (file, ObjectKind::File)];
            for (_, kind) in slots.into_iter().filter(|(slot, _)| *slot != Slots::ABSENT) {
                assert_eq!(f.role.object_kind(), kind, "{}", f.name);
            }
        }
    }

    #[test]
    fn every_collective_has_its_communicator() {
        for f in FUNCTIONS.iter().filter(|f| matches!(f.role, Role::Collective(_))) {
            assert_ne!(f.slots.object, Slots::ABSENT, "{}", f.name);
        }
    }
}
