//! An authenticated session for holders of the run's shared secret.
//!
//! A peer can write into the memory of the user's program, so each side first proves knowledge of the secret by challenge and response.
//! After that every message carries a MAC over its sequence number, with a key of this session and direction, so modified, replayed,
//! missing or foreign messages are rejected. Messages are not encrypted.

use std::io::{self, Read, Write};

use crate::mac::{self, MessageMac};
use crate::random::{random_bytes, to_hex};

/// Length of a secret and of a nonce, in bytes.
const SECRET_BYTES: usize = 32;
/// Maximum length of a message.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The secret shared by the processes of one run.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret([u8; SECRET_BYTES]);

impl SharedSecret {
    /// A new random secret.
    pub fn new() -> io::Result<SharedSecret> {
        random_bytes().map(SharedSecret)
    }

    /// As hexadecimal text, for the program's environment.
    pub fn to_hex(&self) -> String {
        to_hex(&self.0)
    }

    /// Inverse of [`SharedSecret::to_hex`].
    pub fn from_hex(text: &str) -> Option<SharedSecret> {
        let mut bytes = [0; SECRET_BYTES];
        if text.len() != 2 * SECRET_BYTES || !text.is_ascii() {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(SharedSecret(bytes))
    }
}

impl std::fmt::Debug for SharedSecret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret")
    }
}

/// Why a session has ended.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// I/O error.
    #[error("the connection broke: {0}")]
    Connection(#[from] io::Error),
    /// The peer does not know the secret.
    #[error("the peer does not know the secret of this run")]
    Unauthenticated,
    /// A MAC did not verify.
    #[error("message {0} has an invalid MAC: it was modified, replayed or forged")]
    InvalidMac(u64),
    /// A message exceeds the maximum length.
    #[error("a message of {0} bytes exceeds the maximum length")]
    TooLong(u64),
}

/// Which side of the session this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSide {
    /// Accepted the connection.
    Server,
    /// Opened the connection.
    Client,
}

/// Labels that differ per side, so that messages cannot be reflected to their sender.
impl SessionSide {
    fn proof_label(self) -> &'static [u8] {
        match self {
            SessionSide::Server => b"sintonia server proof",
            SessionSide::Client => b"sintonia client proof",
        }
    }

    fn key_label(self) -> &'static [u8] {
        match self {
            SessionSide::Server => b"sintonia server key",
            SessionSide::Client => b"sintonia client key",
        }
    }

    fn peer(self) -> SessionSide {
        match self {
            SessionSide::Server => SessionSide::Client,
            SessionSide::Client => SessionSide::Server,
        }
    }
}

/// Sending half of a session.
#[derive(Debug)]
pub struct SessionSender<W> {
    stream: W,
    mac: MessageMac,
}

/// Receiving half of a session.
#[derive(Debug)]
pub struct SessionReceiver<R> {
    stream: R,
    mac: MessageMac,
    received: u64,
}

/// Performs the handshake over the two directions of a stream.
pub fn handshake<R: Read, W: Write>(
    mut from: R,
    mut to: W,
    secret: &SharedSecret,
    side: SessionSide,
) -> Result<(SessionReceiver<R>, SessionSender<W>), SessionError> {
    let own = random_bytes()?;
    to.write_all(&own)?;
    to.flush()?;
    let mut theirs = [0; SECRET_BYTES];
    from.read_exact(&mut theirs)?;
    let (client, server) = if side == SessionSide::Client { (own, theirs) } else { (theirs, own) };
    let proof = |side: SessionSide| [side.proof_label(), client.as_slice(), &server];
    let prove = |to: &mut W| to.write_all(&mac::compute(&secret.0, &proof(side))).and_then(|()| to.flush());
    // The client proves first, so that the server reveals nothing to strangers.
    if side == SessionSide::Client {
        prove(&mut to)?;
    }
    let mut shown = [0; SECRET_BYTES];
    from.read_exact(&mut shown)?;
    if !mac::verify(&secret.0, &proof(side.peer()), &shown) {
        return Err(SessionError::Unauthenticated);
    }
    if side == SessionSide::Server {
        prove(&mut to)?;
    }
    let mac = |side: SessionSide| MessageMac::new(&secret.0, &[side.key_label(), &client, &server]);
    Ok((SessionReceiver { stream: from, mac: mac(side.peer()), received: 0 }, SessionSender { stream: to, mac: mac(side) }))
}

impl<W: Write> SessionSender<W> {
    /// Sends a message.
    pub fn send(&mut self, message: &[u8]) -> Result<(), SessionError> {
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(SessionError::TooLong(message.len() as u64));
        }
        let mut frame = Vec::with_capacity(4 + message.len() + mac::TAG_BYTES);
        frame.extend((message.len() as u32).to_le_bytes());
        frame.extend(message);
        frame.extend(self.mac.tag(message));
        self.stream.write_all(&frame)?;
        self.stream.flush()?;
        Ok(())
    }
}

impl<R: Read> SessionReceiver<R> {
    /// Waits for the next message.
    pub fn receive(&mut self) -> Result<Vec<u8>, SessionError> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_MESSAGE_BYTES {
            return Err(SessionError::TooLong(length as u64));
        }
        // Read incrementally: an announced length is not allocated before the bytes arrive.
        let mut message = Vec::new();
        (&mut self.stream).take(length as u64).read_to_end(&mut message)?;
        let mut shown = [0; mac::TAG_BYTES];
        self.stream.read_exact(&mut shown)?;
        if message.len() != length || !self.mac.verify(&message, &shown) {
            return Err(SessionError::InvalidMac(self.received));
        }
        self.received += 1;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    type Half = (SessionReceiver<UnixStream>, SessionSender<UnixStream>);

    fn conversation(
        one: &SharedSecret,
        other: &SharedSecret,
    ) -> (Result<Half, SessionError>, Result<Half, SessionError>, UnixStream, UnixStream) {
        let (client, server) = UnixStream::pair().expect("a pair");
        let clone = |stream: &UnixStream| stream.try_clone().expect("a clone");
        let (client_raw, server_raw) = (clone(&client), clone(&server));
        let other = other.clone();
        let thread = std::thread::spawn(move || {
            let raw = clone(&server);
            let begun = handshake(clone(&server), server, &other, SessionSide::Server);
            // A side that fails closes its stream, so that the other one does not wait forever.
            if begun.is_err() {
                raw.shutdown(std::net::Shutdown::Both).expect("closes");
            }
            begun
        });
        let begun = handshake(clone(&client), client, one, SessionSide::Client);
        (begun, thread.join().expect("ends"), client_raw, server_raw)
    }

    #[test]
    fn both_sides_hear_what_the_other_says() {
        let secret = SharedSecret::new().expect("randomness");
        let (client, server, ..) = conversation(&secret, &secret);
        let ((mut hears, mut says), (mut server_hears, mut server_says)) = (client.expect("begun"), server.expect("begun"));
        for message in [&b"one"[..], b"", b"three"] {
            says.send(message).expect("sent");
            assert_eq!(server_hears.receive().expect("received"), message);
            server_says.send(message).expect("sent");
            assert_eq!(hears.receive().expect("received"), message);
        }
    }

    #[test]
    fn who_does_not_know_the_secret_gets_no_answer() {
        let (one, other) = (SharedSecret::new().expect("randomness"), SharedSecret::new().expect("randomness"));
        let (client, server, raw, _) = conversation(&one, &other);
        assert!(matches!(server, Err(SessionError::Unauthenticated)));
        assert!(client.is_err());
        drop(raw);
    }

    #[test]
    fn a_message_that_is_repeated_or_changed_is_not_accepted() {
        let secret = SharedSecret::new().expect("randomness");
        let (client, server, mut raw, _server_raw) = conversation(&secret, &secret);
        let ((_, mut says), (mut hears, _)) = (client.expect("begun"), server.expect("begun"));
        let mut frame = Vec::new();
        SessionSender { stream: &mut frame, mac: says.mac.clone() }.send(b"set F0 0.5").expect("made");
        says.send(b"set F0 0.5").expect("sent");
        assert!(hears.receive().is_ok());
        raw.write_all(&frame).expect("sent");
        assert!(matches!(hears.receive(), Err(SessionError::InvalidMac(1))));
        let mut changed = Vec::new();
        SessionSender { stream: &mut changed, mac: says.mac.clone() }.send(b"set F0 0.5").expect("made");
        changed[8] ^= 1;
        raw.write_all(&changed).expect("sent");
        assert!(matches!(hears.receive(), Err(SessionError::InvalidMac(1))));
    }

    #[test]
    fn a_message_cannot_be_sent_back_to_its_sender() {
        let secret = SharedSecret::new().expect("randomness");
        let (client, server, _raw, mut server_raw) = conversation(&secret, &secret);
        let ((mut hears, says), _) = (client.expect("begun"), server.expect("begun"));
        let mut frame = Vec::new();
        SessionSender { stream: &mut frame, mac: says.mac.clone() }.send(b"hello").expect("made");
        server_raw.write_all(&frame).expect("sent");
        assert!(matches!(hears.receive(), Err(SessionError::InvalidMac(0))));
    }

    #[test]
    fn a_length_that_is_only_announced_takes_no_memory_and_no_panic() {
        let secret = SharedSecret::new().expect("randomness");
        let (client, server, mut raw, _server_raw) = conversation(&secret, &secret);
        let (_client, (mut hears, _)) = (client.expect("begun"), server.expect("begun"));
        raw.write_all(&u32::MAX.to_le_bytes()).expect("sent");
        assert!(matches!(hears.receive(), Err(SessionError::TooLong(_))));
        raw.write_all(&1000u32.to_le_bytes()).expect("sent");
        raw.shutdown(std::net::Shutdown::Both).expect("closes");
        assert!(matches!(hears.receive(), Err(SessionError::Connection(_))));
    }

    #[test]
    fn a_secret_is_read_as_it_was_written_and_never_shown() {
        let secret = SharedSecret::new().expect("randomness");
        assert_eq!(SharedSecret::from_hex(&secret.to_hex()), Some(secret.clone()));
        assert_eq!(SharedSecret::from_hex("0"), None);
        assert_eq!(SharedSecret::from_hex(&"é".repeat(32)), None);
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
