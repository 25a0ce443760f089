//! Rates against their definition, and against a slow and simple solver.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use sintonia_machine::Machine;

use super::*;
use crate::interval_bound::IntervalBound;
use crate::network::FigureSelection;

const TOPOLOGIES: [&str; 9] = [
    "kind = \"bus\"\nnodes = 16",
    "kind = \"star\"\nnodes = 16\nswitch_bandwidth_bytes_per_s = 350",
    "kind = \"torus\"\ndimensions = [4, 4]",
    "kind = \"mesh\"\ndimensions = [4, 4]\nduplex = \"half\"",
    "kind = \"hypercube\"\ndimension = 4",
    "kind = \"fat_tree\"\nlevels = [{ down = 4, up = 1 }, { down = 4, up = 2, bandwidth_bytes_per_s = 130 }]",
    "kind = \"fat_tree\"\nlevels = [{ down = 4 }, { down = 4, up = 4 }]",
    "kind = \"fat_tree\"\nlevels = [{ down = 2 }, { down = 2, up = 2, bandwidth_bytes_per_s = 70 }, { down = 4, up = 2 }]",
    "kind = \"dragonfly\"\ngroups = 4\nrouters_per_group = 2\nnodes_per_router = 2",
];

fn fluid(topology: usize) -> FluidNetwork {
    let text = format!("format = 1\nmachine = {{ name = \"t\" }}\n[topology]\nbandwidth_bytes_per_s = 100\n{}\n", TOPOLOGIES[topology]);
    let machine = Machine::parse(&text, Path::new("t")).unwrap();
    FluidNetwork::new(NetworkRoutes::new(&machine.topology.unwrap(), FigureSelection::from(IntervalBound::Middle)).unwrap())
}

/// Messages in a row, many at the same time.
fn messages() -> impl Strategy<Value = Vec<(f64, NetworkTransfer)>> {
    let after = prop_oneof![2 => Just(0.0), 1 => Just(0.5), 2 => 0.0..2.0f64];
    let bytes = prop_oneof![3 => Just(64.0), 1 => Just(0.0), 2 => 1.0..1000.0f64];
    let least = prop_oneof![3 => Just(0.0), 1 => Just(0.04), 1 => 0.001..0.1f64];
    let latency = prop_oneof![Just(0.0), Just(0.25)];
    let message = (after, 0..16u32, 0..16u32, bytes, latency, least);
    prop::collection::vec(message, 1..80).prop_map(|list| {
        let mut at = 0.0;
        let message = |(after, from, to, bytes, latency_s, least_s_per_byte): (f64, u32, u32, f64, f64, f64)| {
            at += after;
            (at, NetworkTransfer { from, to, bytes, latency_s, min_s_per_byte: least_s_per_byte })
        };
        list.into_iter().map(message).collect()
    })
}

/// Every stream has a bottleneck and no link exceeds its capacity; checks all links of all routes, including those that can never limit.
fn is_fair(fluid: &mut FluidNetwork, messages: &[(f64, NetworkTransfer)]) -> Result<(), TestCaseError> {
    let capacities: Vec<f64> = fluid.routes.speeds().iter().map(|speed| speed.bytes_per_s).collect();
    let flowing: BTreeSet<u32> = (0..).zip(&capacities).flat_map(|(link, _)| fluid.links[link].streams.to_vec()).collect();
    let mut carried: Vec<Vec<u32>> = vec![Vec::new(); capacities.len()];
    let mut route = Vec::new();
    for &slot in &flowing {
        let (_, transfer) = messages[fluid.streams[slot].transfer as usize];
        fluid.routes.find_route(transfer.from, transfer.to, &mut route);
        route.iter().for_each(|link| carried[*link as usize].push(slot));
    }
    let rate = |slot: &u32| fluid.rates[*slot as usize].rate;
    let mut hindered: BTreeSet<u32> = BTreeSet::new();
    for (slots, capacity) in carried.iter().zip(capacities) {
        let taken: f64 = slots.iter().map(rate).sum();
        prop_assert!(taken <= capacity * (1.0 + 1e-6), "{taken} over a link of {capacity}");
        let greatest = slots.iter().map(rate).fold(0.0, f64::max);
        let is_full = taken >= capacity * (1.0 - 1e-6);
        hindered.extend(slots.iter().filter(|slot| is_full && rate(slot) >= greatest * (1.0 - 1e-6)));
    }
    for &slot in &flowing {
        let own = rate(&slot) >= fluid.streams[slot].max_rate * (1.0 - 1e-6);
        prop_assert!(own || hindered.contains(&slot), "a stream could have more than {}", rate(&slot));
    }
    Ok(())
}

/// Arrival times by recomputing all rates at every event.
fn slowly(routes: &NetworkRoutes, messages: &[(f64, NetworkTransfer)]) -> Vec<f64> {
    let mut arrivals = vec![f64::NAN; messages.len()];
    let mut remaining: Vec<f64> = messages.iter().map(|(_, transfer)| transfer.bytes).collect();
    let link_lists: Vec<Vec<LinkId>> = messages
        .iter()
        .map(|(_, transfer)| {
            let mut route = Vec::new();
            routes.find_route(transfer.from, transfer.to, &mut route);
            route
        })
        .collect();
    let starts: Vec<f64> = messages.iter().map(|(at, transfer)| at + transfer.latency_s).collect();
    let mut now = 0.0;
    loop {
        let flowing: Vec<usize> = (0..messages.len()).filter(|one| starts[*one] <= now && arrivals[*one].is_nan()).collect();
        let rates = filled(routes, messages, &link_lists, &flowing);
        let ends = flowing.iter().zip(&rates).map(|(one, rate)| now + remaining[*one] / rate);
        let next = ends.chain(starts.iter().copied().filter(|start| *start > now)).fold(f64::INFINITY, f64::min);
        if next == f64::INFINITY {
            return arrivals;
        }
        for (one, rate) in flowing.into_iter().zip(rates) {
            let over = now + remaining[one] / rate <= next * (1.0 + 1e-12);
            remaining[one] -= if over { remaining[one] } else { rate * (next - now) };
            if over {
                arrivals[one] = next;
            }
        }
        now = next;
    }
}

fn filled(routes: &NetworkRoutes, messages: &[(f64, NetworkTransfer)], link_lists: &[Vec<LinkId>], flowing: &[usize]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; flowing.len()];
    while rates.iter().any(Option::is_none) {
        let part = |link: LinkId| {
            let on = |index: &usize| link_lists[flowing[*index]].contains(&link);
            let all: Vec<usize> = (0..flowing.len()).filter(on).collect();
            let taken: f64 = all.iter().filter_map(|index| rates[*index]).sum();
            let open = all.iter().filter(|index| rates[**index].is_none()).count();
            (routes.speeds()[link as usize].bytes_per_s - taken).max(0.0) / open as f64
        };
        let could = |index: &usize| {
            let own = 1.0 / messages[flowing[*index]].1.min_s_per_byte;
            link_lists[flowing[*index]].iter().map(|link| part(*link)).fold(own, f64::min)
        };
        let open: Vec<(usize, f64)> =
            (0..flowing.len()).filter(|index| rates[*index].is_none()).map(|index| (index, could(&index))).collect();
        let least = open.iter().map(|(_, could)| *could).fold(f64::INFINITY, f64::min);
        open.iter().filter(|(_, could)| *could <= least * (1.0 + 1e-12)).for_each(|(index, could)| rates[*index] = Some(*could));
    }
    rates.into_iter().flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn at_every_moment_rates_are_fair_and_links_carry_what_they_can(topology in 0..TOPOLOGIES.len(), messages in messages()) {
        let mut fluid = fluid(topology);
        let mut arrived = Vec::new();
        for (id, (at, transfer)) in (0..).zip(&messages) {
            while fluid.next_time().is_some_and(|next| next < *at) {
                fluid.advance(&mut arrived);
                is_fair(&mut fluid, &messages)?;
            }
            fluid.begin(*at, id, *transfer);
        }
        while fluid.next_time().is_some() {
            fluid.advance(&mut arrived);
            is_fair(&mut fluid, &messages)?;
        }
        arrived.sort_unstable();
        prop_assert_eq!(arrived, (0..messages.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn messages_arrive_when_a_simple_solver_says(topology in 0..TOPOLOGIES.len(), messages in messages()) {
        let mut fluid = fluid(topology);
        let expected = slowly(&fluid.routes, &messages);
        let found = crate::network::tests::arrivals_in(&mut fluid, &messages);
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found - expected).abs() <= 1e-6 * expected.max(1.0), "{found} {expected}");
        }
    }
}
