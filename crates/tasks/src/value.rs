//! What tasks are given and give.

use std::fmt;

/// A result of a task, or an argument.
#[derive(Debug, Clone)]
pub enum Value {
    /// The result of a method that gives nothing.
    Nothing,
    /// An `int`.
    Int(i32),
    /// A `long`.
    Long(i64),
    /// A `double`.
    Double(f64),
    /// A number that becomes what the method takes: the whole number below it, or as it is.
    Number(i64, f64),
    /// An `int[]`.
    Ints(Vec<i32>),
    /// A `long[]`.
    Longs(Vec<i64>),
    /// A `double[]`.
    Doubles(Vec<f64>),
    /// An array of arrays.
    List(Vec<Value>),
}

/// The same to the last bit: a number that is none is the same as itself.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        let same = |one: &f64, other: &f64| one.to_bits() == other.to_bits();
        match (self, other) {
            (Value::Nothing, Value::Nothing) => true,
            (Value::Int(one), Value::Int(other)) => one == other,
            (Value::Long(one), Value::Long(other)) => one == other,
            (Value::Double(one), Value::Double(other)) => same(one, other),
            (Value::Number(whole, one), Value::Number(also, other)) => whole == also && same(one, other),
            (Value::Ints(one), Value::Ints(other)) => one == other,
            (Value::Longs(one), Value::Longs(other)) => one == other,
            (Value::Doubles(one), Value::Doubles(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
            }
            (Value::List(one), Value::List(other)) => one == other,
            _ => false,
        }
    }
}

impl Value {
    /// The results of a batch as one array.
    pub fn array(results: &[&Value]) -> Value {
        fn all<T>(results: &[&Value], of: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
            results.iter().map(|result| of(result)).collect()
        }
        let ints = || all(results, |value| if let Value::Int(one) = value { Some(*one) } else { None }).map(Value::Ints);
        let longs = || all(results, |value| if let Value::Long(one) = value { Some(*one) } else { None }).map(Value::Longs);
        let doubles = || all(results, |value| if let Value::Double(one) = value { Some(*one) } else { None }).map(Value::Doubles);
        let list = || Value::List(results.iter().map(|result| (*result).clone()).collect());
        longs().or_else(doubles).or_else(ints).unwrap_or_else(list)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Nothing => write!(out, "nothing"),
            Value::Int(one) => write!(out, "{one}"),
            Value::Long(one) => write!(out, "{one}"),
            Value::Double(one) | Value::Number(_, one) => write!(out, "{one}"),
            Value::Ints(all) => list(out, all),
            Value::Longs(all) => list(out, all),
            Value::Doubles(all) => list(out, all),
            Value::List(all) => list(out, all),
        }
    }
}

/// An array, the middle of a long one left out.
fn list(out: &mut fmt::Formatter, all: &[impl fmt::Display]) -> fmt::Result {
    const MOST: usize = 10;
    write!(out, "[")?;
    for (index, one) in all.iter().take(MOST).enumerate() {
        write!(out, "{}{one}", if index == 0 { "" } else { ", " })?;
    }
    if all.len() > MOST {
        write!(out, ", … {} in all", all.len())?;
    }
    write!(out, "]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_become_an_array_of_their_type() {
        assert_eq!(Value::array(&[&Value::Long(1), &Value::Long(2)]), Value::Longs(vec![1, 2]));
        assert_eq!(Value::array(&[&Value::Double(0.5)]), Value::Doubles(vec![0.5]));
        let rows = [Value::Ints(vec![1]), Value::Ints(vec![2, 3])];
        assert_eq!(Value::array(&[&rows[0], &rows[1]]), Value::List(rows.to_vec()));
    }

    #[test]
    fn values_are_the_same_to_the_last_bit() {
        assert_eq!(Value::Double(f64::NAN), Value::Double(f64::NAN));
        assert_ne!(Value::Double(0.0), Value::Double(-0.0));
        assert_ne!(Value::Int(1), Value::Long(1));
    }

    #[test]
    fn a_long_array_is_shown_in_short() {
        assert_eq!(Value::Ints((0..12).collect()).to_string(), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 12 in all]");
    }
}
