//! A limit of the names that definitions expand to.
//!
//! A few bytes can define a call site with long names; more than the limit is corruption.

/// Limit of all names together.
const MAX_TEXT_BYTES: usize = 1 << 28;

/// Remaining bytes of names.
pub(super) struct TextBudget(usize);

impl TextBudget {
    /// The names of all definitions of a kind, such as call sites or frames.
    pub(super) fn new() -> TextBudget {
        TextBudget(MAX_TEXT_BYTES)
    }

    #[cfg(test)]
    pub(super) fn with_bytes(bytes: usize) -> TextBudget {
        TextBudget(bytes)
    }

    /// Copies a name, unless it is empty or exceeds the budget.
    pub(super) fn copy_text(&mut self, name: &str) -> Option<String> {
        self.0 = self.0.checked_sub(name.len())?;
        Some(name.to_owned()).filter(|name| !name.is_empty())
    }
}
