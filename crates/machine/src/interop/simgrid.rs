//! SimGrid platforms with the keys of SMPI: CPU overhead of sending and receiving (`smpi/os`, `smpi/ois`, `smpi/or`), thresholds, and factors of
//! latency and bandwidth by message size.
//!
//! In SMPI a message takes `os`, then latency plus size over bandwidth, then `or`. A transfer of a machine is the sum, so the network's part is
//! the transfer less the overhead of both ends. SMPI applies `os` and `or` only to messages that `MPI_Send` detaches; for larger ones everything
//! is the network's. In a list `size:value;…` a value applies above its size and up to the next one. On the network a message is 16 bytes
//! larger than in the program.

mod read;

use super::{IncompleteMachine, bandwidth, outermost_network, required_timing};
use crate::{ArithmeticOp, Machine, MessageMetric, NetworkCosts, NumberType, PiecewiseCost};
pub use read::parse;

/// Bytes that SMPI adds to each message on the network.
const ENVELOPE: u64 = 16;

/// The largest size that SimGrid accepts in a list.
const LARGEST: u64 = i32::MAX as u64;

/// A line in seconds, without intervals.
#[derive(Clone, Copy)]
struct ExactLine {
    intercept: f64,
    slope: f64,
}

impl ExactLine {
    fn at(&self, bytes: f64) -> f64 {
        self.intercept + self.slope * bytes
    }
}

/// Lines, each valid above a size and up to the next.
type SizeSections = Vec<(u64, ExactLine)>;

/// The largest message that `MPI_Send` detaches in SMPI.
fn detached_limit(network: &NetworkCosts) -> u64 {
    /// Default of SMPI.
    const DEFAULT: u64 = 65_535;
    network.eager_bytes.max(network.detached_bytes).unwrap_or(DEFAULT)
}

/// The machine as a platform.
pub fn to_platform(machine: &Machine) -> Result<String, IncompleteMachine> {
    let (class, network) = outermost_network(machine)?;
    let transfer = &required_timing(machine, class, network, MessageMetric::Transfer)?.pieces;
    let busy = |what: MessageMetric| network.messages.get(&what).map(|timing| cost_sections(&timing.pieces)).unwrap_or_default();
    let sending = if network.messages.contains_key(&MessageMetric::Send) { MessageMetric::Send } else { MessageMetric::StartSend };
    let ends = [busy(sending), busy(MessageMetric::Receive)].map(|end| truncated(with_free_empty_message(end), detached_limit(network)));
    let (wire, [send, receive]) = split_transfer(&cost_sections(transfer), ends);
    let wire = with_envelope(&wire);
    // The largest latency, so that all factors are at most 1: SimGrid has no times below a nanosecond.
    let latency = wire.iter().map(|(_, line)| line.intercept).fold(1e-8, f64::max);
    let rate = bandwidth(transfer.last());
    let mut keys = vec![
        ("smpi/lat-factor", smpi_list(&wire, |line| six_digits(line.intercept / latency))),
        ("smpi/bw-factor", smpi_list(&wire, |line| six_digits(1.0 / (line.slope.max(1e-13) * rate)))),
    ];
    let both = |line: &ExactLine| format!("{}:{}", six_digits(line.intercept), six_digits(line.slope));
    let ends = [("smpi/os", send), ("smpi/ois", busy(MessageMetric::StartSend)), ("smpi/or", receive)];
    keys.extend(ends.into_iter().filter(|(_, sections)| !sections.is_empty()).map(|(key, sections)| (key, smpi_list(&sections, both))));
    // SMPI's thresholds are exclusive.
    let thresholds = [("smpi/async-small-thresh", network.eager_bytes), ("smpi/send-is-detached-thresh", Some(detached_limit(network)))];
    keys.extend(thresholds.into_iter().filter_map(|(key, bytes)| Some((key, bytes?.saturating_add(1).to_string()))));
    Ok(platform_xml(machine, &keys, latency, rate))
}

/// Splits a transfer into network and overhead of both ends. The overhead is reduced where it exceeds the transfer, since part of it
/// overlapped. The sum is always the transfer.
fn split_transfer(transfer: &SizeSections, [send, receive]: [SizeSections; 2]) -> (SizeSections, [SizeSections; 2]) {
    let (mut wire, mut ends) = (SizeSections::new(), [SizeSections::new(), SizeSections::new()]);
    for above in section_bounds([transfer, &send, &receive]) {
        let whole = line_above(transfer, above);
        let parts = [line_above(&send, above), line_above(&receive, above)];
        let share = |whole: f64, parts: f64| if parts > whole { whole / parts } else { 1.0 };
        // The envelope's transfer time is not part of the overhead.
        let beside_envelope = whole.at(-(ENVELOPE as f64)).max(0.0);
        let factor =
            share(beside_envelope, parts[0].intercept + parts[1].intercept).min(share(whole.slope, parts[0].slope + parts[1].slope));
        let scaled = parts.map(|part| ExactLine { intercept: factor * part.intercept, slope: factor * part.slope });
        let left = |of: fn(&ExactLine) -> f64| (of(&whole) - of(&scaled[0]) - of(&scaled[1])).max(0.0);
        wire.push((above, ExactLine { intercept: left(|line| line.intercept), slope: left(|line| line.slope) }));
        ends.iter_mut().zip(scaled).for_each(|(end, line)| end.push((above, line)));
    }
    (wire, ends)
}

/// Shifts sections by the envelope. The first section also applies to empty messages, which are only an envelope.
fn with_envelope(wire: &SizeSections) -> SizeSections {
    let inside = |line: &ExactLine| ExactLine { intercept: line.at(-(ENVELOPE as f64)).max(0.0), slope: line.slope };
    let beyond = |above: u64| if above == 0 { 0 } else { above.saturating_add(ENVELOPE) };
    wire.iter().map(|(above, line)| (beyond(*above), inside(line))).collect()
}

fn platform_xml(machine: &Machine, keys: &[(&str, String)], latency: f64, rate: f64) -> String {
    let nodes = machine.nodes.iter().map(|node| node.count).fold(0, u64::saturating_add).max(2);
    let first = machine.nodes.first();
    let addition = first.and_then(|node| node.compute.get(&NumberType::Float64)?.get(&ArithmeticOp::Add));
    let speed = addition.map_or(1e9, |cost| 1.0 / cost.throughput.middle().max(1e-12));
    let props: String = keys.iter().map(|(key, value)| format!("    <prop id=\"{key}\" value=\"{value}\"/>\n")).collect();
    format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <!-- The machine {}, written by Sintonia. The path between two nodes has two links, each with half of the latency. -->\n\
         <platform version=\"4.1\">\n  <config>\n{props}  </config>\n  \
         <cluster id=\"machine\" prefix=\"node-\" suffix=\"\" radical=\"0-{}\" speed=\"{}f\" core=\"{}\" bw=\"{}Bps\" lat=\"{}s\"/>\n\
         </platform>\n",
        machine.metadata.name.replace("--", "__").replace(['<', '>', '&'], "_"),
        nodes - 1,
        six_digits(speed),
        first.map_or(1, |node| node.cores),
        six_digits(rate),
        six_digits(latency / 2.0)
    )
}

/// The lines of pieces, each with its lower size; no line has a negative time at size 0, since a latency cannot be negative.
fn cost_sections(pieces: &PiecewiseCost) -> SizeSections {
    let mut sections: SizeSections = Vec::new();
    let mut above = 0;
    for (bound, line) in pieces.iter() {
        let up_to = bound.map(|bound| bound.middle() as u64);
        let line = ExactLine { intercept: line.intercept.middle(), slope: line.slope.middle() };
        sections.extend(
            non_negative_sections(line, above.max(pieces.from_bytes() as u64), up_to)
                .into_iter()
                .map(|(from, line)| (from.max(above), line)),
        );
        above = up_to.unwrap_or(above);
    }
    if let Some((above, _)) = sections.first_mut() {
        *above = 0;
    }
    sections
}

/// The line above a size; a line with negative intercept is approximated by lines through zero, one for each doubling of the size.
fn non_negative_sections(line: ExactLine, above: u64, up_to: Option<u64>) -> SizeSections {
    if line.intercept >= 0.0 || above == 0 {
        return vec![(above, ExactLine { intercept: line.intercept.max(0.0), slope: line.slope.max(0.0) })];
    }
    let sizes =
        std::iter::successors(Some(above), |size| Some(size.saturating_mul(2))).take_while(|size| *size == above || *size <= LARGEST);
    let middle = |size: u64| size as f64 * std::f64::consts::SQRT_2;
    let through = |size: u64| ExactLine { intercept: 0.0, slope: (line.at(middle(size)) / middle(size)).max(0.0) };
    sizes.take_while(|size| up_to.is_none_or(|end| *size < end)).map(|size| (size, through(size))).collect()
}

/// Starts the sections above one byte. Versions of SMPI differ at size 0: they use the first of a list, or nothing. So the first is zero, and the
/// network has all of the time of empty messages.
fn with_free_empty_message(sections: SizeSections) -> SizeSections {
    if sections.is_empty() {
        return sections;
    }
    [(0, ZERO_COST)].into_iter().chain(sections.into_iter().map(|(above, line)| (above.max(1), line))).collect()
}

/// Sections up to a size, and zero beyond.
fn truncated(sections: SizeSections, end: u64) -> SizeSections {
    if sections.is_empty() {
        return sections;
    }
    sections.into_iter().filter(|(above, _)| *above < end).chain([(end, ZERO_COST)]).collect()
}

const ZERO_COST: ExactLine = ExactLine { intercept: 0.0, slope: 0.0 };

/// The line just above a size.
fn line_above(sections: &SizeSections, above: u64) -> ExactLine {
    sections.iter().rev().find(|(begins, _)| *begins <= above).map_or(ZERO_COST, |(_, line)| *line)
}

/// The sizes where any of the lists changes.
fn section_bounds<'a>(lists: impl IntoIterator<Item = &'a SizeSections>) -> Vec<u64> {
    let mut bounds: Vec<u64> = lists.into_iter().flatten().map(|(above, _)| *above).collect();
    bounds.sort_unstable();
    bounds.dedup();
    bounds
}

/// The sum of lists of sections.
fn sum_sections(lists: &[SizeSections]) -> SizeSections {
    let add = |one: ExactLine, other: ExactLine| ExactLine { intercept: one.intercept + other.intercept, slope: one.slope + other.slope };
    let line = |above: u64| lists.iter().map(|sections| line_above(sections, above)).fold(ZERO_COST, add);
    section_bounds(lists).into_iter().map(|above| (above, line(above))).collect()
}

/// A list as SMPI reads it, without repeated values.
fn smpi_list(sections: &SizeSections, value: impl Fn(&ExactLine) -> String) -> String {
    let mut said: Vec<(u64, String)> =
        sections.iter().filter(|(above, _)| *above <= LARGEST).map(|(above, line)| (*above, value(line))).collect();
    said.dedup_by(|next, before| next.1 == before.1);
    said.iter().map(|(above, value)| format!("{above}:{value}")).collect::<Vec<_>>().join(";")
}

/// Formats six digits.
fn six_digits(value: f64) -> String {
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

    /// The values of a list at a size, as looked up since SMPI 3.33; none at or below the first, where 3.32 uses the first.
    fn listed(text: &str, key: &str, size: u64) -> Option<Vec<f64>> {
        let sections = value(text, &format!("id=\"smpi/{key}\" value=\"")).split(';').map(|section| {
            let mut numbers = section.split(':').map(|number| number.parse::<f64>().unwrap());
            (numbers.next().unwrap() as u64, numbers.collect::<Vec<_>>())
        });
        sections.rev().find(|(above, _)| size > *above).map(|(_, values)| values)
    }

    /// Half a round trip in SMPI, by the arithmetic of its source.
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
        let platform = to_platform(&machine).unwrap();
        let transfer = &machine.networks.values().next().unwrap().messages[&MessageMetric::Transfer].pieces;
        assert!(!platform.contains(":0:0;4"), "repeated values are dropped: {platform}");
        for bytes in [0, 1, 15, 16, 17, 240, 255, 256, 257, 300, 301, 1000, 4024, 4039, 4040, 4041, 4056, 4057, 65_536, 2_000_000] {
            let [ours, theirs] = [transfer.at(bytes as f64)[1], simulated(&platform, bytes)];
            assert!((theirs / ours - 1.0).abs() < 1e-3, "{bytes}: {ours} {theirs}\n{platform}");
        }
        // A line with negative intercept has no latency that SMPI could represent: it is approximated.
        for bytes in [2_000_001, 4_000_000, 64 << 20] {
            let [ours, theirs] = [transfer.at(bytes as f64)[1], simulated(&platform, bytes)];
            assert!((theirs / ours - 1.0).abs() < 0.06, "{bytes}: {ours} {theirs}\n{platform}");
        }
    }
}
