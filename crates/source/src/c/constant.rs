//! Integer constant expressions: array lengths, enumerators, `#if` conditions.

use crate::ir::{BinaryOp, BitwiseOp, ExprKind, ShiftDirection, TypedExpr, UnaryOp};

/// The value of an expression of integer literals.
pub(super) fn constant_value(expression: &TypedExpr) -> Option<i64> {
    match &expression.kind {
        ExprKind::Number(text) => text.parse().ok(),
        ExprKind::Unary(operation, a) => {
            let a = constant_value(a)?;
            Some(match operation {
                UnaryOp::Negate => a.checked_neg()?,
                UnaryOp::Not => i64::from(a == 0),
                UnaryOp::Complement => !a,
            })
        }
        ExprKind::Binary(operation, a, b) => binary(*operation, constant_value(a)?, constant_value(b)?),
        ExprKind::Cast(a) => constant_value(a),
        ExprKind::Conditional(condition, a, b) => constant_value(if constant_value(condition)? != 0 { a } else { b }),
        _ => None,
    }
}

fn binary(operation: BinaryOp, a: i64, b: i64) -> Option<i64> {
    Some(match operation {
        BinaryOp::Add => a.checked_add(b)?,
        BinaryOp::Subtract => a.checked_sub(b)?,
        BinaryOp::Multiply => a.checked_mul(b)?,
        BinaryOp::Divide => a.checked_div(b)?,
        BinaryOp::Remainder => a.checked_rem(b)?,
        BinaryOp::Less => i64::from(a < b),
        BinaryOp::LessOrEqual => i64::from(a <= b),
        BinaryOp::Greater => i64::from(a > b),
        BinaryOp::GreaterOrEqual => i64::from(a >= b),
        BinaryOp::Equal => i64::from(a == b),
        BinaryOp::NotEqual => i64::from(a != b),
        BinaryOp::And => i64::from(a != 0 && b != 0),
        BinaryOp::Or => i64::from(a != 0 || b != 0),
        BinaryOp::Bitwise(BitwiseOp::And) => a & b,
        BinaryOp::Bitwise(BitwiseOp::Or) => a | b,
        BinaryOp::Bitwise(BitwiseOp::Xor) => a ^ b,
        BinaryOp::Shift(ShiftDirection::Left) => a.checked_shl(u32::try_from(b).ok()?)?,
        BinaryOp::Shift(ShiftDirection::Right) => a.checked_shr(u32::try_from(b).ok()?)?,
    })
}

/// The value, if it is nonnegative.
pub(super) fn natural_number(expression: &TypedExpr) -> Option<u64> {
    u64::try_from(constant_value(expression)?).ok()
}

/// The number of nodes of an expression, up to `most`.
pub(super) fn expr_size(expression: &TypedExpr, most: usize) -> usize {
    let mut left = vec![expression];
    let mut count = 0;
    while let Some(next) = left.pop().filter(|_| count < most) {
        count += 1;
        left.extend(next.children());
    }
    count
}
