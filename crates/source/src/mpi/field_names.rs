//! Names for known struct fields: the static analysis knows numbers by the names of variables.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::executor::SymbolicExecutor;
use super::value::{StoreAddress, SymbolicValue};
use crate::ir::{ExprKind, Statement, TypedExpr};

/// Calls without cost whose result is just a number.
const FREE_CALLS: [&str; 9] = ["MPI_Wtime", "MPI_Wtick", "atoi", "atol", "atof", "atoll", "strtol", "strtod", "time"];

impl SymbolicExecutor<'_, '_> {
    /// A statement with known fields replaced by variables, which the static analysis can handle.
    pub(super) fn name_known_fields(&self, mut statement: Statement, known: &mut BTreeMap<String, Formula>) -> Statement {
        super::call_graph::rewrite_expressions(&mut statement, &mut |expression| self.name_field(expression, known));
        statement
    }

    fn name_field(&self, expression: &mut TypedExpr, known: &mut BTreeMap<String, Formula>) {
        if let ExprKind::Call(name, _) = &expression.kind
            && FREE_CALLS.contains(&name.as_str())
        {
            expression.kind = ExprKind::Variable(format!("{name}()"));
        }
        if !matches!(expression.kind, ExprKind::Field(..) | ExprKind::Index(..)) {
            return;
        }
        let Some((name, address)) = self.access_path(expression) else { return };
        if let SymbolicValue::Number(formula) = self.store.get(&address) {
            known.insert(name.clone(), formula);
            expression.kind = ExprKind::Variable(name);
        }
    }

    /// The address of an lvalue without evaluation, and its name.
    fn access_path(&self, expression: &TypedExpr) -> Option<(String, StoreAddress)> {
        match &expression.kind {
            ExprKind::Variable(name) => Some((name.clone(), self.lookup(name)?)),
            ExprKind::Cast(of) => self.access_path(of),
            ExprKind::AddressOf(of) => self.access_path(of),
            ExprKind::Field(of, field) => {
                let (name, address) = self.access_path(of)?;
                Some((format!("{name}.{field}"), self.dereference(address).field(field)))
            }
            ExprKind::Index(of, index) => {
                let ExprKind::Number(index) = &index.kind else { return None };
                let (name, address) = self.access_path(of)?;
                let address = match self.store.get(&address) {
                    SymbolicValue::Address(first) => first.offset_by(index.parse().ok()?)?,
                    _ => address.field(index),
                };
                Some((format!("{name}.{index}"), address))
            }
            _ => None,
        }
    }

    fn dereference(&self, address: StoreAddress) -> StoreAddress {
        match self.store.get(&address) {
            SymbolicValue::Address(to) => to,
            _ => address,
        }
    }
}
