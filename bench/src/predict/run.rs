//! Runs a program under Sintonia, and asks Sintonia what it makes of that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::study::{Setting, Study};
use crate::error::Error;
use crate::mpi::{AS_ROOT, CROWDED, Mpi};
use crate::place;

/// A folder in which a study is made.
pub struct Workshop<'a> {
    mpi: &'a Mpi,
    study: &'a Study,
    sintonia: PathBuf,
    folder: PathBuf,
    program: PathBuf,
}

/// What `fit` says.
#[derive(Deserialize)]
pub struct Fitted {
    pub formula: String,
    pub error_percent: Option<f64>,
}

#[derive(Deserialize)]
struct Reported {
    work_s: f64,
}

#[derive(Deserialize)]
struct Predicted {
    formula: String,
    error_percent: Option<f64>,
    predictions: Vec<Prediction>,
}

#[derive(Deserialize)]
struct Prediction {
    seconds: [f64; 3],
}

impl<'a> Workshop<'a> {
    /// Makes the folder and compiles the program.
    pub fn new(mpi: &'a Mpi, study: &'a Study) -> Result<Workshop<'a>, Error> {
        let folder = place::folder()?.join("predict");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(Error::at(&folder))?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps").join(study.source);
        let program = folder.join("program");
        mpi.compile(&source, &program)?;
        Ok(Workshop { mpi, study, sintonia: place::sintonia()?, folder, program })
    }

    /// Records a run, and gives the seconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`.
    pub fn record(&self, setting: Setting, round: usize) -> Result<f64, Error> {
        let recording = self.recording(setting, round);
        let Setting { n, p } = setting;
        let mut command = ["record", "-o", &recording, "--param", &format!("n={n}"), "--"].map(String::from).to_vec();
        command.extend(if self.study.is_crowded() { self.mpi.launch(p) } else { self.mpi.launch_bound(p) });
        command.extend([self.program.display().to_string(), n.to_string()]);
        command.extend(self.study.then.iter().map(|word| (*word).to_owned()));
        self.sintonia(&command)?;
        let reported: Reported = self.ask(&["report".into(), recording])?;
        Ok(reported.work_s)
    }

    /// Fits the runs that are known.
    pub fn fit(&self, rounds: usize) -> Result<Fitted, Error> {
        let recordings = self.study.known.iter().flat_map(|setting| (0..rounds).map(|round| self.recording(*setting, round)));
        let command: Vec<String> = ["fit", "-o", "model.toml"].map(String::from).into_iter().chain(recordings).collect();
        self.sintonia(&command)?;
        let known = self.predicted(*self.study.known.last().expect("a study knows something"))?;
        Ok(Fitted { formula: known.formula, error_percent: known.error_percent })
    }

    /// Predicts a run.
    pub fn predict(&self, setting: Setting) -> Result<[f64; 3], Error> {
        let predicted = self.predicted(setting)?;
        let nothing = || Error::Failed { command: format!("sintonia predict, {setting}"), why: "it predicts nothing".into() };
        predicted.predictions.first().map(|one| one.seconds).ok_or_else(nothing)
    }

    /// Removes what was made.
    pub fn clear(&self) -> Result<(), Error> {
        fs::remove_dir_all(&self.folder).map_err(Error::at(&self.folder))
    }

    fn predicted(&self, setting: Setting) -> Result<Predicted, Error> {
        let Setting { n, p } = setting;
        self.ask(&["predict".into(), "model.toml".into(), "-p".into(), format!("n={n}"), "--procs".into(), p.to_string()])
    }

    fn recording(&self, setting: Setting, round: usize) -> String {
        format!("n{}-p{}-{round}.sin", setting.n, setting.p)
    }

    fn ask<T: for<'d> Deserialize<'d>>(&self, command: &[String]) -> Result<T, Error> {
        let said = self.sintonia(&[command, &["--json".into()]].concat())?;
        let unclear = |error: serde_json::Error| Error::Failed { command: command.join(" "), why: error.to_string() };
        serde_json::from_slice(&said).map_err(unclear)
    }

    fn sintonia(&self, command: &[String]) -> Result<Vec<u8>, Error> {
        let failed = |why: String| Error::Failed { command: format!("sintonia {}", command.join(" ")), why };
        let ended = Command::new(&self.sintonia).args(command).current_dir(&self.folder).envs(AS_ROOT).envs(CROWDED).output();
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        if ended.status.success() { Ok(ended.stdout) } else { Err(failed(String::from_utf8_lossy(&ended.stderr).trim().to_owned())) }
    }
}
