//! The printer of cost expressions.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};

use sintonia_formula::Formula;
use sintonia_machine::Named;

use super::{AllocationMetric, CostExpr, CostExprKind, LoopRange, LoopReduction, PrimitiveCost};
use crate::bindings::{Bindings, bind_computer, display_name, resolve_computer, substitute_all, unused_name};
use crate::model::{ComputeOp, Computer};

/// Larger expressions are not printed in full: they may not fit into memory.
const MAX_PRINTED_SIZE: u64 = 200_000;

impl Display for CostExpr {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if self.size() > MAX_PRINTED_SIZE {
            return write!(out, "(an expression of {} nodes)", self.size());
        }
        CostPrinter { out, names: BTreeMap::new() }.expression(self)
    }
}

/// The symbol of an operation's cost, such as `t_sum_double_p`.
pub(crate) fn cost_symbol_name(operation: &ComputeOp) -> String {
    let parts = [Some(operation.name.as_str()), operation.data_type.as_deref(), operation.computer.as_ref().map(|on| on.0.as_str())];
    parts.into_iter().flatten().fold("t".to_owned(), |name, part| format!("{name}_{part}"))
}

struct CostPrinter<'a, 'b> {
    out: &'a mut Formatter<'b>,
    /// The current bindings of names.
    names: BTreeMap<String, Formula>,
}

impl CostPrinter<'_, '_> {
    fn expression(&mut self, expression: &CostExpr) -> fmt::Result {
        match expression.kind() {
            CostExprKind::Cost(cost) => self.cost(cost),
            CostExprKind::Add(parts) if parts.is_empty() => self.out.write_char('0'),
            CostExprKind::Add(parts) => self.list(parts, " + "),
            CostExprKind::Max(parts) => self.call("max(", parts),
            CostExprKind::Min(parts) => self.call("min(", parts),
            CostExprKind::Times(factor, body) => {
                self.factor(factor)?;
                self.out.write_str("*(")?;
                self.expression(body)?;
                self.out.write_char(')')
            }
            CostExprKind::Divided(body, by) => {
                self.out.write_char('(')?;
                self.expression(body)?;
                self.out.write_str(")/")?;
                self.factor(by)
            }
            CostExprKind::Loop(fold, range, body) => self.over(*fold, range, body),
            CostExprKind::Tasks(dealt, range, computer, body) => self.tasks(*dealt, range, computer, body),
            CostExprKind::Bound(bindings, body) => self.bound(bindings, body),
        }
    }

    fn list(&mut self, parts: &[CostExpr], between: &str) -> fmt::Result {
        for (place, part) in parts.iter().enumerate() {
            if place > 0 {
                self.out.write_str(between)?;
            }
            self.expression(part)?;
        }
        Ok(())
    }

    fn call(&mut self, begin: &str, parts: &[CostExpr]) -> fmt::Result {
        self.out.write_str(begin)?;
        self.list(parts, ", ")?;
        self.out.write_char(')')
    }

    fn cost(&mut self, cost: &PrimitiveCost) -> fmt::Result {
        match cost {
            PrimitiveCost::Operation(operation, times) => {
                let on = resolve_computer(operation.computer.as_ref(), &self.bindings());
                let name = cost_symbol_name(&ComputeOp { computer: on, ..operation.clone() });
                if !times.is_one() {
                    self.factor(times)?;
                    self.out.write_char('*')?;
                }
                self.out.write_str(&name)
            }
            PrimitiveCost::Message { from, to, bytes } => {
                let (from, to, bytes) = (self.computer(from), self.computer(to), self.formula(bytes));
                write!(self.out, "t_send_{}_{}({bytes})", from.0, to.0)
            }
            PrimitiveCost::Collective { operation, bytes, processes } => {
                let (bytes, processes) = (self.formula(bytes), self.formula(processes));
                write!(self.out, "t_{}({bytes}, {processes})", operation.name())
            }
            PrimitiveCost::Delay(seconds) => {
                let seconds = self.formula(seconds);
                write!(self.out, "{seconds}")
            }
        }
    }

    fn over(&mut self, fold: LoopReduction, range: &LoopRange, body: &CostExpr) -> fmt::Result {
        let (from, to) = (self.formula(&range.from), self.formula(&range.to));
        let (index, hidden) = self.enter(&range.index);
        let word = if fold == LoopReduction::Sum { "sum" } else { "max" };
        write!(self.out, "{word}({index}={from}..{to}, ")?;
        self.expression(body)?;
        self.leave(&range.index, hidden);
        self.out.write_char(')')
    }

    /// The allocation is not known here, so it is written as `of` the worker.
    fn tasks(&mut self, dealt: AllocationMetric, range: &LoopRange, worker: &Computer, body: &CostExpr) -> fmt::Result {
        let (from, to) = (self.formula(&range.from), self.formula(&range.to));
        let (index, hidden_index) = self.enter(&range.index);
        let (named, hidden_worker) = self.enter(&worker.0);
        match dealt {
            AllocationMetric::Makespan => write!(self.out, "max({named}=1..p, sum({index}={from}..{to} of {named}, ")?,
            AllocationMetric::TotalWork | AllocationMetric::Balanced => write!(self.out, "sum({index}={from}..{to}, ")?,
        }
        self.expression(body)?;
        self.leave(&worker.0, hidden_worker);
        self.leave(&range.index, hidden_index);
        self.out.write_str(match dealt {
            AllocationMetric::Makespan => "))",
            AllocationMetric::TotalWork => ")",
            AllocationMetric::Balanced => ")/p",
        })
    }

    fn bound(&mut self, bindings: &Bindings, body: &CostExpr) -> fmt::Result {
        let meanings: Bindings = bindings.iter().map(|(name, by)| (name.clone(), self.formula(by))).collect();
        let hidden: Vec<_> = meanings.into_iter().map(|(name, by)| (name.clone(), self.names.insert(name, by))).collect();
        self.expression(body)?;
        hidden.into_iter().for_each(|(name, hidden)| self.leave(&name, hidden));
        Ok(())
    }

    /// Opens the scope of an index, renamed if a binding inside contains it.
    fn enter(&mut self, index: &str) -> (String, Option<Formula>) {
        let taken = |name: &str| self.names.iter().any(|(own, by)| own != index && by.symbols().contains(name));
        let shown = if taken(index) { unused_name(index, taken) } else { index.to_owned() };
        let hidden = self.names.insert(index.to_owned(), Formula::symbol(&shown));
        (shown, hidden)
    }

    fn leave(&mut self, name: &str, hidden: Option<Formula>) {
        match hidden {
            Some(hidden) => self.names.insert(name.to_owned(), hidden),
            None => self.names.remove(name),
        };
    }

    fn bindings(&self) -> Bindings {
        self.names.iter().map(|(name, by)| (name.clone(), by.clone())).collect()
    }

    fn formula(&self, formula: &Formula) -> Formula {
        substitute_all(formula, &self.bindings())
    }

    fn computer(&self, own: &Computer) -> Computer {
        bind_computer(own, &self.bindings())
    }

    fn factor(&mut self, factor: &Formula) -> fmt::Result {
        let factor = self.formula(factor);
        if factor.len() > 1 { write!(self.out, "({factor})") } else { write!(self.out, "{}", display_name(&factor)) }
    }
}
