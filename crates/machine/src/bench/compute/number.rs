//! The same operations on all number types.

use crate::NumberType;

/// A number type under test.
pub(super) trait BenchNumber: Copy {
    const TYPE: NumberType;
    /// Two start values and a constant that keep every step in the range of constant cost, and zero.
    const START: [Self; 4];

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn divided_by(self, other: Self) -> Self;
    fn remainder_by(self, other: Self) -> Self;
    fn is_less(self, other: Self) -> bool;
    fn convert(self) -> Self;
    fn abs(self) -> Self;
    fn from_index(index: usize) -> Self;
    fn index(self) -> usize;
}

pub(super) trait BenchInteger: BenchNumber {
    fn bits(self, other: Self) -> Self;
    fn shift(self) -> Self;
}

pub(super) trait BenchFloat: BenchNumber {
    fn floor(self) -> Self;
    fn sqrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn exp(self) -> Self;
    fn log(self) -> Self;
    fn pow(self, other: Self) -> Self;
}

macro_rules! impl_integer {
    ($number:ty, $float:ty, $of:expr) => {
        impl BenchNumber for $number {
            const TYPE: NumberType = $of;
            const START: [$number; 4] = [3, 31_622, 1_000_003, 0];

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn divided_by(self, other: Self) -> Self {
                self.wrapping_div(other)
            }
            #[inline(always)]
            fn remainder_by(self, other: Self) -> Self {
                self.wrapping_rem(other)
            }
            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn convert(self) -> Self {
                (self as $float).to_bits().cast_signed()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn from_index(index: usize) -> Self {
                index as $number
            }
            #[inline(always)]
            fn index(self) -> usize {
                self as usize
            }
        }

        impl BenchInteger for $number {
            #[inline(always)]
            fn bits(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn shift(self) -> Self {
                self >> 3
            }
        }
    };
}

macro_rules! impl_float {
    ($number:ty, $bits:ty, $of:expr) => {
        impl BenchNumber for $number {
            const TYPE: NumberType = $of;
            const START: [$number; 4] = [1.00001, 0.99999, 1.0003, 0.0];

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn divided_by(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn remainder_by(self, other: Self) -> Self {
                self % other
            }
            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn convert(self) -> Self {
                self.to_bits().cast_signed() as $number
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn from_index(index: usize) -> Self {
                Self::from_bits(index as $bits)
            }
            #[inline(always)]
            fn index(self) -> usize {
                self.to_bits() as usize
            }
        }

        impl BenchFloat for $number {
            #[inline(always)]
            fn floor(self) -> Self {
                self.floor()
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn sin(self) -> Self {
                self.sin()
            }
            #[inline(always)]
            fn cos(self) -> Self {
                self.cos()
            }
            #[inline(always)]
            fn tan(self) -> Self {
                self.tan()
            }
            #[inline(always)]
            fn exp(self) -> Self {
                self.exp()
            }
            #[inline(always)]
            fn log(self) -> Self {
                self.ln()
            }
            #[inline(always)]
            fn pow(self, other: Self) -> Self {
                self.powf(other)
            }
        }
    };
}

impl_integer!(i32, f32, NumberType::Int32);
impl_integer!(i64, f64, NumberType::Int64);
impl_float!(f32, u32, NumberType::Float32);
impl_float!(f64, u64, NumberType::Float64);
