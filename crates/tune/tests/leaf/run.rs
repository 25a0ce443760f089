//! A whole run with simulated processes: an analyzer, hosts below it, and leaves on each.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sintonia_link::order::{Side, When};
use sintonia_link::session::Secret;
use sintonia_tune::analyzer::{Analyzer, Summary};
use sintonia_tune::collector::Collector;
use sintonia_tune::host;
use sintonia_tune::point::{Actor, Join, MeasurePoint, Moment, Needs, Target, TuningPoint};
use sintonia_tune::station::now_ns;
use sintonia_tune::tree::{Door, Tree, Up};
use sintonia_tune::tunlet::{Happening, Joined, Tunlet, Wish};

use crate::leaf::{ASKS, Done, Manner, live};

/// A tunlet that counts what it is told, and answers who asks.
pub struct Counting {
    join: Join,
    /// How many events it heard of.
    pub heard: Arc<std::sync::atomic::AtomicU64>,
}

impl Tunlet for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn needs(&mut self, _processes: u32) -> Needs {
        let values = ["seconds", "bytes", "tag"].map(String::from).to_vec();
        let measure = MeasurePoint { actor: Actor::All, function: "MPI_Send".into(), side: Side::Exit, values, join: self.join };
        let tune = TuningPoint {
            actor: Actor::All,
            target: Target::Environment("ANSWER".into()),
            range: (0.0, f64::MAX),
            moment: Moment::AtOnce,
            when: When::Once,
        };
        Needs { measures: vec![measure], tunes: vec![tune] }
    }

    fn happened(&mut self, happening: &Happening) -> Vec<Wish> {
        self.heard.fetch_add(1, Ordering::Relaxed);
        let asks = happening.values[2] == ASKS as f64;
        let answer = Wish::Change { point: 0, value: 1.0, rank: Some(happening.rank), why: "asked".into() };
        asks.then_some(answer).into_iter().collect()
    }

    fn joined(&mut self, joined: &Joined) -> Vec<Wish> {
        self.heard.fetch_add(joined.count, Ordering::Relaxed);
        Vec::new()
    }
}

/// What came of a run.
pub struct Outcome {
    /// What the analyzer says.
    pub summary: Summary,
    /// What the tunlet heard of.
    pub heard: u64,
    /// What the leaves did.
    pub done: Arc<Done>,
}

/// Runs so many hosts with so many leaves each, for a while.
pub fn run(folder: &Path, hosts: u32, leaves: u32, rate: f64, join: Join, asks: bool, time: Duration) -> Outcome {
    let secret = Secret::new().expect("randomness");
    let door = Door::open(&secret, 16).expect("a door");
    let addresses = door.addresses();
    let tree = Tree::new(Collector::open(&folder.join("root"), &secret).expect("a door"), Some(door), now_ns());
    let heard = Arc::default();
    let analyzer = Analyzer::new(vec![Box::new(Counting { join, heard: Arc::clone(&heard) })], tree, false);
    let (over, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let is_over = ended.clone();
    let analysis = std::thread::spawn(move || analyzer.run(|| is_over.load(Ordering::Relaxed), |_| ()));
    let done = Arc::new(Done::default());
    let (mut threads, mut nodes) = (Vec::new(), Vec::new());
    for number in 0..hosts {
        let home = folder.join(format!("host{number}"));
        let collector = Collector::open(&home, &secret).expect("a door");
        let (own, above) = (secret.clone(), addresses.clone());
        nodes.push(std::thread::spawn(move || {
            let door = Door::open(&own, 16).expect("a door");
            let up = Up::go(&above, &own, &door.card(format!("host{number}"))).expect("a host above");
            host::serve(Tree::new(collector, Some(door), up.began()), up);
        }));
        for leaf in 0..leaves {
            let manner = Manner { rank: number * leaves + leaf, size: hosts * leaves, rate, asks };
            let (home, secret, over, done) = (home.clone(), secret.clone(), over.clone(), done.clone());
            threads.push(std::thread::spawn(move || live(&home, &secret, manner, &over, &done).expect("a leaf")));
        }
    }
    std::thread::sleep(time);
    over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("a leaf"));
    // What is under way comes within a moment.
    std::thread::sleep(Duration::from_millis(300));
    ended.store(true, Ordering::Relaxed);
    let summary = analysis.join().expect("an analyzer");
    nodes.into_iter().for_each(|node| node.join().expect("ends with the analyzer"));
    let heard = heard.load(Ordering::Relaxed);
    Outcome { summary, heard, done }
}
