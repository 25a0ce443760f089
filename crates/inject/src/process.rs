//! Process data from `/proc`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};

use crate::error::InjectError;

/// An executable file mapped into a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MappedFile {
    /// Its path, as seen by the process.
    pub path: String,
    /// Its load address.
    pub base: u64,
    /// Executable address ranges.
    pub code: Vec<(u64, u64)>,
}

impl MappedFile {
    /// The last component of its path.
    pub(crate) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether an instruction address belongs to it.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.code.iter().any(|(begin, end)| (*begin..*end).contains(&address))
    }

    /// Reads the file as seen by that process, which may be in a container; if that is not accessible, as seen from here.
    pub(crate) fn read(&self, process: u32) -> io::Result<Vec<u8>> {
        fs::read(format!("/proc/{process}/root{}", self.path)).or_else(|_| fs::read(&self.path))
    }
}

/// The executable files mapped into a process.
pub(crate) fn mapped_files(process: u32) -> Result<Vec<MappedFile>, InjectError> {
    let text = fs::read_to_string(format!("/proc/{process}/maps")).map_err(|error| permission_error(process, &error))?;
    Ok(parse_maps(&text))
}

fn parse_maps(maps: &str) -> Vec<MappedFile> {
    let mut files: Vec<MappedFile> = Vec::new();
    for line in maps.lines() {
        let Some((begin, end, executable, path)) = parse_maps_line(line) else { continue };
        let known = files.iter().rposition(|file| file.path == path);
        let index = known.unwrap_or_else(|| {
            files.push(MappedFile { path: path.into(), base: begin, code: Vec::new() });
            files.len() - 1
        });
        if executable {
            files[index].code.push((begin, end));
        }
    }
    files.retain(|file| !file.code.is_empty());
    files
}

/// Parses a line such as `7f00-7f10 r-xp 00001000 08:01 123 /lib/x.so`: start, end, executable, path.
fn parse_maps_line(line: &str) -> Option<(u64, u64, bool, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let path = line.splitn(6, ' ').nth(5)?.trim_start();
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    path.starts_with('/').then_some((number(begin)?, number(end)?, rest.get(2..3) == Some("x"), path))
}

/// A field of the status of a process or thread.
pub(crate) fn field<'text>(status: &'text str, name: &str) -> &'text str {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim).unwrap_or_default()
}

/// The status text of a process.
pub(crate) fn status(process: u32) -> Result<String, InjectError> {
    fs::read_to_string(format!("/proc/{process}/status")).map_err(|_| InjectError::NoProcess(process))
}

/// Whether a process exists and has not ended.
pub fn is_alive(process: u32) -> bool {
    status(process).is_ok_and(|status| !field(&status, "State").starts_with(['Z', 'X']))
}

/// The name of a process.
pub fn name(process: u32) -> String {
    status(process).map_or_else(|_| "unknown".into(), |status| field(&status, "Name").to_owned())
}

/// A process and all its descendants on this host.
pub fn process_tree(process: u32) -> Result<Vec<u32>, InjectError> {
    status(process)?;
    let parent = |number: u32| Some((number, field(&status(number).ok()?, "PPid").parse().ok()?));
    let parents: Vec<(u32, u32)> = all_processes().into_iter().filter_map(parent).collect();
    let mut family = vec![process];
    let mut next = 0;
    while next < family.len() {
        let parent = family[next];
        family.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(number, _)| *number));
        next += 1;
    }
    Ok(family)
}

/// All processes of this host.
pub fn all_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The children of a process.
pub fn children(process: u32) -> Vec<u32> {
    let is_child = |number: &u32| status(*number).is_ok_and(|status| field(&status, "PPid").parse() == Ok(process));
    all_processes().into_iter().filter(is_child).collect()
}

/// The network namespace of a process: processes of different hosts may share everything else.
pub fn network_namespace(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/net")).ok()
}

/// The environment with which a process was started.
pub fn environment(process: u32) -> Vec<(String, String)> {
    let bytes = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.split('\0').filter_map(|line| line.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Whether a process has an MPI library.
pub fn has_mpi(process: u32) -> Result<bool, InjectError> {
    Ok(mapped_files(process)?.iter().any(|file| is_mpi(process, file)))
}

fn is_mpi(process: u32, file: &MappedFile) -> bool {
    // The library has `mpi` in its name; otherwise it is linked into the program itself.
    let is_program = fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|path| path == Path::new(&file.path));
    if !is_program && !file.file_name().contains("mpi") {
        return false;
    }
    let Ok(bytes) = file.read(process) else { return false };
    let Ok(file) = object::File::parse(&*bytes) else { return false };
    let mut symbols = file.dynamic_symbols().chain(file.symbols());
    symbols.any(|symbol| symbol.is_definition() && symbol.name() == Ok("PMPI_Init"))
}

/// The effective user id of a process.
pub fn owner(process: u32) -> Option<u32> {
    field(&status(process).ok()?, "Uid").split_whitespace().nth(1)?.parse().ok()
}

/// Rank of a process and number of processes, from the environment set by its launcher.
pub fn rank_and_size(process: u32) -> Option<(u32, u32)> {
    rank_and_size_from(&String::from_utf8_lossy(&fs::read(format!("/proc/{process}/environ")).ok()?))
}

fn rank_and_size_from(environment: &str) -> Option<(u32, u32)> {
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

/// The error for a failed attach, with the most likely reason.
pub(crate) fn permission_error(process: u32, error: &io::Error) -> InjectError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) => InjectError::NoProcess(process),
        _ => InjectError::NotAllowed { process, why: reason(process, error) },
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
        "3" => "kernel.yama.ptrace_scope is 3: this system does not allow attaching until it is rebooted with another setting".into(),
        _ if !may_trace && own != its => format!("it belongs to user {its}, and you are user {own}; attach as that user or as root"),
        "1" | "2" if !may_trace => format!(
            "kernel.yama.ptrace_scope is {scope}, so that only {} attach; as root: sysctl kernel.yama.ptrace_scope=0 (or run this command as root)",
            if scope == "1" { "a process that started it may" } else { "those with CAP_SYS_PTRACE may" }
        ),
        _ if !may_trace && own == "0" => {
            "root of this container may not trace: it lacks CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)".into()
        }
        _ => format!("{error}; it may have raised its privileges when it started, or run in a container that forbids it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_code_are_found_where_they_begin() {
        let maps = "55e0-55e1 r--p 00000000 fe:00 12 /home/a b/app\n55e1-55e2 r-xp 00001000 fe:00 12 /home/a b/app\n7f00-7f01 r--p 0 fe:00 9 /usr/share/locale\n7f10-7f11 rwxp 0 00:00 0 \n";
        assert_eq!(parse_maps(maps), [MappedFile { path: "/home/a b/app".into(), base: 0x55e0, code: vec![(0x55e1, 0x55e2)] }]);
    }

    #[test]
    fn the_rank_is_what_the_launcher_said() {
        assert_eq!(rank_and_size_from("A=1\0OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_SIZE=4\0"), Some((3, 4)));
        assert_eq!(rank_and_size_from("PMI_RANK=0\0PMI_SIZE=8"), Some((0, 8)));
        assert_eq!(rank_and_size_from("PMI_RANK=0"), None);
    }

    #[test]
    fn a_refusal_says_what_to_change() {
        assert!(explain(false, ("1000", "1000"), "1", "").contains("sysctl kernel.yama.ptrace_scope=0"));
        assert!(explain(false, ("1000", "1001"), "1", "").contains("it belongs to user 1001"));
        assert!(explain(true, ("0", "1001"), "3", "").contains("does not allow attaching"));
        assert!(explain(false, ("0", "0"), "", "").contains("--cap-add SYS_PTRACE"));
        assert!(explain(true, ("0", "0"), "0", "Operation not permitted").contains("Operation not permitted"));
    }

    #[test]
    fn a_family_has_those_who_were_started_by_others_of_it() {
        let mut child = std::process::Command::new("sleep").arg("5").spawn().expect("sleep runs");
        let family = process_tree(std::process::id()).expect("a family");
        assert!(family.contains(&child.id()) && family[0] == std::process::id());
        assert!(is_alive(child.id()));
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert!(!is_alive(child.id()));
    }
}
