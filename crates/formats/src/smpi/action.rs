//! What a line of a time-independent trace says.

use std::collections::VecDeque;

use super::WORLD;
use crate::script::{End, Envelope, Fields, Pattern, Step, Wrong};

/// Bytes of the datatypes, by the number that SMPI gives them (`smpi_datatype.cpp`); where C leaves it open, those of 64-bit Linux.
const TYPE_BYTES: [u64; 56] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16,
    8, 16, 16, 4, 2, 4, 8, 16, 32, 0, 0, 1, 8, 8,
];

/// What must be known to understand a line.
pub struct Context {
    /// The rank that it is of.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// What its host does in a second.
    pub flops_per_s: f64,
    /// Bytes of an element where the type is not told: MPI_DOUBLE if `init` has an argument, else MPI_BYTE.
    pub type_bytes: u64,
}

/// Adds the steps that a line stands for.
pub fn understand(context: &mut Context, line: &str, steps: &mut VecDeque<Step>) -> Result<(), Wrong> {
    let mut fields = Fields::of(line, ' ');
    let (Some(_), Some(action)) = (fields.next(), fields.next()) else { return Ok(()) };
    let action = action.to_ascii_lowercase();
    if let Some(pattern) = pattern(&action) {
        return context.collective(pattern, fields, steps);
    }
    let step = match action.as_str() {
        "init" => {
            context.type_bytes = if fields.next().is_some() { 8 } else { 1 };
            Step::Init
        }
        "finalize" => Step::Finalize,
        "comm_size" | "comm_split" | "comm_dup" | "location" => return Ok(()),
        "compute" => context.compute(fields.number("an amount of computation")?)?,
        "sleep" => Step::Compute { seconds: not_negative(fields.number("seconds")?)? },
        "send" | "isend" | "recv" | "irecv" => context.message(&action, fields)?,
        "sendrecv" => return context.send_receive(fields, steps),
        "wait" => context.wait(fields)?,
        "waitall" => Step::WaitAll { sent: true },
        "test" => Step::Poll,
        _ => return Err(format!("the action `{}` is not known", action.chars().take(40).collect::<String>().escape_debug())),
    };
    steps.push_back(step);
    Ok(())
}

fn pattern(action: &str) -> Option<Pattern> {
    Some(match action {
        "barrier" => Pattern::Barrier,
        "bcast" => Pattern::Broadcast,
        "reduce" => Pattern::Reduce,
        "allreduce" => Pattern::Allreduce,
        "alltoall" => Pattern::Alltoall,
        "alltoallv" => Pattern::Alltoallv,
        "gather" => Pattern::Gather,
        "gatherv" => Pattern::Gatherv,
        "allgather" => Pattern::Allgather,
        "allgatherv" => Pattern::Allgatherv,
        "scatter" => Pattern::Scatter,
        "scatterv" => Pattern::Scatterv,
        "reducescatter" => Pattern::ReduceScatter,
        "scan" => Pattern::Scan,
        "exscan" => Pattern::Exscan,
        _ => return None,
    })
}

fn not_negative(number: f64) -> Result<f64, Wrong> {
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err(format!("{number} cannot be computed or waited for")) }
}

impl Context {
    fn compute(&self, flops: f64) -> Result<Step, Wrong> {
        Ok(Step::Compute { seconds: not_negative(flops)? / self.flops_per_s })
    }

    fn envelope(&self, peer: i64, tag: i64) -> Result<Envelope, Wrong> {
        if peer < 0 || tag < 0 {
            return Err("a message of anyone or of any tag: the trace does not say which it was, so it cannot be replayed".to_owned());
        }
        let inside = u32::try_from(peer).ok().filter(|rank| *rank < self.ranks);
        let peer = inside.ok_or_else(|| format!("there is no rank {peer}: the trace has {}", self.ranks))?;
        let tag = i32::try_from(tag).map_err(|_| format!("the tag {tag} is too large"))?;
        Ok(Envelope { peer, tag, communicator: WORLD })
    }

    fn element(&self, fields: &mut Fields) -> Result<u64, Wrong> {
        let known = |number: i64| usize::try_from(number).ok().and_then(|number| TYPE_BYTES.get(number)).copied();
        match fields.optional("a datatype")? {
            None => Ok(self.type_bytes),
            Some(number) => known(number).ok_or_else(|| format!("the datatype {number} is not known")),
        }
    }

    fn message(&self, action: &str, mut fields: Fields) -> Result<Step, Wrong> {
        let message = self.envelope(fields.number("a rank")?, fields.number("a tag")?)?;
        let count = fields.amount("a number of elements")?;
        let bytes = count.saturating_mul(self.element(&mut fields)?);
        let end = if action.starts_with('i') { End::Later } else { End::Here };
        Ok(match action {
            "send" | "isend" => Step::Send { to: message, bytes, synchronous: false, end },
            _ => Step::Receive { from: message, bytes, end },
        })
    }

    /// Count, destination, count, source, and both types; tags are not told.
    fn send_receive(&self, mut fields: Fields, steps: &mut VecDeque<Step>) -> Result<(), Wrong> {
        let sent = fields.amount("a number of elements")?;
        let to = self.envelope(fields.number("a rank")?, 0)?;
        let received = fields.amount("a number of elements")?;
        let from = self.envelope(fields.number("a rank")?, 0)?;
        let bytes = sent.saturating_mul(self.element(&mut fields)?);
        let received = received.saturating_mul(self.element(&mut fields)?);
        steps.push_back(Step::Receive { from, bytes: received, end: End::Later });
        steps.push_back(Step::Send { to, bytes, synchronous: false, end: End::Here });
        steps.push_back(Step::Wait { sent: false, message: from });
        Ok(())
    }

    fn wait(&self, mut fields: Fields) -> Result<Step, Wrong> {
        let (from, to, tag): (i64, i64, i64) = (fields.number("a rank")?, fields.number("a rank")?, fields.number("a tag")?);
        let sent = to != i64::from(self.rank);
        Ok(Step::Wait { sent, message: self.envelope(if sent { to } else { from }, tag)? })
    }

    fn collective(&self, pattern: Pattern, fields: Fields, steps: &mut VecDeque<Step>) -> Result<(), Wrong> {
        let fields = fields.all();
        let arguments = Arguments { context: self, fields: &fields };
        let told = arguments.told(pattern)?;
        let root =
            told.root.map(|root| u32::try_from(root).ok().filter(|root| *root < self.ranks).ok_or(format!("there is no rank {root}")));
        let root = root.transpose()?;
        steps.push_back(Step::Collective { pattern, communicator: WORLD, root, sent: told.sent, received: told.received });
        if told.flops > 0.0 {
            steps.push_back(self.compute(told.flops)?);
        }
        Ok(())
    }
}

/// What an action of a group says.
#[derive(Default)]
struct Told {
    root: Option<i64>,
    sent: u64,
    received: u64,
    flops: f64,
}

/// The arguments of an action of a group, by place.
struct Arguments<'a> {
    context: &'a Context,
    fields: &'a [&'a str],
}

impl Arguments<'_> {
    fn told(&self, pattern: Pattern) -> Result<Told, Wrong> {
        let ranks = self.context.ranks as usize;
        let here = |root: i64| root == i64::from(self.context.rank);
        Ok(match pattern {
            Pattern::Barrier => Told::default(),
            Pattern::Broadcast => {
                let (bytes, root) = (self.bytes(0, 2)?, self.root(1)?);
                Told {
                    root: Some(root),
                    sent: if here(root) { bytes } else { 0 },
                    received: if here(root) { 0 } else { bytes },
                    flops: 0.0,
                }
            }
            Pattern::Reduce => {
                let (bytes, root) = (self.bytes(0, 3)?, self.root(2)?);
                Told { root: Some(root), sent: bytes, received: if here(root) { bytes } else { 0 }, flops: self.number(1)? }
            }
            Pattern::Allreduce | Pattern::Scan | Pattern::Exscan => {
                let bytes = self.bytes(0, 2)?;
                Told { root: None, sent: bytes, received: bytes, flops: self.number(1)? }
            }
            Pattern::Gather | Pattern::Scatter => {
                let (sent, received, root) = (self.bytes(0, 3)?, self.bytes(1, 4)?, self.root(2)?);
                let all = |bytes: u64| bytes.saturating_mul(ranks as u64);
                let (sent, received) = match (pattern, here(root)) {
                    (Pattern::Gather, true) => (sent, all(received)),
                    (Pattern::Gather, false) => (sent, 0),
                    (_, true) => (all(sent), received),
                    (_, false) => (0, received),
                };
                Told { root: Some(root), sent, received, flops: 0.0 }
            }
            Pattern::Allgather => {
                Told { sent: self.bytes(0, 2)?, received: self.bytes(1, 3)?.saturating_mul(ranks as u64), ..Told::default() }
            }
            Pattern::Alltoall => {
                let (sent, received) = (self.bytes(0, 2)?, self.bytes(1, 3)?);
                Told { sent: sent.saturating_mul(ranks as u64), received: received.saturating_mul(ranks as u64), ..Told::default() }
            }
            Pattern::Gatherv => {
                let root = self.root(1 + ranks)?;
                let received = if here(root) { self.sum(1, 3 + ranks)? } else { 0 };
                Told { root: Some(root), sent: self.bytes(0, 2 + ranks)?, received, flops: 0.0 }
            }
            Pattern::Allgatherv => Told { sent: self.bytes(0, 1 + ranks)?, received: self.sum(1, 1 + ranks)?, ..Told::default() },
            Pattern::Scatterv => {
                let root = self.root(1 + ranks)?;
                let sent = if here(root) { self.sum(0, 2 + ranks)? } else { 0 };
                Told { root: Some(root), sent, received: self.bytes(ranks, 3 + ranks)?, flops: 0.0 }
            }
            Pattern::ReduceScatter => {
                let (own, all) = (self.bytes(self.context.rank as usize, 1 + ranks)?, self.sum(0, 1 + ranks)?);
                Told { root: None, sent: all, received: own, flops: self.number(ranks)? }
            }
            _ => Told { sent: self.sum(1, 2 + 2 * ranks)?, received: self.sum(2 + ranks, 3 + 2 * ranks)?, ..Told::default() },
        })
    }

    fn number(&self, place: usize) -> Result<f64, Wrong> {
        let field = self.fields.get(place).ok_or_else(|| format!("the line ends before argument {}", place + 1))?;
        Fields::of(field, ' ').number("a number").and_then(not_negative)
    }

    /// An element count at one place, of the type at another, in bytes.
    fn bytes(&self, place: usize, datatype: usize) -> Result<u64, Wrong> {
        let mut datatype = Fields::of(self.fields.get(datatype).copied().unwrap_or_default(), ' ');
        Ok((self.number(place)? as u64).saturating_mul(self.context.element(&mut datatype)?))
    }

    /// One element count for each rank, in bytes of all.
    fn sum(&self, first: usize, datatype: usize) -> Result<u64, Wrong> {
        (first..first + self.context.ranks as usize).try_fold(0u64, |sum, place| Ok(sum.saturating_add(self.bytes(place, datatype)?)))
    }

    fn root(&self, place: usize) -> Result<i64, Wrong> {
        Fields::of(self.fields.get(place).copied().unwrap_or("0"), ' ').number("a root")
    }
}
