//! `--html`: the page of `sintonia view` as one file, with the answers to its first queries.

use std::path::Path;
use std::sync::Arc;

use sintonia_insight::RunSummary;
use sintonia_program::process_group::ProcessGroup;
use sintonia_view::page_contents::{FilledPage, OmittedAnswers, PageContents, wait_for_analysis};
use sintonia_view::session::{ViewSession, summarise};
use sintonia_view::standalone::StandalonePage;

use super::ReportArgs;
use crate::progress::ProgressBar;
use crate::view::page;
use crate::{Error, output, text};

/// Writes the file, in parallel with other processes or alone.
pub(super) fn write(path: &Path, args: &ReportArgs, group: &dyn ProcessGroup) -> Result<(), Error> {
    let page = page()?;
    output::check_writable(path)?;
    let open = Arc::new(ViewSession::open(&args.recordings)?);
    for opened in &open.recordings {
        let progress = ProgressBar::new("reading ranks", RunSummary::progress_steps(&opened.recording));
        opened.set_summary(summarise(&opened.recording, group, &|activity, steps| progress.advance(activity, steps))?);
    }
    if group.own_index() > 0 {
        return Ok(());
    }
    open.recordings.iter().for_each(wait_for_analysis);
    let mut file = StandalonePage::new(page).ok_or_else(|| Error::Other("the embedded page cannot hold answers".into()))?;
    let contents = PageContents::new(&open, args.source);
    let progress = ProgressBar::new("making the page", contents.progress_steps());
    let filled = contents.fill(&mut file, &open, &|| progress.step()).map_err(|error| Error::Other(error.to_string()))?;
    drop(progress);
    output::write_file(path, |out| file.write_to(out))?;
    print_written(path, &open, &filled)
}

fn print_written(path: &Path, open: &ViewSession, filled: &FilledPage) -> Result<(), Error> {
    let names: Vec<String> = open.recordings.iter().map(|opened| opened.name()).collect();
    omission_notes(&names, &filled.left_out).iter().for_each(|note| eprintln!("sintonia: {note}"));
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    output::write_stdout(|out| {
        writeln!(out, "wrote {}: {}", path.display(), text::format_bytes(bytes))?;
        if !filled.sources.is_empty() {
            writeln!(out, "with source of:")?;
        }
        filled.sources.iter().try_for_each(|file| writeln!(out, "  {file}"))
    })
}

/// What is not in the file: one sentence per reason, and one for all sources.
fn omission_notes(recordings: &[String], left_out: &OmittedAnswers) -> Vec<String> {
    let (sources, others): (Vec<_>, Vec<_>) = left_out.iter().partition(|((_, question), _)| question.starts_with("source"));
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for ((recording, question), why) in others {
        let name = if recordings.len() > 1 { format!("{question} of {}", recordings[*recording]) } else { question.clone() };
        match reasons.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let mut notes: Vec<String> = reasons.iter().map(|(why, names)| format!("not in the file: {}: {why}", names.join(", "))).collect();
    if let [(_, why), ..] = &sources[..] {
        notes.push(format!("not in the file: the source of {}: {why}", text::format_plural(sources.len() as u64, "call site")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_once() {
        let left_out = [
            (0, "timeline", "no calls"),
            (1, "timeline", "no calls"),
            (0, "placement", "one rank"),
            (0, "source?site=1", "a.c does not exist here"),
            (0, "source?site=2", "b.c does not exist here"),
        ];
        let left_out = left_out.map(|(recording, question, why)| ((recording, question.to_owned()), why.to_owned())).into();
        let expected = [
            "not in the file: placement of a.sin: one rank",
            "not in the file: timeline of a.sin, timeline of b.sin: no calls",
            "not in the file: the source of 2 call sites: a.c does not exist here",
        ];
        assert_eq!(omission_notes(&["a.sin".to_owned(), "b.sin".to_owned()], &left_out), expected);
    }
}
