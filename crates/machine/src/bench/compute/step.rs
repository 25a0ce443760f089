//! The timed steps, one for each operation.

use std::hint::black_box;

use super::MEMORY_SLOTS;
use super::number::{BenchFloat, BenchInteger, BenchNumber};
use crate::ArithmeticOp;

/// Operations of a step besides the measured one, which keep operands in range or the chain dependent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StepOverhead {
    Nothing,
    Addition,
    AdditionAndMultiplication,
}

impl StepOverhead {
    pub(super) fn operations(self) -> u32 {
        match self {
            StepOverhead::Nothing => 0,
            StepOverhead::Addition => 1,
            StepOverhead::AdditionAndMultiplication => 2,
        }
    }
}

/// Operands of a step: the last two results, a constant, zero, memory, and an index that no nearby step uses.
pub(super) struct StepOperands<'a, N> {
    pub before: N,
    pub last: N,
    pub same: N,
    pub nothing: N,
    pub memory: &'a mut [N; MEMORY_SLOTS],
    pub index: usize,
}

impl<N: BenchNumber> StepOperands<'_, N> {
    /// Always the constant, but dependent on the last result: the argument of functions, whose own results would leave the range of constant
    /// cost.
    #[inline(always)]
    fn argument(&self) -> N {
        self.same.plus(self.last.times(self.nothing))
    }
}

/// Computes the next number from the last two.
pub(super) trait TimedStep<N> {
    const WHAT: ArithmeticOp;
    const OVERHEAD: StepOverhead;

    fn step(operands: StepOperands<N>) -> N;
}

macro_rules! step {
    ($name:ident of $numbers:ident, $overhead:ident, |$operands:ident| $result:expr) => {
        step!($name for $name of $numbers, $overhead, |$operands| $result);
    };
    ($name:ident for $what:ident of $numbers:ident, $overhead:ident, |$operands:ident| $result:expr) => {
        pub(super) struct $name;

        impl<N: $numbers> TimedStep<N> for $name {
            const WHAT: ArithmeticOp = ArithmeticOp::$what;
            const OVERHEAD: StepOverhead = StepOverhead::$overhead;

            #[inline(always)]
            fn step($operands: StepOperands<N>) -> N {
                $result
            }
        }
    };
}

step!(Add of BenchNumber, Nothing, |operands| operands.before.plus(operands.last));
step!(Subtract of BenchNumber, Nothing, |operands| operands.before.minus(operands.last));
step!(Multiply of BenchNumber, Nothing, |operands| operands.before.times(operands.last));
step!(Divide of BenchNumber, Nothing, |operands| operands.same.divided_by(operands.last));
step!(Remainder of BenchNumber, Addition, |operands| operands.last.remainder_by(operands.same).plus(operands.same));
step!(Compare of BenchNumber, Addition, |operands| (if operands.before.is_less(operands.last) { operands.before } else { operands.last }).plus(operands.same));
step!(Bits of BenchInteger, Addition, |operands| operands.last.bits(operands.same).plus(operands.same));
step!(Shift of BenchInteger, Addition, |operands| operands.last.shift().plus(operands.same));
step!(Convert of BenchNumber, Addition, |operands| operands.last.convert().plus(operands.same));
step!(Store of BenchNumber, Addition, |operands| black_box(operands.last).plus(operands.nothing));
step!(Load of BenchNumber, Nothing, |operands| operands.memory[operands.last.index() % MEMORY_SLOTS]);
step!(Abs of BenchNumber, Addition, |operands| operands.last.abs().minus(operands.same));
step!(Floor of BenchFloat, AdditionAndMultiplication, |operands| operands.argument().floor());
step!(Sqrt of BenchFloat, AdditionAndMultiplication, |operands| operands.argument().sqrt());
step!(Sin of BenchFloat, AdditionAndMultiplication, |operands| operands.argument().sin());
step!(Cos of BenchFloat, AdditionAndMultiplication, |operands| operands.argument().cos());
step!(Tan of BenchFloat, AdditionAndMultiplication, |operands| operands.argument().tan());
step!(Exp of BenchFloat, AdditionAndMultiplication, |operands| operands.argument().exp());
step!(Log of BenchFloat, AdditionAndMultiplication, |operands| operands.argument().log());
step!(Pow of BenchFloat, AdditionAndMultiplication, |operands| operands.argument().pow(operands.same));
step!(Call of BenchNumber, Addition, |operands| sum(operands.before, operands.last));

// Independent uses of memory and conditions: elements whose address is known early, and branches that are predicted.
step!(Read for Load of BenchNumber, Addition, |operands| operands.last.plus(operands.memory[operands.index]));
step!(Write for Store of BenchNumber, Nothing, |operands| {
    operands.memory[operands.index] = operands.last;
    operands.last
});
step!(Branch for Compare of BenchNumber, Addition, |operands| {
    let next = operands.last.plus(operands.nothing);
    if next.is_less(operands.nothing) { never(next) } else { next }
});

/// Really called.
#[inline(never)]
fn sum<N: BenchNumber>(one: N, other: N) -> N {
    one.plus(other)
}

/// Target of a branch that is never taken; out of line, so that the compiler keeps the branch.
#[cold]
#[inline(never)]
pub(super) fn never<N: BenchNumber>(number: N) -> N {
    black_box(number)
}
