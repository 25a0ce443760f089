//! Recording in constant space: calls are added up by function, call site, peer and size instead of being written one by one.

use sintonia_recording::raw::{self, Payload, part, profile as entry};

use crate::clock;
use crate::process;
use crate::region::{allocate_bytes, map, mappable};

const WORDS: usize = entry::HEADER_WORDS + entry::ENTRY_WORDS * entry::MOST_ENTRIES;
/// Places in the table that finds an entry by its key: twice as many as entries, so that searching stays short.
const PLACES: usize = 2 * entry::MOST_ENTRIES;

/// The sums of one thread, in a mapped file where that is safe (see [`crate::stream`]).
pub struct Profile {
    words: *mut u64,
    places: Box<[u16]>,
    entries: usize,
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
        let mut profile = Profile { words: memory.cast(), places: vec![0; PLACES].into_boxed_slice(), entries: 0 };
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

    /// Adds one call.
    pub fn add(&mut self, payload: &[u64], enter: u64, ticks: u64) {
        let Some(payload) = Payload::at(payload) else { return };
        let (sent, received) = bytes(&payload);
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

    /// A new entry; when they are used up, the one that stands for all other calls.
    fn make(&mut self, place: usize, key: [u64; 4]) -> usize {
        let last = entry::MOST_ENTRIES - 1;
        if self.entries == last {
            self.header()[4] += 1;
            return self.rest(key[0]);
        }
        let number = self.entries;
        self.entries += 1;
        self.places[place] = (number + 1) as u16;
        self.begin(number, key);
        number
    }

    fn rest(&mut self, header: u64) -> usize {
        let last = entry::MOST_ENTRIES - 1;
        if self.entry(last)[entry::CALLS] == 0 {
            self.begin(last, [header, 0, raw::pair(raw::NO_OBJECT, raw::NONE), 0]);
        }
        last
    }

    fn begin(&mut self, number: usize, key: [u64; 4]) {
        let sums = self.entry(number);
        sums[..4].copy_from_slice(&key);
        sums[entry::LEAST] = u64::MAX;
        let header = self.header();
        header[1] = header[1].max(number as u64 + 1);
    }
}

fn bytes(payload: &Payload) -> (u64, u64) {
    let known = |bytes: u64| if bytes == raw::UNKNOWN_BYTES { 0 } else { bytes };
    let listed: u64 = if payload.parts() & part::STARTED == 0 { payload.requests().map(|r| known(r[2])).sum() } else { 0 };
    let started = payload.parts() & part::REQUEST != 0;
    let received = if started { 0 } else { payload.part(part::RECEIVED).map_or(0, known) };
    (payload.part(part::SENT).map_or(0, known), received + listed)
}

fn key(payload: &Payload, sent: u64, received: u64) -> [u64; 4] {
    let marks = part::FOUND_NOTHING | part::FORTRAN | part::F08 | part::ERROR | part::REQUEST;
    let header = raw::payload_header(payload.operation(), payload.parts() & marks, 0, 0);
    let object = payload.part(part::OBJECT).unwrap_or(raw::pair(raw::NO_OBJECT, raw::NONE));
    [header, payload.site(), object, u64::from(entry::size_class(sent)) | u64::from(entry::size_class(received)) << 32]
}
