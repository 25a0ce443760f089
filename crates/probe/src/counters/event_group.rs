//! Events of one thread that are counted together.

use std::fmt;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::OnceLock;

use sintonia_recording::counter_event::{CounterEvent, MAX_EVENTS};

use super::user_page::{self, UserPage};
use crate::perf_event::{EventAttributes, PAGE_BYTES, flag, open_event, read_format};
use crate::process::to_spare_descriptor;

/// Words that the kernel returns before the values: their number, the time enabled and the time running.
pub(crate) const GROUP_HEADER_WORDS: usize = 3;

/// The counters of one thread. They end when it is dropped.
pub(crate) struct EventGroup {
    /// The first event; the group is read through it. `None` only while it is dropped.
    leader: Option<OwnedFd>,
    /// Its number in the kernel, by which it is recognised: a program may close descriptors that are not its own.
    id: u64,
    /// One page for each event, which keeps it.
    pages: Vec<MappedPage>,
    is_user_readable: bool,
}

// SAFETY: the pages are only read, with atomic loads, and unmapped by the last owner.
unsafe impl Send for EventGroup {}
// SAFETY: as above.
unsafe impl Sync for EventGroup {}

/// Why events are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCounted {
    /// The kernel does not count one of them, or not for this user.
    Event,
    /// The program may need the file descriptor.
    Descriptor,
    /// A page for each of them could not be mapped.
    Memory,
    /// The processor has no counter left for them.
    Counter,
}

impl fmt::Display for NotCounted {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            NotCounted::Event => "the kernel does not allow it (see kernel.perf_event_paranoid)",
            NotCounted::Descriptor => "the program may need the file descriptors (see ulimit -n)",
            NotCounted::Memory => "there is no locked memory for it (see ulimit -l)",
            NotCounted::Counter => "the processor has no free counter for it",
        })
    }
}

/// Values of the counters of a group at one point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupReading {
    pub values: [u64; MAX_EVENTS],
    /// Nanoseconds for which the group was to be counted and was not, until now.
    pub not_counted_ns: u64,
}

impl GroupReading {
    /// From what the kernel returns for a group with this many events: number of values, time enabled, time running, values. The last
    /// value may be that of the event which samples.
    pub(crate) fn from_words(events: usize, word: impl Fn(usize) -> u64) -> GroupReading {
        let mut values = [0; MAX_EVENTS];
        for (index, value) in values.iter_mut().enumerate().take(events) {
            *value = word(GROUP_HEADER_WORDS + index);
        }
        GroupReading { values, not_counted_ns: word(1).saturating_sub(word(2)) }
    }

    /// Increases since an earlier reading. `None` if the group was not counted all the time.
    pub(crate) fn since(&self, earlier: &GroupReading) -> Option<[u64; MAX_EVENTS]> {
        let mut counts = [0; MAX_EVENTS];
        for (index, count) in counts.iter_mut().enumerate() {
            *count = self.values[index].saturating_sub(earlier.values[index]);
        }
        (self.not_counted_ns == earlier.not_counted_ns).then_some(counts)
    }
}

impl EventGroup {
    /// Opens the events for a thread of this process (0: the calling one).
    pub(crate) fn open(events: &[CounterEvent], thread: libc::pid_t) -> Result<EventGroup, NotCounted> {
        let (first, others) = events.split_first().ok_or(NotCounted::Event)?;
        let leader = open_event(&attributes(*first), thread, None).ok_or(NotCounted::Event)?;
        let leader = to_spare_descriptor(leader).ok_or(NotCounted::Descriptor)?;
        let id = event_id(leader.as_raw_fd()).ok_or(NotCounted::Event)?;
        let mut pages = vec![MappedPage::map(&leader).ok_or(NotCounted::Memory)?];
        for event in others {
            let event = open_event(&attributes(*event), thread, Some(leader.as_raw_fd())).ok_or(NotCounted::Event)?;
            pages.push(MappedPage::map(&event).ok_or(NotCounted::Memory)?);
        }
        let is_user_readable = !has_several_kinds_of_cores() && pages.iter().all(|page| user_page::is_readable(page.content()));
        Ok(EventGroup { id, leader: Some(leader), pages, is_user_readable })
    }

    /// Whether its own thread can read it without a system call.
    pub(crate) fn is_user_readable(&self) -> bool {
        self.is_user_readable
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// The first event, to which others can be added.
    pub(crate) fn leader(&self) -> Option<RawFd> {
        self.leader.as_ref().map(AsRawFd::as_raw_fd).filter(|leader| event_id(*leader) == Some(self.id))
    }

    /// The counters, read by their own thread. `None` if they are not counted at the moment. Where that takes a system call, it is a
    /// cancellation point.
    pub(crate) fn read(&self) -> Option<GroupReading> {
        if self.is_user_readable { self.read_pages() } else { self.read_file() }
    }

    fn read_pages(&self) -> Option<GroupReading> {
        let mut reading = GroupReading { values: [0; MAX_EVENTS], not_counted_ns: 0 };
        for (page, value) in self.pages.iter().zip(&mut reading.values) {
            let count = user_page::read(page.content(), user_page::read_processor_counter)?;
            *value = count.value;
            reading.not_counted_ns = reading.not_counted_ns.max(count.not_counted_ns);
        }
        Some(reading)
    }

    /// The counters, read by any thread.
    pub(crate) fn read_file(&self) -> Option<GroupReading> {
        // The sampling event is a member, too.
        let mut words = [0_u64; GROUP_HEADER_WORDS + MAX_EVENTS + 1];
        let leader = self.leader()?;
        // SAFETY: `words` is valid for writes of its size.
        let bytes = unsafe { libc::read(leader, words.as_mut_ptr().cast(), size_of_val(&words)) };
        let expected = 8 * (GROUP_HEADER_WORDS + self.pages.len());
        (bytes >= expected as isize).then(|| GroupReading::from_words(self.len(), |index| words[index]))
    }
}

impl Drop for EventGroup {
    fn drop(&mut self) {
        // The program may have closed it, and its descriptor may now be another file.
        if self.leader().is_none()
            && let Some(leader) = self.leader.take()
        {
            let _ = leader.into_raw_fd();
        }
    }
}

/// Whether the cores of this host have different counters. A thread could move between looking up which counter has its event and reading
/// it, and reading one that its new core does not have would end the program.
fn has_several_kinds_of_cores() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| has_efficiency_cores(Path::new("/sys/devices")))
}

/// Whether the kernel has counters of its own for efficiency cores, as on processors that have them beside others.
fn has_efficiency_cores(devices: &Path) -> bool {
    devices.join("cpu_atom").exists()
}

fn attributes(event: CounterEvent) -> EventAttributes {
    EventAttributes {
        event,
        sample_period: 0,
        sample_type: 0,
        read_format: read_format::GROUP_WITH_TIMES,
        flags: flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR,
        user_registers: 0,
        user_stack_bytes: 0,
    }
}

/// The number of an event in the kernel; `None` if the descriptor is not that of an event.
fn event_id(file: RawFd) -> Option<u64> {
    /// `PERF_EVENT_IOC_ID`.
    const GET_ID: libc::c_ulong = 0x8008_2407;
    let mut id = 0_u64;
    // SAFETY: `id` is valid for writes; other files refuse the request.
    (unsafe { libc::ioctl(file, GET_ID, &raw mut id) } == 0).then_some(id)
}

/// The page of an event.
struct MappedPage(*const u8);

impl MappedPage {
    fn map(event: &OwnedFd) -> Option<MappedPage> {
        crate::block_region::map(PAGE_BYTES, libc::MAP_SHARED, event.as_raw_fd()).map(|page| MappedPage(page.cast_const()))
    }

    fn content(&self) -> &UserPage {
        const { assert!(size_of::<UserPage>() <= PAGE_BYTES) };
        // SAFETY: the page is mapped until this is dropped, and aligned.
        unsafe { &*self.0.cast::<UserPage>() }
    }
}

impl Drop for MappedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`, which nothing else refers to.
        unsafe { libc::munmap(self.0.cast_mut().cast(), PAGE_BYTES) };
    }
}

/// Touches this many pages for the first time.
#[cfg(test)]
pub(super) fn touch(pages: usize) {
    let bytes = pages * PAGE_BYTES;
    let memory = crate::block_region::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).unwrap();
    // SAFETY: our own mapping; with huge pages, one fault would be for many.
    unsafe { libc::madvise(memory.cast(), bytes, libc::MADV_NOHUGEPAGE) };
    for page in 0..pages {
        // SAFETY: inside the mapping.
        unsafe { memory.add(page * PAGE_BYTES).write_volatile(1) };
    }
    // SAFETY: nothing else refers to it.
    unsafe { libc::munmap(memory.cast(), bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(names: &[&str]) -> Option<EventGroup> {
        let events: Vec<CounterEvent> = names.iter().map(|name| CounterEvent::from_name(name).unwrap()).collect();
        EventGroup::open(&events, 0).ok()
    }

    #[test]
    fn cores_of_several_kinds_are_known_by_their_counters() {
        let devices = std::env::temp_dir().join(format!("sintonia-devices-{}", std::process::id()));
        std::fs::create_dir_all(devices.join("cpu")).unwrap();
        assert!(!has_efficiency_cores(&devices));
        std::fs::create_dir_all(devices.join("cpu_atom")).unwrap();
        assert!(has_efficiency_cores(&devices));
        std::fs::remove_dir_all(&devices).unwrap();
    }

    #[test]
    fn page_faults_are_counted() {
        let Some(group) = group(&["page-faults", "minor-faults", "major-faults"]) else { return };
        assert_eq!((group.len(), group.is_user_readable()), (3, false));
        let begin = group.read().unwrap();
        touch(100);
        let [faults, minor, major, none] = group.read().unwrap().since(&begin).unwrap();
        assert!((100..110).contains(&faults), "{faults}");
        assert!(minor + major == faults && none == 0, "{minor} {major} {none}");
    }

    #[test]
    fn a_descriptor_that_the_program_has_replaced_is_not_read() {
        let Some(group) = group(&["page-faults"]) else { return };
        let leader = group.leader().unwrap();
        let mut pipe = [0; 2];
        // SAFETY: valid for writes; then the descriptor is replaced, as a program might do.
        unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            assert_eq!(libc::write(pipe[1], b"data".as_ptr().cast(), 4), 4);
            libc::dup2(pipe[0], leader);
        }
        assert_eq!(group.read(), None);
        drop(group);
        let mut data = [0_u8; 8];
        // SAFETY: valid for writes.
        unsafe {
            assert_eq!(libc::read(leader, data.as_mut_ptr().cast(), 8), 4, "neither read nor closed");
            pipe.into_iter().chain([leader]).for_each(|file| _ = libc::close(file));
        }
    }

    #[test]
    fn a_group_that_was_not_counted_all_the_time_has_no_increase() {
        let words = |enabled, running, value| GroupReading::from_words(2, |index| [3, enabled, running, value, 7, 99][index]);
        assert_eq!(words(100, 90, 5).values, [5, 7, 0, 0]);
        assert_eq!(words(200, 190, 9).since(&words(100, 90, 5)), Some([4, 0, 0, 0]));
        assert_eq!(words(200, 180, 9).since(&words(100, 90, 5)), None);
    }
}
