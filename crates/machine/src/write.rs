//! Writing a machine file: numbers that can be read again, and comments that say what they are.

mod topology;

use std::fmt::Write;

use crate::read::FORMAT;
use crate::{About, Collectives, Costs, Figure, Group, Machine, Measured, Named, Network, Node, Pieces, Timing};

const HEAD: &str = "\
# A machine: what computing and communicating cost on it. docs/machine.md explains every key.
# A figure is [low, middle, high], or one number where no interval is known. Times are in seconds, sizes in bytes.
# Edit it as you like; `sintonia bench --from FILE` checks it.
";

pub fn text(machine: &Machine) -> String {
    let mut out = String::from(HEAD);
    // A String takes everything; an error cannot happen.
    let _ = write_all(&mut out, machine);
    out
}

fn write_all(out: &mut String, machine: &Machine) -> std::fmt::Result {
    writeln!(out, "format = {FORMAT}\n")?;
    about(out, &machine.about)?;
    machine.nodes.iter().try_for_each(|one| node(out, one))?;
    for (class, one) in &machine.networks {
        network(out, class.name(), one)?;
    }
    for (what, one) in &machine.groups {
        group(out, what.name(), one)?;
    }
    collectives(out, &machine.collectives)?;
    machine.topology.as_ref().map_or(Ok(()), |one| topology::topology(out, one))
}

fn about(out: &mut String, about: &About) -> std::fmt::Result {
    writeln!(out, "[machine]\nname = {}", quoted(&about.name))?;
    let texts = [("date", &about.date), ("source", &about.source), ("mpi", &about.mpi)];
    for (key, value) in texts.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
        writeln!(out, "{key} = {}", quoted(value))?;
    }
    if !about.launcher.is_empty() {
        writeln!(out, "launcher = {}", list(about.launcher.iter().map(|word| quoted(word))))?;
    }
    let counts = [("processes", about.processes), ("launches", about.launches), ("seed", about.seed)];
    for (key, value) in counts.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        writeln!(out, "{key} = {value}")?;
    }
    if about.oversubscribed {
        writeln!(out, "oversubscribed = true  # processes shared cores: times are those of the scheduler, too")?;
    }
    if let Some(confidence) = about.confidence {
        writeln!(out, "confidence = {}  # how often an interval holds the true value", number(confidence))?;
    }
    if !about.notes.is_empty() {
        writeln!(out, "notes = [")?;
        about.notes.iter().try_for_each(|note| writeln!(out, "    {},", quoted(note)))?;
        writeln!(out, "]")?;
    }
    Ok(())
}

fn node(out: &mut String, node: &Node) -> std::fmt::Result {
    writeln!(out, "\n# Nodes that are alike.\n[[node]]\nkind = {}\ncount = {}\ncores = {}", quoted(&node.kind), node.count, node.cores)?;
    if node.speed != Figure::ONE {
        writeln!(out, "speed = {}  # against the machine of a recording", figure(node.speed))?;
    }
    if !node.layout.hosts.is_empty() {
        let names: Vec<String> = node.layout.hosts.iter().map(|name| quoted(name)).collect();
        writeln!(out, "hosts = [{}]", names.join(", "))?;
    }
    if let Some(sockets) = node.layout.sockets {
        writeln!(out, "sockets = {sockets}")?;
    }
    if let Some(complexes) = node.layout.complexes {
        writeln!(out, "complexes = {complexes}  # groups of cores that share a cache")?;
    }
    let note = "One operation: latency_s when the next one needs its result, throughput_s when nothing waits for it, among others.";
    costs(out, "compute", note, &node.compute)?;
    costs(out, "java", "The same in a Java virtual machine.", &node.java)?;
    for (index, level) in node.memory.iter().enumerate() {
        let note = "\n# Memory, the nearest first: one access that must wait for the one before, and one byte among many.";
        writeln!(out, "{}\n[[node.memory]]\nlevel = {}", if index == 0 { note } else { "" }, quoted(&level.name))?;
        if let Some(size) = level.size_bytes {
            writeln!(out, "size_bytes = {size}")?;
        }
        for (access, value) in &level.access {
            writeln!(out, "{} = {}", access.key(), figure(*value))?;
        }
    }
    Ok(())
}

fn costs(out: &mut String, key: &str, note: &str, costs: &Costs) -> std::fmt::Result {
    for (index, (of, costs)) in costs.iter().enumerate() {
        let note = if index == 0 { format!("\n# {note}") } else { String::new() };
        writeln!(out, "{note}\n[node.{key}.{}]", of.name())?;
        for (what, cost) in costs {
            let [latency, throughput] = [cost.latency, cost.throughput].map(figure);
            writeln!(out, "{} = {{ latency_s = {latency}, throughput_s = {throughput} }}", what.name())?;
        }
    }
    Ok(())
}

fn network(out: &mut String, name: &str, network: &Network) -> std::fmt::Result {
    let note = match name {
        "same_complex" => "Messages between cores that share a cache.",
        "same_node" => "Messages between processes on one node.",
        _ => "Messages between nodes.",
    };
    writeln!(out, "\n# {note}\n[network.{name}]")?;
    if let Some(bytes) = network.eager_bytes {
        writeln!(out, "eager_bytes = {bytes}  # the largest message that MPI_Send gets rid of though nobody receives it yet")?;
    }
    if let Some(bytes) = network.unattended_bytes {
        writeln!(out, "unattended_bytes = {bytes}  # the same while the receiver does not even call MPI")?;
    }
    if let Some(bytes) = network.detached_bytes {
        writeln!(out, "detached_bytes = {bytes}  # the largest message that MPI_Isend has copied when it returns")?;
    }
    if !network.overlap.is_empty() {
        writeln!(out, "# The share of a transfer that the sender's computation hides.\noverlap = [")?;
        for point in &network.overlap {
            writeln!(out, "    {{ bytes = {}, share = {} }},", point.bytes, figure(point.share))?;
        }
        writeln!(out, "]")?;
    }
    for (what, one) in &network.messages {
        writeln!(out, "\n[network.{name}.{}]", what.name())?;
        timing(out, one)?;
    }
    Ok(())
}

fn group(out: &mut String, name: &str, group: &Group) -> std::fmt::Result {
    writeln!(out, "\n[group.{name}]\ngrowth = {}  # with p processes, beyond those measured", quoted(&group.growth.to_string()))?;
    for at in &group.at {
        writeln!(out, "\n[[group.{name}.at]]\nprocesses = {}", at.processes)?;
        timing(out, &at.timing)?;
    }
    Ok(())
}

fn collectives(out: &mut String, collectives: &Collectives) -> std::fmt::Result {
    if *collectives == Collectives::default() {
        return Ok(());
    }
    writeln!(
        out,
        "\n# How operations of groups are done: by the algorithm told, else by that which this library would choose.\n[collectives]"
    )?;
    if let Some(library) = &collectives.library {
        writeln!(out, "library = {}", quoted(library))?;
    }
    collectives.algorithms.iter().try_for_each(|(what, algorithm)| writeln!(out, "{} = {}", what.name(), quoted(algorithm)))
}

fn timing(out: &mut String, timing: &Timing) -> std::fmt::Result {
    if let Some(of) = &timing.measured {
        writeln!(out, "measured = {{ {} }}", measured(of))?;
    }
    if !timing.medians.is_empty() {
        let medians: Vec<String> = timing.medians.iter().map(|(bytes, seconds)| format!("[{bytes}, {}]", number(*seconds))).collect();
        writeln!(out, "medians = [{}]", medians.join(", "))?;
    }
    pieces(out, &timing.pieces)
}

fn measured(of: &Measured) -> String {
    format!(
        "bytes = [{}, {}], sizes = {}, samples = {}, outliers = {}, mean_error_percent = {}, worst_error_percent = {}",
        of.bytes[0],
        of.bytes[1],
        of.sizes,
        of.samples,
        of.outliers,
        number(of.mean_error_percent),
        number(of.worst_error_percent)
    )
}

fn pieces(out: &mut String, pieces: &Pieces) -> std::fmt::Result {
    writeln!(out, "pieces = [")?;
    for (index, (bound, line)) in pieces.iter().enumerate() {
        let from =
            if index == 0 && pieces.from_bytes() > 0.0 { format!("from_bytes = {}, ", number(pieces.from_bytes())) } else { String::new() };
        let up_to = bound.map_or(String::new(), |bound| format!("up_to_bytes = {}, ", figure(bound)));
        let [intercept, slope] = [line.intercept, line.slope].map(figure);
        writeln!(out, "    {{ {from}{up_to}intercept_s = {intercept}, slope_s_per_byte = {slope} }},")?;
    }
    writeln!(out, "]")
}

fn figure(figure: Figure) -> String {
    let [low, middle, high] = <[f64; 3]>::from(figure).map(number);
    if figure.is_exact() { middle } else { format!("[{low}, {middle}, {high}]") }
}

/// The shortest text that reads as this number.
fn number(number: f64) -> String {
    let size = number.abs();
    match number {
        0.0 => "0".into(),
        _ if (1e-3..1e15).contains(&size) => format!("{number}"),
        _ => format!("{number:e}"),
    }
}

fn list(words: impl Iterator<Item = String>) -> String {
    format!("[{}]", words.collect::<Vec<_>>().join(", "))
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            control if control.is_control() => out += &format!("\\u{:04X}", u32::from(control)),
            plain => out.push(plain),
        }
    }
    out + "\""
}
