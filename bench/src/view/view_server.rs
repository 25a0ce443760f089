//! A running `sintonia view`, asked through its socket as a browser asks it: one connection that stays, answers packed.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;
use crate::paths;

/// While something is worked on, the page asks again after as long.
const AGAIN: Duration = Duration::from_millis(20);

/// The command, and a connection to it.
pub(super) struct ViewServer {
    command: Child,
    stream: BufReader<TcpStream>,
    address: ServerAddress,
}

/// Where it says it is.
#[derive(Deserialize)]
struct ServerAddress {
    address: String,
    port: u16,
    token: String,
}

/// What came back.
pub(super) struct TimedAnswer {
    status: u16,
    packed: Vec<u8>,
    /// From the question to the last byte of the answer.
    pub seconds: f64,
}

impl ViewServer {
    /// Starts it on a recording.
    pub(super) fn start(recording: &Path) -> Result<ViewServer, Error> {
        let mut command = Command::new(paths::sintonia()?);
        command.arg("view").arg(recording).arg("--json").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut command = command.spawn().map_err(failed)?;
        match connect(&mut command) {
            Ok((address, stream)) => Ok(ViewServer { command, stream, address }),
            Err(error) => {
                let _ = command.kill();
                Err(failed(error))
            }
        }
    }

    /// The page's address.
    pub(super) fn address(&self) -> &str {
        &self.address.address
    }

    /// Asks until there is an answer; `None` if there will be none.
    pub(super) fn ask(&mut self, question: &str) -> Result<Option<TimedAnswer>, Error> {
        loop {
            let said = self.once(question).map_err(failed)?;
            match said.status {
                200 => return Ok(Some(said)),
                202 => std::thread::sleep(AGAIN),
                404 => return Ok(None),
                status => return Err(failed(format!("{question}: status {status}"))),
            }
        }
    }

    fn once(&mut self, question: &str) -> io::Result<TimedAnswer> {
        let since = Instant::now();
        let ServerAddress { port, token, .. } = &self.address;
        let headers = format!("Host: 127.0.0.1:{port}\r\nX-Sintonia-Token: {token}\r\nAccept-Encoding: gzip\r\n");
        self.stream.get_mut().write_all(format!("GET /api/0/{question} HTTP/1.1\r\n{headers}\r\n").as_bytes())?;
        let status = line(&mut self.stream)?.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut length = None;
        loop {
            let header = line(&mut self.stream)?.to_ascii_lowercase();
            match header.split_once(':') {
                Some(("content-length", number)) => length = number.trim().parse().ok(),
                Some(_) => (),
                None => break,
            }
        }
        let (Some(status), Some(length)) = (status, length) else { return Err(io::Error::other("no status or no length")) };
        let mut packed = vec![0; length];
        self.stream.read_exact(&mut packed)?;
        Ok(TimedAnswer { status, packed, seconds: since.elapsed().as_secs_f64() })
    }

    /// Processor time of the command so far, also of threads that have ended.
    pub(super) fn processor_s(&self) -> Result<f64, Error> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.command.id())).map_err(failed)?;
        // Counted from the name, which may have blanks in it: user and system time are the twelfth and the next.
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let ticks: Option<Vec<f64>> = after_name.split_whitespace().skip(11).take(2).map(|number| number.parse().ok()).collect();
        let ticks: f64 = ticks.ok_or_else(|| failed("no times"))?.iter().sum();
        Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
    }

    /// The most memory that the command had.
    pub(super) fn peak_bytes(&self) -> Result<u64, Error> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.command.id())).map_err(failed)?;
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
        Ok(1024 * kilobytes.ok_or_else(|| failed("no VmHWM"))?)
    }
}

impl Drop for ViewServer {
    fn drop(&mut self) {
        let _ = self.command.kill();
        let _ = self.command.wait();
    }
}

impl TimedAnswer {
    /// The header of a binary answer.
    pub(super) fn header(&self) -> Result<Value, Error> {
        let mut bytes = Vec::new();
        GzDecoder::new(&self.packed[..]).read_to_end(&mut bytes).map_err(failed)?;
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| failed("no header"))?;
        let header = rest.get(..u32::from_le_bytes(*length) as usize).ok_or_else(|| failed("half a header"))?;
        serde_json::from_slice(header).map_err(failed)
    }

    /// Bytes that went over the wire.
    pub(super) fn packed_bytes(&self) -> usize {
        self.packed.len()
    }
}

fn connect(command: &mut Child) -> io::Result<(ServerAddress, BufReader<TcpStream>)> {
    let output = command.stdout.as_mut().ok_or_else(|| io::Error::other("no output"))?;
    let address: ServerAddress = serde_json::from_str(&line(&mut BufReader::new(output))?)?;
    let stream = TcpStream::connect(("127.0.0.1", address.port))?;
    stream.set_nodelay(true)?;
    Ok((address, BufReader::new(stream)))
}

fn line(from: &mut impl io::BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(line)
}

/// An error of measuring it.
pub(super) fn failed(why: impl std::fmt::Display) -> Error {
    Error::Failed { command: "sintonia view".into(), why: why.to_string() }
}
