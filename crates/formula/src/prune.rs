//! Maxima and minima pruned by where the parameters lie.
//!
//! While a formula is built nothing is known of a parameter but that it is not negative: `max(n, n^2)` must stay. Where every parameter is at
//! least one it is `n^2`.

use std::collections::HashMap;

use crate::atom::{Atom, Extreme, Kind};
use crate::build;
use crate::compare::FromEnds;
use crate::domain::Domain;
use crate::formula::Formula;
use crate::substitute::{Change, rebuilt, with_parts};

/// The formula with only those entries of maxima and minima that can be the extreme somewhere in the domain.
pub(crate) fn pruned(formula: &Formula, domain: &Domain) -> Formula {
    rebuilt(formula, &mut Pruning { domain, done: HashMap::new() })
}

struct Pruning<'a> {
    domain: &'a Domain,
    /// What atoms became, by where they lie; the atoms are kept so that no other can come to lie there.
    done: HashMap<usize, (Atom, Formula)>,
}

impl Change for Pruning<'_> {
    fn concerns(&self, atom: &Atom) -> bool {
        !matches!(atom.kind(), Kind::Symbol(_) | Kind::Ln2 | Kind::TooDeep)
    }

    fn atom(&mut self, atom: &Atom) -> Formula {
        if let Some((_, done)) = self.done.get(&atom.address()) {
            return done.clone();
        }
        let changed = match atom.kind() {
            Kind::Extreme(side, entries) => {
                let entries = entries.iter().map(|entry| rebuilt(entry, self)).collect();
                build::extreme(*side, undominated(*side, entries, self.domain))
            }
            kind => with_parts(kind, |part| rebuilt(part, self)),
        };
        self.done.insert(atom.address(), (atom.clone(), changed.clone()));
        changed
    }
}

fn undominated(side: Extreme, entries: Vec<Formula>, domain: &Domain) -> Vec<Formula> {
    let mut from_ends = FromEnds::of(domain);
    match entries.iter().map(|entry| from_ends.seen(entry)).collect::<Option<Vec<_>>>() {
        Some(seen) => entries.into_iter().zip(build::undominated(side, &seen)).filter_map(|(entry, kept)| kept.then_some(entry)).collect(),
        None => entries,
    }
}
