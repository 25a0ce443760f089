//! The steps that are timed, one for each operation.

use std::hint::black_box;

use super::PLACES;
use super::number::{Broken, Number, Whole};
use crate::Arithmetic;

/// What a step holds besides its operation, without which the numbers would run away or the chain would break.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Besides {
    Nothing,
    Addition,
    AdditionAndMultiplication,
}

impl Besides {
    pub fn operations(self) -> u32 {
        match self {
            Besides::Nothing => 0,
            Besides::Addition => 1,
            Besides::AdditionAndMultiplication => 2,
        }
    }
}

/// What a step has: the last two results, a number that stays, nothing, memory, and a place in it that no step nearby has.
pub struct Given<'a, N> {
    pub before: N,
    pub last: N,
    pub same: N,
    pub nothing: N,
    pub memory: &'a mut [N; PLACES],
    pub place: usize,
}

impl<N: Number> Given<'_, N> {
    /// Always the same number, but it is not known before the last result is: what functions are asked for, since their own results would
    /// lead them to where they cost less or more.
    #[inline(always)]
    fn argument(&self) -> N {
        self.same.plus(self.last.times(self.nothing))
    }
}

/// A step: the next number after the last two.
pub trait Step<N> {
    const WHAT: Arithmetic;
    const BESIDES: Besides;

    fn step(given: Given<N>) -> N;
}

macro_rules! step {
    ($name:ident of $numbers:ident, $besides:ident, |$given:ident| $result:expr) => {
        step!($name for $name of $numbers, $besides, |$given| $result);
    };
    ($name:ident for $what:ident of $numbers:ident, $besides:ident, |$given:ident| $result:expr) => {
        pub struct $name;

        impl<N: $numbers> Step<N> for $name {
            const WHAT: Arithmetic = Arithmetic::$what;
            const BESIDES: Besides = Besides::$besides;

            #[inline(always)]
            fn step($given: Given<N>) -> N {
                $result
            }
        }
    };
}

step!(Add of Number, Nothing, |given| given.before.plus(given.last));
step!(Subtract of Number, Nothing, |given| given.before.minus(given.last));
step!(Multiply of Number, Nothing, |given| given.before.times(given.last));
step!(Divide of Number, Nothing, |given| given.same.over(given.last));
step!(Remainder of Number, Addition, |given| given.last.rest(given.same).plus(given.same));
step!(Compare of Number, Addition, |given| (if given.before.is_less(given.last) { given.before } else { given.last }).plus(given.same));
step!(Bits of Whole, Addition, |given| given.last.bits(given.same).plus(given.same));
step!(Shift of Whole, Addition, |given| given.last.shift().plus(given.same));
step!(Convert of Number, Addition, |given| given.last.convert().plus(given.same));
step!(Store of Number, Addition, |given| black_box(given.last).plus(given.nothing));
step!(Load of Number, Nothing, |given| given.memory[given.last.place() % PLACES]);
step!(Abs of Number, Addition, |given| given.last.abs().minus(given.same));
step!(Floor of Broken, AdditionAndMultiplication, |given| given.argument().floor());
step!(Sqrt of Broken, AdditionAndMultiplication, |given| given.argument().sqrt());
step!(Sin of Broken, AdditionAndMultiplication, |given| given.argument().sin());
step!(Cos of Broken, AdditionAndMultiplication, |given| given.argument().cos());
step!(Tan of Broken, AdditionAndMultiplication, |given| given.argument().tan());
step!(Exp of Broken, AdditionAndMultiplication, |given| given.argument().exp());
step!(Log of Broken, AdditionAndMultiplication, |given| given.argument().log());
step!(Pow of Broken, AdditionAndMultiplication, |given| given.argument().pow(given.same));
step!(Call of Number, Addition, |given| sum(given.before, given.last));

// What programs do with memory and conditions when nothing waits for them: they read and write elements that are known long before, and
// branch on comparisons whose outcome is guessed.
step!(Read for Load of Number, Addition, |given| given.last.plus(given.memory[given.place]));
step!(Write for Store of Number, Nothing, |given| {
    given.memory[given.place] = given.last;
    given.last
});
step!(Branch for Compare of Number, Addition, |given| {
    let next = given.last.plus(given.nothing);
    if next.is_less(given.nothing) { never(next) } else { next }
});

/// A routine that is really called.
#[inline(never)]
fn sum<N: Number>(one: N, other: N) -> N {
    one.plus(other)
}

/// Where a branch goes that is not taken: far away, so that the compiler cannot do without the branch.
#[cold]
#[inline(never)]
pub fn never<N: Number>(number: N) -> N {
    black_box(number)
}
