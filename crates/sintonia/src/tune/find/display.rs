//! What a search tells: what it found out about the program, its trials, and the result.

use sintonia_autotune::{
    CandidateResult, CandidateState, MainLoop, RunFacts, SearchEvent, SearchLimits, TrialSettings, TunedSettings, TuningCandidate,
};

use super::live::LiveVerdict;
use super::trial_measure::TrialMeasure;
use super::{FindOutcome, format_budget, shell_file};
use crate::text::{format_percent, format_plural, format_seconds, shell_command};

/// What the first run showed.
pub(super) fn print_facts(
    facts: &RunFacts,
    main_loop: Option<&MainLoop>,
    candidates: &[TuningCandidate],
    known: Option<&TunedSettings>,
    limits: SearchLimits,
    measured: Option<&str>,
) {
    let ranks = format_plural(u64::from(facts.ranks), "rank");
    eprintln!(
        "sintonia: {ranks} of {} on {}, {} from MPI_Init to MPI_Finalize, {} of it in MPI, {:.0} page faults per second and rank",
        facts.library,
        format_plural(u64::from(facts.processors), "processor"),
        format_seconds(facts.work_s),
        format_percent(facts.mpi_share),
        facts.faults_per_s
    );
    match main_loop {
        _ if measured.is_some() => eprintln!("sintonia: what is measured is the number that matches '{}'", measured.unwrap_or_default()),
        Some(MainLoop { name, iterations, seconds, share }) => eprintln!(
            "sintonia: main loop {name}: {iterations} iterations of {}, {} of the time; it is what is measured",
            format_seconds(seconds / *iterations as f64),
            format_percent(*share)
        ),
        None => eprintln!("sintonia: the time from MPI_Init to MPI_Finalize is what is measured"),
    }
    match known {
        Some(known) if known.settings.is_empty() => eprintln!("sintonia: an earlier search found nothing that pays"),
        Some(known) => eprintln!("sintonia: an earlier search found {}; it is tried first", known.settings.to_line()),
        None => {}
    }
    let number = format_plural(candidates.len() as u64, "setting");
    eprintln!("sintonia: {number} to try in {}", format_budget(limits.budget_s));
}

/// An event of the search; `is_time` tells whether what is measured is in seconds.
pub(super) fn print_event(event: SearchEvent<'_>, is_time: bool) {
    match event {
        SearchEvent::Round { round, candidates } => {
            eprintln!("sintonia: round {round}: {}", format_plural(candidates as u64, "setting"));
        }
        SearchEvent::Tried { name, ratio } => eprintln!("  {:>7}  {name}", signed_percent(ratio)),
        SearchEvent::Rejected { name, reason } => eprintln!("  dropped  {name}: {reason}"),
        SearchEvent::Confirming { settings, pairs } => {
            eprintln!("sintonia: confirming with {}: {}", format_plural(pairs as u64, "new pair"), settings.to_line());
        }
        SearchEvent::Pair { reference_s, tuned_s } => {
            let ratio = signed_percent(reference_s / tuned_s);
            let times = || format!("{} unchanged, {} with the settings", format_seconds(reference_s), format_seconds(tuned_s));
            eprintln!("  {ratio:>7}  {}", if is_time { times() } else { "with the settings".into() });
        }
    }
}

/// What a trial of collective algorithms in a run showed.
pub(super) fn print_live(verdict: LiveVerdict, control: &str) {
    let shown = match verdict {
        LiveVerdict::OtherIsFaster => "another algorithm is faster while the program runs; runs of their own follow",
        LiveVerdict::OwnIsBest => "no other algorithm is faster while the program runs; none is tried",
        LiveVerdict::Unknown => "algorithms could not be compared while the program ran",
    };
    eprintln!("sintonia: {control}: {shown}");
}

/// What a search of values in a run showed.
pub(super) fn print_live_search(found: Option<&TrialSettings>, is_same: bool) {
    match found {
        Some(settings) => eprintln!("sintonia: while the program ran, {} paid; runs of their own follow", settings.to_line()),
        None if is_same => eprintln!("sintonia: while the program ran, no value of its variables paid; they are tried from the start on"),
        None => eprintln!("sintonia: the program does not take other values while it runs; they are tried from the start on"),
    }
}

/// How much faster, in per cent.
fn signed_percent(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

/// The result, as text or JSON.
pub(super) fn print_result(outcome: &FindOutcome, json: bool) {
    if json {
        return eprintln!("{}", result_json(outcome));
    }
    result_lines(outcome).iter().for_each(|line| eprintln!("sintonia: {line}"));
}

fn result_json(outcome: &FindOutcome) -> serde_json::Value {
    let FindOutcome { facts, main_loop, result, settings, file, measure, is_output_checked } = outcome;
    serde_json::json!({
        "gain_claimed": result.is_claimed,
        "speedup": result.gain,
        "environment": result.settings.environment,
        "variables": result.settings.variables,
        "placed_command": settings.settings.placed_command,
        "pairs_s": result.pairs,
        "measure": measure,
        "output_checked": is_output_checked,
        "candidates": result.candidates,
        "noise": result.noise,
        "runs": result.runs,
        "elapsed_s": result.elapsed_s,
        "run": facts,
        "main_loop": main_loop,
        "file": result.is_claimed.then_some(file),
        "settings": settings,
    })
}

fn result_lines(outcome: &FindOutcome) -> Vec<String> {
    let FindOutcome { result, settings, file, measure, .. } = outcome;
    let mut lines: Vec<String> = result.candidates.iter().filter_map(candidate_line).collect();
    let runs = format_plural(result.runs as u64, "run");
    let noise = result.noise.map_or(String::new(), |noise| format!(", noise {:.1} % from run to run", 100.0 * noise));
    lines.push(format!("{runs} in {}{noise}", format_budget(result.elapsed_s)));
    if !outcome.is_output_checked {
        lines.push(
            "the unchanged program prints something else each time, so only exit statuses were compared; use --verify or --expect".into(),
        );
    }
    match (&settings.gain, &result.gain) {
        (Some(gain), _) => {
            let speedup = gain.speedup;
            let medians = || format!(" (median {} instead of {})", format_seconds(gain.tuned_s), format_seconds(gain.reference_s));
            lines.push(format!(
                "{:.3} times as fast, with 95 % confidence {:.3} to {:.3} from {}{}",
                speedup.ratio,
                speedup.low,
                speedup.high,
                format_plural(speedup.pairs as u64, "pair"),
                if *measure == TrialMeasure::PRINTED { String::new() } else { medians() }
            ));
            lines.extend(settings_lines(&settings.settings));
            let (file, shell) = (file.display(), shell_file(file));
            lines.push(format!("written to {file} (sintonia tune --use {file} -- COMMAND) and {} (for job scripts)", shell.display()));
        }
        (None, Some(gain)) => lines.push(format!(
            "no gain: {:.3} times as fast, but with 95 % confidence {:.3} to {:.3} from {}, and a gain counts from 1 % on; nothing is written",
            gain.ratio,
            gain.low,
            gain.high,
            format_plural(gain.pairs as u64, "pair")
        )),
        (None, None) => lines.push("no gain: no setting pays; nothing is written".into()),
    }
    lines
}

fn settings_lines(settings: &TrialSettings) -> Vec<String> {
    let exports = settings.environment.export_lines();
    let variables = settings.variables.iter().map(|(name, value)| format!("{name} = {value} in the program"));
    let placed = settings.placed_command.iter().map(|words| shell_command(words));
    exports.into_iter().chain(variables).chain(placed).map(|line| format!("  {line}")).collect()
}

fn candidate_line(one: &CandidateResult) -> Option<String> {
    let ratio = one.ratio.map_or_else(|| "-".to_owned(), signed_percent);
    let state = match &one.state {
        CandidateState::Chosen => "chosen".to_owned(),
        CandidateState::Surpassed => "another one or without it is better".into(),
        CandidateState::NoGain => "no gain".into(),
        CandidateState::Rejected(reason) => format!("dropped: {reason}"),
        CandidateState::NotTried => return None,
    };
    Some(format!("{ratio:>9}  {:<42} {state}", one.candidate.name))
}
