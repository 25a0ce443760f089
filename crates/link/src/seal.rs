//! How each end of a conversation knows that a message comes from one who holds the run's secret, without the secret ever being on its way.
//!
//! Both ends begin with a random number of their own. From these and the secret come two keys, one for each direction, and behind every message
//! stands a *seal* that only the key makes: of the message, and of how many there were before it. So nothing is believed that somebody else
//! has sent, changed, sent again or left out. What is said is no secret.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// How many bytes a seal has.
pub const LENGTH: usize = 16;

/// What makes the seals of one direction, or checks them.
#[derive(Clone, Debug)]
pub struct Seal {
    key: Hmac<Sha256>,
    count: u64,
}

impl Seal {
    /// The seals under a secret of what one side says in one conversation: `parts` are what both sides began with, and which side it is.
    pub fn new(secret: &[u8], parts: &[&[u8]]) -> Seal {
        Seal { key: keyed(&code(secret, parts)), count: 0 }
    }

    /// The seal of the next message.
    pub fn of(&mut self, message: &[u8]) -> [u8; LENGTH] {
        let whole: [u8; 32] = self.next(message).finalize().into_bytes().into();
        self.count += 1;
        std::array::from_fn(|at| whole[at])
    }

    /// Whether that is the seal of the next message; if not, the next is still to come.
    pub fn fits(&mut self, message: &[u8], seal: &[u8; LENGTH]) -> bool {
        let fits = self.next(message).verify_truncated_left(seal).is_ok();
        self.count += u64::from(fits);
        fits
    }

    fn next(&self, message: &[u8]) -> Hmac<Sha256> {
        self.key.clone().chain_update(self.count.to_be_bytes()).chain_update(message)
    }
}

/// A code of several texts that only who holds the secret can make.
pub fn code(secret: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    with(secret, parts).finalize().into_bytes().into()
}

/// Whether that is the code of these texts.
pub fn is_code(secret: &[u8], parts: &[&[u8]], shown: &[u8; 32]) -> bool {
    with(secret, parts).verify_slice(shown).is_ok()
}

fn with(secret: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    parts.iter().fold(keyed(secret), |code, part| code.chain_update(part))
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key may have any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(secret: &str, side: &str, number: u8) -> Seal {
        Seal::new(secret.as_bytes(), &[&[number; 16], &[2; 16], side.as_bytes()])
    }

    #[test]
    fn only_the_same_secret_side_and_numbers_make_a_seal() {
        let made = seal("secret", "worker", 1).of(b"done");
        let fits = |mut own: Seal| own.fits(b"done", &made);
        assert!(fits(seal("secret", "worker", 1)));
        assert!(!fits(seal("guessed", "worker", 1)));
        assert!(!fits(seal("secret", "coordinator", 1)), "what one side says cannot be sent back to it");
        assert!(!fits(seal("secret", "worker", 3)), "a seal of another conversation");
    }

    #[test]
    fn a_message_that_is_changed_or_comes_again_has_no_seal() {
        let (mut one, mut other) = (seal("secret", "worker", 1), seal("secret", "worker", 1));
        let made = one.of(b"done");
        assert!(!other.clone().fits(b"Done", &made));
        assert!(other.fits(b"done", &made) && !other.fits(b"done", &made));
    }
}
