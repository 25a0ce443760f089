//! Runs a program under Sintonia, and asks Sintonia what it makes of that.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::study::{PredictionStudy, RunSetting};
use crate::error::Error;
use crate::mpi::Mpi;
use crate::prediction_row::PredictOutput;
use crate::sintonia_command::SintoniaCommand;

/// A folder in which a study is made.
pub(super) struct StudyRunner<'a> {
    mpi: &'a Mpi,
    study: &'a PredictionStudy,
    sintonia: SintoniaCommand,
    program: PathBuf,
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
    /// Makes the folder and compiles the program.
    pub(super) fn new(mpi: &'a Mpi, study: &'a PredictionStudy) -> Result<StudyRunner<'a>, Error> {
        let sintonia = SintoniaCommand::in_folder("predict")?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps").join(study.source);
        let program = sintonia.folder.join("program");
        mpi.compile(&source, &program)?;
        Ok(StudyRunner { mpi, study, sintonia, program })
    }

    /// Records a run, and gives the seconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
    pub(super) fn record(&self, setting: RunSetting, round: usize) -> Result<f64, Error> {
        let recording = self.recording(setting, round);
        let RunSetting { n, p } = setting;
        let mut command = ["record", "-o", &recording, "--param", &format!("n={n}"), "--"].map(String::from).to_vec();
        command.extend(if self.study.is_crowded() { self.mpi.launch(p) } else { self.mpi.launch_bound(p) });
        command.extend([self.program.display().to_string(), n.to_string()]);
        command.extend(self.study.then.iter().map(|word| (*word).to_owned()));
        self.sintonia.run(&command)?;
        let reported: ReportedTime = self.sintonia.ask(&["report".into(), recording])?;
        Ok(reported.work_s)
    }

    /// Fits the runs that are known.
    pub(super) fn fit(&self, rounds: usize) -> Result<FittedModel, Error> {
        let recordings = self.study.known.iter().flat_map(|setting| (0..rounds).map(|round| self.recording(*setting, round)));
        // More processes than cores are what some of the studies are about.
        let command: Vec<String> =
            ["fit", "-o", "model.toml", "--include", "oversubscribed"].map(String::from).into_iter().chain(recordings).collect();
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

    fn recording(&self, setting: RunSetting, round: usize) -> String {
        format!("n{}-p{}-{round}.sin", setting.n, setting.p)
    }
}
