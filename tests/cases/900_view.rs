//! `sintonia view` and `report --html`: who gets an answer and who does not, and that answers are those of the other verbs.

use std::net::TcpStream;

use serde_json::{Value, json};
use sintonia_tests::view::{Html, Served, status};
use sintonia_tests::{Mpi, Process, Program, Recording, fresh_dir, record_command, sintonia};

fn mpi() -> &'static Mpi {
    &Mpi::available()[0]
}

fn recorded(name: &str, options: &[&str]) -> Recording {
    Recording::record(mpi(), &Program::find(name), options)
}

// ---- who gets an answer

#[test]
fn a_client_with_the_token_gets_the_page_and_answers() {
    let recording = recorded("c/001_send_modes", &[]);
    let served = Served::start(&[&recording.path]);
    assert_eq!(served.address, format!("http://127.0.0.1:{}/?token={}", served.port, served.token));
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
    let served = Served::start(&[&recording.path]);
    let (port, token, own) = (served.port, &served.token, served.own());
    let wrong = if token.starts_with('0') { token.replacen('0', "1", 1) } else { format!("0{}", &token[1..]) };
    let no_token = [("/", ""), ("/api/0/about", ""), (&format!("/?token={wrong}"), ""), (&format!("/api/0/about?token={token}"), "")];
    no_token.iter().for_each(|(path, headers)| assert_eq!(served.get(path, headers).0, 403, "{path}"));
    assert_eq!(served.get("/api/0/about", &format!("X-Sintonia-Token: {wrong}\r\n")).0, 403);
    for header in ["Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"] {
        assert_eq!(served.get("/api/0/about", &format!("{own}{header}\r\n")).0, 403, "{header}");
    }
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", "192.0.2.1"] {
        assert_eq!(served.get_as(host, &format!("/?token={token}"), "").0, 403, "{host}");
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
    let served = Served::start(&[&recording.path]);
    let lines = std::fs::read_to_string("/proc/net/tcp").expect("what listens here");
    let port = format!(":{:04X} ", served.port);
    let bound: Vec<&str> =
        lines.lines().filter_map(|line| line.split_whitespace().nth(1)).filter(|end| format!("{end} ").ends_with(&port)).collect();
    assert!(bound.iter().any(|end| end.starts_with("0100007F:")), "{bound:?}");
    assert!(bound.iter().all(|end| !end.starts_with("00000000:")), "{bound:?}");
}

#[test]
fn another_address_of_loopback_is_no_reason_to_warn() {
    let recording = recorded("c/001_send_modes", &[]);
    let served = Served::start_with(&[&recording.path], &["--bind", "127.0.0.2"]);
    assert_eq!(served.address, format!("http://127.0.0.2:{}/?token={}", served.port, served.token));
    assert_eq!(served.messages(), "");
    assert_eq!(served.json("0/about")["recordings"][0]["ranks"], 3, "the address that it printed leads to it");
    assert_eq!(served.get_as("192.0.2.1", "/api/0/about", &served.own()).0, 403);
    assert!(TcpStream::connect(("127.0.0.1", served.port)).is_err(), "it listens nowhere else");
}

#[test]
fn serving_other_hosts_prints_a_warning_and_requires_the_token() {
    let recording = recorded("c/001_send_modes", &[]);
    let served = Served::start_with(&[&recording.path], &["--bind", "0.0.0.0"]);
    let warned = served.messages();
    assert!(warned.contains("0.0.0.0 is reachable from other machines") && warned.contains("not encrypted"), "{warned}");
    assert_eq!(served.address, format!("http://127.0.0.1:{}/?token={}", served.port, served.token));
    assert_eq!(served.json("0/about")["recordings"][0]["ranks"], 3);
    let own = served.own();
    // It cannot know all of its addresses; a name that is not its own can be anybody's.
    for (host, expected) in [("192.0.2.1", 200), ("localhost", 200), ("evil.example", 403), ("", 403)] {
        assert_eq!(served.get_as(host, "/api/0/about", &own).0, expected, "{host}");
        assert_eq!(served.get_as(host, "/api/0/about", "").0, 403, "{host}, without the token");
        assert_eq!(served.get_as(host, "/api/0/about", &format!("{own}Origin: http://evil.example\r\n")).0, 403, "{host}, from elsewhere");
    }
    let said = Process::new([sintonia(), "view".into(), "x.sin".into(), "--bind".into(), "192.0.2.1".into()]).run_in(recording.folder());
    said.expect_no_crash().expect_status(1);
}

#[test]
fn ctrl_c_ends_it() {
    let recording = recorded("c/001_send_modes", &[]);
    let served = Served::start(&[&recording.path]);
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
    for (name, reason) in [("missing.sin", "missing.sin"), ("notes.txt", "it is a file"), ("empty", "recording.json")] {
        for arguments in [vec!["view", name], vec!["report", name, "--html", "out.html"]] {
            let outcome = Process::new(std::iter::once(sintonia()).chain(arguments.iter().map(ToString::to_string))).run_in(folder.path());
            outcome.expect_no_crash().expect_status(1);
            assert!(outcome.stderr.contains(reason), "{}", outcome.text());
        }
    }
    assert!(!folder.path().join("out.html").exists());
}

// ---- what the answers are

#[test]
fn answers_are_what_the_verbs_show() {
    let (grid, farm) = (recorded("c/191_grid", &[]), recorded("c/192_farm", &[]));
    let served = Served::start(&[&grid.path, &farm.path]);
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
    let served = Served::start(&[&recording.path]);
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
    let program = Program::find("c/001_send_modes");
    let recording = Recording::record(mpi(), &program, &[]);
    let served = Served::start(&[&recording.path]);
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

/// The file of another user's recording may be any that the viewer can read.
#[test]
fn files_that_are_not_named_like_source_are_not_shown() {
    let recording = recorded("c/005_self", &[]);
    let header = recording.path.join("recording.json");
    let text = std::fs::read_to_string(&header).expect("a header");
    let mut changed: Value = serde_json::from_str(&text).expect("JSON");
    let sites = changed["sites"].as_array_mut().expect("sites");
    let number = sites.iter().position(|site| site["frames"][0]["line"].is_u64()).expect("a site with a line");
    sites[number]["frames"][0]["file"] = json!("/etc/passwd");
    std::fs::write(&header, changed.to_string()).expect("changed");
    let (status, why) = Served::start(&[&recording.path]).refused(&format!("0/source?site={number}"));
    assert_eq!((status, why.as_str()), (404, "/etc/passwd is not named like source code."));
    let html = Html::write(recording.folder(), &[&recording.path], &["--source"]);
    assert!(!html.answers.values().any(|answer| String::from_utf8_lossy(answer).contains("root:")));
    assert!(!html.run.stdout.contains("/etc/passwd"), "{}", html.run.stdout);
}

#[test]
fn names_with_html_in_them_are_data() {
    let folder = fresh_dir();
    let name = "<script>alert(1)<!-- & \"quoted\"";
    let built = Program::find("c/005_self").build(mpi()).expect("a program");
    std::fs::copy(&built[0], folder.path().join(name)).expect("a copy with another name");
    let path = folder.path().join("run.sin");
    let launch = mpi().launch(1, &[format!("./{name}")]);
    Process::new(record_command(&path, &[], launch)).env(&mpi().env).run_in(folder.path()).expect_status(0);
    let served = Served::start(&[&path]);
    for subject in ["about", "report"] {
        let text = served.json(&format!("0/{subject}")).to_string();
        assert!(text.contains("<script>alert(1)<!-- & \\\"quoted\\\""), "{subject}: {text}");
    }
    let drawing = served.json("0/drawing")["svg"].as_str().expect("a drawing").to_owned();
    assert!(drawing.contains("&lt;script") && !drawing.contains("<script"), "{drawing}");
    let html = Html::write(folder.path(), &[&path], &[]);
    assert_eq!(html.text.matches("<script").count(), 2, "that of the page, and the answers");
    assert!(html.json("0/about").to_string().contains("<script>alert(1)"));
}

#[test]
fn a_run_that_was_cut_short_has_answers() {
    let recording = recorded("c/037_sigkill", &[]);
    let served = Served::start(&[&recording.path]);
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
        let served = Served::start(&[&recording.path]);
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
    let nothing = Recording::record(mpi(), &Program::find("c/027_no_mpi"), &[]);
    let alone = recorded("c/005_self", &[]);
    let served = Served::start(&[&nothing.path, &alone.path]);
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
    let served = Served::start(&[&recording.path]);
    assert_eq!(served.json("0/report")["profile"], true);
    assert_eq!(served.json("0/communication")["seconds"], Value::Null);
    for subject in ["timeline", "calls", "program", "drawing"] {
        let (status, why) = served.refused(&format!("0/{subject}"));
        assert_eq!(status, 404);
        assert!(why.contains("--profile"), "{subject}: {why}");
    }
    let subjects = served.json("0/about")["subjects"].to_string();
    assert!(subjects.contains("report") && !subjects.contains("timeline"), "{subjects}");
    assert_eq!(Html::write(recording.folder(), &[&recording.path], &[]).json("0/report")["profile"], true);
}

// ---- the file

#[test]
fn the_file_holds_everything_and_needs_no_network() {
    let (grid, farm) = (recorded("c/191_grid", &[]), recorded("c/192_farm", &[]));
    let html = Html::write(grid.folder(), &[&grid.path, &farm.path], &[]);
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

/// The subjects of the answers that lie in a file.
fn subjects(html: &Html) -> Vec<&str> {
    let questions = html.answers.keys().filter_map(|name| name.split_once('/')).map(|(_, question)| question);
    let mut subjects: Vec<&str> = questions.map(|question| question.split_once('?').map_or(question, |(subject, _)| subject)).collect();
    subjects.sort_unstable();
    subjects.dedup();
    subjects
}

#[test]
fn what_is_not_in_the_file_is_said_by_it_and_by_the_command() {
    let [whole, sums] = [&[][..], &["--profile"]].map(|options| recorded("c/001_send_modes", options).without_missing_cores());
    let html = Html::write(whole.folder(), &[&whole.path, &sums.path], &[]);
    let about = html.json("0/about");
    assert_eq!(about["subjects"], json!(subjects(&html)), "it names exactly what is in it");
    let scaling = about["recordings"][0]["left_out"]["scaling"].as_str().unwrap_or_else(|| panic!("no model fits both: {about}"));
    assert!(scaling.contains("one kind of recording at a time") && html.run.stderr.contains(scaling), "{scaling}");
    assert_eq!(about["recordings"][0]["left_out"].as_object().map(serde_json::Map::len), Some(1), "{about}");
    for subject in ["timeline", "program", "drawing", "replay"] {
        assert!(html.answers.contains_key(&format!("0/{subject}")) && !html.answers.contains_key(&format!("1/{subject}")), "{subject}");
        let why = about["recordings"][1]["left_out"][subject].as_str().unwrap_or_else(|| panic!("{subject}: {about}"));
        assert!(why.contains("--profile"), "{why}");
        assert!(html.run.stderr.contains(&format!("{subject} of run.sin")), "{}", html.run.stderr);
    }
    assert!(html.run.stderr.contains("not in the file: ") && html.run.stderr.contains("--profile"), "{}", html.run.stderr);
    assert!(html.run.stdout.starts_with("wrote report.html: "), "{}", html.run.stdout);
}

#[test]
fn source_goes_into_the_file_only_if_that_is_wanted() {
    let recording = recorded("c/001_send_modes", &[]);
    let holds_source = |html: &Html| html.answers.values().any(|answer| String::from_utf8_lossy(answer).contains("start(&argc, &argv);"));
    let plain = Html::write(recording.folder(), &[&recording.path], &[]);
    assert!(!holds_source(&plain), "no line of the program is in it");
    assert!(!subjects(&plain).contains(&"source"));
    let html = Html::write(recording.folder(), &[&recording.path], &["--source"]);
    assert!(holds_source(&html));
    let (_, listed) = html.run.stdout.split_once("with source of:\n").unwrap_or_else(|| panic!("{}", html.run.stdout));
    assert!(listed.lines().all(|line| line.starts_with("  /")) && listed.contains("001_send_modes.c\n"), "{listed}");
    assert!(!plain.run.stdout.contains("source"), "{}", plain.run.stdout);
    assert_eq!(html.json("0/about")["subjects"], json!(subjects(&html)));
    let sources = html.answers.keys().filter(|name| name.starts_with("0/source?site=")).map(|name| html.json(name));
    let is_own = |shown: &Value| shown["file"].as_str().is_some_and(|file| file.ends_with("001_send_modes.c"));
    let shown = sources.into_iter().find(is_own).expect("the source of the program");
    let number = |name: &str| shown[name].as_u64().unwrap_or_else(|| panic!("{name}: {shown}")) as usize;
    let text = shown["lines"][number("line") - number("first")].as_str().expect("the line of the call");
    assert!(text.contains("MPI_"), "{text}");
}

#[test]
fn processes_together_write_the_file_that_one_writes() {
    let recording = recorded("c/191_grid", &[]);
    let alone = Html::write(recording.folder(), &[&recording.path], &[]);
    let words = ["report", "--html", "together.html", "run.sin"].map(String::from);
    let command = mpi().launch(2, &[&[sintonia()][..], &words[..]].concat());
    let run = Process::new(command).env(&mpi().env).run_in(recording.folder());
    let together = Html::at(&recording.folder().join("together.html"), run);
    assert_eq!(together.run.stdout.matches("wrote ").count(), 1, "{}", together.run.text());
    assert!(together.answers.keys().eq(alone.answers.keys()));
    for (name, answer) in &alone.answers {
        assert!(together.answers[name] == *answer, "{name} differs");
    }
}

#[test]
fn the_file_does_not_grow_with_the_run() {
    let (long, short) = (recorded("c/049_many_calls", &[]), recorded("c/001_send_modes", &[]));
    let (long, short) = (Html::write(long.folder(), &[&long.path], &[]), Html::write(short.folder(), &[&short.path], &[]));
    let calls = |html: &Html| html.json("0/about")["recordings"][0]["calls"].as_u64();
    assert!(calls(&long) > calls(&short).map(|calls| 1000 * calls));
    assert!(long.text.len() < 2 * short.text.len(), "{} bytes, and {} for a short run", long.text.len(), short.text.len());
    assert!(long.text.len() < 5_000_000);
}
