//! The access token in the URL.

use std::fmt;
use std::io;

use sintonia_link::random::{random_bytes, to_hex};
use subtle::ConstantTimeEq;

const TOKEN_BYTES: usize = 16;

/// A secret of 32 hexadecimal digits.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    /// A new token from the system's random number generator.
    pub fn new() -> io::Result<AccessToken> {
        random_bytes::<TOKEN_BYTES>().map(|bytes| AccessToken(to_hex(&bytes)))
    }

    /// Compares a text with the token in constant time.
    pub fn matches(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
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
