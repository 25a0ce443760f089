//! Expressions as text.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};

use sintonia_formula::Formula;
use sintonia_machine::Named;

use super::{Cost, Dealt, Expression, Fold, Kind, Range};
use crate::bindings::{Bindings, called, computer, doer, replaced, unused};
use crate::model::{Computer, Operation};

/// What is written with more parts is told by its size only: nobody reads it, and it may not even fit into memory.
const READABLE: u64 = 200_000;

impl Display for Expression {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.size() > READABLE {
            return write!(out, "(an expression of {} parts)", self.size());
        }
        Printer { out, names: BTreeMap::new() }.expression(self)
    }
}

/// The name of the cost of an operation, as `t_sum_double_p`.
pub(crate) fn cost_of(operation: &Operation) -> String {
    let parts = [Some(operation.name.as_str()), operation.of.as_deref(), operation.on.as_ref().map(|on| on.0.as_str())];
    parts.into_iter().flatten().fold("t".to_owned(), |name, part| format!("{name}_{part}"))
}

struct Printer<'a, 'b> {
    out: &'a mut Formatter<'b>,
    /// What names stand for here, where that is not themselves.
    names: BTreeMap<String, Formula>,
}

impl Printer<'_, '_> {
    fn expression(&mut self, expression: &Expression) -> fmt::Result {
        match expression.kind() {
            Kind::Cost(cost) => self.cost(cost),
            Kind::Add(parts) if parts.is_empty() => self.out.write_char('0'),
            Kind::Add(parts) => self.list(parts, " + "),
            Kind::Max(parts) => self.enclosed("max(", parts),
            Kind::Min(parts) => self.enclosed("min(", parts),
            Kind::Times(factor, body) => {
                self.factor(factor)?;
                self.out.write_str("*(")?;
                self.expression(body)?;
                self.out.write_char(')')
            }
            Kind::Divided(body, by) => {
                self.out.write_char('(')?;
                self.expression(body)?;
                self.out.write_str(")/")?;
                self.factor(by)
            }
            Kind::Over(fold, range, body) => self.over(*fold, range, body),
            Kind::Tasks(dealt, range, computer, body) => self.tasks(*dealt, range, computer, body),
            Kind::With(bindings, body) => self.with(bindings, body),
        }
    }

    fn list(&mut self, parts: &[Expression], between: &str) -> fmt::Result {
        for (place, part) in parts.iter().enumerate() {
            if place > 0 {
                self.out.write_str(between)?;
            }
            self.expression(part)?;
        }
        Ok(())
    }

    fn enclosed(&mut self, begin: &str, parts: &[Expression]) -> fmt::Result {
        self.out.write_str(begin)?;
        self.list(parts, ", ")?;
        self.out.write_char(')')
    }

    fn cost(&mut self, cost: &Cost) -> fmt::Result {
        match cost {
            Cost::Operation(operation, times) => {
                let on = doer(operation.on.as_ref(), &self.meanings());
                let name = cost_of(&Operation { on, ..operation.clone() });
                if !times.is_one() {
                    self.factor(times)?;
                    self.out.write_char('*')?;
                }
                self.out.write_str(&name)
            }
            Cost::Message { from, to, bytes } => {
                let (from, to, bytes) = (self.computer(from), self.computer(to), self.formula(bytes));
                write!(self.out, "t_send_{}_{}({bytes})", from.0, to.0)
            }
            Cost::Group { operation, bytes, processes } => {
                let (bytes, processes) = (self.formula(bytes), self.formula(processes));
                write!(self.out, "t_{}({bytes}, {processes})", operation.name())
            }
            Cost::Delay(seconds) => {
                let seconds = self.formula(seconds);
                write!(self.out, "{seconds}")
            }
        }
    }

    fn over(&mut self, fold: Fold, range: &Range, body: &Expression) -> fmt::Result {
        let (from, to) = (self.formula(&range.from), self.formula(&range.to));
        let (index, hidden) = self.enter(&range.index);
        let word = if fold == Fold::Sum { "sum" } else { "max" };
        write!(self.out, "{word}({index}={from}..{to}, ")?;
        self.expression(body)?;
        self.leave(&range.index, hidden);
        self.out.write_char(')')
    }

    /// Which worker has which tasks is not known here, so that is said in words.
    fn tasks(&mut self, dealt: Dealt, range: &Range, worker: &Computer, body: &Expression) -> fmt::Result {
        let (from, to) = (self.formula(&range.from), self.formula(&range.to));
        let (index, hidden_index) = self.enter(&range.index);
        let (named, hidden_worker) = self.enter(&worker.0);
        match dealt {
            Dealt::Longest => write!(self.out, "max({named}=1..p, sum({index}={from}..{to} of {named}, ")?,
            Dealt::All | Dealt::Even => write!(self.out, "sum({index}={from}..{to}, ")?,
        }
        self.expression(body)?;
        self.leave(&worker.0, hidden_worker);
        self.leave(&range.index, hidden_index);
        self.out.write_str(match dealt {
            Dealt::Longest => "))",
            Dealt::All => ")",
            Dealt::Even => ")/p",
        })
    }

    fn with(&mut self, bindings: &Bindings, body: &Expression) -> fmt::Result {
        let meanings: Bindings = bindings.iter().map(|(name, by)| (name.clone(), self.formula(by))).collect();
        let hidden: Vec<_> = meanings.into_iter().map(|(name, by)| (name.clone(), self.names.insert(name, by))).collect();
        self.expression(body)?;
        hidden.into_iter().for_each(|(name, hidden)| self.leave(&name, hidden));
        Ok(())
    }

    /// Begins the scope of an index: under another name if something that is written inside means something else by it.
    fn enter(&mut self, index: &str) -> (String, Option<Formula>) {
        let taken = |name: &str| self.names.iter().any(|(own, by)| own != index && by.symbols().contains(name));
        let shown = if taken(index) { unused(index, taken) } else { index.to_owned() };
        let hidden = self.names.insert(index.to_owned(), Formula::symbol(&shown));
        (shown, hidden)
    }

    fn leave(&mut self, name: &str, hidden: Option<Formula>) {
        match hidden {
            Some(hidden) => self.names.insert(name.to_owned(), hidden),
            None => self.names.remove(name),
        };
    }

    fn meanings(&self) -> Bindings {
        self.names.iter().map(|(name, by)| (name.clone(), by.clone())).collect()
    }

    fn formula(&self, formula: &Formula) -> Formula {
        replaced(formula, &self.meanings())
    }

    fn computer(&self, own: &Computer) -> Computer {
        computer(own, &self.meanings())
    }

    fn factor(&mut self, factor: &Formula) -> fmt::Result {
        let factor = self.formula(factor);
        if factor.len() > 1 { write!(self.out, "({factor})") } else { write!(self.out, "{}", called(&factor)) }
    }
}
