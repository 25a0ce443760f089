//! `sintonia doctor`: shows MPI libraries, launchers and clock of this machine, and what may prevent recording.

mod libraries;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::Serialize;
use sintonia_recording::definitions::is_mmap_safe;
use sintonia_recording::host::OffCpuSource;

use crate::record::probe;
use crate::{Error, output};

/// Arguments of `sintonia doctor`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sintonia doctor")]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Only print the version of the MPI library in this file
    #[arg(long, hide = true, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Only write the probe to this file, for installation on hosts without a shared file system
    #[arg(long, value_name = "FILE")]
    write_probe: Option<PathBuf>,
}

/// Everything that was detected.
#[derive(Serialize)]
struct DoctorReport {
    libraries: Vec<libraries::FoundMpiLibrary>,
    launchers: Vec<FoundLauncher>,
    clock: ClockSource,
    system: HostSystem,
    advice: Vec<String>,
}

#[derive(Serialize)]
struct FoundLauncher {
    path: PathBuf,
    version: String,
}

#[derive(Serialize)]
struct ClockSource {
    /// The kernel's clock source.
    source: String,
    /// Whether the probe can read the time stamp counter.
    time_stamp_counter: bool,
}

#[derive(Serialize)]
struct HostSystem {
    cores: usize,
    kernel: String,
    /// Whether calls survive a killed process when recording in the current directory.
    survives_kill_here: bool,
    free_bytes_here: u64,
    /// What a recording can tell about times off the processor.
    off_cpu: OffCpuSource,
    /// Whether the kernel knows the counters of the processor.
    processor_counters: bool,
    /// `kernel.perf_event_paranoid`, if the kernel has it.
    perf_event_paranoid: Option<i32>,
}

/// Runs `sintonia doctor`.
pub(crate) fn run(args: DoctorArgs) -> Result<ExitCode, Error> {
    if let Some(path) = args.library {
        let version =
            sintonia_mpi::library_version(&path).ok_or_else(|| Error::Other(format!("{} is not an MPI library", path.display())))?;
        output::write_stdout(|out| writeln!(out, "{version}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = args.write_probe {
        probe::write_probe(&path)?;
        return Ok(ExitCode::SUCCESS);
    }
    let findings = DoctorReport::collect();
    output::write_stdout(|out| if args.json { writeln!(out, "{}", serde_json::json!(findings)) } else { findings.render(out) })?;
    Ok(ExitCode::SUCCESS)
}

impl DoctorReport {
    fn collect() -> DoctorReport {
        let launchers = find_launchers();
        let libraries = libraries::find_libraries(launchers.iter().map(|launcher| launcher.path.as_path()));
        let (clock, system) = (detect_clock(), detect_system());
        let advice = find_problems(&libraries, &launchers, &clock, &system);
        DoctorReport { libraries, launchers, clock, system, advice }
    }

    fn render(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "MPI libraries")?;
        for library in &self.libraries {
            writeln!(out, "  {:<10} {:<28} {}", library.abi, library.version, library.path.display())?;
        }
        writeln!(out, "Launchers")?;
        for launcher in &self.launchers {
            writeln!(out, "  {:<39} {}", launcher.version, launcher.path.display())?;
        }
        let counter = if self.clock.time_stamp_counter { "read directly (about 20 ns)" } else { "read through the kernel (slower)" };
        writeln!(out, "Clock\n  {}, {counter}", self.clock.source)?;
        let kept = if self.system.survives_kill_here { "kept" } else { "buffered, so the last ones may be lost," };
        writeln!(out, "System\n  {} cores, Linux {}", self.system.cores, self.system.kernel)?;
        writeln!(out, "  calls are {kept} when a process is killed; {} free", crate::text::format_bytes(self.system.free_bytes_here))?;
        writeln!(out, "  {}", off_cpu_text(&self.system))?;
        writeln!(out, "  {}", counters_text(&self.system))?;
        for advice in &self.advice {
            writeln!(out, "Note: {advice}")?;
        }
        if self.advice.is_empty() {
            writeln!(out, "Ready: sintonia record -- mpirun -n 2 ./app")?;
        }
        Ok(())
    }
}

fn find_problems(
    libraries: &[libraries::FoundMpiLibrary],
    launchers: &[FoundLauncher],
    clock: &ClockSource,
    system: &HostSystem,
) -> Vec<String> {
    let mut advice = Vec::new();
    if libraries.is_empty() {
        advice.push("no MPI library found; load your cluster's MPI module, or install one (apt install openmpi-bin or mpich)".into());
    }
    if launchers.is_empty() {
        advice.push("no launcher found in PATH (mpirun, mpiexec, srun, flux)".into());
    }
    if !clock.time_stamp_counter {
        advice.push(format!("the clock source is {}; recording takes about 50 ns longer per call than with tsc", clock.source));
    }
    if system.free_bytes_here < 1 << 30 {
        advice.push("less than 1 GB is free in this directory; record elsewhere with -o, or record only totals with --profile".into());
    }
    advice
}

fn find_launchers() -> Vec<FoundLauncher> {
    let mut found: Vec<FoundLauncher> = Vec::new();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        for name in ["mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "prterun", "srun", "flux"] {
            let path = folder.join(name);
            let target = path.canonicalize().unwrap_or_else(|_| path.clone());
            if path.is_file() && !found.iter().any(|known| known.path.canonicalize().is_ok_and(|other| other == target)) {
                found.push(FoundLauncher { version: launcher_version(&path), path });
            }
        }
    }
    found
}

/// The first line that names a version.
fn launcher_version(launcher: &Path) -> String {
    let output = Command::new(launcher).arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("version unknown").to_string();
    let hydra = text.lines().find_map(|line| line.trim().strip_prefix("Version:"));
    hydra.map_or(first, |version| format!("MPICH Hydra {}", version.trim()))
}

fn detect_clock() -> ClockSource {
    let source = read_trimmed("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_else(|| "unknown".into());
    let flags = read_trimmed("/proc/cpuinfo").unwrap_or_default();
    let constant = ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.contains(flag));
    let time_stamp_counter = constant && matches!(source.as_str(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page");
    ClockSource { source, time_stamp_counter }
}

/// Events of one's own threads are allowed up to this value of `kernel.perf_event_paranoid`.
const MOST_PARANOID: i32 = 2;

/// Whether the kernel knows the counters of the processor; those with two kinds of cores have a device for each.
fn has_processor_counters() -> bool {
    ["cpu", "cpu_core"].iter().any(|device| Path::new("/sys/bus/event_source/devices").join(device).exists())
}

fn counters_text(system: &HostSystem) -> &'static str {
    match system.perf_event_paranoid {
        Some(level) if level <= MOST_PARANOID && system.processor_counters => "instructions, cycles and cache misses are counted",
        Some(level) if level <= MOST_PARANOID => "page faults are counted; the kernel does not know the counters of the processor",
        _ => "nothing is counted, and threads are not sampled without signals (see kernel.perf_event_paranoid)",
    }
}

/// What a recording can tell about times off the processor, as far as files tell: a container may forbid more.
fn detect_off_cpu(perf_event_paranoid: Option<i32>) -> OffCpuSource {
    if std::fs::read("/proc/thread-self/schedstat").is_err() {
        OffCpuSource::Totals
    } else if perf_event_paranoid.is_some_and(|level| level <= MOST_PARANOID) {
        OffCpuSource::ContextSwitches
    } else {
        OffCpuSource::RunQueue
    }
}

fn off_cpu_text(system: &HostSystem) -> String {
    let why = || system.perf_event_paranoid.map_or_else(String::new, |level| format!(" (kernel.perf_event_paranoid is {level})"));
    match system.off_cpu {
        OffCpuSource::ContextSwitches => "times off the processor are recorded exactly".into(),
        OffCpuSource::RunQueue => format!("times off the processor are recorded as sums for each call and segment{}", why()),
        OffCpuSource::Totals => "times off the processor are recorded as totals: the kernel does not count them".into(),
    }
}

fn detect_system() -> HostSystem {
    let perf_event_paranoid = read_trimmed("/proc/sys/kernel/perf_event_paranoid").and_then(|level| level.parse().ok());
    let kind = rustix::fs::statfs(".").map(|system| system.f_type as u64).unwrap_or(0);
    let free = rustix::fs::statvfs(".").map(|system| system.f_bavail * system.f_frsize).unwrap_or(0);
    HostSystem {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: read_trimmed("/proc/sys/kernel/osrelease").unwrap_or_default(),
        survives_kill_here: is_mmap_safe(kind),
        free_bytes_here: free,
        off_cpu: detect_off_cpu(perf_event_paranoid),
        processor_counters: has_processor_counters(),
        perf_event_paranoid,
    }
}

fn read_trimmed(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_string())
}
