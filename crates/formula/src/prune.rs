//! Pruning of maxima and minima by the ranges of the parameters.
//!
//! While a formula is built a parameter is only known to be nonnegative, so `max(n, n^2)` must stay. If every parameter is at least one, it
//! is `n^2`.

use std::collections::HashMap;

use crate::atom::{Atom, AtomKind, Extremum};
use crate::build;
use crate::compare::ShiftedParameters;
use crate::domain::Domain;
use crate::formula::Formula;
use crate::substitute::{AtomRewriter, map_operands, rewrite};

impl Formula {
    /// Drops entries of maxima and minima that are dominated everywhere in the domain.
    pub fn refine(&self, domain: &Domain) -> Formula {
        rewrite(self, &mut ExtremumPruner { domain, cache: HashMap::new() })
    }
}

struct ExtremumPruner<'a> {
    domain: &'a Domain,
    /// The results for atoms by address; the atoms are kept alive so that no address is reused.
    cache: HashMap<usize, (Atom, Formula)>,
}

impl AtomRewriter for ExtremumPruner<'_> {
    fn may_rewrite(&self, atom: &Atom) -> bool {
        !matches!(atom.kind(), AtomKind::Symbol(_) | AtomKind::Ln2 | AtomKind::TooDeep)
    }

    fn rewrite_atom(&mut self, atom: &Atom) -> Formula {
        if let Some((_, done)) = self.cache.get(&atom.address()) {
            return done.clone();
        }
        let changed = match atom.kind() {
            AtomKind::Extremum(side, entries) => {
                let entries = entries.iter().map(|entry| rewrite(entry, self)).collect();
                build::extremum(*side, undominated(*side, entries, self.domain))
            }
            kind => map_operands(kind, |part| rewrite(part, self)),
        };
        self.cache.insert(atom.address(), (atom.clone(), changed.clone()));
        changed
    }
}

fn undominated(side: Extremum, entries: Vec<Formula>, domain: &Domain) -> Vec<Formula> {
    let mut from_ends = ShiftedParameters::new(domain);
    match entries.iter().map(|entry| from_ends.shift(entry)).collect::<Option<Vec<_>>>() {
        Some(seen) => entries.into_iter().zip(build::undominated(side, &seen)).filter_map(|(entry, kept)| kept.then_some(entry)).collect(),
        None => entries,
    }
}
