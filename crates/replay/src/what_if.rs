//! `--what-if`: what should be different, as a user writes it.
//!
//! `latency=0,bandwidth=inf`, `segment lu.f:310 x0.5`, `balance=perfect`, `algorithm.allreduce=ring`, `placement=cyclic`, …

pub(crate) mod amount;

use sintonia_machine::{Collective, Named};

pub use amount::Amount;
use amount::{bandwidth, bytes, seconds, share, times};

use crate::changes::{Built, Takes};
use crate::collective;
use crate::platform::Placement;

/// Something that should be different.
#[derive(Clone, Debug, PartialEq)]
pub enum WhatIf {
    /// What messages take that does not depend on their size.
    Latency(Amount),
    /// Bytes per second.
    Bandwidth(Amount),
    /// The largest message that is sent before its receive has begun.
    Eager(u64),
    /// Messages are not in each other's way.
    NoContention,
    /// Receives from anyone get the message that comes first.
    WildcardsByArrival,
    /// Every rank computes as long as the mean of all.
    Balance,
    /// Computation takes longer at random, by this share on average.
    Noise(f64),
    /// All computation takes so many times as long.
    Compute(f64),
    /// Computation between two call sites, or before one.
    Segment {
        /// The call site before it; any if there is none.
        from: Option<String>,
        /// The call site after it.
        to: String,
        /// How long it takes.
        takes: Takes,
    },
    /// How an operation of a group is built, or all of them.
    Algorithm(Option<Collective>, Built),
    /// Which rank is on which node.
    Placement(Placement),
    /// How many nodes there are.
    Nodes(u64),
}

/// Why a text says nothing that can be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WhatIfError {
    /// Nothing of that name.
    #[error("what if `{name}`? There is no such change{}; there are latency, bandwidth, eager, contention, balance, noise, compute, segment, algorithm, placement, nodes, wildcards", nearest(near.as_deref()))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// A value that does not fit.
    #[error("what if {name}={value}? {expected}")]
    Value {
        /// What is changed.
        name: String,
        /// What it should be.
        value: String,
        /// What it could be.
        expected: String,
    },
}

fn nearest(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

/// The names of all changes.
const NAMES: [&str; 12] = [
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
];

impl WhatIf {
    /// Reads one or several, with commas between them.
    pub fn parse(text: &str) -> Result<Vec<WhatIf>, WhatIfError> {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(one).collect()
    }
}

fn one(text: &str) -> Result<WhatIf, WhatIfError> {
    if let Some(rest) = text.strip_prefix("segment ") {
        return segment(rest.trim());
    }
    let (name, value) = text.split_once('=').map_or((text, ""), |(name, value)| (name.trim(), value.trim()));
    let wrong = |expected: &str| WhatIfError::Value { name: name.into(), value: value.into(), expected: expected.into() };
    match name {
        "latency" => seconds(value).map(WhatIf::Latency).ok_or_else(|| wrong("Say 0, a time such as 10us, or a factor such as x0.5")),
        "bandwidth" => bandwidth(value)
            .map(WhatIf::Bandwidth)
            .ok_or_else(|| wrong("Say inf, a rate such as 100Mb (bits) or 12.5MB (bytes) per second, or a factor such as x2")),
        "eager" => bytes(value).map(WhatIf::Eager).ok_or_else(|| wrong("Say a size such as 64KiB, 0, or inf")),
        "contention" if value == "off" => Ok(WhatIf::NoContention),
        "wildcards" if value == "arrival" => Ok(WhatIf::WildcardsByArrival),
        "wildcards" => Err(wrong("Say wildcards=arrival")),
        "contention" => Err(wrong("Say contention=off")),
        "balance" if value == "perfect" => Ok(WhatIf::Balance),
        "balance" => Err(wrong("Say balance=perfect")),
        "noise" => share(value).map(WhatIf::Noise).ok_or_else(|| wrong("Say a share of computation such as 5%")),
        "compute" => times(value).map(WhatIf::Compute).ok_or_else(|| wrong("Say a factor such as x0.5")),
        "nodes" => value.parse().ok().filter(|nodes| *nodes > 0).map(WhatIf::Nodes).ok_or_else(|| wrong("Say how many nodes")),
        "placement" => placement(value).ok_or_else(|| wrong("Say block, cyclic, or the node of each rank with colons between: 0:0:1:1")),
        "segment" => Err(wrong("Say which and how long: segment lu.f:310 x0.5, or segment lu.f:300..lu.f:310 2ms")),
        "algorithm" => algorithm(None, value),
        _ => match name.strip_prefix("algorithm.") {
            Some(operation) => match Collective::named(operation) {
                Some(collective) => algorithm(Some(collective), value),
                None => Err(wrong(&format!("`{operation}` is no operation; there are {}", Collective::names()))),
            },
            None => Err(WhatIfError::Unknown { name: name.into(), near: sintonia_text::near::nearest(name, NAMES).map(str::to_owned) }),
        },
    }
}

fn segment(text: &str) -> Result<WhatIf, WhatIfError> {
    let wrong = |expected: &str| WhatIfError::Value { name: "segment".into(), value: text.into(), expected: expected.into() };
    let (place, length) = text.rsplit_once(' ').ok_or_else(|| wrong("Say which and how long: segment lu.f:310 x0.5"))?;
    let takes = match seconds(length) {
        Some(Amount::Times(times)) => Takes::Times(times),
        Some(Amount::Is(each)) => Takes::Each(each),
        None => return Err(wrong("How long it takes is a factor such as x0.5 or a time such as 2ms")),
    };
    let (from, to) = match place.trim().split_once("..") {
        Some((from, to)) => (Some(from.trim().to_owned()), to.trim().to_owned()),
        None => (None, place.trim().to_owned()),
    };
    Ok(WhatIf::Segment { from, to, takes })
}

fn algorithm(collective: Option<Collective>, value: &str) -> Result<WhatIf, WhatIfError> {
    let (name, built) = match collective {
        None => {
            let expected = |_| "Say closed, openmpi or mpich, or name the operation: algorithm.allreduce=ring".to_owned();
            ("algorithm".to_owned(), collective::built_all(value).map_err(expected))
        }
        Some(collective) => {
            let built = collective::built(value, collective::pattern(collective));
            (format!("algorithm.{}", collective.name()), built.map_err(|error| error.to_string()))
        }
    };
    built.map(|built| WhatIf::Algorithm(collective, built)).map_err(|expected| WhatIfError::Value { name, value: value.into(), expected })
}

fn placement(value: &str) -> Option<WhatIf> {
    let placement = match value {
        "block" => Placement::Block,
        "cyclic" => Placement::Cyclic,
        nodes => Placement::Nodes(nodes.split(':').map(|node| node.trim().parse().ok()).collect::<Option<_>>()?),
    };
    Some(WhatIf::Placement(placement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_changes_stand_beside_each_other() {
        let both = WhatIf::parse("latency=0, bandwidth=inf").unwrap();
        assert_eq!(both, [WhatIf::Latency(Amount::Is(0.0)), WhatIf::Bandwidth(Amount::Is(f64::INFINITY))]);
        assert_eq!(WhatIf::parse("latency=x2").unwrap(), [WhatIf::Latency(Amount::Times(2.0))]);
        assert_eq!(WhatIf::parse("bandwidth=100Mb").unwrap(), [WhatIf::Bandwidth(Amount::Is(12.5e6))]);
    }

    #[test]
    fn a_segment_is_named_by_its_call_sites() {
        let half = |from: Option<&str>| WhatIf::Segment { from: from.map(Into::into), to: "lu.f:310".into(), takes: Takes::Times(0.5) };
        assert_eq!(WhatIf::parse("segment lu.f:310 x0.5").unwrap(), [half(None)]);
        assert_eq!(WhatIf::parse("segment lu.f:300..lu.f:310 x0.5").unwrap(), [half(Some("lu.f:300"))]);
        let each = WhatIf::Segment { from: None, to: "a.c:1".into(), takes: Takes::Each(0.002) };
        assert_eq!(WhatIf::parse("segment a.c:1 2ms").unwrap(), [each]);
    }

    #[test]
    fn what_is_not_known_is_told_with_what_was_probably_meant() {
        let error = WhatIf::parse("latancy=0").unwrap_err().to_string();
        assert!(error.contains("did you mean `latency`"), "{error}");
        for bad in ["latency=fast", "bandwidth=-1", "eager=x", "balance=good", "algorithm=fast", "placement=a:b", "nodes=0", "segment x"] {
            assert!(matches!(WhatIf::parse(bad), Err(WhatIfError::Value { .. })), "{bad}");
        }
    }
}
