//! A figure measured several times: its median, and where the middle half of the measurements lies.

use serde::Serialize;

/// Median and quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Quartiles {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Quartiles {
    /// Of these values; `None` if there are none.
    pub(crate) fn from_values(values: impl IntoIterator<Item = f64>) -> Option<Quartiles> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Some(Quartiles { low: quantile(&values, 0.25)?, median: quantile(&values, 0.5)?, high: quantile(&values, 0.75)? })
    }
}

/// A quantile of sorted values, between two of them in proportion.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let index = part * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[index.floor() as usize], sorted[index.ceil() as usize]);
    Some(below + (above - below) * index.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_values() {
        assert_eq!(Quartiles::from_values([4.0, 1.0, 3.0, 2.0]), Some(Quartiles { low: 1.75, median: 2.5, high: 3.25 }));
        assert_eq!(Quartiles::from_values([7.0]), Some(Quartiles { low: 7.0, median: 7.0, high: 7.0 }));
        assert_eq!(Quartiles::from_values([]), None);
    }
}
