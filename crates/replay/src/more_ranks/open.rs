//! The requests of a rank that are not complete, and those that can be started.

use std::collections::HashSet;

use sintonia_mpi::{Mode, Role};
use sintonia_recording::raw::part;
use sintonia_recording::table::Call;

use super::reading::Handled;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number among those of its thread.
    pub number: u64,
    /// The node that made it.
    pub node: u32,
    /// Whether it can be started again.
    pub persistent: bool,
    /// Whether it is under way.
    pub active: bool,
    /// What it receives, if it is known to receive something.
    pub receives: Option<Receives>,
}

/// What a request receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receives {
    /// From whom, as a recording says it.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// How many bytes.
    pub bytes: u64,
}

/// The requests of a rank, from the oldest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// They.
    pub list: Vec<Request>,
}

/// What a call does with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// It completes them.
    Complete,
    /// It starts them.
    Start,
    /// It gives them back.
    Free,
}

impl Handling {
    /// What a call of this role does with requests, if it does something.
    pub fn of(role: Role) -> Option<Handling> {
        match role {
            Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => Some(Handling::Complete),
            Role::Start | Role::StartAll => Some(Handling::Start),
            Role::RequestFree => Some(Handling::Free),
            _ => None,
        }
    }

    /// Whether it can be done to a request.
    pub fn can(self, request: &Request) -> bool {
        match self {
            Handling::Complete => request.active,
            Handling::Start => !request.active,
            Handling::Free => request.persistent || request.active,
        }
    }
}

impl Open {
    /// A call makes a request.
    pub fn make(&mut self, number: u64, node: u32, persistent: bool, receives: Option<Receives>) {
        self.list.push(Request { number, node, persistent, active: !persistent, receives });
    }

    /// Does something to the requests for which it holds.
    pub fn handle(&mut self, handling: Handling, mut is_named: impl FnMut(&Request) -> bool) {
        match handling {
            Handling::Start => self.list.iter_mut().filter(|request| is_named(request)).for_each(|request| request.active = true),
            Handling::Free => self.list.retain(|request| !is_named(request)),
            Handling::Complete => self.list.retain_mut(|request| {
                let done = is_named(request);
                request.active &= !done;
                !done || request.persistent
            }),
        }
    }

    /// Follows a recorded call, and says which requests it had to do with.
    pub fn follow(&mut self, node: usize, call: &Call) -> Handled {
        let shape = call.shape;
        if let Some(request) = call.request {
            self.make(request.number, node as u32, shape.operation.function().mode == Mode::Persistent, None);
        }
        let Some(handling) = Handling::of(shape.operation.role()).filter(|_| shape.parts & part::FOUND_NOTHING == 0) else {
            return Handled::default();
        };
        let named: HashSet<u64> = call.listed().map(|(request, _)| request.number).collect();
        let mut handled = Handled::default();
        for request in self.list.iter().filter(|request| handling.can(request)) {
            if named.contains(&request.number) {
                handled.named.push(handled.there.len() as u32);
            }
            handled.there.push(request.node);
        }
        self.handle(handling, |request| handling.can(request) && named.contains(&request.number));
        handled
    }
}
