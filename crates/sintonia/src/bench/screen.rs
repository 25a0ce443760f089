//! A machine on the terminal.

use std::io::{self, Write};
use std::path::Path;

use sintonia_machine::{Access, Arithmetic, Costs, Figure, Group, Machine, MemoryLevel, Named, Network, Node, Timing};

use crate::text;

/// The sizes of messages that are shown.
const SIZES: [u64; 6] = [0, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20];

pub fn show(out: &mut dyn Write, machine: &Machine, path: &Path) -> io::Result<()> {
    head(out, machine, path)?;
    machine.nodes.iter().try_for_each(|one| node(out, one))?;
    for (class, one) in &machine.networks {
        network(out, class.name(), one)?;
    }
    groups(out, machine)?;
    if !machine.about.notes.is_empty() {
        writeln!(out, "\nNotes")?;
        machine.about.notes.iter().try_for_each(|note| writeln!(out, "  {note}"))?;
    }
    Ok(())
}

fn head(out: &mut dyn Write, machine: &Machine, path: &Path) -> io::Result<()> {
    let about = &machine.about;
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
        writeln!(out, "Oversubscribed: processes shared cores, so times are those of the scheduler, too.")?;
    }
    Ok(())
}

fn node(out: &mut dyn Write, node: &Node) -> io::Result<()> {
    writeln!(out, "\n{} of {} ({})", text::plural(node.count, "node"), node.kind, text::plural(node.cores, "core"))?;
    costs(out, "ns", &node.compute)?;
    costs(out, "ns, Java", &node.java)?;
    if !node.memory.is_empty() {
        writeln!(out, "  {:<12}{:>10}{:>10}{:>12}{:>12}{:>12}", "memory", "holds", "latency", "read", "write", "copy")?;
    }
    node.memory.iter().try_for_each(|one| level(out, one))
}

/// Operations by type: the latency of each, and its throughput.
fn costs(out: &mut dyn Write, title: &str, costs: &Costs) -> io::Result<()> {
    if costs.is_empty() {
        return Ok(());
    }
    write!(out, "  {title:<12}")?;
    costs.keys().try_for_each(|of| write!(out, "{:>10}{:>9}", of.name(), "closely"))?;
    writeln!(out)?;
    for what in Arithmetic::ALL.iter().filter(|what| costs.values().any(|costs| costs.contains_key(what))) {
        write!(out, "  {:<12}", what.name())?;
        for costs in costs.values() {
            let nanoseconds = |figure: Figure| format!("{:.2}", figure.middle() * 1e9);
            let one = costs.get(what).map_or(["-".into(), "-".into()], |cost| [cost.latency, cost.throughput].map(nanoseconds));
            write!(out, "{:>10}{:>9}", one[0], one[1])?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn level(out: &mut dyn Write, level: &MemoryLevel) -> io::Result<()> {
    let holds = level.size_bytes.map_or("the rest".into(), text::binary_bytes);
    let latency = level.access.get(&Access::Latency).map_or("-".into(), |figure| text::seconds(figure.middle()));
    write!(out, "  {:<12}{holds:>10}{latency:>10}", level.name)?;
    for access in [Access::Read, Access::Write, Access::Copy] {
        let rate = level.access.get(&access).filter(|figure| figure.middle() > 0.0);
        let rate = rate.map_or("-".into(), |figure| format!("{}/s", text::bytes((1.0 / figure.middle()) as u64)));
        write!(out, "{rate:>12}")?;
    }
    writeln!(out)
}

fn sizes(out: &mut dyn Write, title: &str) -> io::Result<()> {
    write!(out, "  {title:<25}")?;
    SIZES.iter().try_for_each(|bytes| write!(out, "{:>9}", text::binary_bytes(*bytes)))?;
    writeln!(out, "{:>8}{:>7}", "pieces", "error")
}

fn row(out: &mut dyn Write, title: &str, timing: &Timing) -> io::Result<()> {
    write!(out, "  {title:<25}")?;
    let range = timing.measured.map_or([0, u64::MAX], |measured| measured.bytes);
    for bytes in SIZES {
        // What lies beyond the measured sizes is the model's word, not the machine's.
        let shown = bytes <= range[1] && bytes as f64 >= timing.pieces.from_bytes();
        let time = if shown { text::seconds(timing.pieces.at(bytes as f64)[1]) } else { "-".into() };
        write!(out, "{time:>9}")?;
    }
    let error = timing.measured.map_or("-".into(), |measured| format!("{:.1} %", measured.mean_error_percent));
    writeln!(out, "{:>8}{error:>7}", timing.pieces.bounded().len() + 1)
}

fn network(out: &mut dyn Write, name: &str, network: &Network) -> io::Result<()> {
    write!(out, "\nMessages, {}", name.replace('_', " "))?;
    if let Some(bytes) = network.eager_bytes {
        write!(out, "; eager up to {}", text::plural(bytes, "byte"))?;
    }
    if let Some(bytes) = network.unattended_bytes.filter(|bytes| network.eager_bytes != Some(*bytes)) {
        write!(out, " ({} while the receiver is not in MPI)", text::count(bytes))?;
    }
    if let Some(bytes) = network.detached_bytes {
        write!(out, "; copied at once up to {}", text::plural(bytes, "byte"))?;
    }
    writeln!(out)?;
    sizes(out, "")?;
    for (what, timing) in &network.messages {
        row(out, &what.name().replace('_', " "), timing)?;
    }
    if !network.overlap.is_empty() {
        let shares: Vec<String> = network
            .overlap
            .iter()
            .map(|point| format!("{} of {}", text::percent(point.share.middle()), text::binary_bytes(point.bytes)))
            .collect();
        writeln!(out, "  hidden by computation: {}", shares.join(", "))?;
    }
    Ok(())
}

fn groups(out: &mut dyn Write, machine: &Machine) -> io::Result<()> {
    if machine.groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nGroups")?;
    sizes(out, "")?;
    for (what, group) in &machine.groups {
        rows(out, what.name(), group)?;
    }
    Ok(())
}

fn rows(out: &mut dyn Write, name: &str, group: &Group) -> io::Result<()> {
    let name = name.replace('_', " ");
    group.at.iter().try_for_each(|at| row(out, &format!("{name:<21}{:>4}", at.processes), &at.timing))
}
