//! The corpus in `twins/`: programs with one known problem and a switch that removes it.
//!
//! `twins.toml` says of each program which first advice names the problem. What removing it saves is measured: the program and its fixed
//! variant run in turns, without Sintonia.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::program::{make, with_included};
use crate::{Mpi, Outcome, Process, Recording, record_command, tests_dir};

/// The time limit of a run: beside other load, programs of short calls take minutes.
const LIMIT_S: u64 = 600;

/// A program of the corpus.
#[derive(Debug, Clone, Deserialize)]
pub struct Twin {
    /// Its name, without number and ending.
    pub name: String,
    /// Its source file in `twins/`.
    pub file: String,
    kind: String,
    ranks: usize,
    threads: Option<usize>,
    cause: Option<Cause>,
    #[serde(default)]
    accept: Vec<AcceptedAdvice>,
}

/// What the source describes as the cause.
#[derive(Debug, Clone, Deserialize)]
struct Cause {
    role: String,
    function: String,
}

/// First advice that names the cause.
#[derive(Debug, Clone, Deserialize)]
struct AcceptedAdvice {
    /// Its `kind` is one of these.
    kinds: Vec<String>,
    /// The source line it reports contains one of these.
    at: Vec<String>,
    /// Its first sentence or its evidence contains each of these; case does not matter.
    #[serde(default)]
    says: Vec<String>,
}

/// Which of the two variants runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TwinVariant {
    /// With the problem.
    Problem,
    /// Without it.
    Fixed,
}

#[derive(Deserialize)]
struct Corpus {
    program: Vec<Twin>,
}

impl Twin {
    /// All programs, in order.
    pub fn all() -> Vec<Twin> {
        let text = std::fs::read_to_string(folder().join("twins.toml")).expect("twins.toml");
        let corpus: Corpus = toml::from_str(&text).unwrap_or_else(|error| panic!("twins.toml: {error}"));
        corpus.program
    }

    /// The program of that name.
    pub fn find(name: &str) -> Twin {
        Twin::all().into_iter().find(|twin| twin.name == name).unwrap_or_else(|| panic!("no program {name:?} in twins.toml"))
    }

    /// Whether it has no problem, and needs no advice.
    pub fn is_clean(&self) -> bool {
        self.kind == "clean"
    }

    /// The cause, for people.
    pub fn expected(&self) -> String {
        self.cause.as_ref().map_or_else(|| "none".into(), |cause| format!("{} in {}", cause.role, cause.function))
    }

    /// Why this first advice (none: there is none) does not name the cause.
    pub fn complaint(&self, advice: Option<&Value>) -> Option<String> {
        match advice {
            None if self.is_clean() => None,
            None => Some("no advice".into()),
            Some(advice) => (!self.is_of_cause(advice)).then(|| advice.to_string()),
        }
    }

    /// Whether this advice names the cause: what a fixed variant must not get.
    pub fn is_of_cause(&self, advice: &Value) -> bool {
        self.accept.iter().any(|accepted| self.is_accepted(accepted, advice))
    }

    fn is_accepted(&self, accepted: &AcceptedAdvice, advice: &Value) -> bool {
        let text = |key: &str| advice[key].as_str().unwrap_or_default();
        let words = format!("{} {}", text("what"), text("evidence")).to_lowercase();
        let says = accepted.says.iter().all(|part| words.contains(&part.to_lowercase()));
        let line = self.reported_line(advice);
        let is_at = line.is_some_and(|line| accepted.at.iter().any(|part| line.contains(part.as_str())));
        accepted.kinds.iter().any(|kind| kind == text("kind")) && is_at && says
    }

    /// The text of the source line that advice reports, if it is one of this program.
    fn reported_line(&self, advice: &Value) -> Option<String> {
        let file = advice["file"].as_str()?;
        let index = usize::try_from(advice["line"].as_u64()?).ok()?.checked_sub(1)?;
        let is_own = file.rsplit('/').next() == Some(&self.file);
        let source = std::fs::read_to_string(self.source()).expect("a program can be read");
        source.lines().nth(index).filter(|_| is_own).map(String::from)
    }

    fn source(&self) -> PathBuf {
        folder().join(&self.file)
    }

    fn is_python(&self) -> bool {
        self.file.ends_with(".py")
    }

    /// Seconds that a run without Sintonia takes between MPI_Init and MPI_Finalize.
    pub fn run_bare(&self, mpi: &Mpi, variant: TwinVariant) -> f64 {
        let folder = crate::fresh_dir();
        let run = self.process(mpi, self.launch(mpi, variant), folder.path()).env(&variable("TWIN_TIME", "1")).run_in(folder.path());
        run.expect_status(0);
        let seconds = run.stderr.lines().find_map(|line| line.trim().strip_prefix("TIME ")?.parse().ok());
        seconds.unwrap_or_else(|| panic!("{} prints its time\n{}", self.name, run.text()))
    }

    /// Records a variant.
    pub fn record(&self, mpi: &Mpi, variant: TwinVariant) -> Recording {
        let folder = crate::fresh_dir();
        let path = folder.path().join("run.sin");
        let command = record_command(&path, &[], self.launch(mpi, variant));
        let run: Outcome = self.process(mpi, command, folder.path()).run_in(folder.path());
        run.expect_no_crash().expect_status(0);
        Recording::at(run, path, folder)
    }

    fn launch(&self, mpi: &Mpi, variant: TwinVariant) -> Vec<String> {
        let text = |path: &Path| path.to_str().expect("paths of tests are text").to_string();
        let mut program = match self.is_python() {
            true => vec![text(&mpi.python), text(&self.source())],
            false => vec![text(&self.built(mpi))],
        };
        program.extend((variant == TwinVariant::Fixed).then(|| "fixed".to_string()));
        mpi.launch(self.ranks, &program)
    }

    fn process(&self, mpi: &Mpi, command: Vec<String>, folder: &Path) -> Process {
        let python = if self.is_python() { mpi.python_env.as_slice() } else { &[] };
        let temporary = variable("TMPDIR", folder.to_str().expect("paths of tests are text"));
        let threads = variable("OMP_NUM_THREADS", &self.threads.unwrap_or(1).to_string());
        Process::new(command).env(&mpi.env).env(python).env(&temporary).env(&threads).limit(LIMIT_S)
    }

    fn built(&self, mpi: &Mpi) -> PathBuf {
        let builds = mpi.build_dir().join("twins");
        std::fs::create_dir_all(&builds).expect("a folder for programs");
        let output = builds.join(self.file.replace('.', "_"));
        let fortran = self.file.ends_with(".f90");
        let mut sources = with_included(&self.source());
        if fortran {
            sources.insert(0, folder().join("twin.f90"));
        }
        make(&output, &sources, |to| {
            let (compiler, link) = match &mpi.fortran {
                Some(compiler) if fortran => (compiler, &mpi.link_fortran),
                _ => (&mpi.cc, &mpi.link),
            };
            // The module of all Fortran programs is built with each of them, in a folder of its own.
            let by_products = crate::fresh_dir();
            let mut command = Command::new(&compiler[0]);
            command.args(&compiler[1..]).args(["-O1", "-g"]).args(self.threads.map(|_| "-fopenmp"));
            command.args(sources.iter().filter(|source| source.extension().is_none_or(|ending| ending != "h")));
            let built = command.arg("-o").arg(to).args(link).arg("-lm").current_dir(by_products.path()).output().expect("a compiler runs");
            assert!(built.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&built.stderr));
        });
        output
    }
}

fn folder() -> PathBuf {
    tests_dir().join("twins")
}

fn variable(name: &str, value: &str) -> [(String, String); 1] {
    [(name.to_string(), value.to_string())]
}
