//! Call points: operations at call sites. One source line under different callers is several call points; all addresses of it under the same
//! callers are one.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sintonia_mpi::FunctionId;
use sintonia_recording::call_paths::CallPaths;
use sintonia_recording::call_table::RecordedCall;

/// An operation at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(u16, u32)", into = "(u16, u32)")]
pub struct CallPoint {
    /// The MPI function.
    pub operation: FunctionId,
    /// The representative call site.
    pub site: u32,
}

impl From<(u16, u32)> for CallPoint {
    fn from((operation, site): (u16, u32)) -> CallPoint {
        CallPoint { operation: FunctionId(operation), site }
    }
}

impl From<CallPoint> for (u16, u32) {
    fn from(point: CallPoint) -> (u16, u32) {
        (point.operation.0, point.site)
    }
}

impl CallPoint {
    /// The call point of a call.
    pub fn of_call(call: &RecordedCall, paths: &CallPaths) -> CallPoint {
        CallPoint { operation: call.descriptor.function, site: paths.canonical(call.descriptor.site) }
    }
}

/// Assigns consecutive ids to values.
#[derive(Debug)]
pub struct IdMap<T> {
    /// The values, by id.
    pub items: Vec<T>,
    ids: FxHashMap<T, usize>,
}

impl<T> Default for IdMap<T> {
    fn default() -> Self {
        IdMap { items: Vec::new(), ids: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> IdMap<T> {
    /// The id of a value; a new one if it has none.
    pub fn get_or_insert(&mut self, item: T) -> usize {
        *self.ids.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() - 1
        })
    }

    /// The id of a value, if it has one.
    pub fn get(&self, item: T) -> Option<usize> {
        self.ids.get(&item).copied()
    }
}
