//! Attaching on other hosts: the launcher's remote shell starts `sintonia collect --attach` there, which attaches to the processes of the
//! program and becomes a node of the tree of hosts.
//!
//! Its settings come through standard input, because the secret must not be in a command line. It answers with one line, and ends with the
//! connection to the command: then everything there is as before.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sintonia_link::host_name;
use sintonia_link::session::SharedSecret;
use sintonia_tune::collector::ProcessCollector;
use sintonia_tune::host_daemon;
use sintonia_tune::tree::{HostListener, HostTree, ParentHost};

use super::launcher::{LauncherHosts, command_line, has_mark};
use super::targets::{HostAttachment, attach_all, targets_among};
use crate::tune::socket_folder;
use crate::{Error, output};

/// Time for a host to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for a host to end.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// Parameters of the command that is started on another host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RemoteSettings {
    /// The shared secret.
    pub secret: String,
    /// Addresses of the command.
    pub parents: Vec<String>,
    /// Most children of a node of the tree.
    pub fan_out: usize,
    /// What identifies the daemons of the launcher.
    pub job_marks: Vec<String>,
}

/// The agents on other hosts.
#[derive(Default)]
pub(super) struct RemoteAgents {
    agents: Vec<Child>,
}

impl RemoteAgents {
    /// Starts an agent on every host at once, and waits for the answers.
    pub(super) fn start(&mut self, launcher: &LauncherHosts, settings: &RemoteSettings) -> HostAttachment {
        let (sender, answers) = mpsc::channel();
        let mut attachment = HostAttachment::default();
        let mut pending = launcher.hosts.clone();
        for host in &launcher.hosts {
            match start_agent(&launcher.agent, host, settings) {
                Ok(mut agent) => {
                    let (sender, host) = (sender.clone(), host.clone());
                    let (out, complaints) = (agent.stdout.take(), agent.stderr.take());
                    std::thread::spawn(move || sender.send((host, read_answer(out, complaints))));
                    self.agents.push(agent);
                }
                Err(problem) => {
                    pending.retain(|other| other != host);
                    attachment.problems.push(format!("host {host}: `{}` cannot be run: {problem}", launcher.agent.join(" ")));
                }
            }
        }
        let end = Instant::now() + ANSWER_TIMEOUT;
        while !pending.is_empty() {
            let Ok((host, answer)) = answers.recv_timeout(end.saturating_duration_since(Instant::now())) else { break };
            pending.retain(|other| *other != host);
            match answer {
                Ok(answer) => {
                    attachment.attached.extend(answer.attached);
                    attachment.problems.extend(answer.problems.into_iter().map(|problem| format!("host {host}: {problem}")));
                }
                Err(why) => attachment.problems.push(format!("host {host} is not tuned: {why}")),
            }
        }
        let silent = |host: &String| format!("host {host} is not tuned: it did not answer within {} s", ANSWER_TIMEOUT.as_secs());
        attachment.problems.extend(pending.iter().map(silent));
        attachment
    }

    /// Whether an agent still runs.
    pub(super) fn are_running(&mut self) -> bool {
        self.agents.iter_mut().any(|agent| matches!(agent.try_wait(), Ok(None)))
    }
}

/// The agents end with the connection; a remote shell that does not is ended.
impl Drop for RemoteAgents {
    fn drop(&mut self) {
        let end = Instant::now() + END_TIMEOUT;
        while self.are_running() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        for agent in &mut self.agents {
            let _ = agent.kill();
            let _ = agent.wait();
        }
    }
}

fn start_agent(shell: &[String], host: &str, settings: &RemoteSettings) -> std::io::Result<Child> {
    let own = std::env::current_exe()?.display().to_string();
    let quoted = format!("'{}' collect --attach", own.replace('\'', "'\\''"));
    let (program, options) = shell.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(options).args([host, &quoted]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut agent = command.spawn()?;
    let settings = serde_json::to_string(settings).map_err(std::io::Error::other)?;
    // Standard input stays open: some remote shells end with it.
    if let Some(input) = &mut agent.stdin {
        let _ = writeln!(input, "{settings}");
    }
    Ok(agent)
}

/// The answer of an agent, or what it complained about.
fn read_answer(out: Option<impl Read>, complaints: Option<impl Read>) -> Result<HostAttachment, String> {
    let lines = out.map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok);
    // A login script may print something before it.
    let mut answers = lines.filter_map(|line| serde_json::from_str(&line).ok());
    answers.next().ok_or_else(|| {
        let mut text = String::new();
        let _ = complaints.map(|mut from| from.read_to_string(&mut text));
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("the remote shell ended without an answer");
        last.trim_start_matches("sintonia: ").to_owned()
    })
}

/// Runs on another host: attaches to the processes of the program, and collects from them until the command ends.
pub(crate) fn serve() -> Result<ExitCode, Error> {
    let failed = |what: &'static str| move |error: std::io::Error| Error::Other(format!("cannot {what}: {error}"));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(failed("read the settings"))?;
    let malformed = || Error::Other("the settings are malformed: `collect --attach` is only started by `sintonia tune --attach`".into());
    let settings: RemoteSettings = serde_json::from_str(&line).map_err(|_| malformed())?;
    let secret = SharedSecret::from_hex(&settings.secret).ok_or_else(malformed)?;
    let targets = targets_among(&job_processes(&settings.job_marks))?;
    if targets.is_empty() {
        return Err(Error::Other("no process of the program was found there".into()));
    }
    let folder: PathBuf = socket_folder();
    let collector = ProcessCollector::open(&folder, &secret).map_err(failed("listen for the program's processes"))?;
    let listener = HostListener::bind(&secret, settings.fan_out).map_err(failed("listen for other hosts"))?;
    let parent = ParentHost::connect(&settings.parents, &secret, &listener.hello(host_name()))
        .map_err(|error| Error::Other(format!("cannot reach the command: {error}")))?;
    let tree = HostTree::new(collector, Some(listener), parent.begin_ns());
    let attached = std::thread::spawn(move || {
        let attachment = attach_all(&targets, &folder, &secret);
        let attachment = attachment.unwrap_or_else(|why| HostAttachment { problems: vec![why.to_string()], ..HostAttachment::default() });
        let _ = output::write_json_line(&mut std::io::stdout(), &attachment);
    });
    host_daemon::serve(tree, parent);
    let _ = attached.join();
    Ok(ExitCode::SUCCESS)
}

/// The descendants of the daemons that a launcher started on this host.
fn job_processes(marks: &[String]) -> Vec<u32> {
    let own = std::process::id();
    let here = sintonia_inject::network_namespace(own);
    let mut processes: Vec<u32> = Vec::new();
    for daemon in sintonia_inject::all_processes() {
        if daemon != own && has_mark(&command_line(daemon), marks) {
            processes.extend(sintonia_inject::process_tree(daemon).unwrap_or_default());
        }
    }
    processes.sort_unstable();
    processes.dedup();
    processes.retain(|process| sintonia_inject::network_namespace(*process) == here);
    processes
}
