//! Message times between nodes, by switching technique.
//!
//! A distance d is the number of channels between the two end nodes' own: neighbours have d = 0. A channel is L wide and moves F such widths per
//! second, so a packet of size PT needs PT/L moves on each channel.

use super::{LawQuantity, LawSource, LawSymbol, PerformanceLaw, ZUFFO, derived, printed, symbol};

const PACKET: LawSymbol = symbol("PT", "B", "size of the packet").with_aliases(&["P"]);
const WIDTH: LawSymbol = symbol("L", "B", "width of a channel");
const RATE: LawSymbol = symbol("F", "1/s", "moves over a channel per second");
const DISTANCE: LawSymbol = symbol("d", "", "intermediate channels");

pub(super) static ADJACENT: PerformanceLaw = PerformanceLaw {
    name: "adjacent",
    title: "Message between neighbours",
    statement: "A message takes its latency, plus its size divided by the rate of the channel.",
    source: ZUFFO,
    symbols: &[
        symbol("Lc", "s", "latency").with_aliases(&["latency"]),
        symbol("MT", "B", "size of the message").with_aliases(&["bytes"]),
        symbol("F", "B/s", "rate").with_aliases(&["rate"]),
    ],
    equations: &[printed(LawQuantity::Time, "Lc + MT/F", "2.1")],
};

pub(super) static STORE_AND_FORWARD: PerformanceLaw = PerformanceLaw {
    name: "store-and-forward",
    title: "Store and forward",
    statement: "Every node on the route stores the whole packet before forwarding it, so time grows with size times distance.",
    source: ZUFFO,
    symbols: &[PACKET, WIDTH, RATE, DISTANCE],
    equations: &[printed(LawQuantity::Latency, "PT/L*d/F", "2.2"), printed(LawQuantity::Time, "PT/L*(d + 1)/F", "2.3")],
};

pub(super) static WORMHOLE: PerformanceLaw = PerformanceLaw {
    name: "wormhole",
    title: "Wormhole",
    statement: "The packet follows its header through all channels at once, so each hop adds one move instead of multiplying the size.",
    source: ZUFFO,
    symbols: &[PACKET, WIDTH, RATE, DISTANCE],
    equations: &[
        printed(LawQuantity::Latency, "d/F", "2.4"),
        derived(LawQuantity::Time, "(PT/L + d)/F", "2.4 in 2.1, with PT/L moves in place of MT"),
    ],
};

pub(super) static VIRTUAL_CUT_THROUGH: PerformanceLaw = PerformanceLaw {
    name: "virtual-cut-through",
    title: "Virtual cut-through",
    statement: "A node forwards a packet as soon as it has its header if the next channel is free, and stores the whole packet if it is busy.",
    source: LawSource {
        author: "P. Kermani and L. Kleinrock (1979)",
        work: "Virtual cut-through: a new computer communication switching technique",
    },
    symbols: &[
        PACKET,
        WIDTH,
        RATE,
        DISTANCE,
        symbol("H", "B", "size of the header").with_aliases(&["header"]),
        symbol("B", "", "share of channels found busy, from 0 to 1").with_aliases(&["busy"]).with_max(1.0),
    ],
    equations: &[
        derived(
            LawQuantity::Latency,
            "d*(B*PT + (1 - B)*H)/L/F",
            "each channel on the route costs the header, or the whole packet if it is busy; waiting time is not counted",
        ),
        derived(LawQuantity::Time, "(PT + d*(B*PT + (1 - B)*H))/L/F", "the latency in 2.1 of Zuffo, with PT/L moves in place of MT"),
    ],
};
