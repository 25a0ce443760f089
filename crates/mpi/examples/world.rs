//! Communicates with the other processes that a launcher started, and checks that everything arrives: `mpirun -n 4 world exchange`.
//!
//! The tests run it under real launchers. Every process prints one line with the result.

use std::process::exit;

use sintonia_mpi::{CommWorld, WorldError};

fn main() {
    let task = std::env::args().nth(1).unwrap_or_default();
    match CommWorld::init() {
        None => println!("alone, MPI {}", if mpi_is_loaded() { "loaded" } else { "not loaded" }),
        Some(Err(error)) => {
            eprintln!("{error}");
            CommWorld::abort_without_mpi(3);
        }
        Some(Ok(world)) => together(world, &task),
    }
}

fn together(world: CommWorld, task: &str) {
    let done = match task {
        "join" => Ok(()),
        "exchange" => (0..20).try_for_each(|round| exchange(&world, |from, to| random_parcel(round, from, to))),
        "large" => exchange(&world, |from, to| large_parcel(from, to, world.size())),
        "letters" => letters(&world),
        "any" => any(&world),
        "refused" => refused(&world),
        "abort" => fail_one(&world, || world.abort(7)),
        "panic" => fail_one(&world, || panic!("as asked")),
        _ => panic!("{task:?} is nothing to do"),
    };
    if let Err(error) = done {
        eprintln!("rank {}: {error}", world.rank());
        world.abort(4);
    }
    println!("rank {} of {} did {task} with {}", world.rank(), world.size(), world.library());
    if let Err(error) = world.finalize() {
        eprintln!("{error}");
        exit(5);
    }
}

/// Exchanges the buffers that `parcel` generates for each sender and receiver, and checks them: each side knows what the other must send.
fn exchange(world: &CommWorld, parcel: impl Fn(usize, usize) -> Vec<u8>) -> Result<(), WorldError> {
    let received = world.all_to_all((0..world.size()).map(|to| parcel(world.rank(), to)).collect())?;
    assert_eq!(received.len(), world.size());
    for (from, received) in received.into_iter().enumerate() {
        assert!(received == parcel(from, world.rank()), "what came from rank {from} is not what it sent");
    }
    Ok(())
}

/// A buffer of random length and contents; one in four is empty.
fn random_parcel(round: u64, from: usize, to: usize) -> Vec<u8> {
    let mut random = generator(round, from, to);
    let length = if random.u8(..4) == 0 { 0 } else { random.usize(..100_000) };
    random_bytes(&mut random, length)
}

/// A buffer for the next process, longer than one message; 300 MiB together with all others, and no two of the same length.
fn large_parcel(from: usize, to: usize, size: usize) -> Vec<u8> {
    const TOTAL: usize = 300 << 20;
    let length = if to == (from + 1) % size { TOTAL * 2 * (from + 1) / (size * (size + 1)) } else { 0 };
    random_bytes(&mut generator(0, from, to), length)
}

/// Every process sends three messages to every process including itself, one process at a time; those of one sender arrive in order.
fn letters(world: &CommWorld) -> Result<(), WorldError> {
    const LENGTHS: [usize; 3] = [0, 5, 70 << 20];
    let mut next = vec![0; world.size()];
    for sender in 0..world.size() {
        if sender == world.rank() {
            for length in LENGTHS {
                (0..world.size()).try_for_each(|to| world.send(to, &vec![sender as u8; length]))?;
            }
        }
        for _ in LENGTHS {
            let (from, letter) = world.receive()?;
            assert_eq!(letter, vec![from as u8; LENGTHS[next[from]]]);
            next[from] += 1;
        }
    }
    assert!(next.iter().all(|count| *count == LENGTHS.len()));
    Ok(())
}

fn any(world: &CommWorld) -> Result<(), WorldError> {
    assert!(!world.any(false)?);
    for one in 0..world.size() {
        assert!(world.any(one == world.rank())?);
    }
    assert!(world.any(true)?);
    Ok(())
}

/// Invalid calls return errors, and communication still works.
fn refused(world: &CommWorld) -> Result<(), WorldError> {
    assert!(matches!(world.all_to_all(Vec::new()), Err(WorldError::BufferCount { given: 0, .. })));
    assert!(matches!(world.send(world.size(), b"nobody"), Err(WorldError::Call { function: "MPI_Send", .. })));
    assert!(matches!(CommWorld::init(), Some(Err(WorldError::AlreadyInitialized))));
    exchange(world, |from, to| random_parcel(0, from, to))
}

/// The last process fails while the others wait for it.
fn fail_one(world: &CommWorld, fail: impl FnOnce()) -> Result<(), WorldError> {
    if world.rank() + 1 == world.size() {
        fail();
    }
    world.receive().map(drop)
}

fn mpi_is_loaded() -> bool {
    let files = std::fs::read_to_string("/proc/self/maps").expect("Linux tells what is loaded");
    files.lines().any(|line| line.rsplit('/').next().is_some_and(|file| file.starts_with("libmpi")))
}

/// A generator that both ends of a message start alike.
fn generator(round: u64, from: usize, to: usize) -> fastrand::Rng {
    fastrand::Rng::with_seed(round << 32 ^ (from as u64) << 16 ^ to as u64)
}

fn random_bytes(random: &mut fastrand::Rng, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    random.fill(&mut bytes);
    bytes
}
