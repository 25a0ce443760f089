//! Runs a program under Sintonia, and asks Sintonia what it makes of that.

use std::path::Path;

use serde::Deserialize;

use super::study::{PredictionStudy, RunSetting, StudyProgram};
use crate::error::Error;
use crate::mpi::Mpi;
use crate::prediction_row::PredictOutput;
use crate::sintonia_command::SintoniaCommand;

/// A folder in which a study is made.
pub(super) struct StudyRunner<'a> {
    mpi: &'a Mpi,
    study: &'a PredictionStudy,
    sintonia: SintoniaCommand,
    /// The program's path and arguments, with placeholders.
    command: Vec<String>,
    /// The folder of the programs by others.
    programs: &'a Path,
}

/// What `fit` says.
#[derive(Deserialize)]
pub(super) struct FittedModel {
    pub formula: String,
    pub error_percent: Option<f64>,
}

#[derive(Deserialize)]
struct ReportedTime {
    work_s: f64,
}

impl<'a> StudyRunner<'a> {
    /// Makes the folder, and compiles the program if its source is here.
    pub(super) fn new(mpi: &'a Mpi, study: &'a PredictionStudy, programs: &'a Path) -> Result<StudyRunner<'a>, Error> {
        let sintonia = SintoniaCommand::in_folder("predict")?;
        let program = match study.program {
            StudyProgram::Source(file) => {
                let program = sintonia.folder.join("program");
                mpi.compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps").join(file), &program)?;
                program
            }
            StudyProgram::Built(name) => programs.join(name),
        };
        let arguments = study.arguments.iter().map(|argument| (*argument).to_owned());
        let command = std::iter::once(program.display().to_string()).chain(arguments).collect();
        Ok(StudyRunner { mpi, study, sintonia, command, programs })
    }

    /// Records a run, and gives the seconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
    pub(super) fn record(&self, setting: RunSetting, round: usize) -> Result<f64, Error> {
        let recording = self.recording(setting, round);
        let RunSetting { n, p } = setting;
        let mut command = ["record", "-o", &recording, "--param", &format!("n={n}"), "--"].map(String::from).to_vec();
        command.extend(if self.study.is_crowded() { self.mpi.launch(p) } else { self.mpi.launch_bound(p) });
        command.extend(self.command.iter().map(|word| self.filled_in(word, n)));
        self.sintonia.run(&command)?;
        let reported: ReportedTime = self.sintonia.ask(&["report".into(), recording])?;
        Ok(reported.work_s)
    }

    /// Fits the runs that are known.
    pub(super) fn fit(&self, rounds: usize) -> Result<FittedModel, Error> {
        let recordings = self.study.known.iter().flat_map(|setting| (0..rounds).map(|round| self.recording(*setting, round)));
        let mut command = ["fit", "-o", "model.toml"].map(String::from).to_vec();
        if self.study.is_crowded() {
            command.extend(["--include", "oversubscribed"].map(String::from));
        }
        command.extend(recordings);
        self.sintonia.run(&command)?;
        let known = self.predicted(*self.study.known.last().expect("a study knows something"))?;
        Ok(FittedModel { formula: known.formula, error_percent: known.error_percent })
    }

    /// Predicts a run.
    pub(super) fn predict(&self, setting: RunSetting) -> Result<[f64; 3], Error> {
        self.predicted(setting)?.seconds(&setting.to_string())
    }

    /// Removes what was made.
    pub(super) fn clear(self) -> Result<(), Error> {
        self.sintonia.clear()
    }

    fn predicted(&self, setting: RunSetting) -> Result<PredictOutput, Error> {
        let RunSetting { n, p } = setting;
        self.sintonia.ask(&["predict".into(), "model.toml".into(), "-p".into(), format!("n={n}"), "--procs".into(), p.to_string()])
    }

    fn filled_in(&self, word: &str, n: u32) -> String {
        word.replace("{n}", &n.to_string()).replace("{programs}", &self.programs.display().to_string())
    }

    fn recording(&self, setting: RunSetting, round: usize) -> String {
        format!("n{}-p{}-{round}.sin", setting.n, setting.p)
    }
}
