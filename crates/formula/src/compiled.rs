//! Formulas compiled for thousands of evaluations.
//!
//! Predictions sample thousands of points. A compiled formula is a list of instructions over floats with common subexpressions computed
//! once and no lookup by name. Up to rounding it gives the same as `evaluate`; only folds without a closed form are still enclosed each
//! time.

use std::collections::HashMap;

use crate::atom::{Atom, AtomKind, Extremum, PiecewiseCase, RoundingMode, SymbolId};
use crate::display::base_and_exponent;
use crate::evaluate::EvaluationError;
use crate::formula::Formula;
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;
use crate::values::SymbolValues;

/// A number this close to an integer (relative) is rounded to it.
const INTEGER_TOLERANCE: f64 = 4.0 * f64::EPSILON;

/// Points evaluated at once when one input is counted up: each instruction is then a short loop over floats.
const LANES: usize = 64;

/// The results of one instruction at [`LANES`] points.
type Lanes = [f64; LANES];

/// A formula compiled for thousands of evaluations.
#[derive(Clone, Debug)]
pub struct CompiledFormula {
    input_names: Vec<String>,
    instructions: Vec<Instruction>,
}

/// The index of an earlier result.
type Register = usize;

#[derive(Clone, Debug)]
enum Instruction {
    Constant(f64),
    Input(usize),
    /// A constant plus multiples of earlier results.
    Sum(f64, Vec<(f64, Register)>),
    /// Numerator and denominator factors.
    Product(Vec<Register>, Vec<Register>),
    PowInt(Register, i32),
    Sqrt(Register),
    PowFloat(Register, Register),
    Log2(Register),
    Exp2(Register),
    Extremum(Extremum, Vec<Register>),
    Rounded(RoundingMode, Register),
    Piecewise(Register, Vec<(Option<Register>, Register)>),
    /// A fold without a closed form, which needs a full evaluation.
    Interpret(Formula),
}

impl Formula {
    /// Compiles the formula; each point is then a list of values in the order of these symbols.
    pub fn compile(&self, symbols: &[&str]) -> Result<CompiledFormula, EvaluationError> {
        let names: HashMap<&str, usize> = symbols.iter().copied().zip(0..).collect();
        if let Some(unknown) = self.symbols().into_iter().find(|name| !names.contains_key(name.as_str())) {
            return Err(EvaluationError::Symbol(unknown));
        }
        let mut compiler = FormulaCompiler { inputs: &names, instructions: Vec::new(), formulas: HashMap::new(), atoms: HashMap::new() };
        let result = compiler.emit_formula(self);
        let mut instructions = compiler.instructions;
        // The last instruction is the result.
        if result + 1 != instructions.len() {
            instructions.push(Instruction::Sum(0.0, vec![(1.0, result)]));
        }
        Ok(CompiledFormula { input_names: symbols.iter().map(|&name| name.to_owned()).collect(), instructions })
    }
}

impl CompiledFormula {
    /// The value at a point; NaN where the formula is undefined or a value is missing.
    pub fn eval(&self, values: &[f64]) -> f64 {
        let mut results: Vec<f64> = Vec::with_capacity(self.instructions.len());
        for instruction in &self.instructions {
            let value = self.execute(instruction, values, &results);
            results.push(value);
        }
        results.last().copied().unwrap_or(f64::NAN)
    }

    /// The sum of `rounds` values: at the point, and with the input `counted` increased by one each time.
    pub fn sum_over(&self, values: &[f64], counted: usize, rounds: u64) -> f64 {
        // Results that do not depend on the counted input are computed once.
        let mut lanes: Vec<Lanes> = Vec::with_capacity(self.instructions.len());
        let mut first: Vec<f64> = Vec::with_capacity(self.instructions.len());
        for instruction in &self.instructions {
            first.push(self.execute(instruction, values, &first));
            lanes.push([first[first.len() - 1]; LANES]);
        }
        let varying = self.instructions_depending_on(counted);
        let (mut values, begin) = (values.to_vec(), values.get(counted).copied().unwrap_or(f64::NAN));
        let mut sum = 0.0;
        for round in (0..rounds).step_by(LANES) {
            for register in &varying {
                let (before, here) = lanes.split_at_mut(*register);
                let counted = (counted, begin + round as f64);
                self.execute_lanes(&self.instructions[*register], &mut values, counted, before, &mut here[0]);
            }
            let last = lanes.last().map_or(&[f64::NAN; LANES], |last| last);
            sum = last.iter().take((rounds - round) as usize).fold(sum, |sum, value| sum + value);
        }
        sum
    }

    fn instructions_depending_on(&self, input: usize) -> Vec<Register> {
        let mut varies: Vec<bool> = Vec::with_capacity(self.instructions.len());
        for instruction in &self.instructions {
            let any = |registers: &[Register]| registers.iter().any(|register| varies[*register]);
            varies.push(match instruction {
                Instruction::Constant(_) => false,
                Instruction::Input(own) => *own == input,
                Instruction::Sum(_, terms) => terms.iter().any(|(_, register)| varies[*register]),
                Instruction::Product(numerator, denominator) => any(numerator) || any(denominator),
                Instruction::PowInt(register, _)
                | Instruction::Sqrt(register)
                | Instruction::Log2(register)
                | Instruction::Exp2(register)
                | Instruction::Rounded(_, register) => varies[*register],
                Instruction::PowFloat(base, exponent) => any(&[*base, *exponent]),
                Instruction::Extremum(_, registers) => any(registers),
                Instruction::Piecewise(variable, pieces) => {
                    varies[*variable] || pieces.iter().any(|(bound, piece)| varies[*piece] || bound.is_some_and(|bound| varies[bound]))
                }
                Instruction::Interpret(_) => true,
            });
        }
        (0..varies.len()).filter(|register| varies[*register]).collect()
    }

    /// Executes an instruction for all lanes; the counted input starts at `begin` and grows by one per lane.
    fn execute_lanes(
        &self,
        instruction: &Instruction,
        values: &mut [f64],
        (counted, begin): (usize, f64),
        before: &[Lanes],
        here: &mut Lanes,
    ) {
        match instruction {
            Instruction::Sum(constant, terms) => {
                here.fill(*constant);
                for (factor, register) in terms {
                    match factor {
                        1.0 => zip_apply(here, &before[*register], |sum, value| sum + value),
                        -1.0 => zip_apply(here, &before[*register], |sum, value| sum - value),
                        _ => zip_apply(here, &before[*register], |sum, value| factor.mul_add(value, sum)),
                    }
                }
            }
            Instruction::Product(numerator, denominator) => {
                let product = |registers: &[Register]| {
                    let mut product = [1.0; LANES];
                    registers.iter().for_each(|register| zip_apply(&mut product, &before[*register], |product, value| product * value));
                    product
                };
                *here = product(numerator);
                if !denominator.is_empty() {
                    zip_apply(here, &product(denominator), checked_div);
                }
            }
            Instruction::Extremum(side, registers) => {
                if let [first, rest @ ..] = registers.as_slice() {
                    *here = before[*first];
                    rest.iter().for_each(|register| zip_apply(here, &before[*register], |a, b| extremum_of_two(*side, a, b)));
                }
            }
            Instruction::Rounded(rounding, register) => zip_apply(here, &before[*register], |_, value| round(*rounding, value)),
            Instruction::PowInt(register, 2) => zip_apply(here, &before[*register], |_, value| value * value),
            Instruction::Sqrt(register) => zip_apply(here, &before[*register], |_, value| value.sqrt()),
            Instruction::Input(_) => here.iter_mut().enumerate().for_each(|(lane, value)| *value = begin + lane as f64),
            _ => {
                let mut results = vec![0.0; before.len()];
                for (lane, value) in here.iter_mut().enumerate() {
                    results.iter_mut().zip(before).for_each(|(result, lanes)| *result = lanes[lane]);
                    values[counted] = begin + lane as f64;
                    *value = self.execute(instruction, values, &results);
                }
            }
        }
    }

    fn execute(&self, instruction: &Instruction, values: &[f64], results: &[f64]) -> f64 {
        match instruction {
            Instruction::Constant(value) => *value,
            Instruction::Input(input) => values.get(*input).copied().unwrap_or(f64::NAN),
            Instruction::Sum(constant, terms) => {
                terms.iter().fold(*constant, |sum, (factor, register)| factor.mul_add(results[*register], sum))
            }
            Instruction::Product(numerator, denominator) => {
                let product = |registers: &[Register]| registers.iter().map(|register| results[*register]).product::<f64>();
                if denominator.is_empty() { product(numerator) } else { checked_div(product(numerator), product(denominator)) }
            }
            Instruction::PowInt(register, 2) => results[*register] * results[*register],
            Instruction::PowInt(register, exponent) => results[*register].powi(*exponent),
            Instruction::Sqrt(register) => results[*register].sqrt(),
            Instruction::PowFloat(base, exponent) => results[*base].powf(results[*exponent]),
            Instruction::Log2(register) => {
                if results[*register] > 0.0 {
                    results[*register].log2()
                } else {
                    f64::NAN
                }
            }
            Instruction::Exp2(register) => results[*register].exp2(),
            Instruction::Extremum(side, registers) => extremum(*side, registers.iter().map(|register| results[*register])),
            Instruction::Rounded(rounding, register) => round(*rounding, results[*register]),
            Instruction::Piecewise(variable, pieces) => {
                let value = results[*variable];
                let holds = |bound: &Option<Register>| bound.is_none_or(|bound| value <= results[bound]);
                pieces.iter().find(|(bound, _)| holds(bound)).filter(|_| !value.is_nan()).map_or(f64::NAN, |(_, piece)| results[*piece])
            }
            Instruction::Interpret(formula) => {
                let values: SymbolValues<f64> = self.input_names.iter().map(String::as_str).zip(values.iter().copied()).collect();
                formula.evaluate(&values).unwrap_or(f64::NAN)
            }
        }
    }
}

fn checked_div(numerator: f64, denominator: f64) -> f64 {
    if denominator == 0.0 { f64::NAN } else { numerator / denominator }
}

/// Unlike `f64::max` and `f64::min`, NaN if any value is NaN.
fn extremum(side: Extremum, values: impl Iterator<Item = f64>) -> f64 {
    values.reduce(|a, b| extremum_of_two(side, a, b)).unwrap_or(f64::NAN)
}

fn extremum_of_two(side: Extremum, a: f64, b: f64) -> f64 {
    match side {
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        Extremum::Max => a.max(b),
        Extremum::Min => a.min(b),
    }
}

fn zip_apply(values: &mut Lanes, others: &Lanes, change: impl Fn(f64, f64) -> f64) {
    values.iter_mut().zip(others).for_each(|(value, other)| *value = change(*value, *other));
}

/// From here on (2^51) floats are at most half a unit apart, closer to an integer than the tolerance.
const ALL_INTEGERS_ABOVE: f64 = 2_251_799_813_685_248.0;

/// Adding and subtracting this (1.5 * 2^52) rounds a smaller number to the nearest integer without a library call.
const ROUNDING_OFFSET: f64 = 6_755_399_441_055_744.0;

fn round(rounding: RoundingMode, value: f64) -> f64 {
    if value.is_nan() || value.abs() >= ALL_INTEGERS_ABOVE {
        return value.round();
    }
    let near = (value + ROUNDING_OFFSET) - ROUNDING_OFFSET;
    if (value - near).abs() <= INTEGER_TOLERANCE * near.abs() {
        return near;
    }
    match rounding {
        RoundingMode::Up => near + f64::from(u8::from(near < value)),
        RoundingMode::Down => near - f64::from(u8::from(near > value)),
    }
}

struct FormulaCompiler<'a> {
    inputs: &'a HashMap<&'a str, usize>,
    instructions: Vec<Instruction>,
    formulas: HashMap<Formula, Register>,
    atoms: HashMap<Atom, Register>,
}

impl FormulaCompiler<'_> {
    fn push(&mut self, instruction: Instruction) -> Register {
        self.instructions.push(instruction);
        self.instructions.len() - 1
    }

    fn emit_formula(&mut self, formula: &Formula) -> Register {
        if let Some(register) = self.formulas.get(formula) {
            return *register;
        }
        let mut constant = 0.0;
        let mut terms = Vec::new();
        for (monomial, coefficient) in formula.terms() {
            let factor = coefficient.midpoint();
            if monomial.is_one() {
                constant += factor.to_f64();
                continue;
            }
            // Division instead of multiplication by the reciprocal: 30 * 0.1 is not 3, but 30 / 10 is.
            let (numerator, denominator) = (factor.numerator().to_f64(), factor.denominator().to_f64());
            let exact = denominator != 1.0 && numerator.abs() < 9e15 && denominator < 9e15;
            let divisor = if exact { Some(self.push(Instruction::Constant(denominator))) } else { None };
            let register = self.emit_product(monomial, divisor);
            terms.push((if exact { numerator } else { factor.to_f64() }, register));
        }
        let register = match terms.as_slice() {
            [] => self.push(Instruction::Constant(constant)),
            [(1.0, register)] if constant == 0.0 => *register,
            _ => self.push(Instruction::Sum(constant, terms)),
        };
        self.formulas.insert(formula.clone(), register);
        register
    }

    fn emit_product(&mut self, monomial: &Monomial, divisor: Option<Register>) -> Register {
        let (mut numerator, mut denominator) = (Vec::new(), Vec::from_iter(divisor));
        for factor in monomial.factors() {
            let register = self.emit_power(factor);
            if factor.exponent.is_negative() { denominator.push(register) } else { numerator.push(register) }
        }
        match (numerator.as_slice(), denominator.as_slice()) {
            ([only], []) => *only,
            _ => self.push(Instruction::Product(numerator, denominator)),
        }
    }

    /// A power with the absolute value of its exponent.
    fn emit_power(&mut self, factor: &PowerFactor) -> Register {
        let base = self.emit_atom(&factor.atom);
        let exponent = factor.exponent.abs();
        if exponent.is_one() {
            return base;
        }
        if let Some(whole) = exponent.to_i64().and_then(|whole| i32::try_from(whole).ok()) {
            return self.push(Instruction::PowInt(base, whole));
        }
        if exponent == Rational::HALF {
            return self.push(Instruction::Sqrt(base));
        }
        let exponent = self.push(Instruction::Constant(exponent.to_f64()));
        self.push(Instruction::PowFloat(base, exponent))
    }

    fn emit_atom(&mut self, atom: &Atom) -> Register {
        if let Some(register) = self.atoms.get(atom) {
            return *register;
        }
        let register = match atom.kind() {
            AtomKind::Symbol(SymbolId::Named(name)) => match self.inputs.get(&**name) {
                Some(input) => self.push(Instruction::Input(*input)),
                None => self.push(Instruction::Constant(f64::NAN)),
            },
            AtomKind::Symbol(_) | AtomKind::TooDeep => self.push(Instruction::Constant(f64::NAN)),
            AtomKind::Ln2 => self.push(Instruction::Constant(std::f64::consts::LN_2)),
            AtomKind::Group(inner) => self.emit_formula(inner),
            AtomKind::Log2(inner) => {
                let inner = self.emit_formula(inner);
                self.push(Instruction::Log2(inner))
            }
            AtomKind::Exp2(inner) => self.emit_exponential(inner),
            AtomKind::Extremum(side, entries) => {
                let entries = entries.iter().map(|entry| self.emit_formula(entry)).collect();
                self.push(Instruction::Extremum(*side, entries))
            }
            AtomKind::Rounded(rounding, inner) => {
                let inner = self.emit_formula(inner);
                self.push(Instruction::Rounded(*rounding, inner))
            }
            AtomKind::Fold(_) => self.push(Instruction::Interpret(Formula::from(atom.clone()))),
            AtomKind::Piecewise(variable, pieces) => self.emit_piecewise(variable, pieces),
        };
        self.atoms.insert(atom.clone(), register);
        register
    }

    fn emit_exponential(&mut self, inner: &Formula) -> Register {
        let (base, exponent) = base_and_exponent(inner, &Rational::ONE);
        let exponent = self.emit_formula(&exponent);
        if base == Formula::integer(2) {
            return self.push(Instruction::Exp2(exponent));
        }
        let base = self.emit_formula(&base);
        self.push(Instruction::PowFloat(base, exponent))
    }

    fn emit_piecewise(&mut self, variable: &Formula, pieces: &[PiecewiseCase]) -> Register {
        let variable = self.emit_formula(variable);
        let pieces =
            pieces.iter().map(|piece| (piece.up_to.as_ref().map(|bound| self.emit_formula(bound)), self.emit_formula(&piece.formula)));
        let pieces = pieces.collect();
        self.push(Instruction::Piecewise(variable, pieces))
    }
}
