//! The place of a call that the compiler has inlined.

/// The place of an inlined call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineSite {
    /// Source file, without directories.
    pub file: String,
    /// Line of the call.
    pub line: u64,
    /// The function that contains it.
    pub caller: String,
}

impl std::fmt::Display for InlineSite {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{} in {}", self.file, self.line, self.caller)
    }
}

/// The number of places and the first of them.
pub fn display_sites(sites: &[InlineSite]) -> String {
    const MOST: usize = 4;
    let shown: Vec<String> = sites.iter().take(MOST).map(ToString::to_string).collect();
    let more = if sites.len() > MOST { ", …" } else { "" };
    let places = if sites.len() == 1 { "place" } else { "places" };
    format!("{} {places}: {}{more}", sites.len(), shown.join(", "))
}
