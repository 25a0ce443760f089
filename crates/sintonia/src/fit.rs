//! `sintonia fit`: from recordings of a program, or a table of measurements, to formulas.

pub mod json;
pub mod page;
pub mod plot;
pub mod recordings;
mod screen;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_formats::plot::svg;
use sintonia_model::model::Model;
use sintonia_model::next::NextRun;

use crate::error::wrong_usage;
use crate::{Error, output};

/// What `sintonia fit` is told.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    for n in 200 300 400 600 800; do sintonia record -o mm-$n.sin --param n=$n -- mpirun -n 4 ./matmul $n; done\n  \
    sintonia fit mm-*.sin -o mm.model.toml\n  \
    sintonia predict mm.model.toml -p n=2000\n  \
    sintonia fit pingpong.csv --x bytes --y send --pieces")]
pub struct Arguments {
    /// Recordings of runs that differ in their parameters (record --param) or number of ranks; or one table: CSV with a header, Extra-P's
    /// text, JSON or JSON lines
    #[arg(value_name = "NAME.sin|TABLE", required = true)]
    inputs: Vec<PathBuf>,
    /// The model file to write, for `sintonia predict`
    #[arg(short, long, value_name = "MODEL.toml")]
    output: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
    /// What the model is called [default: the program, or what is measured]
    #[arg(long)]
    name: Option<String>,
    /// The parameters to fit over: of recordings, those named [default: all that change]; of a table, the columns that hold them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    x: Option<Vec<String>>,
    /// Of a table: the column, or the metric, that was measured
    #[arg(long, value_name = "NAME")]
    y: Option<String>,
    /// Of a table: the unit of what was measured, if the header does not say it, as `send [us]` does
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// Of a table: only the lines, or the regions, where a column has this value
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    only: Vec<String>,
    /// Of a table: straight lines, each for a range of sizes, as the times of messages have
    #[arg(long)]
    pieces: bool,
    /// The machine file of where the recordings were made (sintonia bench), so that predict can exchange the machine
    #[arg(long, value_name = "FILE.machine.toml")]
    machine: Option<PathBuf>,
    /// Draw what was measured and what was found
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Show everything as one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found.
pub struct Found {
    /// The model.
    pub model: Model,
    /// What was fitted, in a few words.
    pub of: String,
    /// What is not in the time, in a sentence; empty if there is nothing.
    pub outside: String,
    /// The run to make next.
    pub next: Option<NextRun>,
}

/// What the formula of a model is called: T if it is that of a program.
pub fn symbol(model: &Model) -> &str {
    if model.quantity.name == "time" { "T" } else { &model.quantity.name }
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    if let Some(path) = &arguments.output {
        may_write(path)?;
        if path.is_file() && !arguments.force {
            let path = path.display();
            return Err(Error::Other(format!("{path} exists already; choose another name with -o, or replace it with --force")));
        }
    }
    arguments.plot.iter().try_for_each(|path| may_write(path))?;
    let found = if arguments.is_about_table() { table::fit(&arguments)? } else { vec![recordings::fit(&arguments)?] };
    if arguments.output.is_some() || arguments.plot.is_some() {
        write(&arguments, &found)?;
    }
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &json::Shown::of(&found)),
        false => out.write_all(screen::show(&found, arguments.output.as_deref()).as_bytes()),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses a file that cannot be there, before any work is done for it.
pub fn may_write(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        _ if path.is_dir() => Err(Error::Other(format!("{} is a folder; give the name of a file", path.display()))),
        Some(folder) => Err(Error::Other(format!("cannot write {}: there is no folder {}", path.display(), folder.display()))),
        None => Ok(()),
    }
}

/// Writes what goes into files: one model.
fn write(arguments: &Arguments, found: &[Found]) -> Result<(), Error> {
    let [Found { model, .. }] = found else {
        wrong_usage(format!("there are {} formulas, and one fits into a file: choose with --y and --where", found.len()));
    };
    if let Some(path) = &arguments.output {
        output::to_file(path, |out| out.write_all(model.to_text().as_bytes()))?;
    }
    if let Some((path, drawing)) = arguments.plot.as_ref().zip(plot::of(model)) {
        output::to_file(path, |out| out.write_all(svg(&drawing).as_bytes()))?;
    }
    Ok(())
}

impl Arguments {
    /// Whether it is a table that is fitted; what is meant for one kind of input is refused with the other.
    fn is_about_table(&self) -> bool {
        let table_only =
            [("--y", self.y.is_some()), ("--unit", self.unit.is_some()), ("--where", !self.only.is_empty()), ("--pieces", self.pieces)];
        let option = table_only.iter().find(|(_, given)| *given).map(|(option, _)| option);
        // A file that is not there is a table if what is said of it is about tables: then that it is not there is the reason to tell.
        let is_table = self.inputs.iter().any(|path| path.is_file() || option.is_some() && !path.exists());
        match option {
            _ if is_table && self.inputs.len() > 1 => wrong_usage("tables are fitted one at a time"),
            _ if is_table && self.machine.is_some() => wrong_usage("--machine is about recordings, and this is a table"),
            Some(option) if !is_table => wrong_usage(format!("{option} is about tables, and these are recordings")),
            _ => is_table,
        }
    }
}
