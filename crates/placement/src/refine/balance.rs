//! Hosts evened out before anything else, where some compute much longer than the mean.

use super::board::{Board, Exchange};
use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::Graph;
use crate::objective::TOLERATED_IMBALANCE;

/// With at most so many hosts each is tried against the slowest; else so many of those that have least to do, and so many of those nearby.
const FEW: usize = 8;

/// So many exchanges and hosts are looked at: a second, or a few.
const MOST_WORK: usize = 10_000_000;

/// The placement with hosts that compute about as long as each other, if they do not yet and exchanges can make it so.
pub fn evened(graph: &Graph, fabric: &Fabric, start: &Placement) -> Option<Placement> {
    let mut board = Board::new(graph, fabric, start);
    let (mut steps, mut work) = (0, 0);
    while let Some(exchange) = relief(&board, &mut work).filter(|_| steps < graph.ranks() && work < MOST_WORK) {
        board.exchange(exchange);
        steps += 1;
    }
    (steps > 0).then(|| board.placement())
}

/// The exchange that makes the slowest host compute less, and for that lets bytes go least farther.
fn relief(board: &Board, work: &mut usize) -> Option<Exchange> {
    let excess = |host: u32| board.computing().excess(host);
    let slowest = (0..board.fabric.hosts()).max_by(|one, other| excess(*one).total_cmp(&excess(*other)))?;
    let worst = excess(slowest);
    if worst <= TOLERATED_IMBALANCE {
        return None;
    }
    let others: Vec<u32> = helpers(board, slowest).into_iter().flat_map(|host| board.fabric.slots_of(host)).collect();
    let own = board.fabric.slots_of(slowest).filter(|slot| board.rank(*slot).is_some());
    *work += board.fabric.hosts() as usize + others.len() * board.fabric.slots_of(slowest).len();
    let price = |exchange: Exchange| {
        let relief = worst - board.excess_after(exchange).max(TOLERATED_IMBALANCE);
        let farther = board.farther(exchange);
        // Much relief makes a loss small and a gain large.
        (relief > 1e-9).then_some(if farther < 0.0 { farther * relief } else { farther / relief })
    };
    let exchanges = own.flat_map(|own| others.iter().map(move |other| [own, *other]));
    let priced = exchanges.filter_map(|exchange| price(exchange).map(|price| (price, exchange)));
    priced.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, exchange)| exchange)
}

/// Hosts that could take something from the slowest.
fn helpers(board: &Board, slowest: u32) -> Vec<u32> {
    let mut hosts: Vec<u32> = (0..board.fabric.hosts()).filter(|host| *host != slowest).collect();
    if hosts.len() > FEW {
        let excess = |host: &u32| board.computing().excess(*host);
        let mut nearby: Vec<u32> = hosts.iter().copied().filter(|host| host.abs_diff(slowest) as usize <= FEW / 2).collect();
        hosts.select_nth_unstable_by(FEW, |one, other| excess(one).total_cmp(&excess(other)).then(one.cmp(other)));
        hosts.truncate(FEW);
        hosts.append(&mut nearby);
        hosts.sort_unstable();
        hosts.dedup();
    }
    hosts
}
