//! Where ranks can go: the hosts of a machine file, those that are told, or those that the recorded command ran on.

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_machine::Machine;
use sintonia_placement::launcher;
use sintonia_placement::machine::{UNKNOWN_LINK, is_named};
use sintonia_placement::{Cluster, Distances, Host, Placement};
use sintonia_recording::header::Header;

use super::subject::Subject;
use crate::Error;
use crate::text::plural;

/// Hosts with slots, and the machine that they are, if it is known.
pub struct Room {
    /// The hosts.
    pub cluster: Cluster,
    /// The machine file.
    pub machine: Option<Machine>,
    /// Whether launchers know the hosts by these names.
    pub is_named: bool,
}

impl Room {
    /// The hosts that are told, or else those of the recording.
    pub fn find(machine: Option<&Path>, hosts: Option<Vec<Host>>, subject: &Subject) -> Result<Room, Error> {
        let machine = machine.map(Machine::read).transpose().map_err(|error| Error::Other(error.to_string()))?;
        let header = subject.recording.as_ref().map(|recording| &recording.header);
        let room = match (machine, hosts) {
            (Some(machine), hosts) => Room::of_machine(machine, hosts, subject.mean_bytes, header)?,
            (None, Some(hosts)) => Room::plain(hosts),
            (None, None) => Room::plain(recorded(header)?),
        };
        room.holds(subject.ranks())?;
        Ok(room)
    }

    fn plain(hosts: Vec<Host>) -> Room {
        let cluster = Cluster { hosts, topology: None, bytes_per_s: UNKNOWN_LINK, distances: Distances::default() };
        Room { cluster, machine: None, is_named: true }
    }

    fn of_machine(machine: Machine, hosts: Option<Vec<Host>>, mean_bytes: f64, header: Option<&Header>) -> Result<Room, Error> {
        let mut cluster = Cluster::of_machine(&machine, mean_bytes);
        let mut named = is_named(&machine);
        if let Some(hosts) = hosts {
            choose(&mut cluster, hosts, named)?;
            named = true;
        } else if let Some(header) = header.filter(|header| !named && header.hosts.len() == cluster.hosts.len()) {
            cluster.hosts.iter_mut().zip(&header.hosts).for_each(|(host, name)| host.name.clone_from(name));
            named = true;
        }
        Ok(Room { cluster, machine: Some(machine), is_named: named })
    }

    /// Whether all slots of a host are alike.
    pub fn is_flat(&self) -> bool {
        self.cluster.hosts.iter().all(|host| host.slots_per_complex >= host.slots)
    }

    /// An error if there are more ranks than slots.
    fn holds(&self, ranks: u32) -> Result<(), Error> {
        let slots = self.cluster.slots();
        if slots >= ranks {
            return Ok(());
        }
        let shown = self.cluster.hosts.iter().take(8).map(|host| format!("{}:{}", host.name, host.slots)).collect::<Vec<_>>().join(",");
        let more = if self.cluster.hosts.len() > 8 { ",…" } else { "" };
        Err(Error::Other(format!(
            "{} do not fit: {shown}{more} {}; give more hosts or slots (--hosts NAME:SLOTS,…, or `count` and `cores` in the machine file)",
            plural(ranks.into(), "rank"),
            if slots == 1 { "has 1 slot".into() } else { format!("have {slots} slots") }
        )))
    }

    /// Where the ranks of a recording were, if they were on these hosts and there was a slot for each.
    pub fn recorded_placement(&self, header: &Header) -> Option<Placement> {
        let starts = self.cluster.starts();
        let places: BTreeMap<&str, usize> = self.cluster.hosts.iter().enumerate().map(|(place, host)| (short(&host.name), place)).collect();
        let mut used = vec![0; self.cluster.hosts.len()];
        let mut slot = |rank: u32| {
            let host = *places.get(short(header.hosts.get(header.rank(rank)?.host as usize)?))?;
            used[host] += 1;
            (used[host] <= self.cluster.hosts[host].slots).then(|| starts[host] + used[host] - 1)
        };
        (0..header.rank_count()).map(&mut slot).collect::<Option<Vec<u32>>>().map(Placement)
    }
}

/// A host name without its domain.
fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Leaves only the told slots of the told hosts; the hosts of a machine without names are named in their order.
fn choose(cluster: &mut Cluster, told: Vec<Host>, named: bool) -> Result<(), Error> {
    if !named {
        if told.len() > cluster.hosts.len() {
            let (told, known) = (plural(told.len() as u64, "host"), plural(cluster.hosts.len() as u64, "node"));
            return Err(Error::Other(format!("--hosts names {told}, but the machine file has {known}: raise `count` in [[node]]")));
        }
        cluster.hosts.iter_mut().zip(&told).for_each(|(host, told)| host.name.clone_from(&told.name));
    }
    let slots: BTreeMap<&str, u32> = told.iter().map(|host| (short(&host.name), host.slots)).collect();
    if let Some(stranger) = told.iter().find(|told| !cluster.hosts.iter().any(|host| short(&host.name) == short(&told.name))) {
        let known: Vec<&str> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
        let near = sintonia_text::near::nearest(&stranger.name, known.iter().copied());
        let meant = near.map_or_else(|| format!("it has {}", known.join(", ")), |near| format!("did you mean {near}?"));
        return Err(Error::Other(format!("--hosts: the machine file does not know `{}`; {meant}", stranger.name)));
    }
    let told_of = |name: &str| slots.get(short(name)).copied().unwrap_or(0);
    cluster.hosts.iter_mut().for_each(|host| give(host, told_of(&host.name)));
    Ok(())
}

/// Gives a host so many slots; what is one piece stays one, however many slots it has.
fn give(host: &mut Host, slots: u32) {
    for part in [&mut host.slots_per_socket, &mut host.slots_per_complex] {
        *part = if *part >= host.slots { slots } else { *part };
    }
    host.slots = slots;
}

/// The hosts that the recorded command names, or else those that it ran on, with as many slots as ranks.
fn recorded(header: Option<&Header>) -> Result<Vec<Host>, Error> {
    let header = header.ok_or_else(|| {
        Error::Other("a graph does not say where its vertices can go: give --hosts NAME:SLOTS,… or --machine NAME.machine.toml".into())
    })?;
    let command = launcher::hosts(&header.command, &|_| None).ok().flatten();
    let counted = || {
        let ranks_on = |place: usize| header.ranks.iter().filter(|rank| rank.host as usize == place).count() as u32;
        header.hosts.iter().enumerate().map(|(place, name)| Host::plain(name.clone(), ranks_on(place))).collect()
    };
    Ok(command.filter(|hosts: &Vec<Host>| hosts.iter().map(|host| host.slots).sum::<u32>() >= header.rank_count()).unwrap_or_else(counted))
}
