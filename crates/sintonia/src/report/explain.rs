//! What the kinds of wait states and advice mean.

use std::process::ExitCode;

use sintonia_insight::advice::RULES;
use sintonia_insight::wait::PATTERNS;

use crate::error::wrong_usage;
use crate::text::wrapped;
use crate::{Error, output};

const COLUMNS: usize = 100;

/// Explains one kind.
pub fn run(kind: &str) -> Result<ExitCode, Error> {
    let waits = PATTERNS.iter().map(|pattern| (pattern.kind, pattern.name, pattern.help.to_owned()));
    let rules = RULES.iter().map(|rule| (rule.kind, rule.name, format!("{} How the saving is estimated: {}", rule.help, rule.basis)));
    let all = waits.chain(rules);
    let Some((kind, name, help)) = all.clone().find(|(known, ..)| *known == kind) else {
        let kinds: Vec<&str> = all.map(|(kind, ..)| kind).collect();
        wrong_usage(format!("there is no kind {kind:?}; there are: {}", kinds.join(", ")));
    };
    output::to_stdout(|out| writeln!(out, "{name} ({kind})\n\n{}", wrapped(&help, COLUMNS).join("\n")))?;
    Ok(ExitCode::SUCCESS)
}
