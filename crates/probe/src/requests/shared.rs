//! Requests that share one handle because they completed immediately, as eager sends do.
//!
//! Their handle does not identify them, but the variable does that the creating call wrote it to. If the program copies the handle to
//! another variable, the request is known only if there is no other choice; otherwise its completion is recorded as that of an unknown
//! request. MPI needs no memory for such requests, so a program may never complete them: the memory for them is bounded here.

use super::hash_table::RequestHashTable;
use super::{TrackedRequest, flag};

/// Most request variables that are remembered.
const MAX_VARIABLES: usize = 1 << 18;
/// Most requests that are remembered although their variable was overwritten.
const MAX_OVERWRITTEN: usize = 1 << 12;
/// Most call sites that are remembered.
const MAX_SITES: usize = 1 << 12;

/// The requests that share a handle.
pub(super) struct SharedRequests {
    /// By the address of the request variable.
    variables: RequestHashTable,
    /// Requests whose variable was overwritten, so that only copies of their handle can be left.
    overwritten: Vec<TrackedRequest>,
    /// Requests that are not remembered.
    forgotten: usize,
    /// Completions of unknown requests: this many of the requests above are complete.
    unknown_completions: usize,
    /// Whether requests may be pending that the probe has not seen.
    earlier_unseen: bool,
    /// Call sites that completed copies. An address that they pass proves nothing: a local variable may be where another one was before.
    copy_sites: Vec<usize>,
}

impl SharedRequests {
    pub(super) const fn new() -> SharedRequests {
        SharedRequests {
            variables: RequestHashTable::new(),
            overwritten: Vec::new(),
            forgotten: 0,
            unknown_completions: 0,
            earlier_unseen: false,
            copy_sites: Vec::new(),
        }
    }

    /// Number of requests, including those that unknown completions have completed.
    #[inline(always)]
    fn candidates(&self) -> usize {
        self.variables.len() + self.overwritten.len() + self.forgotten
    }

    /// Number of requests that the program has not completed.
    #[inline(always)]
    pub(super) fn outstanding(&self) -> usize {
        // A program that completes both a copy and the original would otherwise make it negative.
        self.candidates().saturating_sub(self.unknown_completions)
    }

    /// Recording begins in the middle of the program.
    pub(super) fn set_earlier_unseen(&mut self) {
        self.earlier_unseen = true;
    }

    /// Adds a request; its key is the address of its variable.
    #[inline(always)]
    pub(super) fn insert(&mut self, request: TrackedRequest) {
        if self.variables.len() == MAX_VARIABLES && self.variables.get(request.key).is_none() {
            self.forgotten += 1;
        } else if let Some(earlier) = self.variables.insert(request) {
            self.overwrite(earlier, request.key);
        }
    }

    /// Adds a request again that was removed although it is pending.
    pub(super) fn restore(&mut self, request: &TrackedRequest) {
        match self.variables.get(request.key) {
            None => self.insert(*request),
            Some(other) if other.is_same(request) => {}
            Some(_) if self.overwritten.iter().any(|other| other.is_same(request)) => {}
            Some(_) => self.keep_overwritten(*request),
        }
    }

    /// The variable of a request was overwritten. It is pending, so its handle was copied, and the same will happen to the request that is
    /// now in the variable. If copies have been completed, it was probably one of them.
    #[cold]
    fn overwrite(&mut self, earlier: TrackedRequest, address: usize) {
        self.keep_overwritten(earlier);
        if let Some(request) = self.variables.get_mut(address) {
            request.flags |= if self.unknown_completions == 0 { flag::COPIED } else { 0 };
        }
    }

    fn keep_overwritten(&mut self, request: TrackedRequest) {
        if self.overwritten.len() < MAX_OVERWRITTEN {
            self.overwritten.push(request);
        } else {
            self.forgotten += 1;
        }
    }

    /// Adds the request whose variable has this address to `resolved`, as far as a completion at this call site can rely on it. `take`: it
    /// is complete.
    #[inline(always)]
    pub(super) fn resolve(&mut self, address: usize, site: usize, take: bool, resolved: &mut Vec<TrackedRequest>) {
        if !self.copy_sites.is_empty() && self.copy_sites.contains(&site) {
            return resolved.push(TrackedRequest::UNKNOWN);
        }
        let before = self.variables.len();
        self.variables.take_if(address, |request| take && !request.has(flag::COPIED), resolved);
        match resolved.last_mut() {
            Some(request) if !request.is_known() || request.has(flag::COPIED) => {
                *request = TrackedRequest::UNKNOWN;
                self.remember_copy_site(site);
            }
            _ if self.variables.len() < before => self.clear_if_complete(),
            _ => {}
        }
    }

    #[cold]
    fn remember_copy_site(&mut self, site: usize) {
        if self.copy_sites.len() < MAX_SITES {
            self.copy_sites.push(site);
        }
    }

    /// The requests of which `known` have been identified and `unknown` have not, if these must be all that are left.
    #[cold]
    pub(super) fn without_choice(&self, known: &[TrackedRequest], unknown: usize) -> Option<Vec<TrackedRequest>> {
        let is_complete = self.unknown_completions == 0 && self.forgotten == 0 && !self.earlier_unseen;
        if !is_complete || self.candidates() != known.len() + unknown {
            return None;
        }
        // The latest first: from there they are removed.
        let all = self.variables.iter().chain(self.overwritten.iter().rev());
        Some(all.filter(|request| known.iter().all(|known| !known.is_same(request))).copied().collect())
    }

    /// A known request is complete.
    #[inline(always)]
    pub(super) fn complete(&mut self, request: &TrackedRequest) {
        if !self.variables.remove(request)
            && let Some(index) = self.overwritten.iter().rposition(|other| other.is_same(request))
        {
            self.overwritten.swap_remove(index);
        }
        self.clear_if_complete();
    }

    /// An unknown request is complete.
    #[cold]
    pub(super) fn complete_unknown(&mut self) {
        self.unknown_completions += usize::from(self.outstanding() > 0);
        self.clear_if_complete();
    }

    #[inline(always)]
    fn clear_if_complete(&mut self) {
        if self.unknown_completions > 0 && self.outstanding() == 0 {
            self.variables.clear();
            self.overwritten.clear();
            (self.forgotten, self.unknown_completions) = (0, 0);
        }
    }
}
