//! Places the vertices of a METIS file on the slots of a hierarchy, as other mappers are asked to: for comparison with them.
//!
//! `cargo run --release -p sintonia-placement --example map -- GRAPH 4:2:8:8 1:2:10:20 SLOTS [--congestion] [--quick|--thorough]`
//!
//! Counts and distances are written from the inside out: groups of 4 slots, hosts of 2 groups, racks of 8 hosts, 8 racks. Where domains are not
//! alike, a level has a list that is gone through again and again: `4,6:2:8:8`. The first two levels are in a host. The slot of each vertex is
//! written to SLOTS, one on each line. With `--congestion` the busiest link of a host is what counts, else bytes times distance.

use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

use sintonia_formats::metis;
use sintonia_placement::fabric::Fabric;
use sintonia_placement::mapping::{byte_distance, onto_hierarchy};
use sintonia_placement::objective::{Objective, cost};
use sintonia_placement::partition::Effort;
use sintonia_placement::refine::refine;
use sintonia_placement::{Cluster, Distances, Edge, Graph, Hierarchy, Host, Level};

/// How many levels there are in a host.
const HOST_LEVELS: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let (options, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let is_told = |option: &str| options.iter().any(|told| told == option);
    let effort = match (is_told("--quick"), is_told("--thorough")) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Thorough,
        _ => Effort::Usual,
    };
    let [file, counts, distances, out] = words.as_slice() else {
        return Err("wanted: GRAPH COUNTS DISTANCES SLOTS [--congestion] [--quick|--thorough]".into());
    };
    let graph = read(file)?;
    let (hierarchy, distances) = hierarchy(counts, distances)?;
    let fabric = Fabric::of(&cluster(&hierarchy, &distances))?;
    let begin = Instant::now();
    let mut placement = onto_hierarchy(&graph, &hierarchy, &[], effort);
    if is_told("--congestion") {
        placement = refine(&graph, &fabric, &placement, Objective::Congestion, effort);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let lines = placement.0.iter().fold(String::new(), |mut lines, slot| {
        let _ = writeln!(lines, "{slot}");
        lines
    });
    std::fs::write(out, lines)?;
    let busiest = cost(&graph, &fabric, &placement).busiest_link_s;
    let once = byte_distance(&graph, &hierarchy, &placement) / 2.0;
    println!("bytes times distance {once}, busiest link {busiest}, {seconds:.3} s");
    Ok(())
}

/// The graph of a file: what an edge weighs goes in each direction, so that halves need no rounding.
fn read(file: &str) -> Result<Graph, Box<dyn Error>> {
    let read = metis::read(&std::fs::read(file)?).map_err(|problem| format!("{file}: {problem}"))?;
    let edge = |edge: &sintonia_formats::Edge| Edge { ranks: edge.ends, there: edge.weight, back: edge.weight };
    Ok(Graph::new(read.vertices, &read.edges.iter().map(edge).collect::<Vec<Edge>>()))
}

/// The hierarchy, and the distances as told: from the inside out.
fn hierarchy(counts: &str, distances: &str) -> Result<(Hierarchy, Vec<f64>), Box<dyn Error>> {
    let lists = counts.split(':').map(|level| level.split(',').map(str::parse).collect());
    let lists = lists.collect::<Result<Vec<Vec<u32>>, _>>()?;
    let distances = distances.split(':').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    if lists.len() != distances.len() {
        return Err("wanted as many distances as levels".into());
    }
    // How many parts each domain has, from the whole machine down: that says how many domains the next list is for.
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
        levels.push(Level { starts: starts.clone(), distance: *distance });
    }
    levels.reverse();
    Ok((Hierarchy::new(levels), distances))
}

/// Hosts at one switch.
fn cluster(hierarchy: &Hierarchy, distances: &[f64]) -> Cluster {
    let levels = hierarchy.levels();
    let hosts = &levels[levels.len().saturating_sub(HOST_LEVELS)].starts;
    let host = |(number, ends): (usize, &[u32])| Host::plain(format!("host{number}"), ends[1] - ends[0]);
    let [inside, across] = [1, HOST_LEVELS].map(|level| distances.get(level).copied().unwrap_or(distances[distances.len() - 1]));
    let distances = Distances { same_complex: inside, same_socket: inside, same_host: inside, per_link: across / 2.0 };
    Cluster { hosts: hosts.windows(2).enumerate().map(host).collect(), topology: None, bytes_per_s: 1.0, distances }
}
