//! The vocabulary of the machine file: measured quantities and their names.

use serde::{Deserialize, Serialize};

/// An enumeration whose variants have names in files.
pub trait Named: Copy + Sized + 'static {
    /// All variants, in the order of the file.
    const ALL: &'static [Self];

    /// Name in files.
    fn name(self) -> &'static str;

    /// The variant of that name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }

    /// All names, for messages.
    fn all_names() -> String {
        Self::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ")
    }
}

macro_rules! named {
    ($(#[$about:meta])* $set:ident { $($(#[$note:meta])* $one:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $set {
            $($(#[$note])* #[serde(rename = $name)] $one,)*
        }

        impl Named for $set {
            const ALL: &'static [$set] = &[$($set::$one),*];

            fn name(self) -> &'static str {
                match self { $($set::$one => $name),* }
            }
        }
    };
}

named! {
    /// Distance of two processes.
    PairClass {
        /// On cores that share a cache.
        SameComplex = "same_complex",
        /// On one node, not known to share a cache.
        SameNode = "same_node",
        /// On different nodes.
        OtherNode = "other_node",
    }
}

named! {
    /// Timed metrics of a message between two processes.
    MessageMetric {
        /// `MPI_Send` with a waiting receiver.
        Send = "send",
        /// `MPI_Ssend` with a waiting receiver.
        SynchronousSend = "synchronous_send",
        /// `MPI_Bsend` with a waiting receiver.
        BufferedSend = "buffered_send",
        /// `MPI_Rsend` with a waiting receiver.
        ReadySend = "ready_send",
        /// `MPI_Isend` with a waiting receiver.
        StartSend = "start_send",
        /// The `MPI_Wait` right after it.
        WaitSend = "wait_send",
        /// `MPI_Recv` of a message sent before.
        Receive = "receive",
        /// Half of a round trip.
        Transfer = "transfer",
        /// Half of a round trip between the coordinator of `run-tasks` and a worker, over TCP.
        Task = "task",
        /// Least interval between two messages of one process (LogGP's gap).
        Gap = "gap",
    }
}

named! {
    /// A collective.
    CollectiveKind {
        /// `MPI_Barrier`
        Barrier = "barrier",
        /// `MPI_Bcast`
        Bcast = "bcast",
        /// `MPI_Reduce`
        Reduce = "reduce",
        /// `MPI_Allreduce`
        Allreduce = "allreduce",
        /// `MPI_Gather`
        Gather = "gather",
        /// `MPI_Scatter`
        Scatter = "scatter",
        /// `MPI_Allgather`
        Allgather = "allgather",
        /// `MPI_Alltoall`
        Alltoall = "alltoall",
        /// `MPI_Reduce_scatter_block`
        ReduceScatterBlock = "reduce_scatter_block",
        /// `MPI_Scan`
        Scan = "scan",
    }
}

named! {
    /// A number type.
    NumberType {
        /// 32-bit integer.
        Int32 = "int32",
        /// 64-bit integer.
        Int64 = "int64",
        /// Single precision.
        Float32 = "float32",
        /// Double precision.
        Float64 = "float64",
    }
}

named! {
    /// An operation on numbers.
    ArithmeticOp {
        /// a + b
        Add = "add",
        /// a - b
        Subtract = "subtract",
        /// a * b
        Multiply = "multiply",
        /// a / b
        Divide = "divide",
        /// Remainder of a division.
        Remainder = "remainder",
        /// Comparing two numbers and selecting one.
        Compare = "compare",
        /// Bitwise `and`, `or`, `xor`.
        Bits = "bits",
        /// Bit shift.
        Shift = "shift",
        /// Conversion to another type.
        Convert = "convert",
        /// Writing a local variable.
        Assign = "assign",
        /// Reading a local variable.
        Access = "access",
        /// Writing an array element or field in the L1 cache.
        Store = "store",
        /// Reading one.
        Load = "load",
        /// Absolute value.
        Abs = "abs",
        /// Rounding down.
        Floor = "floor",
        /// The square root.
        Sqrt = "sqrt",
        /// The sine.
        Sin = "sin",
        /// The cosine.
        Cos = "cos",
        /// The tangent.
        Tan = "tan",
        /// The exponential.
        Exp = "exp",
        /// The natural logarithm.
        Log = "log",
        /// Power.
        Pow = "pow",
        /// Next random number of the standard library.
        Random = "random",
        /// Calling a routine and returning; has no type and is listed with `int32`.
        Call = "call",
        /// Allocating one byte; has no type and is listed with `int32`.
        New = "new",
    }
}

named! {
    /// Whether a link carries messages in both directions at once.
    Duplex {
        /// Each direction has the full bandwidth.
        Full = "full",
        /// Both directions share it.
        Half = "half",
    }
}

named! {
    /// How concurrent messages share a link.
    BandwidthSharing {
        /// Max-min fair sharing of its bandwidth.
        Fair = "fair",
        /// No sharing: each message has the full bandwidth.
        None = "none",
    }
}

named! {
    /// Kind of memory access.
    MemoryAccess {
        /// Dependent loads.
        Latency = "latency",
        /// Sequential read.
        Read = "read",
        /// Sequential write.
        Write = "write",
        /// Copy from one half to the other.
        Copy = "copy",
    }
}

impl MemoryAccess {
    /// Its key in the file, which ends with the unit.
    pub fn key(self) -> &'static str {
        match self {
            MemoryAccess::Latency => "latency_s",
            MemoryAccess::Read => "read_s_per_byte",
            MemoryAccess::Write => "write_s_per_byte",
            MemoryAccess::Copy => "copy_s_per_byte",
        }
    }
}
