//! Explains kinds of wait states and advice.

use std::process::ExitCode;

use sintonia_insight::advice::{RULES, core_shortage, serial_part, thread_imbalance, thread_lock_competition};
use sintonia_insight::openmp::THREAD_WAITS;
use sintonia_insight::wait_states::WAIT_PATTERNS;

use crate::error::usage_error;
use crate::report::SCREEN_COLUMNS;
use crate::text::wrap;
use crate::{Error, output};

/// Explains one kind.
pub(super) fn run(kind: &str) -> Result<ExitCode, Error> {
    let all = explanations();
    let Some(Explanation { kind, name, help }) = all.iter().find(|known| known.kind == kind) else {
        let kinds: Vec<&str> = all.iter().map(|known| known.kind).collect();
        usage_error(format!("no kind {kind:?}; available: {}", kinds.join(", ")));
    };
    output::write_stdout(|out| writeln!(out, "{name} ({kind})\n\n{}", wrap(help, SCREEN_COLUMNS).join("\n")))?;
    Ok(ExitCode::SUCCESS)
}

/// What a kind of wait state or advice means.
struct Explanation {
    kind: &'static str,
    name: &'static str,
    help: String,
}

/// Those of all wait states and all advice.
fn explanations() -> Vec<Explanation> {
    let explained = |kind, name, help: &str| Explanation { kind, name, help: help.into() };
    let estimated =
        |kind, name, help: &str, basis: &str| Explanation { kind, name, help: format!("{help} How the saving is estimated: {basis}") };
    let waits = WAIT_PATTERNS.iter().map(|pattern| explained(pattern.kind, pattern.name, pattern.help));
    let threads = THREAD_WAITS.iter().map(|pattern| explained(pattern.kind, pattern.name, pattern.help));
    let rules = RULES.iter().map(|rule| estimated(rule.kind, rule.name, rule.help, rule.basis));
    let without_rule = [
        explained(core_shortage::KIND, core_shortage::NAME, core_shortage::HELP),
        estimated(thread_imbalance::KIND, thread_imbalance::NAME, thread_imbalance::HELP, thread_imbalance::BASIS),
        estimated(
            thread_lock_competition::KIND,
            thread_lock_competition::NAME,
            thread_lock_competition::HELP,
            thread_lock_competition::BASIS,
        ),
        estimated(serial_part::KIND, serial_part::NAME, serial_part::HELP, serial_part::BASIS),
    ];
    waits.chain(threads).chain(rules).chain(without_rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_has_two_meanings() {
        let mut kinds: Vec<&str> = explanations().iter().map(|known| known.kind).collect();
        let all = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), all, "{kinds:?}");
    }
}
