//! Parser of `--what-if`.
//!
//! `latency=0,bandwidth=inf`, `segment lu.f:310 x0.5`, `balance=perfect`, `algorithm.allreduce=ring`, `placement=cyclic`, …

pub(crate) mod quantity;

use sintonia_machine::{CollectiveKind, Named};

pub use quantity::ChangedValue;
use quantity::{parse_bandwidth, parse_bytes, parse_factor, parse_seconds, parse_share};

use crate::changes::{CollectiveModel, DurationChange};
use crate::collective_plan;
use crate::platform::RankPlacement;

/// A what-if change.
#[derive(Clone, Debug, PartialEq)]
pub enum WhatIf {
    /// Message latency.
    Latency(ChangedValue),
    /// Bandwidth in bytes per second.
    Bandwidth(ChangedValue),
    /// Largest eager message.
    Eager(u64),
    /// No contention for links.
    NoContention,
    /// Wildcard receives match the message that arrives first.
    WildcardsByArrival,
    /// Ranks wait for cores as recorded.
    RecordedCores,
    /// Perfect load balance: every rank computes as long as the mean.
    Balance,
    /// Random noise, by its mean relative slowdown.
    Noise(f64),
    /// Factor on all computation.
    Compute(f64),
    /// Computation between two call sites, or before one.
    Segment {
        /// Call site before it; `None` for any.
        from: Option<String>,
        /// Call site after it.
        to: String,
        /// The new duration.
        duration: DurationChange,
    },
    /// How one collective is simulated, or all.
    Algorithm(Option<CollectiveKind>, CollectiveModel),
    /// Placement of ranks on nodes.
    Placement(RankPlacement),
    /// Number of nodes.
    Nodes(u64),
}

/// Why a text is not a valid change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WhatIfError {
    /// Unknown name.
    #[error("what if `{name}`? Unknown change{}; available: latency, bandwidth, eager, contention, balance, noise, compute, segment, algorithm, placement, nodes, wildcards, cores", nearest(near.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// Suggestion.
        near: Option<String>,
    },
    /// Invalid value.
    #[error("what if {name}={value}? {expected}")]
    Value {
        /// The name.
        name: String,
        /// The value.
        value: String,
        /// What would be valid.
        expected: String,
    },
}

fn nearest(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// Names of all changes.
const NAMES: [&str; 13] = [
    "latency",
    "bandwidth",
    "eager",
    "contention",
    "balance",
    "noise",
    "compute",
    "segment",
    "algorithm",
    "placement",
    "nodes",
    "wildcards",
    "cores",
];

impl WhatIf {
    /// Parses a comma-separated list.
    pub fn parse(text: &str) -> Result<Vec<WhatIf>, WhatIfError> {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(parse_one).collect()
    }
}

fn parse_one(text: &str) -> Result<WhatIf, WhatIfError> {
    if let Some(rest) = text.strip_prefix("segment ") {
        return parse_segment(rest.trim());
    }
    let (name, value) = text.split_once('=').map_or((text, ""), |(name, value)| (name.trim(), value.trim()));
    let wrong = |expected: &str| WhatIfError::Value { name: name.into(), value: value.into(), expected: expected.into() };
    match name {
        "latency" => parse_seconds(value).map(WhatIf::Latency).ok_or_else(|| wrong("Use 0, a time such as 10us, or a factor such as x0.5")),
        "bandwidth" => parse_bandwidth(value)
            .map(WhatIf::Bandwidth)
            .ok_or_else(|| wrong("Use inf, a rate such as 100Mb (bits) or 12.5MB (bytes) per second, or a factor such as x2")),
        "eager" => parse_bytes(value).map(WhatIf::Eager).ok_or_else(|| wrong("Use a size such as 64KiB, 0, or inf")),
        "contention" if value == "off" => Ok(WhatIf::NoContention),
        "wildcards" if value == "arrival" => Ok(WhatIf::WildcardsByArrival),
        "wildcards" => Err(wrong("Use wildcards=arrival")),
        "contention" => Err(wrong("Use contention=off")),
        "cores" if value == "recorded" => Ok(WhatIf::RecordedCores),
        "cores" => Err(wrong("Use cores=recorded")),
        "balance" if value == "perfect" => Ok(WhatIf::Balance),
        "balance" => Err(wrong("Use balance=perfect")),
        "noise" => parse_share(value).map(WhatIf::Noise).ok_or_else(|| wrong("Use a share of computation such as 5%")),
        "compute" => parse_factor(value).map(WhatIf::Compute).ok_or_else(|| wrong("Use a factor such as x0.5")),
        "nodes" => value.parse().ok().filter(|nodes| *nodes > 0).map(WhatIf::Nodes).ok_or_else(|| wrong("Give the number of nodes")),
        "placement" => {
            parse_placement(value).ok_or_else(|| wrong("Use block, cyclic, or the node of each rank separated by colons: 0:0:1:1"))
        }
        "segment" => Err(wrong("Give a call site and a duration: segment lu.f:310 x0.5, or segment lu.f:300..lu.f:310 2ms")),
        "algorithm" => parse_algorithm(None, value),
        _ => match name.strip_prefix("algorithm.") {
            Some(operation) => match CollectiveKind::from_name(operation) {
                Some(collective) => parse_algorithm(Some(collective), value),
                None => Err(wrong(&format!("`{operation}` is not a collective; available: {}", CollectiveKind::all_names()))),
            },
            None => Err(WhatIfError::Unknown {
                name: name.into(),
                near: sintonia_text::suggestion::nearest_name(name, NAMES).map(str::to_owned),
            }),
        },
    }
}

fn parse_segment(text: &str) -> Result<WhatIf, WhatIfError> {
    let wrong = |expected: &str| WhatIfError::Value { name: "segment".into(), value: text.into(), expected: expected.into() };
    let (segment, length) = text.rsplit_once(' ').ok_or_else(|| wrong("Give a call site and a duration: segment lu.f:310 x0.5"))?;
    let duration = match parse_seconds(length) {
        Some(ChangedValue::Factor(factor)) => DurationChange::Scale(factor),
        Some(ChangedValue::Absolute(each)) => DurationChange::Fixed(each),
        None => return Err(wrong("The duration is a factor such as x0.5 or a time such as 2ms")),
    };
    let (from, to) = match segment.trim().split_once("..") {
        Some((from, to)) => (Some(from.trim().to_owned()), to.trim().to_owned()),
        None => (None, segment.trim().to_owned()),
    };
    Ok(WhatIf::Segment { from, to, duration })
}

fn parse_algorithm(collective: Option<CollectiveKind>, value: &str) -> Result<WhatIf, WhatIfError> {
    let (name, model) = match collective {
        None => {
            let expected = |_| "Use closed, openmpi or mpich, or name the collective: algorithm.allreduce=ring".to_owned();
            ("algorithm".to_owned(), collective_plan::parse_global_model(value).map_err(expected))
        }
        Some(collective) => {
            let model = collective_plan::parse_model(value, collective_plan::op_of_collective(collective));
            (format!("algorithm.{}", collective.name()), model.map_err(|error| error.to_string()))
        }
    };
    model.map(|model| WhatIf::Algorithm(collective, model)).map_err(|expected| WhatIfError::Value { name, value: value.into(), expected })
}

fn parse_placement(value: &str) -> Option<WhatIf> {
    let placement = match value {
        "block" => RankPlacement::Block,
        "cyclic" => RankPlacement::Cyclic,
        nodes => RankPlacement::Nodes(nodes.split(':').map(|node| node.trim().parse().ok()).collect::<Option<_>>()?),
    };
    Some(WhatIf::Placement(placement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_changes_stand_beside_each_other() {
        let both = WhatIf::parse("latency=0, bandwidth=inf").unwrap();
        assert_eq!(both, [WhatIf::Latency(ChangedValue::Absolute(0.0)), WhatIf::Bandwidth(ChangedValue::Absolute(f64::INFINITY))]);
        assert_eq!(WhatIf::parse("latency=x2").unwrap(), [WhatIf::Latency(ChangedValue::Factor(2.0))]);
        assert_eq!(WhatIf::parse("bandwidth=100Mb").unwrap(), [WhatIf::Bandwidth(ChangedValue::Absolute(12.5e6))]);
    }

    #[test]
    fn a_segment_is_named_by_its_call_sites() {
        let half = |from: Option<&str>| WhatIf::Segment {
            from: from.map(Into::into),
            to: "lu.f:310".into(),
            duration: DurationChange::Scale(0.5),
        };
        assert_eq!(WhatIf::parse("segment lu.f:310 x0.5").unwrap(), [half(None)]);
        assert_eq!(WhatIf::parse("segment lu.f:300..lu.f:310 x0.5").unwrap(), [half(Some("lu.f:300"))]);
        let each = WhatIf::Segment { from: None, to: "a.c:1".into(), duration: DurationChange::Fixed(0.002) };
        assert_eq!(WhatIf::parse("segment a.c:1 2ms").unwrap(), [each]);
    }

    #[test]
    fn unknown_names_are_reported_with_a_suggestion() {
        let error = WhatIf::parse("latancy=0").unwrap_err().to_string();
        assert!(error.contains("did you mean `latency`"), "{error}");
        for bad in [
            "latency=fast",
            "bandwidth=-1",
            "eager=x",
            "balance=good",
            "cores=2",
            "algorithm=fast",
            "placement=a:b",
            "nodes=0",
            "segment x",
        ] {
            assert!(matches!(WhatIf::parse(bad), Err(WhatIfError::Value { .. })), "{bad}");
        }
    }
}
