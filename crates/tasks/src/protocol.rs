//! Wire protocol between coordinator and worker, version 2.
//!
//! A message is a *frame*: its length as four bytes, that many bytes of which the first is the kind, and a [MAC](sintonia_link::mac) of 16 bytes. Only
//! the first message of each side has no MAC, because it carries the nonce. All numbers are big-endian. A text or a file is its length as
//! four bytes followed by its bytes; texts are UTF-8.
//!
//! | kind | from | payload |
//! |---|---|---|
//! | 1 hello | worker | version (4 bytes), nonce (16 bytes); no MAC |
//! | 2 welcome | coordinator | nonce (16 bytes); no MAC |
//! | 3 identify | worker | host (text), process ID (8 bytes) |
//! | 4 classes | coordinator | count (4 bytes), then name (text) and bytecode (file) of each |
//! | 5 ready | worker | duration of its benchmark in seconds (8 bytes) |
//! | 6 run | coordinator | task number (8 bytes), `Class.method` (text), number of arguments (1 byte), arguments (values) |
//! | 7 done | worker | task number (8 bytes), duration in nanoseconds (8 bytes), result (value) |
//! | 8 failed | worker | task number (8 bytes), reason (text) |
//! | 9 heartbeat | both | nothing; the worker sends two per second from a separate thread, the coordinator one |
//!
//! A value is a kind and its payload: 0 void, 1 int (4 bytes), 2 long (8), 3 double (8), 4 number (rounded down to an integer, 8, and
//! the nearest double, 8), 5 int[], 6 long[], 7 double[] (count, 4, and the elements), 8 array of arrays (count, 4, and the values).
//!
//! A side that receives a message with a wrong MAC closes the connection: the peer does not hold the run's token. The coordinator stops a worker
//! by closing the connection. Neither side trusts a length: frames are limited to 1 KiB before the first MAC and to 256 MiB afterwards,
//! nothing is longer than its frame, and arrays are nested at most eight levels deep.

use std::io::{self, Read, Write};

use crate::TaskValue;
use sintonia_link::mac::{self, MessageMac};

/// Protocol version.
pub const VERSION: u32 = 2;
/// Largest frame in bytes.
pub const MAX_FRAME: usize = 1 << 28;
/// Largest frame of a peer that has not authenticated yet.
pub const MAX_UNAUTHENTICATED_FRAME: usize = 1 << 10;
/// Deepest nesting of arrays.
const MAX_ARRAY_DEPTH: usize = 8;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const IDENTIFY: u8 = 3;
const CLASSES: u8 = 4;
const READY: u8 = 5;
const RUN: u8 = 6;
const DONE: u8 = 7;
const FAILED: u8 = 8;
const HEARTBEAT: u8 = 9;

/// A compiled Java class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassFile {
    /// Qualified name.
    pub name: String,
    /// Contents of the class file.
    pub bytecode: Vec<u8>,
}

/// A message from a worker.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerMessage {
    /// First message.
    Hello {
        /// Protocol version of the worker.
        version: u32,
        /// Its nonce.
        nonce: Nonce,
    },
    /// Where it runs.
    Identify {
        /// Host name.
        host: String,
        /// Process ID.
        process: u64,
    },
    /// It has the classes.
    Ready {
        /// Duration of its benchmark.
        seconds: f64,
    },
    /// A task has completed.
    Done {
        /// Task number.
        task: u64,
        /// Its duration.
        nanoseconds: u64,
        /// Its result.
        result: TaskValue,
    },
    /// A task has failed.
    Failed {
        /// Task number.
        task: u64,
        /// The exception, or why it cannot be called.
        reason: String,
    },
    /// Heartbeat.
    Heartbeat,
}

/// A message exceeds [`MAX_FRAME`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("larger than the 256 MiB that a message may have")]
pub struct MessageTooLarge;

/// The answer to a hello.
pub fn encode_welcome(nonce: &Nonce) -> Vec<u8> {
    let mut out = FrameWriter::new(WELCOME);
    out.put_bytes(nonce);
    out.into_bytes()
}

/// A heartbeat of the coordinator.
pub fn encode_heartbeat() -> Vec<u8> {
    FrameWriter::new(HEARTBEAT).into_bytes()
}

/// The message with the classes of an application.
pub fn encode_classes(classes: &[ClassFile]) -> Result<Vec<u8>, MessageTooLarge> {
    let mut out = FrameWriter::new(CLASSES);
    out.put_count(classes.len());
    for class in classes {
        out.put_text(class.name.as_bytes());
        out.put_text(&class.bytecode);
    }
    out.finish()
}

/// The message that assigns a task.
pub fn encode_run<'a>(
    task: u64,
    method: &str,
    arguments: impl ExactSizeIterator<Item = &'a TaskValue>,
) -> Result<Vec<u8>, MessageTooLarge> {
    let mut out = FrameWriter::new(RUN);
    out.put_bytes(&task.to_be_bytes());
    out.put_text(method.as_bytes());
    // Java methods have at most 255 parameters.
    out.put_bytes(&[arguments.len().min(255) as u8]);
    arguments.take(255).for_each(|argument| out.put_value(argument));
    out.finish()
}

/// Builds a frame; the length is filled in at the end.
struct FrameWriter(Vec<u8>);

impl FrameWriter {
    fn new(kind: u8) -> FrameWriter {
        FrameWriter(vec![0, 0, 0, 0, kind])
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn put_count(&mut self, count: usize) {
        self.put_bytes(&(count as u32).to_be_bytes());
    }

    fn put_text(&mut self, text: &[u8]) {
        self.put_count(text.len());
        self.put_bytes(text);
    }

    fn put_value(&mut self, value: &TaskValue) {
        match value {
            TaskValue::Void => self.put_bytes(&[0]),
            TaskValue::Int(one) => self.put_tagged(1, &one.to_be_bytes()),
            TaskValue::Long(one) => self.put_tagged(2, &one.to_be_bytes()),
            TaskValue::Double(one) => self.put_tagged(3, &one.to_be_bytes()),
            TaskValue::Number(whole, one) => {
                self.put_tagged(4, &whole.to_be_bytes());
                self.put_bytes(&one.to_be_bytes());
            }
            TaskValue::Ints(all) => self.put_array(5, all, |out, one| out.put_bytes(&one.to_be_bytes())),
            TaskValue::Longs(all) => self.put_array(6, all, |out, one| out.put_bytes(&one.to_be_bytes())),
            TaskValue::Doubles(all) => self.put_array(7, all, |out, one| out.put_bytes(&one.to_be_bytes())),
            TaskValue::List(all) => self.put_array(8, all, |out, one| out.put_value(one)),
        }
    }

    fn put_tagged(&mut self, kind: u8, bytes: &[u8]) {
        self.put_bytes(&[kind]);
        self.put_bytes(bytes);
    }

    fn put_array<T>(&mut self, kind: u8, all: &[T], each: impl Fn(&mut FrameWriter, &T)) {
        self.put_bytes(&[kind]);
        self.put_count(all.len());
        all.iter().for_each(|one| each(self, one));
    }

    fn finish(self) -> Result<Vec<u8>, MessageTooLarge> {
        if self.0.len() - 4 <= MAX_FRAME { Ok(self.into_bytes()) } else { Err(MessageTooLarge) }
    }

    /// Fills in the length.
    fn into_bytes(mut self) -> Vec<u8> {
        let length = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}

/// Random number that each side contributes to the session keys.
pub type Nonce = [u8; 16];

/// The two sides of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolRole {
    /// Assigns tasks.
    Coordinator,
    /// Runs tasks.
    Worker,
}

/// The MAC of messages sent by `side`; `SintoniaWorker.java` computes the same.
pub fn session_mac(token: &str, side: ProtocolRole, worker: &Nonce, coordinator: &Nonce) -> MessageMac {
    let name: &[u8] = match side {
        ProtocolRole::Coordinator => b"coordinator",
        ProtocolRole::Worker => b"worker",
    };
    MessageMac::new(token.as_bytes(), &[worker, coordinator, name])
}

/// Sends a message with its MAC.
pub fn send(to: &mut impl Write, seal: &mut MessageMac, mut message: Vec<u8>) -> io::Result<()> {
    let tag = seal.tag(&message[4..]);
    message.extend_from_slice(&tag);
    to.write_all(&message)?;
    to.flush()
}

/// Receives the first message of a peer, which has no MAC.
pub fn receive_hello(from: &mut impl Read) -> io::Result<WorkerMessage> {
    decode_message(&read_frame(from, MAX_UNAUTHENTICATED_FRAME)?)
}

/// Receives the next message of a worker and verifies its MAC; `longest` limits its size.
pub fn receive(from: &mut impl Read, seal: &mut MessageMac, longest: usize) -> io::Result<WorkerMessage> {
    let frame = read_frame(from, longest)?;
    let mut received = [0; mac::TAG_BYTES];
    from.read_exact(&mut received)?;
    if seal.verify(&frame, &received) { decode_message(&frame) } else { Err(invalid_data("a message with a wrong MAC")) }
}

fn read_frame(from: &mut impl Read, longest: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > longest {
        return Err(invalid_data("a message that is too long"));
    }
    let mut frame = Vec::new();
    // Memory grows with the bytes received, whatever the length field says.
    if from.take(length as u64).read_to_end(&mut frame)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(frame)
}

fn invalid_data(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.to_owned())
}

/// Decodes the message in a frame.
pub fn decode_message(frame: &[u8]) -> io::Result<WorkerMessage> {
    let mut reader = FrameReader(frame);
    let message = match reader.read_u8()? {
        HELLO => WorkerMessage::Hello { version: reader.read_u32()?, nonce: reader.read_bytes()? },
        IDENTIFY => WorkerMessage::Identify { host: reader.read_text()?, process: reader.read_u64()? },
        READY => WorkerMessage::Ready { seconds: f64::from_bits(reader.read_u64()?) },
        DONE => WorkerMessage::Done { task: reader.read_u64()?, nanoseconds: reader.read_u64()?, result: reader.read_value(0)? },
        FAILED => WorkerMessage::Failed { task: reader.read_u64()?, reason: reader.read_text()? },
        HEARTBEAT => WorkerMessage::Heartbeat,
        _ => return Err(invalid_data("a message of unknown kind")),
    };
    if reader.0.is_empty() { Ok(message) } else { Err(invalid_data("a message with trailing bytes")) }
}

/// Reads the fields of a frame.
struct FrameReader<'a>(&'a [u8]);

impl<'a> FrameReader<'a> {
    fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| invalid_data("a truncated message"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn read_bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("N bytes were taken"))
    }

    fn read_u8(&mut self) -> io::Result<u8> {
        Ok(self.read_bytes::<1>()?[0])
    }

    fn read_u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_be_bytes(self.read_bytes()?))
    }

    fn read_u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_be_bytes(self.read_bytes()?))
    }

    fn read_text(&mut self) -> io::Result<String> {
        let length = self.read_u32()? as usize;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn read_value(&mut self, depth: usize) -> io::Result<TaskValue> {
        Ok(match self.read_u8()? {
            0 => TaskValue::Void,
            1 => TaskValue::Int(i32::from_be_bytes(self.read_bytes()?)),
            2 => TaskValue::Long(i64::from_be_bytes(self.read_bytes()?)),
            3 => TaskValue::Double(f64::from_be_bytes(self.read_bytes()?)),
            5 => TaskValue::Ints(self.read_array(i32::from_be_bytes)?),
            6 => TaskValue::Longs(self.read_array(i64::from_be_bytes)?),
            7 => TaskValue::Doubles(self.read_array(f64::from_be_bytes)?),
            8 if depth < MAX_ARRAY_DEPTH => {
                let count = self.read_u32()?;
                let mut values = Vec::new();
                for _ in 0..count {
                    // Each array takes some bytes, so decoding takes little more memory than the frame.
                    if self.0.first().is_none_or(|kind| *kind < 5) {
                        return Err(invalid_data("an array of arrays with another element"));
                    }
                    values.push(self.read_value(depth + 1)?);
                }
                TaskValue::List(values)
            }
            _ => return Err(invalid_data("a value of unknown kind")),
        })
    }

    fn read_array<T, const N: usize>(&mut self, decode: fn([u8; N]) -> T) -> io::Result<Vec<T>> {
        let count = self.read_u32()? as usize;
        let bytes = self.take(count.saturating_mul(N))?;
        Ok(bytes.chunks_exact(N).map(|one| decode(one.try_into().expect("chunks have N bytes"))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn worker_mac(token: &str) -> MessageMac {
        session_mac(token, ProtocolRole::Worker, &[1; 16], &[2; 16])
    }

    /// A frame as a worker would send it.
    fn done(result: &TaskValue) -> Vec<u8> {
        let mut out = FrameWriter::new(DONE);
        out.put_bytes(&7u64.to_be_bytes());
        out.put_bytes(&9u64.to_be_bytes());
        out.put_value(result);
        let mut sent = Vec::new();
        send(&mut sent, &mut worker_mac("secret"), out.into_bytes()).unwrap();
        sent
    }

    fn received(bytes: &[u8], longest: usize) -> io::Result<WorkerMessage> {
        receive(&mut &*bytes, &mut worker_mac("secret"), longest)
    }

    #[test]
    fn results_arrive_as_they_were_sent() {
        let nested = TaskValue::List(vec![TaskValue::Longs(vec![1, -2]), TaskValue::Longs(vec![])]);
        for result in [
            TaskValue::Void,
            TaskValue::Int(-1),
            TaskValue::Long(1 << 40),
            TaskValue::Double(0.1),
            TaskValue::Doubles(vec![1.5, f64::NAN]),
            nested,
        ] {
            assert_eq!(received(&done(&result), MAX_FRAME).unwrap(), WorkerMessage::Done { task: 7, nanoseconds: 9, result });
        }
    }

    #[test]
    fn a_wrong_mac_is_refused() {
        let good = done(&TaskValue::Long(1));
        assert!(receive(&mut good.as_slice(), &mut worker_mac("guessed"), MAX_FRAME).is_err());
        for at in 4..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1;
            assert!(received(&changed, MAX_FRAME).is_err(), "{at}");
        }
    }

    #[test]
    fn a_message_that_lies_about_its_length_is_refused() {
        let good = done(&TaskValue::Longs(vec![1, 2]));
        for end in 0..good.len() {
            assert!(received(&good[..end], MAX_FRAME).is_err(), "{end}");
        }
        assert!(received(&good, good.len() - 4 - mac::TAG_BYTES).is_ok());
        assert!(received(&good, good.len() - 5 - mac::TAG_BYTES).is_err(), "longer than this one may be");
        assert!(received(&[0xFF; 64], MAX_FRAME).is_err());
        assert!(receive_hello(&mut [0xFF; 64].as_slice()).is_err());
    }

    #[test]
    fn trailing_bytes_and_deep_nesting_are_refused() {
        assert_eq!(decode_message(&[HEARTBEAT]).unwrap(), WorkerMessage::Heartbeat);
        assert!(decode_message(&[HEARTBEAT, 0]).is_err());
        let mut deep = [8u8, 0, 0, 0, 1].repeat(40);
        deep.splice(0..0, [DONE].into_iter().chain([0; 16]));
        assert!(decode_message(&deep).is_err());
    }

    #[test]
    fn oversized_messages_are_not_sent() {
        let length = |bytes: usize| FrameWriter(vec![0; 4 + bytes]).finish().map(|message| message.len());
        assert_eq!((length(MAX_FRAME), length(MAX_FRAME + 1)), (Ok(MAX_FRAME + 4), Err(MessageTooLarge)));
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_message(&bytes);
            let _ = receive_hello(&mut bytes.as_slice());
            prop_assert!(received(&bytes, MAX_FRAME).is_err());
        }
    }
}
