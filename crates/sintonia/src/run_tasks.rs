//! `sintonia run-tasks`: runs an application of batches of tasks on workers, and shows what came out and how long it took.

mod factors;
mod json;
mod prediction;
mod screen;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use sintonia_formula::{Formula, Rational};
use sintonia_machine::Machine;
use sintonia_pamela::compile::Shares;
use sintonia_tasks::{Options, Policy, TOKEN};

use crate::error::wrong_usage;
use crate::{Error, output};

/// What `sintonia run-tasks` is told.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    echo 'class Squares { static long sum(long n) { long s = 0; for (long i = 0; i < n; i++) s += i * i; return s; } }' > Squares.java\n  \
    echo 'application squares; batch sum { tasks: 8; run: Squares.sum(1000000 * task); }' > squares.pasl\n  \
    sintonia run-tasks squares.pasl --workers 2")]
pub struct Arguments {
    /// The application; the Java files of its tasks are beside it
    #[arg(value_name = "APPLICATION.pasl", required_unless_present = "worker")]
    application: Option<PathBuf>,
    /// How many workers are started [default: one for each core]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(0..=4096))]
    workers: Option<u64>,
    /// The hosts to start them on, in turn; needs --listen with an address that they can reach
    #[arg(long, value_name = "HOST,…", value_delimiter = ',', requires = "listen")]
    hosts: Vec<String>,
    /// What starts a program on another host
    #[arg(long, value_name = "COMMAND", default_value = "ssh {host}", requires = "hosts")]
    launch: String,
    /// Where the coordinator listens for workers [default: this host only, any port]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    listen: Option<String>,
    /// A parameter of the application and its value
    #[arg(short, long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// Half of the tasks beforehand and the rest on completion, or all beforehand
    #[arg(long, value_enum, default_value_t = Allocation::Mixed)]
    allocation: Allocation,
    /// Take the speed of the workers from this machine file rather than from a benchmark at their start, and show beside the time what it was
    /// predicted to be
    #[arg(long, value_name = "FILE.machine.toml")]
    machine: Option<PathBuf>,
    /// How often a condition holds, for the prediction, as for `sintonia predict`
    #[arg(long, value_name = "PLACE=SHARE", requires = "machine")]
    taken: Vec<String>,
    /// Show everything as one JSON object
    #[arg(long)]
    json: bool,
    /// Be a worker of the coordinator there
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["application", "workers", "hosts", "listen", "param", "machine", "json"])]
    worker: Option<String>,
}

/// How tasks are given to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Allocation {
    /// Half of them beforehand, the rest on completion, replicas at the end
    Mixed,
    /// All of them beforehand
    Static,
}

/// The exit status of what was interrupted, as of one that Ctrl-C ends.
const INTERRUPTED: u8 = 130;

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let other = |error: sintonia_tasks::Error| Error::Other(error.to_string());
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    if let Some(address) = &arguments.worker {
        return match sintonia_tasks::be_worker(address, &stop) {
            Err(sintonia_tasks::Error::Interrupted) => Ok(INTERRUPTED.into()),
            ended => ended.map(|()| ExitCode::SUCCESS).map_err(other),
        };
    }
    let Some(application) = &arguments.application else { return Ok(ExitCode::SUCCESS) };
    let machine = arguments.machine.as_deref().map(Machine::read).transpose().map_err(|error| Error::Other(error.to_string()))?;
    let shares = arguments.taken.iter().try_fold(Shares::new(), |shares, text| shares.with(text));
    let shares = shares.unwrap_or_else(|error| wrong_usage(format!("--taken {error}")));
    let options = options(&arguments, machine.as_ref(), stop)?;
    let by_hand = arguments.listen.is_some();
    let hear = |address: &str, token: &str| {
        if by_hand {
            eprintln!("sintonia: listening; a worker by hand: {TOKEN}={token} sintonia run-tasks --worker {address}");
        }
    };
    let outcome = match sintonia_tasks::run(application, &options, hear) {
        Err(sintonia_tasks::Error::Interrupted) => return Ok(INTERRUPTED.into()),
        outcome => outcome.map_err(other)?,
    };
    let prediction = machine.map(|machine| prediction::of(application, &machine, &shares, &options, outcome.workers.len()));
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &json::outcome(&outcome, prediction.as_ref())),
        false => screen::show(out, &outcome, prediction.as_ref()),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &Arguments, machine: Option<&Machine>, stop: Arc<AtomicBool>) -> Result<Options, Error> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = arguments.workers.map_or_else(cores, |workers| workers as usize);
    if workers == 0 && arguments.listen.is_none() {
        wrong_usage("--workers 0 starts none, and without --listen none can come");
    }
    let listen = listen(arguments.listen.as_deref().unwrap_or("127.0.0.1"));
    let is_any = listen.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_unspecified());
    if is_any && !arguments.hosts.is_empty() {
        wrong_usage("--hosts: other hosts cannot connect to an address that stands for all; give --listen one of this host's own");
    }
    Ok(Options {
        workers,
        hosts: arguments.hosts.clone(),
        launch: arguments.launch.clone(),
        program: std::env::current_exe()?,
        listen,
        policy: match arguments.allocation {
            Allocation::Mixed => Policy::Mixed,
            Allocation::Static => Policy::Static,
        },
        factors: machine.map_or(Ok(Vec::new()), |machine| {
            let problem =
                || format!("{} has no costs of Java for all its nodes: `sintonia bench --java` measures them", machine.about.name);
            factors::of(machine).ok_or_else(|| Error::Other(problem()))
        })?,
        parameters: arguments.param.iter().map(|text| parameter(text)).collect(),
        stop,
    })
}

/// An address with a port, any one unless told.
fn listen(text: &str) -> String {
    match text.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, 0).to_string(),
        Err(_) if text.contains(':') => text.to_owned(),
        Err(_) => format!("{text}:0"),
    }
}

/// `upto=1e6`: a name and an exact number.
fn parameter(text: &str) -> (String, Rational) {
    let read = || {
        let (name, value) = text.split_once('=')?;
        let value = value.trim().parse::<Formula>().ok()?.as_exact()?.clone();
        Some((name.trim().to_owned(), value))
    };
    read().unwrap_or_else(|| wrong_usage(format!("-p {text}: a parameter is given as NAME=VALUE, the value being a number")))
}
