//! `sintonia view` and `report --html`: who gets an answer and who does not, and that answers are those of the other verbs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sintonia_tests::{Mpi, Process, Program, Recording, fresh_dir, record, sintonia};

fn mpi() -> &'static Mpi {
    &Mpi::available()[0]
}

fn recorded(name: &str, options: &[&str]) -> Recording {
    Recording::of(mpi(), &Program::named(name), options)
}

/// A command that serves recordings, until it goes out of sight.
struct Served {
    child: Child,
    port: u16,
    token: String,
}

impl Served {
    fn of(recordings: &[&Path]) -> Served {
        let mut command = Command::new(sintonia());
        command.arg("view").args(recordings).arg("--json").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("sintonia view");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("its output")).read_line(&mut line).expect("where it is");
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let port = told["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        let token = told["token"].as_str().expect("a token").to_owned();
        assert_eq!(told["address"], format!("http://127.0.0.1:{port}/?token={token}"));
        Served { child, port, token }
    }

    /// Everything that comes back for these bytes.
    fn sent(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        stream.write_all(bytes.as_bytes()).expect("it takes a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String) {
        let answer = self.sent(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n{headers}\r\n", self.port));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no end of headers: {answer}"));
        (status(head), body.to_owned())
    }

    fn own(&self) -> String {
        format!("X-Sintonia-Token: {}\r\n", self.token)
    }

    /// The answer to a question, when there is one.
    fn asked(&self, question: &str) -> (u16, String) {
        let since = Instant::now();
        loop {
            match self.get(&format!("/api/{question}"), &self.own()) {
                (202, _) => assert!(since.elapsed() < Duration::from_secs(60), "{question}: no answer within a minute"),
                answer => return answer,
            }
        }
    }

    fn json(&self, question: &str) -> Value {
        let (status, body) = self.asked(question);
        assert_eq!(status, 200, "{question}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{question}: {error}: {body}"))
    }

    fn refused(&self, question: &str) -> (u16, String) {
        let (status, body) = self.asked(question);
        let told: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{question}: {error}: {body}"));
        (status, told["error"].as_str().unwrap_or_else(|| panic!("{question}: {body}")).to_owned())
    }

    /// Ends it as Ctrl-C does; its exit status.
    fn interrupted(mut self) -> Option<i32> {
        let killed = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().expect("kill");
        assert!(killed.success());
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("Ctrl-C did not end it");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no status: {head}"))
}

// ---- who gets an answer

#[test]
fn whoever_has_the_token_gets_the_page_and_answers() {
    let recording = recorded("c/001_send_modes", &[]);
    let served = Served::of(&[&recording.path]);
    let (status, page) = served.get(&format!("/?token={}", served.token), "");
    assert_eq!(status, 200);
    assert!(page.starts_with("<!doctype html>") && page.contains("<div id=\"page\">"));
    assert!(!page.contains(&served.token), "the page does not hold the token: it can be kept, the token cannot");
    assert_eq!(served.json("0/about")["recordings"][0]["ranks"], 3);
    let origin = format!("Origin: http://127.0.0.1:{}\r\nSec-Fetch-Site: same-origin\r\n", served.port);
    assert_eq!(served.get("/api/0/about", &(served.own() + &origin)).0, 200);
}

#[test]
fn everybody_else_is_refused() {
    let recording = recorded("c/001_send_modes", &[]);
    let served = Served::of(&[&recording.path]);
    let (port, token, own) = (served.port, &served.token, served.own());
    let wrong = if token.starts_with('0') { token.replacen('0', "1", 1) } else { format!("0{}", &token[1..]) };
    let no_token = [("/", ""), ("/api/0/about", ""), (&format!("/?token={wrong}"), ""), (&format!("/api/0/about?token={token}"), "")];
    no_token.iter().for_each(|(path, headers)| assert_eq!(served.get(path, headers).0, 403, "{path}"));
    assert_eq!(served.get("/api/0/about", &format!("X-Sintonia-Token: {wrong}\r\n")).0, 403);
    for header in ["Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"] {
        assert_eq!(served.get("/api/0/about", &format!("{own}{header}\r\n")).0, 403, "{header}");
    }
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", "192.0.2.1"] {
        let answer = served.sent(&format!("GET /?token={token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        assert_eq!(status(&answer), 403, "{host}");
    }
    for path in ["/etc/passwd", "/../../../../etc/passwd", "/api/0/../../etc/passwd", "/api/0/about/..", "/api/1/about", "/api/0/nothing"] {
        assert_eq!(served.get(path, &own).0, 404, "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = served.sent(&format!("{method} /api/0/about HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{own}\r\n"));
        assert_eq!(status(&answer), 405, "{method}");
    }
    assert_eq!(served.get("/", &format!("X-Long: {}\r\n", "x".repeat(100_000))).0, 431);
    assert_eq!(status(&served.sent("hello\r\n\r\n")), 400);
    assert_eq!(served.json("0/about")["recordings"][0]["ranks"], 3, "and all that did it no harm");
}

#[test]
fn only_this_machine_can_reach_it_unless_it_is_told_otherwise() {
    let recording = recorded("c/001_send_modes", &[]);
    let served = Served::of(&[&recording.path]);
    let lines = std::fs::read_to_string("/proc/net/tcp").expect("what listens here");
    let port = format!(":{:04X} ", served.port);
    let bound: Vec<&str> =
        lines.lines().filter_map(|line| line.split_whitespace().nth(1)).filter(|end| format!("{end} ").ends_with(&port)).collect();
    assert!(bound.iter().any(|end| end.starts_with("0100007F:")), "{bound:?}");
    assert!(bound.iter().all(|end| !end.starts_with("00000000:")), "{bound:?}");
}

#[test]
fn ctrl_c_ends_it() {
    let recording = recorded("c/001_send_modes", &[]);
    let served = Served::of(&[&recording.path]);
    assert_eq!(served.json("0/about")["recordings"][0]["ranks"], 3);
    // A connection that stays open is no reason to wait.
    let _silent = TcpStream::connect(("127.0.0.1", served.port)).expect("it listens");
    assert_eq!(served.interrupted(), Some(0));
}

#[test]
fn what_is_no_recording_is_said() {
    let folder = fresh_dir();
    std::fs::write(folder.path().join("notes.txt"), "nothing").expect("a file");
    std::fs::create_dir(folder.path().join("empty")).expect("a folder");
    for (name, told) in [("missing.sin", "missing.sin"), ("notes.txt", "it is a file"), ("empty", "recording.json")] {
        for arguments in [vec!["view", name], vec!["report", name, "--html", "out.html"]] {
            let outcome = Process::new(std::iter::once(sintonia()).chain(arguments.iter().map(ToString::to_string))).run_in(folder.path());
            outcome.expect_no_crash().expect_status(1);
            assert!(outcome.stderr.contains(told), "{}", outcome.text());
        }
    }
    assert!(!folder.path().join("out.html").exists());
}

// ---- what the answers are

#[test]
fn answers_are_what_the_verbs_show() {
    let (grid, farm) = (recorded("c/191_grid", &[]), recorded("c/192_farm", &[]));
    let served = Served::of(&[&grid.path, &farm.path]);
    for (number, recording) in [&grid, &farm].into_iter().enumerate() {
        assert_eq!(served.json(&format!("{number}/report")), recording.report());
        let graph = recording.sintonia("graph", &["--program", "--json"]);
        let graph: Value = serde_json::from_str(&graph.stdout).expect("the program graph");
        assert_eq!(served.json(&format!("{number}/program")), graph);
    }
    let drawing = served.json("0/drawing")["svg"].as_str().expect("a drawing").to_owned();
    assert!(drawing.starts_with("<svg") && drawing.contains("MPI_"));
    assert_ne!(served.json("0/drawing?overview=1")["svg"], drawing.as_str());
    assert_eq!(served.refused("0/drawing?overview=yes").0, 400);
}

#[test]
fn the_matrix_has_the_sums_of_the_communication_graph() {
    let recording = recorded("c/191_grid", &[]);
    let graph = recording.sintonia("graph", &["--json"]);
    let graph: Value = serde_json::from_str(&graph.stdout).expect("the communication graph");
    let sum = |list: &Value, key: &str| list.as_array().expect("a list").iter().map(|one| one[key].as_u64().unwrap_or(0)).sum::<u64>();
    let expected = (sum(&graph["edges"], "bytes"), sum(&graph["edges"], "messages"));
    let served = Served::of(&[&recording.path]);
    let total =
        |answer: &Value, key: &str| answer[key].as_array().expect("a column").iter().map(|one| one.as_u64().unwrap_or(0)).sum::<u64>();
    for by in ["rank", "host", "role"] {
        let answer = served.json(&format!("0/communication?by={by}"));
        assert_eq!((total(&answer, "bytes"), total(&answer, "messages")), expected, "{by}");
        let lengths = ["from", "to", "bytes", "messages", "seconds"].map(|key| answer[key].as_array().map(Vec::len));
        assert!(lengths.iter().all(|length| *length == lengths[0] && length.is_some()), "{by}: {lengths:?}");
        assert_eq!(answer["labels"].as_array().map(Vec::len), answer["ranks"].as_array().map(Vec::len));
    }
    let few = served.json("0/communication?most=2");
    assert_eq!((few["labels"].as_array().map(Vec::len), total(&few, "bytes")), (Some(2), expected.0));
    assert_eq!(served.refused("0/communication?by=colour").0, 400);
}

#[test]
fn source_is_shown_of_call_sites_only() {
    let program = Program::named("c/001_send_modes");
    let recording = Recording::of(mpi(), &program, &[]);
    let served = Served::of(&[&recording.path]);
    let about = served.json("0/about");
    let sites = about["recordings"][0]["sites"].as_array().expect("sites");
    let is_own = |site: &&Value| site["file"].as_str().is_some_and(|file| file.ends_with("001_send_modes.c"));
    let number = sites.iter().position(|site| is_own(&site)).expect("a site in the program");
    let shown = served.json(&format!("0/source?site={number}"));
    let line = shown["line"].as_u64().expect("a line") as usize;
    let text = shown["lines"][line - shown["first"].as_u64().expect("the first") as usize].as_str().expect("its text");
    assert!(text.contains("MPI_"), "{text}");
    assert_eq!(served.refused(&format!("0/source?site={}", sites.len())).0, 404);
    assert_eq!(served.refused("0/source").0, 400);
    assert_eq!(served.refused("0/source?site=/etc/passwd").0, 400);
    assert_eq!(served.refused("0/source?file=/etc/passwd").0, 400);
}

#[test]
fn names_with_html_in_them_are_data() {
    let folder = fresh_dir();
    let name = "<script>alert(1)<!-- & \"quoted\"";
    let built = Program::named("c/005_self").build(mpi()).expect("a program");
    std::fs::copy(&built[0], folder.path().join(name)).expect("a copy with another name");
    let path = folder.path().join("run.sin");
    let launch = mpi().launch(1, &[format!("./{name}")]);
    Process::new(record(&path, &[], launch)).env(&mpi().env).run_in(folder.path()).expect_status(0);
    let served = Served::of(&[&path]);
    for subject in ["about", "report"] {
        let text = served.json(&format!("0/{subject}")).to_string();
        assert!(text.contains("<script>alert(1)<!-- & \\\"quoted\\\""), "{subject}: {text}");
    }
    let drawing = served.json("0/drawing")["svg"].as_str().expect("a drawing").to_owned();
    assert!(drawing.contains("&lt;script") && !drawing.contains("<script"), "{drawing}");
    let html = written(folder.path(), &[&path]);
    assert_eq!(html.text.matches("<script").count(), 2, "that of the page, and the answers");
    assert!(html.json("0/about").to_string().contains("<script>alert(1)"));
}

#[test]
fn a_run_that_was_cut_short_has_answers() {
    let recording = recorded("c/037_sigkill", &[]);
    let served = Served::of(&[&recording.path]);
    let incomplete = served.json("0/about")["recordings"][0]["incomplete"].clone();
    assert!(incomplete.as_array().is_some_and(|ranks| !ranks.is_empty()), "{incomplete}");
    assert_eq!(served.json("0/report"), recording.report());
    for subject in ["program", "communication", "timeline", "calls"] {
        assert_eq!(served.asked(&format!("0/{subject}")).0, 200, "{subject}");
    }
}

#[test]
fn files_that_were_cut_or_damaged_have_answers_or_say_why_not() {
    let recording = recorded("c/001_send_modes", &[]);
    let calls = recording.path.join("rank-00001.calls");
    let whole = std::fs::read(&calls).expect("the calls of a rank");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 0x55;
    for bytes in [&whole[..whole.len() / 2], &[], &damaged] {
        std::fs::write(&calls, bytes).expect("a damaged file");
        let served = Served::of(&[&recording.path]);
        for subject in ["report", "program", "drawing", "communication", "timeline", "calls", "replay"] {
            let (status, body) = served.asked(&format!("0/{subject}"));
            let must = !["drawing", "program", "replay"].contains(&subject);
            assert!(status == 200 || status == 404 && !must, "{subject}: {status} {body}");
        }
        assert_eq!(served.json("0/about")["recordings"][0]["incomplete"][0]["rank"], 1);
    }
}

#[test]
fn a_run_without_mpi_and_one_of_a_single_rank_are_shown() {
    let nothing = Recording::of(mpi(), &Program::named("c/027_no_mpi"), &[]);
    let alone = recorded("c/005_self", &[]);
    let served = Served::of(&[&nothing.path, &alone.path]);
    let about = served.json("0/about");
    assert_eq!((&about["recordings"][0]["calls"], &about["recordings"][1]["ranks"]), (&json!(0), &json!(1)));
    for number in 0..2 {
        for subject in ["report", "program", "communication", "timeline", "calls"] {
            let (status, body) = served.asked(&format!("{number}/{subject}"));
            assert!(matches!(status, 200 | 404), "{number}/{subject}: {status} {body}");
        }
    }
    assert_eq!(served.json("1/communication")["labels"], json!(["0"]));
}

#[test]
fn a_profile_says_what_it_cannot_tell() {
    let recording = recorded("c/001_send_modes", &["--profile"]);
    let served = Served::of(&[&recording.path]);
    assert_eq!(served.json("0/report")["profile"], true);
    assert_eq!(served.json("0/communication")["seconds"], Value::Null);
    for subject in ["timeline", "calls", "program", "drawing"] {
        let (status, why) = served.refused(&format!("0/{subject}"));
        assert_eq!(status, 404);
        assert!(why.contains("--profile"), "{subject}: {why}");
    }
    let subjects = served.json("0/about")["subjects"].to_string();
    assert!(subjects.contains("report") && !subjects.contains("timeline"), "{subjects}");
    assert_eq!(written(recording.folder(), &[&recording.path]).json("0/report")["profile"], true);
}

// ---- the file

/// A file of `report --html`, and the answers that lie in it.
struct Html {
    text: String,
    answers: BTreeMap<String, Vec<u8>>,
}

impl Html {
    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.answers[name]).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn written(folder: &Path, recordings: &[&Path]) -> Html {
    let paths = recordings.iter().map(|path| path.display().to_string());
    let command = [sintonia(), "report".into(), "--html".into(), "report.html".into()].into_iter().chain(paths);
    Process::new(command).limit(300).run_in(folder).expect_no_crash().expect_status(0);
    let text = std::fs::read_to_string(folder.join("report.html")).expect("the file is text");
    let mark = "<script type=\"application/octet-stream\" id=\"answers\">";
    let packed = text.split_once(mark).and_then(|(_, rest)| rest.split_once("</script>")).expect("answers").0;
    let answers = entries(&unpacked(packed));
    Html { text, answers }
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

#[test]
fn the_file_holds_everything_and_needs_no_network() {
    let (grid, farm) = (recorded("c/191_grid", &[]), recorded("c/192_farm", &[]));
    let html = written(grid.folder(), &[&grid.path, &farm.path]);
    for (number, recording) in [&grid, &farm].into_iter().enumerate() {
        assert_eq!(html.json(&format!("{number}/report")), recording.report());
        for subject in ["timeline", "communication", "program", "drawing", "drawing?overview=1", "communication?by=host"] {
            assert!(html.answers.contains_key(&format!("{number}/{subject}")), "{number}/{subject}");
        }
    }
    let about = html.json("0/about");
    let subjects: Vec<&str> = about["subjects"].as_array().expect("subjects").iter().filter_map(Value::as_str).collect();
    for subject in ["report", "timeline", "comparison"] {
        assert!(subjects.contains(&subject), "{subjects:?}");
    }
    assert!(!subjects.contains(&"calls") && !subjects.contains(&"source"), "only what is in the file: {subjects:?}");
    // Names of the kinds of XML look like addresses; nobody goes there.
    for after in ["http://", "https://"].iter().flat_map(|scheme| html.text.split(scheme).skip(1)) {
        assert!(after.starts_with("www.w3.org/"), "{}", after.chars().take(80).collect::<String>());
    }
    for reference in ["src=\"//", "href=\"//", "<iframe", "@import", "url(//"] {
        assert!(!html.text.contains(reference), "{reference}");
    }
    assert!(html.text.contains("default-src 'none'"));
}

#[test]
fn the_file_does_not_grow_with_the_run() {
    let (long, short) = (recorded("c/049_many_calls", &[]), recorded("c/001_send_modes", &[]));
    assert!(long.report()["calls"].as_u64() > short.report()["calls"].as_u64().map(|calls| 1000 * calls));
    let (long, short) = (written(long.folder(), &[&long.path]), written(short.folder(), &[&short.path]));
    assert!(long.text.len() < 2 * short.text.len(), "{} bytes, and {} for a short run", long.text.len(), short.text.len());
    assert!(long.text.len() < 5_000_000);
}
