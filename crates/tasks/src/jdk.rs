//! The user's Java.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;
use crate::protocol::Class;

/// The compiler's own virtual machine ends before what it translates thoroughly could pay: without trying, it takes a third less of the processor.
const QUICK: [&str; 2] = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"];

/// A Java compiler and a Java virtual machine.
#[derive(Debug, Clone)]
pub struct Jdk {
    javac: PathBuf,
    java: PathBuf,
}

impl Jdk {
    /// The one that `JAVA_HOME` names, else the one in the folders of `PATH`.
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

    /// Compiles files and what they need of the folder `beside`; the classes come into the folder `into`.
    pub fn compile(&self, files: &[PathBuf], beside: &Path, into: &Path) -> Result<(), Error> {
        let mut command = Command::new(&self.javac);
        command
            .args(QUICK)
            .arg("-sourcepath")
            .arg(beside)
            .arg("-d")
            .arg(into)
            .args(["-encoding", "UTF-8", "-nowarn", "-proc:none"])
            .args(files);
        let ended = command.stdin(Stdio::null()).output().map_err(Error::io(format!("{}", self.javac.display())))?;
        if ended.status.success() {
            return Ok(());
        }
        Err(Error::Compile(String::from_utf8_lossy(&ended.stderr).trim().to_owned()))
    }

    /// A virtual machine that runs a class of a folder.
    pub fn command(&self, options: &[&str], folder: &Path, class: &str) -> Command {
        let mut command = Command::new(&self.java);
        command.args(options).arg("-cp").arg(folder).arg(class);
        command
    }
}

/// All classes of a folder, those of packages in its folders included.
pub fn classes(folder: &Path) -> Result<Vec<Class>, Error> {
    let mut found = Vec::new();
    collect(folder, "", &mut found).map_err(Error::io("the compiled classes"))?;
    Ok(found)
}

fn collect(folder: &Path, package: &str, found: &mut Vec<Class>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(stem) = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()) else { continue };
        if path.is_dir() {
            collect(&path, &format!("{package}{stem}."), found)?;
        } else if path.extension().is_some_and(|ending| ending == "class") {
            found.push(Class { name: format!("{package}{stem}"), code: std::fs::read(&path)? });
        }
    }
    Ok(())
}
