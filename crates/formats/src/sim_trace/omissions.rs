//! What a simulator trace lacks compared to the recording.

/// Something that is left out or written differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TraceOmission {
    UnknownNeighbours,
    Intercommunicator,
    OneSided,
    ExternalProcess,
    SynchronisationAsBarrier,
    NonblockingCollectives,
    WaitsForSends,
    SynchronousSends,
    MergedThreads,
    NeighbourhoodAsMessages,
    SubgroupAsMessages,
    EqualisedParts,
    FoldedTags,
}

impl TraceOmission {
    /// The message for the user; `reader` is the simulator.
    pub(crate) fn describe(self, reader: &str) -> String {
        match self {
            TraceOmission::UnknownNeighbours => "neighbourhood collectives are left out where the recording lacks the neighbours".into(),
            TraceOmission::Intercommunicator => "collectives on intercommunicators are left out".into(),
            TraceOmission::OneSided => format!("one-sided transfers are left out: {reader} has none"),
            TraceOmission::ExternalProcess => "messages from and to processes outside the recording are left out".into(),
            TraceOmission::SynchronisationAsBarrier => "communicator and window creation, fences and collective file access are written as barriers".into(),
            TraceOmission::NonblockingCollectives => format!("nonblocking collectives are written where they complete: {reader} has none"),
            TraceOmission::WaitsForSends => format!("waits for nonblocking sends are left out: {reader} has none"),
            TraceOmission::SynchronousSends => format!("synchronous sends are written as standard sends: {reader} has no others"),
            TraceOmission::MergedThreads => format!("the threads of a rank are merged into one: {reader} has no threads"),
            TraceOmission::NeighbourhoodAsMessages => format!("neighbourhood collectives are written as messages: {reader} has none"),
            TraceOmission::SubgroupAsMessages => format!("collectives of a subset of the ranks are written as messages: {reader} has only those of all ranks"),
            TraceOmission::EqualisedParts => {
                "blocks that may differ in size (gatherv, scatterv, alltoallv and variants) are written as equal; where they are not, smpirun needs --cfg=smpi/errors-are-fatal:no"
                    .into()
            }
            TraceOmission::FoldedTags => {
                "tags from 8388608 and communicators from 256 on are folded onto smaller ones: messages that differ in nothing else may match each other"
                    .into()
            }
        }
    }
}
