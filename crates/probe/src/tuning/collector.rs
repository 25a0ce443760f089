//! Finds the collector of this host, or starts one.
//!
//! On the host of the command, the collector is part of it. On other hosts the first process that finds none starts one. The program must
//! not notice: the collector is not its child, sends it no signal when it ends, and inherits none of its files.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Timeout for a collector to start.
const START_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout for a socket that exists but is not listened on yet.
const LISTEN_TIMEOUT: Duration = Duration::from_millis(100);
/// Poll interval.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// Connects to the socket of this host's collector; `folder` holds the sockets of all hosts that see it.
pub(super) fn connect(folder: &OsStr) -> io::Result<UnixStream> {
    let folder = Path::new(folder);
    let socket = folder.join(sintonia_link::host_name());
    let patience = match UnixStream::connect(&socket) {
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => {
            start_collector(folder)?;
            START_TIMEOUT
        }
        // The socket exists before the collector listens on it, or after it has ended.
        Err(problem) if problem.kind() == io::ErrorKind::ConnectionRefused => LISTEN_TIMEOUT,
        reached => return reached,
    };
    let end = Instant::now() + patience;
    loop {
        match UnixStream::connect(&socket) {
            Err(_) if Instant::now() < end => std::thread::sleep(RETRY_PAUSE),
            reached => return reached,
        }
    }
}

/// Starts a collector, unless another process has.
fn start_collector(folder: &Path) -> io::Result<()> {
    // The directory must be our own: otherwise another user could control the socket.
    if let Err(problem) = std::fs::DirBuilder::new().mode(0o700).create(folder)
        && problem.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(problem);
    }
    let metadata = std::fs::symlink_metadata(folder)?;
    // SAFETY: only queries the user id.
    if !metadata.is_dir() || metadata.uid() != unsafe { libc::geteuid() } || metadata.mode() & 0o077 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mine = folder.join(format!("{}.started", sintonia_link::host_name()));
    match std::fs::OpenOptions::new().write(true).create_new(true).open(mine) {
        Ok(_) => CollectorLaunch::new()?.run(),
        Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// Data for the new process, prepared in advance because it cannot allocate.
struct CollectorLaunch {
    /// Program and arguments.
    arguments: [*const c_char; 3],
    environment: Vec<*const c_char>,
    /// Keeps the strings alive.
    _texts: Vec<CString>,
    stack: Vec<u128>,
}

/// Stack size of each of the two new processes, in 16-byte words.
const STACK: usize = 4096;

impl CollectorLaunch {
    fn new() -> io::Result<CollectorLaunch> {
        let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
        let program = text(&std::env::var_os("SINTONIA_COLLECT").ok_or(io::ErrorKind::NotFound)?)?;
        let names = ["SINTONIA_TUNE", "SINTONIA_SECRET", "SINTONIA_UP", "SINTONIA_FAN_OUT"];
        let mut texts = names
            .into_iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)))
            .map(|(name, value)| {
                let mut pair = std::ffi::OsString::from(format!("{name}="));
                pair.push(value);
                text(&pair)
            })
            .collect::<io::Result<Vec<CString>>>()?;
        let environment = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        let arguments = [program.as_ptr(), c"collect".as_ptr(), std::ptr::null()];
        texts.push(program);
        Ok(CollectorLaunch { arguments, environment, _texts: texts, stack: vec![0; 2 * STACK] })
    }

    /// Starts it through an intermediate process that exits at once, so that the program has no child.
    fn run(mut self) -> io::Result<()> {
        let own: *mut c_void = (&raw mut self).cast();
        // SAFETY: the new process runs on the upper half of a stack prepared for it, in our memory, while this thread waits. Without an
        // exit signal, and waited for with __WCLONE, it is invisible to the program's own `wait`.
        unsafe {
            let top = self.stack.as_mut_ptr().add(2 * STACK);
            let between = libc::clone(intermediate_process, top.cast(), libc::CLONE_VM | libc::CLONE_VFORK, own);
            if between < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::waitpid(between, std::ptr::null_mut(), libc::__WCLONE);
        }
        Ok(())
    }
}

extern "C" fn intermediate_process(launch: *mut c_void) -> c_int {
    // SAFETY: `run` passes itself and waits; the lower half of the stack is for the last process.
    unsafe {
        let stack = (*launch.cast::<CollectorLaunch>()).stack.as_mut_ptr().add(STACK);
        libc::clone(exec_collector, stack.cast(), libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, launch);
        libc::_exit(0)
    }
}

extern "C" fn exec_collector(launch: *mut c_void) -> c_int {
    // SAFETY: only system calls with prepared data. Handlers of the program cannot run, because all signals are blocked in the thread that
    // this is a copy of; dispositions set here are not shared with it.
    unsafe {
        let launch = &*launch.cast::<CollectorLaunch>();
        libc::setsid();
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for standard in 0..3 {
            libc::dup2(nothing, standard);
        }
        libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32);
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        libc::execve(launch.arguments[0], launch.arguments.as_ptr(), launch.environment.as_ptr());
        libc::_exit(127)
    }
}
