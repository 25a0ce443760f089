//! LEB128 variable-length integers: seven bits per byte, lowest first, top bit set on all but the last.

/// Appends a number.
pub fn encode(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a signed number in zigzag encoding.
pub fn encode_signed(bytes: &mut Vec<u8>, number: i64) {
    encode(bytes, (number << 1 ^ number >> 63) as u64);
}

/// Decodes a number and removes it from the front.
#[inline]
pub fn decode(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    if first < 0x80 { Some(first.into()) } else { decode_rest(bytes, u64::from(first & 0x7f)) }
}

fn decode_rest(bytes: &mut &[u8], mut number: u64) -> Option<u64> {
    for shift in (7..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Decodes a signed number and removes it from the front.
#[inline]
pub fn decode_signed(bytes: &mut &[u8]) -> Option<i64> {
    decode(bytes).map(|number| (number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_and_small_ones_are_short() {
        for number in [0, 1, 127, 128, 300, 1 << 35, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            encode(&mut bytes, number);
            encode_signed(&mut bytes, number as i64);
            let mut rest = &bytes[..];
            assert_eq!((decode(&mut rest), decode_signed(&mut rest)), (Some(number), Some(number as i64)));
            assert!(rest.is_empty());
        }
        let mut bytes = Vec::new();
        encode_signed(&mut bytes, -64);
        assert_eq!(bytes.len(), 1);
    }

    #[test]
    fn what_is_cut_or_endless_is_no_number() {
        assert_eq!(decode(&mut &[][..]), None);
        assert_eq!(decode(&mut &[0x80][..]), None);
        assert_eq!(decode(&mut &[0xff; 20][..]), None);
    }

    #[test]
    fn a_number_without_end_is_none() {
        assert_eq!(decode(&mut &[0x80; 30][..]), None);
        assert_eq!(decode(&mut &[0x80, 0x80][..]), None);
    }
}
