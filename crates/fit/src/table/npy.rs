//! Arrays of numpy (`.npy`), as Extra-P saves single values: an array of repetitions, or of repetitions times processes.

use super::archive::{ArchiveError, from_le_bytes, little_endian, slice};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The repetitions in an array; of further dimensions, such as processes, the mean.
pub(super) fn read_repetitions(bytes: &[u8]) -> Result<Vec<f64>, ArchiveError> {
    if !bytes.starts_with(MAGIC) {
        return Err(ArchiveError::new(0, "an array of numpy was expected here"));
    }
    let (length, begin) = match slice(bytes, MAGIC.len(), 1)? {
        [1] => (little_endian::<2>(bytes, 8)?, 10),
        _ => (little_endian::<4>(bytes, 8)?, 12),
    };
    let header = String::from_utf8_lossy(slice(bytes, begin, length)?).into_owned();
    let wrong =
        |what: &str| ArchiveError::new(begin, format!("the header of an array of numpy has no usable {what}: {}", header.trim_end()));
    if field(&header, "fortran_order").is_none_or(|order| order.trim_start().starts_with("True")) {
        return Err(wrong("order"));
    }
    let shape = field(&header, "shape").and_then(parse_shape).ok_or_else(|| wrong("shape"))?;
    let (size, decode) = field(&header, "descr").and_then(number_type).ok_or_else(|| wrong("type"))?;
    let count = shape.iter().try_fold(1_usize, |product, length| product.checked_mul(*length)).ok_or_else(|| wrong("shape"))?;
    let total = count.checked_mul(size).ok_or_else(|| wrong("shape"))?;
    let values: Vec<f64> = slice(bytes, begin + length as usize, total as u64)?.chunks_exact(size).map(decode).collect();
    let repetitions = shape.first().copied().unwrap_or(1).max(1);
    Ok(values.chunks((count / repetitions).max(1)).map(|values| values.iter().sum::<f64>() / values.len() as f64).collect())
}

/// What follows a key of the header, which is a Python dictionary.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    header.split_once(&format!("'{key}':")).map(|(_, rest)| rest)
}

fn parse_shape(rest: &str) -> Option<Vec<usize>> {
    let (numbers, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    numbers.split(',').map(str::trim).filter(|number| !number.is_empty()).map(|number| number.parse().ok()).collect()
}

/// The size of a number, and how its bytes are read.
type ArrayElement = (usize, fn(&[u8]) -> f64);

fn number_type(rest: &str) -> Option<ArrayElement> {
    let word = rest.trim_start().strip_prefix('\'')?.split('\'').next()?;
    Some(match word {
        "<f8" => (8, |bytes| f64::from_bits(from_le_bytes(bytes))),
        "<f4" => (4, |bytes| f64::from(f32::from_bits(from_le_bytes(bytes) as u32))),
        "<i8" => (8, |bytes| from_le_bytes(bytes) as i64 as f64),
        "<i4" => (4, |bytes| f64::from(from_le_bytes(bytes) as u32 as i32)),
        "<u8" => (8, |bytes| from_le_bytes(bytes) as f64),
        "<u4" => (4, |bytes| from_le_bytes(bytes) as f64),
        _ => return None,
    })
}
