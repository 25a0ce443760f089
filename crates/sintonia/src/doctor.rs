//! `sintonia doctor`: shows what is here: MPI libraries, launchers, the clock, and what may keep a program from being recorded.

mod libraries;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::Serialize;
use sintonia_recording::definitions::keeps_mapped_memory;

use crate::record::probe;
use crate::{Error, output};

/// What `sintonia doctor` is told.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sintonia doctor")]
pub struct Arguments {
    /// The same for programs
    #[arg(long)]
    json: bool,
    /// Only print what the MPI library in this file says of itself
    #[arg(long, hide = true, value_name = "FILE")]
    library: Option<PathBuf>,
    /// Only write the probe to this file, to be installed on hosts that share no folder
    #[arg(long, value_name = "FILE")]
    write_probe: Option<PathBuf>,
}

/// Everything that is found.
#[derive(Serialize)]
struct Findings {
    libraries: Vec<libraries::Library>,
    launchers: Vec<Launcher>,
    clock: Clock,
    system: System,
    advice: Vec<String>,
}

#[derive(Serialize)]
struct Launcher {
    path: PathBuf,
    version: String,
}

#[derive(Serialize)]
struct Clock {
    /// What the kernel keeps time with.
    source: String,
    /// Whether the probe can read the processor's counter.
    time_stamp_counter: bool,
}

#[derive(Serialize)]
struct System {
    cores: usize,
    kernel: String,
    /// Whether calls survive a killed process when recording into this folder.
    survives_kill_here: bool,
    free_bytes_here: u64,
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    if let Some(path) = arguments.library {
        let version = sintonia_mpi::library_version(&path).ok_or_else(|| Error::Other(format!("{} is no MPI library", path.display())))?;
        output::to_stdout(|out| writeln!(out, "{version}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = arguments.write_probe {
        probe::write(&path)?;
        return Ok(ExitCode::SUCCESS);
    }
    let findings = Findings::gather();
    output::to_stdout(|out| if arguments.json { writeln!(out, "{}", serde_json::json!(findings)) } else { findings.show(out) })?;
    Ok(ExitCode::SUCCESS)
}

impl Findings {
    fn gather() -> Findings {
        let launchers = launchers();
        let libraries = libraries::find(launchers.iter().map(|launcher| launcher.path.as_path()));
        let (clock, system) = (clock(), system());
        let advice = advice(&libraries, &launchers, &clock, &system);
        Findings { libraries, launchers, clock, system, advice }
    }

    fn show(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "MPI libraries")?;
        for library in &self.libraries {
            writeln!(out, "  {:<10} {:<28} {}", library.abi, library.version, library.path.display())?;
        }
        writeln!(out, "Launchers")?;
        for launcher in &self.launchers {
            writeln!(out, "  {:<39} {}", launcher.version, launcher.path.display())?;
        }
        let counter = if self.clock.time_stamp_counter { "read directly (about 20 ns)" } else { "read through the system (slower)" };
        writeln!(out, "Clock\n  {}, {counter}", self.clock.source)?;
        let kept = if self.system.survives_kill_here { "kept" } else { "written in blocks, so the last ones may be lost," };
        writeln!(out, "Here\n  {} cores, Linux {}", self.system.cores, self.system.kernel)?;
        writeln!(out, "  calls are {kept} when a process is killed; {} free", crate::text::bytes(self.system.free_bytes_here))?;
        for advice in &self.advice {
            writeln!(out, "Note: {advice}")?;
        }
        if self.advice.is_empty() {
            writeln!(out, "All is well: sintonia record -- mpirun -n 2 ./app")?;
        }
        Ok(())
    }
}

fn advice(libraries: &[libraries::Library], launchers: &[Launcher], clock: &Clock, system: &System) -> Vec<String> {
    let mut advice = Vec::new();
    if libraries.is_empty() {
        advice.push("no MPI library was found; load your cluster's MPI module, or install one (apt install openmpi-bin or mpich)".into());
    }
    if launchers.is_empty() {
        advice.push("no launcher was found in PATH (mpirun, mpiexec, srun, flux)".into());
    }
    if !clock.time_stamp_counter {
        advice.push(format!("the clock source is {}; recording costs some 50 ns more per call than with tsc", clock.source));
    }
    if system.free_bytes_here < 1 << 30 {
        advice.push("less than 1 GB is free in this folder; record elsewhere with -o, or keep sums only with --profile".into());
    }
    advice
}

fn launchers() -> Vec<Launcher> {
    let mut found: Vec<Launcher> = Vec::new();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        for name in ["mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "prterun", "srun", "flux"] {
            let path = folder.join(name);
            let target = path.canonicalize().unwrap_or_else(|_| path.clone());
            if path.is_file() && !found.iter().any(|known| known.path.canonicalize().is_ok_and(|other| other == target)) {
                found.push(Launcher { version: version_of(&path), path });
            }
        }
    }
    found
}

/// The first line that names a version.
fn version_of(launcher: &Path) -> String {
    let output = Command::new(launcher).arg("--version").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("version unknown").to_string();
    let hydra = text.lines().find_map(|line| line.trim().strip_prefix("Version:"));
    hydra.map_or(first, |version| format!("MPICH Hydra {}", version.trim()))
}

fn clock() -> Clock {
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_else(|| "unknown".into());
    let flags = read("/proc/cpuinfo").unwrap_or_default();
    let constant = ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.contains(flag));
    let time_stamp_counter = constant && matches!(source.as_str(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page");
    Clock { source, time_stamp_counter }
}

fn system() -> System {
    let kind = rustix::fs::statfs(".").map(|system| system.f_type as u64).unwrap_or(0);
    let free = rustix::fs::statvfs(".").map(|system| system.f_bavail * system.f_frsize).unwrap_or(0);
    System {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        survives_kill_here: keeps_mapped_memory(kind),
        free_bytes_here: free,
    }
}

fn read(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_string())
}
