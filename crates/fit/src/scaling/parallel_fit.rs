//! Fits many tables in parallel, one per core at a time.

use super::{InsufficientData, ScalingModel, fit};
use crate::measurements::Measurements;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Fits a scaling model to each table, on all cores; results are in the order of the tables.
pub fn fit_many(tables: &[Measurements]) -> Vec<Result<ScalingModel, InsufficientData>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        while let Some((index, table)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, tables.get(i)?))) {
            done.push((index, fit(table)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..cores.min(tables.len())).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, fitted)| fitted).collect()
}
