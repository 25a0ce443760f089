//! `sintonia view`: a recording in a browser.

pub mod about;
mod communication;
mod comparison;
mod drawing;
mod machine;
pub mod open;
mod placement;
mod program;
mod replay;
mod replayed;
mod report;
mod scaling;
mod slow;
mod source;
pub mod subject;
mod timeline;
mod tuning;
mod turn;
mod watched;

use std::io::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sintonia_machine::Machine;
use sintonia_model::model::Model;
use sintonia_placement::launcher::parse_hosts;
use sintonia_view::aside;
use sintonia_view::server::{Server, Token};
use tempfile::NamedTempFile;

use crate::{Error, help, output, text};
use open::Open;
use subject::Asked;

/// What `sintonia view` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia view hello.sin --open"))]
pub struct Arguments {
    /// The recording; several are compared
    #[arg(value_name = "NAME.sin", required = true)]
    recordings: Vec<PathBuf>,
    /// A machine: to show it, to replay runs on it, and to place ranks on it
    #[arg(short, long, value_name = "NAME.machine.toml")]
    machine: Option<PathBuf>,
    /// A model of the program, as `sintonia fit -o` writes it
    #[arg(long, value_name = "MODEL.toml")]
    model: Option<PathBuf>,
    /// Hosts to place ranks on, and how many each has room for: nodeA:4,nodeB:4
    #[arg(long, value_name = "NAME:SLOTS,...")]
    hosts: Option<String>,
    /// The port to listen on [default: any that is free]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// The address or name of this machine to listen on: others than 127.0.0.1 can be reached from elsewhere
    #[arg(long, value_name = "ADDRESS", default_value = LOOPBACK)]
    bind: String,
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    /// Say where it is as one JSON object
    #[arg(long)]
    json: bool,
}

const LOOPBACK: &str = "127.0.0.1";
/// The folder for all that is temporary begins so.
const WORKSHOP: &str = "sintonia-view-";

/// Serves the page until Ctrl-C.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let page = page()?;
    end_when_told()?;
    let _workshop = workshop();
    let open = open(&arguments)?;
    let (server, token) = bind(&arguments, page)?;
    let address = Address::of(&server, &token, &arguments);
    tell(&arguments, &open, &address)?;
    let _door = arguments.open.then(|| show(&address.local));
    let served = server.serve(&Asked(Arc::new(open)));
    aside::end();
    served.map_err(|error| Error::Other(format!("cannot listen any more: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Ends the command at a signal, whatever is being worked on, and leaves nothing half made.
fn end_when_told() -> Result<(), Error> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            aside::end();
            std::process::exit(0);
        }
    });
    Ok(())
}

/// A folder for all that is temporary, whoever makes it: with it, everything is removed. Where there can be none, whoever needs one says so.
fn workshop() -> Option<aside::Folder> {
    let folder = aside::Folder::new(WORKSHOP).ok()?;
    // Nobody was asked before for the place where temporary things are made.
    let _ = tempfile::env::override_temp_dir(folder.path());
    Some(folder)
}

/// The page, if it was built in.
pub fn page() -> Result<&'static str, Error> {
    let missing = || Error::Other("this command was built without the page: build it with `make`, which needs npm".into());
    sintonia_view::page().ok_or_else(missing)
}

fn open(arguments: &Arguments) -> Result<Open, Error> {
    let other = |error: &dyn std::fmt::Display| Error::Other(error.to_string());
    let mut open = Open::recordings(&arguments.recordings)?;
    open.machine = arguments.machine.as_deref().map(Machine::read).transpose().map_err(|error| other(&error))?;
    open.model = arguments.model.as_deref().map(Model::read).transpose().map_err(|error| other(&error))?;
    open.hosts = arguments.hosts.as_deref().map(parse_hosts).transpose().map_err(|error| other(&error))?;
    Ok(open)
}

fn bind(arguments: &Arguments, page: &str) -> Result<(Server, Token), Error> {
    let token = Token::new().map_err(|error| Error::Other(format!("there is no randomness for a token: {error}")))?;
    let name = arguments.bind.trim_matches(['[', ']']);
    let server = Server::bind(name, arguments.port, &[host_name()], token.clone(), page);
    let port = if arguments.port > 0 { format!(" port {}", arguments.port) } else { String::new() };
    let cannot = |error| Error::Other(format!("cannot listen on {}{port}: {error}", arguments.bind));
    Ok((server.map_err(cannot)?, token))
}

/// Where the page is.
struct Address {
    /// For a browser on this machine, or at the other end of a tunnel.
    local: String,
    /// For a browser elsewhere, if it can be reached from there.
    elsewhere: Option<String>,
    /// What a tunnel leads to.
    host: String,
    port: u16,
    token: String,
}

impl Address {
    fn of(server: &Server, token: &Token, arguments: &Arguments) -> Address {
        let (bound, port) = (server.address().ip(), server.address().port());
        let at = |name: &str| format!("http://{name}:{port}/?token={token}");
        let named = |address: IpAddr| if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
        let host = if bound.is_unspecified() { LOOPBACK.to_owned() } else { named(bound) };
        let told = || arguments.bind.parse().map_or_else(|_| arguments.bind.clone(), named);
        let name = if bound.is_unspecified() { host_name() } else { told() };
        let elsewhere = (!bound.is_loopback()).then(|| at(&name));
        Address { local: at(&host), elsewhere, host, port, token: token.to_string() }
    }
}

fn tell(arguments: &Arguments, open: &Open, address: &Address) -> Result<(), Error> {
    if address.elsewhere.is_some() {
        eprintln!(
            "sintonia: {} can be reached from other machines: whoever sees the address can read these recordings, and the source files \
             that they name, for as long as this runs; what is sent is not encrypted",
            arguments.bind
        );
    }
    output::to_stdout(|out| {
        if arguments.json {
            return output::json_line(out, &json!({"address": address.local, "port": address.port, "token": address.token}));
        }
        let names: Vec<String> = open.recordings.iter().map(|opened| opened.path.display().to_string()).collect();
        let tunnel = || format!("ssh -L {0}:{1}:{0} {2}, and the same address there", address.port, address.host, host_name());
        let verb = if names.len() == 1 { "is" } else { "are" };
        writeln!(out, "{} {verb} at {}", text::head(&names.join(", "), 100), address.local)?;
        writeln!(out, "from another computer: {}", address.elsewhere.clone().unwrap_or_else(tunnel))?;
        writeln!(out, "Ctrl-C ends it")
    })
}

/// Opens an address in the browser; where that cannot be done, the address is on the screen.
///
/// The browser gets a file that leads there, to be kept until it has: others can read a command line, and the token would be on it.
fn show(address: &str) -> Option<NamedTempFile> {
    let told = |error: &dyn std::fmt::Display| eprintln!("sintonia: cannot open a browser ({error}); open the address yourself");
    let door = tempfile::Builder::new().prefix("sintonia-").suffix(".html").tempfile();
    let written = door.and_then(|mut door| {
        write!(door, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">Sintonia</a>")?;
        Ok(door)
    });
    let door = written.map_err(|error| told(&error)).ok()?;
    let quiet = |command: &mut Command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match quiet(Command::new("xdg-open").arg(door.path())) {
        // It ends when it has handed the address on; somebody has to notice that.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => told(&format!("xdg-open: {error}")),
    }
    Some(door)
}

/// What this machine is called.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
