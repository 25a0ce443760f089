//! What figures must be read with: the machine, and how busy it was with other things.

use serde::Serialize;

/// The machine.
#[derive(Serialize)]
pub(crate) struct Machine {
    pub processor: String,
    pub cores: usize,
    /// Processes that wanted to run, averaged over the last minute, before the measurement.
    pub load_before: f64,
    /// The same after it; one or two of them are the measurement's own.
    pub load_after: f64,
}

impl Machine {
    /// This machine, before a measurement.
    pub(crate) fn before() -> Machine {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Machine { processor: processor(), cores, load_before: load(), load_after: 0.0 }
    }

    /// The same machine, after it.
    pub(crate) fn after(self) -> Machine {
        Machine { load_after: load(), ..self }
    }

    /// In words.
    pub(crate) fn line(&self) -> String {
        let Machine { processor, cores, load_before, load_after } = self;
        format!("{processor}, {cores} cores; load average {load_before:.1} before, {load_after:.1} after")
    }
}

fn processor() -> String {
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or("unknown processor".into(), |(_, name)| name.trim().to_owned())
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}
