//! The access token in the URL.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

const TOKEN_BYTES: usize = 16;

/// A secret of 32 hexadecimal digits.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    /// A new token from the system's random number generator.
    pub fn new() -> io::Result<AccessToken> {
        let mut bytes = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(AccessToken(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Compares a text with the token in constant time.
    pub fn matches(&self, text: &str) -> bool {
        let (own, text) = (self.0.as_bytes(), text.as_bytes());
        let differs = |(index, byte): (usize, &u8)| byte ^ text.get(index).copied().unwrap_or(0);
        let difference = own.iter().enumerate().map(differs).fold(0, |all, one| all | std::hint::black_box(one));
        difference == 0 && text.len() == own.len()
    }
}

impl fmt::Display for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_only_itself() {
        let token = AccessToken::new().unwrap();
        let text = token.to_string();
        assert_eq!(text.len(), 2 * TOKEN_BYTES);
        assert!(token.matches(&text));
        assert!(
            !token.matches("") && !token.matches(&text[1..]) && !token.matches(&format!("{text}0")) && !token.matches(&format!("{text}\0"))
        );
        let mut other = text.clone().into_bytes();
        other[31] ^= 1;
        assert!(!token.matches(std::str::from_utf8(&other).unwrap()));
        assert_ne!(text, AccessToken::new().unwrap().to_string());
    }
}
