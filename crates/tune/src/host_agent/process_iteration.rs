//! The iteration of one process: its threads' MPI calls are followed, and whoever measures `iteration` gets an event for each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sintonia_link::ring::{HookEvent, MPI_FUNCTION};
use sintonia_mpi::{FunctionId, FunctionRole};
use sintonia_recording::seal::resolve_call_site;

use crate::bind::HookListener;
use crate::iteration::{CallIdentity, Iteration, IterationDetector, IterationStep};

/// The function name by which a measure point means the iteration, unless the program has a function of that name.
pub(super) const ITERATION: &str = "iteration";

/// If nobody measures the iteration, calls are followed this many seconds after it can first be found,
const FOLLOWED_IF_FOUND_S: f64 = 5.0;
/// and this many if it is not found.
const FOLLOWED_S: f64 = 40.0;

/// Follows the MPI calls of a process.
#[derive(Default)]
pub(super) struct ProcessIteration {
    /// By ring, which is by thread.
    detectors: HashMap<usize, IterationDetector>,
    /// The thread that iterates: the first one whose iteration was found.
    thread: Option<usize>,
    /// Whether all calls are there that take time: some alone do not show the iteration.
    pub is_complete: bool,
    /// Those who measure the iteration.
    pub listeners: Vec<HookListener>,
    /// Not reported yet.
    found: Option<Iteration>,
    /// Time of the first call.
    began: Option<f64>,
    /// Whether the calls have been followed long enough for a report.
    is_settled: bool,
    /// Whether the exits of MPI functions are recorded for it.
    pub has_exits: bool,
}

impl ProcessIteration {
    /// Whether it needs the exits of all MPI functions that take time.
    pub(super) fn needs_exits(&self) -> bool {
        self.is_complete && !(self.is_settled && self.listeners.is_empty())
    }

    /// An MPI call returns; the duration of an iteration that ends with it.
    pub(super) fn add_exit(&mut self, ring: usize, event: &HookEvent, time: f64) -> Option<f64> {
        let call = call_identity(event).filter(|_| self.needs_exits())?;
        let followed = time - *self.began.get_or_insert(time);
        self.is_settled |= followed > if self.thread.is_some() { FOLLOWED_IF_FOUND_S } else { FOLLOWED_S };
        let step = self.detectors.entry(ring).or_default().add(call, time)?;
        match step {
            IterationStep::Found(iteration) if *self.thread.get_or_insert(ring) == ring => {
                self.found = Some(iteration);
                None
            }
            IterationStep::Completed(seconds) if self.thread == Some(ring) => Some(seconds),
            _ => None,
        }
    }

    /// The iteration, if it was found since the last call.
    pub(super) fn take_found(&mut self) -> Option<Iteration> {
        self.found.take()
    }
}

/// Where in the program a call is; `None` for calls that are repeated until something happens.
fn call_identity(event: &HookEvent) -> Option<CallIdentity> {
    let function = FunctionId::from_index((event.hook & !MPI_FUNCTION) as u16)?;
    let is_polling = ["MPI_Test", "MPI_Iprobe", "MPI_Improbe"].iter().any(|polls| function.name().starts_with(polls));
    let [_, peer, tag, communicator, site, _] = event.words;
    // Without a call site, calls with the same arguments are taken for the same.
    let site = if site != 0 { site } else { peer.rotate_left(40) ^ tag.rotate_left(16) ^ communicator };
    let is_collective = matches!(function.role(), FunctionRole::Collective(_));
    (!is_polling).then_some(CallIdentity { function: function.0, site, is_collective })
}

/// The source line of a call site of a process, as far as its files tell it: `solver.c:88`, a function, or the file and offset.
pub(super) fn describe_site(process: u32, site: u64) -> String {
    let unknown = || format!("{site:#x}");
    let Ok(maps) = std::fs::read_to_string(format!("/proc/{process}/maps")) else { return unknown() };
    let Some((path, offset)) = maps.lines().find_map(|line| file_offset(line, site)) else { return unknown() };
    let root = PathBuf::from(format!("/proc/{process}/root"));
    let seen = root.join(path.strip_prefix('/').unwrap_or(path));
    let frames = resolve_call_site(&seen, offset);
    let name = |path: &str| Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned());
    let described = frames.first().and_then(|frame| match (&frame.file, frame.line, &frame.function) {
        (Some(file), Some(line), _) => Some(format!("{}:{line}", name(file))),
        (_, _, Some(function)) => Some(function.clone()),
        _ => None,
    });
    described.unwrap_or_else(|| format!("{}+{offset:#x}", name(path)))
}

/// The file that a line of the memory map has at an address, and the offset in it.
fn file_offset(line: &str, address: u64) -> Option<(&str, u64)> {
    let mut words = line.splitn(6, ' ').map(str::trim);
    let (begin, end) = words.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (begin, end) = (number(begin)?, number(end)?);
    let offset = number(words.nth(1)?)?;
    let path = words.nth(2).filter(|path| path.starts_with('/'))?;
    (begin..end).contains(&address).then(|| (path, offset + (address - begin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_the_memory_map() {
        let line = "55e1000-55e3000 r-xp 00001000 fe:00 12 /home/a b/app";
        assert_eq!(file_offset(line, 0x55e_2010), Some(("/home/a b/app", 0x2010)));
        assert_eq!(file_offset(line, 0x55e_3000), None);
        assert_eq!(file_offset("7f00-7f10 rw-p 0 00:00 0 ", 0x7f01), None);
    }
}
