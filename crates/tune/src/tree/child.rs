//! A child host in the tree.

use std::net::TcpStream;
use std::sync::mpsc;

use serde::{Deserialize, Serialize};
use sintonia_link::session::{SessionError, SessionReceiver, SessionSender};

use super::clock_offset::HostClockOffset;
use super::encoding::{decode, encode};
use crate::host_agent::now_ns;
use crate::protocol::{AgentReport, AgentRequest};

/// A message to a child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ParentMessage {
    /// Query of its clock.
    QueryClock,
    /// Start of the tuning, in nanoseconds of its clock.
    Start(f64),
    /// A request of the analyzer.
    Request(AgentRequest),
    /// The tuning is over.
    End,
}

/// A message from a child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ChildMessage {
    /// Its clock in nanoseconds.
    Clock(f64),
    /// Reports.
    Reports(Vec<AgentReport>),
}

/// An event of a child's connection.
enum ChildEvent {
    Message(ChildMessage, f64),
    Disconnected(Option<String>),
}

/// A child host.
pub struct ChildHost {
    host: String,
    sender: SessionSender<TcpStream>,
    events: mpsc::Receiver<ChildEvent>,
    clock_offset: HostClockOffset,
    /// Time of the unanswered clock query.
    clock_query_time: Option<f64>,
    /// The start of the tuning that was sent last.
    sent_begin: Option<f64>,
    /// Tuned processes there and below.
    tuned_processes: u64,
    ended: Option<Option<String>>,
}

/// Receives messages of a child, in its own thread.
pub struct ChildReceiver(mpsc::Sender<ChildEvent>);

impl ChildReceiver {
    /// Receives until the connection ends.
    pub fn run(self, mut receiver: SessionReceiver<TcpStream>) {
        loop {
            match receiver.receive().and_then(|message| Ok(decode(&message)?)) {
                Ok(said) => {
                    if self.0.send(ChildEvent::Message(said, now_ns())).is_err() {
                        return;
                    }
                }
                Err(problem) => {
                    let why = (!matches!(&problem, SessionError::Connection(_))).then(|| problem.to_string());
                    let _ = self.0.send(ChildEvent::Disconnected(why));
                    return;
                }
            }
        }
    }
}

impl ChildHost {
    /// A child that has authenticated, and its receiver.
    pub fn new(host: String, difference: HostClockOffset, sender: SessionSender<TcpStream>) -> (ChildHost, ChildReceiver) {
        let (receiver, event) = mpsc::channel();
        (
            ChildHost {
                host,
                sender,
                events: event,
                clock_offset: difference,
                clock_query_time: None,
                sent_begin: None,
                tuned_processes: 0,
                ended: None,
            },
            ChildReceiver(receiver),
        )
    }

    /// Its host name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is connected.
    pub fn is_connected(&self) -> bool {
        self.ended.is_none()
    }

    /// Why it has disconnected, if that is a problem.
    pub fn disconnect_report(&self) -> Option<AgentReport> {
        let lost =
            || (self.tuned_processes > 0).then(|| format!("it has disconnected; {} processes continue untuned", self.tuned_processes));
        let why = self.ended.clone()?.or_else(lost)?;
        Some(AgentReport::Problem(format!("host {}: {why}", self.host)))
    }

    fn send(&mut self, message: &ParentMessage) {
        let said = encode(message).map_err(SessionError::from).and_then(|message| self.sender.send(&message));
        if said.is_err() {
            self.ended.get_or_insert(Some("unreachable; its processes continue untuned".into()));
        }
    }

    /// Sends a request.
    pub fn send_request(&mut self, request: &AgentRequest) {
        self.send(&ParentMessage::Request(request.clone()));
    }

    /// Queries its clock.
    pub fn query_clock(&mut self) {
        // A late answer must not be taken for that of a later query.
        if self.clock_query_time.is_some() {
            return;
        }
        self.clock_query_time = Some(now_ns());
        self.send(&ParentMessage::QueryClock);
    }

    /// Reports since the last call; `begin` is the start of the tuning in nanoseconds of our clock.
    pub fn receive_reports(&mut self, begin: f64) -> Vec<AgentReport> {
        let mut reports = Vec::new();
        for event in self.events.try_iter() {
            match event {
                ChildEvent::Message(ChildMessage::Reports(more), _) => {
                    let count = |is_meant: fn(&AgentReport) -> bool| more.iter().filter(|one| is_meant(one)).count() as u64;
                    self.tuned_processes += count(|one| matches!(one, AgentReport::Ready { .. }));
                    self.tuned_processes = self.tuned_processes.saturating_sub(count(|one| matches!(one, AgentReport::ProcessLeft { .. })));
                    reports.extend(more);
                }
                ChildEvent::Message(ChildMessage::Clock(child_time), received) => {
                    if let Some(sent) = self.clock_query_time.take() {
                        self.clock_offset.add_round_trip(sent, child_time, received);
                    }
                }
                ChildEvent::Disconnected(why) => self.ended = Some(why),
            }
        }
        let began = self.clock_offset.offset_ns().map(|ahead| begin + ahead);
        if began != self.sent_begin {
            self.sent_begin = began;
            began.into_iter().for_each(|began| self.send(&ParentMessage::Start(began)));
        }
        reports
    }
}

impl Drop for ChildHost {
    fn drop(&mut self) {
        self.send(&ParentMessage::End);
    }
}
