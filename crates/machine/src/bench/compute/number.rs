//! Numbers of all types, with the same operations on each.

use crate::NumberType;

/// Numbers that can be counted with.
pub trait Number: Copy {
    const TYPE: NumberType;
    /// Two to begin with, one that stays, such that no step leaves the range where it costs the same, and nothing.
    const START: [Self; 4];

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn rest(self, other: Self) -> Self;
    fn is_less(self, other: Self) -> bool;
    fn convert(self) -> Self;
    fn abs(self) -> Self;
    fn of_place(place: usize) -> Self;
    fn place(self) -> usize;
}

/// Whole numbers, whose bits can be worked with.
pub trait Whole: Number {
    fn bits(self, other: Self) -> Self;
    fn shift(self) -> Self;
}

/// Numbers with a fraction, of which there are functions.
pub trait Broken: Number {
    fn floor(self) -> Self;
    fn sqrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn exp(self) -> Self;
    fn log(self) -> Self;
    fn pow(self, other: Self) -> Self;
}

macro_rules! whole {
    ($number:ty, $broken:ty, $of:expr) => {
        impl Number for $number {
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
            fn over(self, other: Self) -> Self {
                self.wrapping_div(other)
            }
            #[inline(always)]
            fn rest(self, other: Self) -> Self {
                self.wrapping_rem(other)
            }
            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn convert(self) -> Self {
                (self as $broken).to_bits().cast_signed()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn of_place(place: usize) -> Self {
                place as $number
            }
            #[inline(always)]
            fn place(self) -> usize {
                self as usize
            }
        }

        impl Whole for $number {
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

macro_rules! broken {
    ($number:ty, $bits:ty, $of:expr) => {
        impl Number for $number {
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
            fn over(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn rest(self, other: Self) -> Self {
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
            fn of_place(place: usize) -> Self {
                Self::from_bits(place as $bits)
            }
            #[inline(always)]
            fn place(self) -> usize {
                self.to_bits() as usize
            }
        }

        impl Broken for $number {
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

whole!(i32, f32, NumberType::Int32);
whole!(i64, f64, NumberType::Int64);
broken!(f32, u32, NumberType::Float32);
broken!(f64, u64, NumberType::Float64);
