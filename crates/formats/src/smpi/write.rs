//! A recording as a time-independent trace of SMPI: a file for each rank in a folder, and a list of them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sintonia_recording::Recording;

use crate::error::At;
use crate::script::{End, Envelope, LeftOut, Pattern, Recorded, Step, Vocabulary};
use crate::written::Aside;
use crate::{Error, Written, rows};

const VOCABULARY: Vocabulary =
    Vocabulary { threads: false, communicators: false, synchronous: false, waits_for_sends: true, waits_for_all: true };

/// A host that does so many operations in a second computes as long as was recorded.
const FLOPS_PER_S: f64 = 1e9;

/// The files and folders of the trace whose list is at `path`.
pub fn files(path: &Path) -> Result<[PathBuf; 2], Error> {
    let name = name_of(path)?;
    Ok([path.to_owned(), path.with_file_name(folder_of(name))])
}

fn name_of(path: &Path) -> Result<&str, Error> {
    let refused = || Error::InTheWay { path: path.to_owned(), what: "is no name for a file".into() };
    path.file_name().and_then(|name| name.to_str()).ok_or_else(refused)
}

fn folder_of(name: &str) -> String {
    format!("{name}_files")
}

/// Writes the trace of a recording; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<Written, Error> {
    rows::check_for_calls(&recording.header)?;
    let name = name_of(path)?;
    let folder = folder_of(name);
    let aside = Aside::beside(path)?;
    std::fs::create_dir(aside.file(&folder)).at(path)?;
    let mut list = BufWriter::new(File::create(aside.file(name)).at(path)?);
    let mut left_out = BTreeSet::new();
    for rank in 0..recording.header.rank_count() {
        let file = format!("{folder}/rank-{rank}.txt");
        writeln!(list, "{file}").at(path)?;
        let mut out = BufWriter::new(File::create(aside.file(&file)).at(path)?);
        write_rank(&mut out, recording, rank, path, &mut left_out)?;
        out.flush().at(path)?;
        progress();
    }
    list.flush().at(path)?;
    let mut written = aside.publish(&[&folder, name])?;
    written.notes.extend(left_out.into_iter().map(|left_out| left_out.sentence("SMPI")));
    Ok(written)
}

fn write_rank(out: &mut impl Write, recording: &Recording, rank: u32, path: &Path, left_out: &mut BTreeSet<LeftOut>) -> Result<(), Error> {
    // Without an argument, counts are of bytes.
    writeln!(out, "{rank} init").at(path)?;
    if recording.header.rank(rank).is_some() {
        let ranks = recording.header.rank_count() as usize;
        let mut parts = false;
        let mut steps = Recorded::of(recording, rank, VOCABULARY, left_out, |_, step| {
            parts |= matches!(step, Step::Collective { pattern, .. } if has_parts(*pattern));
            write_step(out, rank, ranks, step)
        });
        rows::each(recording, rank, |row| steps.call(row).at(path))?;
        steps.finish().at(path)?;
        if parts {
            left_out.insert(LeftOut::Parts);
        }
    }
    writeln!(out, "{rank} finalize").at(path)
}

/// Whether each part is told apart from the others, which a recording does not.
fn has_parts(pattern: Pattern) -> bool {
    use Pattern::*;
    matches!(pattern, Gatherv | Scatterv | Allgatherv | Alltoallv | Alltoallw | ReduceScatter)
}

fn write_step(out: &mut impl Write, rank: u32, ranks: usize, step: &Step) -> io::Result<()> {
    let message = |out: &mut dyn Write, action: &str, Envelope { peer, tag, .. }: Envelope, bytes: u64| {
        writeln!(out, "{rank} {action} {peer} {tag} {bytes}")
    };
    match *step {
        Step::Compute { seconds } => writeln!(out, "{rank} compute {:.0}", seconds * FLOPS_PER_S),
        Step::Send { to, bytes, end, .. } => message(out, if end == End::Here { "send" } else { "isend" }, to, bytes),
        Step::Receive { from, bytes, end } => message(out, if end == End::Here { "recv" } else { "irecv" }, from, bytes),
        Step::Wait { sent: true, message } => writeln!(out, "{rank} wait {rank} {} {}", message.peer, message.tag),
        Step::Wait { sent: false, message } => writeln!(out, "{rank} wait {} {rank} {}", message.peer, message.tag),
        Step::WaitAll { .. } => writeln!(out, "{rank} waitall"),
        Step::Collective { pattern, root, sent, received, .. } => {
            write_collective(out, rank, pattern, Amounts { ranks, root: root.unwrap_or(0), sent, received })
        }
        // The vocabulary has no others.
        Step::Poll | Step::Init | Step::Finalize => Ok(()),
    }
}

/// What a rank says of its part in an operation of all.
struct Amounts {
    ranks: usize,
    root: u32,
    sent: u64,
    received: u64,
}

impl Amounts {
    /// Bytes for each rank, equal as far as they can be.
    fn parts(&self, bytes: u64) -> String {
        let (share, left) = (bytes / self.ranks.max(1) as u64, bytes % self.ranks.max(1) as u64);
        let part = |place: usize| share + u64::from((place as u64) < left);
        (0..self.ranks).map(|place| part(place).to_string()).collect::<Vec<_>>().join(" ")
    }

    fn share(&self, bytes: u64) -> u64 {
        bytes / self.ranks.max(1) as u64
    }
}

fn write_collective(out: &mut impl Write, rank: u32, pattern: Pattern, amounts: Amounts) -> io::Result<()> {
    let Amounts { ranks, root, sent, received } = amounts;
    let (whole, here) = (sent.max(received), root == rank);
    match pattern {
        Pattern::Barrier => writeln!(out, "{rank} barrier"),
        Pattern::Broadcast => writeln!(out, "{rank} bcast {whole} {root}"),
        Pattern::Reduce => writeln!(out, "{rank} reduce {whole} 0 {root}"),
        Pattern::Allreduce => writeln!(out, "{rank} allreduce {whole} 0"),
        Pattern::Scan => writeln!(out, "{rank} scan {whole} 0"),
        Pattern::Exscan => writeln!(out, "{rank} exscan {whole} 0"),
        Pattern::Gather => {
            let block = if here { amounts.share(received) } else { sent };
            writeln!(out, "{rank} gather {block} {block} {root}")
        }
        Pattern::Scatter => {
            let block = if here { amounts.share(sent) } else { received };
            writeln!(out, "{rank} scatter {block} {block} {root}")
        }
        Pattern::Allgather => writeln!(out, "{rank} allgather {} {}", amounts.share(received), amounts.share(received)),
        Pattern::Alltoall => writeln!(out, "{rank} alltoall {} {}", amounts.share(sent), amounts.share(received)),
        Pattern::Gatherv => writeln!(out, "{rank} gatherv {sent} {} {root}", amounts.parts(received)),
        Pattern::Scatterv => writeln!(out, "{rank} scatterv {} {received} {root}", amounts.parts(sent)),
        Pattern::Allgatherv => writeln!(out, "{rank} allgatherv {sent} {}", amounts.parts(received)),
        Pattern::ReduceScatter => writeln!(out, "{rank} reducescatter {} 0", amounts.parts(sent)),
        Pattern::ReduceScatterBlock => writeln!(out, "{rank} reducescatter {} 0", vec![received.to_string(); ranks].join(" ")),
        // Neighbours are told by messages, so that only the kinds of alltoallv are left.
        _ => writeln!(out, "{rank} alltoallv {sent} {} {received} {}", amounts.parts(sent), amounts.parts(received)),
    }
}
