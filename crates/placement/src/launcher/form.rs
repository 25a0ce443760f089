//! A placement as rows of rank, host and slot: a table for people, JSON for programs.

use serde::Serialize;

use super::{Error, Launcher};
use crate::cluster::{Cluster, Placement};

/// How a placement is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a launcher reads it.
    Launcher(Launcher),
    /// A line for each rank: rank, host, slot.
    Table,
    /// A list of objects with rank, host and slot.
    Json,
}

/// Where a rank goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spot {
    /// The rank.
    pub rank: usize,
    /// The name of its host.
    pub host: String,
    /// The slot there, counted from 0.
    pub slot: u32,
}

impl Form {
    /// The form of that name: one of a launcher, `table` or `json`.
    pub fn named(name: &str) -> Option<Form> {
        match name {
            "table" => Some(Form::Table),
            "json" => Some(Form::Json),
            _ => Launcher::named(name).map(Form::Launcher),
        }
    }
}

impl Spot {
    /// Where each rank goes, in the order of ranks.
    pub fn all(placement: &Placement, cluster: &Cluster) -> Result<Vec<Spot>, Error> {
        let slots = cluster.slots();
        if let Some((rank, slot)) = placement.0.iter().copied().enumerate().find(|(_, slot)| *slot >= slots) {
            return Err(Error::NoSuchSlot { rank, slot, slots });
        }
        let row = |(rank, slot): (usize, crate::Slot)| Spot { rank, host: cluster.hosts[slot.host as usize].name.clone(), slot: slot.slot };
        Ok(placement.slots(cluster).into_iter().enumerate().map(row).collect())
    }

    /// Rows as a table.
    pub fn table(rows: &[Spot]) -> String {
        let width = rows.iter().map(|row| row.host.chars().count()).max().unwrap_or(0).max("host".len());
        let heading = format!("{:>7}  {:<width$}  {:>4}\n", "rank", "host", "slot");
        rows.iter().fold(heading, |text, row| text + &format!("{:>7}  {:<width$}  {:>4}\n", row.rank, row.host, row.slot))
    }

    /// Rows as JSON, one on each line.
    pub fn json(rows: &[Spot]) -> String {
        let object = |row: &Spot| format!("{{\"rank\":{},\"host\":{},\"slot\":{}}}", row.rank, json_string(&row.host), row.slot);
        format!("[{}]\n", rows.iter().map(object).collect::<Vec<_>>().join(",\n "))
    }
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Host;

    fn rows() -> Vec<Spot> {
        let hosts = vec![Host::plain("a", 1), Host::plain("b-long.name", 2)];
        let cluster = Cluster::plain(hosts);
        Spot::all(&Placement(vec![2, 0, 1]), &cluster).expect("all slots are there")
    }

    #[test]
    fn a_table_has_a_line_for_each_rank() {
        assert_eq!(
            Spot::table(&rows()),
            "   rank  host         slot\n      0  b-long.name     1\n      1  a               0\n      2  b-long.name     0\n"
        );
    }

    #[test]
    fn json_reads_back_as_the_rows() {
        let back: serde_json::Value = serde_json::from_str(&Spot::json(&rows())).expect("JSON");
        assert_eq!(back, serde_json::to_value(rows()).expect("rows are plain"));
        assert_eq!(back[0], serde_json::json!({"rank": 0, "host": "b-long.name", "slot": 1}));
    }

    #[test]
    fn a_rank_on_a_slot_that_is_not_there_is_refused() {
        let cluster = Cluster::plain(vec![Host::plain("a", 2)]);
        let error = Spot::all(&Placement(vec![1, 2]), &cluster).expect_err("there is no slot 2");
        assert_eq!(error.to_string(), "rank 1 has slot 2, and the hosts have 2");
    }
}
