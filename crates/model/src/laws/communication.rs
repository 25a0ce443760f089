//! How long a message takes from node to node, by how its packets are forwarded.
//!
//! A distance d is the number of channels between the two at the ends: neighbours have d = 0. A channel is L wide and moves F such widths in a
//! second, so that a packet of size PT needs PT/L moves on each channel.

use super::{Law, Quantity, Source, Symbol, ZUFFO, derived, printed, symbol};

const PACKET: Symbol = symbol("PT", "B", "size of the packet").or(&["P"]);
const WIDTH: Symbol = symbol("L", "B", "width of a channel");
const RATE: Symbol = symbol("F", "1/s", "moves over a channel in a second");
const DISTANCE: Symbol = symbol("d", "", "channels between the two at the ends");

pub static ADJACENT: Law = Law {
    name: "adjacent",
    title: "Message between neighbours",
    says: "A message takes its latency, and its length at the rate of the channel.",
    source: ZUFFO,
    symbols: &[
        symbol("Lc", "s", "latency").or(&["latency"]),
        symbol("MT", "B", "size of the message").or(&["bytes"]),
        symbol("F", "B/s", "rate").or(&["rate"]),
    ],
    equations: &[printed(Quantity::Time, "Lc + MT/F", "2.1")],
};

pub static STORE_AND_FORWARD: Law = Law {
    name: "store-and-forward",
    title: "Store and forward",
    says: "Every node on the way keeps the whole packet before it sends it on, so time grows with size times distance.",
    source: ZUFFO,
    symbols: &[PACKET, WIDTH, RATE, DISTANCE],
    equations: &[printed(Quantity::Latency, "PT/L*d/F", "2.2"), printed(Quantity::Time, "PT/L*(d + 1)/F", "2.3")],
};

pub static WORMHOLE: Law = Law {
    name: "wormhole",
    title: "Wormhole",
    says: "The packet follows its first part through all channels at once, so distance adds one move each and does not multiply with size.",
    source: ZUFFO,
    symbols: &[PACKET, WIDTH, RATE, DISTANCE],
    equations: &[
        printed(Quantity::Latency, "d/F", "2.4"),
        derived(Quantity::Time, "(PT/L + d)/F", "2.4 in 2.1, with PT/L moves in place of MT"),
    ],
};

pub static VIRTUAL_CUT_THROUGH: Law = Law {
    name: "virtual-cut-through",
    title: "Virtual cut-through",
    says: "A node sends a packet on as soon as it has its header if the next channel is free, and keeps the whole packet as store and forward does if it is busy.",
    source: Source {
        author: "P. Kermani and L. Kleinrock (1979)",
        work: "Virtual cut-through: a new computer communication switching technique",
    },
    symbols: &[
        PACKET,
        WIDTH,
        RATE,
        DISTANCE,
        symbol("H", "B", "size of the header").or(&["header"]),
        symbol("B", "", "share of channels found busy, from 0 to 1").or(&["busy"]).at_most(1.0),
    ],
    equations: &[
        derived(
            Quantity::Latency,
            "d*(B*PT + (1 - B)*H)/L/F",
            "each channel on the way costs the header, or the whole packet if it is busy; how long one waits there is not counted",
        ),
        derived(Quantity::Time, "(PT + d*(B*PT + (1 - B)*H))/L/F", "the latency in 2.1 of Zuffo, with PT/L moves in place of MT"),
    ],
};
