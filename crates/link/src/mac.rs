//! Message authentication codes (MAC) of a session.
//!
//! Each side sends a random nonce. From the nonces and the shared secret two keys are derived, one per direction. Every message carries an
//! HMAC tag over its sequence number and contents, so forged, modified, replayed or missing messages are detected. Messages are not
//! encrypted.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Length of a tag in bytes.
pub const TAG_BYTES: usize = 16;

/// MAC state of one direction: computes or verifies tags.
#[derive(Clone, Debug)]
pub struct MessageMac {
    hmac: Hmac<Sha256>,
    count: u64,
}

impl MessageMac {
    /// State for one direction of a session, keyed with the secret; `parts` are the nonces and a label for the direction.
    pub fn new(secret: &[u8], parts: &[&[u8]]) -> MessageMac {
        MessageMac { hmac: new_hmac(&compute(secret, parts)), count: 0 }
    }

    /// The tag of the next message.
    pub fn tag(&mut self, message: &[u8]) -> [u8; TAG_BYTES] {
        let whole: [u8; 32] = self.next_hmac(message).finalize().into_bytes().into();
        self.count += 1;
        std::array::from_fn(|at| whole[at])
    }

    /// Verifies the tag of the next message; on failure the sequence number is not advanced.
    pub fn verify(&mut self, message: &[u8], seal: &[u8; TAG_BYTES]) -> bool {
        let fits = self.next_hmac(message).verify_truncated_left(seal).is_ok();
        self.count += u64::from(fits);
        fits
    }

    fn next_hmac(&self, message: &[u8]) -> Hmac<Sha256> {
        self.hmac.clone().chain_update(self.count.to_be_bytes()).chain_update(message)
    }
}

/// HMAC-SHA-256 of several parts.
pub fn compute(secret: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    hmac_of_parts(secret, parts).finalize().into_bytes().into()
}

/// Verifies the result of [`compute`], in constant time.
pub fn verify(secret: &[u8], parts: &[&[u8]], shown: &[u8; 32]) -> bool {
    hmac_of_parts(secret, parts).verify_slice(shown).is_ok()
}

fn hmac_of_parts(secret: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    parts.iter().fold(new_hmac(secret), |code, part| code.chain_update(part))
}

fn new_hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key may have any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(secret: &str, side: &str, number: u8) -> MessageMac {
        MessageMac::new(secret.as_bytes(), &[&[number; 16], &[2; 16], side.as_bytes()])
    }

    #[test]
    fn only_the_same_secret_side_and_numbers_make_a_seal() {
        let made = seal("secret", "worker", 1).tag(b"done");
        let fits = |mut own: MessageMac| own.verify(b"done", &made);
        assert!(fits(seal("secret", "worker", 1)));
        assert!(!fits(seal("guessed", "worker", 1)));
        assert!(!fits(seal("secret", "coordinator", 1)), "what one side says cannot be sent back to it");
        assert!(!fits(seal("secret", "worker", 3)), "a seal of another conversation");
    }

    #[test]
    fn a_message_that_is_changed_or_comes_again_has_no_seal() {
        let (mut one, mut other) = (seal("secret", "worker", 1), seal("secret", "worker", 1));
        let made = one.tag(b"done");
        assert!(!other.clone().verify(b"Done", &made));
        assert!(other.verify(b"done", &made) && !other.verify(b"done", &made));
    }
}
