//! The access token in the URL.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

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

    /// The token that is kept in a file only its owner can read; a new one if there is no such file.
    pub fn kept(file: &Path) -> io::Result<AccessToken> {
        match File::open(file) {
            Ok(opened) => AccessToken::read(opened),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = AccessToken::new()?;
                if let Some(folder) = file.parent() {
                    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                }
                // Of two commands that begin at the same time, one keeps its token and the other fails.
                let mut created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
                created.write_all(token.0.as_bytes())?;
                Ok(token)
            }
            Err(error) => Err(error),
        }
    }

    fn read(file: File) -> io::Result<AccessToken> {
        let metadata = file.metadata()?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
            return Err(io::Error::other("others can read or own it: remove it"));
        }
        let mut text = String::new();
        file.take(1 << 10).read_to_string(&mut text)?;
        let is_token = text.len() == 2 * TOKEN_BYTES && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if is_token { Ok(AccessToken(text)) } else { Err(io::Error::other("it holds no token: remove it")) }
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

    #[test]
    fn a_kept_token_is_the_same_again_and_only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sintonia/view.token");
        let text = AccessToken::kept(&file).unwrap().to_string();
        assert_eq!(AccessToken::kept(&file).unwrap().to_string(), text);
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(AccessToken::kept(&file).err().unwrap().to_string(), "others can read or own it: remove it");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&file, "guess me").unwrap();
        assert_eq!(AccessToken::kept(&file).err().unwrap().to_string(), "it holds no token: remove it");
    }
}
