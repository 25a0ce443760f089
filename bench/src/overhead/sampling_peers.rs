//! The peers that sample: how each is found and set to take stacks at a rate, as its own manual says.

use std::path::Path;

use super::peers::{self, EXTRAE_SETTINGS, PeerTools, fitting};
use super::tool::{SampleCount, Tool};
use crate::mpi::Mpi;
use crate::search::Search;

/// How often samples are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SampleRate {
    pub hertz: u32,
}

impl SampleRate {
    fn period_us(self) -> u32 {
        1_000_000 / self.hertz
    }
}

type SamplerFinder = fn(&Search, &Mpi, &Path, SampleRate) -> PeerTools;

/// Every peer, and how to find it.
pub(super) const PEERS: &[(&str, SamplerFinder)] = &[
    ("perf", perf),
    ("samply", samply),
    ("gperftools", gperftools),
    ("HPCToolkit", hpctoolkit),
    ("Score-P sampling", scorep),
    ("TAU sampling", tau),
    ("Extrae sampling", extrae),
];

fn perf(search: &Search, _mpi: &Mpi, _program: &Path, rate: SampleRate) -> PeerTools {
    let program = search.program("perf", "perf")?.display().to_string();
    let hertz = rate.hertz.to_string();
    let tool = |name: &str, keeps, stacks: &[&str]| {
        let words = [&[program.as_str(), "record", "-e", "task-clock", "-F", &hertz, "-o", "perf.data"], stacks].concat();
        Tool { samples: Some(perf_samples), ..Tool::new(format!("{name} at {hertz} Hz"), keeps).started_by(words) }
    };
    Ok(vec![
        tool("perf record", "functions without callers", &[]),
        tool("perf record --call-graph dwarf", "8 KiB of the stack", &["--call-graph", "dwarf"]),
    ])
}

/// It ends with "Captured and wrote 0.123 MB perf.data (456 samples)".
fn perf_samples(folder: &Path, errors: &str) -> Option<SampleCount> {
    let (_, rest) = errors.rsplit_once("perf.data (")?;
    let count = rest.split_once(" samples")?.0.parse().ok()?;
    Some(SampleCount { count, bytes: std::fs::metadata(folder.join("perf.data")).ok()?.len() })
}

fn samply(search: &Search, _mpi: &Mpi, _program: &Path, rate: SampleRate) -> PeerTools {
    let program = search.program("samply", "samply")?.display().to_string();
    let hertz = rate.hertz.to_string();
    let tool = Tool::new(format!("samply at {hertz} Hz"), "stacks");
    Ok(vec![tool.started_by([&program, "record", "--save-only", "--rate", &hertz, "-o", "profile.json.gz", "--"])])
}

fn gperftools(search: &Search, _mpi: &Mpi, _program: &Path, rate: SampleRate) -> PeerTools {
    let library = search.library("gperftools", "libprofiler.so")?;
    let settings = ["CPUPROFILE=prof.out", &format!("CPUPROFILE_FREQUENCY={}", rate.hertz)];
    let tool = Tool::new(format!("gperftools at {} Hz", rate.hertz), "stacks");
    Ok(vec![Tool { samples: Some(gperftools_samples), ..tool.preloaded(&library, &settings) }])
}

/// It ends with "PROFILE: interrupts/evictions/bytes = 297/12/3456".
fn gperftools_samples(_folder: &Path, errors: &str) -> Option<SampleCount> {
    let (_, rest) = errors.rsplit_once("interrupts/evictions/bytes = ")?;
    let mut numbers = rest.split(|other: char| !other.is_ascii_digit());
    let count = numbers.next()?.parse().ok()?;
    Some(SampleCount { count, bytes: numbers.nth(1)?.parse().ok()? })
}

fn hpctoolkit(search: &Search, _mpi: &Mpi, _program: &Path, rate: SampleRate) -> PeerTools {
    let program = search.program("hpctoolkit", "hpcrun")?.display().to_string();
    let event = format!("CPUTIME@{}", rate.period_us());
    let tool = Tool::new(format!("HPCToolkit at {} Hz", rate.hertz), "stacks, sums");
    Ok(vec![tool.started_by([&program, "-e", &event, "-o", "measurements"])])
}

fn scorep(search: &Search, mpi: &Mpi, program: &Path, rate: SampleRate) -> PeerTools {
    let preload = peers::scorep_library(search, mpi, program)?;
    let settings = [
        "SCOREP_EXPERIMENT_DIRECTORY=scorep",
        "SCOREP_ENABLE_UNWINDING=true",
        &format!("SCOREP_SAMPLING_EVENTS=timer@{}", rate.period_us()),
    ];
    Ok(vec![Tool::new(format!("Score-P sampling at {} Hz", rate.hertz), "stacks, sums").preloaded(preload.as_ref(), &settings)])
}

fn tau(search: &Search, mpi: &Mpi, _program: &Path, rate: SampleRate) -> PeerTools {
    let program = search.program("tau", "tau_exec")?.display().to_string();
    if let Ok(library) = search.library("tau", "libTAUsh-mpi.so") {
        fitting(mpi, library)?;
    }
    let period = format!("TAU_EBS_PERIOD={}", rate.period_us());
    let tool = |name: &str, keeps, unwind: &str| {
        let tool = Tool::new(format!("{name} at {} Hz", rate.hertz), keeps);
        tool.started_by(["env", "TAU_SAMPLING=1", &period, unwind, &program, "-T", "mpi"])
    };
    Ok(vec![
        tool("TAU sampling", "functions without callers, sums", "TAU_EBS_UNWIND=0"),
        tool("TAU sampling with unwinding", "stacks, sums", "TAU_EBS_UNWIND=1"),
    ])
}

fn extrae(search: &Search, mpi: &Mpi, _program: &Path, rate: SampleRate) -> PeerTools {
    let library = peers::extrae_library(search, mpi)?;
    let settings = [
        EXTRAE_SETTINGS[0],
        EXTRAE_SETTINGS[1],
        "EXTRAE_SAMPLING_CALLER=1-10",
        "EXTRAE_SAMPLING_CLOCKTYPE=PROF",
        &format!("EXTRAE_SAMPLING_PERIOD={}u", rate.period_us()),
    ];
    Ok(vec![Tool::new(format!("Extrae sampling at {} Hz", rate.hertz), "ten callers").preloaded(&library, &settings)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gperftools_says_how_many_samples_it_took() {
        let said = "bench: x\nPROFILE: interrupts/evictions/bytes = 297/12/3456\n";
        assert_eq!(gperftools_samples(Path::new("."), said), Some(SampleCount { count: 297, bytes: 3456 }));
    }
}
