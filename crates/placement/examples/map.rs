//! Maps the vertices of a METIS graph onto the slots of a hierarchy, for comparison with other mappers.
//!
//! `cargo run --release -p sintonia-placement --example map -- GRAPH 4:2:8:8 1:2:10:20 SLOTS [--congestion] [--quick|--thorough]`
//!
//! Counts and distances are given from the inside out: groups of 4 slots, hosts of 2 groups, racks of 8 hosts, 8 racks. For uneven domains,
//! a level has a list that is repeated: `4,6:2:8:8`. The first two levels are inside a host. The slot of each vertex is written to SLOTS,
//! one per line. With `--congestion` the most loaded link of a host is minimised, otherwise bytes times distance.

use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

use sintonia_formats::metis;
use sintonia_placement::fabric::Fabric;
use sintonia_placement::mapping::{byte_distance, map_onto_hierarchy};
use sintonia_placement::objective::{PlacementObjective, placement_cost};
use sintonia_placement::partition::SearchEffort;
use sintonia_placement::refine::refine;
use sintonia_placement::{Cluster, ExchangeEdge, HierarchyLevel, Host, RankGraph, SlotDistances, SlotHierarchy};

/// Number of levels inside a host.
const HOST_LEVELS: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let (options, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let is_told = |option: &str| options.iter().any(|told| told == option);
    let effort = match (is_told("--quick"), is_told("--thorough")) {
        (true, _) => SearchEffort::Quick,
        (_, true) => SearchEffort::Thorough,
        _ => SearchEffort::Usual,
    };
    let [file, counts, distances, out] = words.as_slice() else {
        return Err("wanted: GRAPH COUNTS DISTANCES SLOTS [--congestion] [--quick|--thorough]".into());
    };
    let graph = read(file)?;
    let (hierarchy, distances) = hierarchy(counts, distances)?;
    let fabric = Fabric::from_cluster(&cluster(&hierarchy, &distances))?;
    let begin = Instant::now();
    let mut placement = map_onto_hierarchy(&graph, &hierarchy, &[], effort);
    if is_told("--congestion") {
        placement = refine(&graph, &fabric, &placement, PlacementObjective::Congestion, effort);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let lines = placement.0.iter().fold(String::new(), |mut lines, slot| {
        let _ = writeln!(lines, "{slot}");
        lines
    });
    std::fs::write(out, lines)?;
    let busiest = placement_cost(&graph, &fabric, &placement).busiest_link_s;
    let once = byte_distance(&graph, &hierarchy, &placement) / 2.0;
    println!("bytes times distance {once}, busiest link {busiest}, {seconds:.3} s");
    Ok(())
}

/// The graph of a file. The weight of an edge counts in each direction, which avoids rounding.
fn read(file: &str) -> Result<RankGraph, Box<dyn Error>> {
    let read = metis::read(&std::fs::read(file)?).map_err(|problem| format!("{file}: {problem}"))?;
    let edge = |edge: &sintonia_formats::WeightedEdge| ExchangeEdge { ranks: edge.endpoints, forward: edge.weight, backward: edge.weight };
    Ok(RankGraph::new(read.vertex_weights, &read.edges.iter().map(edge).collect::<Vec<ExchangeEdge>>()))
}

/// The hierarchy and its distances, from the inside out.
fn hierarchy(counts: &str, distances: &str) -> Result<(SlotHierarchy, Vec<f64>), Box<dyn Error>> {
    let lists = counts.split(':').map(|level| level.split(',').map(str::parse).collect());
    let lists = lists.collect::<Result<Vec<Vec<u32>>, _>>()?;
    let distances = distances.split(':').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    if lists.len() != distances.len() {
        return Err("wanted as many distances as levels".into());
    }
    // Number of parts of each domain, from the whole machine down, which determines the length of the next list.
    let mut domains = 1;
    let mut parts = Vec::new();
    for list in lists.iter().rev() {
        let counts: Vec<u32> = list.iter().copied().cycle().take(domains).collect();
        domains = counts.iter().sum::<u32>() as usize;
        parts.push(counts);
    }
    // The first slot of each domain, from the slots up.
    let mut starts: Vec<u32> = (0..=domains as u32).collect();
    let mut levels = Vec::new();
    for (counts, distance) in parts.iter().rev().zip(&distances) {
        let ends = counts.iter().scan(0, |end, count| {
            *end += *count as usize;
            Some(*end)
        });
        starts = std::iter::once(0).chain(ends).map(|part| starts[part]).collect();
        levels.push(HierarchyLevel { starts: starts.clone(), distance: *distance });
    }
    levels.reverse();
    Ok((SlotHierarchy::new(levels), distances))
}

/// Hosts at one switch.
fn cluster(hierarchy: &SlotHierarchy, distances: &[f64]) -> Cluster {
    let levels = hierarchy.levels();
    let hosts = &levels[levels.len().saturating_sub(HOST_LEVELS)].starts;
    let host = |(number, ends): (usize, &[u32])| Host::new(format!("host{number}"), ends[1] - ends[0]);
    let [inside, across] = [1, HOST_LEVELS].map(|level| distances.get(level).copied().unwrap_or(distances[distances.len() - 1]));
    let distances = SlotDistances { same_complex: inside, same_socket: inside, same_host: inside, per_link: across / 2.0 };
    Cluster { hosts: hosts.windows(2).enumerate().map(host).collect(), topology: None, bytes_per_s: 1.0, distances }
}
