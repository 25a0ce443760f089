//! Prints a machine as text.

use std::io::{self, Write};
use std::path::Path;

use sintonia_machine::{
    ArithmeticCosts, ArithmeticOp, CollectiveCost, Machine, MemoryAccess, MemoryLevel, Named, NetworkCosts, NodeType, OperationTiming,
    UncertainValue,
};

use crate::text;

/// The message sizes of the columns.
const SHOWN_SIZES: [u64; 6] = [0, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20];

pub(super) fn render(out: &mut dyn Write, machine: &Machine, path: &Path) -> io::Result<()> {
    write_header(out, machine, path)?;
    machine.nodes.iter().try_for_each(|one| write_node(out, one))?;
    for (class, one) in &machine.networks {
        write_network(out, class.name(), one)?;
    }
    write_collectives(out, machine)?;
    if !machine.metadata.notes.is_empty() {
        writeln!(out, "\nNotes")?;
        machine.metadata.notes.iter().try_for_each(|note| writeln!(out, "  {note}"))?;
    }
    Ok(())
}

fn write_header(out: &mut dyn Write, machine: &Machine, path: &Path) -> io::Result<()> {
    let about = &machine.metadata;
    let parts = [
        about.mpi.clone(),
        about.processes.map(|count| format!("{count} process{}", if count == 1 { "" } else { "es" })),
        about.launches.map(|count| format!("{count} launch{}", if count == 1 { "" } else { "es" })),
        about.date.clone(),
        about.source.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    writeln!(out, "{}: {}{}{}", path.display(), about.name, if parts.is_empty() { "" } else { ", " }, parts.join(", "))?;
    if about.oversubscribed {
        writeln!(out, "Oversubscribed: processes shared cores, so times include scheduling.")?;
    }
    if let Some(disturbance) = about.disturbance.filter(|disturbance| *disturbance > 0.0) {
        writeln!(out, "Disturbed: costs may be {}.", disturbance_text(disturbance))?;
    }
    Ok(())
}

/// How far costs may be off.
pub(super) fn disturbance_text(disturbance: f64) -> String {
    match disturbance {
        share if share < 1.0 => format!("smaller or larger by {}", text::format_percent(share)),
        factor => format!("{:.0} times smaller or larger: measure again when the machine is quieter", 1.0 + factor),
    }
}

fn write_node(out: &mut dyn Write, node: &NodeType) -> io::Result<()> {
    writeln!(out, "\n{} of {} ({})", text::format_plural(node.count, "node"), node.kind, text::format_plural(node.cores, "core"))?;
    write_costs(out, "ns", &node.compute)?;
    write_costs(out, "ns, Java", &node.java)?;
    if !node.memory.is_empty() {
        writeln!(out, "  {:<12}{:>10}{:>10}{:>12}{:>12}{:>12}", "memory", "holds", "latency", "read", "write", "copy")?;
    }
    node.memory.iter().try_for_each(|one| write_memory_level(out, one))
}

/// Operations by type: latency and inverse throughput of each.
fn write_costs(out: &mut dyn Write, title: &str, costs: &ArithmeticCosts) -> io::Result<()> {
    if costs.is_empty() {
        return Ok(());
    }
    write!(out, "  {title:<12}")?;
    costs.keys().try_for_each(|of| write!(out, "{:>10}{:>9}", of.name(), "closely"))?;
    writeln!(out)?;
    for what in ArithmeticOp::ALL.iter().filter(|what| costs.values().any(|costs| costs.contains_key(what))) {
        write!(out, "  {:<12}", what.name())?;
        for costs in costs.values() {
            let nanoseconds = |figure: UncertainValue| format!("{:.2}", figure.middle() * 1e9);
            let one = costs.get(what).map_or(["-".into(), "-".into()], |cost| [cost.latency, cost.throughput].map(nanoseconds));
            write!(out, "{:>10}{:>9}", one[0], one[1])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_memory_level(out: &mut dyn Write, level: &MemoryLevel) -> io::Result<()> {
    let holds = level.size_bytes.map_or("the rest".into(), text::binary_bytes);
    let latency = level.access.get(&MemoryAccess::Latency).map_or("-".into(), |figure| text::format_seconds(figure.middle()));
    write!(out, "  {:<12}{holds:>10}{latency:>10}", level.name)?;
    for access in [MemoryAccess::Read, MemoryAccess::Write, MemoryAccess::Copy] {
        let rate = level.access.get(&access).filter(|figure| figure.middle() > 0.0);
        let rate = rate.map_or("-".into(), |figure| format!("{}/s", text::format_bytes((1.0 / figure.middle()) as u64)));
        write!(out, "{rate:>12}")?;
    }
    writeln!(out)
}

fn write_size_header(out: &mut dyn Write, title: &str) -> io::Result<()> {
    write!(out, "  {title:<25}")?;
    SHOWN_SIZES.iter().try_for_each(|bytes| write!(out, "{:>9}", text::binary_bytes(*bytes)))?;
    writeln!(out, "{:>8}{:>7}", "pieces", "error")
}

fn write_timing(out: &mut dyn Write, title: &str, timing: &OperationTiming) -> io::Result<()> {
    write!(out, "  {title:<25}")?;
    let range = timing.measured.map_or([0, u64::MAX], |measured| measured.bytes);
    for bytes in SHOWN_SIZES {
        // Beyond the measured sizes there is only the model.
        let shown = bytes <= range[1] && bytes as f64 >= timing.pieces.from_bytes();
        let time = if shown { text::format_seconds(timing.pieces.at(bytes as f64)[1]) } else { "-".into() };
        write!(out, "{time:>9}")?;
    }
    let error = timing.measured.map_or("-".into(), |measured| format!("{:.1} %", measured.mean_error_percent));
    writeln!(out, "{:>8}{error:>7}", timing.pieces.bounded().len() + 1)
}

fn write_network(out: &mut dyn Write, name: &str, network: &NetworkCosts) -> io::Result<()> {
    write!(out, "\nMessages, {}", name.replace('_', " "))?;
    if let Some(bytes) = network.eager_bytes {
        write!(out, "; eager up to {}", text::format_plural(bytes, "byte"))?;
    }
    if let Some(bytes) = network.unattended_bytes.filter(|bytes| network.eager_bytes != Some(*bytes)) {
        write!(out, " ({} while the receiver is not in MPI)", text::format_count(bytes))?;
    }
    if let Some(bytes) = network.detached_bytes {
        write!(out, "; buffered by the sender up to {}", text::format_plural(bytes, "byte"))?;
    }
    writeln!(out)?;
    write_size_header(out, "")?;
    for (what, timing) in &network.messages {
        write_timing(out, &what.name().replace('_', " "), timing)?;
    }
    if !network.overlap.is_empty() {
        let shares: Vec<String> = network
            .overlap
            .iter()
            .map(|point| format!("{} of {}", text::format_percent(point.share.middle()), text::binary_bytes(point.bytes)))
            .collect();
        writeln!(out, "  overlapped with computation: {}", shares.join(", "))?;
    }
    Ok(())
}

fn write_collectives(out: &mut dyn Write, machine: &Machine) -> io::Result<()> {
    if machine.collective_costs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nCollectives")?;
    write_size_header(out, "")?;
    for (what, group) in &machine.collective_costs {
        write_collective(out, what.name(), group)?;
    }
    Ok(())
}

fn write_collective(out: &mut dyn Write, name: &str, group: &CollectiveCost) -> io::Result<()> {
    let name = name.replace('_', " ");
    group.timings.iter().try_for_each(|at| write_timing(out, &format!("{name:<21}{:>4}", at.processes), &at.timing))
}
