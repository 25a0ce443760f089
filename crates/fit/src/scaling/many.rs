//! Many tables at once: the regions of a program are measured together and fitted alone, so every core takes the next one.

use super::{Model, NotEnough, fit};
use crate::measurements::Measurements;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Finds the scaling law of each of many tables, on all cores; the results come in the order of the tables.
pub fn fit_many(tables: &[Measurements]) -> Vec<Result<Model, NotEnough>> {
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
