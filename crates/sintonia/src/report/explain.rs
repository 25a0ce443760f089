//! What the kinds of wait states and advice mean.

use std::process::ExitCode;

use sintonia_insight::wait::PATTERNS;

use crate::{Error, output};

/// Explains one kind.
pub fn run(kind: &str) -> Result<ExitCode, Error> {
    let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.kind == kind) else {
        let kinds: Vec<&str> = PATTERNS.iter().map(|pattern| pattern.kind).collect();
        return Err(Error::Other(format!("there is no kind {kind:?}; there are: {}", kinds.join(", "))));
    };
    output::to_stdout(|out| writeln!(out, "{} ({})\n\n{}", pattern.name, pattern.kind, pattern.help))?;
    Ok(ExitCode::SUCCESS)
}
