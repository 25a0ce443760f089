//! A message as it goes over links one after another: its head before its tail, like a train.
//!
//! A node on the way sends a message on when it has a part of it, the *unit*: the whole packet (store and forward), one flit (wormhole), the
//! header (virtual cut-through), or nothing (bytes flow). Alone on n links of one bandwidth a message of W bytes on the wire then takes
//! (W + (n - 1) unit) / bandwidth, which is what Zuffo's and Kermani and Kleinrock's formulas say for each of them.

use sintonia_machine::topology::{FlowControl, Forwarding};

use super::topology::Speed;
use super::{Figures, Transfer};

/// How messages are cut and forwarded.
#[derive(Clone, Copy, Debug)]
pub struct Trains {
    unit: Unit,
    /// What a packet has room for besides its header; everything if none.
    room: Option<f64>,
    header: f64,
    hop_s: f64,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Bytes(f64),
    Packet,
}

/// A message on its way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Train {
    bytes: f64,
    unit: f64,
    hop_s: f64,
    /// What it takes on any link at least.
    least_s: f64,
}

/// When a message is on a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// When the last of it has left the link's beginning, and the next message may begin.
    pub frees_s: f64,
    /// When it may begin on the next link.
    pub next_s: f64,
    /// When all of it is there.
    pub there_s: f64,
}

impl Trains {
    pub fn new(control: Option<&FlowControl>, bound: Figures) -> Trains {
        let Some(control) = control else { return Trains { unit: Unit::Bytes(0.0), room: None, header: 0.0, hop_s: 0.0 } };
        let header = control.header_bytes as f64;
        let unit = match control.forwarding {
            Forwarding::StoreAndForward => Unit::Packet,
            Forwarding::Wormhole { flit_bytes } => Unit::Bytes(flit_bytes as f64),
            Forwarding::CutThrough => Unit::Bytes(header),
        };
        Trains { unit, room: control.packet_bytes.map(|packet| packet as f64 - header), header, hop_s: bound.time(control.hop) }
    }

    /// Whether a message keeps all links of its way until it is through.
    pub fn keep_the_way(control: &FlowControl) -> bool {
        matches!(control.forwarding, Forwarding::Wormhole { .. })
    }

    /// A message, with the headers of its packets.
    pub fn train(&self, transfer: &Transfer) -> Train {
        let packets = self.room.map_or(1.0, |room| (transfer.bytes / room).ceil().max(1.0));
        let bytes = transfer.bytes + packets * self.header;
        let unit = match (self.unit, self.room) {
            (Unit::Bytes(unit), _) => unit,
            (Unit::Packet, Some(room)) => bytes.min(room + self.header),
            (Unit::Packet, None) => bytes,
        };
        Train { bytes, unit, hop_s: self.hop_s, least_s: transfer.bytes * transfer.least_s_per_byte }
    }
}

impl Train {
    /// Goes over a link from `begins_s` on; the one before lets it through when its last part is there, `before`.
    pub fn pass(&self, speed: Speed, begins_s: f64, before: Option<Passage>) -> Passage {
        let [bytes_s, unit_s] = [self.bytes, self.unit].map(|bytes| bytes / speed.bytes_per_s);
        let tail_s = before.map_or(f64::NEG_INFINITY, |before| before.there_s + self.hop_s + unit_s);
        let frees_s = (begins_s + bytes_s.max(self.least_s)).max(tail_s);
        Passage { frees_s, next_s: begins_s + unit_s + speed.latency_s + self.hop_s, there_s: frees_s + speed.latency_s }
    }

    /// Where no link is, within a node.
    pub fn stay(&self, begins_s: f64) -> f64 {
        begins_s + self.least_s
    }
}
