//! The words of the machine file: what is measured, and the names it has there.

use serde::{Deserialize, Serialize};

/// Something of a fixed set, each with the name it has in files.
pub trait Named: Copy + Sized + 'static {
    /// All of them, in the order of the file.
    const ALL: &'static [Self];

    /// Its name.
    fn name(self) -> &'static str;

    /// The one of that name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }

    /// All names, for messages.
    fn names() -> String {
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
    /// How near two processes are.
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
    /// What is timed of a message between two processes.
    Message {
        /// `MPI_Send`, the receiver waiting.
        Send = "send",
        /// `MPI_Ssend`, the receiver waiting.
        SynchronousSend = "synchronous_send",
        /// `MPI_Bsend`, the receiver waiting.
        BufferedSend = "buffered_send",
        /// `MPI_Rsend`, the receiver waiting.
        ReadySend = "ready_send",
        /// `MPI_Isend`, the receiver waiting.
        StartSend = "start_send",
        /// The `MPI_Wait` right after it.
        WaitSend = "wait_send",
        /// `MPI_Recv`, the message sent before.
        Receive = "receive",
        /// Half of a round trip.
        Transfer = "transfer",
        /// Half of a round trip between the coordinator of `run-tasks` and a worker, over TCP.
        Task = "task",
        /// The least time between two messages of one process.
        Gap = "gap",
    }
}

named! {
    /// An operation of a group.
    Collective {
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
    /// A type of numbers.
    NumberType {
        /// Whole, of four bytes.
        Int32 = "int32",
        /// Whole, of eight bytes.
        Int64 = "int64",
        /// With a fraction, of four bytes.
        Float32 = "float32",
        /// With a fraction, of eight bytes.
        Float64 = "float64",
    }
}

named! {
    /// What is done with numbers.
    Arithmetic {
        /// a + b
        Add = "add",
        /// a - b
        Subtract = "subtract",
        /// a * b
        Multiply = "multiply",
        /// a / b
        Divide = "divide",
        /// What division leaves.
        Remainder = "remainder",
        /// Comparing two and choosing one.
        Compare = "compare",
        /// `and`, `or`, `xor` of their bits.
        Bits = "bits",
        /// Moving their bits.
        Shift = "shift",
        /// Making one of another type.
        Convert = "convert",
        /// Writing a local variable.
        Assign = "assign",
        /// Reading a local variable.
        Access = "access",
        /// Writing an element of an array, or a field, in the nearest cache.
        Store = "store",
        /// Reading one.
        Load = "load",
        /// Without its sign.
        Abs = "abs",
        /// The whole number below.
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
        /// One to the power of another.
        Pow = "pow",
        /// The next random number of the language's library.
        Random = "random",
        /// Calling a routine and coming back; it has no type, and stands with `int32`.
        Call = "call",
        /// Allocating one byte of memory; it has no type, and stands with `int32`.
        New = "new",
    }
}

named! {
    /// Whether a link carries messages both ways at once.
    Duplex {
        /// Each way has the whole bandwidth.
        Full = "full",
        /// Both ways share it.
        Half = "half",
    }
}

named! {
    /// What becomes of messages that meet on a link.
    Sharing {
        /// They share its bandwidth, each as much as the others where it can use it.
        Fair = "fair",
        /// Nothing: each goes as if it were alone.
        None = "none",
    }
}

named! {
    /// How memory is used.
    Access {
        /// One place after another that the one before names.
        Latency = "latency",
        /// Reading it all.
        Read = "read",
        /// Writing it all.
        Write = "write",
        /// Reading one half and writing it to the other.
        Copy = "copy",
    }
}

impl Access {
    /// The key of its cost, which ends with the unit.
    pub fn key(self) -> &'static str {
        match self {
            Access::Latency => "latency_s",
            Access::Read => "read_s_per_byte",
            Access::Write => "write_s_per_byte",
            Access::Copy => "copy_s_per_byte",
        }
    }
}
