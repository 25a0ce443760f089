//! A placement as a file for a launcher, and the command line to use it with.

use std::path::{Path, PathBuf};

use sintonia_placement::launcher::{Command, Cores, Form, Launch, Launcher};
use sintonia_recording::header::Header;

use super::finding::Found;
use super::room::Room;
use super::subject::Subject;
use super::{Arguments, Bind};
use crate::{Error, output, text};

/// What was written, and what to do with it.
#[derive(Default)]
pub struct Written {
    /// The file.
    pub path: Option<PathBuf>,
    /// The command to run with it.
    pub command: Option<Vec<String>>,
    /// Variables for it.
    pub environment: Vec<(String, String)>,
    /// All of it in words.
    lines: Vec<String>,
}

impl Written {
    /// Nothing was written, since it would be of no use.
    pub fn none(arguments: &Arguments) -> Written {
        let line = |path: &PathBuf| format!("{} is not written; --force writes it all the same.", path.display());
        Written { lines: arguments.output.iter().map(line).collect(), ..Written::default() }
    }

    /// What is shown of it.
    pub fn lines(&self) -> Vec<String> {
        self.lines.clone()
    }
}

/// The form of that name.
pub fn form(name: &str) -> Result<Form, String> {
    let known = || Launcher::ALL.map(Launcher::name).into_iter().chain(["table", "json"]).collect::<Vec<_>>().join(", ");
    Form::named(name).ok_or_else(|| format!("what it can be: {}", known()))
}

/// Writes the placement where it should be written, if it is of use.
pub fn write(arguments: &Arguments, subject: &Subject, room: &Room, found: &Found) -> Result<Written, Error> {
    let form = arguments.launcher.unwrap_or_else(|| usual(subject));
    let is_wanted = found.useless.is_none() || arguments.force;
    let Some(path) = &arguments.output else {
        let lines = if is_wanted { offer(form) } else { Vec::new() };
        return Ok(Written { lines, ..Written::default() });
    };
    if !is_wanted {
        return Ok(Written::none(arguments));
    }
    let launch = launch(form, arguments.bind.unwrap_or(Bind::Cores), room, found)?;
    let text = launch.text_as(form).map_err(refused)?;
    output::to_file(path, |out| out.write_all(text.as_bytes()))?;
    let mut written = told(path, form, &launch, subject);
    if launch.binds() && room.machine.is_none() && matches!(form, Form::Launcher(_)) {
        written.lines.push("Slots are taken to be cores; --bind hosts is for hosts that have fewer cores than slots.".into());
    }
    Ok(written)
}

/// The launcher of a recording, else a table.
pub fn usual(subject: &Subject) -> Form {
    let header = subject.recording.as_ref().map(|recording| &recording.header);
    header.and_then(|header| Launcher::of(&header.command, &header.mpi.library)).map_or(Form::Table, Form::Launcher)
}

/// The placement for a launcher; an error where it would not know the hosts.
pub fn launch<'a>(form: Form, bind: Bind, room: &'a Room, found: &'a Found) -> Result<Launch<'a>, Error> {
    let launcher = match form {
        Form::Launcher(_) if !room.is_named => {
            return Err(Error::Other(
                "the machine file does not say what its nodes are called, so a launcher would not find them: add `hosts = [\"…\"]` to [[node]], \
                 or name them with --hosts NAME:SLOTS,…; --launcher table writes them by number"
                    .into(),
            ));
        }
        Form::Launcher(launcher) => launcher,
        Form::Table | Form::Json => Launcher::OpenMpi4,
    };
    let cores = match bind {
        Bind::Cores => Cores::Bound,
        Bind::Hosts => Cores::Free,
    };
    Ok(Launch { launcher, cores, placement: &found.placed.placement, cluster: &room.cluster })
}

/// What a launcher cannot be told.
pub fn refused(error: sintonia_placement::launcher::Error) -> Error {
    Error::Other(error.to_string())
}

/// How to get a file.
fn offer(form: Form) -> Vec<String> {
    let what = match form {
        Form::Launcher(launcher) => format!("for {}", launcher.name()),
        Form::Table => "as a table; --launcher openmpi4, openmpi5, mpich, intel, slurm or cray for one of these".into(),
        Form::Json => "as JSON".into(),
    };
    vec![format!("-o FILE writes it {what}.")]
}

/// What is said of a file that was written: the command to use it with.
pub fn told(path: &Path, form: Form, launch: &Launch, subject: &Subject) -> Written {
    let mut written = Written { path: Some(path.to_owned()), lines: vec![format!("{} is written.", path.display())], ..Written::default() };
    let Form::Launcher(launcher) = form else { return written };
    let header = subject.recording.as_ref().map(|recording| &recording.header);
    let is_its_own = |header: &&Header| match Launcher::of(&header.command, &header.mpi.library) {
        Some(own) => own == launcher || launcher == Launcher::Cray,
        None => false,
    };
    let original = header.filter(is_its_own).map(|header| header.command.clone());
    // Without a recorded command for it, the reader puts the program in.
    let original = original.unwrap_or_else(|| [launcher.word(), "PROGRAM"].map(str::to_owned).to_vec());
    if launch.cores == Cores::Bound && !launch.binds() {
        written.lines.push(format!("{} cannot be told these cores, so it is told the hosts alone.", launcher.name()));
    }
    match launch.command(&original, path) {
        Ok(command) => written.tell(&command, subject),
        Err(error) => written.lines.push(error.to_string()),
    }
    written
}

impl Written {
    fn tell(&mut self, command: &Command, subject: &Subject) {
        self.lines.push("Run it with".into());
        self.lines.push(format!("  {command}"));
        self.lines.extend(command.removed.iter().map(|removed| format!("  without {removed}")));
        if let Some(path) = &subject.path {
            self.lines.push("and see the difference with".into());
            self.lines.extend(difference(&path.display().to_string(), command).map(|line| format!("  {line}")));
        }
        self.command = Some(command.words.clone());
        self.environment.clone_from(&command.environment);
    }
}

/// The commands that show what a placement has changed against a recording.
fn difference(name: &str, command: &Command) -> [String; 2] {
    let placed = format!("{}-placed.sin", name.trim_end_matches('/').trim_end_matches(".sin"));
    let typed = |words: &[&str]| text::command(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
    let variable = |(variable, value): &(String, String)| format!("{variable}={} ", typed(&[value]));
    let variables: String = command.environment.iter().map(variable).collect();
    let record = typed(&["sintonia", "record", "-o", &placed, "--"]);
    [format!("{variables}{record} {}", text::command(&command.words)), typed(&["sintonia", "report", name, &placed])]
}
