//! Programs of one C file that a case brings with it, beside those of `programs/`.

use crate::{Mpi, Process, Recording, fresh_dir, record_command};

/// Such a program, and how it is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceProgram<'a> {
    /// Name of the executable; the file is `NAME.c`.
    pub name: &'a str,
    /// The text of the file.
    pub source: &'a str,
    /// Flags of the compiler; default: those of [`Mpi::compile`].
    pub flags: &'a [&'a str],
    /// The C compiler; default: that of the MPI library.
    pub compiler: Option<&'a str>,
    /// Number of ranks.
    pub ranks: usize,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Further variables.
    pub env: &'a [(&'a str, &'a str)],
}

impl SourceProgram<'_> {
    /// Compiles the program and records a run in a folder of its own.
    pub fn record(&self, mpi: &Mpi, options: &[&str]) -> Recording {
        let folder = fresh_dir();
        let file = folder.path().join(format!("{}.c", self.name));
        std::fs::write(&file, self.source).expect("written");
        let flags = if self.flags.is_empty() { Mpi::DEFAULT_FLAGS } else { self.flags };
        mpi.compile_with(self.compiler, flags, &[file], &folder.path().join(self.name));
        let path = folder.path().join("run.sin");
        let program: Vec<String> =
            std::iter::once(format!("./{}", self.name)).chain(self.arguments.iter().map(ToString::to_string)).collect();
        let variables = self.env.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let env: Vec<(String, String)> = mpi.env.iter().cloned().chain(variables).collect();
        let launch = mpi.launch(self.ranks, &program);
        let run = Process::new(record_command(&path, options, launch)).env(&env).run_in(folder.path());
        run.expect_status(0);
        Recording::at(run, path, folder)
    }
}
