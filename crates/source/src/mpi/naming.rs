//! What the common analysis is told: it knows numbers by the names of variables, so fields that are known get names of their own.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::value::{Address, Value};
use super::walk::Walk;
use crate::routine::{Computation, Expression, Statement};

/// Calls whose cost is not worth counting, and whose result is nothing but a number.
const CHEAP: [&str; 9] = ["MPI_Wtime", "MPI_Wtick", "atoi", "atol", "atof", "atoll", "strtol", "strtod", "time"];

impl Walk<'_, '_> {
    /// A statement with fields that are known numbers as variables of their own, which is how the analysis knows numbers.
    pub(super) fn with_fields_named(&self, mut statement: Statement, known: &mut BTreeMap<String, Formula>) -> Statement {
        super::follow::change_expressions(&mut statement, &mut |expression| self.name_field(expression, known));
        statement
    }

    fn name_field(&self, expression: &mut Expression, known: &mut BTreeMap<String, Formula>) {
        if let Computation::Call(name, _) = &expression.what
            && CHEAP.contains(&name.as_str())
        {
            expression.what = Computation::Variable(format!("{name}()"));
        }
        if !matches!(expression.what, Computation::Field(..) | Computation::Element(..)) {
            return;
        }
        let Some((name, address)) = self.path(expression) else { return };
        if let Value::Number(formula) = self.store.get(&address) {
            known.insert(name.clone(), formula);
            expression.what = Computation::Variable(name);
        }
    }

    /// Where something stands, without computing anything, and how it is written.
    fn path(&self, expression: &Expression) -> Option<(String, Address)> {
        match &expression.what {
            Computation::Variable(name) => Some((name.clone(), self.lookup(name)?)),
            Computation::Convert(of) => self.path(of),
            Computation::AddressOf(of) => self.path(of),
            Computation::Field(of, field) => {
                let (name, address) = self.path(of)?;
                Some((format!("{name}.{field}"), self.pointed(address).part(field)))
            }
            Computation::Element(of, index) => {
                let Computation::Number(index) = &index.what else { return None };
                let (name, address) = self.path(of)?;
                let address = match self.store.get(&address) {
                    Value::Address(first) => first.moved(index.parse().ok()?)?,
                    _ => address.part(index),
                };
                Some((format!("{name}.{index}"), address))
            }
            _ => None,
        }
    }

    fn pointed(&self, address: Address) -> Address {
        match self.store.get(&address) {
            Value::Address(to) => to,
            _ => address,
        }
    }
}
