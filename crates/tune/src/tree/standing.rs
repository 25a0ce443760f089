//! What every host has to know: asked of those that come later as well.

use crate::point::{Join, MeasurePoint, Needs};
use crate::talk::{Ask, Change};

/// What has been asked and still holds.
#[derive(Debug, Default)]
pub struct Standing {
    needs: Option<Vec<Needs>>,
    looks: Vec<(usize, usize, MeasurePoint)>,
    changes: Vec<Change>,
    begun: bool,
}

impl Standing {
    /// Notes what is asked.
    pub fn note(&mut self, ask: &Ask) {
        match ask {
            Ask::Needs(needs) => self.needs = Some(needs.clone()),
            Ask::Begin => self.begun = true,
            Ask::Change(change) => {
                self.changes.retain(|other| !other.is_of_same(change));
                self.changes.push(*change);
            }
            Ask::Look { tunlet, number, point } => self.looks.push((*tunlet, *number, point.clone())),
            Ask::Callees { .. } => {}
            Ask::LookAway { tunlet, number } => self.looks.retain(|(other, place, _)| (other, place) != (tunlet, number)),
        }
    }

    /// All that holds, in an order in which it can be asked.
    pub fn asks(&self) -> Vec<Ask> {
        let needs = self.needs.iter().cloned().map(Ask::Needs);
        let changes = self.changes.iter().copied().map(Ask::Change);
        let looks = self.looks.iter().cloned().map(|(tunlet, number, point)| Ask::Look { tunlet, number, point });
        needs.chain(changes).chain(looks).chain(self.begun.then_some(Ask::Begin)).collect()
    }

    /// How events of a measure point may be joined.
    pub fn join_of(&self, tunlet: usize, point: usize) -> Option<Join> {
        let declared = self.needs.as_ref().and_then(|needs| needs.get(tunlet)?.measures.get(point));
        let looked_at = || self.looks.iter().find(|(other, number, _)| (*other, *number) == (tunlet, point)).map(|(.., point)| point);
        declared.or_else(looked_at).map(|point| point.join)
    }
}

#[cfg(test)]
mod tests {
    use sintonia_link::order::Side;

    use super::*;
    use crate::point::Actor;

    #[test]
    fn a_host_that_comes_late_is_asked_what_still_holds() {
        let mut standing = Standing::default();
        let point =
            || MeasurePoint { actor: Actor::All, function: "f".into(), side: Side::Exit, values: Vec::new(), join: Join::Over(0.5) };
        let change = |number, value| Change { number, tunlet: 0, point: 1, value, rank: None };
        let asks = [
            Ask::Needs(vec![Needs::default()]),
            Ask::Begin,
            Ask::Change(change(1, 3.0)),
            Ask::Look { tunlet: 0, number: 7, point: point() },
            Ask::Look { tunlet: 0, number: 8, point: point() },
            Ask::Change(change(2, 4.0)),
            Ask::LookAway { tunlet: 0, number: 7 },
        ];
        asks.iter().for_each(|ask| standing.note(ask));
        assert_eq!(standing.asks(), [asks[0].clone(), asks[5].clone(), asks[4].clone(), Ask::Begin]);
        assert_eq!((standing.join_of(0, 8), standing.join_of(0, 7)), (Some(Join::Over(0.5)), None));
    }
}
