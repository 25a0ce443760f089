//! `sintonia run-tasks`: runs an application of task batches on workers, and prints results and times.

mod display;
mod json;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use sintonia_formula::{Formula, Rational};
use sintonia_machine::Machine;
use sintonia_pamela::compile::BranchShares;
use sintonia_tasks::{CoordinatorOptions, DistributionPolicy, TOKEN_ENV};

use crate::error::usage_error;
use crate::{Error, output};

/// Arguments of `sintonia run-tasks`.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    echo 'class Squares { static long sum(long n) { long s = 0; for (long i = 0; i < n; i++) s += i * i; return s; } }' > Squares.java\n  \
    echo 'application squares; batch sum { tasks: 8; run: Squares.sum(1000000 * task); }' > squares.pasl\n  \
    sintonia run-tasks squares.pasl --workers 2")]
pub(crate) struct RunTasksArgs {
    /// Application; the Java files of its tasks are in the same directory
    #[arg(value_name = "APPLICATION.pasl", required_unless_present = "worker")]
    application: Option<PathBuf>,
    /// Number of workers to start [default: one per core]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(0..=4096))]
    workers: Option<u64>,
    /// Hosts to start workers on, in turn; needs --listen with an address that they can reach
    #[arg(long, value_name = "HOST,…", value_delimiter = ',', requires = "listen")]
    hosts: Vec<String>,
    /// Command that starts a program on another host
    #[arg(long, value_name = "COMMAND", default_value = "ssh {host}", requires = "hosts")]
    launch: String,
    /// Address where the coordinator listens for workers [default: this host only, any port]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    listen: Option<String>,
    /// Value of an application parameter
    #[arg(short, long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// Assign half of the tasks in advance and the rest on completion, or all in advance
    #[arg(long, value_enum, default_value_t = AllocationArg::Mixed)]
    allocation: AllocationArg,
    /// Take worker speeds from this machine file instead of a benchmark at their start, and compare the time with its prediction
    #[arg(long, value_name = "FILE.machine.toml")]
    machine: Option<PathBuf>,
    /// Branch probability for the prediction, as for `sintonia predict`
    #[arg(long, value_name = "PLACE=SHARE", requires = "machine")]
    taken: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Run as a worker of the coordinator at this address
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["application", "workers", "hosts", "listen", "param", "machine", "json"])]
    worker: Option<String>,
}

/// How tasks are assigned to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AllocationArg {
    /// Half of the tasks in advance, the rest on completion, replicas at the end
    Mixed,
    /// All tasks in advance
    Static,
}

/// The exit status after an interrupt, as after Ctrl-C.
const INTERRUPTED_STATUS: u8 = 130;

/// Runs `sintonia run-tasks`.
pub(crate) fn run(args: RunTasksArgs) -> Result<ExitCode, Error> {
    let other = |error: sintonia_tasks::Error| Error::Other(error.to_string());
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    if let Some(address) = &args.worker {
        return match sintonia_tasks::run_worker(address, &stop) {
            Err(sintonia_tasks::Error::Interrupted) => Ok(INTERRUPTED_STATUS.into()),
            ended => ended.map(|()| ExitCode::SUCCESS).map_err(other),
        };
    }
    let Some(application) = &args.application else { return Ok(ExitCode::SUCCESS) };
    let machine = args.machine.as_deref().map(Machine::read).transpose().map_err(|error| Error::Other(error.to_string()))?;
    let shares = args.taken.iter().try_fold(BranchShares::new(), |shares, text| shares.with_text(text));
    let shares = shares.unwrap_or_else(|error| usage_error(format!("--taken {error}")));
    let options = run_options(&args, machine.as_ref(), stop)?;
    let by_hand = args.listen.is_some();
    let hear = |address: &str, token: &str| {
        if by_hand {
            eprintln!("sintonia: listening; to start a worker by hand: {TOKEN_ENV}={token} sintonia run-tasks --worker {address}");
        }
    };
    let outcome = match sintonia_tasks::run(application, &options, hear) {
        Err(sintonia_tasks::Error::Interrupted) => return Ok(INTERRUPTED_STATUS.into()),
        outcome => outcome.map_err(other)?,
    };
    let prediction = machine.map(|machine| sintonia_tasks::predict_run(application, &machine, &shares, &options, outcome.workers.len()));
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &json::outcome_json(&outcome, prediction.as_ref())),
        false => display::render(out, &outcome, prediction.as_ref()),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn run_options(args: &RunTasksArgs, machine: Option<&Machine>, stop: Arc<AtomicBool>) -> Result<CoordinatorOptions, Error> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = args.workers.map_or_else(cores, |workers| workers as usize);
    if workers == 0 && args.listen.is_none() {
        usage_error("--workers 0 needs --listen, so that workers can connect");
    }
    let listen = listen_address(args.listen.as_deref().unwrap_or("127.0.0.1"));
    let is_any = listen.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_unspecified());
    if is_any && !args.hosts.is_empty() {
        usage_error("--hosts: other hosts cannot connect to a wildcard address; use --listen with an address of this host");
    }
    Ok(CoordinatorOptions {
        workers,
        hosts: args.hosts.clone(),
        launch: args.launch.clone(),
        program: std::env::current_exe()?,
        listen,
        policy: match args.allocation {
            AllocationArg::Mixed => DistributionPolicy::Mixed,
            AllocationArg::Static => DistributionPolicy::Static,
        },
        factors: machine.map_or(Ok(Vec::new()), |machine| {
            let problem =
                || format!("{} lacks Java costs for some of its nodes: measure them with `sintonia bench --java`", machine.metadata.name);
            machine.java_worker_speeds().ok_or_else(|| Error::Other(problem()))
        })?,
        parameters: args.param.iter().map(|text| parse_parameter(text)).collect(),
        stop,
    })
}

/// An address with a port; any free port by default.
fn listen_address(text: &str) -> String {
    match text.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, 0).to_string(),
        Err(_) if text.contains(':') => text.to_owned(),
        Err(_) => format!("{text}:0"),
    }
}

/// Parses `upto=1e6`: a name and an exact number.
fn parse_parameter(text: &str) -> (String, Rational) {
    let read = || {
        let (name, value) = text.split_once('=')?;
        let value = value.trim().parse::<Formula>().ok()?.as_exact()?.clone();
        Some((name.trim().to_owned(), value))
    };
    read().unwrap_or_else(|| usage_error(format!("-p {text}: expected NAME=VALUE with a number")))
}
