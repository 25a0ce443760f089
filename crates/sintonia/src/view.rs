//! `sintonia view`: shows a recording in a browser.

use std::io::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sintonia_machine::Machine;
use sintonia_model::model::PerformanceModel;
use sintonia_placement::launcher::parse_hosts;
use sintonia_view::server::{AccessToken, PageServer};
use sintonia_view::session::ViewSession;
use sintonia_view::{QuestionHandler, temp_files};
use tempfile::NamedTempFile;

use crate::{Error, help, output, text};

/// Arguments of `sintonia view`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia view hello.sin --open"))]
pub(crate) struct ViewArgs {
    /// Recording; several are compared
    #[arg(value_name = "NAME.sin", required = true)]
    recordings: Vec<PathBuf>,
    /// Machine to show, to replay on, and to place ranks on
    #[arg(short, long, value_name = "NAME.machine.toml")]
    machine: Option<PathBuf>,
    /// Model of the program, from `sintonia fit -o`
    #[arg(long, value_name = "MODEL.toml")]
    model: Option<PathBuf>,
    /// Hosts to place ranks on, with their number of slots: nodeA:4,nodeB:4
    #[arg(long, value_name = "NAME:SLOTS,...")]
    hosts: Option<String>,
    /// Port to listen on [default: any free port]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Use the same token at every start, so that links remain valid; requires --port
    #[arg(long, requires = "port")]
    keep_token: bool,
    /// Address or host name to listen on; other machines can reach any but 127.0.0.1
    #[arg(long, value_name = "ADDRESS", default_value = LOOPBACK)]
    bind: String,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Print the address as JSON
    #[arg(long)]
    json: bool,
}

const LOOPBACK: &str = "127.0.0.1";
/// Prefix of the temporary folder.
const TEMP_PREFIX: &str = "sintonia-view-";

/// Runs `sintonia view` until Ctrl-C.
pub(crate) fn run(args: ViewArgs) -> Result<ExitCode, Error> {
    let page = page()?;
    exit_on_signal()?;
    let _workshop = temporary_folder();
    let open = open_session(&args)?;
    let (server, token) = bind(&args, page)?;
    let address = PageAddress::new(&server, &token, &args);
    print_address(&args, &open, &address)?;
    let _redirect = args.open.then(|| open_browser(&address.local));
    let served = server.serve(&QuestionHandler(Arc::new(open)));
    temp_files::remove_all();
    served.map_err(|error| Error::Other(format!("the server failed: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Exits on a signal, whatever is running, and removes temporary files.
fn exit_on_signal() -> Result<(), Error> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            temp_files::remove_all();
            std::process::exit(0);
        }
    });
    Ok(())
}

/// A folder for all temporary files, removed as a whole. If it cannot be created, the first user of a temporary file reports it.
fn temporary_folder() -> Option<temp_files::LockedTempDir> {
    let folder = temp_files::LockedTempDir::new(TEMP_PREFIX).ok()?;
    // No temporary file has been created yet.
    let _ = tempfile::env::override_temp_dir(folder.path());
    Some(folder)
}

/// The page, if it was built in.
pub(crate) fn page() -> Result<&'static str, Error> {
    let missing = || Error::Other("this command was built without the page: build it with `make`, which requires npm".into());
    sintonia_view::page().ok_or_else(missing)
}

fn open_session(args: &ViewArgs) -> Result<ViewSession, Error> {
    let other = |error: &dyn std::fmt::Display| Error::Other(error.to_string());
    let mut open = ViewSession::open(&args.recordings)?;
    open.machine = args.machine.as_deref().map(Machine::read).transpose().map_err(|error| other(&error))?;
    open.model = args.model.as_deref().map(PerformanceModel::read).transpose().map_err(|error| other(&error))?;
    open.hosts = args.hosts.as_deref().map(parse_hosts).transpose().map_err(|error| other(&error))?;
    Ok(open)
}

fn bind(args: &ViewArgs, page: &str) -> Result<(PageServer, AccessToken), Error> {
    let token = if args.keep_token { kept_token()? } else { AccessToken::new().map_err(|error| cannot_create(&error))? };
    let name = args.bind.trim_matches(['[', ']']);
    let server = PageServer::bind(name, args.port, &[host_name()], token.clone(), page);
    let port = if args.port > 0 { format!(" port {}", args.port) } else { String::new() };
    let cannot = |error| Error::Other(format!("cannot listen on {}{port}: {error}", args.bind));
    Ok((server.map_err(cannot)?, token))
}

/// The token of this user, in `$XDG_STATE_HOME/sintonia/view.token`.
fn kept_token() -> Result<AccessToken, Error> {
    let xdg_state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = xdg_state.or_else(|| Some(std::env::home_dir()?.join(".local/state")));
    let folder = folder.ok_or_else(|| Error::Other("--keep-token: there is no home directory to keep the token in".into()))?;
    let file = folder.join("sintonia/view.token");
    AccessToken::kept(&file).map_err(|error| Error::Other(format!("{}: {error}", file.display())))
}

fn cannot_create(error: &std::io::Error) -> Error {
    Error::Other(format!("cannot create a random token: {error}"))
}

/// The addresses of the page.
struct PageAddress {
    /// For a browser on this machine, or at the other end of a tunnel.
    local: String,
    /// For a browser elsewhere, if it can be reached from there.
    elsewhere: Option<String>,
    /// The target of a tunnel.
    host: String,
    port: u16,
    token: String,
}

impl PageAddress {
    fn new(server: &PageServer, token: &AccessToken, args: &ViewArgs) -> PageAddress {
        let (bound, port) = (server.address().ip(), server.address().port());
        let at = |name: &str| format!("http://{name}:{port}/?token={token}");
        let named = |address: IpAddr| if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
        let host = if bound.is_unspecified() { LOOPBACK.to_owned() } else { named(bound) };
        let given = || args.bind.parse().map_or_else(|_| args.bind.clone(), named);
        let name = if bound.is_unspecified() { host_name() } else { given() };
        let elsewhere = (!bound.is_loopback()).then(|| at(&name));
        PageAddress { local: at(&host), elsewhere, host, port, token: token.to_string() }
    }
}

fn print_address(args: &ViewArgs, open: &ViewSession, address: &PageAddress) -> Result<(), Error> {
    if address.elsewhere.is_some() {
        eprintln!(
            "sintonia: {} is reachable from other machines: anyone with the address can read these recordings and the source files \
             they refer to while this runs; the connection is not encrypted",
            args.bind
        );
    }
    output::write_stdout(|out| {
        if args.json {
            return output::write_json_line(out, &json!({"address": address.local, "port": address.port, "token": address.token}));
        }
        let names: Vec<String> = open.recordings.iter().map(|opened| opened.path.display().to_string()).collect();
        let tunnel = || format!("ssh -L {0}:{1}:{0} {2}, and the same address there", address.port, address.host, host_name());
        let verb = if names.len() == 1 { "is" } else { "are" };
        writeln!(out, "{} {verb} at {}", text::truncate_end(&names.join(", "), 100), address.local)?;
        writeln!(out, "from another computer: {}", address.elsewhere.clone().unwrap_or_else(tunnel))?;
        writeln!(out, "Press Ctrl-C to stop")
    })
}

/// Opens an address in the browser; if that fails, the address is on the terminal.
///
/// The browser gets a file that redirects there, kept until exit: command lines are public, and the address contains the token.
fn open_browser(address: &str) -> Option<NamedTempFile> {
    let report = |error: &dyn std::fmt::Display| eprintln!("sintonia: cannot open a browser ({error}); open the address yourself");
    let redirect = tempfile::Builder::new().prefix("sintonia-").suffix(".html").tempfile();
    let written = redirect.and_then(|mut redirect| {
        write!(redirect, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">Sintonia</a>")?;
        Ok(redirect)
    });
    let redirect = written.map_err(|error| report(&error)).ok()?;
    let quiet = |command: &mut Command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match quiet(Command::new("xdg-open").arg(redirect.path())) {
        // Reap the process when it ends.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => report(&format!("xdg-open: {error}")),
    }
    Some(redirect)
}

/// The name of this host.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
