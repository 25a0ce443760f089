//! What the host is: processors, cores, sockets, memory, kernel and load, as the kernel describes them.
//!
//! One process of each host reads all of it. The others read what costs little: a host with hundreds of processors has as many files, and
//! as many ranks that would read them at the same time.

use sintonia_recording::definitions::DefinitionRecord;
use sintonia_recording::host::{CacheDescription, HostDescription};

use crate::breakable_lock::BreakableLock;
use crate::control_group::GroupLimits;
use crate::process;
use crate::processor_set;
use crate::system_files::{KernelFiles, SystemFiles};

/// No processor has more caches than this.
const MAX_CACHES: u32 = 16;

/// What was read at the start, for the end.
static AT_START: BreakableLock<Option<(HostDescription, GroupLimits)>> = BreakableLock::new(None);

/// Defines the host and the limits of this process, when recording starts.
pub(crate) fn define(name: &str) {
    let mut host = describe(name, &KernelFiles);
    if is_first_on_host() {
        add_topology(&mut host, &KernelFiles);
        add_processor(&mut host, &KernelFiles);
        add_caches(&mut host, &KernelFiles);
    }
    process::define(&DefinitionRecord::Host(host.clone()));
    let limits = GroupLimits::read(&KernelFiles);
    if let Some(limits) = limits.until_now(&KernelFiles) {
        process::define(&DefinitionRecord::Limits(limits));
    }
    if let Some(mut at_start) = AT_START.lock() {
        *at_start = Some((host, limits));
    }
}

/// Defines what has changed since: load, and time for which a quota stopped the process.
pub(crate) fn define_end() {
    let at_start = AT_START.lock();
    let Some((host, limits)) = at_start.as_ref().and_then(|at_start| at_start.as_ref()) else { return };
    process::define(&DefinitionRecord::Host(HostDescription { load_at_end: load(&KernelFiles), ..host.clone() }));
    if let Some(limits) = limits.until_now(&KernelFiles) {
        process::define(&DefinitionRecord::Limits(limits));
    }
}

/// Whether the launcher says that no other process of the job on this host has a lower rank, or says nothing.
fn is_first_on_host() -> bool {
    let names = [
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "PALS_LOCAL_RANKID",
        "SLURM_LOCALID",
        "FLUX_TASK_LOCAL_ID",
    ];
    names.iter().find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok()).is_none_or(|rank| rank == 0)
}

/// What costs little to read.
fn describe(name: &str, files: &impl SystemFiles) -> HostDescription {
    HostDescription {
        name: name.into(),
        processors: files.read("/sys/devices/system/cpu/online").map(|text| text.trim().into()).unwrap_or_default(),
        numa_nodes: files.read("/sys/devices/system/node/online").and_then(|text| Some(processor_set::parse(&text)?.len() as u32)),
        kernel: files.read("/proc/sys/kernel/osrelease").map(|text| text.trim().into()),
        memory_bytes: files.read("/proc/meminfo").and_then(|text| parse_memory(&text)),
        load_at_start: load(files),
        ..HostDescription::default()
    }
}

/// Cores, sockets and SMT. A processor that is known from another one of its core or socket is not read.
fn add_topology(host: &mut HostDescription, files: &impl SystemFiles) {
    let Some(processors) = processor_set::parse(&host.processors) else { return };
    let topology = |processor: u32, names: [&str; 2]| {
        let path = |name: &str| format!("/sys/devices/system/cpu/cpu{processor}/topology/{name}");
        names.iter().find_map(|name| files.read(&path(name))).map(|text| text.trim().to_string())
    };
    // Later kernels have the first name, earlier ones the second.
    let cores = partition(&processors, |processor| topology(processor, ["core_cpus_list", "thread_siblings_list"]));
    let sockets = partition(&processors, |processor| topology(processor, ["package_cpus_list", "core_siblings_list"]));
    host.cores = cores.as_ref().map(|cores| cores.len() as u32);
    host.sockets = sockets.map(|sockets| sockets.len() as u32);
    host.smt_siblings = cores.unwrap_or_default();
    host.smt_siblings.retain(|core| processor_set::parse(core).is_some_and(|siblings| siblings.len() > 1));
}

/// The sets into which processors are divided, each named by any of its members; `None` if one is not known.
fn partition(processors: &[u32], set_of: impl Fn(u32) -> Option<String>) -> Option<Vec<String>> {
    let (mut sets, mut known) = (Vec::new(), std::collections::HashSet::new());
    for processor in processors {
        if known.insert(*processor) {
            let set = set_of(*processor)?;
            known.extend(processor_set::parse(&set)?);
            sets.push(set);
        }
    }
    (!sets.is_empty()).then_some(sets)
}

/// Model and frequencies.
fn add_processor(host: &mut HostDescription, files: &impl SystemFiles) {
    let description = files.read("/proc/cpuinfo").unwrap_or_default();
    let values = |name: &'static str| {
        let is_it = move |(key, value): (&str, &'_ str)| (key.trim_end() == name).then(|| value.trim().to_string());
        description.lines().filter_map(|line| line.split_once(':')).filter_map(is_it)
    };
    host.cpu_model = values("model name").next();
    let frequencies: Vec<f64> = values("cpu MHz").filter_map(|text| text.parse().ok()).collect();
    host.current_mhz = (!frequencies.is_empty()).then(|| frequencies.iter().sum::<f64>() / frequencies.len() as f64);
    let first = first_processor(host);
    let in_khz = || files.number(&format!("/sys/devices/system/cpu/cpu{first}/cpufreq/base_frequency")).map(|khz| khz / 1000.0);
    let nominal = || files.number(&format!("/sys/devices/system/cpu/cpu{first}/acpi_cppc/nominal_freq")).filter(|mhz| *mhz > 0.0);
    host.base_mhz = in_khz().or_else(nominal).or_else(|| host.cpu_model.as_deref().and_then(frequency_in_name));
}

/// Caches that hold data, of the first processor.
fn add_caches(host: &mut HostDescription, files: &impl SystemFiles) {
    let first = first_processor(host);
    let read = |index: u32, name: &str| {
        files.read(&format!("/sys/devices/system/cpu/cpu{first}/cache/index{index}/{name}")).map(|text| text.trim().to_string())
    };
    let cache = |index: u32| {
        let level = read(index, "level")?.parse().ok()?;
        let bytes = read(index, "size")?.strip_suffix('K')?.parse::<u64>().ok()? << 10;
        Some(CacheDescription { level, bytes, processors: read(index, "shared_cpu_list").unwrap_or_default() })
    };
    let indices = (0..MAX_CACHES).take_while(|index| read(*index, "type").is_some());
    let with_data = indices.filter(|index| read(*index, "type").is_some_and(|kind| kind != "Instruction"));
    host.caches = with_data.filter_map(cache).collect();
    host.caches.sort_by_key(|cache| cache.level);
}

/// The first processor that is online.
fn first_processor(host: &HostDescription) -> u32 {
    processor_set::parse(&host.processors).and_then(|all| all.first().copied()).unwrap_or(0)
}

/// The frequency in a name such as `Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz`, in MHz.
fn frequency_in_name(model: &str) -> Option<f64> {
    let (_, frequency) = model.rsplit_once("@ ")?;
    Some(frequency.trim().strip_suffix("GHz")?.parse::<f64>().ok()? * 1000.0)
}

/// Parses `MemTotal:       24682416 kB`.
fn parse_memory(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Load average over one, five and fifteen minutes.
fn load(files: &impl SystemFiles) -> Option<[f64; 3]> {
    let text = files.read("/proc/loadavg")?;
    let mut numbers = text.split(' ').map_while(|word| word.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system_files::TestFiles;

    /// Two sockets of two cores with two hardware threads each, numbered as most firmware does, and one processor that is offline.
    fn two_sockets() -> TestFiles {
        let mut files = TestFiles::new(&[
            ("/sys/devices/system/cpu/online", "0-6\n"),
            ("/sys/devices/system/node/online", "0-1\n"),
            ("/proc/sys/kernel/osrelease", "5.14.0-427.el9.x86_64\n"),
            ("/proc/meminfo", "MemTotal:       24682416 kB\nMemFree: 7 kB\n"),
            ("/proc/loadavg", "0.50 1.25 2.00 3/400 1234\n"),
            ("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2.40GHz\ncpu MHz\t\t: 1000.0\n\ncpu MHz\t\t: 2000.0\n"),
        ]);
        for processor in 0..7 {
            let core = processor % 4;
            let folder = format!("/sys/devices/system/cpu/cpu{processor}/topology");
            let siblings = if core == 3 { "3".to_string() } else { format!("{core},{}", core + 4) };
            let socket = if core < 2 { "0-1,4-5" } else { "2-3,6" };
            files.0.push((format!("{folder}/thread_siblings_list"), format!("{siblings}\n")));
            files.0.push((format!("{folder}/core_siblings_list"), format!("{socket}\n")));
        }
        for (index, kind, level, size, shared) in [
            (0, "Data", 1, "32K", "0,4"),
            (1, "Instruction", 1, "32K", "0,4"),
            (2, "Unified", 2, "1024K", "0,4"),
            (3, "Unified", 3, "36608K", "0-1,4-5"),
        ] {
            let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
            for (name, text) in [("type", kind), ("level", &level.to_string()), ("size", size), ("shared_cpu_list", shared)] {
                files.0.push((format!("{folder}/{name}"), format!("{text}\n")));
            }
        }
        files
    }

    fn cache(level: u32, kib: u64, processors: &str) -> CacheDescription {
        CacheDescription { level, bytes: kib << 10, processors: processors.into() }
    }

    #[test]
    fn a_host_with_two_sockets_is_described() {
        let files = two_sockets();
        let mut host = describe("node", &files);
        add_topology(&mut host, &files);
        add_processor(&mut host, &files);
        add_caches(&mut host, &files);
        let expected = HostDescription {
            name: "node".into(),
            processors: "0-6".into(),
            cores: Some(4),
            sockets: Some(2),
            numa_nodes: Some(2),
            smt_siblings: ["0,4", "1,5", "2,6"].map(String::from).to_vec(),
            cpu_model: Some("Some CPU @ 2.40GHz".into()),
            base_mhz: Some(2400.0),
            current_mhz: Some(1500.0),
            kernel: Some("5.14.0-427.el9.x86_64".into()),
            memory_bytes: Some(24_682_416 * 1024),
            caches: vec![cache(1, 32, "0,4"), cache(2, 1024, "0,4"), cache(3, 36608, "0-1,4-5")],
            load_at_start: Some([0.5, 1.25, 2.0]),
            load_at_end: None,
        };
        assert_eq!(host, expected);
    }

    #[test]
    fn the_base_frequency_of_the_driver_comes_first() {
        let mut files = two_sockets();
        files.0.push(("/sys/devices/system/cpu/cpu0/cpufreq/base_frequency".into(), "2100000\n".into()));
        let mut host = describe("node", &files);
        add_processor(&mut host, &files);
        assert_eq!(host.base_mhz, Some(2100.0));
    }

    #[test]
    fn a_host_without_these_files_is_described_by_its_name() {
        let files = TestFiles::new(&[]);
        let mut host = describe("node", &files);
        add_topology(&mut host, &files);
        add_processor(&mut host, &files);
        add_caches(&mut host, &files);
        assert_eq!(host, HostDescription { name: "node".into(), ..HostDescription::default() });
    }
}
