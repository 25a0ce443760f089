//! `sintonia view` while it serves, and the file of `report --html`: asked as a script would ask them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Outcome, Process, fresh_dir, sintonia};

/// A command that serves recordings, until it goes out of sight.
pub struct Served {
    child: Child,
    /// What it is reached by, as it was printed.
    pub address: String,
    /// The port it listens on.
    pub port: u16,
    /// The token of its address.
    pub token: String,
    folder: tempfile::TempDir,
}

impl Served {
    /// Serves recordings.
    pub fn start(recordings: &[&Path]) -> Served {
        Served::start_with(recordings, &[])
    }

    /// Serves recordings, with more on the command line.
    pub fn start_with(recordings: &[&Path], options: &[&str]) -> Served {
        Served::start_command(&view(recordings, options), &[])
    }

    /// Runs a command that serves, with more variables.
    pub fn start_command(words: &[String], env: &[(&str, &str)]) -> Served {
        let folder = fresh_dir();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(env.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(File::create(folder.path().join("stderr")).expect("a file"));
        let mut child = command.spawn().expect("sintonia view");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("its output")).read_line(&mut line).expect("where it is");
        let stderr = std::fs::read_to_string(folder.path().join("stderr")).unwrap_or_default();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}{stderr}"));
        let port = started["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        let text = |name: &str| started[name].as_str().unwrap_or_else(|| panic!("no {name}: {line}")).to_owned();
        Served { child, address: text("address"), port, token: text("token"), folder }
    }

    /// What it wrote to standard error.
    pub fn messages(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).expect("its standard error")
    }

    /// The host of its address, and the port.
    pub fn authority(&self) -> &str {
        let after = self.address.strip_prefix("http://").unwrap_or_else(|| panic!("no address: {}", self.address));
        after.split('/').next().unwrap_or(after)
    }

    /// Everything that comes back for these bytes.
    pub fn sent(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.authority()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        stream.write_all(bytes.as_bytes()).expect("it takes a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status and the body of what is at a path.
    pub fn get(&self, path: &str, headers: &str) -> (u16, String) {
        self.get_as(self.authority(), path, headers)
    }

    /// The same, where the asker calls it by another name.
    pub fn get_as(&self, host: &str, path: &str, headers: &str) -> (u16, String) {
        let answer = self.sent(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no end of headers: {answer}"));
        (status(head), body.to_owned())
    }

    /// The header that its own page sends.
    pub fn own(&self) -> String {
        format!("X-Sintonia-Token: {}\r\n", self.token)
    }

    /// What comes back when it is asked once.
    pub fn once(&self, question: &str) -> (u16, String) {
        self.get(&format!("/api/{question}"), &self.own())
    }

    /// The answer to a question, when there is one.
    pub fn asked(&self, question: &str) -> (u16, String) {
        let since = Instant::now();
        loop {
            match self.once(question) {
                (202, _) => assert!(since.elapsed() < Duration::from_secs(60), "{question}: no answer within a minute"),
                answer => return answer,
            }
        }
    }

    /// The same, where it is JSON.
    pub fn json(&self, question: &str) -> Value {
        let (status, body) = self.asked(question);
        assert_eq!(status, 200, "{question}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{question}: {error}: {body}"))
    }

    /// The status and the reason where a question is refused.
    pub fn refused(&self, question: &str) -> (u16, String) {
        let (status, body) = self.asked(question);
        let refusal: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{question}: {error}: {body}"));
        (status, refusal["error"].as_str().unwrap_or_else(|| panic!("{question}: {body}")).to_owned())
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as Ctrl-C does; its exit status.
    pub fn interrupted(self) -> Option<i32> {
        self.signalled("INT")
    }

    /// Ends it with a signal; its exit status.
    pub fn signalled(mut self, signal: &str) -> Option<i32> {
        self.end(signal).unwrap_or_else(|| panic!("{signal} did not end it")).code()
    }

    fn end(&mut self, signal: &str) -> Option<ExitStatus> {
        let _ = Command::new("kill").args([&format!("-{signal}"), &self.process().to_string()]).status();
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Killed, it would leave its temporary folder behind.
        if matches!(self.child.try_wait(), Ok(None)) && self.end("TERM").is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            println!("sintonia view said: {}", self.messages());
        }
    }
}

/// The words of the command that serves recordings.
pub fn view(recordings: &[&Path], options: &[&str]) -> Vec<String> {
    let paths = recordings.iter().map(|path| path.display().to_string());
    let options = options.iter().map(ToString::to_string);
    [sintonia(), "view".into(), "--json".into()].into_iter().chain(paths).chain(options).collect()
}

/// The status of an answer.
pub fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no status: {head}"))
}

/// A file of `report --html`, and the answers that lie in it.
pub struct Html {
    /// All of it.
    pub text: String,
    /// The answers by question: `0/report`.
    pub answers: BTreeMap<String, Vec<u8>>,
    /// The run that wrote it.
    pub run: Outcome,
}

impl Html {
    /// The file about recordings, written in a folder.
    pub fn write(folder: &Path, recordings: &[&Path], options: &[&str]) -> Html {
        let paths = recordings.iter().map(|path| path.display().to_string());
        let options = options.iter().map(ToString::to_string);
        let command = [sintonia(), "report".into(), "--html".into(), "report.html".into()].into_iter().chain(paths).chain(options);
        let run = Process::new(command).limit(300).run_in(folder);
        Html::at(&folder.join("report.html"), run)
    }

    /// The file that a run wrote.
    pub fn at(file: &Path, run: Outcome) -> Html {
        run.expect_no_crash().expect_status(0);
        let text = std::fs::read_to_string(file).expect("the file is text");
        let mark = "<script type=\"application/octet-stream\" id=\"answers\">";
        let packed = text.split_once(mark).and_then(|(_, rest)| rest.split_once("</script>")).expect("answers").0;
        let answers = entries(&unpacked(packed));
        Html { text, answers, run }
    }

    /// The answer to a question, where it is JSON.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.answers[name]).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn unpacked(base64: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let six =
        |letter: u8| alphabet.iter().position(|one| *one == letter).unwrap_or_else(|| panic!("{letter} is no letter of Base64")) as u32;
    let letters: Vec<u32> = base64.bytes().filter(|letter| *letter != b'=').map(six).collect();
    let three = |group: &[u32]| {
        let number = group.iter().enumerate().fold(0, |number, (place, six)| number | six << (18 - 6 * place));
        number.to_be_bytes()[1..group.len()].to_vec()
    };
    let packed: Vec<u8> = letters.chunks(4).flat_map(three).collect();
    let mut all = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut all).expect("a gzip");
    all
}

fn entries(mut bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut piece = || {
        let (length, rest) = bytes.split_first_chunk()?;
        let (piece, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        bytes = rest;
        Some(piece.to_vec())
    };
    let mut entries = BTreeMap::new();
    while let (Some(name), Some(answer)) = (piece(), piece()) {
        entries.insert(String::from_utf8(name).expect("a name"), answer);
    }
    entries
}
