//! `sintonia fit`: fits formulas to recordings of a program, or to a table of measurements.

mod display;
mod json;
pub(crate) mod plot;
mod recordings;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_fit::linear_form::FormCoefficient;
use sintonia_fit::table::cube;
use sintonia_model::curve::FittedCurve;
use sintonia_model::model::PerformanceModel;
use sintonia_model::next_run::NextRun;
use sintonia_model::run_metric::RunMetric;
use sintonia_model::run_selection::RunDefect;
use sintonia_model::series::CurveForm;
use sintonia_plot::render_svg;

use crate::error::usage_error;
use crate::{Error, output};

/// Arguments of `sintonia fit`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    for n in 200 300 400 600 800; do sintonia record -o mm-$n.sin --param n=$n -- mpirun -n 4 ./matmul $n; done\n  \
    sintonia fit mm-*.sin -o mm.model.toml\n  \
    sintonia predict mm.model.toml -p n=2000\n  \
    sintonia fit pingpong.csv --x bytes --y send --pieces\n  \
    sintonia fit mm.csv --x n --y time --form 'a*n^3 + b*n^2 + c'")]
pub(crate) struct FitArgs {
    /// Recordings of runs with different parameters (record --param) or numbers of ranks; or one table: CSV with a header, any format of
    /// Extra-P (text, Talpas, JSON, JSON lines, .extra-p), or a folder of Cube files named by their parameters
    #[arg(value_name = "NAME.sin|TABLE", required = true)]
    inputs: Vec<PathBuf>,
    /// Model file to write, for `sintonia predict`
    #[arg(short, long, value_name = "MODEL.toml")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Name of the model [default: the program, or the measured quantity]
    #[arg(long)]
    name: Option<String>,
    /// Parameters to fit over; for a table, the parameter columns [default for recordings: all that vary]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    x: Option<Vec<String>>,
    /// Recordings: what to fit: time, cpu (processor time of all threads), page-faults, or a counter of the recordings [default: time]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Table: the measured column or metric [default for Cube files: time]
    #[arg(long, value_name = "NAME")]
    y: Option<String>,
    /// Table: unit of the measured values, if the header does not give it as in `send [us]`
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
    /// Table: use only rows where this column has this value, or for Extra-P files only this region (region=NAME)
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    only: Vec<String>,
    /// Table: what columns are: size, processes, time, bytes, count or unknown [default: by the header, or by names such as threads]
    #[arg(long, value_name = "NAME=KIND,…", value_delimiter = ',')]
    kind: Vec<String>,
    /// Table: fit a piecewise linear function, as for message times over size
    #[arg(long)]
    pieces: bool,
    /// Estimate the coefficients of this formula, such as 'a*n^3 + b*n^2 + c': names that are no parameters are coefficients
    #[arg(long, value_name = "FORMULA", conflicts_with = "pieces")]
    form: Option<String>,
    /// Fit a polynomial of this degree
    #[arg(long, value_name = "K", conflicts_with_all = ["pieces", "form"])]
    degree: Option<usize>,
    /// Recordings: fit these runs, too, which are left out by default: failed, truncated, oversubscribed, preempted, different
    #[arg(long, value_name = "KIND,…", value_delimiter = ',', value_parser = parse_defect)]
    include: Vec<RunDefect>,
    /// Machine file of the machine of the recordings (sintonia bench), so that `predict --machine` can transfer a model with parts, and
    /// caches have their costs
    #[arg(long, value_name = "FILE.machine.toml")]
    machine: Option<PathBuf>,
    /// Plot measurements and model
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Parses a kind of runs.
fn parse_defect(name: &str) -> Result<RunDefect, String> {
    let known = RunDefect::ALL.map(RunDefect::name).join(", ");
    RunDefect::from_name(name).ok_or_else(|| format!("there are no runs of this kind; those left out by default are {known}"))
}

/// The result of a fit.
struct FitResult {
    /// The model.
    pub model: PerformanceModel,
    /// What was fitted, in a few words.
    pub input_summary: String,
    /// The time that is not included, in a sentence; empty if there is none.
    pub excluded_time: String,
    /// The suggested next run.
    pub next: Option<NextRun>,
    /// The coefficients of the given form.
    pub coefficients: Vec<FormCoefficient>,
}

/// The symbol of the modelled quantity: T for the time of a program.
pub(crate) fn quantity_symbol(model: &PerformanceModel) -> &str {
    if model.quantity.name == "time" { "T" } else { &model.quantity.name }
}

/// Runs `sintonia fit`.
pub(crate) fn run(args: FitArgs) -> Result<ExitCode, Error> {
    if let Some(path) = &args.output {
        output::check_writable(path)?;
        if path.is_file() && !args.force {
            let path = path.display();
            return Err(Error::Other(format!("{path} already exists: choose another name with -o, or replace it with --force")));
        }
    }
    args.plot.iter().try_for_each(|path| output::check_writable(path))?;
    let found = if args.fits_table() { table::fit_table(&args)? } else { vec![recordings::fit_recordings(&args)?] };
    if args.output.is_some() || args.plot.is_some() {
        write_files(&args, &found)?;
    }
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &json::FitJson::new(&found)),
        false => out.write_all(display::render(&found, args.output.as_deref()).as_bytes()),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the plot of the only model, and all models into one file: the plot first, so that a plot that fails leaves no model behind.
fn write_files(args: &FitArgs, found: &[FitResult]) -> Result<(), Error> {
    let drawing = match (&args.plot, found) {
        (None, _) => None,
        (Some(path), [FitResult { model, .. }]) => {
            let drawing = plot::plot_model(model);
            let drawing =
                drawing.ok_or_else(|| Error::Other("the model has no parameters, so there is nothing to plot: leave --plot out".into()))?;
            Some((path, drawing))
        }
        (Some(_), several) => {
            usage_error(format!("there are {} formulas, but a plot shows one: choose with --y and --where", several.len()))
        }
    };
    let model_text = args.output.as_ref().map(|path| model_file_text(path, found)).transpose()?;
    if let Some((path, drawing)) = drawing {
        output::write_file(path, |out| out.write_all(render_svg(&drawing).as_bytes()))?;
    }
    if let Some((path, text)) = args.output.as_ref().zip(model_text) {
        output::write_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    Ok(())
}

/// All models as the text of one file; an error if `predict` would refuse it.
fn model_file_text(path: &Path, found: &[FitResult]) -> Result<String, Error> {
    let models: Vec<PerformanceModel> = found.iter().map(|found| found.model.clone()).collect();
    let text = PerformanceModel::all_to_text(&models);
    PerformanceModel::parse_all(&text, path)
        .map_err(|error| Error::Other(format!("the formulas cannot be stored, so nothing is written: {error}")))?;
    Ok(text)
}

impl FitResult {
    /// A result without anything beyond the model; the coefficients are those of a given form.
    fn new(model: PerformanceModel, input_summary: String, form: &CurveForm) -> FitResult {
        let curve = model.whole.as_ref().and_then(|whole| whole.curve.as_ref());
        let coefficients = match (form.linear_form(&model.parameter_names()), curve) {
            (Ok(Some(form)), Some(FittedCurve::Scaling(law))) => form.coefficients(law),
            _ => Vec::new(),
        };
        FitResult { model, input_summary, excluded_time: String::new(), next: None, coefficients }
    }
}

impl FitArgs {
    /// The metric of recordings that is fitted.
    fn run_metric(&self) -> RunMetric {
        let metric = self.metric.as_deref().map(RunMetric::from_name).unwrap_or_default();
        if metric != RunMetric::Time && self.machine.is_some() {
            usage_error(format!("--machine applies to the time of runs, not to {}: leave it out", metric.name()));
        }
        metric
    }

    /// The form of the curve.
    fn curve_form(&self) -> CurveForm {
        match (&self.form, self.degree) {
            (Some(text), _) => CurveForm::Formula(text.clone()),
            (None, Some(degree)) => CurveForm::Polynomial(degree),
            (None, None) if self.pieces => CurveForm::Pieces,
            (None, None) => CurveForm::Scaling,
        }
    }

    /// Whether the input is a table; rejects options that do not apply to the input.
    fn fits_table(&self) -> bool {
        let table_only = [
            ("--y", self.y.is_some()),
            ("--unit", self.unit.is_some()),
            ("--where", !self.only.is_empty()),
            ("--kind", !self.kind.is_empty()),
            ("--pieces", self.pieces),
        ];
        let option = table_only.iter().find(|(_, given)| *given).map(|(option, _)| option);
        // With table options, a missing file is taken for a table, so that the error is about the missing file.
        let is_table = self.inputs.iter().any(|path| path.is_file() || cube::is_cube_folder(path) || option.is_some() && !path.exists());
        match option {
            _ if is_table && self.inputs.len() > 1 && !cube::are_cube_files(&self.inputs) => {
                usage_error("only one table can be fitted at a time")
            }
            _ if is_table && !self.include.is_empty() => usage_error("--include applies to recordings, but the input is a table"),
            _ if is_table && self.metric.is_some() => {
                usage_error("--metric applies to recordings, but the input is a table: choose with --y")
            }
            _ if is_table && self.machine.is_some() => usage_error("--machine applies to recordings, but the input is a table"),
            Some(option) if !is_table => usage_error(format!("{option} applies to tables, but the inputs are recordings")),
            _ => is_table,
        }
    }
}
