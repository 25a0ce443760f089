//! Works together with the other processes that a launcher started, and checks that everything arrives: `mpirun -n 4 world exchange`.
//!
//! The tests run it under real launchers. Every process prints one line that says how it went.

use std::process::exit;

use sintonia_mpi::{World, WorldError};

fn main() {
    let task = std::env::args().nth(1).unwrap_or_default();
    match World::join() {
        None => println!("alone, MPI {}", if mpi_is_loaded() { "loaded" } else { "not loaded" }),
        Some(Err(error)) => {
            eprintln!("{error}");
            World::give_up(3);
        }
        Some(Ok(world)) => together(world, &task),
    }
}

fn together(world: World, task: &str) {
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
    if let Err(error) = world.leave() {
        eprintln!("{error}");
        exit(5);
    }
}

/// Exchanges the parcels that `parcel` makes for each sender and receiver, and checks them: each side knows what the other must send.
fn exchange(world: &World, parcel: impl Fn(usize, usize) -> Vec<u8>) -> Result<(), WorldError> {
    let received = world.exchange((0..world.size()).map(|to| parcel(world.rank(), to)).collect())?;
    assert_eq!(received.len(), world.size());
    for (from, received) in received.into_iter().enumerate() {
        assert!(received == parcel(from, world.rank()), "what came from rank {from} is not what it sent");
    }
    Ok(())
}

/// A parcel of random length and content; one in four is empty.
fn random_parcel(round: u64, from: usize, to: usize) -> Vec<u8> {
    let mut random = Random::of(round, from, to);
    let length = if random.next().is_multiple_of(4) { 0 } else { random.next() % 100_000 };
    random.bytes(length as usize)
}

/// A parcel for the next process, longer than one message may be; 300 MiB with those of all others, and no two of the same length.
fn large_parcel(from: usize, to: usize, size: usize) -> Vec<u8> {
    const TOTAL: usize = 300 << 20;
    let length = if to == (from + 1) % size { TOTAL * 2 * (from + 1) / (size * (size + 1)) } else { 0 };
    Random::of(0, from, to).bytes(length)
}

/// Everyone sends three letters to everyone, itself included, one process at a time; each sender's come in their order.
fn letters(world: &World) -> Result<(), WorldError> {
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

fn any(world: &World) -> Result<(), WorldError> {
    assert!(!world.any(false)?);
    for one in 0..world.size() {
        assert!(world.any(one == world.rank())?);
    }
    assert!(world.any(true)?);
    Ok(())
}

/// Mistakes come back as errors, and the world goes on.
fn refused(world: &World) -> Result<(), WorldError> {
    assert!(matches!(world.exchange(Vec::new()), Err(WorldError::Parcels { given: 0, .. })));
    assert!(matches!(world.send(world.size(), b"nobody"), Err(WorldError::Call { function: "MPI_Send", .. })));
    assert!(matches!(World::join(), Some(Err(WorldError::JoinedBefore))));
    exchange(world, |from, to| random_parcel(0, from, to))
}

/// The last process fails while the others wait for it.
fn fail_one(world: &World, fail: impl FnOnce()) -> Result<(), WorldError> {
    if world.rank() + 1 == world.size() {
        fail();
    }
    world.receive().map(drop)
}

fn mpi_is_loaded() -> bool {
    let files = std::fs::read_to_string("/proc/self/maps").expect("Linux tells what is loaded");
    files.lines().any(|line| line.rsplit('/').next().is_some_and(|file| file.starts_with("libmpi")))
}

/// Numbers that look random and are the same everywhere (SplitMix64).
struct Random(u64);

impl Random {
    fn of(round: u64, from: usize, to: usize) -> Random {
        Random(round << 32 ^ (from as u64) << 16 ^ to as u64)
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]));
        bytes
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}
