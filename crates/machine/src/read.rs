//! Reading a machine file: any text gives a machine, or an error that says where and what.

mod table;
mod topology;

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_formula::{Formula, Interval, Values};
use toml::de::DeTable;

use crate::{
    About, Access, AtProcesses, Collective, Collectives, Cost, Costs, Error, Figure, Group, Layout, Line, Machine, Measured, MemoryLevel,
    Message, Named, Network, Node, Overlap, Pieces, Problem, Timing,
};
use table::{Source, Table, Value};

/// The version of the format that is written and read.
pub const FORMAT: u64 = 1;

pub fn machine(text: &str, path: &Path) -> Result<Machine, Error> {
    let source = Source { text, path };
    let syntax = |error: toml::de::Error| source.error(error.span().unwrap_or(0..0), Problem::Syntax(error.message().into()));
    let document = DeTable::parse(text).map_err(syntax)?;
    let mut file = Table::new(source, "at the top".into(), 0..0, document.get_ref());
    let format = file.require("format")?;
    if format.count()? != FORMAT {
        return Err(format.error(Problem::Format(format.count()?)));
    }
    let about = about(file.require("machine")?)?;
    let nodes = each(file.take("node"), node)?;
    if let Some(name) = named_twice(&nodes) {
        return Err(file.error(Problem::HostTwice(name)));
    }
    let machine = Machine {
        about,
        networks: by_name(file.take("network"), "network", network)?,
        groups: by_name(file.take("group"), "group", group)?,
        collectives: file.take("collectives").map_or(Ok(Collectives::default()), collectives)?,
        topology: file.take("topology").map(|value| topology::topology(value, &nodes)).transpose()?,
        nodes,
    };
    file.finish().map(|()| machine)
}

fn about(value: Value) -> Result<About, Error> {
    let mut table = value.table("in [machine]".into())?;
    let texts = |value: Option<Value>| value.map_or(Ok(Vec::new()), |list| list.list()?.iter().map(Value::text).collect());
    let about = About {
        name: table.require("name")?.text()?,
        date: table.take("date").map(|value| value.date()).transpose()?,
        source: table.take("source").map(|value| value.text()).transpose()?,
        mpi: table.take("mpi").map(|value| value.text()).transpose()?,
        launcher: texts(table.take("launcher"))?,
        processes: table.take("processes").map(|value| value.count()).transpose()?,
        launches: table.take("launches").map(|value| value.count()).transpose()?,
        seed: table.take("seed").map(|value| value.count()).transpose()?,
        oversubscribed: table.take("oversubscribed").map_or(Ok(false), |value| value.truth())?,
        confidence: table.take("confidence").map(|value| value.share()).transpose()?.map(|share| share.middle()),
        notes: texts(table.take("notes"))?,
    };
    table.finish().map(|()| about)
}

fn node(value: Value) -> Result<Node, Error> {
    let mut table = value.table("in [[node]]".into())?;
    let (count, cores) = (table.require("count")?.count_of_some()?, table.require("cores")?.count_of_some()?);
    let node = Node {
        kind: table.require("kind")?.text()?,
        count,
        cores,
        layout: layout(&mut table, count, cores)?,
        speed: table.take("speed").map_or(Ok(Figure::ONE), |value| value.above_zero())?,
        compute: costs(table.take("compute"), "node.compute")?,
        java: costs(table.take("java"), "node.java")?,
        memory: each(table.take("memory"), level)?,
    };
    table.finish().map(|()| node)
}

fn named_twice(nodes: &[Node]) -> Option<String> {
    let mut names: Vec<&String> = nodes.iter().flat_map(|node| &node.layout.hosts).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
}

fn layout(table: &mut Table, count: u64, cores: u64) -> Result<Layout, Error> {
    let hosts = match table.take("hosts") {
        Some(value) => hosts(&value, count)?,
        None => Vec::new(),
    };
    let mut parts = |key: &'static str, of: u64, what: &'static str| -> Result<Option<u64>, Error> {
        let Some(value) = table.take(key) else { return Ok(None) };
        match value.count_of_some()? {
            parts if of.is_multiple_of(parts) => Ok(Some(parts)),
            parts => Err(value.error(Problem::Uneven { key: key.into(), parts, of, what })),
        }
    };
    let sockets = parts("sockets", cores, "cores")?;
    let complexes = parts("complexes", cores, "cores")?;
    match (sockets, complexes) {
        (Some(sockets), Some(complexes)) if !complexes.is_multiple_of(sockets) => {
            Err(table.error(Problem::Uneven { key: "sockets".into(), parts: sockets, of: complexes, what: "complexes" }))
        }
        _ => Ok(Layout { hosts, sockets, complexes }),
    }
}

fn hosts(value: &Value, count: u64) -> Result<Vec<String>, Error> {
    let names = value.list()?.iter().map(Value::text).collect::<Result<Vec<_>, _>>()?;
    if names.len() as u64 != count {
        return Err(value.error(Problem::Hosts { names: names.len(), count }));
    }
    Ok(names)
}

fn costs(value: Option<Value>, name: &str) -> Result<Costs, Error> {
    by_name(value, name, |value, name| by_name(Some(value), name, cost))
}

fn cost(value: Value, name: &str) -> Result<Cost, Error> {
    let mut table = value.table(format!("in [{name}]"))?;
    let cost = Cost { latency: table.require("latency_s")?.positive()?, throughput: table.require("throughput_s")?.positive()? };
    table.finish().map(|()| cost)
}

fn level(value: Value) -> Result<MemoryLevel, Error> {
    let mut table = value.table("in [[node.memory]]".into())?;
    let name = table.require("level")?.text()?;
    let size_bytes = table.take("size_bytes").map(|value| value.count()).transpose()?;
    let mut access = BTreeMap::new();
    for what in Access::ALL {
        if let Some(value) = table.take(what.key()) {
            access.insert(*what, value.positive()?);
        }
    }
    table.finish().map(|()| MemoryLevel { name, size_bytes, access })
}

fn network(value: Value, name: &str) -> Result<Network, Error> {
    let mut table = value.table(format!("in [{name}]"))?;
    let eager_bytes = table.take("eager_bytes").map(|value| value.count()).transpose()?;
    let unattended_bytes = table.take("unattended_bytes").map(|value| value.count()).transpose()?;
    let detached_bytes = table.take("detached_bytes").map(|value| value.count()).transpose()?;
    let overlap = each(table.take("overlap"), overlap)?;
    let mut messages = BTreeMap::new();
    for (what, value) in table.take_named::<Message>() {
        messages.insert(what, timing(value, &format!("in [{name}.{}]", what.name()))?);
    }
    table.finish().map(|()| Network { eager_bytes, unattended_bytes, detached_bytes, messages, overlap })
}

fn overlap(value: Value) -> Result<Overlap, Error> {
    let mut table = value.table("in `overlap`".into())?;
    let overlap = Overlap { bytes: table.require("bytes")?.count()?, share: table.require("share")?.share()? };
    table.finish().map(|()| overlap)
}

fn group(value: Value, name: &str) -> Result<Group, Error> {
    let mut table = value.table(format!("in [{name}]"))?;
    let formula = table.require("growth")?;
    let growth = formula_of_p(formula)?;
    let list = table.require("at")?;
    let at = each(Some(list), |value| at_processes(value, name))?;
    if at.is_empty() {
        return Err(list.error(Problem::Missing { key: "processes".into(), table: format!("in [{name}]") }));
    }
    let numbers = || at.iter().map(|at| at.processes);
    if let Some((before, processes)) = [1].into_iter().chain(numbers()).zip(numbers()).find(|(before, next)| next <= before) {
        return Err(list.error(Problem::Processes { before, processes }));
    }
    let most = at.iter().map(|at| at.processes).max().unwrap_or(1);
    makes_times(&growth, most).map_err(|problem| formula.error(problem))?;
    table.finish().map(|()| Group { growth, at })
}

fn collectives(value: Value) -> Result<Collectives, Error> {
    let mut table = value.table("in [collectives]".into())?;
    let library = table.take("library").map(|value| value.text()).transpose()?;
    let named = table.take_named::<Collective>().into_iter();
    let algorithms = named.map(|(what, value)| Ok((what, value.text()?))).collect::<Result<_, Error>>()?;
    table.finish().map(|()| Collectives { library, algorithms })
}

fn formula_of_p(value: Value) -> Result<Formula, Error> {
    let wrong = |reason: String| value.error(Problem::Formula { key: "growth".into(), reason });
    let formula: Formula = value.text()?.parse().map_err(|error| wrong(format!("{error}")))?;
    match formula.symbols().into_iter().find(|symbol| symbol != "p") {
        Some(symbol) => Err(wrong(format!("it depends on `{symbol}`, and only the number of processes `p` is known"))),
        None => Ok(formula),
    }
}

/// What a growth comes to must be above zero at the largest number of processes that was measured, and beyond.
fn makes_times(growth: &Formula, most: u64) -> Result<(), Problem> {
    for processes in [most, most.saturating_mul(2), most.saturating_mul(1 << 10)] {
        let value = growth.enclose(&Values::new().with("p", Interval::point(processes as f64)));
        let value = value.map_or(f64::NAN, |value| if value.high().is_finite() { value.low() } else { value.high() });
        if !(value > 0.0 && value.is_finite()) {
            return Err(Problem::NoGrowth { processes, value });
        }
    }
    Ok(())
}

fn at_processes(value: Value, name: &str) -> Result<AtProcesses, Error> {
    let mut table = value.table(format!("in [[{name}.at]]"))?;
    let processes = table.require("processes")?.count()?;
    let timing = timing_of(&mut table)?;
    table.finish().map(|()| AtProcesses { processes, timing })
}

fn timing(value: Value, name: &str) -> Result<Timing, Error> {
    let mut table = value.table(name.into())?;
    let timing = timing_of(&mut table)?;
    table.finish().map(|()| timing)
}

fn timing_of(table: &mut Table) -> Result<Timing, Error> {
    let measured = table.take("measured").map(measured).transpose()?;
    let medians = each(table.take("medians"), median)?;
    Ok(Timing { pieces: pieces(table.require("pieces")?)?, measured, medians })
}

fn median(value: Value) -> Result<(u64, f64), Error> {
    let kind = || Problem::Kind {
        key: "medians".into(),
        expected: "a size and the seconds that it took: [bytes, seconds]",
        found: "something else",
    };
    match value.list()?.as_slice() {
        [bytes, seconds] => Ok((bytes.count()?, seconds.amount()?)),
        _ => Err(value.error(kind())),
    }
}

fn measured(value: Value) -> Result<Measured, Error> {
    let mut table = value.table("in `measured`".into())?;
    let bytes = table.require("bytes")?;
    let range = bytes.list()?.iter().map(Value::count).collect::<Result<Vec<_>, _>>()?;
    let kind = || Problem::Kind { key: "bytes".into(), expected: "the least and the greatest size: [least, greatest]", found: "a list" };
    let measured = Measured {
        bytes: range.try_into().map_err(|_| bytes.error(kind()))?,
        sizes: table.require("sizes")?.count()?,
        samples: table.require("samples")?.count()?,
        outliers: table.require("outliers")?.count()?,
        mean_error_percent: table.require("mean_error_percent")?.amount()?,
        worst_error_percent: table.require("worst_error_percent")?.amount()?,
    };
    table.finish().map(|()| measured)
}

/// A piece as it stands in the file.
struct Given<'a> {
    value: Value<'a>,
    from: Option<f64>,
    up_to: Option<Figure>,
    line: Line,
}

fn given(value: Value) -> Result<Given, Error> {
    let mut table = value.table("in this piece".into())?;
    let given = Given {
        value,
        from: table.take("from_bytes").map(|value| value.amount()).transpose()?,
        up_to: table.take("up_to_bytes").map(|value| value.positive()).transpose()?,
        line: Line { intercept: table.require("intercept_s")?.figure()?, slope: table.require("slope_s_per_byte")?.figure()? },
    };
    table.finish().map(|()| given)
}

fn pieces(list: Value) -> Result<Pieces, Error> {
    let mut all = each(Some(list), given)?;
    let Some(last) = all.pop() else { return Err(list.error(Problem::NoPieces)) };
    if last.up_to.is_some() {
        return Err(last.value.error(Problem::Ending));
    }
    let begins = all.first().unwrap_or(&last).from.unwrap_or(0.0);
    let mut bounded = Vec::with_capacity(all.len());
    let mut ends = begins;
    for piece in &all {
        follows(piece, ends)?;
        let bound = piece.up_to.ok_or_else(|| piece.value.error(Problem::Endless))?;
        ends = bound.middle();
        bounded.push((bound, piece.line));
    }
    follows(&last, ends)?;
    let place = |index: usize| all.get(index).unwrap_or(&last).value;
    Pieces::new(begins, bounded, last.line).map_err(|(index, problem)| place(index).error(problem))
}

/// A piece that says where it begins must do so where the one before ends.
fn follows(piece: &Given, ends: f64) -> Result<(), Error> {
    match piece.from {
        Some(begins) if begins > ends => Err(piece.value.error(Problem::Gap { after: ends, before: begins })),
        Some(begins) if begins < ends => Err(piece.value.error(Problem::Overlapping { begins, ends })),
        _ => Ok(()),
    }
}

fn each<'a, T>(list: Option<Value<'a>>, read: impl Fn(Value<'a>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    list.map_or(Ok(Vec::new()), |list| list.list()?.into_iter().map(read).collect())
}

fn by_name<'a, N: Named + Ord, T>(
    table: Option<Value<'a>>,
    name: &str,
    read: impl Fn(Value<'a>, &str) -> Result<T, Error>,
) -> Result<BTreeMap<N, T>, Error> {
    let Some(value) = table else { return Ok(BTreeMap::new()) };
    let mut table = value.table(format!("in [{name}]"))?;
    let found = table.take_named::<N>().into_iter();
    let read = found.map(|(one, value)| Ok((one, read(value, &format!("{name}.{}", one.name()))?))).collect::<Result<_, Error>>()?;
    table.finish().map(|()| read)
}
