//! The secret in the address: who has it may look.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

const BYTES: usize = 16;

/// Thirty-two hexadecimal digits that nobody can guess.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new one, from the system's source of randomness.
    pub fn new() -> io::Result<Token> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Whether a text is the token; it takes as long whatever the text is, so that nobody can find it out letter by letter.
    pub fn is(&self, text: &str) -> bool {
        let (own, text) = (self.0.as_bytes(), text.as_bytes());
        let differs = |(place, byte): (usize, &u8)| byte ^ text.get(place).copied().unwrap_or(0);
        let difference = own.iter().enumerate().map(differs).fold(0, |all, one| all | std::hint::black_box(one));
        difference == 0 && text.len() == own.len()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_only_itself() {
        let token = Token::new().unwrap();
        let text = token.to_string();
        assert_eq!(text.len(), 2 * BYTES);
        assert!(token.is(&text));
        assert!(!token.is("") && !token.is(&text[1..]) && !token.is(&format!("{text}0")) && !token.is(&format!("{text}\0")));
        let mut other = text.clone().into_bytes();
        other[31] ^= 1;
        assert!(!token.is(std::str::from_utf8(&other).unwrap()));
        assert_ne!(text, Token::new().unwrap().to_string());
    }
}
