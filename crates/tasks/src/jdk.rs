//! Finds and runs the user's JDK.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;
use crate::protocol::ClassFile;

/// `javac` runs too briefly for the C2 compiler to pay off: without it, it takes a third less CPU time.
const JAVAC_FLAGS: [&str; 2] = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"];

/// The Java compiler and virtual machine.
#[derive(Debug, Clone)]
pub struct Jdk {
    javac: PathBuf,
    java: PathBuf,
}

impl Jdk {
    /// The JDK in `JAVA_HOME`, else in `PATH`.
    pub fn find() -> Result<Jdk, Error> {
        let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = home.into_iter().chain(std::env::split_paths(&path)).collect();
        let find = |name: &'static str| {
            let files = folders.iter().map(|folder| folder.join(name));
            files.into_iter().find(|file| file.is_file()).ok_or(Error::NoJdk(name))
        };
        Ok(Jdk { javac: find("javac")?, java: find("java")? })
    }

    /// Compiles files, with sources they depend on in `source_dir`, into class files in `output_dir`.
    pub fn compile(&self, files: &[PathBuf], source_dir: &Path, output_dir: &Path) -> Result<(), Error> {
        let mut command = Command::new(&self.javac);
        command
            .args(JAVAC_FLAGS)
            .arg("-sourcepath")
            .arg(source_dir)
            .arg("-d")
            .arg(output_dir)
            .args(["-encoding", "UTF-8", "-nowarn", "-proc:none"])
            .args(files);
        let output = command.stdin(Stdio::null()).output().map_err(Error::io(format!("{}", self.javac.display())))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Compile(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }

    /// A command that runs a class of a folder.
    pub fn command(&self, options: &[&str], folder: &Path, class: &str) -> Command {
        let mut command = Command::new(&self.java);
        command.args(options).arg("-cp").arg(folder).arg(class);
        command
    }
}

/// All class files in a folder and its packages.
pub(crate) fn read_classes(folder: &Path) -> Result<Vec<ClassFile>, Error> {
    let mut found = Vec::new();
    collect_classes(folder, "", &mut found).map_err(Error::io("the compiled classes"))?;
    Ok(found)
}

fn collect_classes(folder: &Path, package: &str, found: &mut Vec<ClassFile>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(stem) = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()) else { continue };
        if path.is_dir() {
            collect_classes(&path, &format!("{package}{stem}."), found)?;
        } else if path.extension().is_some_and(|ending| ending == "class") {
            found.push(ClassFile { name: format!("{package}{stem}"), bytecode: std::fs::read(&path)? });
        }
    }
    Ok(())
}
