//! `sintonia tune`: runs an MPI program, records it, and adapts it while it runs.

mod attach;
mod growing;
pub mod live;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_link::session::Secret;
use sintonia_tune::analyzer::{Analyzer, Summary};
use sintonia_tune::collector::Collector;
use sintonia_tune::decision::{self, Entry};
use sintonia_tune::station::now_ns;
use sintonia_tune::tree::{Door, Tree};
use sintonia_tune::tunlet::Tunlet;
use sintonia_tune::tunlets;

use crate::{Error, help, output, record};
use growing::Growing;
use live::Live;

/// What `sintonia tune` is told.
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = help::example!("sintonia tune --tunlet factoring -- mpirun -n 4 ./xfire fire.conf"))]
pub struct Arguments {
    /// What to tune by: factoring, workers, search, collectives, advise, or a file of your own; of several, the first that sets something wins
    #[arg(long, value_name = "NAME", default_value = "advise")]
    tunlet: Vec<String>,
    /// Tune a program that runs already: one of its processes on this host, or the launcher that started them
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "fan_out"])]
    attach: Option<u32>,
    /// Change nothing: tell what would be changed, and why
    #[arg(long)]
    watch: bool,
    /// How many hosts one host collects from, where there are many
    #[arg(long, value_name = "N", default_value_t = 16)]
    fan_out: usize,
    #[command(flatten)]
    record: record::Arguments,
}

/// The command line of the verb: with a program that runs already, no command is needed.
pub fn adapt(command: clap::Command) -> clap::Command {
    command.mut_arg("command", |command| command.required(false).required_unless_present("attach"))
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let tunlets = arguments.tunlet.iter().map(|text| open(text)).collect::<Result<Vec<_>, Error>>()?;
    if let Some(process) = arguments.attach {
        let output = arguments.record.output.as_deref();
        return attach::run(attach::Request { process, tunlets, watch: arguments.watch, output, json: arguments.record.json });
    }
    let failed = |what: &'static str| move |error: std::io::Error| Error::Other(format!("cannot {what}: {error}"));
    let secret = Secret::new().map_err(failed("make a secret"))?;
    let folder = door_folder();
    let collector = Collector::open(&folder, &secret).map_err(failed("open the door that the program's processes come to"))?;
    let door = Door::open(&secret, arguments.fan_out).map_err(failed("open the door that other hosts come to"))?;
    let own = std::env::current_exe().map_err(failed("find this command's own file"))?;
    let more = [
        ("SINTONIA_TUNE", folder.into_os_string()),
        ("SINTONIA_SECRET", secret.to_text().into()),
        ("SINTONIA_COLLECT", own.into_os_string()),
        ("SINTONIA_UP", door.addresses().join(",").into()),
        ("SINTONIA_FAN_OUT", arguments.fan_out.to_string().into()),
    ];
    let json = arguments.record.json;
    let analyzer = Analyzer::new(tunlets, Tree::new(collector, Some(door), now_ns()), arguments.watch);
    let growing = Growing::default();
    let folder = growing.folder();
    let tuning = Tuning::begin(analyzer, json, Some(growing));
    let outcome = record::run_with(&arguments.record, &more, &|began| _ = folder.set(began.to_owned()));
    let summary = tuning.end()?;
    let (status, recording) = outcome?;
    keep(&recording.join(decision::FILE), &summary)?;
    tell(&summary, record::code(status), json);
    Ok(ExitCode::from(record::code(status) as u8))
}

/// A tuning that goes on beside the program.
struct Tuning {
    over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Summary>,
}

impl Tuning {
    /// Begins; what happens is written where it grows, and shown, unless whoever reads is a program.
    fn begin(analyzer: Analyzer, json: bool, mut growing: Option<Growing>) -> Tuning {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let thread = std::thread::spawn(move || {
            let mut live = (!json).then(Live::new);
            let tell = |entry: &Entry| {
                growing.iter_mut().for_each(|growing| growing.add(entry));
                live.iter_mut().for_each(|live| live.show(entry));
            };
            let summary = analyzer.run(|| is_over.load(Ordering::Acquire), tell);
            live.iter_mut().for_each(Live::end);
            summary
        });
        Tuning { over, thread }
    }

    /// Ends; what came of it.
    fn end(self) -> Result<Summary, Error> {
        self.over.store(true, Ordering::Release);
        self.thread.join().map_err(|_| Error::Other("the analyzer failed; the program was not touched by that".into()))
    }
}

fn open(text: &str) -> Result<Box<dyn Tunlet>, Error> {
    tunlets::open(text).map_err(|problem| Error::Other(problem.to_string()))
}

/// A folder with a short path: that of a door may have a hundred letters only.
fn door_folder() -> PathBuf {
    /// Of the hundred letters, those that the folder's own name and that of a host may need.
    const LONGEST_BASE: usize = 32;
    let fits = |folder: &PathBuf| folder.is_dir() && folder.as_os_str().len() <= LONGEST_BASE;
    let told = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(fits);
    let base = told.or_else(|| Some(std::env::temp_dir()).filter(fits)).unwrap_or_else(|| "/tmp".into());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros());
    base.join(format!("sintonia-{}-{:x}", std::process::id(), now & 0xffff_ffff))
}

/// Writes what was decided beside the recording.
fn keep(path: &Path, summary: &Summary) -> Result<(), Error> {
    output::to_file(path, |out| summary.log.iter().try_for_each(|entry| output::json_line(out, entry)))
}

fn tell(summary: &Summary, exit_status: i32, json: bool) {
    let decisions: Vec<_> = summary.decisions().collect();
    let Summary { processes, size, events, dropped, .. } = summary;
    if json {
        let others: Vec<_> = summary.log.iter().filter(|entry| matches!(entry, Entry::Finding { .. } | Entry::Problem { .. })).collect();
        let told = serde_json::json!({
            "exit_status": exit_status, "decisions": decisions, "told": others, "events": events, "dropped": dropped, "processes": processes, "of": size
        });
        return eprintln!("{told}");
    }
    eprintln!("sintonia: {}", in_a_line(summary));
}

/// What came of it, in a line.
fn in_a_line(summary: &Summary) -> String {
    let Summary { processes, size, events, dropped, .. } = summary;
    let of = size.filter(|size| (*processes as u32) < *size).map_or(String::new(), |size| format!(" of {size}"));
    let not_made = match summary.decisions().filter(|decision| decision.refused.is_some()).count() {
        0 => String::new(),
        refused => format!(" and {refused} not made,"),
    };
    let made = summary.decisions().filter(|decision| decision.refused.is_none()).count();
    format!("{made} changes{not_made} in {processes}{of} processes, from {events} events, {dropped} dropped")
}
