//! What a rank did with files through MPI-IO, from its MPI calls, in the form of what it did through the C library.

use std::collections::BTreeMap;

use sintonia_mpi::{FunctionId, FunctionRole};
use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::file_io::{FileCounters, FileOperation, size_class};
use sintonia_recording::raw::{NO_OBJECT, part};
use sintonia_replay::Error;

/// Counters by file (the index of the object), operation and call site.
pub(crate) type MpiFileCounters = BTreeMap<(u32, FileOperation, u32), FileCounters>;

/// The counters of a rank. Bytes are those that were asked for, as Darshan counts them; the time of a nonblocking call is that until it returned.
pub(crate) fn counters(recording: &Recording, rank: u32) -> Result<MpiFileCounters, Error> {
    let mut counters = MpiFileCounters::new();
    if !recording.header.objects.iter().any(|object| object.path.is_some()) {
        return Ok(counters);
    }
    if recording.header.profile {
        for (descriptor, totals) in recording.totals(rank)? {
            let Some(call) = MpiFileCall::new(&descriptor) else { continue };
            let bytes = if call.operation == FileOperation::Read { totals.received } else { totals.sent };
            let sums = counters.entry(call.key()).or_default();
            call.add(sums, totals.calls, bytes);
            sums.time = sums.time.saturating_add(totals.total_ns);
            sums.longest = sums.longest.max(totals.max_ns);
        }
        return Ok(counters);
    }
    for table in recording.counted_tables(rank)? {
        let calls: Vec<Option<MpiFileCall>> = table.descriptors.iter().map(MpiFileCall::new).collect();
        for (row, descriptor) in table.descriptor_ids.iter().enumerate() {
            let Some(call) = &calls[*descriptor as usize] else { continue };
            call.add_timed(counters.entry(call.key()).or_default(), table.enter[row], table.leave[row]);
        }
    }
    for ((function, site, file), ns) in recording.excerpt_threads(rank).into_iter().flatten().flat_map(|thread| &thread.uncounted_ns) {
        if let Some(operation) = operation(*function).filter(|_| *file != NO_OBJECT) {
            let sums = counters.entry((*file, operation, *site)).or_default();
            sums.time = sums.time.saturating_add(*ns);
        }
    }
    Ok(counters)
}

/// What a call does with a file.
struct MpiFileCall {
    file: u32,
    operation: FileOperation,
    site: u32,
    bytes: u64,
    failed: bool,
    /// The end of a split collective takes time, but the access was counted at its begin.
    ends_split: bool,
}

impl MpiFileCall {
    fn new(descriptor: &CallDescriptor) -> Option<MpiFileCall> {
        let role = descriptor.function.role();
        let operation = operation(descriptor.function)?;
        let file = if matches!(role, FunctionRole::FileOpen | FunctionRole::FileClose) { descriptor.created } else { descriptor.object };
        Some(MpiFileCall {
            file: Some(file).filter(|file| *file != NO_OBJECT)?,
            operation,
            site: descriptor.site,
            bytes: if operation == FileOperation::Read { descriptor.bytes_received() } else { descriptor.bytes_sent() },
            failed: descriptor.parts & part::ERROR != 0,
            ends_split: descriptor.function.name().ends_with("_end"),
        })
    }

    fn key(&self) -> (u32, FileOperation, u32) {
        (self.file, self.operation, self.site)
    }

    /// Adds calls with this number of bytes together.
    fn add(&self, counters: &mut FileCounters, calls: u64, bytes: u64) {
        if self.failed {
            counters.failed += calls;
        } else if !self.ends_split {
            counters.calls += calls;
            counters.bytes = counters.bytes.saturating_add(bytes);
            if matches!(self.operation, FileOperation::Read | FileOperation::Write) {
                counters.sizes[size_class(bytes / calls.max(1))] += calls;
            }
        }
    }

    fn add_timed(&self, counters: &mut FileCounters, enter: i64, leave: i64) {
        self.add(counters, 1, self.bytes);
        let ns = leave.saturating_sub(enter).max(0) as u64;
        counters.time = counters.time.saturating_add(ns);
        let (begin, end) = (enter.max(1) as u64, leave.max(1) as u64);
        counters.first = if counters.first == 0 { begin } else { counters.first.min(begin) };
        counters.last = counters.last.max(end);
        if ns > counters.longest {
            (counters.longest, counters.longest_bytes) = (ns, self.bytes);
        }
    }
}

/// The operation of a function; `None` for queries. A view sets the position.
fn operation(function: FunctionId) -> Option<FileOperation> {
    Some(match function.role() {
        FunctionRole::FileOpen => FileOperation::Open,
        FunctionRole::FileClose => FileOperation::Close,
        FunctionRole::FileRead => FileOperation::Read,
        FunctionRole::FileWrite => FileOperation::Write,
        FunctionRole::FileOther => match function.name() {
            "MPI_File_sync" => FileOperation::Sync,
            "MPI_File_seek" | "MPI_File_seek_shared" | "MPI_File_set_view" => FileOperation::Seek,
            "MPI_File_set_size" | "MPI_File_preallocate" => FileOperation::Resize,
            name if name.starts_with("MPI_File_read_") => FileOperation::Read,
            name if name.starts_with("MPI_File_write_") => FileOperation::Write,
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_operations() {
        let of = |name: &str| operation(FunctionId::from_name(name).expect(name));
        assert_eq!(of("MPI_File_iread_at_all"), Some(FileOperation::Read));
        assert_eq!(of("MPI_File_write_ordered_end"), Some(FileOperation::Write));
        assert_eq!(of("MPI_File_set_view"), Some(FileOperation::Seek));
        assert_eq!([of("MPI_File_get_size"), of("MPI_File_delete"), of("MPI_Send")], [None; 3]);
    }
}
