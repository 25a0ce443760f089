//! The collector of this host: found where all processes look for it, or started by the first that finds none.
//!
//! On the host of the command its collector is a part of it. On others nobody has started one. The process that does must not notice: the
//! collector is nobody's child that it knows of, sends it no signal when it ends, and holds none of its files.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// So long a collector may take to begin.
const PATIENCE: Duration = Duration::from_secs(3);
/// So long a door may be there at which nobody listens yet.
const MOMENT: Duration = Duration::from_millis(100);
/// Between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(2);

/// Goes to the door of this host's collector; `folder` holds the doors of all hosts that see it.
pub fn reach(folder: &OsStr) -> io::Result<UnixStream> {
    let folder = Path::new(folder);
    let door = folder.join(sintonia_link::host_name());
    let patience = match UnixStream::connect(&door) {
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => {
            start(folder)?;
            PATIENCE
        }
        // A door is there before somebody listens at it; or nobody does any more.
        Err(problem) if problem.kind() == io::ErrorKind::ConnectionRefused => MOMENT,
        reached => return reached,
    };
    let end = Instant::now() + patience;
    loop {
        match UnixStream::connect(&door) {
            Err(_) if Instant::now() < end => std::thread::sleep(PAUSE),
            reached => return reached,
        }
    }
}

/// Starts a collector, if no other process has.
fn start(folder: &Path) -> io::Result<()> {
    // Nobody else may have made the folder: the collector would find its door in the hands of another.
    if let Err(problem) = std::fs::DirBuilder::new().mode(0o700).create(folder)
        && problem.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(problem);
    }
    let about = std::fs::symlink_metadata(folder)?;
    // SAFETY: asks for a number.
    if !about.is_dir() || about.uid() != unsafe { libc::geteuid() } || about.mode() & 0o077 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mine = folder.join(format!("{}.started", sintonia_link::host_name()));
    match std::fs::OpenOptions::new().write(true).create_new(true).open(mine) {
        Ok(_) => Launch::new()?.run(),
        Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// What the new process needs, prepared before it exists: there it can prepare nothing.
struct Launch {
    /// The program, and what it is called with.
    arguments: [*const c_char; 3],
    environment: Vec<*const c_char>,
    /// What these point to.
    _texts: Vec<CString>,
    stack: Vec<u128>,
}

/// Words of the stack of each of the two new processes.
const STACK: usize = 4096;

impl Launch {
    fn new() -> io::Result<Launch> {
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
        Ok(Launch { arguments, environment, _texts: texts, stack: vec![0; 2 * STACK] })
    }

    /// Starts it by way of a process in between that ends at once, so that the program has no child.
    fn run(mut self) -> io::Result<()> {
        let own: *mut c_void = (&raw mut self).cast();
        // SAFETY: the new process runs on the upper half of a stack made for it, in our memory, while this thread waits; without a
        // signal at its end, and waited for here by a kind of waiting that the program's own cannot be.
        unsafe {
            let top = self.stack.as_mut_ptr().add(2 * STACK);
            let between = libc::clone(between, top.cast(), libc::CLONE_VM | libc::CLONE_VFORK, own);
            if between < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::waitpid(between, std::ptr::null_mut(), libc::__WCLONE);
        }
        Ok(())
    }
}

extern "C" fn between(launch: *mut c_void) -> c_int {
    // SAFETY: `run` passes itself and waits; the lower half of the stack is for the last process.
    unsafe {
        let stack = (*launch.cast::<Launch>()).stack.as_mut_ptr().add(STACK);
        libc::clone(become_collector, stack.cast(), libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, launch);
        libc::_exit(0)
    }
}

extern "C" fn become_collector(launch: *mut c_void) -> c_int {
    // SAFETY: only calls of the system, with what was prepared; handlers of the program cannot run, because all signals are blocked in the
    // thread that this is a copy of, and what is set here is not shared with it.
    unsafe {
        let launch = &*launch.cast::<Launch>();
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
