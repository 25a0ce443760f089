//! A placement as data for its page: hosts, current and proposed slots of ranks, link loads, and the launcher file with its command.

use std::path::Path;

use serde_json::{Value, json};
use sintonia_machine::Machine;
use sintonia_machine::topology::TopologyKind;
use sintonia_placement::fabric::Fabric;
use sintonia_placement::objective::LinkLoads;
use sintonia_placement::{Cluster, Host, Placement, RankGraph};

use super::available_hosts::AvailableHosts;
use super::launcher_file::{self, WrittenPlacement};
use super::placement_input::PlacementInput;
use super::search::{self, PlacementResult};
use super::{BindArg, EffortArg, ObjectiveArg, PlaceArgs, PlaceOutput, display, json};
use crate::Error;

/// The maximum number of reported links, busiest first.
const MAX_LINKS: usize = 256;
/// Up to this many hosts, the routes between all pairs are used to name links.
const MAX_ALL_PAIRS_HOSTS: usize = 64;

/// Places the ranks of a recording, and returns the data of the page.
pub(crate) fn placement_view(path: &Path, machine: Option<Machine>, hosts: Option<Vec<Host>>) -> Result<Value, Error> {
    let args = default_args(path);
    let subject = PlacementInput::from_recording(path)?;
    subject.check_connected()?;
    let room = AvailableHosts::find(machine, hosts, &subject)?;
    let found = search::find_placement(&args, &subject, &room)?;
    let sheet =
        if found.no_gain_reason.is_none() { build_launcher_file(path, &subject, &room, &found) } else { Ok(LauncherFile::default()) };
    let (sheet, refused) = match sheet {
        Ok(sheet) => (sheet, None),
        Err(error) => (LauncherFile::default(), Some(error.to_string())),
    };
    let shown = PlaceOutput { args: &args, subject: &subject, hosts: &room, found: &found, written: &sheet.written, measured: None };
    let mut value = json::placement_json(&shown);
    value["verdict"] = json!(display::verdict_sentence(&shown));
    value["hosts"] = hosts_json(&room.cluster);
    value["slots"] = json!({"now": found.current.placement.0, "placed": found.proposed.placement.0});
    value["links"] = links_json(&subject.traffic, &room.cluster, [&found.current.placement, &found.proposed.placement])?;
    value["sheet"] = json!({"name": sheet.name, "text": sheet.text, "refused": refused});
    Ok(value)
}

/// The default arguments.
fn default_args(recording: &Path) -> PlaceArgs {
    PlaceArgs {
        recording: Some(recording.to_owned()),
        graph: None,
        machine: None,
        hosts: None,
        objective: ObjectiveArg::Congestion,
        effort: EffortArg::Usual,
        compare: true,
        built_in: false,
        output: None,
        launcher: None,
        bind: None,
        force: false,
        apply: false,
        rounds: 1,
        json: true,
        command: Vec::new(),
    }
}

/// The file for the launcher.
#[derive(Default)]
struct LauncherFile {
    name: String,
    text: String,
    written: WrittenPlacement,
}

fn build_launcher_file(
    recording: &Path,
    subject: &PlacementInput,
    room: &AvailableHosts,
    found: &PlacementResult,
) -> Result<LauncherFile, Error> {
    let form = launcher_file::default_form(subject);
    let launch = launcher_file::launcher_output(form, BindArg::Cores, room, found)?;
    let text = launch.render_as(form).map_err(launcher_file::to_error)?;
    let stem = recording.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}.placement");
    let mut written = launcher_file::describe_written(Path::new(&name), form, &launch, subject);
    // Nothing is written: the reader of the page may save it.
    written.path = None;
    Ok(LauncherFile { name, text, written })
}

/// The hosts and their groups. Hosts without slots are left out; slot numbers are the same without them.
fn hosts_json(cluster: &Cluster) -> Value {
    let host = |(number, host): (u32, &Host)| {
        json!({
            "name": host.name, "slots": host.slots, "slots_per_socket": host.slots_per_socket,
            "slots_per_complex": host.slots_per_complex, "group": host_group(cluster, number),
        })
    };
    (0..).zip(&cluster.hosts).filter(|(_, host)| host.slots > 0).map(host).collect::<Vec<_>>().into()
}

/// The switch or group of a host; none where all hosts are equal or on a grid.
fn host_group(cluster: &Cluster, host: u32) -> Option<String> {
    match &cluster.topology.as_ref()?.kind {
        TopologyKind::FatTree { levels } => Some(format!("switch {}", host / levels.first()?.down.max(1))),
        TopologyKind::Dragonfly(dragonfly) => Some(format!("group {}", host / (dragonfly.nodes * dragonfly.routers).max(1))),
        _ => None,
    }
}

/// Link loads before and after, busiest first.
fn links_json(graph: &RankGraph, cluster: &Cluster, placements: [&Placement; 2]) -> Result<Value, Error> {
    let fabric = Fabric::from_cluster(cluster).map_err(|error| Error::Other(error.to_string()))?;
    let [now, placed] = placements.map(|placement| LinkLoads::from_placement(graph, &fabric, placement).0);
    let seconds = |link: usize, loads: &[u64]| loads[link] as f64 * fabric.s_per_byte()[link];
    let most = |link: usize| seconds(link, &now).max(seconds(link, &placed));
    let mut used: Vec<usize> = (0..now.len()).filter(|link| now[*link] + placed[*link] > 0).collect();
    used.sort_by(|a, b| most(*b).total_cmp(&most(*a)).then(a.cmp(b)));
    let names = link_names(&fabric, cluster);
    let link = |link: &usize| {
        json!({
            "name": names[*link], "bytes": [now[*link], placed[*link]], "seconds": [seconds(*link, &now), seconds(*link, &placed)],
        })
    };
    Ok(json!({
        "used": used.len(), "is_known": cluster.topology.is_some(), "busiest": used.iter().take(MAX_LINKS).map(link).collect::<Vec<_>>(),
    }))
}

/// Link names: by host, or by group of hosts, at their ends; else by number.
fn link_names(fabric: &Fabric, cluster: &Cluster) -> Vec<String> {
    let used: Vec<u32> = (0..).zip(&cluster.hosts).filter(|(_, host)| host.slots > 0).map(|(number, _)| number).collect();
    let groups: Vec<Option<String>> = (0..).zip(&cluster.hosts).map(|(number, _)| host_group(cluster, number)).collect();
    let mut ends: Vec<LinkEnds> = vec![LinkEnds::default(); fabric.s_per_byte().len()];
    let mut room = Vec::new();
    for (index, from) in used.iter().copied().enumerate() {
        let some = || [1, used.len() / 2].map(|step| used[(index + step) % used.len()]).to_vec();
        let others = if used.len() <= MAX_ALL_PAIRS_HOSTS { used.clone() } else { some() };
        for to in others.into_iter().filter(|to| *to != from) {
            let route = fabric.route(from, to, &mut room);
            for (at, link) in route.iter().enumerate() {
                let ends = &mut ends[*link as usize];
                ends.groups[0].add(groups[from as usize].as_deref());
                ends.groups[1].add(groups[to as usize].as_deref());
                ends.hosts[0].add(Some(cluster.hosts[from as usize].name.as_str()).filter(|_| at == 0));
                ends.hosts[1].add(Some(cluster.hosts[to as usize].name.as_str()).filter(|_| at + 1 == route.len()));
            }
        }
    }
    ends.iter().enumerate().map(|(link, ends)| ends.name(link)).collect()
}

/// The hosts and groups at the ends of the routes over a link.
#[derive(Clone, Copy, Default)]
struct LinkEnds<'a> {
    hosts: [CommonName<'a>; 2],
    groups: [CommonName<'a>; 2],
}

impl LinkEnds<'_> {
    fn name(&self, link: usize) -> String {
        match (self.hosts, self.groups) {
            ([CommonName::One(from), CommonName::One(to)], _) if from == to => format!("link of {from}"),
            ([CommonName::One(from), CommonName::One(to)], _) => format!("{from} to {to}"),
            ([CommonName::One(from), _], _) => format!("out of {from}"),
            ([_, CommonName::One(to)], _) => format!("into {to}"),
            (_, [CommonName::One(from), CommonName::One(to)]) => format!("{from} to {to}, link {link}"),
            (_, [CommonName::One(from), _]) => format!("out of {from}, link {link}"),
            (_, [_, CommonName::One(to)]) => format!("into {to}, link {link}"),
            _ => format!("link {link}"),
        }
    }
}

/// The common name of several items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CommonName<'a> {
    /// No item yet.
    #[default]
    Unset,
    /// All have this name.
    One(&'a str),
    /// They differ.
    Different,
}

impl<'a> CommonName<'a> {
    fn add(&mut self, one: Option<&'a str>) {
        *self = match (*self, one) {
            (CommonName::Unset, Some(one)) => CommonName::One(one),
            (CommonName::One(known), Some(one)) if known == one => CommonName::One(known),
            _ => CommonName::Different,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_called_by_the_host_that_has_no_other() {
        let cluster = Cluster::new(vec![Host::new("a", 2), Host::new("b", 2)]);
        let fabric = Fabric::from_cluster(&cluster).unwrap();
        let mut names = link_names(&fabric, &cluster);
        names.sort();
        assert_eq!(names, ["into a", "into b", "out of a", "out of b"]);
    }

    #[test]
    fn links_between_switches_are_called_by_the_switch() {
        let text = "format = 1\n[machine]\nname = \"tree\"\n[[node]]\nkind = \"n\"\ncount = 6\ncores = 1\n\
                    [topology]\nkind = \"fat_tree\"\nlevels = [{ down = 2 }, { down = 3 }]\nbandwidth_bytes_per_s = 1e9\nlatency_s = 0\n";
        let machine = Machine::parse(text, Path::new("tree")).unwrap();
        let cluster = Cluster::from_machine(&machine, 0.0);
        let names = link_names(&Fabric::from_cluster(&cluster).unwrap(), &cluster);
        let called = |beginning: &str| names.iter().filter(|name| name.starts_with(beginning)).count();
        assert_eq!([called("out of switch 0, link "), called("into switch 1, link "), called("link ")], [1, 1, 0], "{names:?}");
    }

    #[test]
    fn a_better_placement_takes_bytes_from_links() {
        let cluster = Cluster::new(vec![Host::new("a", 2), Host::new("b", 2)]);
        let edges = [sintonia_placement::ExchangeEdge { ranks: [0, 2], forward: 100, backward: 100 }];
        let graph = RankGraph::new(vec![1; 4], &edges);
        let links = links_json(&graph, &cluster, [&Placement(vec![0, 1, 2, 3]), &Placement(vec![0, 2, 1, 3])]).unwrap();
        assert_eq!((links["used"].as_u64(), &links["busiest"][0]["bytes"]), (Some(4), &json!([100, 0])));
    }
}
