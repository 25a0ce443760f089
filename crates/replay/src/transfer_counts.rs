//! How many messages can tell what the recorded network takes: those in which no rank waited for a core.

/// Receives that waited for their message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferCounts {
    /// Number of those whose two ranks had a core all the time.
    pub undisturbed: u64,
    /// Number of those in which a rank waited for a core.
    pub disturbed: u64,
}

impl TransferCounts {
    /// With fewer undisturbed messages, a network is not estimated from a recording with disturbed ones.
    pub const MIN_UNDISTURBED: u64 = 10;

    /// Whether the network is unknown because ranks waited for a core.
    pub fn are_too_few(self) -> bool {
        self.disturbed > 0 && self.undisturbed < TransferCounts::MIN_UNDISTURBED
    }
}
