//! `sintonia tune`: runs an MPI program, records it, and tunes it while it runs.

pub(crate) mod attach;
mod find;
mod list;
pub(crate) mod live_display;
mod use_settings;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_link::session::SharedSecret;
use sintonia_tune::analyzer::{Analyzer, TuningSummary};
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::decision::{self, TuningLogEntry};
use sintonia_tune::host_agent::now_ns;
use sintonia_tune::log_writer::TuningLogWriter;
use sintonia_tune::tree::{HostListener, HostTree};
use sintonia_tune::tunlet::Tunlet;
use sintonia_tune::tunlets;

use crate::{Error, help, output, record};
use live_display::LiveDisplay;

const DEFAULT_FAN_OUT: usize = 16;

/// Arguments of `sintonia tune`.
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = help::example!("sintonia tune --tunlet factoring -- mpirun -n 4 ./xfire fire.conf"))]
pub(crate) struct TuneArgs {
    /// Tunlet: factoring, workers, search, set, collectives, advise, fuzzy, or a file; of several, the first that sets a value wins
    #[arg(long, value_name = "NAME", default_value = "advise")]
    tunlet: Vec<String>,
    /// Attach to a running program: one of its processes on this host, or its launcher
    #[arg(long, value_name = "PID", conflicts_with_all = ["command"])]
    attach: Option<u32>,
    /// List what can be tuned: in this program file, without running it, or in the command, which is run
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, conflicts_with_all = ["attach", "watch", "tunlet"])]
    list: Option<Option<PathBuf>>,
    /// Change nothing: only report what would be changed, and why
    #[arg(long)]
    watch: bool,
    /// Maximum number of hosts that one host collects from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_FAN_OUT)]
    fan_out: usize,
    #[command(flatten)]
    find: find::FindArgs,
    #[command(flatten)]
    tuned: use_settings::UseArgs,
    #[command(flatten)]
    record: record::RecordArgs,
}

/// Adapts the command line: with --attach, --list or --print-env, no command is required.
pub(crate) fn relax_command(command: clap::Command) -> clap::Command {
    command.mut_arg("command", |command| command.required(false).required_unless_present_any(["attach", "list", "print_env"]))
}

/// Runs `sintonia tune`.
pub(crate) fn run(args: TuneArgs) -> Result<ExitCode, Error> {
    match args.list {
        Some(Some(program)) => return list::list_file(&program, args.record.json),
        Some(None) => return list::list_run(args.record),
        None => {}
    }
    if let Some(file) = &args.tuned.file {
        return use_settings::run(&args.tuned, file, args.record);
    }
    if args.find.find {
        return find::run(&args.find, &args.record);
    }
    let tunlets = args.tunlet.iter().map(|text| open_tunlet(text)).collect::<Result<Vec<_>, Error>>()?;
    if let Some(process) = args.attach {
        let output = args.record.output.as_deref();
        let (watch, fan_out, json) = (args.watch, args.fan_out, args.record.json);
        return attach::run(attach::AttachOptions { process, tunlets, watch, fan_out, output, json });
    }
    let session = TuningSession::open(args.fan_out)?;
    let more = session.environment()?;
    let json = args.record.json;
    let analyzer = session.analyzer(tunlets, args.watch);
    let growing = TuningLogWriter::default();
    let folder = growing.folder_cell();
    let tuning = TuningThread::start(analyzer, json, Some(growing));
    let outcome = record::record_command(&args.record, &more, &|began| _ = folder.set(began.to_owned()));
    let summary = tuning.finish()?;
    let (status, recording) = outcome?;
    write_log(&recording.join(decision::LOG_FILE), &summary)?;
    print_summary(&summary, record::exit_code(status), json);
    Ok(ExitCode::from(record::exit_code(status) as u8))
}

/// Where the processes of a program connect to, to be tuned.
struct TuningSession {
    folder: PathBuf,
    secret: SharedSecret,
    collector: ProcessCollector,
    listener: HostListener,
    fan_out: usize,
}

impl TuningSession {
    fn open(fan_out: usize) -> Result<TuningSession, Error> {
        let secret = SharedSecret::new().map_err(io_failed("create a secret"))?;
        let folder = socket_folder();
        let collector = ProcessCollector::open(&folder, &secret).map_err(io_failed("listen for the program's processes"))?;
        let listener = HostListener::bind(&secret, fan_out).map_err(io_failed("listen for other hosts"))?;
        Ok(TuningSession { folder, secret, collector, listener, fan_out })
    }

    /// The variables by which the processes find it.
    fn environment(&self) -> Result<Vec<(&'static str, OsString)>, Error> {
        let own = std::env::current_exe().map_err(io_failed("find the running executable"))?;
        Ok(vec![
            ("SINTONIA_TUNE", self.folder.clone().into_os_string()),
            ("SINTONIA_SECRET", self.secret.to_hex().into()),
            ("SINTONIA_COLLECT", own.into_os_string()),
            ("SINTONIA_UP", self.listener.addresses().join(",").into()),
            ("SINTONIA_FAN_OUT", self.fan_out.to_string().into()),
        ])
    }

    fn analyzer(self, tunlets: Vec<Box<dyn Tunlet>>, is_watching: bool) -> Analyzer {
        Analyzer::new(tunlets, HostTree::new(self.collector, Some(self.listener), now_ns()), is_watching)
    }
}

fn io_failed(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Other(format!("cannot {what}: {error}"))
}

/// A tuning in progress, next to the program.
struct TuningThread {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<TuningSummary>,
}

impl TuningThread {
    /// Starts tuning; entries are appended to the log, and displayed unless the output is JSON.
    fn start(analyzer: Analyzer, json: bool, mut growing: Option<TuningLogWriter>) -> TuningThread {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut live = (!json).then(LiveDisplay::new);
            let tell = |entry: &TuningLogEntry| {
                growing.iter_mut().for_each(|growing| growing.append(entry));
                live.iter_mut().for_each(|live| live.show(entry));
            };
            let summary = analyzer.run(|| is_over.load(Ordering::Acquire), tell);
            live.iter_mut().for_each(LiveDisplay::clear);
            summary
        });
        TuningThread { stop, thread }
    }

    /// Stops tuning, and returns its summary.
    fn finish(self) -> Result<TuningSummary, Error> {
        self.stop.store(true, Ordering::Release);
        self.thread.join().map_err(|_| Error::Other("the analyzer failed; the program is not affected".into()))
    }
}

fn open_tunlet(text: &str) -> Result<Box<dyn Tunlet>, Error> {
    tunlets::open_tunlet(text).map_err(|problem| Error::Other(problem.to_string()))
}

/// A folder with a short path: socket paths are limited to about a hundred characters.
fn socket_folder() -> PathBuf {
    /// The rest of the limit is for the folder's own name and that of a host.
    const LONGEST_BASE: usize = 32;
    let fits = |folder: &PathBuf| folder.is_dir() && folder.as_os_str().len() <= LONGEST_BASE;
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(fits);
    let base = runtime.or_else(|| Some(std::env::temp_dir()).filter(fits)).unwrap_or_else(|| "/tmp".into());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros());
    base.join(format!("sintonia-{}-{:x}", std::process::id(), now & 0xffff_ffff))
}

/// Writes the tuning log next to the recording.
fn write_log(path: &Path, summary: &TuningSummary) -> Result<(), Error> {
    output::write_file(path, |out| summary.log.iter().try_for_each(|entry| output::write_json_line(out, entry)))
}

fn print_summary(summary: &TuningSummary, exit_status: i32, json: bool) {
    let decisions: Vec<_> = summary.decisions().collect();
    let TuningSummary { processes, size, events, dropped, .. } = summary;
    if json {
        let others: Vec<_> =
            summary.log.iter().filter(|entry| matches!(entry, TuningLogEntry::Finding { .. } | TuningLogEntry::Problem { .. })).collect();
        let verdicts: Vec<_> = summary.log.iter().filter_map(TuningLogEntry::verdict).collect();
        let result = serde_json::json!({
            "exit_status": exit_status, "decisions": decisions, "verdicts": verdicts, "told": others, "events": events, "dropped": dropped, "processes": processes, "of": size
        });
        return eprintln!("{result}");
    }
    eprintln!("sintonia: {}", summary_line(summary));
}

/// The summary in one line.
fn summary_line(summary: &TuningSummary) -> String {
    let TuningSummary { processes, size, events, dropped, .. } = summary;
    let of = size.filter(|size| (*processes as u32) < *size).map_or(String::new(), |size| format!(" of {size}"));
    let not_made = match summary.decisions().filter(|decision| decision.refused.is_some()).count() {
        0 => String::new(),
        refused => format!(" and {refused} not made,"),
    };
    let made = summary.decisions().filter(|decision| decision.refused.is_none()).count();
    format!("{made} changes{not_made} in {processes}{of} processes; {events} events, {dropped} dropped")
}
