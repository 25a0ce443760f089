//! `sintonia collect`: started on each host of a program that is tuned, by the program's own processes; not by people.

use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_link::host_name;
use sintonia_link::session::Secret;
use sintonia_tune::collector::Collector;
use sintonia_tune::host;
use sintonia_tune::tree::{Door, Tree, Up};

use crate::{Error, help};

/// What `sintonia collect` is told: all by its environment.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia tune --tunlet factoring -- mpirun -n 4 ./xfire fire.conf"))]
pub struct Arguments {}

/// Runs the verb.
pub fn run(_: Arguments) -> Result<ExitCode, Error> {
    let missing =
        |name: &str| Error::Other(format!("{name} is not set: `sintonia collect` is started by programs that `sintonia tune` runs"));
    let setting = |name: &'static str| std::env::var(name).map_err(|_| missing(name));
    let failed = |what: &'static str| move |error: std::io::Error| Error::Other(format!("cannot {what}: {error}"));
    let folder = PathBuf::from(setting("SINTONIA_TUNE")?);
    let secret = Secret::parse(&setting("SINTONIA_SECRET")?).ok_or_else(|| missing("SINTONIA_SECRET"))?;
    let up: Vec<String> = setting("SINTONIA_UP")?.split(',').map(str::to_owned).collect();
    let fan_out = setting("SINTONIA_FAN_OUT")?.parse().map_err(|_| missing("SINTONIA_FAN_OUT"))?;
    // Processes are let in at once: they wait longer there than for a door.
    let collector = Collector::open(&folder, &secret).map_err(failed("open a door for the program's processes"))?;
    let door = Door::open(&secret, fan_out).map_err(failed("open a door for other hosts"))?;
    let up = Up::go(&up, &secret, &door.card(host_name())).map_err(|error| Error::Other(format!("cannot reach the analyzer: {error}")))?;
    let tree = Tree::new(collector, Some(door), up.began());
    host::serve(tree, up);
    Ok(ExitCode::SUCCESS)
}
