//! Writes the calls of a thread: records in the current block of its [`BlockRegion`].

use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use sintonia_mpi::FunctionId;
use sintonia_recording::raw::{
    self, BLOCK_WORDS, HEADER_WORDS, HeaderWord, LONG_DURATION, NO_OBJECT, NONE, NonLocalExit, REFERENCE_BITS, part,
};

use crate::block_region::BlockRegion;
use crate::cancellation::CancellationGuard;
use crate::clock;
use crate::process;
use crate::profile::CallProfile;
use crate::settings::settings;

/// Slots of the hash table of payloads in the current block.
const PAYLOAD_SLOTS: usize = 1024;

/// The payload variants of one function at one call site.
#[derive(Clone, Copy)]
struct SiteVariants {
    /// Word offset of the first one in the block; 0 if there is none.
    first: u16,
    /// Number of variants stored in full.
    count: u16,
}

impl SiteVariants {
    const NONE: SiteVariants = SiteVariants { first: 0, count: 0 };
    /// Variants stored in full, to be found again; further ones are assumed to be always different.
    const MAX_VARIANTS: u16 = 16;
}

/// Summary of the call in progress.
pub(crate) struct StagedCall {
    /// Bytes sent and received, as far as known.
    pub bytes: u64,
    /// Peer or root; negative if there is none.
    pub peer: i32,
    /// Tag; negative if there is none.
    pub tag: i32,
    /// Id of its communicator, window or file.
    pub object: Option<u32>,
}

/// Records calls, or sums them up.
pub(crate) struct CallRecorder {
    /// The current block.
    words: *mut u64,
    /// Words in use.
    used: usize,
    /// Words staged after `used`: two for the time, then the payload.
    pending: usize,
    sequence: u32,
    thread: u16,
    /// Number of the next request that this thread creates.
    pub next_request: u64,
    slots: Box<[u32; PAYLOAD_SLOTS]>,
    variants: Box<[SiteVariants; 256]>,
    region: BlockRegion,
    /// Totals, in profile mode.
    profile: Option<CallProfile>,
    /// Calls lost so far.
    lost: u64,
    /// Set while the next block is prepared: the program may jump out of it.
    changing_block: bool,
    /// Recording has stopped, or the program was attached to: calls are staged in a scratch block.
    stopped: bool,
    /// Whether it has stopped because of a jump. That is noted at the end: the next jump could leave the lock of the
    /// definitions held.
    stopped_by_jump: bool,
    /// The last block with a valid header. After recording has stopped, lost calls are counted there.
    last_kept: *mut u64,
}

impl CallRecorder {
    /// Opens the stream of a thread; `None` if no memory is available.
    pub(crate) fn open(thread: u16) -> Option<CallRecorder> {
        let profile = if settings().profile { Some(CallProfile::open(thread)?) } else { None };
        let is_attached = settings().is_attached;
        let region = if is_attached { BlockRegion::scratch()? } else { BlockRegion::open(thread, profile.is_some())? };
        let words = region.block(0);
        let mut recorder = CallRecorder {
            words,
            used: HEADER_WORDS,
            pending: 0,
            sequence: 0,
            thread,
            next_request: 0,
            slots: Box::new([0; PAYLOAD_SLOTS]),
            variants: Box::new([SiteVariants::NONE; 256]),
            region,
            profile,
            lost: 0,
            changing_block: false,
            stopped: is_attached,
            stopped_by_jump: false,
            last_kept: words,
        };
        recorder.begin_block(0);
        Some(recorder)
    }

    #[inline(always)]
    fn set(&mut self, offset: usize, word: u64) {
        debug_assert!(offset < BLOCK_WORDS);
        // SAFETY: `offset` lies in the current block: `stage` made room before anything is stored there.
        unsafe { self.words.add(offset).write(word) }
    }

    #[inline(always)]
    fn get(&self, offset: usize) -> u64 {
        debug_assert!(offset < BLOCK_WORDS);
        // SAFETY: as for `set`.
        unsafe { self.words.add(offset).read() }
    }

    #[inline(always)]
    fn move_cursor(&mut self, pending: usize) {
        // SAFETY: the header is part of the block. A release store, so that a reader of a killed process's block never sees a cursor ahead
        // of its words.
        let cursor = unsafe { AtomicU64::from_ptr(self.words.add(HeaderWord::Cursor as usize)) };
        cursor.store(raw::cursor(self.used, pending), Ordering::Release);
    }

    /// Stages a call: function, parts, flags and call site. `requests` is the maximum number of requests it will list.
    #[inline(always)]
    pub(crate) fn stage(&mut self, operation: u16, parts: u16, marks: u16, site: usize, requests: usize) {
        let most = 2 + 12 + 3 * requests.min(raw::MAX_REQUESTS);
        if self.used + most > BLOCK_WORDS {
            self.next_block();
        }
        if self.pending != 0 {
            self.count_lost_call();
        }
        let words = 2 + raw::part_count(parts);
        self.set(self.used + 2, raw::payload_header(operation, parts | marks, 0, words as u16));
        self.set(self.used + 3, site as u64);
        self.pending = 2 + words;
    }

    /// The previous call was neither committed nor discarded: a signal handler jumped out of the probe.
    #[cold]
    fn count_lost_call(&mut self) {
        self.lost += 1;
        let lost = self.get(HeaderWord::Dropped as usize) + 1;
        self.set(HeaderWord::Dropped as usize, lost);
    }

    /// Publishes the staged call as the call in progress since `enter`.
    #[inline(always)]
    pub(crate) fn publish(&mut self, enter: u64) {
        self.set(self.used, enter);
        self.move_cursor(self.pending);
    }

    /// Sets one part of a call staged with these parts.
    #[inline(always)]
    pub(crate) fn put(&mut self, parts: u16, wanted: u16, word: u64) {
        debug_assert!(parts & wanted != 0, "the part was staged");
        self.set(self.used + 4 + raw::part_offset(parts, wanted), word);
    }

    /// One part of a call staged with these parts.
    #[inline(always)]
    pub(crate) fn staged(&self, parts: u16, wanted: u16) -> u64 {
        self.get(self.used + 4 + raw::part_offset(parts, wanted))
    }

    /// Sets a flag of the staged call.
    #[inline(always)]
    pub(crate) fn set_flag(&mut self, mark: u16) {
        let header = self.get(self.used + 2);
        self.set(self.used + 2, header | u64::from(mark) << 16);
    }

    /// Inserts a part that was not staged. Must come before any request is listed.
    #[cold]
    pub(crate) fn insert_part(&mut self, wanted: u16, word: u64) {
        let parts = (self.get(self.used + 2) >> 16) as u16;
        if parts & wanted != 0 {
            return self.put(parts, wanted, word);
        }
        let offset = self.used + 4 + raw::part_offset(parts, wanted);
        for later in (offset..self.used + self.pending).rev() {
            let moved = self.get(later);
            self.set(later + 1, moved);
        }
        self.set(offset, word);
        self.pending += 1;
        let header = self.get(self.used + 2) + (1 << 48);
        self.set(self.used + 2, header | u64::from(wanted) << 16);
    }

    /// Lists a request that the staged call completes or starts.
    #[inline(always)]
    pub(crate) fn list_request(&mut self, request: u64, source_and_tag: u64, bytes: u64) {
        let at = self.used + self.pending;
        self.set(at, request);
        self.set(at + 1, source_and_tag);
        self.set(at + 2, bytes);
        self.pending += 3;
        let header = self.get(self.used + 2) + (1 << 32) + (3 << 48);
        self.set(self.used + 2, header);
    }

    /// Summary of the staged call.
    pub(crate) fn staged_call(&self) -> StagedCall {
        let parts = (self.get(self.used + 2) >> 16) as u16;
        let part = |wanted| (parts & wanted != 0).then(|| self.staged(parts, wanted));
        let (object, mut peer) = part(part::OBJECT).map_or((NO_OBJECT, NONE), raw::unpair);
        let mut tag = part(part::TAG).map_or(NONE, |word| raw::unpair(word).0 as i32);
        let mut bytes = [part::SENT, part::RECEIVED].into_iter().filter_map(part).map(raw::bytes_or_zero).sum();
        // Completed requests: three words each, at the end.
        for request in 0..self.listed_count() {
            let at = self.used + self.pending - 3 * (self.listed_count() - request);
            bytes += raw::bytes_or_zero(self.get(at + 2));
            let (source, source_tag) = raw::unpair(self.get(at + 1));
            (peer, tag) = (source as i32, source_tag);
        }
        StagedCall { bytes, peer, tag, object: (object != NO_OBJECT).then_some(object) }
    }

    /// Whether the staged call has succeeded and, if it was a test or probe, found something.
    pub(crate) fn has_succeeded(&self) -> bool {
        (self.get(self.used + 2) >> 16) as u16 & (part::ERROR | part::FLAG_FALSE) == 0
    }

    /// Source and bytes of the staged call, if it is a send-receive with a source.
    pub(crate) fn staged_source(&self) -> Option<(i32, u64)> {
        let parts = (self.get(self.used + 2) >> 16) as u16;
        if parts & (part::SOURCE | part::RECEIVED) != part::SOURCE | part::RECEIVED {
            return None;
        }
        let source = raw::unpair(self.staged(parts, part::SOURCE)).0 as i32;
        (source >= 0).then(|| (source, raw::bytes_or_zero(self.staged(parts, part::RECEIVED))))
    }

    /// Source and bytes of the receives that the staged call has completed.
    pub(crate) fn completed_receives(&self) -> impl Iterator<Item = (i32, u64)> {
        let listed = self.listed_count();
        let receive = move |request: usize| {
            let at = self.used + self.pending - 3 * (listed - request);
            let (_, is_receive) = raw::RequestRef::from_word(self.get(at));
            let source = raw::unpair(self.get(at + 1)).0 as i32;
            (is_receive && source >= 0).then(|| (source, raw::bytes_or_zero(self.get(at + 2))))
        };
        (0..listed).filter_map(receive)
    }

    /// The function of the staged call.
    pub(crate) fn staged_function(&self) -> FunctionId {
        FunctionId(self.get(self.used + 2) as u16)
    }

    /// The call site or path of the staged call.
    #[inline(always)]
    pub(crate) fn staged_site(&self) -> usize {
        self.get(self.used + 3) as usize
    }

    /// Number of requests listed by the staged call.
    #[inline(always)]
    pub(crate) fn listed_count(&self) -> usize {
        usize::from((self.get(self.used + 2) >> 32) as u16)
    }

    /// Commits the staged call because its request list is full, and stages a continuation record.
    #[cold]
    pub(crate) fn continue_list(&mut self) {
        let (header, site, enter) = (self.get(self.used + 2), self.get(self.used + 3), self.get(self.used));
        match &mut self.profile {
            // SAFETY: the staged words lie in the current block.
            Some(profile) => profile.carry(unsafe { std::slice::from_raw_parts(self.words.add(self.used + 2), self.pending - 2) }),
            None => self.commit(enter),
        }
        let marks = (header >> 16) as u16 & (part::STARTED | part::FORTRAN | part::F08);
        self.stage(header as u16, 0, marks | part::CONTINUED, site as usize, raw::MAX_REQUESTS);
        self.publish(enter);
    }

    /// Discards the staged call.
    #[inline(always)]
    pub(crate) fn discard(&mut self) {
        self.pending = 0;
        self.move_cursor(0);
    }

    /// Commits the staged call.
    #[inline(always)]
    pub(crate) fn commit(&mut self, leave: u64) {
        let enter = self.get(self.used);
        // The counter may go back by a few ticks when a thread moves to another processor.
        let duration = leave.saturating_sub(enter).min(leave);
        if let Some(profile) = &mut self.profile {
            // SAFETY: the staged words lie in the current block.
            let payload = unsafe { std::slice::from_raw_parts(self.words.add(self.used + 2), self.pending - 2) };
            profile.add(payload, enter, duration);
            return self.discard();
        }
        if self.stopped {
            // SAFETY: the header of the last recorded block; only this thread writes it.
            unsafe { *self.last_kept.add(HeaderWord::Dropped as usize) += 1 };
            return self.discard();
        }
        let mut second = duration << REFERENCE_BITS;
        if duration >= LONG_DURATION {
            self.insert_part(part::LONG_DURATION, duration);
            second = 0;
        }
        let (slot, earlier) = self.find_payload();
        if earlier != 0 {
            self.set(self.used + 1, second | u64::from(earlier));
            self.used += 2;
        } else {
            self.write_payload(slot, second);
        }
        self.pending = 0;
        self.move_cursor(0);
    }

    /// Marks the staged call as one that the program left without returning from it.
    #[cold]
    pub(crate) fn mark_exit(&mut self, exit: NonLocalExit) {
        self.set_flag(part::NON_LOCAL_EXIT);
        self.insert_part(part::VALUE, exit as u64);
    }

    /// Writes a record with a payload that is new in this block: in full, or as a delta if its call site has many variants.
    #[inline(never)]
    fn write_payload(&mut self, slot: usize, second: u64) {
        let (offset, words) = (self.used + 2, self.pending - 2);
        let (header, site) = (self.get(offset), self.get(offset + 1));
        let variant = (mix(header, 0).wrapping_add(mix(site, 1)) >> 56) as usize;
        let SiteVariants { first: earlier, count: variants } = self.variants[variant];
        let related = earlier != 0 && self.get(earlier.into()) == header && self.get(usize::from(earlier) + 1) == site;
        if related && variants == SiteVariants::MAX_VARIANTS {
            if let Some(changed) = self.changed_words(earlier.into(), words) {
                return self.write_delta(earlier.into(), changed, second);
            }
        } else if related {
            self.variants[variant].count += 1;
        } else {
            self.variants[variant] = SiteVariants { first: offset as u16, count: 1 };
        }
        self.set(self.used + 1, second);
        self.slots[slot] = offset as u32;
        self.used += self.pending;
    }

    /// Mask of the words of the staged payload that differ from an earlier one; `None` if a delta cannot express it.
    fn changed_words(&self, earlier: usize, words: usize) -> Option<u8> {
        let offset = self.used + 2;
        let differs = |i: &usize| self.get(offset + i) != self.get(earlier + i);
        if words > raw::MAX_DELTA_PAYLOAD_WORDS || (2 + raw::DELTA_WORDS..words).any(|i| differs(&i)) {
            return None;
        }
        Some((2..words.min(2 + raw::DELTA_WORDS)).filter(differs).fold(0, |changed, i| changed | 1 << (i - 2)))
    }

    fn write_delta(&mut self, earlier: usize, changed: u8, second: u64) {
        self.set(self.used + 1, second | raw::delta_reference(earlier, changed));
        let offset = self.used + 2;
        let mut to = offset;
        for i in (0..raw::DELTA_WORDS).filter(|i| changed >> i & 1 == 1) {
            let word = self.get(offset + 2 + i);
            self.set(to, word);
            to += 1;
        }
        self.used = to;
    }

    /// Looks up the staged payload in this block: its hash slot, and its word offset or 0.
    #[inline(always)]
    fn find_payload(&self) -> (usize, u32) {
        // Unrolled for the usual lengths: the lookup is a fifth of the cost of recording a call.
        match self.pending - 2 {
            5 => self.find_words::<5>(),
            6 => self.find_words::<6>(),
            8 => self.find_words::<8>(),
            words => self.find_payload_slice(words),
        }
    }

    #[inline(always)]
    fn find_words<const WORDS: usize>(&self) -> (usize, u32) {
        // SAFETY: the staged payload lies in the current block, and has this many words.
        let payload = unsafe { &*self.words.add(self.used + 2).cast::<[u64; WORDS]>() };
        let slot = slot(payload.iter().enumerate().fold(0, |hash, (i, word)| hash.wrapping_add(mix(*word, i))));
        let offset = self.slots[slot];
        // SAFETY: the offset is 0 or that of an earlier payload, so as many words follow it in the block.
        let earlier = unsafe { &*self.words.add(offset as usize).cast::<[u64; WORDS]>() };
        let differs = payload.iter().zip(earlier).fold(0, |differs, (a, b)| differs | (a ^ b));
        (slot, if differs == 0 { offset } else { 0 })
    }

    fn find_payload_slice(&self, words: usize) -> (usize, u32) {
        // SAFETY: as in `find_words`.
        let payload = unsafe { std::slice::from_raw_parts(self.words.add(self.used + 2), words) };
        let slot = slot(payload.iter().enumerate().fold(0, |hash, (i, word)| hash.wrapping_add(mix(*word, i))));
        let offset = self.slots[slot];
        // SAFETY: as in `find_words`.
        let earlier = unsafe { std::slice::from_raw_parts(self.words.add(offset as usize), words) };
        (slot, if payload == earlier { offset } else { 0 })
    }

    /// Begins a block. The program may jump out of this: until the end, the block seems to be full, so that the next call finds the change
    /// unfinished.
    fn begin_block(&mut self, index: usize) {
        self.used = BLOCK_WORDS;
        self.words = self.region.block(index);
        self.slots.fill(0);
        self.variants.fill(SiteVariants::NONE);
        let reading = clock::reading();
        // The cursor first: after a kill, no old records may appear under the new block's number.
        self.set(HeaderWord::Cursor as usize, raw::cursor(HEADER_WORDS, 0));
        compiler_fence(Ordering::Release);
        self.set(HeaderWord::Magic as usize, raw::MAGIC);
        self.set(HeaderWord::Identity as usize, raw::identity(self.sequence, self.thread, false));
        self.set(HeaderWord::Checksum as usize, 0);
        self.set(HeaderWord::FirstRequest as usize, self.next_request);
        self.set(HeaderWord::AnchorTicks as usize, reading.ticks);
        self.set(HeaderWord::AnchorNanoseconds as usize, reading.monotonic_ns);
        self.set(HeaderWord::Dropped as usize, self.lost);
        compiler_fence(Ordering::SeqCst);
        self.last_kept = self.words;
        self.used = HEADER_WORDS;
    }

    fn close_block(&mut self) {
        // SAFETY: the words in use lie in the current block.
        let words = unsafe { std::slice::from_raw_parts(self.words.add(HEADER_WORDS), self.used - HEADER_WORDS) };
        let checksum = raw::checksum(words);
        self.set(HeaderWord::Checksum as usize, checksum);
        self.set(HeaderWord::Identity as usize, raw::identity(self.sequence, self.thread, true));
    }

    #[cold]
    fn next_block(&mut self) {
        let _guard = CancellationGuard::new();
        if self.profile.is_some() {
            self.slots.fill(0);
            self.used = HEADER_WORDS;
            return;
        }
        if self.stopped {
            return self.stop();
        }
        if std::mem::replace(&mut self.changing_block, true) {
            self.stopped_by_jump = true;
            return self.stop();
        }
        self.close_block();
        self.sequence += 1;
        match self.region.advance() {
            Ok(index) => self.begin_block(index),
            Err(error) => {
                self.stop();
                self.note_stop(&format!("memory could not be written to disk: {error}"));
            }
        }
        self.changing_block = false;
    }

    /// Nothing more can be written: what was recorded stays, and the program continues. The program may jump out of this, too: then it is
    /// done again, with the same result.
    fn stop(&mut self) {
        self.stopped = true;
        compiler_fence(Ordering::SeqCst);
        self.words = self.region.spare();
        self.slots.fill(0);
        compiler_fence(Ordering::SeqCst);
        self.used = HEADER_WORDS;
    }

    fn note_stop(&self, reason: &str) {
        process::note(&format!("thread {}: recording stopped: {reason}", self.thread));
    }

    /// Writes what would be lost with the process. Mapped memory is left alone: another thread may still be writing.
    pub(crate) fn finish(&mut self) {
        if std::mem::take(&mut self.stopped_by_jump) {
            self.note_stop("a signal handler jumped out of the probe while memory was written to disk");
        }
        if self.profile.is_some() || self.stopped || self.region.is_persistent() {
            return;
        }
        self.close_block();
        // With the call in progress: the process may end inside it. After a jump out of `begin_block` the block seems to be full.
        if let Err(error) = self.region.write_out((self.used + self.pending).min(BLOCK_WORDS)) {
            self.stop();
            self.note_stop(&format!("memory could not be written to disk: {error}"));
        }
    }
}

/// Hash contribution of one word. The multiplications are independent, so they overlap in the pipeline.
#[inline(always)]
fn mix(word: u64, index: usize) -> u64 {
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
    (word ^ index as u64).wrapping_mul(FACTORS[index & 7])
}

#[inline(always)]
fn slot(hash: u64) -> usize {
    ((hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 54) as usize
}
