//! One Cube file: the values of a metric in its index and data, by call path.

use super::super::archive::{ArchiveError, MAX_MEMBER_BYTES, find_tar_member, from_be_bytes, from_le_bytes, gunzip, read_limited, slice};
use super::super::error::{TableError, TableProblem};
use super::anchor::{CubeAnchor, CubeMetric, parse_anchor};
use flate2::read::ZlibDecoder;
use std::collections::BTreeMap;

/// Between a caller and what it calls.
pub(super) const CALL_SEPARATOR: &str = "->";

const ANCHOR: &str = "anchor.xml";
const INDEX_MAGIC: &[u8] = b"CUBEX.INDEX";
const DATA_MAGIC: &[u8] = b"CUBEX.DATA";
const PACKED_MAGIC: &[u8] = b"ZCUBEX.DATA";
/// An index with the numbers of the call tree nodes that have values.
const SPARSE_INDEX: u8 = 1;

/// The own value of each call path, the mean over all threads.
pub(super) type CallPathValues = BTreeMap<String, f64>;

/// A metric of one run.
pub(super) struct CubeProfile {
    pub unit: String,
    pub values: CallPathValues,
}

/// Reads a metric of a Cube file; `name` is used in errors.
pub(super) fn read_profile(name: &str, bytes: Vec<u8>, metric: &str) -> Result<CubeProfile, TableError> {
    let in_file = |error: ArchiveError| TableError::in_file(name, error.into());
    let bytes = gunzip(bytes).map_err(in_file)?;
    let (offset, anchor) = find_tar_member(&bytes, ANCHOR)
        .map_err(in_file)?
        .ok_or_else(|| in_file(ArchiveError::new(0, format!("no {ANCHOR} in this archive: it is no Cube file"))))?;
    let anchor = gunzip(anchor.to_vec()).map_err(in_file)?;
    let text = std::str::from_utf8(&anchor).map_err(|error| in_file(ArchiveError::new(offset + error.valid_up_to(), "invalid UTF-8")))?;
    let in_anchor = |(line, problem)| TableError::in_file(&format!("{name}: {ANCHOR}"), TableProblem::Xml(problem)).at_line(line);
    let anchor = parse_anchor(text).map_err(in_anchor)?;
    let known = || anchor.metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = anchor.metrics.iter().find(|own| own.name == metric);
    let found = found.ok_or_else(|| TableError::in_file(name, TableProblem::NoMetric { name: metric.to_owned(), known: known() }))?;
    let values = read_values(&bytes, &anchor, found).map_err(in_file)?;
    Ok(CubeProfile { unit: found.unit.clone(), values })
}

/// How the numbers of a file are stored.
#[derive(Clone, Copy)]
struct ByteOrder {
    is_little_endian: bool,
}

impl ByteOrder {
    fn unsigned(self, bytes: &[u8]) -> u64 {
        if self.is_little_endian { from_le_bytes(bytes) } else { from_be_bytes(bytes) }
    }
}

/// The values of all call tree nodes, by call path.
fn read_values(bytes: &[u8], anchor: &CubeAnchor, metric: &CubeMetric) -> Result<CallPathValues, ArchiveError> {
    let member = |ending: &str| {
        let name = format!("{}.{ending}", metric.id);
        find_tar_member(bytes, &name)?
            .ok_or_else(|| ArchiveError::new(0, format!("there are no values of `{}` ({name} is missing)", metric.name)))
    };
    let ((index_at, index), (data_at, data)) = (member("index")?, member("data")?);
    let (order, nodes) = read_index(index).map_err(|error| behind(error, index_at))?;
    let (size, decode) = number_type(&metric.data_type).ok_or_else(|| {
        ArchiveError::new(data_at, format!("`{}` has the type {}, which is not supported", metric.name, metric.data_type))
    })?;
    let row_size = size * anchor.locations;
    let total = nodes.len().checked_mul(row_size).filter(|total| *total as u64 <= MAX_MEMBER_BYTES && row_size > 0);
    let total = total.ok_or_else(|| ArchiveError::new(index_at, "there are no threads, or too many values"))?;
    let data = unpack_data(data, order, total).map_err(|error| behind(error, data_at))?;
    let numbers = anchor.value_order(metric);
    let mut own: Vec<Option<f64>> = vec![None; anchor.calls.len()];
    for (node, row) in nodes.iter().zip(data.chunks_exact(row_size)) {
        let node = usize::try_from(*node).ok().and_then(|number| numbers.get(number));
        let node = *node.ok_or_else(|| ArchiveError::new(index_at, "the index refers to a call path that does not exist"))?;
        let sum: f64 = row.chunks_exact(size).map(|value| decode(order.unsigned(value))).sum();
        own[node] = Some(sum / anchor.locations as f64);
    }
    Ok(by_call_path(anchor, &own, metric.is_inclusive))
}

/// The error, of a member that begins at this offset of the file.
fn behind(error: ArchiveError, offset: usize) -> ArchiveError {
    ArchiveError { offset: offset + error.offset, ..error }
}

/// The byte order, and the numbers of the nodes that have values.
fn read_index(bytes: &[u8]) -> Result<(ByteOrder, Vec<u64>), ArchiveError> {
    if !bytes.starts_with(INDEX_MAGIC) {
        return Err(ArchiveError::new(0, "the index of a Cube file was expected here"));
    }
    let head = INDEX_MAGIC.len();
    let order = ByteOrder { is_little_endian: slice(bytes, head, 4)? == [1, 0, 0, 0] };
    if slice(bytes, head + 6, 1)? != [SPARSE_INDEX] {
        return Err(ArchiveError::new(head + 6, "this kind of index is not supported"));
    }
    let count = order.unsigned(slice(bytes, head + 7, 4)?);
    let numbers = slice(bytes, head + 11, 4 * count)?;
    Ok((order, numbers.chunks_exact(4).map(|number| order.unsigned(number)).collect()))
}

/// The values of all nodes one after the other: as stored, or compressed node by node.
fn unpack_data(bytes: &[u8], order: ByteOrder, total: usize) -> Result<Vec<u8>, ArchiveError> {
    if bytes.starts_with(DATA_MAGIC) {
        return Ok(slice(bytes, DATA_MAGIC.len(), total as u64)?.to_vec());
    }
    if !bytes.starts_with(PACKED_MAGIC) {
        return Err(ArchiveError::new(0, "the data of a Cube file was expected here"));
    }
    let head = PACKED_MAGIC.len();
    let count = order.unsigned(slice(bytes, head, 8)?);
    let size = count.checked_mul(24).ok_or_else(|| ArchiveError::new(head, "too many values"))?;
    let segments = slice(bytes, head + 8, size)?;
    let mut offset = head + 8 + segments.len();
    let mut data = Vec::new();
    for segment in segments.chunks_exact(24) {
        let packed = slice(bytes, offset, order.unsigned(&segment[16..]))?;
        if !packed.is_empty() {
            let unpacked = read_limited(ZlibDecoder::new(packed), (total - data.len()) as u64);
            data.extend(unpacked.ok_or_else(|| ArchiveError::new(offset, "the compressed values are damaged"))?);
        }
        offset += packed.len();
    }
    if data.len() == total { Ok(data) } else { Err(ArchiveError::new(offset, "there are fewer values than the index has call paths")) }
}

/// The size of a stored number in bytes, and how its bits are a number.
type StoredNumber = (usize, fn(u64) -> f64);

/// How the numbers of a type are stored; `None` for types whose values cannot be added.
fn number_type(name: &str) -> Option<StoredNumber> {
    Some(match name {
        "DOUBLE" | "FLOAT" => (8, f64::from_bits),
        "UINT64" | "UNSIGNED INTEGER" => (8, |bits| bits as f64),
        "INT64" | "INTEGER" | "SIGNED INTEGER" => (8, |bits| bits as i64 as f64),
        "UINT32" | "UNSIGNED INT" => (4, |bits| bits as f64),
        "INT32" | "INT" | "SIGNED INT" => (4, |bits| f64::from(bits as u32 as i32)),
        "UINT16" | "UNSIGNED SHORT INT" => (2, |bits| bits as f64),
        "INT16" | "SHORT INT" | "SIGNED SHORT INT" => (2, |bits| f64::from(bits as u16 as i16)),
        "UINT8" | "CHAR" => (1, |bits| bits as f64),
        "INT8" => (1, |bits| f64::from(bits as u8 as i8)),
        _ => return None,
    })
}

/// The own values by call path: of inclusive values, without those of what is called.
fn by_call_path(anchor: &CubeAnchor, values: &[Option<f64>], is_inclusive: bool) -> CallPathValues {
    let mut own = values.to_vec();
    for (index, call) in anchor.calls.iter().enumerate().filter(|_| is_inclusive) {
        if let (Some(caller), Some(value)) = (call.caller, values[index]) {
            own[caller].iter_mut().for_each(|sum| *sum -= value);
        }
    }
    let mut paths: Vec<String> = Vec::with_capacity(anchor.calls.len());
    for call in &anchor.calls {
        paths.push(call.caller.map_or_else(|| call.region.clone(), |caller| format!("{}{CALL_SEPARATOR}{}", paths[caller], call.region)));
    }
    let mut sums = CallPathValues::new();
    for (path, value) in paths.into_iter().zip(own).filter_map(|(path, value)| Some((path, value?))) {
        *sums.entry(path).or_default() += value;
    }
    sums
}
