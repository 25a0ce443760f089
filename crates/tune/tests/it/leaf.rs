//! A simulated process: connects as a real one does, hands over memory with a ring, writes events at a given rate, and executes commands. It has
//! neither hooks nor MPI, so that only the path behind them is measured.

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
use sintonia_link::probe_protocol::{CommandEnvelope, CommandOutcome, ProbeAction, ProbeCommand, ProbeMessage};
use sintonia_link::ring::{CHUNK_BYTES, CHUNK_RECORDS, HEADER_BYTES, HookPoint, MPI_FUNCTION, RECORD_BYTES, RingCounters, tag};
use sintonia_link::session::{SessionSender, SessionSide, SharedSecret, handshake};
use sintonia_mpi::FunctionId;
use sintonia_tune::host_agent::now_ns;

/// Chunks of the ring, as in a real process.
const CHUNKS: u64 = 64;
/// Tag of messages that request a change.
pub(crate) const ASKS: i64 = 77;

/// Statistics of simulated processes.
#[derive(Default)]
pub(crate) struct Done {
    /// Events written.
    pub written: AtomicU64,
    /// Events dropped because the ring was full.
    pub dropped: AtomicU64,
    /// Seconds between an event that requested a change and the change.
    pub delays: Mutex<Vec<f64>>,
}

/// Behaviour of a simulated process.
#[derive(Clone, Copy)]
pub(crate) struct ProcessBehaviour {
    /// Its rank.
    pub rank: u32,
    /// Size of the program.
    pub size: u32,
    /// Events per second.
    pub rate: f64,
    /// Whether it requests changes.
    pub asks: bool,
}

/// Runs a simulated process until `over`.
pub(crate) fn live(
    folder: &Path,
    secret: &SharedSecret,
    behaviour: ProcessBehaviour,
    over: &AtomicBool,
    done: &Arc<Done>,
) -> io::Result<()> {
    let stream = UnixStream::connect(folder.join(host_name()))?;
    let broken = |problem: sintonia_link::session::SessionError| io::Error::other(problem.to_string());
    let (mut receiver, mut sender) = handshake(stream.try_clone()?, stream.try_clone()?, secret, SessionSide::Client).map_err(broken)?;
    let memory = File::from(rustix::fs::memfd_create("ring", rustix::fs::MemfdFlags::CLOEXEC)?);
    let bytes = HEADER_BYTES as u64 + CHUNKS * CHUNK_BYTES as u64;
    memory.set_len(bytes)?;
    memory.write_all_at(&1u64.to_ne_bytes(), 8 * RingCounters::THREAD as u64)?;
    hand_over(&stream, &memory)?;
    let clock = || (now_ns() as u64, now_ns() as u64);
    let rank_and_size = Some((behaviour.rank, behaviour.size));
    // All report the same PID, as processes in different containers may: the ID must not depend on it.
    say(&mut sender, &ProbeMessage::Hello { process: 1_000_000, ring_bytes: bytes, ring_chunks: CHUNKS, clock: clock(), rank_and_size })?;
    let sender = Arc::new(Mutex::new(sender));
    let (go, may_go) = mpsc::channel();
    let asked_at = Arc::new(Mutex::new(None::<Instant>));
    let (speaks, waits, counts) = (sender.clone(), asked_at.clone(), done.clone());
    std::thread::spawn(move || {
        while let Ok(message) = receiver.receive() {
            let Ok(CommandEnvelope { number, command }) = postcard::from_bytes(&message) else { return };
            let mut speaks = speaks.lock().expect("not poisoned");
            match &command {
                ProbeCommand::Begin => {
                    drop(say(&mut speaks, &ProbeMessage::Rank { rank: behaviour.rank, size: behaviour.size, clock: clock() }))
                }
                ProbeCommand::Resume => drop(go.send(())),
                ProbeCommand::Execute(ProbeAction::Environment { .. }) => {
                    if let Some(asked) = waits.lock().expect("not poisoned").take() {
                        counts.delays.lock().expect("not poisoned").push(asked.elapsed().as_secs_f64());
                    }
                }
                _ => {}
            }
            if say(&mut speaks, &ProbeMessage::Answer { number, outcome: CommandOutcome::Done(0) }).is_err() {
                return;
            }
        }
    });
    let _ = may_go.recv_timeout(Duration::from_secs(20));
    write(&memory, behaviour, over, done, &asked_at)?;
    say(&mut sender.lock().expect("not poisoned"), &ProbeMessage::Finalizing)?;
    stream.shutdown(std::net::Shutdown::Both)
}

/// Writes events chunk by chunk, at the given rate.
fn write(memory: &File, behaviour: ProcessBehaviour, over: &AtomicBool, done: &Done, asked_at: &Mutex<Option<Instant>>) -> io::Result<()> {
    let operation = FunctionId::from_name("MPI_Send").expect("known");
    let begin = Instant::now();
    let (mut begun, mut due, mut dropped) = (0u64, 0u64, 0u64);
    while !over.load(Ordering::Relaxed) {
        let wanted = (begin.elapsed().as_secs_f64() * behaviour.rate) as u64;
        if due + CHUNK_RECORDS as u64 > wanted {
            std::thread::sleep(Duration::from_micros(200));
            continue;
        }
        due += CHUNK_RECORDS as u64;
        let mut word = [0; 8];
        memory.read_exact_at(&mut word, 8 * RingCounters::CONSUMED_CHUNKS as u64)?;
        if begun - u64::from_ne_bytes(word) >= CHUNKS {
            dropped += CHUNK_RECORDS as u64;
            done.dropped.fetch_add(CHUNK_RECORDS as u64, Ordering::Relaxed);
            memory.write_all_at(&dropped.to_ne_bytes(), 8 * RingCounters::DROPPED_RECORDS as u64)?;
            continue;
        }
        let asks = behaviour.asks && asked_at.lock().expect("not poisoned").is_none();
        let chunk = chunk((begun / CHUNKS) as u32 + 1, MPI_FUNCTION | u32::from(operation.0), asks);
        memory.write_all_at(&chunk, HEADER_BYTES as u64 + begun % CHUNKS * CHUNK_BYTES as u64)?;
        if asks {
            *asked_at.lock().expect("not poisoned") = Some(Instant::now());
        }
        begun += 1;
        memory.write_all_at(&begun.to_ne_bytes(), 8 * RingCounters::STARTED_CHUNKS as u64)?;
        done.written.fetch_add(CHUNK_RECORDS as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// A full chunk of exits of an MPI function that took a microsecond; the last may request a change.
fn chunk(lap: u32, hook: u32, asks: bool) -> Vec<u8> {
    let mut bytes = vec![0; CHUNK_BYTES];
    let now = now_ns() as u64;
    for index in 0..CHUNK_RECORDS {
        let tag_of_message = if asks && index + 1 == CHUNK_RECORDS { ASKS } else { 1 };
        let words = [tag(hook, HookPoint::Exit) | u64::from(lap) << 32, now, 0, 100, 1, tag_of_message as u64, 0, 0, now - 1000];
        let at = (index + 1) * RECORD_BYTES;
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

fn say(sender: &mut SessionSender<UnixStream>, word: &ProbeMessage) -> io::Result<()> {
    let message = postcard::to_allocvec(word).map_err(io::Error::other)?;
    sender.send(&message).map_err(|problem| io::Error::other(problem.to_string()))
}
