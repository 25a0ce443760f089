//! Reads a machine file; errors have a position and a reason.

mod figures;
mod topology;

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_formula::{Formula, Interval, SymbolValues};
use sintonia_toml_file::{TomlDocument, TomlProblem};

use crate::{
    ArithmeticCosts, CollectiveAlgorithms, CollectiveCost, CollectiveKind, CollectiveTiming, Error, LinearCost, Machine,
    MachineFileProblem, MachineMetadata, MeasurementSummary, MemoryAccess, MemoryLevel, MessageMetric, Named, NetworkCosts, NodeLayout,
    NodeType, OperationCost, OperationTiming, OverlapPoint, PiecewiseCost, UncertainValue,
};
use figures::{MachineFigures, take_variants};

type TomlTable<'a> = sintonia_toml_file::TomlTable<'a, Error>;
type TomlValue<'a> = sintonia_toml_file::TomlValue<'a, Error>;

/// The supported version of the format.
pub(crate) const FORMAT: u64 = 1;

impl Machine {
    /// Reads a machine file.
    pub fn read(path: &Path) -> Result<Machine, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        Machine::parse(&text, path)
    }

    /// Reads a machine file for predictions: intervals are [widened](Machine::widened) by the disturbance of the measurement.
    pub fn read_widened(path: &Path) -> Result<Machine, Error> {
        Machine::read(path).map(Machine::widened)
    }

    /// Parses the text of a machine file; `path` is for messages, and a graph file is looked up next to it.
    pub fn parse(text: &str, path: &Path) -> Result<Machine, Error> {
        parse_machine(text, path)
    }
}

fn parse_machine(text: &str, path: &Path) -> Result<Machine, Error> {
    let document = TomlDocument::<Error>::parse(text, path)?;
    let mut file = document.root();
    let format = file.require("format")?;
    if format.count()? != FORMAT {
        return Err(format.error(MachineFileProblem::Format(format.count()?)));
    }
    let metadata = parse_metadata(file.require("machine")?)?;
    let nodes = parse_list(file.take("node"), parse_node)?;
    if let Some(name) = duplicate_host(&nodes) {
        return Err(file.error(MachineFileProblem::HostTwice(name)));
    }
    let machine = Machine {
        metadata,
        networks: parse_by_name(file.take("network"), "network", parse_network)?,
        collective_costs: parse_by_name(file.take("group"), "group", parse_collective)?,
        collective_algorithms: file.take("collectives").map_or(Ok(CollectiveAlgorithms::default()), parse_algorithms)?,
        topology: file.take("topology").map(|value| topology::parse_topology(value, &nodes)).transpose()?,
        nodes,
    };
    file.finish().map(|()| machine)
}

fn parse_metadata(value: TomlValue) -> Result<MachineMetadata, Error> {
    let mut table = value.table("in [machine]")?;
    let texts = |value: Option<TomlValue>| value.map_or(Ok(Vec::new()), |list| list.list()?.iter().map(TomlValue::text).collect());
    let metadata = MachineMetadata {
        name: table.require("name")?.text()?,
        date: table.take("date").map(|value| value.date()).transpose()?,
        source: table.take("source").map(|value| value.text()).transpose()?,
        mpi: table.take("mpi").map(|value| value.text()).transpose()?,
        launcher: texts(table.take("launcher"))?,
        processes: table.take("processes").map(|value| value.count()).transpose()?,
        launches: table.take("launches").map(|value| value.count()).transpose()?,
        seed: table.take("seed").map(|value| value.count()).transpose()?,
        oversubscribed: table.take("oversubscribed").map_or(Ok(false), |value| value.boolean())?,
        confidence: table.take("confidence").map(|value| value.share()).transpose()?.map(|share| share.middle()),
        disturbance: table.take("disturbance").map(|value| value.non_negative_number()).transpose()?,
        notes: texts(table.take("notes"))?,
    };
    table.finish().map(|()| metadata)
}

fn parse_node(value: TomlValue) -> Result<NodeType, Error> {
    let mut table = value.table("in [[node]]")?;
    let (count, cores) = (table.require("count")?.nonzero_count()?, table.require("cores")?.nonzero_count()?);
    let node = NodeType {
        kind: table.require("kind")?.text()?,
        count,
        cores,
        layout: parse_layout(&mut table, count, cores)?,
        cpu_quota: table.take("cpu_quota").map(|value| value.above_zero()).transpose()?.map(|quota| quota.middle()),
        speed: table.take("speed").map_or(Ok(UncertainValue::ONE), |value| value.above_zero())?,
        compute: parse_costs(table.take("compute"), "node.compute")?,
        java: parse_costs(table.take("java"), "node.java")?,
        memory: parse_list(table.take("memory"), parse_memory_level)?,
    };
    table.finish().map(|()| node)
}

fn duplicate_host(nodes: &[NodeType]) -> Option<String> {
    let mut names: Vec<&String> = nodes.iter().flat_map(|node| &node.layout.hosts).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
}

fn parse_layout(table: &mut TomlTable, count: u64, cores: u64) -> Result<NodeLayout, Error> {
    let hosts = match table.take("hosts") {
        Some(value) => parse_hosts(&value, count)?,
        None => Vec::new(),
    };
    let mut parts = |key: &'static str, of: u64, what: &'static str| -> Result<Option<u64>, Error> {
        let Some(value) = table.take(key) else { return Ok(None) };
        match value.nonzero_count()? {
            parts if of.is_multiple_of(parts) => Ok(Some(parts)),
            parts => Err(value.error(MachineFileProblem::Uneven { key: key.into(), parts, of, what })),
        }
    };
    let sockets = parts("sockets", cores, "cores")?;
    let complexes = parts("complexes", cores, "cores")?;
    match (sockets, complexes) {
        (Some(sockets), Some(complexes)) if !complexes.is_multiple_of(sockets) => {
            Err(table.error(MachineFileProblem::Uneven { key: "sockets".into(), parts: sockets, of: complexes, what: "complexes" }))
        }
        _ => Ok(NodeLayout { hosts, sockets, complexes }),
    }
}

fn parse_hosts(value: &TomlValue, count: u64) -> Result<Vec<String>, Error> {
    let names = value.list()?.iter().map(TomlValue::text).collect::<Result<Vec<_>, _>>()?;
    if names.len() as u64 != count {
        return Err(value.error(MachineFileProblem::Hosts { names: names.len(), count }));
    }
    Ok(names)
}

fn parse_costs(value: Option<TomlValue>, name: &str) -> Result<ArithmeticCosts, Error> {
    parse_by_name(value, name, |value, name| parse_by_name(Some(value), name, parse_cost))
}

fn parse_cost(value: TomlValue, name: &str) -> Result<OperationCost, Error> {
    let mut table = value.table(format!("in [{name}]"))?;
    let cost =
        OperationCost { latency: table.require("latency_s")?.non_negative()?, throughput: table.require("throughput_s")?.non_negative()? };
    table.finish().map(|()| cost)
}

fn parse_memory_level(value: TomlValue) -> Result<MemoryLevel, Error> {
    let mut table = value.table("in [[node.memory]]")?;
    let name = table.require("level")?.text()?;
    let size_bytes = table.take("size_bytes").map(|value| value.count()).transpose()?;
    let mut access = BTreeMap::new();
    for what in MemoryAccess::ALL {
        if let Some(value) = table.take(what.key()) {
            access.insert(*what, value.non_negative()?);
        }
    }
    table.finish().map(|()| MemoryLevel { name, size_bytes, access })
}

fn parse_network(value: TomlValue, name: &str) -> Result<NetworkCosts, Error> {
    let mut table = value.table(format!("in [{name}]"))?;
    let eager_bytes = table.take("eager_bytes").map(|value| value.count()).transpose()?;
    let unattended_bytes = table.take("unattended_bytes").map(|value| value.count()).transpose()?;
    let detached_bytes = table.take("detached_bytes").map(|value| value.count()).transpose()?;
    let overlap = parse_list(table.take("overlap"), parse_overlap)?;
    let mut messages = BTreeMap::new();
    for (what, value) in take_variants::<MessageMetric>(&mut table) {
        messages.insert(what, parse_timing(value, &format!("in [{name}.{}]", what.name()))?);
    }
    table.finish().map(|()| NetworkCosts { eager_bytes, unattended_bytes, detached_bytes, messages, overlap })
}

fn parse_overlap(value: TomlValue) -> Result<OverlapPoint, Error> {
    let mut table = value.table("in `overlap`")?;
    let overlap = OverlapPoint { bytes: table.require("bytes")?.count()?, share: table.require("share")?.share()? };
    table.finish().map(|()| overlap)
}

fn parse_collective(value: TomlValue, name: &str) -> Result<CollectiveCost, Error> {
    let mut table = value.table(format!("in [{name}]"))?;
    let formula = table.require("growth")?;
    let growth = parse_growth(formula)?;
    let list = table.require("at")?;
    let at = parse_list(Some(list), |value| parse_collective_timing(value, name))?;
    if at.is_empty() {
        return Err(list.error(TomlProblem::Missing { key: "processes".into(), table: format!("in [{name}]") }));
    }
    let numbers = || at.iter().map(|at| at.processes);
    if let Some((before, processes)) = [1].into_iter().chain(numbers()).zip(numbers()).find(|(before, next)| next <= before) {
        return Err(list.error(MachineFileProblem::ProcessCountOrder { before, processes }));
    }
    let most = at.iter().map(|at| at.processes).max().unwrap_or(1);
    check_growth(&growth, most).map_err(|problem| formula.error(problem))?;
    table.finish().map(|()| CollectiveCost { growth, timings: at })
}

fn parse_algorithms(value: TomlValue) -> Result<CollectiveAlgorithms, Error> {
    let mut table = value.table("in [collectives]")?;
    let library = table.take("library").map(|value| value.text()).transpose()?;
    let named = take_variants::<CollectiveKind>(&mut table).into_iter();
    let algorithms = named.map(|(what, value)| Ok((what, value.text()?))).collect::<Result<_, Error>>()?;
    table.finish().map(|()| CollectiveAlgorithms { library, algorithms })
}

fn parse_growth(value: TomlValue) -> Result<Formula, Error> {
    let wrong = |reason: String| value.error(MachineFileProblem::Formula { key: "growth".into(), reason });
    let formula: Formula = value.text()?.parse().map_err(|error| wrong(format!("{error}")))?;
    match formula.symbols().into_iter().find(|symbol| symbol != "p") {
        Some(symbol) => Err(wrong(format!("it depends on `{symbol}`; only the number of processes `p` is allowed"))),
        None => Ok(formula),
    }
}

/// The growth must be positive at the largest measured number of processes, and beyond.
fn check_growth(growth: &Formula, most: u64) -> Result<(), MachineFileProblem> {
    for processes in [most, most.saturating_mul(2), most.saturating_mul(1 << 10)] {
        let value = growth.enclose(&SymbolValues::new().with_value("p", Interval::point(processes as f64)));
        let value = value.map_or(f64::NAN, |value| if value.high().is_finite() { value.low() } else { value.high() });
        if !(value > 0.0 && value.is_finite()) {
            return Err(MachineFileProblem::InvalidGrowth { processes, value });
        }
    }
    Ok(())
}

fn parse_collective_timing(value: TomlValue, name: &str) -> Result<CollectiveTiming, Error> {
    let mut table = value.table(format!("in [[{name}.at]]"))?;
    let processes = table.require("processes")?.count()?;
    let timing = parse_timing_keys(&mut table)?;
    table.finish().map(|()| CollectiveTiming { processes, timing })
}

fn parse_timing(value: TomlValue, name: &str) -> Result<OperationTiming, Error> {
    let mut table = value.table(name)?;
    let timing = parse_timing_keys(&mut table)?;
    table.finish().map(|()| timing)
}

fn parse_timing_keys(table: &mut TomlTable) -> Result<OperationTiming, Error> {
    let measured = table.take("measured").map(parse_summary).transpose()?;
    let medians = parse_list(table.take("medians"), parse_median)?;
    Ok(OperationTiming { pieces: parse_pieces(table.require("pieces")?)?, measured, medians })
}

fn parse_median(value: TomlValue) -> Result<(u64, f64), Error> {
    match value.list()?.as_slice() {
        [bytes, seconds] => Ok((bytes.count()?, seconds.non_negative_number()?)),
        _ => Err(value.unexpected("a size and its time: [bytes, seconds]")),
    }
}

fn parse_summary(value: TomlValue) -> Result<MeasurementSummary, Error> {
    let mut table = value.table("in `measured`")?;
    let bytes = table.require("bytes")?;
    let range = bytes.list()?.iter().map(TomlValue::count).collect::<Result<Vec<_>, _>>()?;
    let measured = MeasurementSummary {
        bytes: range.try_into().map_err(|_| bytes.unexpected("the smallest and the largest size: [smallest, largest]"))?,
        sizes: table.require("sizes")?.count()?,
        samples: table.require("samples")?.count()?,
        outliers: table.require("outliers")?.count()?,
        mean_error_percent: table.require("mean_error_percent")?.non_negative_number()?,
        worst_error_percent: table.require("worst_error_percent")?.non_negative_number()?,
    };
    table.finish().map(|()| measured)
}

/// A piece as written in the file.
struct ParsedPiece<'a> {
    value: TomlValue<'a>,
    from: Option<f64>,
    up_to: Option<UncertainValue>,
    line: LinearCost,
}

fn parse_piece(value: TomlValue) -> Result<ParsedPiece, Error> {
    let mut table = value.table("in this piece")?;
    let given = ParsedPiece {
        value,
        from: table.take("from_bytes").map(|value| value.non_negative_number()).transpose()?,
        up_to: table.take("up_to_bytes").map(|value| value.non_negative()).transpose()?,
        line: LinearCost::new(table.require("intercept_s")?.uncertain()?, table.require("slope_s_per_byte")?.uncertain()?),
    };
    table.finish().map(|()| given)
}

fn parse_pieces(list: TomlValue) -> Result<PiecewiseCost, Error> {
    let mut all = parse_list(Some(list), parse_piece)?;
    let Some(last) = all.pop() else { return Err(list.error(MachineFileProblem::NoPieces)) };
    if last.up_to.is_some() {
        return Err(last.value.error(MachineFileProblem::UnexpectedUpperBound));
    }
    let begins = all.first().unwrap_or(&last).from.unwrap_or(0.0);
    let mut bounded = Vec::with_capacity(all.len());
    let mut ends = begins;
    for piece in &all {
        check_adjacent(piece, ends)?;
        let bound = piece.up_to.ok_or_else(|| piece.value.error(MachineFileProblem::MissingUpperBound))?;
        ends = bound.middle();
        bounded.push((bound, piece.line));
    }
    check_adjacent(&last, ends)?;
    let place = |index: usize| all.get(index).unwrap_or(&last).value;
    PiecewiseCost::new(begins, bounded, last.line).map_err(|(index, problem)| place(index).error(problem))
}

/// A piece with an explicit lower end must begin where the previous one ends.
fn check_adjacent(piece: &ParsedPiece, ends: f64) -> Result<(), Error> {
    match piece.from {
        Some(begins) if begins > ends => Err(piece.value.error(MachineFileProblem::Gap { after: ends, before: begins })),
        Some(begins) if begins < ends => Err(piece.value.error(MachineFileProblem::Overlapping { begins, ends })),
        _ => Ok(()),
    }
}

fn parse_list<'a, T>(list: Option<TomlValue<'a>>, read: impl Fn(TomlValue<'a>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    list.map_or(Ok(Vec::new()), |list| list.list()?.into_iter().map(read).collect())
}

fn parse_by_name<'a, N: Named + Ord, T>(
    table: Option<TomlValue<'a>>,
    name: &str,
    read: impl Fn(TomlValue<'a>, &str) -> Result<T, Error>,
) -> Result<BTreeMap<N, T>, Error> {
    let Some(value) = table else { return Ok(BTreeMap::new()) };
    let mut table = value.table(format!("in [{name}]"))?;
    let found = take_variants::<N>(&mut table).into_iter();
    let read = found.map(|(one, value)| Ok((one, read(value, &format!("{name}.{}", one.name()))?))).collect::<Result<_, Error>>()?;
    table.finish().map(|()| read)
}
