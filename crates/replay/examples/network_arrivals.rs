//! Arrival times of messages that share the links of a machine. Input: one message per line (`begins_s from to bytes`); output: one time
//! per line.
//!
//!     cargo run --release -p sintonia-replay --example network_arrivals X.machine.toml MESSAGES

use std::path::Path;

use sintonia_machine::Machine;
use sintonia_replay::network::{self, NetworkModel, NetworkTransfer};
use sintonia_replay::platform::IntervalBound;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [machine, messages] = &words[..] else { return Err("give a machine file and a file of messages".into()) };
    let machine = Machine::read(Path::new(machine))?;
    let messages = read(&std::fs::read_to_string(messages)?)?;
    let mut network = network::build(&machine, IntervalBound::Middle.into())?;
    for arrival in arrivals(&mut *network, &messages) {
        println!("{arrival:.9}");
    }
    Ok(())
}

fn read(text: &str) -> Result<Vec<(f64, NetworkTransfer)>, Error> {
    let message = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [begins, from, to, bytes] => Ok((
            begins.parse()?,
            NetworkTransfer { from: from.parse()?, to: to.parse()?, bytes: bytes.parse()?, ..NetworkTransfer::default() },
        )),
        _ => Err(format!("`{line}` is no message: begins_s from to bytes").into()),
    };
    text.lines().map(message).collect()
}

fn arrivals(network: &mut dyn NetworkModel, messages: &[(f64, NetworkTransfer)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by(|a, b| messages[*b].0.total_cmp(&messages[*a].0));
    let (mut arrivals, mut arrived) = (vec![0.0; messages.len()], Vec::new());
    loop {
        let next = network.next_time();
        match order.last().map(|index| messages[*index].0) {
            Some(at) if next.is_none_or(|next| at <= next) => {
                let index = order.pop().unwrap_or_default();
                network.begin(at, index as u32, messages[index].1);
            }
            _ => {
                let Some(now) = next else { return arrivals };
                network.advance(&mut arrived);
                arrived.drain(..).for_each(|flow| arrivals[flow as usize] = now);
            }
        }
    }
}
