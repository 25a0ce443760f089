//! Requests that still apply: repeated to hosts that join later.

use crate::protocol::{AgentRequest, ChangeRequest};
use crate::tuning_points::{EventJoin, MeasurePoint, TunletRequirements};

/// Requests that still apply.
#[derive(Debug, Default)]
pub(super) struct StandingRequests {
    needs: Option<Vec<TunletRequirements>>,
    extra_points: Vec<(usize, usize, MeasurePoint)>,
    changes: Vec<ChangeRequest>,
    may_begin: bool,
}

impl StandingRequests {
    /// Records a request.
    pub(super) fn record(&mut self, request: &AgentRequest) {
        match request {
            AgentRequest::Bind(needs) => self.needs = Some(needs.clone()),
            AgentRequest::Begin => self.may_begin = true,
            AgentRequest::Change(change) => {
                self.changes.retain(|other| !other.is_same_point(change));
                self.changes.push(*change);
            }
            AgentRequest::AddPoint { tunlet, number, point } => self.extra_points.push((*tunlet, *number, point.clone())),
            AgentRequest::Callees { .. } => {}
            AgentRequest::RemovePoint { tunlet, number } => {
                self.extra_points.retain(|(other, place, _)| (other, place) != (tunlet, number))
            }
        }
    }

    /// All of them, in an order in which they can be made.
    pub(super) fn requests(&self) -> Vec<AgentRequest> {
        let needs = self.needs.iter().cloned().map(AgentRequest::Bind);
        let changes = self.changes.iter().copied().map(AgentRequest::Change);
        let looks = self.extra_points.iter().cloned().map(|(tunlet, number, point)| AgentRequest::AddPoint { tunlet, number, point });
        needs.chain(changes).chain(looks).chain(self.may_begin.then_some(AgentRequest::Begin)).collect()
    }

    /// Whether events of a measure point may be aggregated.
    pub(super) fn event_join(&self, tunlet: usize, point: usize) -> Option<EventJoin> {
        let declared = self.needs.as_ref().and_then(|needs| needs.get(tunlet)?.measures.get(point));
        let added = || self.extra_points.iter().find(|(other, number, _)| (*other, *number) == (tunlet, point)).map(|(.., point)| point);
        declared.or_else(added).map(|point| point.join)
    }
}

#[cfg(test)]
mod tests {
    use sintonia_link::probe_protocol::HookSide;

    use super::*;
    use crate::tuning_points::Actor;

    #[test]
    fn a_late_host_gets_the_standing_requests() {
        let mut standing = StandingRequests::default();
        let point = || MeasurePoint {
            actor: Actor::All,
            function: "f".into(),
            side: HookSide::Exit,
            values: Vec::new(),
            join: EventJoin::Over(0.5),
        };
        let change = |number, value| ChangeRequest { number, tunlet: 0, point: 1, value, rank: None, once: false };
        let requests = [
            AgentRequest::Bind(vec![TunletRequirements::default()]),
            AgentRequest::Begin,
            AgentRequest::Change(change(1, 3.0)),
            AgentRequest::AddPoint { tunlet: 0, number: 7, point: point() },
            AgentRequest::AddPoint { tunlet: 0, number: 8, point: point() },
            AgentRequest::Change(change(2, 4.0)),
            AgentRequest::RemovePoint { tunlet: 0, number: 7 },
        ];
        requests.iter().for_each(|request| standing.record(request));
        assert_eq!(standing.requests(), [requests[0].clone(), requests[5].clone(), requests[4].clone(), AgentRequest::Begin]);
        assert_eq!((standing.event_join(0, 8), standing.event_join(0, 7)), (Some(EventJoin::Over(0.5)), None));
    }
}
