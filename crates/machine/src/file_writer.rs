//! Writes a machine file with comments.

mod topology;

use std::fmt::Write;

use crate::file_reader::FORMAT;
use crate::{
    ArithmeticCosts, CollectiveAlgorithms, CollectiveCost, Machine, MachineMetadata, MeasurementSummary, Named, NetworkCosts, NodeType,
    OperationTiming, PiecewiseCost, UncertainValue,
};

const HEAD: &str = "\
# A machine: costs of computation and communication. docs/machine.md explains every key.
# A value is [low, middle, high], or one number where no interval is known. Times are in seconds, sizes in bytes.
# Edit it as you like; `sintonia bench --from FILE` checks it.
";

impl Machine {
    /// The text of its file, with comments.
    pub fn to_text(&self) -> String {
        let mut out = String::from(HEAD);
        // Writing to a String cannot fail.
        let _ = write_all(&mut out, self);
        out
    }
}

fn write_all(out: &mut String, machine: &Machine) -> std::fmt::Result {
    writeln!(out, "format = {FORMAT}\n")?;
    write_metadata(out, &machine.metadata)?;
    machine.nodes.iter().try_for_each(|one| write_node(out, one))?;
    for (class, one) in &machine.networks {
        write_network(out, class.name(), one)?;
    }
    for (what, one) in &machine.collective_costs {
        write_collective(out, what.name(), one)?;
    }
    write_algorithms(out, &machine.collective_algorithms)?;
    machine.topology.as_ref().map_or(Ok(()), |one| topology::write_topology(out, one))
}

fn write_metadata(out: &mut String, metadata: &MachineMetadata) -> std::fmt::Result {
    writeln!(out, "[machine]\nname = {}", quoted(&metadata.name))?;
    let texts = [("date", &metadata.date), ("source", &metadata.source), ("mpi", &metadata.mpi)];
    for (key, value) in texts.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
        writeln!(out, "{key} = {}", quoted(value))?;
    }
    if !metadata.launcher.is_empty() {
        writeln!(out, "launcher = {}", list_text(metadata.launcher.iter().map(|word| quoted(word))))?;
    }
    let counts = [("processes", metadata.processes), ("launches", metadata.launches), ("seed", metadata.seed)];
    for (key, value) in counts.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        writeln!(out, "{key} = {value}")?;
    }
    if metadata.oversubscribed {
        writeln!(out, "oversubscribed = true  # processes shared cores: times include scheduling")?;
    }
    if let Some(confidence) = metadata.confidence {
        writeln!(out, "confidence = {}  # confidence level of the intervals", number_text(confidence))?;
    }
    if let Some(disturbance) = metadata.disturbance {
        writeln!(
            out,
            "disturbance = {}  # costs may be smaller or larger by this share; predictions allow for it",
            number_text(disturbance)
        )?;
    }
    if !metadata.notes.is_empty() {
        writeln!(out, "notes = [")?;
        metadata.notes.iter().try_for_each(|note| writeln!(out, "    {},", quoted(note)))?;
        writeln!(out, "]")?;
    }
    Ok(())
}

fn write_node(out: &mut String, node: &NodeType) -> std::fmt::Result {
    writeln!(out, "\n# Nodes of the same type.\n[[node]]\nkind = {}\ncount = {}\ncores = {}", quoted(&node.kind), node.count, node.cores)?;
    if let Some(quota) = node.cpu_quota {
        writeln!(out, "cpu_quota = {quota}  # processors' worth of time that a limit leaves to the processes of a node")?;
    }
    if node.speed != UncertainValue::ONE {
        writeln!(out, "speed = {}  # relative to the machine of a recording", value_text(node.speed))?;
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
    let note = "Seconds per operation: latency_s when the next one depends on it, throughput_s when independent, among others.";
    write_costs(out, "compute", note, &node.compute)?;
    write_costs(out, "java", "The same in a Java virtual machine.", &node.java)?;
    for (index, level) in node.memory.iter().enumerate() {
        let note = "\n# Memory levels, nearest first: seconds per dependent access, and per byte of sequential access.";
        writeln!(out, "{}\n[[node.memory]]\nlevel = {}", if index == 0 { note } else { "" }, quoted(&level.name))?;
        if let Some(size) = level.size_bytes {
            writeln!(out, "size_bytes = {size}")?;
        }
        for (access, value) in &level.access {
            writeln!(out, "{} = {}", access.key(), value_text(*value))?;
        }
    }
    Ok(())
}

fn write_costs(out: &mut String, key: &str, note: &str, costs: &ArithmeticCosts) -> std::fmt::Result {
    for (index, (of, costs)) in costs.iter().enumerate() {
        let note = if index == 0 { format!("\n# {note}") } else { String::new() };
        writeln!(out, "{note}\n[node.{key}.{}]", of.name())?;
        for (what, cost) in costs {
            let [latency, throughput] = [cost.latency, cost.throughput].map(value_text);
            writeln!(out, "{} = {{ latency_s = {latency}, throughput_s = {throughput} }}", what.name())?;
        }
    }
    Ok(())
}

fn write_network(out: &mut String, name: &str, network: &NetworkCosts) -> std::fmt::Result {
    let note = match name {
        "same_complex" => "Messages between cores that share a cache.",
        "same_node" => "Messages between processes on one node.",
        _ => "Messages between nodes.",
    };
    writeln!(out, "\n# {note}\n[network.{name}]")?;
    if let Some(bytes) = network.eager_bytes {
        writeln!(out, "eager_bytes = {bytes}  # the largest message that MPI_Send completes before it is received")?;
    }
    if let Some(bytes) = network.unattended_bytes {
        writeln!(out, "unattended_bytes = {bytes}  # the same while the receiver does not call MPI")?;
    }
    if let Some(bytes) = network.detached_bytes {
        writeln!(out, "detached_bytes = {bytes}  # the largest message that MPI_Isend has copied when it returns")?;
    }
    if !network.overlap.is_empty() {
        writeln!(out, "# The share of a transfer that the sender's computation hides.\noverlap = [")?;
        for point in &network.overlap {
            writeln!(out, "    {{ bytes = {}, share = {} }},", point.bytes, value_text(point.share))?;
        }
        writeln!(out, "]")?;
    }
    for (what, one) in &network.messages {
        writeln!(out, "\n[network.{name}.{}]", what.name())?;
        write_timing(out, one)?;
    }
    Ok(())
}

fn write_collective(out: &mut String, name: &str, group: &CollectiveCost) -> std::fmt::Result {
    writeln!(out, "\n[group.{name}]\ngrowth = {}  # with p processes, beyond those measured", quoted(&group.growth.to_string()))?;
    for at in &group.timings {
        writeln!(out, "\n[[group.{name}.at]]\nprocesses = {}", at.processes)?;
        write_timing(out, &at.timing)?;
    }
    Ok(())
}

fn write_algorithms(out: &mut String, collectives: &CollectiveAlgorithms) -> std::fmt::Result {
    if *collectives == CollectiveAlgorithms::default() {
        return Ok(());
    }
    writeln!(out, "\n# Algorithms of collectives: as given, else as this library would select.\n[collectives]")?;
    if let Some(library) = &collectives.library {
        writeln!(out, "library = {}", quoted(library))?;
    }
    collectives.algorithms.iter().try_for_each(|(what, algorithm)| writeln!(out, "{} = {}", what.name(), quoted(algorithm)))
}

fn write_timing(out: &mut String, timing: &OperationTiming) -> std::fmt::Result {
    if let Some(of) = &timing.measured {
        writeln!(out, "measured = {{ {} }}", summary_text(of))?;
    }
    if !timing.medians.is_empty() {
        let medians: Vec<String> = timing.medians.iter().map(|(bytes, seconds)| format!("[{bytes}, {}]", number_text(*seconds))).collect();
        writeln!(out, "medians = [{}]", medians.join(", "))?;
    }
    write_pieces(out, &timing.pieces)
}

fn summary_text(of: &MeasurementSummary) -> String {
    format!(
        "bytes = [{}, {}], sizes = {}, samples = {}, outliers = {}, mean_error_percent = {}, worst_error_percent = {}",
        of.bytes[0],
        of.bytes[1],
        of.sizes,
        of.samples,
        of.outliers,
        number_text(of.mean_error_percent),
        number_text(of.worst_error_percent)
    )
}

fn write_pieces(out: &mut String, pieces: &PiecewiseCost) -> std::fmt::Result {
    writeln!(out, "pieces = [")?;
    for (index, (bound, line)) in pieces.iter().enumerate() {
        let from = if index == 0 && pieces.from_bytes() > 0.0 {
            format!("from_bytes = {}, ", number_text(pieces.from_bytes()))
        } else {
            String::new()
        };
        let up_to = bound.map_or(String::new(), |bound| format!("up_to_bytes = {}, ", value_text(bound)));
        let [intercept, slope] = [line.intercept, line.slope].map(value_text);
        writeln!(out, "    {{ {from}{up_to}intercept_s = {intercept}, slope_s_per_byte = {slope} }},")?;
    }
    writeln!(out, "]")
}

fn value_text(figure: UncertainValue) -> String {
    let [low, middle, high] = <[f64; 3]>::from(figure).map(number_text);
    if figure.is_exact() { middle } else { format!("[{low}, {middle}, {high}]") }
}

/// The shortest text that parses as this number.
fn number_text(number: f64) -> String {
    let size = number.abs();
    match number {
        0.0 => "0".into(),
        _ if (1e-3..1e15).contains(&size) => format!("{number}"),
        _ => format!("{number:e}"),
    }
}

fn list_text(words: impl Iterator<Item = String>) -> String {
    format!("[{}]", words.collect::<Vec<_>>().join(", "))
}

/// A TOML string.
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
