//! Pipelining of a message over successive links.
//!
//! A node forwards a message once it has a *unit* of it: the whole packet (store-and-forward), a flit (wormhole), the header (virtual
//! cut-through), or nothing (fluid). Alone on n links of equal bandwidth, a message of W bytes on the wire takes (W + (n - 1) unit) /
//! bandwidth, in agreement with the formulas of Zuffo and of Kermani and Kleinrock.

use sintonia_machine::topology::{FlowControl, ForwardingMode};

use super::topology::LinkSpeed;
use super::{FigureSelection, NetworkTransfer};

/// Packetisation and forwarding.
#[derive(Clone, Copy, Debug)]
pub(super) struct ForwardingModel {
    unit: ForwardingUnit,
    /// Payload of a packet; `None` for unlimited.
    packet_payload: Option<f64>,
    header: f64,
    hop_s: f64,
}

#[derive(Clone, Copy, Debug)]
enum ForwardingUnit {
    Bytes(f64),
    Packet,
}

/// A message on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ForwardedMessage {
    bytes: f64,
    unit: f64,
    hop_s: f64,
    /// Minimum time on any link.
    min_s: f64,
}

/// Times of a message on a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkPassage {
    /// When its tail has entered the link, and the next message may follow.
    pub link_free_s: f64,
    /// When it can enter the next link.
    pub next_link_s: f64,
    /// When it has arrived completely.
    pub arrival_s: f64,
}

impl ForwardingModel {
    pub(super) fn new(control: Option<&FlowControl>, bound: FigureSelection) -> ForwardingModel {
        let Some(control) = control else {
            return ForwardingModel { unit: ForwardingUnit::Bytes(0.0), packet_payload: None, header: 0.0, hop_s: 0.0 };
        };
        let header = control.header_bytes as f64;
        let unit = match control.forwarding {
            ForwardingMode::StoreAndForward => ForwardingUnit::Packet,
            ForwardingMode::Wormhole { flit_bytes } => ForwardingUnit::Bytes(flit_bytes as f64),
            ForwardingMode::CutThrough => ForwardingUnit::Bytes(header),
        };
        ForwardingModel {
            unit,
            packet_payload: control.packet_bytes.map(|packet| packet as f64 - header),
            header,
            hop_s: bound.time(control.hop_latency),
        }
    }

    /// Whether a message holds its whole route.
    pub(super) fn holds_route(control: &FlowControl) -> bool {
        matches!(control.forwarding, ForwardingMode::Wormhole { .. })
    }

    /// The message with its packet headers.
    pub(super) fn forwarded_message(&self, transfer: &NetworkTransfer) -> ForwardedMessage {
        let packets = self.packet_payload.map_or(1.0, |room| (transfer.bytes / room).ceil().max(1.0));
        let bytes = transfer.bytes + packets * self.header;
        let unit = match (self.unit, self.packet_payload) {
            (ForwardingUnit::Bytes(unit), _) => unit,
            (ForwardingUnit::Packet, Some(room)) => bytes.min(room + self.header),
            (ForwardingUnit::Packet, None) => bytes,
        };
        ForwardedMessage { bytes, unit, hop_s: self.hop_s, min_s: transfer.bytes * transfer.min_s_per_byte }
    }
}

impl ForwardedMessage {
    /// Passes a link from `begins_s` on; its tail follows the passage of the previous link.
    pub(super) fn traverse(&self, speed: LinkSpeed, begins_s: f64, before: Option<LinkPassage>) -> LinkPassage {
        let [bytes_s, unit_s] = [self.bytes, self.unit].map(|bytes| bytes / speed.bytes_per_s);
        let tail_s = before.map_or(f64::NEG_INFINITY, |before| before.arrival_s + self.hop_s + unit_s);
        let frees_s = (begins_s + bytes_s.max(self.min_s)).max(tail_s);
        LinkPassage {
            link_free_s: frees_s,
            next_link_s: begins_s + unit_s + speed.latency_s + self.hop_s,
            arrival_s: frees_s + speed.latency_s,
        }
    }

    /// Arrival within a node.
    pub(super) fn local_arrival(&self, begins_s: f64) -> f64 {
        begins_s + self.min_s
    }
}
