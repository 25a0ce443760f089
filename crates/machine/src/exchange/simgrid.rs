//! Platforms of SimGrid with the keys that SMPI reads: what sending and receiving keep a processor busy with (`smpi/os`, `smpi/ois`,
//! `smpi/or`), the thresholds, and by what factors latency and bandwidth change with the size of a message.
//!
//! SMPI adds up what is kept apart there: a message takes `os`, then latency and size over bandwidth, then `or`. A transfer of ours is the
//! sum, so the share of the network is the transfer less what the two ends are busy with. Beyond the eager threshold a send lasts as long as
//! its transfer, and so it is the network's alone. In a list `size:value;…` a value holds above its size and up to the next one.

mod read;

use super::{Lacking, bandwidth, needed, widest};
use crate::{Arithmetic, Machine, Message, NumberType, Pieces};
pub use read::parse;

/// A straight line as seconds, without intervals.
#[derive(Clone, Copy)]
struct Plain {
    intercept: f64,
    slope: f64,
}

/// What holds above a size, up to the next.
type Sections = Vec<(u64, Plain)>;

/// The machine as a platform.
pub fn text(machine: &Machine) -> Result<String, Lacking> {
    let (class, network) = widest(machine)?;
    let transfer = &needed(machine, class, network, Message::Transfer)?.pieces;
    let busy =
        |what: Message, up_to: Option<u64>| network.messages.get(&what).map(|timing| sections(&timing.pieces, up_to)).unwrap_or_default();
    let sending = if network.messages.contains_key(&Message::StartSend) { Message::StartSend } else { Message::Send };
    let ends = [busy(sending, network.eager_bytes), busy(Message::Receive, network.eager_bytes)];
    let (wire, [send, receive]) = apart(&sections(transfer, None), ends);
    // The greatest of them, so that factors only shorten it: SimGrid knows no time below a nanosecond.
    let latency = wire.iter().map(|(_, line)| line.intercept).fold(1e-8, f64::max);
    let rate = bandwidth(transfer.last());
    let mut keys = vec![
        ("smpi/lat-factor", list(&wire, |line| number(line.intercept / latency))),
        ("smpi/bw-factor", list(&wire, |line| number(1.0 / (line.slope.max(1e-13) * rate)))),
    ];
    let both = |line: &Plain| format!("{}:{}", number(line.intercept), number(line.slope));
    let ends = [("smpi/os", send), ("smpi/ois", busy(Message::StartSend, None)), ("smpi/or", receive)];
    keys.extend(ends.into_iter().filter(|(_, sections)| !sections.is_empty()).map(|(key, sections)| (key, list(&sections, both))));
    // Sizes below the threshold are sent so, not the threshold itself.
    let thresholds = [("smpi/async-small-thresh", network.eager_bytes), ("smpi/send-is-detached-thresh", network.detached_bytes)];
    keys.extend(thresholds.into_iter().filter_map(|(key, bytes)| Some((key, (bytes? + 1).to_string()))));
    Ok(platform(machine, &keys, latency, rate))
}

/// What of a transfer is the network's, and what the two ends are busy with: less than measured where that would leave the network less
/// than nothing, since a part of it went on at the same time. The sum is the transfer in any case.
fn apart(transfer: &Sections, [send, receive]: [Sections; 2]) -> (Sections, [Sections; 2]) {
    let mut bounds: Vec<u64> = [transfer, &send, &receive].into_iter().flatten().map(|(above, _)| *above).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let (mut wire, mut ends) = (Sections::new(), [Sections::new(), Sections::new()]);
    for above in bounds {
        let whole = at(transfer, above);
        let whole = Plain { intercept: whole.intercept.max(0.0), slope: whole.slope.max(0.0) };
        let parts = [at(&send, above), at(&receive, above)];
        let share = |whole: f64, parts: f64| if parts > whole { whole / parts } else { 1.0 };
        let factor =
            share(whole.intercept, parts[0].intercept + parts[1].intercept).min(share(whole.slope, parts[0].slope + parts[1].slope));
        let scaled = parts.map(|part| Plain { intercept: factor * part.intercept, slope: factor * part.slope });
        let left = |of: fn(&Plain) -> f64| (of(&whole) - of(&scaled[0]) - of(&scaled[1])).max(0.0);
        wire.push((above, Plain { intercept: left(|line| line.intercept), slope: left(|line| line.slope) }));
        ends.iter_mut().zip(scaled).for_each(|(end, line)| end.push((above, line)));
    }
    (wire, ends)
}

fn platform(machine: &Machine, keys: &[(&str, String)], latency: f64, rate: f64) -> String {
    let nodes: u64 = machine.nodes.iter().map(|node| node.count).sum::<u64>().max(2);
    let first = machine.nodes.first();
    let addition = first.and_then(|node| node.compute.get(&NumberType::Float64)?.get(&Arithmetic::Add));
    let speed = addition.map_or(1e9, |cost| 1.0 / cost.throughput.middle().max(1e-12));
    let props: String = keys.iter().map(|(key, value)| format!("    <prop id=\"{key}\" value=\"{value}\"/>\n")).collect();
    format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <!-- The machine {}, written by Sintonia. The path between two nodes has two links, each with half of the latency. -->\n\
         <platform version=\"4.1\">\n  <config>\n{props}  </config>\n  \
         <cluster id=\"machine\" prefix=\"node-\" suffix=\"\" radical=\"0-{}\" speed=\"{}f\" core=\"{}\" bw=\"{}Bps\" lat=\"{}s\"/>\n\
         </platform>\n",
        machine.about.name.replace("--", "__").replace(['<', '>', '&'], "_"),
        nodes - 1,
        number(speed),
        first.map_or(1, |node| node.cores),
        number(rate),
        number(latency / 2.0)
    )
}

/// The lines of pieces, each with the size above which it holds; beyond `up_to`, nothing takes time.
fn sections(pieces: &Pieces, up_to: Option<u64>) -> Sections {
    let mut sections: Sections = Vec::new();
    let mut above = pieces.from_bytes() as u64;
    for (bound, line) in pieces.iter() {
        if up_to.is_none_or(|end| above < end) {
            sections.push((above, Plain { intercept: line.intercept.middle(), slope: line.slope.middle() }));
        }
        above = bound.map_or(above, |bound| bound.middle() as u64);
    }
    sections.extend(up_to.map(|end| (end, NOTHING)));
    sections
}

/// What takes no time.
const NOTHING: Plain = Plain { intercept: 0.0, slope: 0.0 };

/// The line that holds just above a size.
fn at(sections: &Sections, above: u64) -> Plain {
    sections.iter().rev().find(|(begins, _)| *begins <= above).map_or(NOTHING, |(_, line)| *line)
}

/// The sum of two lists of sections.
fn sum(one: &Sections, other: &Sections) -> Sections {
    let mut bounds: Vec<u64> = one.iter().chain(other).map(|(above, _)| *above).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let line = |above: u64| {
        let (one, other) = (at(one, above), at(other, above));
        Plain { intercept: one.intercept + other.intercept, slope: one.slope + other.slope }
    };
    bounds.into_iter().map(|above| (above, line(above))).collect()
}

fn list(sections: &Sections, value: impl Fn(&Plain) -> String) -> String {
    sections.iter().map(|(above, line)| format!("{above}:{}", value(line))).collect::<Vec<_>>().join(";")
}

/// Six digits.
fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}
