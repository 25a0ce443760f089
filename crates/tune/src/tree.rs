//! The hosts of a run as a tree: requests are broadcast, reports collected.
//!
//! Every node is the same: the agent of its host, and the hosts that connected to its listener. Reports are forwarded in batches less than
//! a millisecond old; aggregates are merged on the way, so that the root receives one summary per interval instead of one per
//! host. A node with the maximum number of children redirects further hosts to those.

mod child;
mod clock_offset;
mod encoding;
mod listener;
mod parent;
mod standing_requests;

use std::time::{Duration, Instant};

use crate::collector::ProcessCollector;
use crate::host_agent::{EventAggregator, HostAgent, now_ns};
use crate::protocol::{AgentReport, AgentRequest};
use crate::tuning_points::EventJoin;

use child::ChildHost;
pub use listener::HostListener;
pub use parent::{ParentError, ParentHost};
use standing_requests::StandingRequests;

/// Reports of child hosts may be this much older than local ones.
const GRACE_S: f64 = 10e-3;
/// Interval between clock queries of child hosts.
const CLOCK_SYNC_INTERVAL: Duration = Duration::from_secs(2);

/// A host and its children.
pub struct HostTree {
    local: HostAgent,
    listener: Option<HostListener>,
    children: Vec<ChildHost>,
    standing_requests: StandingRequests,
    /// Aggregates of child hosts, for intervals that are not finished.
    aggregator: EventAggregator,
    /// Start of the tuning, in nanoseconds of this host's clock.
    begin: f64,
    last_clock_sync: Instant,
    /// Reports made while handling a request.
    immediate_reports: Vec<AgentReport>,
}

impl HostTree {
    /// The processes of a local collector, and the hosts that connect to a listener; `begin` is the start of the tuning, in nanoseconds of this
    /// host's clock.
    pub fn new(collector: ProcessCollector, listener: Option<HostListener>, begin: f64) -> HostTree {
        HostTree {
            local: HostAgent::new(collector, begin),
            listener,
            children: Vec::new(),
            standing_requests: StandingRequests::default(),
            aggregator: EventAggregator::default(),
            begin,
            last_clock_sync: Instant::now(),
            immediate_reports: Vec::new(),
        }
    }

    /// Seconds since the start of the tuning.
    pub fn now(&self) -> f64 {
        (now_ns() - self.begin) / 1e9
    }

    /// Sets the start of the tuning in nanoseconds of this host's clock, which becomes more precise with time.
    pub fn set_begin(&mut self, begin: f64) {
        self.begin = begin;
        self.local.set_begin(begin);
    }

    /// Whether processes had connected and all are gone, here and below.
    pub fn all_processes_gone(&self) -> bool {
        self.local.all_processes_gone() && self.children.is_empty()
    }

    /// Whether no process is left, here and below.
    pub fn is_empty(&self) -> bool {
        self.local.is_empty() && self.children.is_empty()
    }

    /// The last reports, including unfinished intervals.
    pub fn collect_final_reports(&mut self) -> Vec<AgentReport> {
        let mut reports = self.collect_reports();
        reports.extend(
            self.aggregator.take_finished(f64::INFINITY).into_iter().map(|(tunlet, summary)| AgentReport::Summary { tunlet, summary }),
        );
        reports
    }

    /// Broadcasts a request to all hosts.
    pub fn broadcast(&mut self, request: AgentRequest) {
        self.standing_requests.record(&request);
        self.children.iter_mut().for_each(|child| child.send_request(&request));
        let reports = self.local.handle_request(request);
        self.immediate_reports.extend(reports);
    }

    /// Reports since the last call.
    pub fn collect_reports(&mut self) -> Vec<AgentReport> {
        let mut reports = std::mem::take(&mut self.immediate_reports);
        reports.extend(self.local.collect_reports());
        self.accept_children(&mut reports);
        self.collect_from_children(&mut reports);
        if self.last_clock_sync.elapsed() > CLOCK_SYNC_INTERVAL {
            self.last_clock_sync = Instant::now();
            self.children.iter_mut().for_each(ChildHost::query_clock);
        }
        reports
    }

    fn accept_children(&mut self, reports: &mut Vec<AgentReport>) {
        let Some(listener) = &self.listener else { return };
        for incoming in listener.incoming() {
            match incoming {
                listener::IncomingHost::Host(mut child) => {
                    reports.push(AgentReport::HostJoined(child.host().to_owned()));
                    // First of all it receives the start of the tuning.
                    reports.extend(child.receive_reports(self.begin));
                    self.standing_requests.requests().iter().for_each(|request| child.send_request(request));
                    self.children.push(*child);
                }
                listener::IncomingHost::Rejected(what) => reports.push(AgentReport::Problem(what)),
            }
        }
    }

    fn collect_from_children(&mut self, reports: &mut Vec<AgentReport>) {
        if self.children.is_empty() && self.aggregator.is_empty() {
            return;
        }
        let mut received = Vec::new();
        for child in &mut self.children {
            received.extend(child.receive_reports(self.begin));
        }
        self.children.retain(|child| {
            if !child.is_connected() {
                reports.extend(child.disconnect_report());
            }
            child.is_connected()
        });
        // Merges local aggregates with those of the children.
        let (summaries, others): (Vec<AgentReport>, Vec<AgentReport>) =
            std::mem::take(reports).into_iter().chain(received).partition(|one| matches!(one, AgentReport::Summary { .. }));
        for one in summaries {
            let AgentReport::Summary { tunlet, summary } = one else { continue };
            if let Some(EventJoin::Over(length)) = self.standing_requests.event_join(tunlet, summary.point) {
                self.aggregator.merge(tunlet, length, &summary);
            }
        }
        let over = self.aggregator.take_finished_after(self.now(), GRACE_S);
        reports.extend(others);
        reports.extend(over.into_iter().map(|(tunlet, summary)| AgentReport::Summary { tunlet, summary }));
    }
}
