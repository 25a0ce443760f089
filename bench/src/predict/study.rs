//! What is predicted from what.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

/// A program with the runs that are fitted and those that are predicted.
pub(super) struct PredictionStudy {
    pub name: &'static str,
    pub program: StudyProgram,
    /// The arguments of the program; `{n}` stands for the size, `{programs}` for the folder of [`StudyProgram::Built`].
    pub arguments: &'static [&'static str],
    pub known: &'static [RunSetting],
    pub asked: &'static [RunSetting],
}

/// Where the program of a study comes from.
pub(super) enum StudyProgram {
    /// This source file in the folder `apps`.
    Source(&'static str),
    /// A program by others, in the folder given by `--programs`. `{n}` stands for the size, where each has an executable of its own.
    Built(&'static str),
}

/// The size and the number of processes of a run.
#[derive(Clone, Copy, Serialize)]
pub(super) struct RunSetting {
    pub n: u32,
    pub p: u32,
}

impl Display for RunSetting {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "n = {}, p = {}", self.n, self.p)
    }
}

const fn at(n: u32, p: u32) -> RunSetting {
    RunSetting { n, p }
}

impl PredictionStudy {
    /// Whether its program is by others.
    pub(super) fn is_by_others(&self) -> bool {
        matches!(self.program, StudyProgram::Built(_))
    }

    /// Whether some of its runs have more processes than the smallest machine has cores: then none is bound to one.
    pub(super) fn is_crowded(&self) -> bool {
        self.known.iter().chain(self.asked).any(|setting| setting.p > 2)
    }
}

/// The largest fitted run takes about a second; the predicted ones have at least four times its work. The sizes were chosen before
/// any of these runs was made, and so were those of the programs by others, which start with LULESH. Nothing of the method has been chosen with
/// the programs from AMG on in view.
pub(super) const STUDIES: &[PredictionStudy] = &[
    PredictionStudy {
        name: "matmul, size",
        program: StudyProgram::Source("matmul.c"),
        arguments: &["{n}"],
        known: &[at(400, 2), at(500, 2), at(600, 2), at(700, 2), at(800, 2)],
        asked: &[at(3200, 2)],
    },
    PredictionStudy {
        name: "stencil, size",
        program: StudyProgram::Source("stencil.c"),
        arguments: &["{n}", "200"],
        known: &[at(400, 2), at(500, 2), at(600, 2), at(700, 2), at(800, 2)],
        asked: &[at(3200, 2), at(4000, 2)],
    },
    PredictionStudy {
        name: "conjugate, size",
        program: StudyProgram::Source("conjugate.f90"),
        arguments: &["{n}", "10"],
        known: &[at(2000, 2), at(2400, 2), at(2800, 2), at(3200, 2), at(3600, 2)],
        asked: &[at(14_400, 2)],
    },
    PredictionStudy {
        name: "matmul, processes",
        program: StudyProgram::Source("matmul.c"),
        arguments: &["{n}"],
        known: &[at(800, 3), at(800, 4), at(800, 5), at(800, 6), at(800, 8)],
        asked: &[at(800, 32)],
    },
    PredictionStudy {
        name: "stencil, processes",
        program: StudyProgram::Source("stencil.c"),
        arguments: &["{n}", "50"],
        known: &[at(1600, 2), at(1600, 3), at(1600, 4), at(1600, 6), at(1600, 8)],
        asked: &[at(1600, 32)],
    },
    PredictionStudy {
        name: "conjugate, processes",
        program: StudyProgram::Source("conjugate.f90"),
        arguments: &["{n}", "50"],
        known: &[at(1600, 2), at(1600, 3), at(1600, 4), at(1600, 6), at(1600, 8)],
        asked: &[at(1600, 32)],
    },
    PredictionStudy {
        name: "LULESH",
        program: StudyProgram::Built("lulesh"),
        arguments: &["-s", "{n}", "-i", "40"],
        known: &[at(10, 1), at(13, 1), at(16, 1), at(19, 1), at(22, 1)],
        asked: &[at(36, 1), at(88, 1)],
    },
    PredictionStudy {
        name: "CoMD",
        program: StudyProgram::Built("comd"),
        arguments: &[
            "-e",
            "-i",
            "2",
            "-j",
            "1",
            "-k",
            "1",
            "-x",
            "{n}",
            "-y",
            "{n}",
            "-z",
            "{n}",
            "-N",
            "20",
            "--potDir",
            "{programs}/pots",
        ],
        known: &[at(12, 2), at(14, 2), at(16, 2), at(20, 2), at(24, 2)],
        asked: &[at(40, 2), at(64, 2)],
    },
    PredictionStudy {
        name: "miniFE",
        program: StudyProgram::Built("minife"),
        arguments: &["nx={n}", "ny={n}", "nz={n}"],
        known: &[at(16, 2), at(20, 2), at(24, 2), at(32, 2), at(40, 2)],
        asked: &[at(64, 2), at(128, 2)],
    },
    PredictionStudy {
        name: "HPCG",
        program: StudyProgram::Built("hpcg"),
        arguments: &["--nx=24", "--ny=24", "--nz={n}", "--rt=0"],
        known: &[at(16, 2), at(24, 2), at(32, 2), at(40, 2), at(48, 2)],
        asked: &[at(192, 2)],
    },
    PredictionStudy {
        name: "NPB CG",
        program: StudyProgram::Built("cg.{n}"),
        arguments: &[],
        known: &[at(1400, 2), at(2000, 2), at(2800, 2), at(4000, 2), at(5600, 2)],
        asked: &[at(22_400, 2)],
    },
    PredictionStudy {
        name: "NPB MG",
        program: StudyProgram::Built("mg.{n}"),
        arguments: &[],
        known: &[at(16, 2), at(32, 2), at(64, 2), at(128, 2)],
        asked: &[at(256, 2), at(512, 2)],
    },
    PredictionStudy {
        name: "NPB LU",
        program: StudyProgram::Built("lu.{n}"),
        arguments: &[],
        known: &[at(12, 2), at(16, 2), at(20, 2), at(24, 2), at(32, 2)],
        asked: &[at(52, 2), at(100, 2)],
    },
    PredictionStudy {
        name: "NPB EP",
        program: StudyProgram::Built("ep.{n}"),
        arguments: &[],
        known: &[at(1 << 18, 2), at(1 << 19, 2), at(1 << 20, 2), at(1 << 21, 2), at(1 << 22, 2)],
        asked: &[at(1 << 24, 2), at(1 << 26, 2)],
    },
    PredictionStudy {
        name: "NPB IS",
        program: StudyProgram::Built("is.{n}"),
        arguments: &[],
        known: &[at(1 << 16, 2), at(1 << 17, 2), at(1 << 18, 2), at(1 << 19, 2), at(1 << 20, 2)],
        asked: &[at(1 << 22, 2), at(1 << 24, 2)],
    },
    PredictionStudy {
        name: "LAMMPS",
        program: StudyProgram::Built("lmp"),
        arguments: &["-in", "{programs}/melt.in", "-var", "n", "{n}"],
        known: &[at(6, 2), at(8, 2), at(10, 2), at(12, 2), at(16, 2)],
        asked: &[at(26, 2), at(48, 2)],
    },
    PredictionStudy {
        name: "AMG",
        program: StudyProgram::Built("amg"),
        arguments: &["-problem", "2", "-n", "{n}", "{n}", "{n}", "-P", "2", "1", "1"],
        known: &[at(8, 2), at(10, 2), at(12, 2), at(16, 2), at(20, 2)],
        asked: &[at(32, 2), at(64, 2)],
    },
    PredictionStudy {
        name: "PENNANT",
        program: StudyProgram::Built("pennant"),
        arguments: &["{programs}/pennant-{n}.pnt"],
        known: &[at(48, 2), at(64, 2), at(80, 2), at(96, 2), at(120, 2)],
        asked: &[at(240, 2), at(480, 2)],
    },
    PredictionStudy {
        name: "miniMD",
        program: StudyProgram::Built("minimd"),
        arguments: &["-i", "{programs}/in.lj.miniMD", "-t", "1", "-s", "{n}", "-n", "100"],
        known: &[at(12, 2), at(14, 2), at(16, 2), at(20, 2), at(24, 2)],
        asked: &[at(40, 2), at(64, 2)],
    },
    PredictionStudy {
        name: "miniAMR",
        program: StudyProgram::Built("miniamr"),
        arguments: MINIAMR,
        known: &[at(6, 2), at(8, 2), at(10, 2), at(12, 2), at(16, 2)],
        asked: &[at(26, 2), at(40, 2)],
    },
    PredictionStudy {
        name: "NPB FT",
        program: StudyProgram::Built("ft.{n}"),
        arguments: &[],
        known: &[at(4, 2), at(8, 2), at(16, 2), at(32, 2), at(64, 2)],
        asked: &[at(256, 2)],
    },
    PredictionStudy {
        name: "NPB BT",
        program: StudyProgram::Built("bt.{n}"),
        arguments: &[],
        known: &[at(12, 1), at(14, 1), at(16, 1), at(20, 1), at(24, 1)],
        asked: &[at(40, 1), at(64, 1)],
    },
    PredictionStudy {
        name: "NPB SP",
        program: StudyProgram::Built("sp.{n}"),
        arguments: &[],
        known: &[at(12, 1), at(16, 1), at(20, 1), at(24, 1), at(32, 1)],
        asked: &[at(52, 1), at(100, 1)],
    },
];

/// Sixteen blocks of {n}^3 cells with 40 variables each.
const MINIAMR: &[&str] = &[
    "--npx",
    "2",
    "--npy",
    "1",
    "--npz",
    "1",
    "--nx",
    "{n}",
    "--ny",
    "{n}",
    "--nz",
    "{n}",
    "--init_x",
    "2",
    "--init_y",
    "2",
    "--init_z",
    "2",
    "--num_refine",
    "0",
    "--max_blocks",
    "40",
    "--num_tsteps",
    "4",
];
