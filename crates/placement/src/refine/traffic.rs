//! What goes over each link while ranks change places: an exchange touches only the links on the ways of those two ranks.

use super::board::{Board, Exchange};
use crate::fabric::{Fabric, LinkId};
use crate::objective::Loads;

/// Loads of links, and how an exchange that is thought about would change them.
#[derive(Clone)]
pub struct Traffic {
    loads: Loads,
    /// By link; nothing but on those that are touched.
    changes: Vec<i64>,
    is_touched: Vec<bool>,
    touched: Vec<LinkId>,
    talk: Talk,
    room: Vec<LinkId>,
    /// Neighbours and links that were looked at.
    work: u64,
}

/// How busy links weigh: the higher the power, the more the busiest one alone.
#[derive(Clone, Copy, Debug)]
pub struct Weighing {
    /// The power of two to which times are taken is two to this.
    pub doublings: u32,
    /// A link that is busy so long weighs 1.
    pub scale_s: f64,
}

/// What a rank exchanges with all ranks of each host together.
#[derive(Clone, Default)]
struct Talk {
    /// By host: sent, and received.
    bytes: Vec<[u64; 2]>,
    hosts: Vec<u32>,
}

impl Weighing {
    #[inline]
    fn of(self, busy_s: f64) -> f64 {
        (0..self.doublings).fold(busy_s / self.scale_s, |weight, _| weight * weight)
    }
}

impl Traffic {
    pub fn new(board: &Board) -> Traffic {
        let loads = Loads::of(board.graph, board.fabric, &board.placement());
        let talk = Talk { bytes: vec![[0, 0]; board.fabric.hosts() as usize], hosts: Vec::new() };
        let links = loads.0.len();
        let (changes, is_touched) = (vec![0; links], vec![false; links]);
        Traffic { loads, changes, is_touched, touched: Vec::new(), talk, room: Vec::new(), work: 0 }
    }

    /// How many neighbours and links were looked at since this was asked last.
    pub fn work_done(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// What an exchange does to the links, on top of others that are thought about; the board must not have made it yet, and has then.
    pub fn think(&mut self, board: &mut Board, exchange: Exchange) {
        let ranks = exchange.map(|slot| board.rank(slot));
        let hosts = exchange.map(|slot| board.fabric.host(slot));
        if hosts[0] != hosts[1] {
            // One after the other: what the two send each other is within a host meanwhile.
            let [first, second] = ranks;
            first.into_iter().for_each(|rank| self.go(board, rank, hosts, None));
            second.into_iter().for_each(|rank| self.go(board, rank, [hosts[1], hosts[0]], first.map(|rank| (rank, hosts[1]))));
        }
        board.exchange(exchange);
    }

    /// A rank goes from host to host; another may have gone before it.
    fn go(&mut self, board: &Board, rank: u32, [from, to]: [u32; 2], gone: Option<(u32, u32)>) {
        let arcs = board.graph.arcs(rank);
        self.work += arcs.len() as u64;
        for arc in arcs {
            let host = gone.filter(|(rank, _)| *rank == arc.to).map_or_else(|| board.host_of(arc.to), |(_, host)| host);
            self.talk.add(host, [arc.sent, arc.weight - arc.sent]);
        }
        while let Some(host) = self.talk.hosts.pop() {
            let [sent, received] = std::mem::take(&mut self.talk.bytes[host as usize]);
            self.shift(board.fabric, [from, host], -(sent as i64));
            self.shift(board.fabric, [host, from], -(received as i64));
            self.shift(board.fabric, [to, host], sent as i64);
            self.shift(board.fabric, [host, to], received as i64);
        }
    }

    /// So many bytes more from host to host.
    fn shift(&mut self, fabric: &Fabric, [from, to]: [u32; 2], bytes: i64) {
        if bytes == 0 || from == to {
            return;
        }
        let route = fabric.route(from, to, &mut self.room);
        self.work += route.len() as u64;
        for link in route {
            let change = &mut self.changes[*link as usize];
            *change = change.wrapping_add(bytes);
            if !std::mem::replace(&mut self.is_touched[*link as usize], true) {
                self.touched.push(*link);
            }
        }
    }

    /// How much more links weigh after what is thought about, 0 if that is next to nothing; none if one would be busier than the scale.
    pub fn heavier(&self, fabric: &Fabric, weighing: Weighing) -> Option<f64> {
        const HAIR: f64 = 1e-9;
        let (mut before, mut after) = (0.0, 0.0);
        for link in self.touched.iter().map(|link| *link as usize) {
            let (load, s_per_byte) = (self.loads.0[link], fabric.s_per_byte()[link]);
            let then_s = load.wrapping_add_signed(self.changes[link]) as f64 * s_per_byte;
            if then_s > weighing.scale_s * (1.0 + HAIR) && self.changes[link] > 0 {
                return None;
            }
            before += weighing.of(load as f64 * s_per_byte);
            after += weighing.of(then_s);
        }
        Some(if (after - before).abs() <= HAIR * before { 0.0 } else { after - before })
    }

    /// What was thought about is so.
    pub fn keep(&mut self) {
        for link in &self.touched {
            let load = &mut self.loads.0[*link as usize];
            *load = load.wrapping_add_signed(self.changes[*link as usize]);
        }
        self.forget();
    }

    /// What was thought about is not so.
    pub fn forget(&mut self) {
        for link in self.touched.drain(..) {
            self.changes[link as usize] = 0;
            self.is_touched[link as usize] = false;
        }
    }

    /// The ranks whose bytes go over links that are busy so long or longer, those with most bytes there first.
    pub fn busy_ranks(&mut self, board: &Board, busy_s: f64) -> Vec<u32> {
        let times = self.loads.0.iter().zip(board.fabric.s_per_byte()).map(|(load, s_per_byte)| *load as f64 * s_per_byte);
        let is_busy: Vec<bool> = times.map(|time_s| time_s > 0.0 && time_s >= busy_s).collect();
        let mut bytes = vec![0u64; board.graph.ranks()];
        for rank in 0..bytes.len() as u32 {
            let host = board.host_of(rank);
            for arc in board.graph.arcs(rank).iter().filter(|arc| arc.sent > 0) {
                let route = board.fabric.route(host, board.host_of(arc.to), &mut self.room);
                self.work += 1 + route.len() as u64;
                if route.iter().any(|link| is_busy[*link as usize]) {
                    [rank, arc.to].iter().for_each(|end| bytes[*end as usize] = bytes[*end as usize].saturating_add(arc.sent));
                }
            }
        }
        let mut ranks: Vec<u32> = (0..bytes.len() as u32).filter(|rank| bytes[*rank as usize] > 0).collect();
        ranks.sort_by_key(|rank| std::cmp::Reverse(bytes[*rank as usize]));
        ranks
    }

    /// What all links weigh together.
    pub fn weight(&self, fabric: &Fabric, weighing: Weighing) -> f64 {
        self.loads.0.iter().zip(fabric.s_per_byte()).map(|(load, s_per_byte)| weighing.of(*load as f64 * s_per_byte)).sum()
    }
}

impl Talk {
    #[inline]
    fn add(&mut self, host: u32, [sent, received]: [u64; 2]) {
        let bytes = &mut self.bytes[host as usize];
        if *bytes == [0, 0] {
            self.hosts.push(host);
        }
        *bytes = [bytes[0].wrapping_add(sent), bytes[1].wrapping_add(received)];
    }
}
