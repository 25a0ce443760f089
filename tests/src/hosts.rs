//! Hosts to run on: network namespaces of this machine, which see each other over a network of their own.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sintonia_test_report::skipped;

use crate::{Mpi, Outcome, Process, tests_dir};

/// What the names of the hosts begin with.
const NAME: &str = "snth";

/// Hosts, which go away with their owner.
pub struct Hosts {
    count: usize,
    /// All have the same addresses, so there is one set of hosts at a time.
    _only: MutexGuard<'static, ()>,
}

impl Hosts {
    /// Creates two hosts, or reports the case as skipped where network namespaces are not permitted.
    pub fn create() -> Option<Hosts> {
        Hosts::create_count(2)
    }

    /// Creates `count` hosts.
    pub fn create_count(count: usize) -> Option<Hosts> {
        static ONLY: Mutex<()> = Mutex::new(());
        let only = ONLY.lock().unwrap_or_else(PoisonError::into_inner);
        script("down", count);
        let up = script("up", count);
        if up.status == 0 {
            return Some(Hosts { count, _only: only });
        }
        skipped(format!("network namespaces cannot be made here: {}", up.text()));
        script("down", count);
        None
    }

    /// Limits what each host sends to this many bits per second; whether that is possible here.
    pub fn limit_bandwidth(&self, bits_per_s: u64) -> bool {
        (1..=self.count).all(|number| {
            let shape = format!("tc -n {NAME}{number} qdisc replace dev eth0 root tbf rate {bits_per_s}bit burst 16kb latency 50ms");
            let outcome = Process::new(shape.split(' ')).run_in(Path::new("/"));
            if outcome.status != 0 {
                skipped(format!("links cannot be made slower here: {}", outcome.text()));
            }
            outcome.status == 0
        })
    }

    /// The names of the hosts.
    pub fn names(&self) -> [String; 2] {
        [1, 2].map(|number| format!("{NAME}{number}"))
    }

    /// The name of the second host.
    pub fn second(&self) -> String {
        format!("{NAME}2")
    }

    /// The command by which Open MPI 4 runs `program` on `ranks` ranks, `first` of them on the first host.
    pub fn launch(&self, mpi: &Mpi, ranks: usize, first: usize, program: &[String]) -> Vec<String> {
        self.launch_on(mpi, &[first, ranks - first], program)
    }

    /// The command by which Open MPI 4 runs `program` with `ranks[i]` ranks on host `i`.
    pub fn launch_on(&self, mpi: &Mpi, ranks: &[usize], program: &[String]) -> Vec<String> {
        let hosts = (1..).zip(ranks).map(|(host, ranks)| format!("{NAME}{host}:{ranks}")).collect::<Vec<_>>().join(",");
        let mut command = mpi.launch(ranks.iter().sum(), program);
        command.splice(1..1, self.options(mpi).into_iter().chain(["--host".to_string(), hosts]));
        command
    }

    /// The options by which the launcher of a library reaches the hosts.
    pub fn options(&self, mpi: &Mpi) -> Vec<String> {
        let agent = tests_dir().join("hosts/agent").display().to_string();
        let open_mpi = "--mca mpi_yield_when_idle 1 --mca btl_tcp_if_include 10.78.0.0/24";
        // Without UCX_TLS, MPICH goes through shared memory from one host to the other.
        let mpich = "-localhost 10.78.0.254 -launcher ssh -launcher-exec AGENT";
        let options = match mpi.name {
            "openmpi" => format!("--mca plm_rsh_agent AGENT {open_mpi}"),
            "openmpi5" => format!("--prtemca plm_ssh_agent AGENT {open_mpi} -x LD_LIBRARY_PATH"),
            "intel" => format!("{mpich} -iface {NAME}br"),
            _ => format!("{mpich} -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES eth0 -genv FI_PROVIDER tcp"),
        };
        options.split(' ').map(|word| word.replace("AGENT", &agent)).collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        script("down", self.count);
    }
}

fn script(name: &str, count: usize) -> Outcome {
    let path = tests_dir().join("hosts").join(name).display().to_string();
    Process::new([path.as_str(), NAME, &count.to_string()]).run_in(Path::new("/"))
}
