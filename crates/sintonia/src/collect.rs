//! `sintonia collect`: the per-host agent of a tuned program. The program's processes start it, not people.

use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_link::host_name;
use sintonia_link::session::SharedSecret;
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::host_daemon;
use sintonia_tune::tree::{HostListener, HostTree, ParentHost};

use crate::tune::attach::remote;
use crate::{Error, help};

/// Arguments of `sintonia collect`: its environment configures it, or its standard input.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia tune --tunlet factoring -- mpirun -n 4 ./xfire fire.conf"))]
pub(crate) struct CollectArgs {
    /// Attach to the processes that standard input describes
    #[arg(long, hide = true)]
    attach: bool,
}

/// Runs `sintonia collect`.
pub(crate) fn run(args: CollectArgs) -> Result<ExitCode, Error> {
    if args.attach {
        return remote::serve();
    }
    let missing =
        |name: &str| Error::Other(format!("{name} is not set: `sintonia collect` is only started by programs under `sintonia tune`"));
    let setting = |name: &'static str| std::env::var(name).map_err(|_| missing(name));
    let failed = |what: &'static str| move |error: std::io::Error| Error::Other(format!("cannot {what}: {error}"));
    let folder = PathBuf::from(setting("SINTONIA_TUNE")?);
    let secret = SharedSecret::from_hex(&setting("SINTONIA_SECRET")?).ok_or_else(|| missing("SINTONIA_SECRET"))?;
    let up: Vec<String> = setting("SINTONIA_UP")?.split(',').map(str::to_owned).collect();
    let fan_out = setting("SINTONIA_FAN_OUT")?.parse().map_err(|_| missing("SINTONIA_FAN_OUT"))?;
    // The local listener opens first: processes wait longer for an answer than for a socket.
    let collector = ProcessCollector::open(&folder, &secret).map_err(failed("listen for the program's processes"))?;
    let listener = HostListener::bind(&secret, fan_out).map_err(failed("listen for other hosts"))?;
    let up = ParentHost::connect(&up, &secret, &listener.hello(host_name()))
        .map_err(|error| Error::Other(format!("cannot reach the analyzer: {error}")))?;
    let tree = HostTree::new(collector, Some(listener), up.begin_ns());
    host_daemon::serve(tree, up);
    Ok(ExitCode::SUCCESS)
}
