//! Turns `data/functions.tsv` into a static table, so that the probe need not parse it in every process.

use std::fmt::Write;

fn main() {
    println!("cargo::rerun-if-changed=data/functions.tsv");
    let text = std::fs::read_to_string("data/functions.tsv").expect("data/functions.tsv is part of the crate");
    let mut table = String::from("[\n");
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let row = function(line).unwrap_or_else(|| panic!("data/functions.tsv:{}: not a function: {line}", number + 1));
        table.push_str(&row);
    }
    table.push(']');
    let out = std::path::Path::new(&std::env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("functions.rs");
    std::fs::write(out, table).expect("OUT_DIR is writable");
}

/// One row of the table as a Rust expression.
fn function(line: &str) -> Option<String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, role, mode, bindings, large, parameters] = fields[..] else { return None };
    let parameters: Vec<TsvParameter> = parameters.split_whitespace().map(TsvParameter::parse).collect::<Option<_>>()?;
    let c_parameters = parameters.iter().filter(|p| p.name != "ierror").count();
    let c_only = parameters.iter().filter(|p| p.kind.starts_with("ARGUMENT_")).count();
    let strings = parameters.iter().filter(|p| p.kind.starts_with("STRING") && !p.kind.contains("LENGTH")).count();
    let mut slots = String::new();
    for (place, p) in parameters.iter().enumerate() {
        if let Some(slot) = p.slot(role).filter(|_| role != "local") {
            write!(slots, "{slot}: {place}, ").ok()?;
        }
    }
    Some(format!(
        "MpiFunction {{ name: {name:?}, role: {}, mode: BlockingMode::{}, fortran: {}, f08: {}, large: {}, parameters: {c_parameters}, c_only: {c_only}, \
         strings: {strings}, slots: ArgumentSlots {{ {slots} ..ArgumentSlots::NONE }} }},\n",
        role_expression(role),
        camel(mode),
        bindings.contains('9'),
        bindings.contains('8'),
        large == "large",
    ))
}

fn role_expression(role: &str) -> String {
    match role.split_once('.') {
        Some((role, pattern)) => format!("FunctionRole::{}(CollectiveOp::{})", camel(role), camel(pattern)),
        None => format!("FunctionRole::{}", camel(role)),
    }
}

fn camel(snake: &str) -> String {
    snake.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

struct TsvParameter<'a> {
    name: &'a str,
    kind: &'a str,
    direction: &'a str,
}

impl<'a> TsvParameter<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(':');
        Some(Self { name: parts.next()?, kind: parts.next()?, direction: parts.next()? })
    }

    /// The field of `ArgumentSlots` that this parameter fills.
    fn slot(&self, role: &str) -> Option<&'static str> {
        let receives = matches!(role, "receive" | "matched_receive" | "get" | "file_read");
        Some(match (self.kind, self.name) {
            ("COMMUNICATOR", _) if self.direction == "out" => "created",
            ("COMMUNICATOR", "peer_comm") => return None,
            ("COMMUNICATOR", _) => "object",
            ("WINDOW", _) if self.direction == "out" => "created",
            ("WINDOW", _) => "window",
            ("FILE", _) if self.direction == "out" => "created",
            ("FILE", _) => "file",
            ("SESSION", _) => "object",
            ("REQUEST", _) => "request",
            ("STATUS", _) => "status",
            ("MESSAGE", _) => "message",
            ("LOGICAL", "flag") => "flag",
            ("INDEX", "index") if role == "complete_any" => "index",
            ("INDEX", "array_of_indices") => "index",
            ("ARRAY_LENGTH", "outcount") => "outcount",
            ("ARRAY_LENGTH_NNI", "count" | "incount") if role.starts_with("complete") || role == "start_all" => "length",
            ("PARTITION", "partitions") => "partitions",
            ("RANK", "root") => "root",
            ("RANK", "dest") => "dest",
            ("RANK_NNI", "target_rank" | "rank") => "dest",
            ("RANK", "source") => "source",
            ("TAG", "sendtag") => "send_tag",
            ("TAG", "recvtag") => "recv_tag",
            ("TAG", "tag") => "send_tag",
            ("PROFILE_LEVEL", _) => "level",
            ("BUFFER", "sendbuf") => "send_buffer",
            ("BUFFER", "recvbuf") => "recv_buffer",
            (_, "sendcount" | "sendcounts" | "origin_count") => "send_count",
            (_, "sendtype" | "sendtypes" | "origin_datatype") => "send_type",
            (_, "recvcount" | "recvcounts" | "result_count") => "recv_count",
            (_, "recvtype" | "recvtypes" | "result_datatype") => "recv_type",
            (_, "count") if receives => "recv_count",
            (_, "count") if role != "datatype" => "send_count",
            ("DATATYPE", "datatype") if receives => "recv_type",
            ("DATATYPE", "datatype") => "send_type",
            _ => return None,
        })
    }
}
