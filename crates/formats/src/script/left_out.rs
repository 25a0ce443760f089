//! What a recording shows and a trace of steps does not, as sentences.

/// Something that is left out or written differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LeftOut {
    Neighbourhood,
    BetweenGroups,
    OneSided,
    Outside,
    Gatherings,
    Later,
    WaitsForSends,
    Synchronous,
    Threads,
    Neighbours,
    Groups,
    Parts,
    Folded,
}

impl LeftOut {
    /// The sentence, where this program reads the format.
    pub fn sentence(self, reader: &str) -> String {
        match self {
            LeftOut::Neighbourhood => "neighbourhood collectives are left out where the recording does not tell the neighbours".into(),
            LeftOut::BetweenGroups => "collectives between two groups are left out".into(),
            LeftOut::OneSided => format!("one-sided transfers are left out: {reader} has none"),
            LeftOut::Outside => "messages from and to processes outside the recording are left out".into(),
            LeftOut::Gatherings => "making communicators and windows, fences and collective file access are written as barriers".into(),
            LeftOut::Later => format!("nonblocking operations of groups are written where they are completed: {reader} has none"),
            LeftOut::WaitsForSends => format!("waits for nonblocking sends are left out: {reader} has none"),
            LeftOut::Synchronous => format!("synchronous sends are written as usual ones: {reader} has no others"),
            LeftOut::Threads => format!("the threads of a rank are written as one: {reader} has no more"),
            LeftOut::Neighbours => format!("operations among neighbours are written as messages: {reader} has none"),
            LeftOut::Groups => format!("operations of a part of the ranks are written as messages: {reader} has those of all ranks only"),
            LeftOut::Parts => {
                "parts that may differ in size (gatherv, scatterv, alltoallv and their kin) are written as equal; where they are not, smpirun needs --cfg=smpi/errors-are-fatal:no"
                    .into()
            }
            LeftOut::Folded => {
                "tags from 8388608 or communicators from 256 on share numbers with smaller ones: messages that differ in nothing else may match each other"
                    .into()
            }
        }
    }
}
