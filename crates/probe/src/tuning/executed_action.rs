//! Results of actions that ran later than their command came, by several ways.

/// An action of a command that has run.
pub(super) struct ExecutedAction {
    /// Number of the command.
    pub number: u64,
    /// Its result, or why it failed.
    pub result: Result<u64, String>,
    /// When it ran.
    pub ticks: u64,
}
