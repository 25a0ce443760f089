//! The available hosts: those of a machine file, the given ones, or those of the recorded run.

use std::collections::BTreeMap;

use sintonia_machine::Machine;
use sintonia_recording::header::RecordingHeader;
use sintonia_text::quantity::format_plural;

use crate::cluster::total_slots;
use crate::input::PlacementInput;
use crate::launcher::{self, is_same_host};
use crate::machine::has_host_names;
use crate::{Cluster, Error, Host, Placement};

/// Hosts with slots, and their machine, if known.
pub struct AvailableHosts {
    /// The hosts.
    pub cluster: Cluster,
    /// The machine file.
    pub machine: Option<Machine>,
    /// Whether launchers know the hosts by these names.
    pub is_named: bool,
}

impl AvailableHosts {
    /// The given hosts, or else those of the recording.
    pub fn find(machine: Option<Machine>, hosts: Option<Vec<Host>>, subject: &PlacementInput) -> Result<AvailableHosts, Error> {
        let header = subject.recording.as_ref().map(|recording| &recording.header);
        let room = match (machine, hosts) {
            (Some(machine), hosts) => AvailableHosts::from_machine(machine, hosts, subject.mean_bytes, header)?,
            (None, Some(hosts)) => AvailableHosts::from_hosts(hosts),
            (None, None) => AvailableHosts::from_hosts(recorded_hosts(header)?),
        };
        room.check_capacity(subject.rank_count())?;
        room.trim_excess(subject.rank_count())
    }

    fn from_hosts(hosts: Vec<Host>) -> AvailableHosts {
        AvailableHosts { cluster: Cluster::new(hosts), machine: None, is_named: true }
    }

    fn from_machine(
        machine: Machine,
        hosts: Option<Vec<Host>>,
        mean_bytes: f64,
        header: Option<&RecordingHeader>,
    ) -> Result<AvailableHosts, Error> {
        let mut cluster = Cluster::from_machine(&machine, mean_bytes);
        let mut named = has_host_names(&machine);
        if let Some(hosts) = hosts {
            restrict_to(&mut cluster, hosts, named)?;
            named = true;
        } else if let Some(header) = header.filter(|header| !named && header.hosts.len() == cluster.hosts.len()) {
            cluster.hosts.iter_mut().zip(&header.hosts).for_each(|(host, name)| host.name.clone_from(name));
            named = true;
        }
        Ok(AvailableHosts { cluster, machine: Some(machine), is_named: named })
    }

    /// Whether all slots of a host are equal.
    pub fn is_flat(&self) -> bool {
        self.cluster.hosts.iter().all(|host| host.slots_per_complex >= host.slots)
    }

    /// Fails if there are more ranks than slots.
    fn check_capacity(&self, ranks: u32) -> Result<(), Error> {
        let slots = self.cluster.slot_count();
        if slots >= ranks {
            return Ok(());
        }
        let shown = self.cluster.hosts.iter().take(8).map(|host| format!("{}:{}", host.name, host.slots)).collect::<Vec<_>>().join(",");
        let more = if self.cluster.hosts.len() > 8 { ",…" } else { "" };
        Err(Error::Hosts(format!(
            "{} do not fit: {shown}{more} {}; add hosts or slots (--hosts NAME:SLOTS,…, or `count` and `cores` in the machine file)",
            format_plural(ranks.into(), "rank"),
            match self.cluster.hosts.len() {
                1 => format!("has {}", format_plural(slots.into(), "slot")),
                _ => format!("have {}", format_plural(slots.into(), "slot")),
            }
        )))
    }

    /// Removes slots that cannot be needed: a host with equal slots needs no more than there are ranks, and behind one switch no more hosts than
    /// ranks are needed.
    fn trim_excess(mut self, ranks: u32) -> Result<AvailableHosts, Error> {
        const MOST_SLOTS: u32 = 1 << 26;
        let useful = if self.cluster.topology.is_none() { ranks as usize } else { usize::MAX };
        for (index, host) in self.cluster.hosts.iter_mut().filter(|host| host.slots > 0).enumerate() {
            let is_flat = host.slots_per_complex >= host.slots;
            let most = if is_flat { ranks } else { u32::MAX };
            set_slots(host, if index < useful { host.slots.min(most) } else { 0 });
        }
        // Where hosts are equal, unused ones at the end do not matter: a machine file may have a million.
        if self.cluster.topology.is_none() {
            let used = self.cluster.hosts.iter().rposition(|host| host.slots > 0).map_or(0, |last| last + 1);
            self.cluster.hosts.truncate(used);
        }
        match self.cluster.slot_count() {
            MOST_SLOTS.. => Err(Error::Hosts(format!("more than {MOST_SLOTS} slots: select hosts with --hosts"))),
            _ => Ok(self),
        }
    }

    /// The recorded placement, if it was on these hosts with a slot for each rank.
    pub(crate) fn recorded_placement(&self, header: &RecordingHeader) -> Option<Placement> {
        let starts = self.cluster.slot_starts();
        let host_indices = host_index(&self.cluster.hosts);
        let mut used = vec![0; self.cluster.hosts.len()];
        let mut slot = |rank: u32| {
            let name = header.hosts.get(header.rank(rank)?.host as usize)?;
            let host = *find_host(&host_indices, &self.cluster.hosts, name)?;
            used[host] += 1;
            (used[host] <= self.cluster.hosts[host].slots).then(|| starts[host] + used[host] - 1)
        };
        (0..header.rank_count()).map(&mut slot).collect::<Option<Vec<u32>>>().map(Placement)
    }
}

/// Keeps only the given slots of the given hosts; unnamed hosts of a machine are named in order.
fn restrict_to(cluster: &mut Cluster, given: Vec<Host>, named: bool) -> Result<(), Error> {
    if !named {
        return rename_hosts(cluster, given);
    }
    let mut slots = vec![0; cluster.hosts.len()];
    let host_indices = host_index(&cluster.hosts);
    for host in &given {
        slots[*find_host(&host_indices, &cluster.hosts, &host.name).ok_or_else(|| unknown_host_error(cluster, &host.name))?] = host.slots;
    }
    cluster.hosts.iter_mut().zip(slots).for_each(|(host, slots)| set_slots(host, slots));
    Ok(())
}

/// Names the first hosts; the others get no slots.
fn rename_hosts(cluster: &mut Cluster, given: Vec<Host>) -> Result<(), Error> {
    if given.len() > cluster.hosts.len() {
        let (given, known) = (format_plural(given.len() as u64, "host"), format_plural(cluster.hosts.len() as u64, "node"));
        return Err(Error::Hosts(format!("--hosts has {given}, but the machine file has {known}: increase `count` in [[node]]")));
    }
    cluster.hosts.iter_mut().skip(given.len()).for_each(|host| set_slots(host, 0));
    for (host, given) in cluster.hosts.iter_mut().zip(given) {
        host.name = given.name;
        set_slots(host, given.slots);
    }
    Ok(())
}

fn unknown_host_error(cluster: &Cluster, name: &str) -> Error {
    const SHOWN: usize = 16;
    let known: Vec<&str> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
    let more = if known.len() > SHOWN { ", …" } else { "" };
    let meant = match sintonia_text::suggestion::nearest_name(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("it has {}{more}", known[..known.len().min(SHOWN)].join(", ")),
    };
    Error::Hosts(format!("--hosts: the machine file has no host `{name}`; {meant}"))
}

/// Host indices by short name.
fn host_index(hosts: &[Host]) -> BTreeMap<String, Vec<usize>> {
    let mut host_indices: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    hosts.iter().enumerate().for_each(|(index, host)| host_indices.entry(short_name(&host.name)).or_default().push(index));
    host_indices
}

/// The index of a host, whose name may be short or fully qualified.
fn find_host<'a>(host_indices: &'a BTreeMap<String, Vec<usize>>, hosts: &[Host], name: &str) -> Option<&'a usize> {
    let candidates = host_indices.get(&short_name(name))?;
    let is_it = |index: &&usize| hosts[**index].name == name;
    candidates.iter().find(is_it).or_else(|| candidates.iter().find(|index| is_same_host(&hosts[**index].name, name)))
}

/// The host name without its domain, in lower case.
fn short_name(name: &str) -> String {
    name.split('.').next().unwrap_or(name).to_ascii_lowercase()
}

/// Sets the slots of a host; domains that covered the whole host still do.
fn set_slots(host: &mut Host, slots: u32) {
    for part in [&mut host.slots_per_socket, &mut host.slots_per_complex] {
        *part = if *part >= host.slots { slots } else { *part };
    }
    host.slots = slots;
}

/// The hosts of the recorded command, or else those it ran on, with as many slots as ranks.
fn recorded_hosts(header: Option<&RecordingHeader>) -> Result<Vec<Host>, Error> {
    let header =
        header.ok_or_else(|| Error::Hosts("a graph needs target hosts: use --hosts NAME:SLOTS,… or --machine NAME.machine.toml".into()))?;
    let command = launcher::available_hosts(&header.command, &|_| None).ok().flatten();
    let counted = || {
        let mut hosts: Vec<Host> = header.hosts.iter().map(|name| Host::new(name.clone(), 0)).collect();
        for rank in &header.ranks {
            if let Some(host) = hosts.get_mut(rank.host as usize) {
                set_slots(host, host.slots + 1);
            }
        }
        hosts
    };
    Ok(command.filter(|hosts: &Vec<Host>| total_slots(hosts) >= header.rank_count()).unwrap_or_else(counted))
}

/// Fails if the launcher has put a rank on another host than planned.
pub fn check_placed(header: &RecordingHeader, hosts: &[String]) -> Result<(), Error> {
    for (rank, planned) in (0..).zip(hosts) {
        let found = header.rank(rank).and_then(|rank| header.hosts.get(rank.host as usize));
        let found =
            found.ok_or_else(|| Error::Misplaced(format!("rank {rank} of the placed run was not recorded, so its host is unknown")))?;
        if !is_same_host(found, planned) {
            return Err(Error::Misplaced(format!(
                "the launcher put rank {rank} on {found} instead of {planned}, so the placement has no effect: check that the name is the host's \
                 own (hostname), and that no other option or variable places ranks"
            )));
        }
    }
    Ok(())
}
