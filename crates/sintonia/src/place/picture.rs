//! A placement for a picture of it: what hosts are made of, where ranks are now and where they should be, how busy links are then, and the
//! file and the command that put them there.

use std::path::Path;

use serde_json::{Value, json};
use sintonia_machine::Machine;
use sintonia_machine::topology::Kind;
use sintonia_placement::fabric::Fabric;
use sintonia_placement::objective::Loads;
use sintonia_placement::{Cluster, Graph, Host, Placement};

use super::finding::{self, Found};
use super::launch::{self, Written};
use super::room::Room;
use super::subject::Subject;
use super::{Arguments, Bind, Effort, Objective, Shown, json, screen};
use crate::Error;

/// Links that are told of: the busiest.
const MOST_LINKS: usize = 256;
/// Up to so many hosts, the ways between all of them are looked at to say what a link is.
const FEW_HOSTS: usize = 64;

/// Places the ranks of a recording, and tells what a picture of that needs.
pub fn of(path: &Path, machine: Option<Machine>, hosts: Option<Vec<Host>>) -> Result<Value, Error> {
    let arguments = usual(path);
    let subject = Subject::of_recording(path)?;
    subject.is_connected()?;
    let room = Room::find(machine, hosts, &subject)?;
    let found = finding::find(&arguments, &subject, &room)?;
    let sheet = if found.useless.is_none() { sheet(path, &subject, &room, &found) } else { Ok(Sheet::default()) };
    let (sheet, refused) = match sheet {
        Ok(sheet) => (sheet, None),
        Err(error) => (Sheet::default(), Some(error.to_string())),
    };
    let shown = Shown { arguments: &arguments, subject: &subject, room: &room, found: &found, written: &sheet.written, measured: None };
    let mut value = json::object(&shown);
    value["verdict"] = json!(screen::sentence(&shown));
    value["hosts"] = hosts_of(&room.cluster);
    value["slots"] = json!({"now": found.now.placement.0, "placed": found.placed.placement.0});
    value["links"] = links(&subject.bytes, &room.cluster, [&found.now.placement, &found.placed.placement])?;
    value["sheet"] = json!({"name": sheet.name, "text": sheet.text, "refused": refused});
    Ok(value)
}

/// What the verb is told if it is told nothing.
fn usual(recording: &Path) -> Arguments {
    Arguments {
        recording: Some(recording.to_owned()),
        graph: None,
        machine: None,
        hosts: None,
        objective: Objective::Congestion,
        effort: Effort::Usual,
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
struct Sheet {
    name: String,
    text: String,
    written: Written,
}

fn sheet(recording: &Path, subject: &Subject, room: &Room, found: &Found) -> Result<Sheet, Error> {
    let form = launch::usual(subject);
    let launch = launch::launch(form, Bind::Cores, room, found)?;
    let text = launch.text_as(form).map_err(launch::refused)?;
    let stem = recording.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}.placement");
    let mut written = launch::told(Path::new(&name), form, &launch, subject);
    // Nothing is: whoever looks at it saves it, or not.
    written.path = None;
    Ok(Sheet { name, text, written })
}

/// What hosts are made of, and which of them are near each other. Those without slots are left out: numbers of slots are the same without them.
fn hosts_of(cluster: &Cluster) -> Value {
    let host = |(number, host): (u32, &Host)| {
        json!({
            "name": host.name, "slots": host.slots, "slots_per_socket": host.slots_per_socket,
            "slots_per_complex": host.slots_per_complex, "group": group(cluster, number),
        })
    };
    (0..).zip(&cluster.hosts).filter(|(_, host)| host.slots > 0).map(host).collect::<Vec<_>>().into()
}

/// What hosts share that are near each other, in words; nothing where all are alike or have a place in a grid.
fn group(cluster: &Cluster, host: u32) -> Option<String> {
    match &cluster.topology.as_ref()?.kind {
        Kind::FatTree { levels } => Some(format!("switch {}", host / levels.first()?.down.max(1))),
        Kind::Dragonfly(dragonfly) => Some(format!("group {}", host / (dragonfly.nodes * dragonfly.routers).max(1))),
        _ => None,
    }
}

/// How busy links are before and after, those that are ever busiest first.
fn links(graph: &Graph, cluster: &Cluster, placements: [&Placement; 2]) -> Result<Value, Error> {
    let fabric = Fabric::of(cluster).map_err(|error| Error::Other(error.to_string()))?;
    let [now, placed] = placements.map(|placement| Loads::of(graph, &fabric, placement).0);
    let seconds = |link: usize, loads: &[u64]| loads[link] as f64 * fabric.s_per_byte()[link];
    let most = |link: usize| seconds(link, &now).max(seconds(link, &placed));
    let mut used: Vec<usize> = (0..now.len()).filter(|link| now[*link] + placed[*link] > 0).collect();
    used.sort_by(|a, b| most(*b).total_cmp(&most(*a)).then(a.cmp(b)));
    let names = names(&fabric, cluster);
    let link = |link: &usize| {
        json!({
            "name": names[*link], "bytes": [now[*link], placed[*link]], "seconds": [seconds(*link, &now), seconds(*link, &placed)],
        })
    };
    Ok(json!({
        "used": used.len(), "is_known": cluster.topology.is_some(), "busiest": used.iter().take(MOST_LINKS).map(link).collect::<Vec<_>>(),
    }))
}

/// What links are called: by the host, or else by the hosts that are near each other, whose way out or in they are; else by number.
fn names(fabric: &Fabric, cluster: &Cluster) -> Vec<String> {
    let used: Vec<u32> = (0..).zip(&cluster.hosts).filter(|(_, host)| host.slots > 0).map(|(number, _)| number).collect();
    let groups: Vec<Option<String>> = (0..).zip(&cluster.hosts).map(|(number, _)| group(cluster, number)).collect();
    let mut ends: Vec<Ends> = vec![Ends::default(); fabric.s_per_byte().len()];
    let mut room = Vec::new();
    for (place, from) in used.iter().copied().enumerate() {
        let some = || [1, used.len() / 2].map(|step| used[(place + step) % used.len()]).to_vec();
        let others = if used.len() <= FEW_HOSTS { used.clone() } else { some() };
        for to in others.into_iter().filter(|to| *to != from) {
            let route = fabric.route(from, to, &mut room);
            for (at, link) in route.iter().enumerate() {
                let ends = &mut ends[*link as usize];
                ends.of_groups[0].add(groups[from as usize].as_deref());
                ends.of_groups[1].add(groups[to as usize].as_deref());
                ends.of_hosts[0].add(Some(cluster.hosts[from as usize].name.as_str()).filter(|_| at == 0));
                ends.of_hosts[1].add(Some(cluster.hosts[to as usize].name.as_str()).filter(|_| at + 1 == route.len()));
            }
        }
    }
    ends.iter().enumerate().map(|(link, ends)| ends.name(link)).collect()
}

/// Where the ways over a link begin and end: which hosts have it as their first and last, and in which groups these are.
#[derive(Clone, Copy, Default)]
struct Ends<'a> {
    of_hosts: [Common<'a>; 2],
    of_groups: [Common<'a>; 2],
}

impl Ends<'_> {
    fn name(&self, link: usize) -> String {
        match (self.of_hosts, self.of_groups) {
            ([Common::One(from), Common::One(to)], _) if from == to => format!("link of {from}"),
            ([Common::One(from), Common::One(to)], _) => format!("{from} to {to}"),
            ([Common::One(from), _], _) => format!("out of {from}"),
            ([_, Common::One(to)], _) => format!("into {to}"),
            (_, [Common::One(from), Common::One(to)]) => format!("{from} to {to}, link {link}"),
            (_, [Common::One(from), _]) => format!("out of {from}, link {link}"),
            (_, [_, Common::One(to)]) => format!("into {to}, link {link}"),
            _ => format!("link {link}"),
        }
    }
}

/// What several have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Common<'a> {
    /// There was none.
    #[default]
    Nobody,
    /// All of them are this.
    One(&'a str),
    /// They are not alike.
    Nothing,
}

impl<'a> Common<'a> {
    fn add(&mut self, one: Option<&'a str>) {
        *self = match (*self, one) {
            (Common::Nobody, Some(one)) => Common::One(one),
            (Common::One(known), Some(one)) if known == one => Common::One(known),
            _ => Common::Nothing,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_called_by_the_host_that_has_no_other() {
        let cluster = Cluster::plain(vec![Host::plain("a", 2), Host::plain("b", 2)]);
        let fabric = Fabric::of(&cluster).unwrap();
        let mut names = names(&fabric, &cluster);
        names.sort();
        assert_eq!(names, ["into a", "into b", "out of a", "out of b"]);
    }

    #[test]
    fn links_between_switches_are_called_by_the_switch() {
        let text = "format = 1\n[machine]\nname = \"tree\"\n[[node]]\nkind = \"n\"\ncount = 6\ncores = 1\n\
                    [topology]\nkind = \"fat_tree\"\nlevels = [{ down = 2 }, { down = 3 }]\nbandwidth_bytes_per_s = 1e9\nlatency_s = 0\n";
        let machine = Machine::parse(text, Path::new("tree")).unwrap();
        let cluster = Cluster::of_machine(&machine, 0.0);
        let names = names(&Fabric::of(&cluster).unwrap(), &cluster);
        let called = |beginning: &str| names.iter().filter(|name| name.starts_with(beginning)).count();
        assert_eq!([called("out of switch 0, link "), called("into switch 1, link "), called("link ")], [1, 1, 0], "{names:?}");
    }

    #[test]
    fn a_better_placement_takes_bytes_from_links() {
        let cluster = Cluster::plain(vec![Host::plain("a", 2), Host::plain("b", 2)]);
        let edges = [sintonia_placement::Edge { ranks: [0, 2], there: 100, back: 100 }];
        let graph = Graph::new(vec![1; 4], &edges);
        let told = links(&graph, &cluster, [&Placement(vec![0, 1, 2, 3]), &Placement(vec![0, 2, 1, 3])]).unwrap();
        assert_eq!((told["used"].as_u64(), &told["busiest"][0]["bytes"]), (Some(4), &json!([100, 0])));
    }
}
