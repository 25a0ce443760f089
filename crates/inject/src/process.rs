//! What the system tells of a process.

use std::fs;
use std::io;
use std::path::Path;

use object::{Object, ObjectSymbol};

use crate::problem::Problem;

/// A file of code in the memory of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// Its path, as the process sees it.
    pub path: String,
    /// Where its first byte is.
    pub base: u64,
    /// Where instructions of it are.
    pub code: Vec<(u64, u64)>,
}

impl Mapped {
    /// The last part of its path.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether an instruction at this address is its own.
    pub fn holds(&self, address: u64) -> bool {
        self.code.iter().any(|(begin, end)| (*begin..*end).contains(&address))
    }

    /// The file itself, as that process sees it: it may live in a container. Where that cannot be looked into, as it is seen from here.
    pub fn read(&self, process: u32) -> io::Result<Vec<u8>> {
        fs::read(format!("/proc/{process}/root{}", self.path)).or_else(|_| fs::read(&self.path))
    }
}

/// The files of code in a process.
pub fn mapped(process: u32) -> Result<Vec<Mapped>, Problem> {
    let text = fs::read_to_string(format!("/proc/{process}/maps")).map_err(|error| not_allowed(process, &error))?;
    Ok(files(&text))
}

fn files(maps: &str) -> Vec<Mapped> {
    let mut files: Vec<Mapped> = Vec::new();
    for line in maps.lines() {
        let Some((begin, end, executable, path)) = part(line) else { continue };
        let known = files.iter().rposition(|file| file.path == path);
        let place = known.unwrap_or_else(|| {
            files.push(Mapped { path: path.into(), base: begin, code: Vec::new() });
            files.len() - 1
        });
        if executable {
            files[place].code.push((begin, end));
        }
    }
    files.retain(|file| !file.code.is_empty());
    files
}

/// A line such as `7f00-7f10 r-xp 00001000 08:01 123 /lib/x.so`: from, to, whether it is code, the path.
fn part(line: &str) -> Option<(u64, u64, bool, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let path = line.splitn(6, ' ').nth(5)?.trim_start();
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    path.starts_with('/').then_some((number(begin)?, number(end)?, rest.get(2..3) == Some("x"), path))
}

/// A field of the status of a process or thread.
pub fn field<'text>(status: &'text str, name: &str) -> &'text str {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim).unwrap_or_default()
}

/// The status of a process.
pub fn status(process: u32) -> Result<String, Problem> {
    fs::read_to_string(format!("/proc/{process}/status")).map_err(|_| Problem::NoProcess(process))
}

/// Whether a process is there and has not ended.
pub fn is_there(process: u32) -> bool {
    status(process).is_ok_and(|status| !field(&status, "State").starts_with(['Z', 'X']))
}

/// What a process is called.
pub fn name(process: u32) -> String {
    status(process).map_or_else(|_| "unknown".into(), |status| field(&status, "Name").to_owned())
}

/// A process and all that it has started, and these, and so on, on this host.
pub fn family(process: u32) -> Result<Vec<u32>, Problem> {
    status(process)?;
    let everybody = fs::read_dir("/proc").map_err(|error| not_allowed(process, &error))?;
    let numbers = everybody.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> =
        numbers.filter_map(|number| Some((number, field(&status(number).ok()?, "PPid").parse().ok()?))).collect();
    let mut family = vec![process];
    let mut next = 0;
    while next < family.len() {
        let parent = family[next];
        family.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(number, _)| *number));
        next += 1;
    }
    Ok(family)
}

/// Whether a process has an MPI library in it.
pub fn has_mpi(process: u32) -> Result<bool, Problem> {
    Ok(mapped(process)?.iter().any(|file| is_mpi(process, file)))
}

fn is_mpi(process: u32, file: &Mapped) -> bool {
    // The library has `mpi` in its name; otherwise it is part of the program itself.
    let is_program = fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|path| path == Path::new(&file.path));
    if !is_program && !file.file_name().contains("mpi") {
        return false;
    }
    let Ok(bytes) = file.read(process) else { return false };
    let Ok(file) = object::File::parse(&*bytes) else { return false };
    let mut symbols = file.dynamic_symbols().chain(file.symbols());
    symbols.any(|symbol| symbol.is_definition() && symbol.name() == Ok("PMPI_Init"))
}

/// The user to whom a process belongs.
pub fn user(process: u32) -> Option<u32> {
    field(&status(process).ok()?, "Uid").split_whitespace().nth(1)?.parse().ok()
}

/// The rank of a process and how many there are, as its launcher told it when it started.
pub fn place(process: u32) -> Option<(u32, u32)> {
    place_in(&String::from_utf8_lossy(&fs::read(format!("/proc/{process}/environ")).ok()?))
}

fn place_in(environment: &str) -> Option<(u32, u32)> {
    const NAMES: [(&str, &str); 7] = [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("PALS_RANKID", "PALS_SIZE"),
        ("PMIX_RANK", "PMIX_SIZE"),
        ("PMIX_RANK", "SLURM_NTASKS"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ];
    let value = |name: &str| environment.split('\0').find_map(|line| line.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
    NAMES.iter().find_map(|(rank, size)| Some((value(rank)?, value(size)?)))
}

/// What stands in the way of attaching, as far as it can be known.
pub fn not_allowed(process: u32, error: &io::Error) -> Problem {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => Problem::NoProcess(process),
        _ => Problem::NotAllowed { process, why: reason(process, error) },
    }
}

fn reason(process: u32, error: &io::Error) -> String {
    let own = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let its = status(process).unwrap_or_default();
    let user = |status: &str| field(status, "Uid").split_whitespace().next().unwrap_or_default().to_owned();
    let powers = u64::from_str_radix(field(&own, "CapEff"), 16).unwrap_or(0);
    let may_trace = powers >> 19 & 1 == 1;
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    explain(may_trace, (&user(&own), &user(&its)), scope.trim(), &error.to_string())
}

fn explain(may_trace: bool, (own, its): (&str, &str), scope: &str, error: &str) -> String {
    match scope {
        "3" => "kernel.yama.ptrace_scope is 3: this system lets nobody attach until it is started again with another setting".into(),
        _ if !may_trace && own != its => format!("it belongs to user {its}, and you are user {own}; attach as that user or as root"),
        "1" | "2" if !may_trace => format!(
            "kernel.yama.ptrace_scope is {scope}, so that only {} attach; as root: sysctl kernel.yama.ptrace_scope=0 (or run this command as root)",
            if scope == "1" { "a process that started it may" } else { "those with CAP_SYS_PTRACE may" }
        ),
        _ if !may_trace && own == "0" => {
            "root of this container may not trace: it lacks CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)".into()
        }
        _ => format!("{error}; it may have raised its rights when it started, or run in a container that forbids it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_code_are_found_where_they_begin() {
        let maps = "55e0-55e1 r--p 00000000 fe:00 12 /home/a b/app\n55e1-55e2 r-xp 00001000 fe:00 12 /home/a b/app\n7f00-7f01 r--p 0 fe:00 9 /usr/share/locale\n7f10-7f11 rwxp 0 00:00 0 \n";
        assert_eq!(files(maps), [Mapped { path: "/home/a b/app".into(), base: 0x55e0, code: vec![(0x55e1, 0x55e2)] }]);
    }

    #[test]
    fn the_rank_is_what_the_launcher_said() {
        assert_eq!(place_in("A=1\0OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_SIZE=4\0"), Some((3, 4)));
        assert_eq!(place_in("PMI_RANK=0\0PMI_SIZE=8"), Some((0, 8)));
        assert_eq!(place_in("PMI_RANK=0"), None);
    }

    #[test]
    fn a_refusal_says_what_to_change() {
        assert!(explain(false, ("1000", "1000"), "1", "").contains("sysctl kernel.yama.ptrace_scope=0"));
        assert!(explain(false, ("1000", "1001"), "1", "").contains("it belongs to user 1001"));
        assert!(explain(true, ("0", "1001"), "3", "").contains("nobody"));
        assert!(explain(false, ("0", "0"), "", "").contains("--cap-add SYS_PTRACE"));
        assert!(explain(true, ("0", "0"), "0", "Operation not permitted").contains("Operation not permitted"));
    }

    #[test]
    fn a_family_has_those_who_were_started_by_others_of_it() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().expect("sleep runs");
        let family = family(std::process::id()).expect("a family");
        assert!(family.contains(&child.id()) && family[0] == std::process::id());
        assert!(is_there(child.id()));
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(!is_there(child.id()));
    }
}
