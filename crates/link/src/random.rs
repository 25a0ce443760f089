//! Bytes that nobody can guess: secrets, nonces, tokens.

use std::io;

/// Random bytes of the system's secure generator.
pub fn random_bytes<const COUNT: usize>() -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Bytes as hexadecimal text.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_differ_and_are_written_in_hexadecimal() {
        let [one, other]: [[u8; 16]; 2] = [random_bytes().unwrap(), random_bytes().unwrap()];
        assert_ne!(one, other);
        assert_eq!(to_hex(&[0, 0x1f, 0xff]), "001fff");
    }
}
