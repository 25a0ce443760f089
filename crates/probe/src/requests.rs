//! Pending requests: which call created them, so that their completion can refer to it.
//!
//! A handle identifies a request only while it is pending: inside the call that completes it, MPI frees it, and another thread may get it
//! for a new request before this call has returned. So requests are looked up before the call, and removed after it only if the handle
//! still belongs to them. Several threads can create and complete requests only under `MPI_THREAD_MULTIPLE`, so only then is there a
//! lock.

mod hash_table;
mod shared;

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_recording::raw::NONE;

use self::hash_table::RequestHashTable;
use self::shared::SharedRequests;
use crate::library::Handle;

/// Properties of a request, as bits: a request is copied as words, which is faster than with fields of one byte.
mod flag {
    /// The call that created it is recorded.
    pub(super) const RECORDED: u32 = 1;
    /// It shares its handle with others.
    pub(super) const SHARED: u32 = 1 << 1;
    /// The program probably copies its handle to another variable.
    pub(super) const COPIED: u32 = 1 << 2;
    /// It is a receive, whose status gives source, tag and size.
    pub(super) const RECEIVE: u32 = 1 << 3;
    /// It is persistent.
    pub(super) const PERSISTENT: u32 = 1 << 4;
    /// It is active.
    pub(super) const ACTIVE: u32 = 1 << 5;
    /// It is one of several requests that share a handle, and nothing else is known of it.
    pub(super) const UNKNOWN: u32 = 1 << 6;
}

/// A pending request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackedRequest {
    /// Its handle; for one that shares its handle, the address of the variable that holds it. 0: there is no request, or none that is known.
    key: usize,
    /// Sequence number among the requests of its thread.
    pub number: u64,
    /// Receive: size of the buffer in bytes.
    pub bytes: u64,
    /// Receive: requested source.
    pub peer: i32,
    /// Receive: requested tag.
    pub tag: i32,
    thread: u32,
    /// Bits of [`flag`].
    flags: u32,
}

impl TrackedRequest {
    /// No request, or one that the probe has not seen.
    const NOTHING: TrackedRequest = TrackedRequest { key: 0, number: 0, bytes: 0, peer: NONE, tag: NONE, thread: 0, flags: 0 };
    /// One of several requests that share a handle.
    const UNKNOWN: TrackedRequest = TrackedRequest { flags: flag::UNKNOWN, ..TrackedRequest::NOTHING };

    /// A request that was just created; `recorded`: by a recorded call.
    #[inline(always)]
    pub(crate) fn new(handle: Handle, thread: u16, number: u64, persistent: bool, recorded: bool) -> TrackedRequest {
        let flags = if persistent { flag::PERSISTENT } else { flag::ACTIVE } | if recorded { flag::RECORDED } else { 0 };
        TrackedRequest { key: handle, number, thread: thread.into(), flags, ..TrackedRequest::NOTHING }
    }

    /// The same request as one that shares its handle with others; the call wrote it to this address.
    #[inline(always)]
    pub(crate) fn at_address(self, address: usize) -> TrackedRequest {
        TrackedRequest { key: address, flags: self.flags | flag::SHARED, ..self }
    }

    /// The same request as a receive with these arguments.
    #[inline(always)]
    pub(crate) fn as_receive(self, peer: i32, tag: i32, bytes: u64) -> TrackedRequest {
        TrackedRequest { flags: self.flags | flag::RECEIVE, peer, tag, bytes, ..self }
    }

    #[inline(always)]
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The thread that created it.
    #[inline(always)]
    pub(crate) fn thread(&self) -> u16 {
        self.thread as u16
    }

    /// Whether the call that created it is recorded.
    #[inline(always)]
    pub(crate) fn is_recorded(&self) -> bool {
        self.has(flag::RECORDED)
    }

    /// Whether it is a receive, whose status gives source, tag and size.
    #[inline(always)]
    pub(crate) fn is_receive(&self) -> bool {
        self.has(flag::RECEIVE)
    }

    /// Whether it is persistent.
    #[inline(always)]
    pub(crate) fn is_persistent(&self) -> bool {
        self.has(flag::PERSISTENT)
    }

    /// Whether it is active.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.has(flag::ACTIVE)
    }

    /// Whether it is one of several requests that share a handle, and it is not known which one.
    #[inline(always)]
    pub(crate) fn is_unknown(&self) -> bool {
        self.has(flag::UNKNOWN)
    }

    /// Whether it is a known request.
    #[inline(always)]
    pub(crate) fn is_known(&self) -> bool {
        self.key != 0
    }

    #[inline(always)]
    fn is_same(&self, other: &TrackedRequest) -> bool {
        (self.number, self.thread, self.is_recorded()) == (other.number, other.thread, other.is_recorded())
    }
}

/// A request variable that the program passes to a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestVariable {
    /// `MPI_REQUEST_NULL`.
    Null,
    /// A handle of its own.
    Handle(Handle),
    /// A handle that is shared by immediately completed requests, at this address.
    Shared(usize),
}

/// How a call completes the requests that the program passes to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletingCall {
    /// Its call site.
    pub site: usize,
    /// Whether it completes all of them or none.
    pub all: bool,
    /// Whether it may return without completing any.
    pub tests: bool,
}

impl CompletingCall {
    /// Whether all requests are complete when it returns, unless it fails.
    #[inline(always)]
    pub(crate) fn is_certain(self) -> bool {
        self.all && !self.tests
    }
}

/// The requests of a process.
struct PendingRequests {
    handles: RequestHashTable,
    shared: SharedRequests,
}

impl PendingRequests {
    const fn new() -> PendingRequests {
        PendingRequests { handles: RequestHashTable::new(), shared: SharedRequests::new() }
    }

    /// Adds what is known of a variable to `resolved`.
    #[inline(always)]
    fn resolve(&mut self, variable: RequestVariable, call: CompletingCall, resolved: &mut Vec<TrackedRequest>) {
        match variable {
            RequestVariable::Handle(handle) => {
                self.handles.take_if(handle, |request| call.is_certain() && !request.is_persistent(), resolved)
            }
            RequestVariable::Shared(address) if self.shared.outstanding() > 0 => {
                self.shared.resolve(address, call.site, call.is_certain(), resolved)
            }
            _ => resolved.push(TrackedRequest::NOTHING),
        }
    }

    /// Identifies unknown requests that are all that are left. Which of several is which does not matter if all complete together.
    #[cold]
    fn resolve_unknown(&mut self, resolved: &mut [TrackedRequest], call: CompletingCall) {
        let unknown = resolved.iter().filter(|request| request.is_unknown()).count();
        if unknown > 1 && !call.all {
            return;
        }
        // Those that the call is certain to complete are no longer pending.
        let known: Vec<TrackedRequest> =
            resolved.iter().filter(|request| request.has(flag::SHARED) && !call.is_certain()).copied().collect();
        let Some(others) = self.shared.without_choice(&known, unknown) else { return };
        if call.is_certain() {
            others.iter().for_each(|request| self.shared.complete(request));
        }
        let unknown = resolved.iter_mut().filter(|request| request.is_unknown());
        unknown.zip(others).for_each(|(request, other)| *request = other);
    }
}

/// The requests of this process.
pub(crate) struct RequestRegistry {
    is_multithreaded: AtomicBool,
    locked: AtomicBool,
    requests: UnsafeCell<PendingRequests>,
}

// SAFETY: the requests are accessed only through a `RequestsGuard`, which is exclusive: by the lock under MPI_THREAD_MULTIPLE, otherwise
// because MPI forbids concurrent MPI calls.
unsafe impl Sync for RequestRegistry {}

/// Exclusive access to the requests. A guard and not a closure, so that what is done with it is inlined: requests are then written from
/// registers, not copied.
struct RequestsGuard<'a> {
    registry: &'a RequestRegistry,
    is_locked: bool,
}

impl Deref for RequestsGuard<'_> {
    type Target = PendingRequests;

    #[inline(always)]
    fn deref(&self) -> &PendingRequests {
        // SAFETY: see `RequestRegistry`.
        unsafe { &*self.registry.requests.get() }
    }
}

impl DerefMut for RequestsGuard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut PendingRequests {
        // SAFETY: see `RequestRegistry`.
        unsafe { &mut *self.registry.requests.get() }
    }
}

impl Drop for RequestsGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_locked {
            self.registry.locked.store(false, Ordering::Release);
        }
    }
}

/// The requests of this process.
pub(crate) static REQUESTS: RequestRegistry = RequestRegistry::new();

/// Attempts to get the lock before the thread yields its core: the thread that has it may not have one.
const MAX_SPINS: u32 = 1000;

impl RequestRegistry {
    const fn new() -> RequestRegistry {
        RequestRegistry {
            is_multithreaded: AtomicBool::new(false),
            locked: AtomicBool::new(false),
            requests: UnsafeCell::new(PendingRequests::new()),
        }
    }

    /// From now on several threads may be in MPI calls at once.
    pub(crate) fn set_multithreaded(&self) {
        self.is_multithreaded.store(true, Ordering::SeqCst);
    }

    /// Recording begins in the middle of the program: requests may be pending that were not seen.
    pub(crate) fn set_earlier_unseen(&self) {
        self.lock().shared.set_earlier_unseen();
    }

    /// Forgets all requests: the program may have completed them while its calls were not observed.
    pub(crate) fn forget_all(&self) {
        *self.lock() = PendingRequests::new();
    }

    #[inline(always)]
    fn lock(&self) -> RequestsGuard<'_> {
        let is_locked = self.is_multithreaded.load(Ordering::Relaxed);
        if is_locked && self.locked.swap(true, Ordering::Acquire) {
            self.wait_for_lock();
        }
        RequestsGuard { registry: self, is_locked }
    }

    #[cold]
    fn wait_for_lock(&self) {
        let mut spins = 0u32;
        while self.locked.swap(true, Ordering::Acquire) {
            spins += 1;
            if spins.is_multiple_of(MAX_SPINS) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Adds a request.
    #[inline(always)]
    pub(crate) fn insert(&self, request: TrackedRequest) {
        let mut requests = self.lock();
        if request.has(flag::SHARED) {
            requests.shared.insert(request);
        } else {
            requests.handles.insert(request);
        }
    }

    /// Replaces `resolved` by what is known of the variables that a call passes. If it is certain to complete them, they are removed.
    #[inline(always)]
    pub(crate) fn resolve(
        &self,
        variables: impl Iterator<Item = RequestVariable>,
        call: CompletingCall,
        resolved: &mut Vec<TrackedRequest>,
    ) {
        let mut requests = self.lock();
        resolved.clear();
        let mut found = 0;
        for variable in variables {
            requests.resolve(variable, call, resolved);
            found |= resolved.last().map_or(0, |request| request.flags);
        }
        if found & flag::UNKNOWN != 0 {
            requests.resolve_unknown(resolved, call);
        }
    }

    /// Adds a request again that was removed because a call was certain to complete it, but did not.
    #[cold]
    pub(crate) fn restore(&self, request: &TrackedRequest) {
        let mut requests = self.lock();
        if !request.is_known() || request.is_persistent() {
            return;
        }
        if request.has(flag::SHARED) {
            requests.shared.restore(request);
        } else if requests.handles.get(request.key).is_none() {
            requests.handles.insert(*request);
        }
    }

    /// Looks up a request with a handle of its own.
    #[inline(always)]
    pub(crate) fn get(&self, handle: Handle) -> Option<TrackedRequest> {
        self.lock().handles.get(handle).copied()
    }

    /// Marks a persistent request as active.
    pub(crate) fn start(&self, handle: Handle) -> Option<TrackedRequest> {
        let mut requests = self.lock();
        let request = requests.handles.get_mut(handle)?;
        request.flags |= flag::ACTIVE;
        Some(*request)
    }

    /// Completes a request: removes it, or marks a persistent one as inactive.
    #[inline(always)]
    pub(crate) fn complete(&self, request: &TrackedRequest) {
        let mut requests = self.lock();
        if request.has(flag::SHARED) {
            requests.shared.complete(request);
        } else if !request.is_persistent() {
            requests.handles.remove(request);
        } else if let Some(known) = requests.handles.get_mut(request.key).filter(|known| known.is_same(request)) {
            known.flags &= !flag::ACTIVE;
        }
    }

    /// Completes one of the requests that share a handle.
    #[cold]
    pub(crate) fn complete_unknown(&self) {
        self.lock().shared.complete_unknown();
    }

    /// Removes a request that the program freed.
    pub(crate) fn remove(&self, request: &TrackedRequest) {
        let mut requests = self.lock();
        if request.has(flag::SHARED) {
            requests.shared.complete(request);
        } else {
            requests.handles.remove(request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handles(handles: &[Handle]) -> Vec<RequestVariable> {
        handles.iter().map(|handle| RequestVariable::Handle(*handle)).collect()
    }

    fn variables(addresses: &[usize]) -> Vec<RequestVariable> {
        addresses.iter().map(|address| RequestVariable::Shared(*address)).collect()
    }

    /// What a call at this site that passes these variables completes.
    fn resolve_at(requests: &RequestRegistry, variables: Vec<RequestVariable>, site: usize, tests: bool) -> Vec<TrackedRequest> {
        let mut resolved = Vec::new();
        requests.resolve(variables.into_iter(), CompletingCall { site, all: true, tests }, &mut resolved);
        resolved
    }

    /// Completes the requests in these variables; their numbers, `None` where that is not known.
    fn complete_at(requests: &RequestRegistry, variables: Vec<RequestVariable>, site: usize) -> Vec<Option<u64>> {
        let tests = site.is_multiple_of(2);
        let resolved = resolve_at(requests, variables, site, tests);
        let numbers = resolved.iter().filter_map(|request| {
            if request.is_unknown() {
                requests.complete_unknown();
            } else if tests || request.is_persistent() {
                requests.complete(request);
            }
            (request.is_known() || request.is_unknown()).then(|| request.is_known().then_some(request.number))
        });
        numbers.collect()
    }

    fn share(requests: &RequestRegistry, number: u64, address: usize) {
        requests.insert(TrackedRequest::new(64, 0, number, false, true).at_address(address));
    }

    #[test]
    fn requests_are_found_until_they_complete() {
        let requests = RequestRegistry::new();
        requests.set_multithreaded();
        let mut random = fastrand::Rng::with_seed(7);
        let mut live: Vec<(Handle, u64)> = Vec::new();
        for number in 0..20_000 {
            if random.bool() || live.is_empty() {
                let handle = 8 + random.usize(..50_000) * 8;
                if live.iter().all(|(h, _)| *h != handle) {
                    requests.insert(TrackedRequest::new(handle, 0, number, false, true));
                    live.push((handle, number));
                }
            } else {
                let (handle, number) = live.swap_remove(random.usize(..live.len()));
                assert_eq!(complete_at(&requests, handles(&[handle]), number as usize % 2), [Some(number)]);
                assert_eq!(complete_at(&requests, handles(&[handle]), 0), []);
            }
        }
        for (handle, number) in live {
            assert_eq!(requests.get(handle).map(|r| r.number), Some(number));
        }
    }

    #[test]
    fn a_handle_that_another_thread_gets_meanwhile_is_not_taken_from_it() {
        let requests = RequestRegistry::new();
        requests.insert(TrackedRequest::new(8, 0, 1, false, true));
        let first = resolve_at(&requests, handles(&[8]), 0, true)[0];
        requests.insert(TrackedRequest::new(8, 3, 1, false, true));
        requests.complete(&first);
        assert_eq!(requests.get(8).map(|request| request.thread()), Some(3));
    }

    #[test]
    fn a_request_is_pending_again_if_the_call_was_left() {
        let requests = RequestRegistry::new();
        requests.insert(TrackedRequest::new(8, 0, 1, false, true));
        requests.insert(TrackedRequest::new(16, 0, 2, true, true));
        share(&requests, 3, 100);
        share(&requests, 4, 108);
        let passed = || [handles(&[8, 16]), variables(&[100, 108])].concat();
        let left = resolve_at(&requests, passed(), 1, false);
        left.iter().for_each(|request| requests.restore(request));
        assert_eq!(complete_at(&requests, passed(), 1), [Some(1), Some(2), Some(3), Some(4)]);
        // Complete all the same, and their handles belong to others by now.
        requests.insert(TrackedRequest::new(8, 0, 5, false, true));
        share(&requests, 6, 100);
        left.iter().for_each(|request| requests.restore(request));
        assert_eq!(complete_at(&requests, handles(&[8]), 1), [Some(5)]);
        assert_eq!(complete_at(&requests, variables(&[100]), 1), [Some(6)]);
    }

    #[test]
    fn a_persistent_request_stays_until_it_is_freed() {
        let requests = RequestRegistry::new();
        requests.insert(TrackedRequest::new(16, 0, 5, true, true));
        for _ in 0..3 {
            assert!(!requests.get(16).unwrap().is_active());
            assert!(requests.start(16).unwrap().is_active());
            assert_eq!(complete_at(&requests, handles(&[16]), 0), [Some(5)]);
        }
        requests.remove(&requests.get(16).unwrap());
        assert!(requests.get(16).is_none());
    }

    #[test]
    fn requests_that_share_a_handle_are_known_by_their_variables() {
        let requests = RequestRegistry::new();
        for number in 0..4 {
            share(&requests, number, 100 + 8 * number as usize);
        }
        assert_eq!(complete_at(&requests, variables(&[116, 100]), 1), [Some(2), Some(0)]);
        assert_eq!(complete_at(&requests, variables(&[124]), 1), [Some(3)]);
        assert_eq!(complete_at(&requests, variables(&[108]), 1), [Some(1)]);
        assert_eq!(complete_at(&requests, variables(&[108]), 1), [], "nothing is pending");
    }

    #[test]
    fn a_copied_handle_is_known_if_there_is_no_choice() {
        let requests = RequestRegistry::new();
        share(&requests, 0, 100);
        assert_eq!(complete_at(&requests, variables(&[900]), 1), [Some(0)]);
        share(&requests, 1, 100);
        share(&requests, 2, 108);
        share(&requests, 3, 116);
        assert_eq!(complete_at(&requests, variables(&[900]), 2), [None]);
        assert_eq!(complete_at(&requests, variables(&[108]), 3), [Some(2)]);
        assert_eq!(complete_at(&requests, variables(&[900]), 2), [None], "it is 1 or 3: which was before, was not known");
        share(&requests, 4, 100);
        share(&requests, 5, 100);
        share(&requests, 6, 108);
        let mut completed = complete_at(&requests, variables(&[900, 908, 916]), 2);
        completed.sort();
        assert_eq!(completed, [Some(4), Some(5), Some(6)], "all that are pending");
    }

    #[test]
    fn an_overwritten_variable_does_not_identify_a_request() {
        let requests = RequestRegistry::new();
        share(&requests, 0, 100);
        share(&requests, 1, 100);
        share(&requests, 2, 200);
        assert_eq!(complete_at(&requests, variables(&[100]), 1), [None], "the handle of 0 or 1 may be here by now");
        assert_eq!(complete_at(&requests, variables(&[200]), 1), [None], "this call completes copies");
        assert_eq!(complete_at(&requests, variables(&[100]), 1), [None]);
        share(&requests, 3, 100);
        assert_eq!(complete_at(&requests, variables(&[100]), 2), [Some(3)], "nothing else was pending");
    }

    #[test]
    fn requests_that_are_never_completed_take_bounded_memory() {
        let requests = RequestRegistry::new();
        for number in 0..300_000 {
            share(&requests, number, if number.is_multiple_of(10) { 8 } else { 16 + 8 * number as usize });
        }
        assert_eq!(requests.lock().shared.outstanding(), 300_000);
        assert_eq!(complete_at(&requests, variables(&[24]), 1), [Some(1)]);
        assert_eq!(complete_at(&requests, variables(&[16 + 8 * 299_999]), 2), [None]);
    }
}
