//! Parses the lines of a time-independent trace.

use std::collections::VecDeque;

use super::WORLD;
use crate::sim_trace::{CollectiveOp, Completion, LineError, LineFields, TraceAction, TraceEnvelope};

/// Size of the datatypes by SMPI number (`smpi_datatype.cpp`); where C leaves it open, as on 64-bit Linux.
const DATATYPE_BYTES: [u64; 56] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16,
    8, 16, 16, 4, 2, 4, 8, 16, 32, 0, 0, 1, 8, 8,
];

/// Context for parsing a line.
pub(super) struct ActionContext {
    /// The rank of the line.
    pub rank: u32,
    /// Number of ranks.
    pub rank_count: u32,
    /// Speed of its host.
    pub flops_per_s: f64,
    /// Element size where the line has no datatype: MPI_DOUBLE if `init` has an argument, else MPI_BYTE.
    pub default_element_bytes: u64,
}

/// Parses a line and appends its actions.
pub(super) fn parse_action(context: &mut ActionContext, line: &str, actions: &mut VecDeque<TraceAction>) -> Result<(), LineError> {
    let mut fields = LineFields::new(line, ' ');
    let (Some(_), Some(action)) = (fields.next_field(), fields.next_field()) else { return Ok(()) };
    let action = action.to_ascii_lowercase();
    if let Some(op) = collective_op(&action) {
        return context.push_collective(op, fields, actions);
    }
    let step = match action.as_str() {
        "init" => {
            context.default_element_bytes = if fields.next_field().is_some() { 8 } else { 1 };
            TraceAction::Init
        }
        "finalize" => TraceAction::Finalize,
        "comm_size" | "comm_split" | "comm_dup" | "location" => return Ok(()),
        "compute" => context.compute_action(fields.next_number("an amount of computation")?)?,
        "sleep" => TraceAction::Compute { seconds: require_non_negative(fields.next_number("seconds")?)? },
        "send" | "isend" | "recv" | "irecv" => context.message_action(&action, fields)?,
        "sendrecv" => return context.push_send_receive(fields, actions),
        "wait" => context.wait_action(fields)?,
        "waitall" => TraceAction::WaitAll { include_sends: true },
        "test" => TraceAction::Test,
        _ => return Err(format!("unknown action `{}`", action.chars().take(40).collect::<String>().escape_debug())),
    };
    actions.push_back(step);
    Ok(())
}

fn collective_op(action: &str) -> Option<CollectiveOp> {
    Some(match action {
        "barrier" => CollectiveOp::Barrier,
        "bcast" => CollectiveOp::Broadcast,
        "reduce" => CollectiveOp::Reduce,
        "allreduce" => CollectiveOp::Allreduce,
        "alltoall" => CollectiveOp::Alltoall,
        "alltoallv" => CollectiveOp::Alltoallv,
        "gather" => CollectiveOp::Gather,
        "gatherv" => CollectiveOp::Gatherv,
        "allgather" => CollectiveOp::Allgather,
        "allgatherv" => CollectiveOp::Allgatherv,
        "scatter" => CollectiveOp::Scatter,
        "scatterv" => CollectiveOp::Scatterv,
        "reducescatter" => CollectiveOp::ReduceScatter,
        "scan" => CollectiveOp::Scan,
        "exscan" => CollectiveOp::Exscan,
        _ => return None,
    })
}

fn require_non_negative(number: f64) -> Result<f64, LineError> {
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err(format!("invalid amount {number}")) }
}

impl ActionContext {
    fn compute_action(&self, flops: f64) -> Result<TraceAction, LineError> {
        Ok(TraceAction::Compute { seconds: require_non_negative(flops)? / self.flops_per_s })
    }

    fn envelope(&self, peer: i64, tag: i64) -> Result<TraceEnvelope, LineError> {
        if peer < 0 || tag < 0 {
            return Err("a wildcard source or tag whose message the trace does not have: it cannot be replayed".to_owned());
        }
        let inside = u32::try_from(peer).ok().filter(|rank| *rank < self.rank_count);
        let peer = inside.ok_or_else(|| format!("there is no rank {peer}: the trace has {}", self.rank_count))?;
        let tag = i32::try_from(tag).map_err(|_| format!("the tag {tag} is too large"))?;
        Ok(TraceEnvelope { peer, tag, communicator: WORLD })
    }

    fn element_bytes(&self, fields: &mut LineFields) -> Result<u64, LineError> {
        let known = |number: i64| usize::try_from(number).ok().and_then(|number| DATATYPE_BYTES.get(number)).copied();
        match fields.next_optional("a datatype")? {
            None => Ok(self.default_element_bytes),
            Some(number) => known(number).ok_or_else(|| format!("unknown datatype {number}")),
        }
    }

    fn message_action(&self, action: &str, mut fields: LineFields) -> Result<TraceAction, LineError> {
        let message = self.envelope(fields.next_number("a rank")?, fields.next_number("a tag")?)?;
        let count = fields.next_amount("a number of elements")?;
        let bytes = count.saturating_mul(self.element_bytes(&mut fields)?);
        let completion = if action.starts_with('i') { Completion::Nonblocking } else { Completion::Blocking };
        Ok(match action {
            "send" | "isend" => TraceAction::Send { to: message, bytes, synchronous: false, completion },
            _ => TraceAction::Receive { from: message, bytes, completion },
        })
    }

    /// Count, destination, count, source, and both datatypes; there are no tags.
    fn push_send_receive(&self, mut fields: LineFields, actions: &mut VecDeque<TraceAction>) -> Result<(), LineError> {
        let sent = fields.next_amount("a number of elements")?;
        let to = self.envelope(fields.next_number("a rank")?, 0)?;
        let received = fields.next_amount("a number of elements")?;
        let from = self.envelope(fields.next_number("a rank")?, 0)?;
        let bytes = sent.saturating_mul(self.element_bytes(&mut fields)?);
        let received = received.saturating_mul(self.element_bytes(&mut fields)?);
        actions.push_back(TraceAction::Receive { from, bytes: received, completion: Completion::Nonblocking });
        actions.push_back(TraceAction::Send { to, bytes, synchronous: false, completion: Completion::Blocking });
        actions.push_back(TraceAction::Wait { is_send: false, message: from });
        Ok(())
    }

    fn wait_action(&self, mut fields: LineFields) -> Result<TraceAction, LineError> {
        let (from, to, tag): (i64, i64, i64) = (fields.next_number("a rank")?, fields.next_number("a rank")?, fields.next_number("a tag")?);
        let sent = to != i64::from(self.rank);
        Ok(TraceAction::Wait { is_send: sent, message: self.envelope(if sent { to } else { from }, tag)? })
    }

    fn push_collective(&self, op: CollectiveOp, fields: LineFields, actions: &mut VecDeque<TraceAction>) -> Result<(), LineError> {
        let fields = fields.remaining();
        let arguments = ActionArguments { context: self, fields: &fields };
        let decoded = arguments.decode(op)?;
        let root = decoded
            .root
            .map(|root| u32::try_from(root).ok().filter(|root| *root < self.rank_count).ok_or(format!("there is no rank {root}")));
        let root = root.transpose()?;
        actions.push_back(TraceAction::Collective {
            operation: op,
            communicator: WORLD,
            root,
            sent: decoded.sent,
            received: decoded.received,
        });
        if decoded.flops > 0.0 {
            actions.push_back(self.compute_action(decoded.flops)?);
        }
        Ok(())
    }
}

/// The arguments of a collective.
#[derive(Default)]
struct DecodedCollective {
    root: Option<i64>,
    sent: u64,
    received: u64,
    flops: f64,
}

/// Positional arguments of a collective.
struct ActionArguments<'a> {
    context: &'a ActionContext,
    fields: &'a [&'a str],
}

impl ActionArguments<'_> {
    fn decode(&self, op: CollectiveOp) -> Result<DecodedCollective, LineError> {
        let ranks = self.context.rank_count as usize;
        let here = |root: i64| root == i64::from(self.context.rank);
        Ok(match op {
            CollectiveOp::Barrier => DecodedCollective::default(),
            CollectiveOp::Broadcast => {
                let (bytes, root) = (self.bytes_at(0, 2)?, self.root_at(1)?);
                DecodedCollective {
                    root: Some(root),
                    sent: if here(root) { bytes } else { 0 },
                    received: if here(root) { 0 } else { bytes },
                    flops: 0.0,
                }
            }
            CollectiveOp::Reduce => {
                let (bytes, root) = (self.bytes_at(0, 3)?, self.root_at(2)?);
                DecodedCollective { root: Some(root), sent: bytes, received: if here(root) { bytes } else { 0 }, flops: self.number_at(1)? }
            }
            CollectiveOp::Allreduce | CollectiveOp::Scan | CollectiveOp::Exscan => {
                let bytes = self.bytes_at(0, 2)?;
                DecodedCollective { root: None, sent: bytes, received: bytes, flops: self.number_at(1)? }
            }
            CollectiveOp::Gather | CollectiveOp::Scatter => {
                let (sent, received, root) = (self.bytes_at(0, 3)?, self.bytes_at(1, 4)?, self.root_at(2)?);
                let all = |bytes: u64| bytes.saturating_mul(ranks as u64);
                let (sent, received) = match (op, here(root)) {
                    (CollectiveOp::Gather, true) => (sent, all(received)),
                    (CollectiveOp::Gather, false) => (sent, 0),
                    (_, true) => (all(sent), received),
                    (_, false) => (0, received),
                };
                DecodedCollective { root: Some(root), sent, received, flops: 0.0 }
            }
            CollectiveOp::Allgather => DecodedCollective {
                sent: self.bytes_at(0, 2)?,
                received: self.bytes_at(1, 3)?.saturating_mul(ranks as u64),
                ..DecodedCollective::default()
            },
            CollectiveOp::Alltoall => {
                let (sent, received) = (self.bytes_at(0, 2)?, self.bytes_at(1, 3)?);
                DecodedCollective {
                    sent: sent.saturating_mul(ranks as u64),
                    received: received.saturating_mul(ranks as u64),
                    ..DecodedCollective::default()
                }
            }
            CollectiveOp::Gatherv => {
                let root = self.root_at(1 + ranks)?;
                let received = if here(root) { self.sum_at(1, 3 + ranks)? } else { 0 };
                DecodedCollective { root: Some(root), sent: self.bytes_at(0, 2 + ranks)?, received, flops: 0.0 }
            }
            CollectiveOp::Allgatherv => DecodedCollective {
                sent: self.bytes_at(0, 1 + ranks)?,
                received: self.sum_at(1, 1 + ranks)?,
                ..DecodedCollective::default()
            },
            CollectiveOp::Scatterv => {
                let root = self.root_at(1 + ranks)?;
                let sent = if here(root) { self.sum_at(0, 2 + ranks)? } else { 0 };
                DecodedCollective { root: Some(root), sent, received: self.bytes_at(ranks, 3 + ranks)?, flops: 0.0 }
            }
            CollectiveOp::ReduceScatter => {
                let (own, all) = (self.bytes_at(self.context.rank as usize, 1 + ranks)?, self.sum_at(0, 1 + ranks)?);
                DecodedCollective { root: None, sent: all, received: own, flops: self.number_at(ranks)? }
            }
            _ => DecodedCollective {
                sent: self.sum_at(1, 2 + 2 * ranks)?,
                received: self.sum_at(2 + ranks, 3 + 2 * ranks)?,
                ..DecodedCollective::default()
            },
        })
    }

    fn number_at(&self, index: usize) -> Result<f64, LineError> {
        let field = self.fields.get(index).ok_or_else(|| format!("the line ends before argument {}", index + 1))?;
        LineFields::new(field, ' ').next_number("a number").and_then(require_non_negative)
    }

    /// Element count at one position, of the datatype at another, in bytes.
    fn bytes_at(&self, index: usize, datatype: usize) -> Result<u64, LineError> {
        let mut datatype = LineFields::new(self.fields.get(datatype).copied().unwrap_or_default(), ' ');
        Ok((self.number_at(index)? as u64).saturating_mul(self.context.element_bytes(&mut datatype)?))
    }

    /// Element counts of all ranks, in bytes.
    fn sum_at(&self, first: usize, datatype: usize) -> Result<u64, LineError> {
        (first..first + self.context.rank_count as usize)
            .try_fold(0u64, |sum, index| Ok(sum.saturating_add(self.bytes_at(index, datatype)?)))
    }

    fn root_at(&self, index: usize) -> Result<i64, LineError> {
        LineFields::new(self.fields.get(index).copied().unwrap_or("0"), ' ').next_number("a root")
    }
}
