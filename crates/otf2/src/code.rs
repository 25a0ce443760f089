//! The enumerations and flags of OTF2.
//!
//! Later versions of OTF2 add values, so these are numbers with named constants rather than Rust enums: a value without a name is kept.

use std::fmt;
use std::ops::BitOr;

use crate::buffer::BufferReader;
use crate::field::Field;
use crate::id_mappings::IdMappings;

macro_rules! codes {
    ($($(#[$doc:meta])* $Name:ident { $($CONSTANT:ident = $value:literal),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $Name(pub u8);

            impl $Name {
                $(
                    #[doc = concat!("OTF2's `", stringify!($CONSTANT), "`.")]
                    pub const $CONSTANT: $Name = $Name($value);
                )*

                /// OTF2's name of the value.
                pub fn name(self) -> Option<&'static str> {
                    match self.0 {
                        $($value => Some(stringify!($CONSTANT)),)*
                        _ => None,
                    }
                }
            }

            impl fmt::Debug for $Name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    match self.name() {
                        Some(name) => f.write_str(name),
                        None => write!(f, "{}({})", stringify!($Name), self.0),
                    }
                }
            }

            impl Field for $Name {
                #[inline]
                fn read(content: &mut BufferReader, _: &IdMappings) -> Option<$Name> {
                    content.u8().map($Name)
                }

                #[inline]
                fn write(&self, out: &mut Vec<u8>) {
                    out.push(self.0);
                }
            }
        )*
    };
}

macro_rules! flags {
    ($($(#[$doc:meta])* $Name:ident { $($CONSTANT:ident = $value:literal),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            pub struct $Name(pub u32);

            impl $Name {
                /// No flag.
                pub const NONE: $Name = $Name(0);
                $(
                    #[doc = concat!("OTF2's `", stringify!($CONSTANT), "`.")]
                    pub const $CONSTANT: $Name = $Name($value);
                )*

                /// Whether all of these flags are set.
                pub fn contains(self, flags: $Name) -> bool {
                    self.0 & flags.0 == flags.0
                }
            }

            impl BitOr for $Name {
                type Output = $Name;

                fn bitor(self, other: $Name) -> $Name {
                    $Name(self.0 | other.0)
                }
            }

            impl Field for $Name {
                #[inline]
                fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<$Name> {
                    u32::read(content, ids).map($Name)
                }

                #[inline]
                fn write(&self, out: &mut Vec<u8>) {
                    self.0.write(out);
                }
            }
        )*
    };
}

codes! {
    /// Types of values.
    ValueType {
        NONE = 0, UINT8 = 1, UINT16 = 2, UINT32 = 3, UINT64 = 4, INT8 = 5, INT16 = 6, INT32 = 7, INT64 = 8, FLOAT = 9, DOUBLE = 10,
        STRING = 11, ATTRIBUTE = 12, LOCATION = 13, REGION = 14, GROUP = 15, METRIC = 16, COMM = 17, PARAMETER = 18, RMA_WIN = 19,
        SOURCE_CODE_LOCATION = 20, CALLING_CONTEXT = 21, INTERRUPT_GENERATOR = 22, IO_FILE = 23, IO_HANDLE = 24, LOCATION_GROUP = 25,
    }
    /// What a mapping table of local to global ids is about.
    MappingType {
        STRING = 0, ATTRIBUTE = 1, LOCATION = 2, REGION = 3, GROUP = 4, METRIC = 5, COMM = 6, PARAMETER = 7, RMA_WIN = 8,
        SOURCE_CODE_LOCATION = 9, CALLING_CONTEXT = 10, INTERRUPT_GENERATOR = 11, IO_FILE = 12, IO_HANDLE = 13,
    }
    /// Programming models.
    Paradigm {
        UNKNOWN = 0, USER = 1, COMPILER = 2, OPENMP = 3, MPI = 4, CUDA = 5, MEASUREMENT_SYSTEM = 6, PTHREAD = 7, HMPP = 8, OMPSS = 9,
        HARDWARE = 10, GASPI = 11, UPC = 12, SHMEM = 13, WINTHREAD = 14, QTTHREAD = 15, ACETHREAD = 16, TBBTHREAD = 17, OPENACC = 18,
        OPENCL = 19, MTAPI = 20, SAMPLING = 21, NONE = 22, HIP = 23, KOKKOS = 24,
    }
    /// Classes of programming models.
    ParadigmClass { PROCESS = 0, THREAD_FORK_JOIN = 1, THREAD_CREATE_WAIT = 2, ACCELERATOR = 3 }
    /// Properties of programming models.
    ParadigmProperty { COMM_NAME_TEMPLATE = 0, RMA_WIN_NAME_TEMPLATE = 1, RMA_ONLY = 2 }
    /// Domains of nodes of the system tree.
    SystemTreeDomain { MACHINE = 0, SHARED_MEMORY = 1, NUMA = 2, SOCKET = 3, CACHE = 4, CORE = 5, PU = 6 }
    /// Types of location groups.
    LocationGroupType { UNKNOWN = 0, PROCESS = 1, ACCELERATOR = 2 }
    /// Types of locations.
    LocationType { UNKNOWN = 0, CPU_THREAD = 1, ACCELERATOR_STREAM = 2, METRIC = 3 }
    /// Roles of regions.
    RegionRole {
        UNKNOWN = 0, FUNCTION = 1, WRAPPER = 2, LOOP = 3, CODE = 4, PARALLEL = 5, SECTIONS = 6, SECTION = 7, WORKSHARE = 8, SINGLE = 9,
        SINGLE_SBLOCK = 10, MASTER = 11, CRITICAL = 12, CRITICAL_SBLOCK = 13, ATOMIC = 14, BARRIER = 15, IMPLICIT_BARRIER = 16, FLUSH =
        17, ORDERED = 18, ORDERED_SBLOCK = 19, TASK = 20, TASK_CREATE = 21, TASK_WAIT = 22, COLL_ONE2ALL = 23, COLL_ALL2ONE = 24,
        COLL_ALL2ALL = 25, COLL_OTHER = 26, FILE_IO = 27, POINT2POINT = 28, RMA = 29, DATA_TRANSFER = 30, ARTIFICIAL = 31, THREAD_CREATE
        = 32, THREAD_WAIT = 33, TASK_UNTIED = 34, ALLOCATE = 35, DEALLOCATE = 36, REALLOCATE = 37, FILE_IO_METADATA = 38,
    }
    /// Types of groups.
    GroupType {
        UNKNOWN = 0, LOCATIONS = 1, REGIONS = 2, METRIC = 3, COMM_LOCATIONS = 4, COMM_GROUP = 5, COMM_SELF = 6,
    }
    /// Bases of exponents.
    Base { BINARY = 0, DECIMAL = 1 }
    /// When metrics are recorded.
    MetricOccurrence { SYNCHRONOUS_STRICT = 0, SYNCHRONOUS = 1, ASYNCHRONOUS = 2 }
    /// Sources of metrics.
    MetricType { OTHER = 0, PAPI = 1, RUSAGE = 2, USER = 3 }
    /// What the value of a metric means: its value and timing properties.
    MetricMode {
        ACCUMULATED_START = 0, ABSOLUTE_POINT = 17, RELATIVE_POINT = 18, ACCUMULATED_POINT = 16, ACCUMULATED_LAST = 32, ABSOLUTE_LAST =
        33, RELATIVE_LAST = 34, ACCUMULATED_NEXT = 48, ABSOLUTE_NEXT = 49, RELATIVE_NEXT = 50,
    }
    /// What the values of a metric instance are about.
    MetricScope { LOCATION = 0, LOCATION_GROUP = 1, SYSTEM_TREE_NODE = 2, GROUP = 3 }
    /// Kinds of locations that record a metric class.
    RecorderKind { UNKNOWN = 0, ABSTRACT = 1, CPU = 2, GPU = 3 }
    /// Types of parameters.
    ParameterType { STRING = 0, INT64 = 1, UINT64 = 2 }
    /// Whether a dimension of a topology is periodic.
    CartPeriodicity { FALSE = 0, TRUE = 1 }
    /// What causes interrupts.
    InterruptGeneratorMode { TIME = 0, COUNT = 1 }
    /// Classes of I/O paradigms.
    IoParadigmClass { SERIAL = 0, PARALLEL = 1 }
    /// Properties of I/O paradigms.
    IoParadigmProperty { VERSION = 0 }
    /// Access modes of open files.
    IoAccessMode { READ_ONLY = 0, WRITE_ONLY = 1, READ_WRITE = 2, EXECUTE_ONLY = 3, SEARCH_ONLY = 4 }
    /// Whether the measurement is on.
    MeasurementMode { ON = 1, OFF = 2 }
    /// Collective operations.
    CollectiveOp {
        BARRIER = 0, BCAST = 1, GATHER = 2, GATHERV = 3, SCATTER = 4, SCATTERV = 5, ALLGATHER = 6, ALLGATHERV = 7, ALLTOALL = 8,
        ALLTOALLV = 9, ALLTOALLW = 10, ALLREDUCE = 11, REDUCE = 12, REDUCE_SCATTER = 13, SCAN = 14, EXSCAN = 15, REDUCE_SCATTER_BLOCK =
        16, CREATE_HANDLE = 17, DESTROY_HANDLE = 18, ALLOCATE = 19, DEALLOCATE = 20, CREATE_HANDLE_AND_ALLOCATE = 21,
        DESTROY_HANDLE_AND_DEALLOCATE = 22,
    }
    /// Types of synchronisation of a window.
    RmaSyncType { MEMORY = 0, NOTIFY_IN = 1, NOTIFY_OUT = 2 }
    /// Types of locks.
    LockType { EXCLUSIVE = 0, SHARED = 1 }
    /// Atomic operations of one-sided communication.
    RmaAtomicType {
        ACCUMULATE = 0, INCREMENT = 1, TEST_AND_SET = 2, COMPARE_AND_SWAP = 3, SWAP = 4, FETCH_AND_ADD = 5, FETCH_AND_INCREMENT = 6,
        FETCH_AND_ACCUMULATE = 7,
    }
    /// What an offset in a file is relative to.
    IoSeekOption { FROM_START = 0, FROM_CURRENT = 1, FROM_END = 2, DATA = 3, HOLE = 4 }
    /// Modes of I/O operations.
    IoOperationMode { READ = 0, WRITE = 1, FLUSH = 2 }
}

flags! {
    /// Flags of regions.
    RegionFlags { DYNAMIC = 1, PHASE = 2 }
    /// Flags of groups.
    GroupFlags { GLOBAL_MEMBERS = 1 }
    /// Flags of communicators.
    CommFlags { CREATE_DESTROY_EVENTS = 1 }
    /// Flags of windows.
    RmaWinFlags { CREATE_DESTROY_EVENTS = 1 }
    /// What a collective on a window synchronises.
    RmaSyncLevel { PROCESS = 1, MEMORY = 2 }
    /// Flags of I/O paradigms.
    IoParadigmFlags { OS = 1 }
    /// Flags of open files.
    IoHandleFlags { PRE_CREATED = 1, ALL_PROXY = 2 }
    /// Status flags of open files.
    IoStatusFlags {
        CLOSE_ON_EXEC = 1, APPEND = 2, NON_BLOCKING = 4, ASYNC = 8, SYNC = 16, DATA_SYNC = 32, AVOID_CACHING = 64, NO_ACCESS_TIME = 128,
        DELETE_ON_CLOSE = 256,
    }
    /// Flags of opening a file.
    IoCreationFlags {
        CREATE = 1, TRUNCATE = 2, DIRECTORY = 4, EXCLUSIVE = 8, NO_CONTROLLING_TERMINAL = 16, NO_FOLLOW = 32, PATH = 64, TEMPORARY_FILE
        = 128, LARGEFILE = 256, NO_SEEK = 512, UNIQUE = 1024,
    }
    /// Flags of I/O operations.
    IoOperationFlags { NON_BLOCKING = 1, COLLECTIVE = 2 }
}
