//! What the coordinator and a worker say to each other, version 2.
//!
//! A message is a *frame*: its length as four bytes, then so many bytes, of which the first is its kind, and then its [seal](sintonia_link::seal), 16 bytes. Only
//! the first message of each end has no seal, as it says what seals are made of. All numbers are big-endian. A text or a file is its length as
//! four bytes, and then its bytes; texts are UTF-8.
//!
//! | kind | from | what follows |
//! |---|---|---|
//! | 1 hello | worker | version (4 bytes), a random number (16 bytes); no seal |
//! | 2 welcome | coordinator | a random number (16 bytes); no seal |
//! | 3 here | worker | its host (text), its process (8 bytes) |
//! | 4 classes | coordinator | how many (4 bytes), each with its name (text) and its code (file) |
//! | 5 ready | worker | how long its benchmark took, in seconds (8 bytes) |
//! | 6 run | coordinator | the number of the task (8 bytes), `Class.method` (text), how many arguments (1 byte), the arguments (values) |
//! | 7 done | worker | the number of the task (8 bytes), how long it took in nanoseconds (8 bytes), the result (value) |
//! | 8 failed | worker | the number of the task (8 bytes), why (text) |
//! | 9 pulse | both | nothing; to show that it lives: twice a second from a thread of its own the worker, once a second the coordinator |
//!
//! A value is a kind and what it holds: 0 nothing, 1 int (4 bytes), 2 long (8), 3 double (8), 4 a number (the whole number below it, 8, and
//! the nearest double, 8), 5 int[], 6 long[], 7 double[] (how many, 4, and so many of them), 8 an array of arrays (how many, 4, and so many values).
//!
//! Who says something without the right seal does not hold the run's token, and is not listened to any more, at either end. The coordinator ends a worker
//! by closing the connection. Neither end believes a length: before the first seal no frame is longer than 1 KiB, then none is longer than 256 MiB,
//! nothing is longer than the frame that it is in, and arrays are not nested deeper than eight.

use std::io::{self, Read, Write};

use crate::Value;
use sintonia_link::seal::{self, Seal};

/// The version that is spoken.
pub const VERSION: u32 = 2;
/// No frame is longer.
pub const LONGEST: usize = 1 << 28;
/// No frame of one who has not shown yet that it holds the token is longer.
pub const LONGEST_OF_STRANGERS: usize = 1 << 10;
/// Arrays are not nested deeper.
const DEEPEST: usize = 8;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const HERE: u8 = 3;
const CLASSES: u8 = 4;
const READY: u8 = 5;
const RUN: u8 = 6;
const DONE: u8 = 7;
const FAILED: u8 = 8;
const PULSE: u8 = 9;

/// A class, ready to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// What is in its file.
    pub code: Vec<u8>,
}

/// What a worker says.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// That it has come.
    Hello {
        /// The version that it speaks.
        version: u32,
        /// The random number that it begins with.
        nonce: Nonce,
    },
    /// Who it is.
    Here {
        /// Where it runs.
        host: String,
        /// Its process.
        process: u64,
    },
    /// It has the classes.
    Ready {
        /// How long its benchmark took.
        seconds: f64,
    },
    /// A task is done.
    Done {
        /// Its number.
        task: u64,
        /// How long it took.
        nanoseconds: u64,
        /// What came out.
        result: Value,
    },
    /// A task cannot be done.
    Failed {
        /// Its number.
        task: u64,
        /// Why.
        reason: String,
    },
    /// It lives.
    Pulse,
}

/// What is to be sent is larger than any message may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("larger than the 256 MiB that a message may have")]
pub struct TooLarge;

/// The message that answers a hello.
pub fn welcome(nonce: &Nonce) -> Vec<u8> {
    let mut out = Frame::new(WELCOME);
    out.bytes(nonce);
    out.measured()
}

/// The message that says nothing but that the coordinator lives.
pub fn pulse() -> Vec<u8> {
    Frame::new(PULSE).measured()
}

/// The message with the classes of an application.
pub fn classes(classes: &[Class]) -> Result<Vec<u8>, TooLarge> {
    let mut out = Frame::new(CLASSES);
    out.count(classes.len());
    for class in classes {
        out.text(class.name.as_bytes());
        out.text(&class.code);
    }
    out.done()
}

/// The message that gives a task.
pub fn run<'a>(task: u64, method: &str, arguments: impl ExactSizeIterator<Item = &'a Value>) -> Result<Vec<u8>, TooLarge> {
    let mut out = Frame::new(RUN);
    out.bytes(&task.to_be_bytes());
    out.text(method.as_bytes());
    // A method of Java has no more than 255 parameters.
    out.bytes(&[arguments.len().min(255) as u8]);
    arguments.take(255).for_each(|argument| out.value(argument));
    out.done()
}

/// A message being written; its length is put in front when all is there.
struct Frame(Vec<u8>);

impl Frame {
    fn new(kind: u8) -> Frame {
        Frame(vec![0, 0, 0, 0, kind])
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn count(&mut self, count: usize) {
        self.bytes(&(count as u32).to_be_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.count(text.len());
        self.bytes(text);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Nothing => self.bytes(&[0]),
            Value::Int(one) => self.kind(1, &one.to_be_bytes()),
            Value::Long(one) => self.kind(2, &one.to_be_bytes()),
            Value::Double(one) => self.kind(3, &one.to_be_bytes()),
            Value::Number(whole, one) => {
                self.kind(4, &whole.to_be_bytes());
                self.bytes(&one.to_be_bytes());
            }
            Value::Ints(all) => self.array(5, all, |out, one| out.bytes(&one.to_be_bytes())),
            Value::Longs(all) => self.array(6, all, |out, one| out.bytes(&one.to_be_bytes())),
            Value::Doubles(all) => self.array(7, all, |out, one| out.bytes(&one.to_be_bytes())),
            Value::List(all) => self.array(8, all, |out, one| out.value(one)),
        }
    }

    fn kind(&mut self, kind: u8, bytes: &[u8]) {
        self.bytes(&[kind]);
        self.bytes(bytes);
    }

    fn array<T>(&mut self, kind: u8, all: &[T], each: impl Fn(&mut Frame, &T)) {
        self.bytes(&[kind]);
        self.count(all.len());
        all.iter().for_each(|one| each(self, one));
    }

    fn done(self) -> Result<Vec<u8>, TooLarge> {
        if self.0.len() - 4 <= LONGEST { Ok(self.measured()) } else { Err(TooLarge) }
    }

    /// With its length in front.
    fn measured(mut self) -> Vec<u8> {
        let length = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}

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

/// The seals of what that side says, as `SintoniaWorker.java` makes and checks them.
pub fn seal(token: &str, side: Side, worker: &Nonce, coordinator: &Nonce) -> Seal {
    let name: &[u8] = match side {
        Side::Coordinator => b"coordinator",
        Side::Worker => b"worker",
    };
    Seal::new(token.as_bytes(), &[worker, coordinator, name])
}

/// Sends a message with its seal.
pub fn send(to: &mut impl Write, seal: &mut Seal, mut message: Vec<u8>) -> io::Result<()> {
    let made = seal.of(&message[4..]);
    message.extend_from_slice(&made);
    to.write_all(&message)?;
    to.flush()
}

/// The first word of whoever has connected; it has no seal.
pub fn receive_first(from: &mut impl Read) -> io::Result<Word> {
    word(&frame(from, LONGEST_OF_STRANGERS)?)
}

/// The next word of a worker, if it has the right seal and is no longer than told.
pub fn receive(from: &mut impl Read, seal: &mut Seal, longest: usize) -> io::Result<Word> {
    let frame = frame(from, longest)?;
    let mut shown = [0; seal::LENGTH];
    from.read_exact(&mut shown)?;
    if seal.fits(&frame, &shown) { word(&frame) } else { Err(bad("a message that has not the seal of this run")) }
}

fn frame(from: &mut impl Read, longest: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > longest {
        return Err(bad("a message longer than any may be"));
    }
    let mut frame = Vec::new();
    // Memory grows with what really comes, whatever the length says.
    if from.take(length as u64).read_to_end(&mut frame)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(frame)
}

fn bad(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.to_owned())
}

/// The word that a frame holds.
pub fn word(frame: &[u8]) -> io::Result<Word> {
    let mut left = Left(frame);
    let word = match left.byte()? {
        HELLO => Word::Hello { version: left.whole()?, nonce: left.fixed()? },
        HERE => Word::Here { host: left.text()?, process: left.long()? },
        READY => Word::Ready { seconds: f64::from_bits(left.long()?) },
        DONE => Word::Done { task: left.long()?, nanoseconds: left.long()?, result: left.value(0)? },
        FAILED => Word::Failed { task: left.long()?, reason: left.text()? },
        PULSE => Word::Pulse,
        _ => return Err(bad("a message of a kind that is not known")),
    };
    if left.0.is_empty() { Ok(word) } else { Err(bad("a message with more behind its end")) }
}

/// What is left of a frame.
struct Left<'a>(&'a [u8]);

impl<'a> Left<'a> {
    fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(count).ok_or_else(|| bad("a message that ends too early"))?;
        self.0 = left;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("so many were taken"))
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.fixed::<1>()?[0])
    }

    fn whole(&mut self) -> io::Result<u32> {
        Ok(u32::from_be_bytes(self.fixed()?))
    }

    fn long(&mut self) -> io::Result<u64> {
        Ok(u64::from_be_bytes(self.fixed()?))
    }

    fn text(&mut self) -> io::Result<String> {
        let length = self.whole()? as usize;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn value(&mut self, depth: usize) -> io::Result<Value> {
        Ok(match self.byte()? {
            0 => Value::Nothing,
            1 => Value::Int(i32::from_be_bytes(self.fixed()?)),
            2 => Value::Long(i64::from_be_bytes(self.fixed()?)),
            3 => Value::Double(f64::from_be_bytes(self.fixed()?)),
            5 => Value::Ints(self.array(i32::from_be_bytes)?),
            6 => Value::Longs(self.array(i64::from_be_bytes)?),
            7 => Value::Doubles(self.array(f64::from_be_bytes)?),
            8 if depth < DEEPEST => {
                let count = self.whole()?;
                let mut values = Vec::new();
                for _ in 0..count {
                    // Arrays take some bytes each, so what is read takes little more memory than what came.
                    if self.0.first().is_none_or(|kind| *kind < 5) {
                        return Err(bad("an array of arrays that holds something else"));
                    }
                    values.push(self.value(depth + 1)?);
                }
                Value::List(values)
            }
            _ => return Err(bad("a value of a kind that is not known")),
        })
    }

    fn array<T, const N: usize>(&mut self, of: fn([u8; N]) -> T) -> io::Result<Vec<T>> {
        let count = self.whole()? as usize;
        let bytes = self.take(count.saturating_mul(N))?;
        Ok(bytes.chunks_exact(N).map(|one| of(one.try_into().expect("chunks are of that size"))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn worker_seal(token: &str) -> Seal {
        seal(token, Side::Worker, &[1; 16], &[2; 16])
    }

    /// What a worker would send.
    fn done(result: &Value) -> Vec<u8> {
        let mut out = Frame::new(DONE);
        out.bytes(&7u64.to_be_bytes());
        out.bytes(&9u64.to_be_bytes());
        out.value(result);
        let mut sent = Vec::new();
        send(&mut sent, &mut worker_seal("secret"), out.measured()).unwrap();
        sent
    }

    fn received(bytes: &[u8], longest: usize) -> io::Result<Word> {
        receive(&mut &*bytes, &mut worker_seal("secret"), longest)
    }

    #[test]
    fn results_arrive_as_they_were_sent() {
        let nested = Value::List(vec![Value::Longs(vec![1, -2]), Value::Longs(vec![])]);
        for result in
            [Value::Nothing, Value::Int(-1), Value::Long(1 << 40), Value::Double(0.1), Value::Doubles(vec![1.5, f64::NAN]), nested]
        {
            assert_eq!(received(&done(&result), LONGEST).unwrap(), Word::Done { task: 7, nanoseconds: 9, result });
        }
    }

    #[test]
    fn what_has_not_the_seal_of_the_run_is_refused() {
        let good = done(&Value::Long(1));
        assert!(receive(&mut good.as_slice(), &mut worker_seal("guessed"), LONGEST).is_err());
        for at in 4..good.len() {
            let mut changed = good.clone();
            changed[at] ^= 1;
            assert!(received(&changed, LONGEST).is_err(), "{at}");
        }
    }

    #[test]
    fn a_message_that_lies_about_its_length_is_refused() {
        let good = done(&Value::Longs(vec![1, 2]));
        for end in 0..good.len() {
            assert!(received(&good[..end], LONGEST).is_err(), "{end}");
        }
        assert!(received(&good, good.len() - 4 - seal::LENGTH).is_ok());
        assert!(received(&good, good.len() - 5 - seal::LENGTH).is_err(), "longer than this one may be");
        assert!(received(&[0xFF; 64], LONGEST).is_err());
        assert!(receive_first(&mut [0xFF; 64].as_slice()).is_err());
    }

    #[test]
    fn a_word_with_more_behind_it_or_too_deep_inside_is_refused() {
        assert_eq!(word(&[PULSE]).unwrap(), Word::Pulse);
        assert!(word(&[PULSE, 0]).is_err());
        let mut deep = [8u8, 0, 0, 0, 1].repeat(40);
        deep.splice(0..0, [DONE].into_iter().chain([0; 16]));
        assert!(word(&deep).is_err());
    }

    #[test]
    fn what_is_too_large_is_not_sent() {
        let of = |bytes: usize| Frame(vec![0; 4 + bytes]).done().map(|message| message.len());
        assert_eq!((of(LONGEST), of(LONGEST + 1)), (Ok(LONGEST + 4), Err(TooLarge)));
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_word_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = word(&bytes);
            let _ = receive_first(&mut bytes.as_slice());
            prop_assert!(received(&bytes, LONGEST).is_err());
        }
    }
}
