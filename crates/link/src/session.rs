//! A conversation that only holders of the run's secret can take part in.
//!
//! Whoever speaks on it can write into the memory of the user's program, so each side first proves that it knows the secret, without sending
//! it, and then every message carries a code that only the other side of *this* conversation could have made, for *this* place in the order
//! of messages: what is changed, repeated, left out or sent by somebody else is not accepted. What is said is no secret.

use std::io::{self, Read, Write};

use crate::seal::{self, Seal};

/// Bytes of a secret, and of the random numbers that the two sides send each other.
const SECRET_BYTES: usize = 32;
/// No message is longer.
const LONGEST: usize = 16 << 20;

/// What the processes of one run share, and nobody else knows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// A new one, from the system's randomness.
    pub fn new() -> io::Result<Secret> {
        random().map(Secret)
    }

    /// As the environment of the program carries it.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads it again.
    pub fn parse(text: &str) -> Option<Secret> {
        let mut bytes = [0; SECRET_BYTES];
        if text.len() != 2 * SECRET_BYTES || !text.is_ascii() {
            return None;
        }
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
        }
        Some(Secret(bytes))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret")
    }
}

fn random() -> io::Result<[u8; SECRET_BYTES]> {
    let mut bytes = [0; SECRET_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Why a conversation has ended.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The way between the two sides.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// Somebody else.
    #[error("the other side does not know the secret of this run")]
    Stranger,
    /// Not what was sent.
    #[error("message {0} is not what the other side sent next: it was changed, repeated or comes from somebody else")]
    Forged(u64),
    /// Too much.
    #[error("a message of {0} bytes is announced, more than any can have")]
    TooLong(u64),
}

/// Which side of the conversation this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that was called.
    Server,
    /// The one that called.
    Client,
}

/// What a side says: its own words for everything, so that nothing can be sent back to its sender.
impl Side {
    fn proof(self) -> &'static [u8] {
        match self {
            Side::Server => b"sintonia server proof",
            Side::Client => b"sintonia client proof",
        }
    }

    fn key(self) -> &'static [u8] {
        match self {
            Side::Server => b"sintonia server key",
            Side::Client => b"sintonia client key",
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Server => Side::Client,
            Side::Client => Side::Server,
        }
    }
}

/// The half of a conversation that sends.
#[derive(Debug)]
pub struct Sender<W> {
    stream: W,
    seal: Seal,
}

/// The half that receives.
#[derive(Debug)]
pub struct Receiver<R> {
    stream: R,
    seal: Seal,
    received: u64,
}

/// Begins a conversation over the two directions of a stream.
pub fn begin<R: Read, W: Write>(mut from: R, mut to: W, secret: &Secret, side: Side) -> Result<(Receiver<R>, Sender<W>), SessionError> {
    let own = random()?;
    to.write_all(&own)?;
    to.flush()?;
    let mut theirs = [0; SECRET_BYTES];
    from.read_exact(&mut theirs)?;
    let (client, server) = if side == Side::Client { (own, theirs) } else { (theirs, own) };
    let proof = |side: Side| [side.proof(), client.as_slice(), &server];
    let prove = |to: &mut W| to.write_all(&seal::code(&secret.0, &proof(side))).and_then(|()| to.flush());
    // The one that called proves first, so that whoever listens tells strangers nothing.
    if side == Side::Client {
        prove(&mut to)?;
    }
    let mut shown = [0; SECRET_BYTES];
    from.read_exact(&mut shown)?;
    if !seal::is_code(&secret.0, &proof(side.other()), &shown) {
        return Err(SessionError::Stranger);
    }
    if side == Side::Server {
        prove(&mut to)?;
    }
    let seal = |side: Side| Seal::new(&secret.0, &[side.key(), &client, &server]);
    Ok((Receiver { stream: from, seal: seal(side.other()), received: 0 }, Sender { stream: to, seal: seal(side) }))
}

impl<W: Write> Sender<W> {
    /// Sends a message.
    pub fn send(&mut self, message: &[u8]) -> Result<(), SessionError> {
        if message.len() > LONGEST {
            return Err(SessionError::TooLong(message.len() as u64));
        }
        let mut frame = Vec::with_capacity(4 + message.len() + seal::LENGTH);
        frame.extend((message.len() as u32).to_le_bytes());
        frame.extend(message);
        frame.extend(self.seal.of(message));
        self.stream.write_all(&frame)?;
        self.stream.flush()?;
        Ok(())
    }
}

impl<R: Read> Receiver<R> {
    /// Waits for the next message.
    pub fn receive(&mut self) -> Result<Vec<u8>, SessionError> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(SessionError::TooLong(length as u64));
        }
        // Read piece by piece: a length that is announced is not yet there.
        let mut message = Vec::new();
        (&mut self.stream).take(length as u64).read_to_end(&mut message)?;
        let mut shown = [0; seal::LENGTH];
        self.stream.read_exact(&mut shown)?;
        if message.len() != length || !self.seal.fits(&message, &shown) {
            return Err(SessionError::Forged(self.received));
        }
        self.received += 1;
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    type Half = (Receiver<UnixStream>, Sender<UnixStream>);

    fn conversation(one: &Secret, other: &Secret) -> (Result<Half, SessionError>, Result<Half, SessionError>, UnixStream, UnixStream) {
        let (client, server) = UnixStream::pair().expect("a pair");
        let clone = |stream: &UnixStream| stream.try_clone().expect("a clone");
        let (client_raw, server_raw) = (clone(&client), clone(&server));
        let other = other.clone();
        let thread = std::thread::spawn(move || {
            let raw = clone(&server);
            let begun = begin(clone(&server), server, &other, Side::Server);
            // A side that gives up closes, so that the other does not wait for ever.
            if begun.is_err() {
                raw.shutdown(std::net::Shutdown::Both).expect("closes");
            }
            begun
        });
        let begun = begin(clone(&client), client, one, Side::Client);
        (begun, thread.join().expect("ends"), client_raw, server_raw)
    }

    #[test]
    fn both_sides_hear_what_the_other_says() {
        let secret = Secret::new().expect("randomness");
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
        let (one, other) = (Secret::new().expect("randomness"), Secret::new().expect("randomness"));
        let (client, server, raw, _) = conversation(&one, &other);
        assert!(matches!(server, Err(SessionError::Stranger)));
        assert!(client.is_err());
        drop(raw);
    }

    #[test]
    fn a_message_that_is_repeated_or_changed_is_not_accepted() {
        let secret = Secret::new().expect("randomness");
        let (client, server, mut raw, _server_raw) = conversation(&secret, &secret);
        let ((_, mut says), (mut hears, _)) = (client.expect("begun"), server.expect("begun"));
        let mut frame = Vec::new();
        Sender { stream: &mut frame, seal: says.seal.clone() }.send(b"set F0 0.5").expect("made");
        says.send(b"set F0 0.5").expect("sent");
        assert!(hears.receive().is_ok());
        raw.write_all(&frame).expect("sent");
        assert!(matches!(hears.receive(), Err(SessionError::Forged(1))));
        let mut changed = Vec::new();
        Sender { stream: &mut changed, seal: says.seal.clone() }.send(b"set F0 0.5").expect("made");
        changed[8] ^= 1;
        raw.write_all(&changed).expect("sent");
        assert!(matches!(hears.receive(), Err(SessionError::Forged(1))));
    }

    #[test]
    fn a_message_cannot_be_sent_back_to_its_sender() {
        let secret = Secret::new().expect("randomness");
        let (client, server, _raw, mut server_raw) = conversation(&secret, &secret);
        let ((mut hears, says), _) = (client.expect("begun"), server.expect("begun"));
        let mut frame = Vec::new();
        Sender { stream: &mut frame, seal: says.seal.clone() }.send(b"hello").expect("made");
        server_raw.write_all(&frame).expect("sent");
        assert!(matches!(hears.receive(), Err(SessionError::Forged(0))));
    }

    #[test]
    fn a_length_that_is_only_announced_takes_no_memory_and_no_panic() {
        let secret = Secret::new().expect("randomness");
        let (client, server, mut raw, _server_raw) = conversation(&secret, &secret);
        let (_client, (mut hears, _)) = (client.expect("begun"), server.expect("begun"));
        raw.write_all(&u32::MAX.to_le_bytes()).expect("sent");
        assert!(matches!(hears.receive(), Err(SessionError::TooLong(_))));
        raw.write_all(&1000u32.to_le_bytes()).expect("sent");
        raw.shutdown(std::net::Shutdown::Both).expect("closes");
        assert!(matches!(hears.receive(), Err(SessionError::Broken(_))));
    }

    #[test]
    fn a_secret_is_read_as_it_was_written_and_never_shown() {
        let secret = Secret::new().expect("randomness");
        assert_eq!(Secret::parse(&secret.to_text()), Some(secret.clone()));
        assert_eq!(Secret::parse("0"), None);
        assert_eq!(Secret::parse(&"é".repeat(32)), None);
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
