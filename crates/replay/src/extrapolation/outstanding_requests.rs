//! Outstanding requests of a rank, and persistent ones that can be started.

use std::collections::HashSet;

use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_recording::call_table::RecordedCall;
use sintonia_recording::raw::part;

/// An outstanding request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutstandingRequest {
    /// Request number of its thread.
    pub number: u64,
    /// The node that created it.
    pub node: u32,
    /// Whether it is persistent.
    pub persistent: bool,
    /// Whether it is started.
    pub active: bool,
    /// The message it receives, if known.
    pub expected: Option<ExpectedMessage>,
}

/// The message a request receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExpectedMessage {
    /// Source, as recorded.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// Size.
    pub bytes: u64,
}

/// Requests used by a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RequestUse {
    /// Creating nodes of all eligible requests, oldest first.
    pub candidates: Vec<u32>,
    /// Indices of the requests it named.
    pub selected: Vec<u32>,
}

/// The requests of a rank, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OutstandingRequests {
    /// The requests.
    pub requests: Vec<OutstandingRequest>,
}

/// What a call does to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestAction {
    /// Completes them.
    Complete,
    /// Starts them.
    Start,
    /// Frees them.
    Free,
}

impl RequestAction {
    /// The action of a call, if any.
    pub(super) fn from_role(role: FunctionRole) -> Option<RequestAction> {
        match role {
            FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => {
                Some(RequestAction::Complete)
            }
            FunctionRole::Start | FunctionRole::StartAll => Some(RequestAction::Start),
            FunctionRole::RequestFree => Some(RequestAction::Free),
            _ => None,
        }
    }

    /// Whether it can be applied to a request.
    pub(super) fn applies_to(self, request: &OutstandingRequest) -> bool {
        match self {
            RequestAction::Complete => request.active,
            RequestAction::Start => !request.active,
            RequestAction::Free => request.persistent || request.active,
        }
    }
}

impl OutstandingRequests {
    /// Adds a request.
    pub(super) fn add(&mut self, number: u64, node: u32, persistent: bool, receives: Option<ExpectedMessage>) {
        self.requests.push(OutstandingRequest { number, node, persistent, active: !persistent, expected: receives });
    }

    /// Applies an action to the matching requests.
    pub(super) fn apply(&mut self, handling: RequestAction, mut is_named: impl FnMut(&OutstandingRequest) -> bool) {
        match handling {
            RequestAction::Start => self.requests.iter_mut().filter(|request| is_named(request)).for_each(|request| request.active = true),
            RequestAction::Free => self.requests.retain(|request| !is_named(request)),
            RequestAction::Complete => self.requests.retain_mut(|request| {
                let done = is_named(request);
                request.active &= !done;
                !done || request.persistent
            }),
        }
    }

    /// Tracks a recorded call and returns the requests it used.
    pub(super) fn track_call(&mut self, node: usize, call: &RecordedCall) -> RequestUse {
        let descriptor = call.descriptor;
        if let Some(request) = call.request {
            self.add(request.number, node as u32, descriptor.function.definition().mode == BlockingMode::Persistent, None);
        }
        let Some(handling) = RequestAction::from_role(descriptor.function.role()).filter(|_| descriptor.parts & part::FLAG_FALSE == 0)
        else {
            return RequestUse::default();
        };
        let named: HashSet<u64> =
            call.requests().map(|(request, _)| request).filter(|request| request.is_known()).map(|request| request.number).collect();
        let mut used = RequestUse::default();
        for request in self.requests.iter().filter(|request| handling.applies_to(request)) {
            if named.contains(&request.number) {
                used.selected.push(used.candidates.len() as u32);
            }
            used.candidates.push(request.node);
        }
        self.apply(handling, |request| handling.applies_to(request) && named.contains(&request.number));
        used
    }
}
