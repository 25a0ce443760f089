//! A simulated process of a program: it comes to the door as a real one does, hands over memory with a ring, writes events into it as
//! quickly as it is told to, and obeys orders. No hook and no MPI is in it, so that what is measured is the way behind them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use sintonia_link::host_name;
use sintonia_link::order::{Act, Command, Order, Outcome, Word};
use sintonia_link::ring::{CHUNK_BYTES, CHUNK_RECORDS, Counters, HEAD_BYTES, Moment, OF_MPI, RECORD_BYTES, tag};
use sintonia_link::session::{Secret, Sender, Side, begin};
use sintonia_mpi::Operation;
use sintonia_tune::station::now_ns;

/// Chunks of the ring: as many as a real process has.
const CHUNKS: u64 = 64;
/// The tag of messages that are answered by a change.
pub const ASKS: i64 = 77;

/// What a leaf has done.
#[derive(Default)]
pub struct Done {
    /// Events written.
    pub written: AtomicU64,
    /// Events for which there was no room.
    pub dropped: AtomicU64,
    /// Seconds between an event that asked for a change and the change.
    pub delays: Mutex<Vec<f64>>,
}

/// How a leaf behaves.
#[derive(Clone, Copy)]
pub struct Manner {
    /// Its rank.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
    /// Events in a second.
    pub rate: f64,
    /// Whether it asks for a change now and then.
    pub asks: bool,
}

/// The life of a leaf, until told to end.
pub fn live(folder: &Path, secret: &Secret, manner: Manner, over: &AtomicBool, done: &Arc<Done>) -> io::Result<()> {
    let stream = UnixStream::connect(folder.join(host_name()))?;
    let broken = |problem: sintonia_link::session::SessionError| io::Error::other(problem.to_string());
    let (mut receiver, mut sender) = begin(stream.try_clone()?, stream.try_clone()?, secret, Side::Client).map_err(broken)?;
    let memory = File::from(rustix::fs::memfd_create("ring", rustix::fs::MemfdFlags::CLOEXEC)?);
    let bytes = HEAD_BYTES as u64 + CHUNKS * CHUNK_BYTES as u64;
    memory.set_len(bytes)?;
    memory.write_all_at(&1u64.to_ne_bytes(), 8 * Counters::THREAD as u64)?;
    hand_over(&stream, &memory)?;
    let clock = || (now_ns() as u64, now_ns() as u64);
    let place = Some((manner.rank, manner.size));
    // All say that they are the same process, as two in containers of their own may: that is not what they are known by.
    say(&mut sender, &Word::Here { process: 1_000_000, ring_bytes: bytes, ring_chunks: CHUNKS, clock: clock(), place })?;
    let sender = Arc::new(Mutex::new(sender));
    let (go, may_go) = mpsc::channel();
    let asked_at = Arc::new(Mutex::new(None::<Instant>));
    let (speaks, waits, counts) = (sender.clone(), asked_at.clone(), done.clone());
    std::thread::spawn(move || {
        while let Ok(message) = receiver.receive() {
            let Ok(Command { number, order }) = postcard::from_bytes(&message) else { return };
            let mut speaks = speaks.lock().expect("not poisoned");
            match &order {
                Order::Begin => drop(say(&mut speaks, &Word::Rank { rank: manner.rank, size: manner.size, clock: clock() })),
                Order::GoOn => drop(go.send(())),
                Order::Do(Act::Environment { .. }) => {
                    if let Some(asked) = waits.lock().expect("not poisoned").take() {
                        counts.delays.lock().expect("not poisoned").push(asked.elapsed().as_secs_f64());
                    }
                }
                _ => {}
            }
            if say(&mut speaks, &Word::Answer { number, outcome: Outcome::Done(0) }).is_err() {
                return;
            }
        }
    });
    let _ = may_go.recv_timeout(Duration::from_secs(20));
    write(&memory, manner, over, done, &asked_at)?;
    say(&mut sender.lock().expect("not poisoned"), &Word::Leaving)?;
    stream.shutdown(std::net::Shutdown::Both)
}

/// Writes events, a chunk at a time, at the rate that was asked for.
fn write(memory: &File, manner: Manner, over: &AtomicBool, done: &Done, asked_at: &Mutex<Option<Instant>>) -> io::Result<()> {
    let operation = Operation::named("MPI_Send").expect("known");
    let begin = Instant::now();
    let (mut begun, mut due, mut dropped) = (0u64, 0u64, 0u64);
    while !over.load(Ordering::Relaxed) {
        let wanted = (begin.elapsed().as_secs_f64() * manner.rate) as u64;
        if due + CHUNK_RECORDS as u64 > wanted {
            std::thread::sleep(Duration::from_micros(200));
            continue;
        }
        due += CHUNK_RECORDS as u64;
        let mut word = [0; 8];
        memory.read_exact_at(&mut word, 8 * Counters::LEFT as u64)?;
        if begun - u64::from_ne_bytes(word) >= CHUNKS {
            dropped += CHUNK_RECORDS as u64;
            done.dropped.fetch_add(CHUNK_RECORDS as u64, Ordering::Relaxed);
            memory.write_all_at(&dropped.to_ne_bytes(), 8 * Counters::DROPPED as u64)?;
            continue;
        }
        let asks = manner.asks && asked_at.lock().expect("not poisoned").is_none();
        let chunk = chunk((begun / CHUNKS) as u32 + 1, OF_MPI | u32::from(operation.0), asks);
        memory.write_all_at(&chunk, HEAD_BYTES as u64 + begun % CHUNKS * CHUNK_BYTES as u64)?;
        if asks {
            *asked_at.lock().expect("not poisoned") = Some(Instant::now());
        }
        begun += 1;
        memory.write_all_at(&begun.to_ne_bytes(), 8 * Counters::BEGUN as u64)?;
        done.written.fetch_add(CHUNK_RECORDS as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// A full chunk of returns from a function of MPI that took a microsecond; the last may ask for a change.
fn chunk(lap: u32, hook: u32, asks: bool) -> Vec<u8> {
    let mut bytes = vec![0; CHUNK_BYTES];
    let now = now_ns() as u64;
    for place in 0..CHUNK_RECORDS {
        let tag_of_message = if asks && place + 1 == CHUNK_RECORDS { ASKS } else { 1 };
        let words = [tag(hook, Moment::Exit) | u64::from(lap) << 32, now, 0, 100, 1, tag_of_message as u64, 0, 0, now - 1000];
        let at = (place + 1) * RECORD_BYTES;
        for (number, word) in words.into_iter().enumerate() {
            bytes[at + 8 * number..at + 8 * number + 8].copy_from_slice(&word.to_ne_bytes());
        }
    }
    bytes
}

fn hand_over(stream: &UnixStream, file: &File) -> io::Result<()> {
    let mut room = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = rustix::net::SendAncillaryBuffer::new(&mut room);
    let files = [file.as_fd()];
    assert!(with.push(rustix::net::SendAncillaryMessage::ScmRights(&files)));
    rustix::net::sendmsg(stream, &[io::IoSlice::new(&[1])], &mut with, rustix::net::SendFlags::NOSIGNAL)?;
    Ok(())
}

fn say(sender: &mut Sender<UnixStream>, word: &Word) -> io::Result<()> {
    let message = postcard::to_allocvec(word).map_err(io::Error::other)?;
    sender.send(&message).map_err(|problem| io::Error::other(problem.to_string()))
}
