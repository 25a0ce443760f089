//! Profile mode: recording in constant space. Calls are summed up by function, call site, peer and size class.

use sintonia_mpi::FUNCTIONS;
use sintonia_recording::raw::{self, CallPayload, bytes_or_zero, part, profile as entry};

use crate::block_region::{allocate_bytes, is_mappable, map};
use crate::clock;
use crate::process;

/// Fallback entries for calls that find no other: one per function.
const FALLBACK_ENTRIES: usize = FUNCTIONS.len();
const WORDS: usize = entry::HEADER_WORDS + entry::ENTRY_WORDS * entry::MAX_ENTRIES;
/// Slots of the hash table: twice the number of entries, so that probing stays short.
const TABLE_SLOTS: usize = 2 * entry::MAX_ENTRIES;

/// The totals of one thread, in a mapped file where that is safe (see [`crate::block_region`]).
pub(crate) struct CallProfile {
    words: *mut u64,
    table: Box<[u16]>,
    entries: usize,
    /// Bytes received in earlier continuation records of the current call.
    carried: u64,
}

impl CallProfile {
    /// Creates the totals of a thread.
    pub(crate) fn open(thread: u16) -> Option<CallProfile> {
        let name = format!("t{thread}.profile");
        let file = process::create_file(&name).filter(is_mappable).filter(|file| allocate_bytes(file, 0, WORDS * 8));
        let memory = match &file {
            Some(file) => map(WORDS * 8, libc::MAP_SHARED, std::os::fd::AsRawFd::as_raw_fd(file)),
            None => map(WORDS * 8, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        }?;
        let mut profile = CallProfile { words: memory.cast(), table: vec![0; TABLE_SLOTS].into_boxed_slice(), entries: 0, carried: 0 };
        let reading = clock::reading();
        profile.header().copy_from_slice(&[raw::PROFILE_MAGIC, 0, u64::MAX, 0, 0, reading.ticks, reading.monotonic_ns, 0]);
        if file.is_none() {
            process::write_at_end(profile.words as usize, WORDS * 8, &name);
        }
        Some(profile)
    }

    fn header(&mut self) -> &mut [u64; entry::HEADER_WORDS] {
        // SAFETY: the region starts with its header, and only this thread uses it.
        unsafe { &mut *self.words.cast() }
    }

    fn entry(&mut self, number: usize) -> &mut [u64; entry::ENTRY_WORDS] {
        debug_assert!(number < entry::MAX_ENTRIES);
        // SAFETY: `number` is below the capacity of the region, and only this thread uses it.
        unsafe { &mut *self.words.add(entry::HEADER_WORDS + number * entry::ENTRY_WORDS).cast() }
    }

    /// Adds a partial record of a call whose request list is continued.
    pub(crate) fn carry(&mut self, payload: &[u64]) {
        let Some(payload) = CallPayload::parse(payload) else { return };
        let before = if is_continued(&payload) { self.carried } else { 0 };
        self.carried = before + bytes(&payload).1;
    }

    /// Adds one call.
    pub(crate) fn add(&mut self, payload: &[u64], enter: u64, ticks: u64) {
        let Some(payload) = CallPayload::parse(payload) else { return };
        let (sent, last_received) = bytes(&payload);
        let received = if is_continued(&payload) { self.carried + last_received } else { last_received };
        let number = self.find(entry_key(&payload, sent, received));
        let sums = self.entry(number);
        sums[entry::CALLS] += 1;
        sums[entry::TICKS] += ticks;
        sums[entry::MIN_TICKS] = sums[entry::MIN_TICKS].min(ticks);
        sums[entry::MAX_TICKS] = sums[entry::MAX_TICKS].max(ticks);
        sums[entry::SENT] += sent;
        sums[entry::RECEIVED] += received;
        let header = self.header();
        header[2] = header[2].min(enter);
        header[3] = header[3].max(enter + ticks);
    }

    fn find(&mut self, key: [u64; 4]) -> usize {
        let mut hash = key.iter().fold(0u64, |h, w| (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        hash ^= hash >> 32;
        let mut slot = hash as usize % TABLE_SLOTS;
        loop {
            let number = usize::from(self.table[slot]);
            if number == 0 {
                return self.insert(slot, key);
            }
            if self.entry(number - 1)[..4] == key {
                return number - 1;
            }
            slot = (slot + 1) % TABLE_SLOTS;
        }
    }

    /// Inserts an entry; if the region is full, returns the function's fallback entry.
    fn insert(&mut self, slot: usize, key: [u64; 4]) -> usize {
        let rest = fallback_key(key);
        if key != rest && self.entries >= entry::MAX_ENTRIES - FALLBACK_ENTRIES {
            self.header()[4] += 1;
            return self.find(rest);
        }
        let number = self.entries.min(entry::MAX_ENTRIES - 1);
        self.entries = number + 1;
        self.table[slot] = (number + 1) as u16;
        self.init_entry(number, key);
        number
    }

    fn init_entry(&mut self, number: usize, key: [u64; 4]) {
        let sums = self.entry(number);
        sums[..4].copy_from_slice(&key);
        sums[entry::MIN_TICKS] = u64::MAX;
        let header = self.header();
        header[1] = header[1].max(number as u64 + 1);
    }
}

/// The key of a function's fallback entry.
fn fallback_key(key: [u64; 4]) -> [u64; 4] {
    [raw::payload_header(key[entry::KEY] as u16, 0, 0, 0), 0, raw::pair(raw::NO_OBJECT, raw::NONE), 0]
}

fn is_continued(payload: &CallPayload) -> bool {
    payload.parts() & part::CONTINUED != 0
}

fn bytes(payload: &CallPayload) -> (u64, u64) {
    let listed: u64 = if payload.parts() & part::STARTED == 0 { payload.requests().map(|r| bytes_or_zero(r[2])).sum() } else { 0 };
    let started = payload.parts() & part::REQUEST != 0;
    let received = if started { 0 } else { payload.part(part::RECEIVED).map_or(0, bytes_or_zero) };
    (payload.part(part::SENT).map_or(0, bytes_or_zero), received + listed)
}

fn entry_key(payload: &CallPayload, sent: u64, received: u64) -> [u64; 4] {
    let marks = part::FLAG_FALSE | part::FORTRAN | part::F08 | part::ERROR | part::UNFINISHED | part::REQUEST;
    let header = raw::payload_header(payload.function_index(), payload.parts() & marks, 0, 0);
    let object = payload.part(part::OBJECT).unwrap_or(raw::pair(raw::NO_OBJECT, raw::NONE));
    [header, payload.site(), object, u64::from(entry::size_class(sent)) | u64::from(entry::size_class(received)) << 32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::FunctionId;

    fn profile() -> CallProfile {
        let words: *mut u64 = map(WORDS * 8, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).unwrap().cast();
        CallProfile { words, table: vec![0; TABLE_SLOTS].into_boxed_slice(), entries: 0, carried: 0 }
    }

    fn number(name: &str) -> u16 {
        FunctionId::from_name(name).unwrap().0
    }

    /// The entries in use: function index, call site, calls, bytes received.
    fn sums(profile: &mut CallProfile) -> Vec<[u64; 4]> {
        let all = (0..entry::MAX_ENTRIES).map(|number| *profile.entry(number));
        let used = all.filter(|sums| sums[entry::CALLS] > 0);
        used.map(|sums| [sums[entry::KEY] & 0xffff, sums[entry::SITE], sums[entry::CALLS], sums[entry::RECEIVED]]).collect()
    }

    #[test]
    fn a_call_whose_list_goes_on_counts_once_with_all_it_received() {
        let waitall = number("MPI_Waitall");
        let part = |mark: u16, received: u64| {
            let request = raw::RequestRef::Relative(0).to_word(true);
            vec![raw::payload_header(waitall, mark, 1, 5), 40, request, raw::pair(0, 7), received]
        };
        let mut profile = profile();
        for _ in 0..2 {
            profile.carry(&part(0, 100));
            profile.carry(&part(part::CONTINUED, 20));
            profile.add(&part(part::CONTINUED, 3), 10, 5);
        }
        profile.add(&part(0, 123), 20, 5);
        assert_eq!(sums(&mut profile), [[waitall.into(), 40, 3, 369]]);
    }

    #[test]
    fn calls_without_an_entry_of_their_own_are_summed_by_function() {
        let [send, barrier] = ["MPI_Send", "MPI_Barrier"].map(number);
        let mut profile = profile();
        let mut call = |operation, site| profile.add(&[raw::payload_header(operation, 0, 0, 2), site], 10, 5);
        (1..=entry::MAX_ENTRIES as u64).for_each(|site| call(send, site));
        (1..=3).for_each(|site| call(barrier, site));
        let rest: Vec<_> = sums(&mut profile).into_iter().filter(|[_, site, ..]| *site == 0).collect();
        assert_eq!(rest, [[send.into(), 0, FALLBACK_ENTRIES as u64, 0], [barrier.into(), 0, 3, 0]]);
        assert_eq!(profile.header()[4], FALLBACK_ENTRIES as u64 + 3);
    }
}
