//! How each end knows that a message comes from one who holds the run's token, without the token ever being on its way.
//!
//! Both ends begin with a random number of their own. From these and the token come two keys, one for each direction, and behind every message
//! stands a *seal* that only the key makes: of the message, and of how many there were before it. So nothing is believed that somebody else
//! has sent, changed, sent again or left out.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// How many bytes a seal has.
pub const LENGTH: usize = 16;

/// A random number that an end of a conversation begins with.
pub type Nonce = [u8; 16];

/// An end of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Who gives tasks.
    Coordinator,
    /// Who does them.
    Worker,
}

/// What makes the seals of one direction, or checks them.
#[derive(Clone)]
pub struct Seal {
    key: Hmac<Sha256>,
    count: u64,
}

impl Seal {
    /// The seals of what that side says.
    pub fn new(token: &str, side: Side, worker: &Nonce, coordinator: &Nonce) -> Seal {
        let name: &[u8] = match side {
            Side::Coordinator => b"coordinator",
            Side::Worker => b"worker",
        };
        let key = keyed(token.as_bytes()).chain_update(worker).chain_update(coordinator).chain_update(name).finalize().into_bytes();
        Seal { key: keyed(&key), count: 0 }
    }

    /// The seal of the next message.
    pub fn of(&mut self, message: &[u8]) -> [u8; LENGTH] {
        let whole: [u8; 32] = self.next(message).finalize().into_bytes().into();
        std::array::from_fn(|at| whole[at])
    }

    /// Whether that is the seal of the next message.
    pub fn fits(&mut self, message: &[u8], seal: &[u8; LENGTH]) -> bool {
        self.next(message).verify_truncated_left(seal).is_ok()
    }

    fn next(&mut self, message: &[u8]) -> Hmac<Sha256> {
        let count = self.count.to_be_bytes();
        self.count += 1;
        self.key.clone().chain_update(count).chain_update(message)
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key may have any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(token: &str, side: Side, worker: u8) -> Seal {
        Seal::new(token, side, &[worker; 16], &[2; 16])
    }

    #[test]
    fn only_the_same_token_side_and_numbers_make_a_seal() {
        let made = seal("secret", Side::Worker, 1).of(b"done");
        let fits = |mut own: Seal| own.fits(b"done", &made);
        assert!(fits(seal("secret", Side::Worker, 1)));
        assert!(!fits(seal("guessed", Side::Worker, 1)));
        assert!(!fits(seal("secret", Side::Coordinator, 1)), "what one side says cannot be sent back to it");
        assert!(!fits(seal("secret", Side::Worker, 3)), "a seal of another conversation");
    }

    #[test]
    fn a_message_that_is_changed_or_comes_again_has_no_seal() {
        let (mut one, mut other) = (seal("secret", Side::Worker, 1), seal("secret", Side::Worker, 1));
        let made = one.of(b"done");
        assert!(!other.clone().fits(b"Done", &made));
        assert!(other.fits(b"done", &made) && !other.fits(b"done", &made));
    }
}
