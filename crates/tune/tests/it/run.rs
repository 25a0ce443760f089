//! A whole run with simulated processes: an analyzer, child hosts, and processes on each.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sintonia_link::probe_protocol::{ActionRepeat, HookSide};
use sintonia_link::session::SharedSecret;
use sintonia_tune::analyzer::{Analyzer, TuningSummary};
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::host_agent::now_ns;
use sintonia_tune::host_daemon;
use sintonia_tune::tree::{HostListener, HostTree, ParentHost};
use sintonia_tune::tuning_points::{Actor, EventJoin, MeasurePoint, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};
use sintonia_tune::tunlet::{EventSummary, PointEvent, TuningAction, Tunlet};

use crate::leaf::{ASKS, Done, ProcessBehaviour, live};

/// A tunlet that counts events and answers requests.
pub(crate) struct CountingTunlet {
    join: EventJoin,
    /// Number of events received.
    pub heard: Arc<std::sync::atomic::AtomicU64>,
}

impl Tunlet for CountingTunlet {
    fn name(&self) -> &str {
        "counting"
    }

    fn requirements(&mut self, _processes: u32) -> TunletRequirements {
        let values = ["seconds", "bytes", "tag"].map(String::from).to_vec();
        let measure = MeasurePoint { actor: Actor::All, function: "MPI_Send".into(), side: HookSide::Exit, values, join: self.join };
        let tune = TuningPoint {
            actor: Actor::All,
            target: TuningTarget::Environment("ANSWER".into()),
            range: (0.0, f64::MAX),
            moment: TuningMoment::AtOnce,
            when: ActionRepeat::Once,
        };
        TunletRequirements { measures: vec![measure], tunes: vec![tune] }
    }

    fn on_event(&mut self, event: &PointEvent) -> Vec<TuningAction> {
        self.heard.fetch_add(1, Ordering::Relaxed);
        let asks = event.values[2] == ASKS as f64;
        let answer = TuningAction::Change { point: 0, value: 1.0, rank: Some(event.rank), why: "asked".into() };
        asks.then_some(answer).into_iter().collect()
    }

    fn on_summary(&mut self, summary: &EventSummary) -> Vec<TuningAction> {
        self.heard.fetch_add(summary.count, Ordering::Relaxed);
        Vec::new()
    }
}

/// Result of a run.
pub(crate) struct Outcome {
    /// Summary of the analyzer.
    pub summary: TuningSummary,
    /// Number of events the tunlet received.
    pub heard: u64,
    /// Statistics of the processes.
    pub done: Arc<Done>,
}

/// Runs hosts with simulated processes for a while.
pub(crate) fn run(folder: &Path, hosts: u32, leaves: u32, rate: f64, join: EventJoin, asks: bool, time: Duration) -> Outcome {
    let secret = SharedSecret::new().expect("randomness");
    let listener = HostListener::bind(&secret, 16).expect("a listener");
    let addresses = listener.addresses();
    let tree = HostTree::new(ProcessCollector::open(&folder.join("root"), &secret).expect("a listener"), Some(listener), now_ns());
    let heard = Arc::default();
    let analyzer = Analyzer::new(vec![Box::new(CountingTunlet { join, heard: Arc::clone(&heard) })], tree, false);
    let (over, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let is_over = ended.clone();
    let analysis = std::thread::spawn(move || analyzer.run(|| is_over.load(Ordering::Relaxed), |_| ()));
    let done = Arc::new(Done::default());
    let (mut threads, mut nodes) = (Vec::new(), Vec::new());
    for number in 0..hosts {
        let home = folder.join(format!("host{number}"));
        let collector = ProcessCollector::open(&home, &secret).expect("a listener");
        let (own, above) = (secret.clone(), addresses.clone());
        nodes.push(std::thread::spawn(move || {
            let listener = HostListener::bind(&own, 16).expect("a listener");
            let parent = ParentHost::connect(&above, &own, &listener.hello(format!("host{number}"))).expect("a host above");
            host_daemon::serve(HostTree::new(collector, Some(listener), parent.begin_ns()), parent);
        }));
        for leaf in 0..leaves {
            let behaviour = ProcessBehaviour { rank: number * leaves + leaf, size: hosts * leaves, rate, asks };
            let (home, secret, over, done) = (home.clone(), secret.clone(), over.clone(), done.clone());
            threads.push(std::thread::spawn(move || live(&home, &secret, behaviour, &over, &done).expect("a leaf")));
        }
    }
    std::thread::sleep(time);
    over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("a leaf"));
    // Events in flight arrive within a moment.
    std::thread::sleep(Duration::from_millis(300));
    ended.store(true, Ordering::Relaxed);
    let summary = analysis.join().expect("an analyzer");
    nodes.into_iter().for_each(|node| node.join().expect("ends with the analyzer"));
    let heard = heard.load(Ordering::Relaxed);
    Outcome { summary, heard, done }
}
