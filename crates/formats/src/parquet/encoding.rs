//! Encodings of the values of a page.

use super::thrift::{put_varint, put_zigzag};

/// Deltas in a block of a delta encoding, and in each of its miniblocks, which share a bit width.
const DELTAS_PER_BLOCK: usize = 128;
const DELTAS_PER_MINIBLOCK: usize = 32;

/// Shortest run that is stored as one value and a count.
const SHORTEST_RUN: usize = 8;

/// Bits that numbers up to `largest` need.
pub(super) fn bit_width(largest: u64) -> u32 {
    u64::BITS - largest.leading_zeros()
}

/// Appends numbers in `width` bits each, the least significant first, padded to whole bytes.
fn put_packed(out: &mut Vec<u8>, numbers: impl Iterator<Item = u64>, width: u32) {
    let (mut pending, mut bits) = (0u128, 0);
    for number in numbers {
        pending |= u128::from(number) << bits;
        bits += width;
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
}

/// RLE and bit-packing hybrid: runs of one value, and groups of eight packed values between them.
pub(super) fn put_hybrid(out: &mut Vec<u8>, numbers: &[u32], width: u32) {
    let starts_run = |at: usize| numbers.get(at..at + SHORTEST_RUN).is_some_and(|next| next.iter().all(|one| *one == next[0]));
    let mut at = 0;
    while at < numbers.len() {
        if starts_run(at) {
            let length = numbers[at..].iter().take_while(|one| **one == numbers[at]).count();
            put_varint(out, (length as u64) << 1);
            out.extend(&numbers[at].to_le_bytes()[..width.div_ceil(8) as usize]);
            at += length;
        } else {
            let end = (at..numbers.len()).step_by(8).find(|end| starts_run(*end)).unwrap_or(numbers.len());
            let groups = (end - at).div_ceil(8);
            put_varint(out, (groups as u64) << 1 | 1);
            let padded = numbers[at..end].iter().copied().chain(std::iter::repeat(0)).take(8 * groups);
            put_packed(out, padded.map(u64::from), width);
            at = end;
        }
    }
}

/// Differences between neighbours, less the least of their block, in as many bits as those of a miniblock need.
pub(super) fn put_deltas(out: &mut Vec<u8>, numbers: &[i64]) {
    put_varint(out, DELTAS_PER_BLOCK as u64);
    put_varint(out, (DELTAS_PER_BLOCK / DELTAS_PER_MINIBLOCK) as u64);
    put_varint(out, numbers.len() as u64);
    put_zigzag(out, numbers.first().copied().unwrap_or_default());
    let deltas: Vec<i64> = numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    for block in deltas.chunks(DELTAS_PER_BLOCK) {
        let least = block.iter().copied().min().unwrap_or_default();
        put_zigzag(out, least);
        let above = |delta: &i64| delta.wrapping_sub(least) as u64;
        let mut widths = [0u32; DELTAS_PER_BLOCK / DELTAS_PER_MINIBLOCK];
        for (width, miniblock) in widths.iter_mut().zip(block.chunks(DELTAS_PER_MINIBLOCK)) {
            *width = bit_width(miniblock.iter().map(above).max().unwrap_or_default());
        }
        out.extend(widths.map(|width| width as u8));
        for (width, miniblock) in widths.iter().zip(block.chunks(DELTAS_PER_MINIBLOCK)) {
            let padded = miniblock.iter().map(above).chain(std::iter::repeat(0)).take(DELTAS_PER_MINIBLOCK);
            put_packed(out, padded, *width);
        }
    }
}

/// Flags, one bit each.
pub(super) fn put_flags(out: &mut Vec<u8>, flags: &[bool]) {
    put_packed(out, flags.iter().map(|flag| u64::from(*flag)), 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_specification() {
        let mut out = Vec::new();
        put_packed(&mut out, 0..8, 3);
        assert_eq!(out, [0b1000_1000, 0b1100_0110, 0b1111_1010]);
        out.clear();
        put_hybrid(&mut out, &[4; 100], 3);
        assert_eq!(out, [0xc8, 0x01, 4]);
        out.clear();
        put_deltas(&mut out, &[1, 2, 3, 4, 5]);
        assert_eq!(out, [128, 1, 4, 5, 2, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn a_run_ends_packed_values_at_a_group() {
        let mut out = Vec::new();
        put_hybrid(&mut out, &[0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0], 1);
        assert_eq!(out, [3, 0b1111_1110, 8 << 1, 1, 3, 0]);
    }
}
