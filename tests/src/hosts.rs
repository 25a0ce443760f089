//! Hosts to run on: network namespaces of this machine, which see each other over a network of their own.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Mpi, Outcome, Process, tests_dir};

/// What the names of the hosts begin with.
const NAME: &str = "snth";

/// Two hosts, which go away with their owner.
pub struct Hosts {
    /// All have the same addresses, so there is one pair of hosts at a time.
    _only: MutexGuard<'static, ()>,
}

impl Hosts {
    /// Makes them; where that may not be done, says so and gives none.
    pub fn up() -> Option<Hosts> {
        static ONLY: Mutex<()> = Mutex::new(());
        let only = ONLY.lock().unwrap_or_else(PoisonError::into_inner);
        script("down");
        let up = script("up");
        if up.status == 0 {
            return Some(Hosts { _only: only });
        }
        println!("skipped: network namespaces cannot be made here: {}", up.text());
        script("down");
        None
    }

    /// The name of the second host.
    pub fn second(&self) -> String {
        format!("{NAME}2")
    }

    /// The command by which Open MPI 4 runs `program` on so many ranks, `first` of them on the first host.
    pub fn launch(&self, mpi: &Mpi, ranks: usize, first: usize, program: &[String]) -> Vec<String> {
        let agent = tests_dir().join("hosts/agent").display().to_string();
        let hosts = format!("{NAME}1:{first},{NAME}2:{}", ranks - first);
        let parameters = [("plm_rsh_agent", agent.as_str()), ("mpi_yield_when_idle", "1"), ("btl_tcp_if_include", "10.78.0.0/24")];
        let options = parameters.iter().flat_map(|(name, value)| ["--mca", *name, *value]).chain(["--host", hosts.as_str()]);
        let mut command = mpi.launch(ranks, program);
        command.splice(1..1, options.map(String::from));
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        script("down");
    }
}

fn script(name: &str) -> Outcome {
    let path = tests_dir().join("hosts").join(name).display().to_string();
    Process::new([path.as_str(), NAME, "2"]).run_in(Path::new("/"))
}
