//! The arguments and results of a call that apply to it: what lists and exports show of a [`CallDescriptor`].

use sintonia_mpi::FunctionRole;

use crate::call_table::CallDescriptor;
use crate::raw::{self, NonLocalExit, part};

/// Arguments and results; `None` where the call has none. Ranks and tags may be special: see [`special_name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallDetails {
    /// The communicator.
    pub communicator: Option<u32>,
    /// The window.
    pub window: Option<u32>,
    /// The file.
    pub file: Option<u32>,
    /// The communicator, window or file that it created or freed.
    pub created: Option<u32>,
    /// The destination, source or target.
    pub peer: Option<i32>,
    /// The root of a collective.
    pub root: Option<i32>,
    /// The tag.
    pub tag: Option<i32>,
    /// Source of a send-receive.
    pub source: Option<i32>,
    /// Receive tag of a send-receive.
    pub recv_tag: Option<i32>,
    /// Bytes sent.
    pub sent: Option<u64>,
    /// Bytes received, or the buffer size of a nonblocking receive.
    pub received: Option<u64>,
    /// Level of `MPI_Pcontrol`.
    pub level: Option<i32>,
    /// Error code.
    pub error: Option<i32>,
    /// How the program left the call, if it did not return.
    pub exit: Option<NonLocalExit>,
}

impl CallDescriptor {
    /// What applies to this call.
    pub fn details(&self) -> CallDetails {
        let has = |wanted: u16| self.parts & wanted != 0;
        let role = self.function.role();
        let is_rooted = matches!(role, FunctionRole::Collective(_));
        let number = |wanted: u16, number: i32| Some(number).filter(|number| has(wanted) && *number != raw::NONE);
        let bytes = |wanted: u16, bytes: u64| Some(bytes).filter(|bytes| has(wanted) && *bytes != raw::UNKNOWN_BYTES);
        CallDetails {
            communicator: self.communicator(),
            window: self.window(),
            file: self.file(),
            created: Some(self.created).filter(|created| has(part::CREATED) && *created != raw::NO_OBJECT),
            peer: number(part::OBJECT, self.peer).filter(|_| !is_rooted),
            root: number(part::OBJECT, self.peer).filter(|_| is_rooted),
            tag: number(part::TAG, self.tag),
            source: number(part::SOURCE, self.source),
            recv_tag: number(part::TAG, self.recv_tag).filter(|_| has(part::SOURCE)),
            sent: bytes(part::SENT, self.sent),
            received: bytes(part::RECEIVED, self.received),
            level: Some(self.value).filter(|_| role == FunctionRole::Switch && has(part::VALUE)),
            error: Some(self.value).filter(|_| has(part::ERROR) && !has(part::UNFINISHED)),
            exit: self.non_local_exit(),
        }
    }

    /// How the program left the call, if it did not return from it.
    pub fn non_local_exit(&self) -> Option<NonLocalExit> {
        let is_exit = self.parts & part::NON_LOCAL_EXIT == part::NON_LOCAL_EXIT;
        is_exit.then(|| NonLocalExit::from_code(self.value).unwrap_or(NonLocalExit::Unobserved))
    }

    /// Whether the call was in progress when the recording ended.
    pub fn is_in_progress(&self) -> bool {
        self.parts & part::NON_LOCAL_EXIT == part::UNFINISHED
    }
}

/// The word for a rank or tag that is one of MPI's special values.
pub fn special_name(rank_or_tag: i32) -> Option<&'static str> {
    match rank_or_tag {
        raw::ANY => Some("any"),
        raw::PROC_NULL => Some("null"),
        raw::ROOT => Some("here"),
        raw::EXTERNAL => Some("outside"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::FunctionId;

    #[test]
    fn a_call_that_was_left_neither_failed_nor_is_in_progress() {
        let receive =
            |parts: u16, value: i32| CallDescriptor { parts, value, ..CallDescriptor::new(FunctionId::from_name("MPI_Recv").unwrap()) };
        let left = receive(part::VALUE | part::NON_LOCAL_EXIT, NonLocalExit::Jump as i32);
        assert_eq!((left.details().exit, left.details().error, left.is_in_progress()), (Some(NonLocalExit::Jump), None, false));
        let unknown = receive(part::VALUE | part::NON_LOCAL_EXIT, 77);
        assert_eq!(unknown.non_local_exit(), Some(NonLocalExit::Unobserved));
        let failed = receive(part::VALUE | part::ERROR, 3);
        assert_eq!((failed.details().exit, failed.details().error, failed.is_in_progress()), (None, Some(3), false));
        let unfinished = receive(part::UNFINISHED, 0);
        assert_eq!((unfinished.details().exit, unfinished.details().error, unfinished.is_in_progress()), (None, None, true));
    }
}
