//! Where ranks can go: the hosts of a machine file, those that are told, or those that the recorded command ran on.

use std::collections::BTreeMap;

use sintonia_machine::Machine;
use sintonia_placement::cluster::slots;
use sintonia_placement::launcher::{self, is_same};
use sintonia_placement::machine::is_named;
use sintonia_placement::{Cluster, Host, Placement};
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
    pub fn find(machine: Option<Machine>, hosts: Option<Vec<Host>>, subject: &Subject) -> Result<Room, Error> {
        let header = subject.recording.as_ref().map(|recording| &recording.header);
        let room = match (machine, hosts) {
            (Some(machine), hosts) => Room::of_machine(machine, hosts, subject.mean_bytes, header)?,
            (None, Some(hosts)) => Room::plain(hosts),
            (None, None) => Room::plain(recorded(header)?),
        };
        room.holds(subject.ranks())?;
        room.without_excess(subject.ranks())
    }

    fn plain(hosts: Vec<Host>) -> Room {
        Room { cluster: Cluster::plain(hosts), machine: None, is_named: true }
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
            match self.cluster.hosts.len() {
                1 => format!("has {}", plural(slots.into(), "slot")),
                _ => format!("have {}", plural(slots.into(), "slot")),
            }
        )))
    }

    /// Without slots that nobody could ever need: a host whose slots are alike has no use for more of them than there are ranks, and hosts at one
    /// switch none for more hosts than that.
    fn without_excess(mut self, ranks: u32) -> Result<Room, Error> {
        const MOST_SLOTS: u32 = 1 << 26;
        let useful = if self.cluster.topology.is_none() { ranks as usize } else { usize::MAX };
        for (place, host) in self.cluster.hosts.iter_mut().filter(|host| host.slots > 0).enumerate() {
            let is_flat = host.slots_per_complex >= host.slots;
            let most = if is_flat { ranks } else { u32::MAX };
            give(host, if place < useful { host.slots.min(most) } else { 0 });
        }
        // Where hosts are all alike, those at the end that nobody can be on do not matter: a machine file may have a million.
        if self.cluster.topology.is_none() {
            let used = self.cluster.hosts.iter().rposition(|host| host.slots > 0).map_or(0, |last| last + 1);
            self.cluster.hosts.truncate(used);
        }
        match self.cluster.slots() {
            MOST_SLOTS.. => Err(Error::Other(format!("more than {MOST_SLOTS} slots: name those hosts that matter with --hosts"))),
            _ => Ok(self),
        }
    }

    /// Where the ranks of a recording were, if they were on these hosts and there was a slot for each.
    pub fn recorded_placement(&self, header: &Header) -> Option<Placement> {
        let starts = self.cluster.starts();
        let places = places(&self.cluster.hosts);
        let mut used = vec![0; self.cluster.hosts.len()];
        let mut slot = |rank: u32| {
            let name = header.hosts.get(header.rank(rank)?.host as usize)?;
            let host = *place(&places, &self.cluster.hosts, name)?;
            used[host] += 1;
            (used[host] <= self.cluster.hosts[host].slots).then(|| starts[host] + used[host] - 1)
        };
        (0..header.rank_count()).map(&mut slot).collect::<Option<Vec<u32>>>().map(Placement)
    }
}

/// Leaves only the told slots of the told hosts; the hosts of a machine without names are named in their order.
fn choose(cluster: &mut Cluster, told: Vec<Host>, named: bool) -> Result<(), Error> {
    if !named {
        return name(cluster, told);
    }
    let mut slots = vec![0; cluster.hosts.len()];
    let places = places(&cluster.hosts);
    for host in &told {
        slots[*place(&places, &cluster.hosts, &host.name).ok_or_else(|| stranger(cluster, &host.name))?] = host.slots;
    }
    cluster.hosts.iter_mut().zip(slots).for_each(|(host, slots)| give(host, slots));
    Ok(())
}

/// Names the first hosts; there is no room on the others.
fn name(cluster: &mut Cluster, told: Vec<Host>) -> Result<(), Error> {
    if told.len() > cluster.hosts.len() {
        let (told, known) = (plural(told.len() as u64, "host"), plural(cluster.hosts.len() as u64, "node"));
        return Err(Error::Other(format!("--hosts names {told}, but the machine file has {known}: raise `count` in [[node]]")));
    }
    cluster.hosts.iter_mut().skip(told.len()).for_each(|host| give(host, 0));
    for (host, told) in cluster.hosts.iter_mut().zip(told) {
        host.name = told.name;
        give(host, told.slots);
    }
    Ok(())
}

fn stranger(cluster: &Cluster, name: &str) -> Error {
    const SHOWN: usize = 16;
    let known: Vec<&str> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
    let more = if known.len() > SHOWN { ", …" } else { "" };
    let meant = match sintonia_text::near::nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("it has {}{more}", known[..known.len().min(SHOWN)].join(", ")),
    };
    Error::Other(format!("--hosts: the machine file does not know `{name}`; {meant}"))
}

/// Where hosts are, by the beginning of their names.
fn places(hosts: &[Host]) -> BTreeMap<String, Vec<usize>> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    hosts.iter().enumerate().for_each(|(place, host)| places.entry(beginning(&host.name)).or_default().push(place));
    places
}

/// The place of a host, whose name may be short or full.
fn place<'a>(places: &'a BTreeMap<String, Vec<usize>>, hosts: &[Host], name: &str) -> Option<&'a usize> {
    let alike = places.get(&beginning(name))?;
    let is_it = |place: &&usize| hosts[**place].name == name;
    alike.iter().find(is_it).or_else(|| alike.iter().find(|place| is_same(&hosts[**place].name, name)))
}

/// What a short name and a full one have in common.
fn beginning(name: &str) -> String {
    name.split('.').next().unwrap_or(name).to_ascii_lowercase()
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
        let mut hosts: Vec<Host> = header.hosts.iter().map(|name| Host::plain(name.clone(), 0)).collect();
        for rank in &header.ranks {
            if let Some(host) = hosts.get_mut(rank.host as usize) {
                give(host, host.slots + 1);
            }
        }
        hosts
    };
    Ok(command.filter(|hosts: &Vec<Host>| slots(hosts) >= header.rank_count()).unwrap_or_else(counted))
}
