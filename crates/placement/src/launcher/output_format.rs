//! A placement as rows of rank, host and slot, as a table or JSON.

use serde::Serialize;

use super::{Error, MpiLauncher};
use crate::cluster::{Cluster, Placement};

/// Output format of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementFormat {
    /// The file of a launcher.
    Launcher(MpiLauncher),
    /// A table with rank, host and slot.
    Table,
    /// JSON: a list of objects with rank, host and slot.
    Json,
}

/// The slot of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankSlot {
    /// The rank.
    pub rank: usize,
    /// The host name.
    pub host: String,
    /// The slot on that host, from 0.
    pub slot: u32,
}

impl PlacementFormat {
    /// The format with this name: a launcher, `table` or `json`.
    pub fn from_name(name: &str) -> Option<PlacementFormat> {
        match name {
            "table" => Some(PlacementFormat::Table),
            "json" => Some(PlacementFormat::Json),
            _ => MpiLauncher::from_name(name).map(PlacementFormat::Launcher),
        }
    }
}

impl RankSlot {
    /// The slot of each rank, by rank.
    pub fn from_placement(placement: &Placement, cluster: &Cluster) -> Result<Vec<RankSlot>, Error> {
        let slots = cluster.slot_count();
        if let Some((rank, slot)) = placement.0.iter().copied().enumerate().find(|(_, slot)| *slot >= slots) {
            return Err(Error::NoSuchSlot { rank, slot, slots });
        }
        let row = |(rank, slot): (usize, crate::HostSlot)| RankSlot {
            rank,
            host: cluster.hosts[slot.host as usize].name.clone(),
            slot: slot.slot,
        };
        Ok(placement.host_slots(cluster).into_iter().enumerate().map(row).collect())
    }

    /// Formats rows as a table.
    pub fn to_table(rows: &[RankSlot]) -> String {
        let width = rows.iter().map(|row| row.host.chars().count()).max().unwrap_or(0).max("host".len());
        let heading = format!("{:>7}  {:<width$}  {:>4}\n", "rank", "host", "slot");
        rows.iter().fold(heading, |text, row| text + &format!("{:>7}  {:<width$}  {:>4}\n", row.rank, row.host, row.slot))
    }

    /// Formats rows as JSON, one per line.
    pub fn to_json(rows: &[RankSlot]) -> String {
        let object = |row: &RankSlot| format!("{{\"rank\":{},\"host\":{},\"slot\":{}}}", row.rank, json_string(&row.host), row.slot);
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

    fn rows() -> Vec<RankSlot> {
        let hosts = vec![Host::new("a", 1), Host::new("b-long.name", 2)];
        let cluster = Cluster::new(hosts);
        RankSlot::from_placement(&Placement(vec![2, 0, 1]), &cluster).expect("all slots are there")
    }

    #[test]
    fn a_table_has_a_line_for_each_rank() {
        assert_eq!(
            RankSlot::to_table(&rows()),
            "   rank  host         slot\n      0  b-long.name     1\n      1  a               0\n      2  b-long.name     0\n"
        );
    }

    #[test]
    fn json_reads_back_as_the_rows() {
        let back: serde_json::Value = serde_json::from_str(&RankSlot::to_json(&rows())).expect("JSON");
        assert_eq!(back, serde_json::to_value(rows()).expect("rows are plain"));
        assert_eq!(back[0], serde_json::json!({"rank": 0, "host": "b-long.name", "slot": 1}));
    }

    #[test]
    fn a_rank_on_a_slot_that_is_not_there_is_refused() {
        let cluster = Cluster::new(vec![Host::new("a", 2)]);
        let error = RankSlot::from_placement(&Placement(vec![1, 2]), &cluster).expect_err("there is no slot 2");
        assert_eq!(error.to_string(), "rank 1 is on slot 2, but the hosts have 2 slots");
    }
}
