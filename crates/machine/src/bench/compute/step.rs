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

/// What a step has: the last two results, a number that stays, nothing, and memory to read.
pub struct Given<'a, N> {
    pub before: N,
    pub last: N,
    pub same: N,
    pub nothing: N,
    pub memory: &'a [N; PLACES],
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
        pub struct $name;

        impl<N: $numbers> Step<N> for $name {
            const WHAT: Arithmetic = Arithmetic::$name;
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
step!(Store of Number, Nothing, |given| black_box(given.last));
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

/// A routine that is really called.
#[inline(never)]
fn sum<N: Number>(one: N, other: N) -> N {
    one.plus(other)
}
