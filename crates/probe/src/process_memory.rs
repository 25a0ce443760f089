//! Resident memory of this process: what it had after `MPI_Init`, and how it has grown since.
//!
//! Two readings of `/proc/self/status`, one after `MPI_Init` and one at the end. The kernel keeps the largest size.

use sintonia_recording::definitions::DefinitionRecord;
use sintonia_recording::host::ProcessMemory;

use crate::breakable_lock::BreakableLock;
use crate::process;
use crate::system_files::{KernelFiles, SystemFiles};

/// The reading after `MPI_Init`.
static AFTER_INIT: BreakableLock<Option<MemoryReading>> = BreakableLock::new(None);

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MemoryReading {
    resident: u64,
    peak: u64,
    /// Of mapped files and shared memory.
    mapped: u64,
}

/// `MPI_Init` has succeeded.
pub(crate) fn initialized() {
    if let Some(mut after_init) = AFTER_INIT.lock() {
        *after_init = MemoryReading::read(&KernelFiles);
    }
}

/// Defines what this process has used until now, if the kernel tells and `MPI_Init` was seen.
pub(crate) fn define() {
    let before = AFTER_INIT.lock().and_then(|reading| *reading);
    let Some((before, now)) = before.zip(MemoryReading::read(&KernelFiles)) else { return };
    process::define(&DefinitionRecord::Memory(before.growth_until(now)));
}

impl MemoryReading {
    fn read(files: &impl SystemFiles) -> Option<MemoryReading> {
        MemoryReading::parse(&files.read("/proc/self/status")?)
    }

    fn parse(status: &str) -> Option<MemoryReading> {
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()? << 10)
        };
        let mapped = bytes("RssFile:")?.saturating_add(bytes("RssShmem:")?);
        Some(MemoryReading { resident: bytes("VmRSS:")?, peak: bytes("VmHWM:")?, mapped })
    }

    fn growth_until(self, end: MemoryReading) -> ProcessMemory {
        ProcessMemory { initial_bytes: self.resident, peak_bytes: end.peak, mapped_growth_bytes: end.mapped.saturating_sub(self.mapped) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_process_gives_its_sizes() {
        let status =
            "Name:\tlu\nVmPeak:\t  99 kB\nVmHWM:\t    40 kB\nVmRSS:\t    30 kB\nRssAnon:\t 9 kB\nRssFile:\t  20 kB\nRssShmem:\t 1 kB\n";
        let start = MemoryReading { resident: 30 << 10, peak: 40 << 10, mapped: 21 << 10 };
        assert_eq!(MemoryReading::parse(status), Some(start));
        assert_eq!(MemoryReading::parse("Name:\tlu\nVmHWM:\t 4 kB\n"), None, "an old kernel does not tell all of them");
        let end = MemoryReading { resident: 31 << 10, peak: 100 << 10, mapped: 25 << 10 };
        assert_eq!(start.growth_until(end).working_set_bytes(), (100 - 30 - 4) << 10);
    }

    /// The kernel counts pages in batches for each thread, so it is not exact.
    #[test]
    fn memory_that_was_touched_and_freed_is_in_the_largest_size() {
        let start = MemoryReading::read(&KernelFiles).expect("Linux tells");
        drop(std::hint::black_box(vec![1u8; 64 << 20]));
        let grown = start.growth_until(MemoryReading::read(&KernelFiles).expect("Linux tells")).working_set_bytes();
        assert!(grown > 60 << 20, "{grown} bytes");
    }
}
