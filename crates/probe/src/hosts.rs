//! Runs on several hosts: shared directory, clock offsets, and collection of files.
//!
//! These are the only messages that the probe sends through MPI: inside `MPI_Init` and before `MPI_Finalize`, where every process takes
//! part, and only after `sintonia record` has confirmed that every process is recorded. On one host there are none.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_link::HelloMessage;
use sintonia_recording::definitions::{DefinitionRecord, MeasuredClockOffset};
use sintonia_recording::raw::BLOCK_BYTES;

use crate::clock;
use crate::job;
use crate::library::{Handle, ProgramMpi};
use crate::process;
use crate::settings::{ProbeSettings, settings};

/// Number of round trips to measure a clock offset.
const CLOCK_ROUND_TRIPS: usize = 50;

/// The processes that were started together.
pub(crate) struct WorldSummary {
    /// Id that no other world has.
    pub id: u64,
    /// The rank of this process.
    pub rank: i32,
    /// Number of processes.
    pub size: i32,
    /// Number of hosts they run on.
    pub hosts: usize,
}

/// Data about a process that all processes exchange at start.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct HostEntry {
    host: u64,
    sees_recording: u64,
}

/// State kept from `MPI_Init` to `MPI_Finalize`.
struct HostExchange {
    communicator: Handle,
    rank: i32,
    hosts: Vec<HostEntry>,
}

static HOST_EXCHANGE: Mutex<Option<HostExchange>> = Mutex::new(None);
static SEES_RECORDING: AtomicBool = AtomicBool::new(true);

/// The directory to write to on this host: that of the recording if it is visible here, else a local scratch directory.
pub(crate) fn local_dir(settings: &ProbeSettings) -> PathBuf {
    let token = std::fs::read_to_string(settings.live_dir.join("token")).unwrap_or_default();
    let sees = token.trim() == settings.token;
    SEES_RECORDING.store(sees, Ordering::Relaxed);
    if sees { settings.live_dir.clone() } else { settings.scratch.join(format!("sintonia-{}", settings.token)) }
}

impl WorldSummary {
    /// The world as far as a single process knows it.
    pub(crate) fn local(library: &ProgramMpi) -> Option<WorldSummary> {
        Some(WorldSummary { id: job::job_id(), rank: library.rank(library.comm_world)?, size: library.size(library.comm_world)?, hosts: 1 })
    }
}

/// Inside `MPI_Init`: on several hosts, exchanges host data and measures clock offsets.
pub(crate) fn connect(library: &ProgramMpi) -> Option<WorldSummary> {
    let mut world = WorldSummary::local(library)?;
    if all_on_this_host(world.size) {
        return Some(world);
    }
    // No process may wait for one that is not recorded, so first check that all are.
    let hello = HelloMessage { token: settings().token.clone(), world: world.id, rank: world.rank as u32, size: world.size as u32 };
    if sintonia_link::ask_all_recorded(settings().link.split(',').filter(|address| !address.is_empty()), &hello) != Some(true) {
        process::note("clocks were not compared and files not sent: not all ranks are recorded, or `sintonia record` could not be reached");
        return Some(world);
    }
    let Some(exchange) = HostExchange::new(library, &world) else {
        process::note("clocks were not compared and files not sent: MPI_Comm_dup or MPI_Allgather failed");
        return Some(world);
    };
    let mut names: Vec<u64> = exchange.hosts.iter().map(|host| host.host).collect();
    names.sort_unstable();
    names.dedup();
    world.hosts = names.len();
    exchange.compare_clocks(library);
    *HOST_EXCHANGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(exchange);
    Some(world)
}

/// Whether, according to the launcher, all processes of the world run on this host.
fn all_on_this_host(size: i32) -> bool {
    let number = |name: &str| std::env::var(name).ok()?.parse::<i32>().ok();
    let local = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"].iter().find_map(|name| number(name));
    let nodes = ["SLURM_STEP_NUM_NODES", "FLUX_JOB_NNODES"].iter().find_map(|name| number(name));
    size == 1 || local == Some(size) || (local.is_none() && nodes == Some(1))
}

/// Before `MPI_Finalize`: measures clock offsets again, and sends files to a process that sees the recording. `end_recording` is called
/// where files are about to be sent: they must be complete.
pub(crate) fn disconnect(library: &ProgramMpi, end_recording: impl Fn()) {
    let Some(exchange) = HOST_EXCHANGE.lock().ok().and_then(|mut exchange| exchange.take()) else { return };
    exchange.compare_clocks(library);
    exchange.gather_files(library, end_recording);
    library.free(exchange.communicator);
}

impl HostExchange {
    /// Exchanges host data with all processes.
    fn new(library: &ProgramMpi, world: &WorldSummary) -> Option<HostExchange> {
        let mine =
            HostEntry { host: job::hash(process::host_name().as_bytes()), sees_recording: SEES_RECORDING.load(Ordering::Relaxed).into() };
        let communicator = library.duplicate(library.comm_world)?;
        let cards = library.all_gather(&mine, communicator, world.size as usize)?;
        Some(HostExchange { communicator, rank: world.rank, hosts: cards })
    }

    /// The first process of each host measures its clock offset to rank 0.
    fn compare_clocks(&self, library: &ProgramMpi) {
        let first_of_host = |rank: usize| self.hosts.iter().position(|host| host.host == self.hosts[rank].host) == Some(rank);
        for other in (1..self.hosts.len()).filter(|rank| first_of_host(*rank) && self.hosts[*rank].host != self.hosts[0].host) {
            if self.rank == 0 {
                self.answer_clock_queries(library, other as i32);
            } else if self.rank == other as i32 {
                self.query_clock(library);
            }
        }
    }

    fn answer_clock_queries(&self, library: &ProgramMpi, other: i32) {
        for _ in 0..CLOCK_ROUND_TRIPS {
            let mut question = [0u8; 8];
            if !library.receive(&mut question, other, self.communicator) {
                return;
            }
            let now = clock::nanoseconds(libc::CLOCK_MONOTONIC);
            library.send(&now.to_le_bytes(), other, self.communicator);
        }
    }

    fn query_clock(&self, library: &ProgramMpi) {
        let mut best: Option<(u64, MeasuredClockOffset)> = None;
        for _ in 0..CLOCK_ROUND_TRIPS {
            let mut answer = [0u8; 8];
            let (before, before_ns) = (clock::ticks(), clock::nanoseconds(libc::CLOCK_MONOTONIC));
            if !library.send(&[0; 8], 0, self.communicator) || !library.receive(&mut answer, 0, self.communicator) {
                return;
            }
            let (after, after_ns) = (clock::ticks(), clock::nanoseconds(libc::CLOCK_MONOTONIC));
            let round_trip = after_ns - before_ns;
            if best.is_none_or(|(least, _)| round_trip < least) {
                let offset = MeasuredClockOffset {
                    ticks: before + (after - before) / 2,
                    reference_ns: u64::from_le_bytes(answer) as i64,
                    error_ns: round_trip as i64 / 2,
                };
                best = Some((round_trip, offset));
            }
        }
        if let Some((_, offset)) = best {
            process::define(&DefinitionRecord::Offset(offset));
        }
    }

    /// Processes that do not see the recording's directory send their files to the first one that does. Their recording ends here: what
    /// they do inside `MPI_Finalize` is not recorded.
    fn gather_files(&self, library: &ProgramMpi, end_recording: impl Fn()) {
        let Some(keeper) = self.hosts.iter().position(|host| host.sees_recording == 1) else {
            return process::note("the recording's folder is not visible from any host; the files are in the scratch folders of the hosts");
        };
        for other in (0..self.hosts.len()).filter(|rank| self.hosts[*rank].sees_recording == 0) {
            if self.rank == other as i32 {
                // As if MPI_Finalize had returned.
                end_recording();
                send_files(library, keeper as i32, self.communicator);
            } else if self.rank == keeper as i32 {
                receive_files(library, other as i32, self.communicator);
            }
        }
    }
}

/// Header of a file chunk: length of the file name and of the chunk; both 0 at the end.
type ChunkHeader = [u64; 2];

fn send_chunk_header(library: &ProgramMpi, announcement: ChunkHeader, to: i32, communicator: Handle) -> bool {
    let mut bytes = [0u8; 16];
    bytes[..8].copy_from_slice(&announcement[0].to_le_bytes());
    bytes[8..].copy_from_slice(&announcement[1].to_le_bytes());
    library.send(&bytes, to, communicator)
}

fn send_files(library: &ProgramMpi, to: i32, communicator: Handle) {
    let files = process::list_files();
    for path in &files {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let Ok(mut file) = std::fs::File::open(path) else { continue };
        let mut piece = vec![0u8; BLOCK_BYTES];
        while let Ok(length @ 1..) = file.read(&mut piece) {
            // Unused memory is zero, and nothing follows it.
            if piece[..length].iter().all(|byte| *byte == 0) {
                break;
            }
            send_chunk_header(library, [name.len() as u64, length as u64], to, communicator);
            library.send(name.as_bytes(), to, communicator);
            library.send(&piece[..length], to, communicator);
        }
    }
    send_chunk_header(library, [0, 0], to, communicator);
    let mut kept = [0u8];
    if !library.receive(&mut kept, to, communicator) || kept != [1] {
        return;
    }
    for path in &files {
        let _ = std::fs::remove_file(path);
    }
    // Succeeds for the last process on this host, when the directory is empty.
    let _ = std::fs::remove_dir(settings().scratch.join(format!("sintonia-{}", settings().token)));
}

/// Writes the files of another process, and confirms that it may remove its own.
fn receive_files(library: &ProgramMpi, from: i32, communicator: Handle) {
    let mut kept = true;
    loop {
        let mut bytes = [0u8; 16];
        if !library.receive(&mut bytes, from, communicator) {
            return;
        }
        let number = |part: &[u8]| u64::from_le_bytes(part.try_into().unwrap_or_default()) as usize;
        let (name_length, length) = (number(&bytes[..8]), number(&bytes[8..]));
        if name_length == 0 {
            library.send(&[kept.into()], from, communicator);
            return;
        }
        let (mut name, mut piece) = (vec![0u8; name_length], vec![0u8; length]);
        if !library.receive(&mut name, from, communicator) || !library.receive(&mut piece, from, communicator) {
            return;
        }
        let path = settings().live_dir.join(String::from_utf8_lossy(&name).replace('/', "_"));
        let written = std::fs::File::options().create(true).append(true).open(path).and_then(|mut file| file.write_all(&piece));
        if let Err(error) = written {
            kept = false;
            process::note(&format!("files of rank {from} could not be written and stay in its host's scratch folder: {error}"));
        }
    }
}
