//! Messages per second through a fat tree of 1,024 nodes with shared links.
//!
//!     cargo run --release -p sintonia-replay --example network_speed [MESSAGES]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use sintonia_machine::Machine;
use sintonia_replay::network::{self, NetworkModel, NetworkTransfer};
use sintonia_replay::platform::IntervalBound;

const NODES: u32 = 1024;
const SIDE: u32 = 32;

const FAT_TREE: &str = "format = 1
machine = { name = \"fat tree\" }
[topology]
kind = \"fat_tree\"
levels = [{ down = 16 }, { down = 8, up = 16 }, { down = 8, up = 8 }]
bandwidth_bytes_per_s = 1.25e10
latency_s = 1e-7
";

const PATTERNS: [TrafficPattern; 6] = [
    TrafficPattern::Permutation,
    TrafficPattern::Random,
    TrafficPattern::Stencil { jitter: 0.0 },
    TrafficPattern::Stencil { jitter: 1e-5 },
    TrafficPattern::AllToAll { at_once: 1 },
    TrafficPattern::AllToAll { at_once: 8 },
];

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let messages: usize = std::env::args().nth(1).map_or(Ok(2_000_000), |word| word.parse())?;
    let machine = Machine::parse(FAT_TREE, Path::new("fat tree"))?;
    for pattern in PATTERNS {
        let mut network = network::build(&machine, IntervalBound::Middle.into())?;
        let begins = Instant::now();
        let (sent, simulated) = BenchRun::new(pattern).run(&mut *network, messages);
        let rate = sent as f64 / begins.elapsed().as_secs_f64();
        println!("{pattern:?}: {sent} messages, {simulated:.6} s simulated, {:.2} M messages/s", rate / 1e6);
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum TrafficPattern {
    /// Every node sends to one other node; then all synchronise.
    Permutation,
    /// Every node keeps sending to random nodes.
    Random,
    /// Every node sends to four neighbours, waits for four messages, then computes for a slightly random time.
    Stencil { jitter: f64 },
    /// Every node sends to the next one, to the one after that and so on, with a limit on concurrent messages.
    AllToAll { at_once: u32 },
}

struct BenchRun {
    pattern: TrafficPattern,
    random: u64,
    /// Messages sent, by node.
    sent: Vec<u32>,
    /// Messages received, by node.
    came: Vec<u64>,
    /// Source and destination of each message.
    ends: Vec<[u32; 2]>,
    /// Next senders, keyed by the bits of the time (which sort like the time itself).
    ready: BTreeSet<(u64, u32)>,
}

impl BenchRun {
    fn new(pattern: TrafficPattern) -> BenchRun {
        let ready = (0..NODES).map(|node| (0, node)).collect();
        BenchRun { pattern, random: 1, sent: vec![0; NODES as usize], came: vec![0; NODES as usize], ends: Vec::new(), ready }
    }

    /// Returns the number of messages sent and the arrival time of the last one.
    fn run(&mut self, network: &mut dyn NetworkModel, messages: usize) -> (usize, f64) {
        let (mut now, mut arrived, mut under_way) = (0.0, Vec::new(), 0);
        loop {
            let next = network.next_time().unwrap_or(f64::INFINITY);
            let ready = self.ready.first().copied().filter(|(at, _)| f64::from_bits(*at) <= next && self.ends.len() < messages);
            if let Some((at, node)) = ready {
                self.ready.remove(&(at, node));
                under_way += self.send(network, f64::from_bits(at), node);
            } else if next.is_finite() {
                now = next;
                network.advance(&mut arrived);
                for flow in arrived.drain(..) {
                    under_way -= 1;
                    self.arrive(flow, now, under_way == 0);
                }
            } else {
                return (self.ends.len(), now);
            }
        }
    }

    fn send(&mut self, network: &mut dyn NetworkModel, at: f64, from: u32) -> usize {
        let round = self.ends.len() as u32 / NODES;
        let (x, y) = (from % SIDE, from / SIDE);
        let place = |x: u32, y: u32| x % SIDE + y % SIDE * SIDE;
        let all = match self.pattern {
            TrafficPattern::Permutation => vec![(from ^ (round * 37 % NODES)) * 5 % NODES],
            TrafficPattern::Random => vec![self.draw() as u32 % NODES],
            TrafficPattern::Stencil { .. } => vec![place(x + 1, y), place(x + SIDE - 1, y), place(x, y + 1), place(x, y + SIDE - 1)],
            TrafficPattern::AllToAll { at_once } => {
                let sent = &mut self.sent[from as usize];
                let next = *sent..*sent + if *sent == 0 { at_once } else { 1 };
                *sent = next.end;
                next.map(|sent| (from + 1 + sent % (NODES - 1)) % NODES).collect()
            }
        };
        for &to in &all {
            let transfer = NetworkTransfer { from, to, bytes: 65536.0, latency_s: 1e-6, min_s_per_byte: 0.0 };
            network.begin(at, self.ends.len() as u32, transfer);
            self.ends.push([from, to]);
        }
        all.len()
    }

    fn arrive(&mut self, flow: u32, now: f64, all: bool) {
        let [from, to] = self.ends[flow as usize];
        match self.pattern {
            TrafficPattern::Permutation if all => self.ready.extend((0..NODES).map(|node| (now.to_bits(), node))),
            TrafficPattern::Permutation => {}
            TrafficPattern::Random | TrafficPattern::AllToAll { .. } => self.ready.extend([(now.to_bits(), from)]),
            TrafficPattern::Stencil { jitter } => {
                self.came[to as usize] += 1;
                if self.came[to as usize].is_multiple_of(4) {
                    let at: f64 = now + 2e-5 + jitter * (self.draw() % 1000) as f64 / 1000.0;
                    self.ready.insert((at.to_bits(), to));
                }
            }
        }
    }

    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }
}
