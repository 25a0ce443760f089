//! Recording in constant space: calls are added up by function, call site, peer and size instead of being written one by one.

use sintonia_mpi::FUNCTIONS;
use sintonia_recording::raw::{self, Payload, known_bytes, part, profile as entry};

use crate::clock;
use crate::process;
use crate::region::{allocate_bytes, map, mappable};

/// Entries for calls that find no other: one for each function.
const REST: usize = FUNCTIONS.len();
const WORDS: usize = entry::HEADER_WORDS + entry::ENTRY_WORDS * entry::MOST_ENTRIES;
/// Places in the table that finds an entry by its key: twice as many as entries, so that searching stays short.
const PLACES: usize = 2 * entry::MOST_ENTRIES;

/// The sums of one thread, in a mapped file where that is safe (see [`crate::region`]).
pub struct Profile {
    words: *mut u64,
    places: Box<[u16]>,
    entries: usize,
    /// Bytes that the call which is being recorded received, in records before its last.
    carried: u64,
}

impl Profile {
    /// Opens the sums of a thread.
    pub fn open(thread: u16) -> Option<Profile> {
        let name = format!("t{thread}.profile");
        let file = process::create_file(&name).filter(mappable).filter(|file| allocate_bytes(file, 0, WORDS * 8));
        let memory = match &file {
            Some(file) => map(WORDS * 8, libc::MAP_SHARED, std::os::fd::AsRawFd::as_raw_fd(file)),
            None => map(WORDS * 8, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        }?;
        let mut profile = Profile { words: memory.cast(), places: vec![0; PLACES].into_boxed_slice(), entries: 0, carried: 0 };
        let reading = clock::reading();
        profile.header().copy_from_slice(&[raw::PROFILE_MAGIC, 0, u64::MAX, 0, 0, reading.ticks, reading.monotonic_ns, 0]);
        if file.is_none() {
            process::keep_at_end(profile.words as usize, WORDS * 8, &name);
        }
        Some(profile)
    }

    fn header(&mut self) -> &mut [u64; entry::HEADER_WORDS] {
        // SAFETY: the region starts with its header, and only this thread uses it.
        unsafe { &mut *self.words.cast() }
    }

    fn entry(&mut self, number: usize) -> &mut [u64; entry::ENTRY_WORDS] {
        debug_assert!(number < entry::MOST_ENTRIES);
        // SAFETY: `number` is below the number of entries the region was made for, and only this thread uses it.
        unsafe { &mut *self.words.add(entry::HEADER_WORDS + number * entry::ENTRY_WORDS).cast() }
    }

    /// Notes a part of a call whose list of requests goes on.
    pub fn carry(&mut self, payload: &[u64]) {
        let Some(payload) = Payload::at(payload) else { return };
        let before = if is_continued(&payload) { self.carried } else { 0 };
        self.carried = before + bytes(&payload).1;
    }

    /// Adds one call.
    pub fn add(&mut self, payload: &[u64], enter: u64, ticks: u64) {
        let Some(payload) = Payload::at(payload) else { return };
        let (sent, last_received) = bytes(&payload);
        let received = if is_continued(&payload) { self.carried + last_received } else { last_received };
        let number = self.find(key(&payload, sent, received));
        let sums = self.entry(number);
        sums[entry::CALLS] += 1;
        sums[entry::TICKS] += ticks;
        sums[entry::LEAST] = sums[entry::LEAST].min(ticks);
        sums[entry::MOST] = sums[entry::MOST].max(ticks);
        sums[entry::SENT] += sent;
        sums[entry::RECEIVED] += received;
        let header = self.header();
        header[2] = header[2].min(enter);
        header[3] = header[3].max(enter + ticks);
    }

    fn find(&mut self, key: [u64; 4]) -> usize {
        let mut hash = key.iter().fold(0u64, |h, w| (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        hash ^= hash >> 32;
        let mut place = hash as usize % PLACES;
        loop {
            let number = usize::from(self.places[place]);
            if number == 0 {
                return self.make(place, key);
            }
            if self.entry(number - 1)[..4] == key {
                return number - 1;
            }
            place = (place + 1) % PLACES;
        }
    }

    /// A new entry; when there are too many, the one for all other calls of the function.
    fn make(&mut self, place: usize, key: [u64; 4]) -> usize {
        let rest = rest(key);
        if key != rest && self.entries >= entry::MOST_ENTRIES - REST {
            self.header()[4] += 1;
            return self.find(rest);
        }
        let number = self.entries.min(entry::MOST_ENTRIES - 1);
        self.entries = number + 1;
        self.places[place] = (number + 1) as u16;
        self.begin(number, key);
        number
    }

    fn begin(&mut self, number: usize, key: [u64; 4]) {
        let sums = self.entry(number);
        sums[..4].copy_from_slice(&key);
        sums[entry::LEAST] = u64::MAX;
        let header = self.header();
        header[1] = header[1].max(number as u64 + 1);
    }
}

/// The key of all calls of a function that have no entry of their own.
fn rest(key: [u64; 4]) -> [u64; 4] {
    [raw::payload_header(key[entry::KEY] as u16, 0, 0, 0), 0, raw::pair(raw::NO_OBJECT, raw::NONE), 0]
}

fn is_continued(payload: &Payload) -> bool {
    payload.parts() & part::CONTINUED != 0
}

fn bytes(payload: &Payload) -> (u64, u64) {
    let listed: u64 = if payload.parts() & part::STARTED == 0 { payload.requests().map(|r| known_bytes(r[2])).sum() } else { 0 };
    let started = payload.parts() & part::REQUEST != 0;
    let received = if started { 0 } else { payload.part(part::RECEIVED).map_or(0, known_bytes) };
    (payload.part(part::SENT).map_or(0, known_bytes), received + listed)
}

fn key(payload: &Payload, sent: u64, received: u64) -> [u64; 4] {
    let marks = part::FOUND_NOTHING | part::FORTRAN | part::F08 | part::ERROR | part::REQUEST;
    let header = raw::payload_header(payload.operation(), payload.parts() & marks, 0, 0);
    let object = payload.part(part::OBJECT).unwrap_or(raw::pair(raw::NO_OBJECT, raw::NONE));
    [header, payload.site(), object, u64::from(entry::size_class(sent)) | u64::from(entry::size_class(received)) << 32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::Operation;

    fn profile() -> Profile {
        let words: *mut u64 = map(WORDS * 8, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).unwrap().cast();
        Profile { words, places: vec![0; PLACES].into_boxed_slice(), entries: 0, carried: 0 }
    }

    fn number(name: &str) -> u16 {
        Operation::named(name).unwrap().0
    }

    /// The entries that were used: number of the operation, call site, calls, bytes received.
    fn sums(profile: &mut Profile) -> Vec<[u64; 4]> {
        let all = (0..entry::MOST_ENTRIES).map(|number| *profile.entry(number));
        let used = all.filter(|sums| sums[entry::CALLS] > 0);
        used.map(|sums| [sums[entry::KEY] & 0xffff, sums[entry::SITE], sums[entry::CALLS], sums[entry::RECEIVED]]).collect()
    }

    #[test]
    fn a_call_whose_list_goes_on_counts_once_with_all_it_received() {
        let waitall = number("MPI_Waitall");
        let part = |mark: u16, received: u64| {
            let request = raw::RequestRef::Ago(0).word(true);
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
        (1..=entry::MOST_ENTRIES as u64).for_each(|site| call(send, site));
        (1..=3).for_each(|site| call(barrier, site));
        let rest: Vec<_> = sums(&mut profile).into_iter().filter(|[_, site, ..]| *site == 0).collect();
        assert_eq!(rest, [[send.into(), 0, REST as u64, 0], [barrier.into(), 0, 3, 0]]);
        assert_eq!(profile.header()[4], REST as u64 + 3);
    }
}
