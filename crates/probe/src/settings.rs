//! Settings that `sintonia record` passes to the probe through the environment.

use std::path::PathBuf;
use std::sync::OnceLock;

use sintonia_recording::raw::BLOCK_BYTES;

/// Settings of the probe.
#[derive(Debug)]
pub(crate) struct ProbeSettings {
    /// Directory inside the recording where this process writes.
    pub live_dir: PathBuf,
    /// Contents of the file `token` in that directory, by which a process on another host recognises the same directory.
    pub token: String,
    /// Directory to use if that one is not visible from this host.
    pub scratch: PathBuf,
    /// Addresses of `sintonia record`, separated by commas.
    pub link: String,
    /// Memory per thread, in bytes.
    pub memory: usize,
    /// Profile mode: keep totals only.
    pub profile: bool,
    /// What is recorded of the times off the processor.
    pub off_cpu: OffCpuSetting,
    /// Whether OpenMP regions are recorded.
    pub openmp: bool,
    /// Most frames of a call path; 1: only the call site.
    pub call_path_depth: usize,
    /// How often threads are sampled.
    pub sampling: SamplingSetting,
    /// What is counted of its threads.
    pub counters: CounterSetting,
    /// Whether it is recorded what the program does with files.
    pub file_io: bool,
    /// Whether the program was attached to: its calls are observed, and nothing is recorded.
    pub is_attached: bool,
}

impl ProbeSettings {
    /// Settings of a program that was attached to.
    fn for_attached() -> ProbeSettings {
        ProbeSettings {
            live_dir: PathBuf::new(),
            token: String::new(),
            scratch: PathBuf::new(),
            link: String::new(),
            memory: BLOCK_BYTES,
            profile: false,
            off_cpu: OffCpuSetting::Off,
            openmp: false,
            call_path_depth: 1,
            sampling: SamplingSetting::Off,
            counters: CounterSetting::Off,
            file_io: false,
            is_attached: true,
        }
    }
}

/// What is recorded of the times off the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OffCpuSetting {
    /// Nothing but the totals of each thread.
    Off,
    /// Sums for each call and segment.
    Sums,
    /// Every context switch where the kernel allows it, else sums.
    Automatic,
    /// The same, and a note where the kernel does not allow it.
    Exact,
}

impl OffCpuSetting {
    fn parse(text: &str) -> OffCpuSetting {
        match text {
            "off" => OffCpuSetting::Off,
            "sums" => OffCpuSetting::Sums,
            "exact" => OffCpuSetting::Exact,
            _ => OffCpuSetting::Automatic,
        }
    }
}

/// How often threads are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SamplingSetting {
    /// Not at all.
    Off,
    /// As often as by default, where that needs no signal.
    Automatic,
    /// This often in a second on the processor, with a signal where the kernel allows nothing else.
    Hertz(u32),
}

impl SamplingSetting {
    fn parse(text: &str) -> SamplingSetting {
        match text {
            "off" => SamplingSetting::Off,
            hertz => hertz.parse().map_or(SamplingSetting::Automatic, SamplingSetting::Hertz),
        }
    }
}

/// What is counted of the threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CounterSetting {
    /// Nothing.
    Off,
    /// What the host has.
    Automatic,
    /// These events.
    Named(Vec<String>),
}

impl CounterSetting {
    fn parse(text: &str) -> CounterSetting {
        match text {
            "off" => CounterSetting::Off,
            "" => CounterSetting::Automatic,
            names => CounterSetting::Named(names.split(',').map(String::from).collect()),
        }
    }
}

static SETTINGS: OnceLock<ProbeSettings> = OnceLock::new();

/// Reads the environment; `false` if this process is not to be recorded.
pub(crate) fn read() -> bool {
    let Some(live) = std::env::var_os("SINTONIA_LIVE") else { return false };
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    let settings = ProbeSettings {
        live_dir: live.into(),
        token: text("SINTONIA_TOKEN"),
        scratch: std::env::var_os("SINTONIA_SCRATCH").map_or_else(std::env::temp_dir, PathBuf::from),
        link: text("SINTONIA_LINK"),
        memory: text("SINTONIA_MEMORY").parse().unwrap_or(16 << 20).max(2 * BLOCK_BYTES),
        profile: text("SINTONIA_PROFILE") == "1",
        off_cpu: OffCpuSetting::parse(&text("SINTONIA_OFF_CPU")),
        openmp: text("SINTONIA_OPENMP") != "off",
        call_path_depth: text("SINTONIA_CALLPATH").parse().unwrap_or(usize::MAX),
        sampling: SamplingSetting::parse(&text("SINTONIA_SAMPLE")),
        counters: CounterSetting::parse(&text("SINTONIA_COUNTERS")),
        file_io: text("SINTONIA_IO") != "off",
        is_attached: false,
    };
    SETTINGS.set(settings).is_ok()
}

/// Sets the settings of a program that is being attached to; `false` if it is recorded.
pub(crate) fn set_attached() -> bool {
    SETTINGS.get_or_init(ProbeSettings::for_attached).is_attached
}

/// Whether the program was attached to, and nothing is recorded.
pub(crate) fn is_attached() -> bool {
    SETTINGS.get().is_some_and(|settings| settings.is_attached)
}

/// Whether OpenMP regions are recorded once the process has called MPI.
pub(crate) fn records_openmp() -> bool {
    SETTINGS.get().is_some_and(|settings| settings.openmp && !settings.profile && !settings.is_attached)
}

/// Whether this program is tuned.
pub(crate) fn is_tuned() -> bool {
    std::env::var_os("SINTONIA_TUNE").is_some()
}

/// The settings; valid only after [`read`] returned `true`.
pub(crate) fn settings() -> &'static ProbeSettings {
    SETTINGS.get().expect("read() comes first")
}
