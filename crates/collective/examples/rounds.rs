//! Cost of generating the rounds of a collective, per message end: `cargo run --release --example rounds [MEMBERS]`.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use sintonia_collective::{CollectiveAlgorithm, CollectiveRound, Participant, fill_round, op_names};
use sintonia_mpi::CollectiveOp;

fn main() -> Result<(), Box<dyn Error>> {
    let size = std::env::args().nth(1).map_or(Ok(1024), |text| text.parse())?;
    println!("{:<22}{:<22}{:>12}{:>12}{:>10}{:>10}", "operation", "algorithm", "rounds", "parts", "ns/round", "ns/part");
    for pattern in op_names::selectable_ops() {
        for algorithm in CollectiveAlgorithm::variants().filter(|algorithm| algorithm.supports(pattern)) {
            let (rounds, parts, seconds) = measured(algorithm, pattern, size);
            let (each, per_part) = (seconds * 1e9 / rounds as f64, seconds * 1e9 / parts as f64);
            println!("{:<22}{:<22}{rounds:>12}{parts:>12}{each:>10.1}{per_part:>10.1}", op_names::name(pattern), algorithm.to_string());
        }
    }
    Ok(())
}

/// Rounds, messages and seconds for enough members to get a stable measurement.
fn measured(algorithm: CollectiveAlgorithm, pattern: CollectiveOp, size: u32) -> (u64, u64, f64) {
    const ENOUGH: u64 = 4_000_000;
    let mut buffer = CollectiveRound::default();
    let (mut rounds, mut parts) = (0_u64, 0_u64);
    let begin = Instant::now();
    while rounds + parts < ENOUGH {
        for here in 0..size {
            let party = black_box(Participant { size, rank: here, root: 0, bytes: 1 << 20 });
            let mut index = 0;
            while fill_round(algorithm, pattern, &party, index, &mut buffer) {
                parts += (buffer.sends.len() + buffer.receives.len()) as u64;
                index += 1;
            }
            rounds += u64::from(index);
            if rounds + parts >= ENOUGH {
                break;
            }
        }
    }
    (rounds, parts, begin.elapsed().as_secs_f64())
}
