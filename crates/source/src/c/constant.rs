//! Whole numbers that are known while a program is read: lengths of arrays, enumerators, conditions of `#if`.

use crate::routine::{Binary, Bits, Computation, Expression, Shift, Unary};

/// The value of an expression that holds nothing but numbers.
pub fn constant(expression: &Expression) -> Option<i64> {
    match &expression.what {
        Computation::Number(text) => text.parse().ok(),
        Computation::Unary(operation, a) => {
            let a = constant(a)?;
            Some(match operation {
                Unary::Negative => a.checked_neg()?,
                Unary::Not => i64::from(a == 0),
                Unary::Complement => !a,
            })
        }
        Computation::Binary(operation, a, b) => binary(*operation, constant(a)?, constant(b)?),
        Computation::Convert(a) => constant(a),
        Computation::Choice(condition, a, b) => constant(if constant(condition)? != 0 { a } else { b }),
        _ => None,
    }
}

fn binary(operation: Binary, a: i64, b: i64) -> Option<i64> {
    Some(match operation {
        Binary::Add => a.checked_add(b)?,
        Binary::Subtract => a.checked_sub(b)?,
        Binary::Multiply => a.checked_mul(b)?,
        Binary::Divide => a.checked_div(b)?,
        Binary::Remainder => a.checked_rem(b)?,
        Binary::Less => i64::from(a < b),
        Binary::LessOrEqual => i64::from(a <= b),
        Binary::Greater => i64::from(a > b),
        Binary::GreaterOrEqual => i64::from(a >= b),
        Binary::Equal => i64::from(a == b),
        Binary::NotEqual => i64::from(a != b),
        Binary::And => i64::from(a != 0 && b != 0),
        Binary::Or => i64::from(a != 0 || b != 0),
        Binary::Bits(Bits::And) => a & b,
        Binary::Bits(Bits::Or) => a | b,
        Binary::Bits(Bits::Exclusive) => a ^ b,
        Binary::Shift(Shift::Left) => a.checked_shl(u32::try_from(b).ok()?)?,
        Binary::Shift(Shift::Right) => a.checked_shr(u32::try_from(b).ok()?)?,
    })
}

/// The value, if it can be a length.
pub fn whole_number(expression: &Expression) -> Option<u64> {
    u64::try_from(constant(expression)?).ok()
}

/// How many parts an expression has, as far as `most`.
pub fn weight(expression: &Expression, most: usize) -> usize {
    let mut left = vec![expression];
    let mut count = 0;
    while let Some(next) = left.pop().filter(|_| count < most) {
        count += 1;
        left.extend(next.parts());
    }
    count
}
