//! The identity of the job that this process belongs to, without communication: from the environment that launchers and libraries set.
//!
//! Sealing needs it to tell worlds apart that run at the same time, such as those of several `MPI_Comm_spawn`.

use sintonia_recording::definitions::SpawnRoot;

use crate::settings::settings;

/// Variables with the namespace of a world.
const NAMESPACE_VARIABLES: [&str; 2] = ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"];
/// Variables with the name of a job, which may run several worlds.
const JOB_VARIABLES: [&str; 3] = ["PMI_JOBID", "SLURM_STEP_ID", "SLURM_JOB_ID"];

/// An id shared by the processes of a job without communication, from the launcher's environment.
pub(crate) fn job_id() -> u64 {
    job_id_in_namespace(None)
}

/// The id of a job in another namespace, or in that of this process.
fn job_id_in_namespace(namespace: Option<&str>) -> u64 {
    let value = |name: &&str| std::env::var(name).ok();
    let namespaces = NAMESPACE_VARIABLES.iter().filter_map(value).map(|own| namespace.map_or(own, str::to_owned));
    let values = namespaces.chain(JOB_VARIABLES.iter().filter_map(value));
    values.fold(hash(settings().token.as_bytes()), |id, value| continue_hash(id, value.as_bytes()))
}

/// The process that spawned this world, from the port that Open MPI gives to spawned processes: `NAMESPACE.RANK:NUMBER`.
pub(crate) fn spawn_root() -> Option<SpawnRoot> {
    let port = std::env::var("OMPI_PARENT_PORT").ok()?;
    let (namespace, rank) = port.rsplit_once(':')?.0.rsplit_once('.')?;
    Some(SpawnRoot { world: job_id_in_namespace(Some(namespace)), rank: rank.parse().ok()? })
}

/// FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    continue_hash(0xcbf2_9ce4_8422_2325, bytes)
}

/// Includes further bytes in a hash. Equal values of two variables do not cancel each other, as they would with an exclusive or.
fn continue_hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
