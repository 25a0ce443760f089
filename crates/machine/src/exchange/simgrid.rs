//! Platforms of SimGrid with the keys that SMPI reads: what sending and receiving keep a processor busy with (`smpi/os`, `smpi/ois`,
//! `smpi/or`), the thresholds, and by what factors latency and bandwidth change with the size of a message.
//!
//! SMPI adds up what is kept apart there: a message takes `os`, then latency and size over bandwidth, then `or`. A transfer of ours is the
//! sum, so the share of the network is the transfer less what the two ends are busy with. SMPI asks `os` and `or` only for messages that
//! `MPI_Send` gets rid of at once; of larger ones all is the network's. In a list `size:value;…` a value holds above its size and up to the
//! next one. To the network a message is 16 bytes larger than to the program.

mod read;

use super::{Lacking, bandwidth, needed, widest};
use crate::{Arithmetic, Machine, Message, Network, NumberType, Pieces};
pub use read::parse;

/// What SMPI adds to the size of each message for the network.
const ENVELOPE: u64 = 16;

/// The largest size that SimGrid reads in a list.
const LARGEST: u64 = i32::MAX as u64;

/// A straight line as seconds, without intervals.
#[derive(Clone, Copy)]
struct Plain {
    intercept: f64,
    slope: f64,
}

impl Plain {
    fn at(&self, bytes: f64) -> f64 {
        self.intercept + self.slope * bytes
    }
}

/// What holds above a size, up to the next.
type Sections = Vec<(u64, Plain)>;

/// The largest message that `MPI_Send` gets rid of at once, in SMPI.
fn detached(network: &Network) -> u64 {
    /// What SMPI takes when it is not told.
    const UNTOLD: u64 = 65_535;
    network.eager_bytes.max(network.detached_bytes).unwrap_or(UNTOLD)
}

/// The machine as a platform.
pub fn text(machine: &Machine) -> Result<String, Lacking> {
    let (class, network) = widest(machine)?;
    let transfer = &needed(machine, class, network, Message::Transfer)?.pieces;
    let busy = |what: Message| network.messages.get(&what).map(|timing| sections(&timing.pieces)).unwrap_or_default();
    let sending = if network.messages.contains_key(&Message::Send) { Message::Send } else { Message::StartSend };
    let ends = [busy(sending), busy(Message::Receive)].map(|end| ending(beginning(end), detached(network)));
    let (wire, [send, receive]) = apart(&sections(transfer), ends);
    let wire = enveloped(&wire);
    // The greatest of them, so that factors only shorten it: SimGrid knows no time below a nanosecond.
    let latency = wire.iter().map(|(_, line)| line.intercept).fold(1e-8, f64::max);
    let rate = bandwidth(transfer.last());
    let mut keys = vec![
        ("smpi/lat-factor", list(&wire, |line| number(line.intercept / latency))),
        ("smpi/bw-factor", list(&wire, |line| number(1.0 / (line.slope.max(1e-13) * rate)))),
    ];
    let both = |line: &Plain| format!("{}:{}", number(line.intercept), number(line.slope));
    let ends = [("smpi/os", send), ("smpi/ois", busy(Message::StartSend)), ("smpi/or", receive)];
    keys.extend(ends.into_iter().filter(|(_, sections)| !sections.is_empty()).map(|(key, sections)| (key, list(&sections, both))));
    // Sizes below the threshold are sent so, not the threshold itself.
    let thresholds = [("smpi/async-small-thresh", network.eager_bytes), ("smpi/send-is-detached-thresh", Some(detached(network)))];
    keys.extend(thresholds.into_iter().filter_map(|(key, bytes)| Some((key, bytes?.saturating_add(1).to_string()))));
    Ok(platform(machine, &keys, latency, rate))
}

/// What of a transfer is the network's, and what the two ends are busy with: less than measured where that would leave the network less
/// than nothing, since a part of it went on at the same time. The sum is the transfer in any case.
fn apart(transfer: &Sections, [send, receive]: [Sections; 2]) -> (Sections, [Sections; 2]) {
    let (mut wire, mut ends) = (Sections::new(), [Sections::new(), Sections::new()]);
    for above in bounds([transfer, &send, &receive]) {
        let whole = at(transfer, above);
        let parts = [at(&send, above), at(&receive, above)];
        let share = |whole: f64, parts: f64| if parts > whole { whole / parts } else { 1.0 };
        // What the envelope takes on the network is none of theirs.
        let beside_envelope = whole.at(-(ENVELOPE as f64)).max(0.0);
        let factor =
            share(beside_envelope, parts[0].intercept + parts[1].intercept).min(share(whole.slope, parts[0].slope + parts[1].slope));
        let scaled = parts.map(|part| Plain { intercept: factor * part.intercept, slope: factor * part.slope });
        let left = |of: fn(&Plain) -> f64| (of(&whole) - of(&scaled[0]) - of(&scaled[1])).max(0.0);
        wire.push((above, Plain { intercept: left(|line| line.intercept), slope: left(|line| line.slope) }));
        ends.iter_mut().zip(scaled).for_each(|(end, line)| end.push((above, line)));
    }
    (wire, ends)
}

/// The same for messages with an envelope. The first section is that of the smallest messages too, which are nothing but an envelope.
fn enveloped(wire: &Sections) -> Sections {
    let inside = |line: &Plain| Plain { intercept: line.at(-(ENVELOPE as f64)).max(0.0), slope: line.slope };
    let beyond = |above: u64| if above == 0 { 0 } else { above.saturating_add(ENVELOPE) };
    wire.iter().map(|(above, line)| (beyond(*above), inside(line))).collect()
}

fn platform(machine: &Machine, keys: &[(&str, String)], latency: f64, rate: f64) -> String {
    let nodes = machine.nodes.iter().map(|node| node.count).fold(0, u64::saturating_add).max(2);
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

/// The lines of pieces, each with the size above which it holds; none has a time below zero at size 0, for there is no such latency.
fn sections(pieces: &Pieces) -> Sections {
    let mut sections: Sections = Vec::new();
    let mut above = 0;
    for (bound, line) in pieces.iter() {
        let up_to = bound.map(|bound| bound.middle() as u64);
        let line = Plain { intercept: line.intercept.middle(), slope: line.slope.middle() };
        sections
            .extend(from_zero(line, above.max(pieces.from_bytes() as u64), up_to).into_iter().map(|(from, line)| (from.max(above), line)));
        above = up_to.unwrap_or(above);
    }
    if let Some((above, _)) = sections.first_mut() {
        *above = 0;
    }
    sections
}

/// A line above a size, or if it began below zero, lines that begin at zero and are close to it: one for each doubling of the size.
fn from_zero(line: Plain, above: u64, up_to: Option<u64>) -> Sections {
    if line.intercept >= 0.0 || above == 0 {
        return vec![(above, Plain { intercept: line.intercept.max(0.0), slope: line.slope.max(0.0) })];
    }
    let sizes =
        std::iter::successors(Some(above), |size| Some(size.saturating_mul(2))).take_while(|size| *size == above || *size <= LARGEST);
    let middle = |size: u64| size as f64 * std::f64::consts::SQRT_2;
    let through = |size: u64| Plain { intercept: 0.0, slope: (line.at(middle(size)) / middle(size)).max(0.0) };
    sizes.take_while(|size| up_to.is_none_or(|end| *size < end)).map(|size| (size, through(size))).collect()
}

/// The same from above one byte on. Versions of SMPI differ in what they take at size 0, the first of a list or nothing; so the first is
/// nothing, and the network has all of what the smallest messages take.
fn beginning(sections: Sections) -> Sections {
    if sections.is_empty() {
        return sections;
    }
    [(0, NOTHING)].into_iter().chain(sections.into_iter().map(|(above, line)| (above.max(1), line))).collect()
}

/// The same up to a size, beyond which nothing takes time.
fn ending(sections: Sections, end: u64) -> Sections {
    if sections.is_empty() {
        return sections;
    }
    sections.into_iter().filter(|(above, _)| *above < end).chain([(end, NOTHING)]).collect()
}

/// What takes no time.
const NOTHING: Plain = Plain { intercept: 0.0, slope: 0.0 };

/// The line that holds just above a size.
fn at(sections: &Sections, above: u64) -> Plain {
    sections.iter().rev().find(|(begins, _)| *begins <= above).map_or(NOTHING, |(_, line)| *line)
}

/// Where any of several lists changes.
fn bounds<'a>(lists: impl IntoIterator<Item = &'a Sections>) -> Vec<u64> {
    let mut bounds: Vec<u64> = lists.into_iter().flatten().map(|(above, _)| *above).collect();
    bounds.sort_unstable();
    bounds.dedup();
    bounds
}

/// The sum of lists of sections.
fn sum(lists: &[Sections]) -> Sections {
    let add = |one: Plain, other: Plain| Plain { intercept: one.intercept + other.intercept, slope: one.slope + other.slope };
    let line = |above: u64| lists.iter().map(|sections| at(sections, above)).fold(NOTHING, add);
    bounds(lists).into_iter().map(|above| (above, line(above))).collect()
}

/// A list as SMPI reads it, without what says the same again.
fn list(sections: &Sections, value: impl Fn(&Plain) -> String) -> String {
    let mut said: Vec<(u64, String)> =
        sections.iter().filter(|(above, _)| *above <= LARGEST).map(|(above, line)| (*above, value(line))).collect();
    said.dedup_by(|next, before| next.1 == before.1);
    said.iter().map(|(above, value)| format!("{above}:{value}")).collect::<Vec<_>>().join(";")
}

/// Six digits.
fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The value of a key or an attribute.
    fn value<'a>(text: &'a str, before: &str) -> &'a str {
        text.split_once(before).and_then(|(_, rest)| rest.split('"').next()).unwrap_or_else(|| panic!("no {before} in {text}"))
    }

    /// The values of a list at a size, as SMPI looks them up since 3.33; none at or below the first, where 3.32 takes the first.
    fn listed(text: &str, key: &str, size: u64) -> Option<Vec<f64>> {
        let sections = value(text, &format!("id=\"smpi/{key}\" value=\"")).split(';').map(|section| {
            let mut numbers = section.split(':').map(|number| number.parse::<f64>().unwrap());
            (numbers.next().unwrap() as u64, numbers.collect::<Vec<_>>())
        });
        sections.rev().find(|(above, _)| size > *above).map(|(_, values)| values)
    }

    /// What half of a round trip takes in SMPI, by the arithmetic of its source.
    fn simulated(platform: &str, bytes: u64) -> f64 {
        let attribute = |name: &str, unit: &str| value(platform, name).trim_end_matches(unit).parse::<f64>().unwrap();
        let (latency, rate) = (2.0 * attribute(" lat=\"", "s"), attribute(" bw=\"", "Bps"));
        let factor = |key: &str| listed(platform, key, bytes + 16).map_or(1.0, |values| values[0]);
        let network = latency * factor("lat-factor") + (bytes + 16) as f64 / (rate * factor("bw-factor"));
        let is_detached = bytes < value(platform, "send-is-detached-thresh\" value=\"").parse().unwrap();
        let end = |key: &str| listed(platform, key, bytes).map_or(0.0, |values| values[0] + values[1] * bytes as f64);
        network + if is_detached { end("os") + end("or") } else { 0.0 }
    }

    const MACHINE: &str = r#"
format = 1
machine = { name = "three lines" }
[network.same_node]
eager_bytes = 4040
detached_bytes = 4040
[network.same_node.transfer]
pieces = [
    { up_to_bytes = 256, intercept_s = 4.5e-7, slope_s_per_byte = 3e-9 },
    { up_to_bytes = 4040, intercept_s = 7e-7, slope_s_per_byte = 3.1e-10 },
    { up_to_bytes = 2000000, intercept_s = 2.6e-6, slope_s_per_byte = 1.1e-10 },
    { intercept_s = -4e-5, slope_s_per_byte = 1.4e-10 },
]
[network.same_node.send]
pieces = [
    { up_to_bytes = 300, intercept_s = 2e-7, slope_s_per_byte = 2e-10 },
    { intercept_s = 9e-7, slope_s_per_byte = 2e-10 },
]
[network.same_node.receive]
pieces = [{ intercept_s = 4e-7, slope_s_per_byte = 1e-10 }]
"#;

    #[test]
    fn a_message_takes_as_long_in_smpi_at_every_bound() {
        let machine = Machine::parse(MACHINE, Path::new("m.toml")).unwrap();
        let platform = text(&machine).unwrap();
        let transfer = &machine.networks.values().next().unwrap().messages[&Message::Transfer].pieces;
        assert!(!platform.contains(":0:0;4"), "what is the same is said once: {platform}");
        for bytes in [0, 1, 15, 16, 17, 240, 255, 256, 257, 300, 301, 1000, 4024, 4039, 4040, 4041, 4056, 4057, 65_536, 2_000_000] {
            let [ours, theirs] = [transfer.at(bytes as f64)[1], simulated(&platform, bytes)];
            assert!((theirs / ours - 1.0).abs() < 1e-3, "{bytes}: {ours} {theirs}\n{platform}");
        }
        // A line that begins below zero has no latency that SMPI could take: there it comes close.
        for bytes in [2_000_001, 4_000_000, 64 << 20] {
            let [ours, theirs] = [transfer.at(bytes as f64)[1], simulated(&platform, bytes)];
            assert!((theirs / ours - 1.0).abs() < 0.06, "{bytes}: {ours} {theirs}\n{platform}");
        }
    }
}
