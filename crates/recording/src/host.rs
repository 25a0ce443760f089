//! What a process found out about its host, and what its threads used of it.

use serde::{Deserialize, Serialize};

/// A host as one of its processes describes it. A field that the host does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostDescription {
    /// Name of the host.
    pub name: String,
    /// Logical processors that are online, as ranges: `0-7`.
    pub processors: String,
    /// Physical cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Sockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sockets: Option<u32>,
    /// NUMA nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_nodes: Option<u32>,
    /// Logical processors that share a core with others, one range per core: `0,4`. Empty without SMT.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub smt_siblings: Vec<String>,
    /// Model name of the processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// Base frequency in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_mhz: Option<f64>,
    /// Frequency at the start of the run in MHz: the mean over all processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_mhz: Option<f64>,
    /// Release of the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Size of the memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Data caches of the first processor, nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheDescription>,
    /// Load average over one, five and fifteen minutes at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_at_start: Option<[f64; 3]>,
    /// The same at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_at_end: Option<[f64; 3]>,
}

/// A cache that holds data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheDescription {
    /// Its level: 1, 2, 3.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Logical processors that share it, as ranges.
    pub processors: String,
}

/// Resident memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessMemory {
    /// Its size after `MPI_Init`.
    pub initial_bytes: u64,
    /// Its largest size until the end.
    pub peak_bytes: u64,
    /// Growth, from `MPI_Init` to the end, of what is in it of mapped files and shared memory: buffers of the MPI library and of the recording.
    pub mapped_growth_bytes: u64,
}

impl ProcessMemory {
    /// Memory that the program used after `MPI_Init` beyond what the process had then: most of the data it works on.
    pub fn working_set_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.initial_bytes).saturating_sub(self.mapped_growth_bytes)
    }
}

/// Limits that a control group sets for a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessLimits {
    /// Processor time per time, in processors: 1.5 if it may use one and a half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Name of the control group that sets the quota: processes of one group share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota_group: Option<String>,
    /// Time for which the quota stopped the control group during the run, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// Most memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// What a thread used of its host, from its first MPI call to its last or to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadUsage {
    /// The thread's number in its process.
    pub thread: u16,
    /// Time between the two readings, in nanoseconds.
    pub elapsed_ns: u64,
    /// Processor time.
    pub cpu_ns: u64,
    /// Time for which it was ready to run and had no processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_ns: Option<u64>,
    /// Context switches because it blocked or yielded.
    pub voluntary_switches: u64,
    /// Context switches because another thread was given its processor.
    pub involuntary_switches: u64,
    /// Page faults without I/O; known only of a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Page faults with I/O; known only of a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Processors on which it may run, as ranges, at its first MPI call.
    pub affinity: String,
    /// The same at the end, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity_at_end: Option<String>,
}

/// How it is known when a thread was off the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OffCpuSource {
    /// Every context switch was recorded with its time.
    ContextSwitches,
    /// Each call and each segment has the time for which its thread waited for a processor, but not when.
    RunQueue,
    /// Only sums of each thread are known.
    Totals,
}
