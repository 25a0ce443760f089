//! Processes on several hosts: do they see the same folder, how far are their clocks apart, and how does everything come together.
//!
//! These are the only messages the probe sends through MPI: inside `MPI_Init` and before `MPI_Finalize`, where every process is expected,
//! and only when `sintonia record` has said that every process is recorded. On one host there are none.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_link::Card;
use sintonia_recording::definitions::{ClockOffset, Definition};
use sintonia_recording::raw::BLOCK_BYTES;

use crate::clock;
use crate::library::{Handle, Library};
use crate::process;
use crate::settings::{Settings, settings};

/// How many questions are asked to learn the difference between two clocks.
const PROBES: usize = 50;

/// The processes that were started together.
pub struct World {
    /// A number that no other world has.
    pub id: u64,
    /// The rank of this process.
    pub rank: i32,
    /// How many there are.
    pub size: i32,
    /// How many hosts they run on.
    pub hosts: usize,
}

/// What each process tells all others when it starts.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct HostCard {
    host: u64,
    sees_folder: u64,
}

/// What is needed again at the end.
struct Meeting {
    communicator: Handle,
    rank: i32,
    cards: Vec<HostCard>,
}

static MEETING: Mutex<Option<Meeting>> = Mutex::new(None);
static SEES_FOLDER: AtomicBool = AtomicBool::new(true);

/// The folder to write to on this host: that of the recording if it can be seen from here, else one of this host's own.
pub fn folder_here(settings: &Settings) -> PathBuf {
    let token = std::fs::read_to_string(settings.live.join("token")).unwrap_or_default();
    let sees = token.trim() == settings.token;
    SEES_FOLDER.store(sees, Ordering::Relaxed);
    if sees { settings.live.clone() } else { settings.scratch.join(format!("sintonia-{}", settings.token)) }
}

/// A number that the processes of one job share without talking, from what their launcher tells them.
pub fn job_number() -> u64 {
    let names = ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_STEP_ID", "SLURM_JOB_ID"];
    names
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .fold(hash(settings().token.as_bytes()), |job, text| job ^ hash(text.as_bytes()))
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

impl World {
    /// The world as far as one process can tell alone.
    pub fn alone(library: &Library) -> Option<World> {
        Some(World { id: job_number(), rank: library.rank(library.world)?, size: library.size(library.world)?, hosts: 1 })
    }
}

/// Inside `MPI_Init`: on several hosts gets to know the others, and compares clocks.
pub fn meet(library: &Library) -> Option<World> {
    let mut world = World::alone(library)?;
    if all_on_this_host(world.size) {
        return Some(world);
    }
    // Nobody may wait for a process that is not recorded, so all of them are asked for first.
    let card = Card { token: settings().token.clone(), world: world.id, rank: world.rank as u32, size: world.size as u32 };
    if sintonia_link::ask(settings().link.split(',').filter(|address| !address.is_empty()), &card) != Some(true) {
        process::note("clocks were not compared and files not sent: not all ranks are recorded, or `sintonia record` could not be reached");
        return Some(world);
    }
    let Some(meeting) = Meeting::of(library, &world) else {
        process::note("clocks were not compared and files not sent: MPI_Comm_dup or MPI_Allgather failed");
        return Some(world);
    };
    let mut names: Vec<u64> = meeting.cards.iter().map(|card| card.host).collect();
    names.sort_unstable();
    names.dedup();
    world.hosts = names.len();
    meeting.compare_clocks(library);
    *MEETING.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(meeting);
    Some(world)
}

/// Whether the launcher says that all processes of the world run on this host.
fn all_on_this_host(size: i32) -> bool {
    let number = |name: &str| std::env::var(name).ok()?.parse::<i32>().ok();
    let local = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE"].iter().find_map(|name| number(name));
    let nodes = ["SLURM_STEP_NUM_NODES", "FLUX_JOB_NNODES"].iter().find_map(|name| number(name));
    size == 1 || local == Some(size) || (local.is_none() && nodes == Some(1))
}

/// Before `MPI_Finalize`: compares clocks again, and sends files to a process that sees the folder.
pub fn part(library: &Library) {
    let Some(meeting) = MEETING.lock().ok().and_then(|mut meeting| meeting.take()) else { return };
    meeting.compare_clocks(library);
    meeting.bring_files_together(library);
    library.free(meeting.communicator);
}

impl Meeting {
    /// Tells all others where this process is, and hears where they are.
    fn of(library: &Library, world: &World) -> Option<Meeting> {
        let mine = HostCard { host: hash(process::host_name().as_bytes()), sees_folder: SEES_FOLDER.load(Ordering::Relaxed).into() };
        let communicator = library.duplicate(library.world)?;
        let cards = library.all_gather(&mine, communicator, world.size as usize)?;
        Some(Meeting { communicator, rank: world.rank, cards })
    }

    /// The first process of each host asks rank 0 for the time.
    fn compare_clocks(&self, library: &Library) {
        let first_of_host = |rank: usize| self.cards.iter().position(|card| card.host == self.cards[rank].host) == Some(rank);
        for other in (1..self.cards.len()).filter(|rank| first_of_host(*rank) && self.cards[*rank].host != self.cards[0].host) {
            if self.rank == 0 {
                self.answer(library, other as i32);
            } else if self.rank == other as i32 {
                self.ask(library);
            }
        }
    }

    fn answer(&self, library: &Library, other: i32) {
        for _ in 0..PROBES {
            let mut question = [0u8; 8];
            if !library.receive(&mut question, other, self.communicator) {
                return;
            }
            let now = clock::nanoseconds(libc::CLOCK_MONOTONIC);
            library.send(&now.to_le_bytes(), other, self.communicator);
        }
    }

    fn ask(&self, library: &Library) {
        let mut best: Option<(u64, ClockOffset)> = None;
        for _ in 0..PROBES {
            let mut answer = [0u8; 8];
            let (before, before_ns) = (clock::ticks(), clock::nanoseconds(libc::CLOCK_MONOTONIC));
            if !library.send(&[0; 8], 0, self.communicator) || !library.receive(&mut answer, 0, self.communicator) {
                return;
            }
            let (after, after_ns) = (clock::ticks(), clock::nanoseconds(libc::CLOCK_MONOTONIC));
            let round_trip = after_ns - before_ns;
            if best.is_none_or(|(least, _)| round_trip < least) {
                let offset = ClockOffset {
                    ticks: before + (after - before) / 2,
                    reference_ns: u64::from_le_bytes(answer) as i64,
                    error_ns: round_trip as i64 / 2,
                };
                best = Some((round_trip, offset));
            }
        }
        if let Some((_, offset)) = best {
            process::define(&Definition::Offset(offset));
        }
    }

    /// Processes that do not see the recording's folder send their files to the first one that does. Their recording ends here: what
    /// they do inside `MPI_Finalize` is not in it.
    fn bring_files_together(&self, library: &Library) {
        let Some(keeper) = self.cards.iter().position(|card| card.sees_folder == 1) else {
            return process::note("the recording's folder was seen from no host; the files are in the scratch folders of the hosts");
        };
        for other in (0..self.cards.len()).filter(|rank| self.cards[*rank].sees_folder == 0) {
            if self.rank == other as i32 {
                // As if MPI_Finalize had returned.
                process::end("finalized");
                send_files(library, keeper as i32, self.communicator);
            } else if self.rank == keeper as i32 {
                receive_files(library, other as i32, self.communicator);
            }
        }
    }
}

/// What goes before each piece of a file: the length of its name and of the piece; both 0 at the end.
type Announcement = [u64; 2];

fn announce(library: &Library, announcement: Announcement, to: i32, communicator: Handle) -> bool {
    let mut bytes = [0u8; 16];
    bytes[..8].copy_from_slice(&announcement[0].to_le_bytes());
    bytes[8..].copy_from_slice(&announcement[1].to_le_bytes());
    library.send(&bytes, to, communicator)
}

fn send_files(library: &Library, to: i32, communicator: Handle) {
    let files = process::files();
    for path in &files {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let Ok(mut file) = std::fs::File::open(path) else { continue };
        let mut piece = vec![0u8; BLOCK_BYTES];
        while let Ok(length @ 1..) = file.read(&mut piece) {
            // Memory that was never used is zeros, and nothing comes after it.
            if piece[..length].iter().all(|byte| *byte == 0) {
                break;
            }
            announce(library, [name.len() as u64, length as u64], to, communicator);
            library.send(name.as_bytes(), to, communicator);
            library.send(&piece[..length], to, communicator);
        }
    }
    announce(library, [0, 0], to, communicator);
    let mut kept = [0u8];
    if !library.receive(&mut kept, to, communicator) || kept != [1] {
        return;
    }
    for path in &files {
        let _ = std::fs::remove_file(path);
    }
    // Succeeds for the last process on this host: the folder is empty then.
    let _ = std::fs::remove_dir(settings().scratch.join(format!("sintonia-{}", settings().token)));
}

/// Writes the files of another process, and tells it whether it may remove its own.
fn receive_files(library: &Library, from: i32, communicator: Handle) {
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
        let path = settings().live.join(String::from_utf8_lossy(&name).replace('/', "_"));
        let written = std::fs::File::options().create(true).append(true).open(path).and_then(|mut file| file.write_all(&piece));
        if let Err(error) = written {
            kept = false;
            process::note(&format!("files of rank {from} could not be written and stay in its host's scratch folder: {error}"));
        }
    }
}
