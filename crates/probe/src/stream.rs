//! Where the calls of a thread are written down: records in the current block of its [`Region`].

use std::sync::atomic::{AtomicU64, Ordering};

use sintonia_recording::raw::{self, BLOCK_WORDS, HEADER_WORDS, Header, LONG_DURATION, NO_OBJECT, NONE, REFERENCE_BITS, part};

use crate::clock;
use crate::process;
use crate::profile::Profile;
use crate::region::Region;
use crate::settings::settings;

/// Places in the table of payloads of the current block.
const SLOTS: usize = 1024;

/// The payloads of one function at one call site.
#[derive(Clone, Copy)]
struct Kin {
    /// Where the first of them stands in the block; 0 if there is none.
    place: u16,
    /// How many of them stand there in full.
    variants: u16,
}

impl Kin {
    const NONE: Kin = Kin { place: 0, variants: 0 };
    /// So many are kept in full, to be found again; what comes after them is taken to change for ever.
    const MOST_VARIANTS: u16 = 16;
}

/// What a call is about that is under way.
pub struct Staged {
    /// Bytes sent and received together, as far as they are known.
    pub bytes: u64,
    /// Its peer or root; negative if it has none.
    pub peer: i32,
    /// Its tag; negative if it has none.
    pub tag: i32,
    /// The number of its communicator, window or file.
    pub object: Option<u32>,
}

/// Writes calls down, or adds them up.
pub struct Recorder {
    /// The current block.
    words: *mut u64,
    /// Words of it in use.
    used: usize,
    /// Words staged after `used`: two for the time, then the payload.
    pending: usize,
    sequence: u32,
    thread: u16,
    /// The number of the next request that this thread makes.
    pub next_request: u64,
    slots: Box<[u32; SLOTS]>,
    kin: Box<[Kin; 256]>,
    region: Region,
    /// In profile mode: the sums.
    profile: Option<Profile>,
    /// Recording has ended: calls are staged in a block that is used over and over.
    stopped: bool,
    /// Then: the last block that was kept, where the calls after it are counted.
    last_kept: *mut u64,
}

impl Recorder {
    /// Opens the stream of a thread; `None` if not even memory can be had.
    pub fn open(thread: u16) -> Option<Recorder> {
        let profile = if settings().profile { Some(Profile::open(thread)?) } else { None };
        let region = Region::open(thread, profile.is_some())?;
        let words = region.block(0);
        let mut recorder = Recorder {
            words,
            used: HEADER_WORDS,
            pending: 0,
            sequence: 0,
            thread,
            next_request: 0,
            slots: Box::new([0; SLOTS]),
            kin: Box::new([Kin::NONE; 256]),
            region,
            profile,
            stopped: false,
            last_kept: words,
        };
        recorder.begin_block(0);
        Some(recorder)
    }

    #[inline(always)]
    fn set(&mut self, place: usize, word: u64) {
        debug_assert!(place < BLOCK_WORDS);
        // SAFETY: `place` lies in the current block: `stage` made room before anything was put there.
        unsafe { self.words.add(place).write(word) }
    }

    #[inline(always)]
    fn get(&self, place: usize) -> u64 {
        debug_assert!(place < BLOCK_WORDS);
        // SAFETY: as for `set`.
        unsafe { self.words.add(place).read() }
    }

    #[inline(always)]
    fn move_cursor(&mut self, pending: usize) {
        // SAFETY: the header is part of the block. An ordered store, so that whoever reads a killed process's block never sees a cursor
        // ahead of its words.
        let cursor = unsafe { AtomicU64::from_ptr(self.words.add(Header::Cursor as usize)) };
        cursor.store(raw::cursor(self.used, pending), Ordering::Release);
    }

    /// Stages a call: its function, parts, marks and call site. `requests` is how many it may list at its end.
    #[inline(always)]
    pub fn stage(&mut self, operation: u16, parts: u16, marks: u16, site: usize, requests: usize) {
        let most = 2 + 12 + 3 * requests.min(raw::MOST_REQUESTS);
        if self.used + most > BLOCK_WORDS {
            self.next_block();
        }
        let words = 2 + raw::parts_words(parts);
        self.set(self.used + 2, raw::payload_header(operation, parts | marks, 0, words as u16));
        self.set(self.used + 3, site as u64);
        self.pending = 2 + words;
    }

    /// Makes what is staged visible as the call under way since `enter`.
    #[inline(always)]
    pub fn under_way(&mut self, enter: u64) {
        self.set(self.used, enter);
        self.move_cursor(self.pending);
    }

    /// Fills one part of a call that was staged with these parts.
    #[inline(always)]
    pub fn put(&mut self, parts: u16, wanted: u16, word: u64) {
        debug_assert!(parts & wanted != 0, "the part was staged");
        self.set(self.used + 4 + raw::parts_before(parts, wanted), word);
    }

    /// One part of a call that was staged with these parts.
    #[inline(always)]
    pub fn staged(&self, parts: u16, wanted: u16) -> u64 {
        self.get(self.used + 4 + raw::parts_before(parts, wanted))
    }

    /// Sets a mark on the staged call.
    #[inline(always)]
    pub fn mark(&mut self, mark: u16) {
        let header = self.get(self.used + 2);
        self.set(self.used + 2, header | u64::from(mark) << 16);
    }

    /// Adds a part that was not staged, at its place among the others. Before any request is listed.
    #[cold]
    pub fn add(&mut self, wanted: u16, word: u64) {
        let parts = (self.get(self.used + 2) >> 16) as u16;
        if parts & wanted != 0 {
            return self.put(parts, wanted, word);
        }
        let place = self.used + 4 + raw::parts_before(parts, wanted);
        for later in (place..self.used + self.pending).rev() {
            let moved = self.get(later);
            self.set(later + 1, moved);
        }
        self.set(place, word);
        self.pending += 1;
        let header = self.get(self.used + 2) + (1 << 48);
        self.set(self.used + 2, header | u64::from(wanted) << 16);
    }

    /// Lists a request that the staged call completes or starts.
    #[inline(always)]
    pub fn list(&mut self, request: u64, source_and_tag: u64, bytes: u64) {
        let at = self.used + self.pending;
        self.set(at, request);
        self.set(at + 1, source_and_tag);
        self.set(at + 2, bytes);
        self.pending += 3;
        let header = self.get(self.used + 2) + (1 << 32) + (3 << 48);
        self.set(self.used + 2, header);
    }

    /// What the staged call is about.
    pub fn summary(&self) -> Staged {
        let parts = (self.get(self.used + 2) >> 16) as u16;
        let part = |wanted| (parts & wanted != 0).then(|| self.staged(parts, wanted));
        let (object, mut peer) = part(part::OBJECT).map_or((NO_OBJECT, NONE), raw::unpair);
        let mut tag = part(part::TAG).map_or(NONE, |word| raw::unpair(word).0 as i32);
        let mut bytes = [part::SENT, part::RECEIVED].into_iter().filter_map(part).map(raw::known_bytes).sum();
        // What stands in requests that are complete: three words each, at the end.
        for request in 0..self.listed() {
            let at = self.used + self.pending - 3 * (self.listed() - request);
            bytes += raw::known_bytes(self.get(at + 2));
            let (source, source_tag) = raw::unpair(self.get(at + 1));
            (peer, tag) = (source as i32, source_tag);
        }
        Staged { bytes, peer, tag, object: (object != NO_OBJECT).then_some(object) }
    }

    /// How many requests the staged call lists.
    #[inline(always)]
    pub fn listed(&self) -> usize {
        usize::from((self.get(self.used + 2) >> 32) as u16)
    }

    /// Ends the staged call's list because it is full, and stages a record that carries on with it.
    #[cold]
    pub fn continue_list(&mut self) {
        let (header, site, enter) = (self.get(self.used + 2), self.get(self.used + 3), self.get(self.used));
        match &mut self.profile {
            // SAFETY: the staged words lie in the current block.
            Some(profile) => profile.carry(unsafe { std::slice::from_raw_parts(self.words.add(self.used + 2), self.pending - 2) }),
            None => self.commit(enter),
        }
        let marks = (header >> 16) as u16 & (part::STARTED | part::FORTRAN | part::F08);
        self.stage(header as u16, 0, marks | part::CONTINUED, site as usize, raw::MOST_REQUESTS);
        self.under_way(enter);
    }

    /// Drops what is staged.
    #[inline(always)]
    pub fn discard(&mut self) {
        self.pending = 0;
        self.move_cursor(0);
    }

    /// Ends the staged call.
    #[inline(always)]
    pub fn commit(&mut self, leave: u64) {
        let enter = self.get(self.used);
        // A thread can see the counter jump back by a few ticks when it moves to another processor.
        let duration = leave.saturating_sub(enter).min(leave);
        if let Some(profile) = &mut self.profile {
            // SAFETY: the staged words lie in the current block.
            let payload = unsafe { std::slice::from_raw_parts(self.words.add(self.used + 2), self.pending - 2) };
            profile.add(payload, enter, duration);
            return self.discard();
        }
        if self.stopped {
            // SAFETY: the header of the last block that was kept; only this thread writes it.
            unsafe { *self.last_kept.add(Header::Dropped as usize) += 1 };
            return self.discard();
        }
        let mut second = duration << REFERENCE_BITS;
        if duration >= LONG_DURATION {
            self.add(part::LONG, duration);
            second = 0;
        }
        let (slot, earlier) = self.find();
        if earlier != 0 {
            self.set(self.used + 1, second | u64::from(earlier));
            self.used += 2;
        } else {
            self.write_new(slot, second);
        }
        self.pending = 0;
        self.move_cursor(0);
    }

    /// Writes a record whose payload is new in this block: all of it, or what is different where its call site makes ever new ones.
    #[inline(never)]
    fn write_new(&mut self, slot: usize, second: u64) {
        let (place, words) = (self.used + 2, self.pending - 2);
        let (header, site) = (self.get(place), self.get(place + 1));
        let kin = (mixed(header, 0).wrapping_add(mixed(site, 1)) >> 56) as usize;
        let Kin { place: earlier, variants } = self.kin[kin];
        let related = earlier != 0 && self.get(earlier.into()) == header && self.get(usize::from(earlier) + 1) == site;
        if related && variants == Kin::MOST_VARIANTS {
            if let Some(changed) = self.changed(earlier.into(), words) {
                return self.write_changed(earlier.into(), changed, second);
            }
        } else if related {
            self.kin[kin].variants += 1;
        } else {
            self.kin[kin] = Kin { place: place as u16, variants: 1 };
        }
        self.set(self.used + 1, second);
        self.slots[slot] = place as u32;
        self.used += self.pending;
    }

    /// Which words of the staged payload differ from those of an earlier one; `None` if a record cannot say so.
    fn changed(&self, earlier: usize, words: usize) -> Option<u8> {
        let place = self.used + 2;
        let differs = |i: &usize| self.get(place + i) != self.get(earlier + i);
        if words > raw::MOST_CHANGING_WORDS || (2 + raw::CHANGEABLE..words).any(|i| differs(&i)) {
            return None;
        }
        Some((2..words.min(2 + raw::CHANGEABLE)).filter(differs).fold(0, |changed, i| changed | 1 << (i - 2)))
    }

    fn write_changed(&mut self, earlier: usize, changed: u8, second: u64) {
        self.set(self.used + 1, second | raw::changed_reference(earlier, changed));
        let place = self.used + 2;
        let mut to = place;
        for i in (0..raw::CHANGEABLE).filter(|i| changed >> i & 1 == 1) {
            let word = self.get(place + 2 + i);
            self.set(to, word);
            to += 1;
        }
        self.used = to;
    }

    /// Looks for the staged payload among those of this block: its slot, and its place there or 0.
    #[inline(always)]
    fn find(&self) -> (usize, u32) {
        // The usual lengths get code of their own without a loop: this is a fifth of what recording a call costs.
        match self.pending - 2 {
            5 => self.find_words::<5>(),
            6 => self.find_words::<6>(),
            8 => self.find_words::<8>(),
            words => self.find_any(words),
        }
    }

    #[inline(always)]
    fn find_words<const WORDS: usize>(&self) -> (usize, u32) {
        // SAFETY: the staged payload lies in the current block, and has this many words.
        let payload = unsafe { &*self.words.add(self.used + 2).cast::<[u64; WORDS]>() };
        let slot = slot(payload.iter().enumerate().fold(0, |hash, (i, word)| hash.wrapping_add(mixed(*word, i))));
        let place = self.slots[slot];
        // SAFETY: the place is 0 or that of a payload before the staged one, so as many words follow it in the block.
        let earlier = unsafe { &*self.words.add(place as usize).cast::<[u64; WORDS]>() };
        let differs = payload.iter().zip(earlier).fold(0, |differs, (a, b)| differs | (a ^ b));
        (slot, if differs == 0 { place } else { 0 })
    }

    fn find_any(&self, words: usize) -> (usize, u32) {
        // SAFETY: as in `find_words`.
        let payload = unsafe { std::slice::from_raw_parts(self.words.add(self.used + 2), words) };
        let slot = slot(payload.iter().enumerate().fold(0, |hash, (i, word)| hash.wrapping_add(mixed(*word, i))));
        let place = self.slots[slot];
        // SAFETY: as in `find_words`.
        let earlier = unsafe { std::slice::from_raw_parts(self.words.add(place as usize), words) };
        (slot, if payload == earlier { place } else { 0 })
    }

    fn begin_block(&mut self, place: usize) {
        self.words = self.region.block(place);
        self.used = HEADER_WORDS;
        self.slots.fill(0);
        self.kin.fill(Kin::NONE);
        let reading = clock::reading();
        // The cursor first: a kill in between must not leave old records under the new block's number.
        self.move_cursor(0);
        self.set(Header::Magic as usize, raw::MAGIC);
        self.set(Header::Identity as usize, raw::identity(self.sequence, self.thread, false));
        self.set(Header::Checksum as usize, 0);
        self.set(Header::FirstRequest as usize, self.next_request);
        self.set(Header::AnchorTicks as usize, reading.ticks);
        self.set(Header::AnchorNanoseconds as usize, reading.monotonic_ns);
        self.set(Header::Dropped as usize, 0);
    }

    fn close_block(&mut self) {
        // SAFETY: the words in use lie in the current block.
        let words = unsafe { std::slice::from_raw_parts(self.words.add(HEADER_WORDS), self.used - HEADER_WORDS) };
        let checksum = raw::checksum(words);
        self.set(Header::Checksum as usize, checksum);
        self.set(Header::Identity as usize, raw::identity(self.sequence, self.thread, true));
    }

    #[cold]
    fn next_block(&mut self) {
        if self.stopped || self.profile.is_some() {
            self.used = HEADER_WORDS;
            self.slots.fill(0);
            return;
        }
        self.close_block();
        self.sequence += 1;
        match self.region.advance() {
            Ok(place) => self.begin_block(place),
            Err(error) => self.stop(&error),
        }
    }

    /// Nothing more can be written: what was recorded stays, the program goes on.
    fn stop(&mut self, error: &std::io::Error) {
        process::note(&format!("thread {}: recording stopped when its memory could not be written to disk: {error}", self.thread));
        self.stopped = true;
        self.last_kept = self.words;
        self.words = self.region.spare();
        self.used = HEADER_WORDS;
    }

    /// Writes out what would be lost with the process. Mapped memory is left as it is: another thread may still be writing.
    pub fn finish(&mut self) {
        if self.profile.is_some() || self.stopped || self.region.survives() {
            return;
        }
        self.close_block();
        if let Err(error) = self.region.write_out(self.used) {
            self.stop(&error);
        }
    }
}

/// The share of one word in the hash of a payload. The products are independent of each other, so they overlap in the processor.
#[inline(always)]
fn mixed(word: u64, place: usize) -> u64 {
    const FACTORS: [u64; 8] = [
        0x9e37_79b9_7f4a_7c15,
        0xbf58_476d_1ce4_e5b9,
        0x94d0_49bb_1331_11eb,
        0xd6e8_feb8_6659_fd93,
        0xa076_1d64_78bd_642f,
        0xe703_7ed1_a0b4_28db,
        0x8ebc_6af0_9c88_c6e3,
        0x5899_65cc_7537_4cc3,
    ];
    (word ^ place as u64).wrapping_mul(FACTORS[place & 7])
}

#[inline(always)]
fn slot(hash: u64) -> usize {
    ((hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 54) as usize
}
