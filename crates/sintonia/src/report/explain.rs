//! Explains kinds of wait states and advice.

use std::process::ExitCode;

use sintonia_insight::advice::{RULES, core_shortage, lock_competition, serial_part, thread_imbalance};
use sintonia_insight::openmp::THREAD_WAITS;
use sintonia_insight::wait_states::WAIT_PATTERNS;

use crate::error::usage_error;
use crate::report::SCREEN_COLUMNS;
use crate::text::wrap;
use crate::{Error, output};

/// Explains one kind.
pub(super) fn run(kind: &str) -> Result<ExitCode, Error> {
    let waits = WAIT_PATTERNS.iter().map(|pattern| (pattern.kind, pattern.name, pattern.help.to_owned()));
    let rules = RULES.iter().map(|rule| (rule.kind, rule.name, format!("{} How the saving is estimated: {}", rule.help, rule.basis)));
    let threads = THREAD_WAITS.iter().map(|pattern| (pattern.kind, pattern.name, pattern.help.to_owned()));
    let estimated = |help: &str, basis: &str| format!("{help} How the saving is estimated: {basis}");
    let stated = [
        (core_shortage::KIND, core_shortage::NAME, core_shortage::HELP.to_owned()),
        (thread_imbalance::KIND, thread_imbalance::NAME, estimated(thread_imbalance::HELP, thread_imbalance::BASIS)),
        (lock_competition::KIND, lock_competition::NAME, estimated(lock_competition::HELP, lock_competition::BASIS)),
        (serial_part::KIND, serial_part::NAME, estimated(serial_part::HELP, serial_part::BASIS)),
    ];
    let all = waits.chain(threads).chain(rules).chain(stated);
    let Some((kind, name, help)) = all.clone().find(|(known, ..)| *known == kind) else {
        let kinds: Vec<&str> = all.map(|(kind, ..)| kind).collect();
        usage_error(format!("no kind {kind:?}; available: {}", kinds.join(", ")));
    };
    output::write_stdout(|out| writeln!(out, "{name} ({kind})\n\n{}", wrap(&help, SCREEN_COLUMNS).join("\n")))?;
    Ok(ExitCode::SUCCESS)
}
