//! `sintonia tune`: runs an MPI program, records it, and adapts it while it runs.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_link::session::Secret;
use sintonia_tune::analyzer::{Analyzer, Summary, Tale};
use sintonia_tune::collector::Collector;
use sintonia_tune::factoring::{Factoring, Names};
use sintonia_tune::tunlet::Tunlet;

use crate::{Error, help, record};

/// What `sintonia tune` is told.
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = help::example!("sintonia tune --tunlet factoring -- mpirun -n 4 ./xfire fire.conf"))]
pub struct Arguments {
    /// What to tune by: factoring; several are asked in this order
    #[arg(long, value_name = "NAME", required = true)]
    tunlet: Vec<String>,
    /// Change nothing: tell what would be changed, and why
    #[arg(long)]
    watch: bool,
    /// Iterations whose times count
    #[arg(long, value_name = "N", default_value_t = 3)]
    history: usize,
    #[command(flatten)]
    record: record::Arguments,
}

/// The file in a recording that tells what was changed.
const LOG: &str = "tuning.jsonl";

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let tunlets = arguments.tunlet.iter().map(|name| tunlet(name, &arguments)).collect::<Result<Vec<_>, Error>>()?;
    let failed = |what: &'static str| move |error: std::io::Error| Error::Other(format!("cannot {what}: {error}"));
    let secret = Secret::new().map_err(failed("make a secret"))?;
    let folder = door_folder();
    let collector = Collector::open(&folder, &secret).map_err(failed("open the door that the program's processes come to"))?;
    let over = Arc::new(AtomicBool::new(false));
    let analyzer = Analyzer::new(tunlets, collector, arguments.watch);
    let (is_over, json) = (over.clone(), arguments.record.json);
    let thread = std::thread::spawn(move || analyzer.run(|| is_over.load(Ordering::Acquire), |tale| show(tale, json)));
    let more = [("SINTONIA_TUNE", Collector::door(&folder).into_os_string()), ("SINTONIA_SECRET", secret.to_text().into())];
    let outcome = record::run_with(&arguments.record, &more);
    over.store(true, Ordering::Release);
    let summary = thread.join().map_err(|_| Error::Other("the analyzer failed; the program was not touched by that".into()))?;
    let (status, recording) = outcome?;
    keep(&recording.join(LOG), &summary)?;
    tell(&summary, record::code(status), json);
    Ok(ExitCode::from(record::code(status) as u8))
}

fn tunlet(name: &str, arguments: &Arguments) -> Result<Box<dyn Tunlet>, Error> {
    match name {
        "factoring" => Ok(Box::new(Factoring::new(Names::default(), arguments.history))),
        _ => Err(Error::Other(format!("there is no tunlet `{name}`; there is factoring"))),
    }
}

/// A folder with a short path: that of a door may have a hundred letters only.
fn door_folder() -> PathBuf {
    let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros());
    base.join(format!("sintonia-{}-{:x}", std::process::id(), now & 0xffff_ffff))
}

fn show(tale: &Tale, json: bool) {
    if json {
        return;
    }
    match tale {
        Tale::Decided(decision) => {
            let old = decision.old.map_or(String::new(), |old| format!(" from {old:.3}"));
            let refused = decision.refused.as_ref().map_or(String::new(), |why| format!(" (not done: {why})"));
            eprintln!("sintonia: {:9.3} s  {}{old} to {:.3}: {}{refused}", decision.time_s, decision.action, decision.new, decision.why);
        }
        Tale::Problem(what) => eprintln!("sintonia: {what}"),
        Tale::Hooked { .. } => {}
    }
}

/// Writes what was decided beside the recording.
fn keep(path: &Path, summary: &Summary) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let mut file = File::create(path).map_err(failed)?;
    for decision in &summary.decisions {
        let line = serde_json::to_string(decision).map_err(|error| failed(error.into()))?;
        writeln!(file, "{line}").map_err(failed)?;
    }
    Ok(())
}

fn tell(summary: &Summary, exit_status: i32, json: bool) {
    let Summary { decisions, events, dropped } = summary;
    if json {
        eprintln!("{}", serde_json::json!({ "exit_status": exit_status, "decisions": decisions, "events": events, "dropped": dropped }));
    } else {
        eprintln!("sintonia: {} changes from {events} events, {dropped} dropped", decisions.len());
    }
}
