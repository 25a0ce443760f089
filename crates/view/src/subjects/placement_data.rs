//! A placement as data for its page: hosts, current and proposed slots of ranks, link loads, and the launcher file with its command.

use std::path::Path;

use serde_json::{Value, json};
use sintonia_insight::critical_path::CriticalPathProfile;
use sintonia_machine::Machine;
use sintonia_placement::available_hosts::AvailableHosts;
use sintonia_placement::fabric::{self, Fabric};
use sintonia_placement::input::PlacementInput;
use sintonia_placement::launcher::CoreBinding;
use sintonia_placement::launcher_file::{self, WrittenPlacement};
use sintonia_placement::link_names::link_names;
use sintonia_placement::objective::LinkLoads;
use sintonia_placement::partition::SearchEffort;
use sintonia_placement::proposal::{PlacementGoal, PlacementProposal, PlacementRequest, ProposalSearch};
use sintonia_placement::report::PlacementReport;
use sintonia_placement::{Cluster, Error, Host, Placement, RankGraph};
use sintonia_recording::Recording;

/// The maximum number of reported links, busiest first.
const MAX_LINKS: usize = 256;

/// What the page asks for.
const REQUEST: PlacementRequest =
    PlacementRequest { goal: PlacementGoal::Congestion, effort: SearchEffort::Usual, compare: true, built_in: false };

/// Places the ranks of a recording, and returns the data of the page.
pub(super) fn placement_data(path: &Path, machine: Option<Machine>, hosts: Option<Vec<Host>>) -> Result<Value, Error> {
    let input = PlacementInput::from_recording(path, Recording::open(path)?, || ())?;
    input.check_connected()?;
    let hosts = AvailableHosts::find(machine, hosts, &input)?;
    let search = ProposalSearch::new(&REQUEST, &input, &hosts)?;
    let critical = input.recorded_calls().map(|recording| CriticalPathProfile::messages(recording, &|| ())).transpose()?;
    let proposal = search.run(critical.unwrap_or_default(), &|_| ())?;
    let file = match proposal.no_gain_reason {
        None => LauncherFile::new(path, &input, &hosts, &proposal),
        Some(_) => Ok(LauncherFile::default()),
    };
    let (file, refused) = match file {
        Ok(file) => (file, None),
        Err(error) => (LauncherFile::default(), Some(error.to_string())),
    };
    let goal = REQUEST.goal;
    let report = PlacementReport { goal, input: &input, hosts: &hosts, proposal: &proposal, written: &file.written, measured: None };
    let mut value = report.to_json();
    value["verdict"] = json!(report.verdict());
    value["hosts"] = hosts_json(&hosts.cluster);
    value["slots"] = json!({"now": proposal.current.placement.0, "placed": proposal.proposed.placement.0});
    value["links"] = links_json(&input.traffic, &hosts.cluster, [&proposal.current.placement, &proposal.proposed.placement])?;
    value["sheet"] = json!({"name": file.name, "text": file.text, "refused": refused});
    Ok(value)
}

/// The file for the launcher.
#[derive(Default)]
struct LauncherFile {
    name: String,
    text: String,
    written: WrittenPlacement,
}

impl LauncherFile {
    fn new(recording: &Path, input: &PlacementInput, hosts: &AvailableHosts, proposal: &PlacementProposal) -> Result<LauncherFile, Error> {
        let form = launcher_file::default_form(input);
        let launch = launcher_file::launcher_output(form, CoreBinding::Bound, hosts, proposal)?;
        let text = launch.render_as(form)?;
        let stem = recording.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{stem}.placement");
        let mut written = launcher_file::describe_written(Path::new(&name), form, &launch, input);
        // Nothing is written: the reader of the page may save it.
        written.path = None;
        Ok(LauncherFile { name, text, written })
    }
}

/// The hosts and their groups. Hosts without slots are left out; slot numbers are the same without them.
fn hosts_json(cluster: &Cluster) -> Value {
    let host = |(number, host): (u32, &Host)| {
        json!({
            "name": host.name, "slots": host.slots, "slots_per_socket": host.slots_per_socket,
            "slots_per_complex": host.slots_per_complex, "group": cluster.host_group(number),
        })
    };
    (0..).zip(&cluster.hosts).filter(|(_, host)| host.slots > 0).map(host).collect::<Vec<_>>().into()
}

/// Link loads before and after, busiest first.
fn links_json(graph: &RankGraph, cluster: &Cluster, placements: [&Placement; 2]) -> Result<Value, fabric::Error> {
    let fabric = Fabric::from_cluster(cluster)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_placement_takes_bytes_from_links() {
        let cluster = Cluster::new(vec![Host::new("a", 2), Host::new("b", 2)]);
        let edges = [sintonia_placement::ExchangeEdge { ranks: [0, 2], forward: 100, backward: 100 }];
        let graph = RankGraph::new(vec![1; 4], &edges);
        let links = links_json(&graph, &cluster, [&Placement(vec![0, 1, 2, 3]), &Placement(vec![0, 2, 1, 3])]).unwrap();
        assert_eq!((links["used"].as_u64(), &links["busiest"][0]["bytes"]), (Some(4), &json!([100, 0])));
    }
}
