//! Arguments and results of tasks.

use std::fmt;

/// An argument or result of a task.
#[derive(Debug, Clone)]
pub enum TaskValue {
    /// The result of a `void` method.
    Void,
    /// An `int`.
    Int(i32),
    /// A `long`.
    Long(i64),
    /// A `double`.
    Double(f64),
    /// A number that is converted to the parameter's type: rounded down to an integer, or as a double.
    Number(i64, f64),
    /// An `int[]`.
    Ints(Vec<i32>),
    /// A `long[]`.
    Longs(Vec<i64>),
    /// A `double[]`.
    Doubles(Vec<f64>),
    /// An array of arrays.
    List(Vec<TaskValue>),
}

/// Bitwise equality: a NaN equals itself.
impl PartialEq for TaskValue {
    fn eq(&self, other: &TaskValue) -> bool {
        let same = |one: &f64, other: &f64| one.to_bits() == other.to_bits();
        match (self, other) {
            (TaskValue::Void, TaskValue::Void) => true,
            (TaskValue::Int(one), TaskValue::Int(other)) => one == other,
            (TaskValue::Long(one), TaskValue::Long(other)) => one == other,
            (TaskValue::Double(one), TaskValue::Double(other)) => same(one, other),
            (TaskValue::Number(whole, one), TaskValue::Number(also, other)) => whole == also && same(one, other),
            (TaskValue::Ints(one), TaskValue::Ints(other)) => one == other,
            (TaskValue::Longs(one), TaskValue::Longs(other)) => one == other,
            (TaskValue::Doubles(one), TaskValue::Doubles(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
            }
            (TaskValue::List(one), TaskValue::List(other)) => one == other,
            _ => false,
        }
    }
}

impl TaskValue {
    /// Collects the results of a batch into one array.
    pub fn from_results(results: &[&TaskValue]) -> TaskValue {
        fn all<T>(results: &[&TaskValue], of: impl Fn(&TaskValue) -> Option<T>) -> Option<Vec<T>> {
            results.iter().map(|result| of(result)).collect()
        }
        let ints = || all(results, |value| if let TaskValue::Int(one) = value { Some(*one) } else { None }).map(TaskValue::Ints);
        let longs = || all(results, |value| if let TaskValue::Long(one) = value { Some(*one) } else { None }).map(TaskValue::Longs);
        let doubles = || all(results, |value| if let TaskValue::Double(one) = value { Some(*one) } else { None }).map(TaskValue::Doubles);
        let list = || TaskValue::List(results.iter().map(|result| (*result).clone()).collect());
        longs().or_else(doubles).or_else(ints).unwrap_or_else(list)
    }
}

impl fmt::Display for TaskValue {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TaskValue::Void => write!(out, "nothing"),
            TaskValue::Int(one) => write!(out, "{one}"),
            TaskValue::Long(one) => write!(out, "{one}"),
            TaskValue::Double(one) | TaskValue::Number(_, one) => write!(out, "{one}"),
            TaskValue::Ints(all) => write_list(out, all),
            TaskValue::Longs(all) => write_list(out, all),
            TaskValue::Doubles(all) => write_list(out, all),
            TaskValue::List(all) => write_list(out, all),
        }
    }
}

/// Writes an array, eliding the end of a long one.
fn write_list(out: &mut fmt::Formatter, all: &[impl fmt::Display]) -> fmt::Result {
    const MOST: usize = 10;
    write!(out, "[")?;
    for (index, one) in all.iter().take(MOST).enumerate() {
        write!(out, "{}{one}", if index == 0 { "" } else { ", " })?;
    }
    if all.len() > MOST {
        write!(out, ", … {} in total", all.len())?;
    }
    write!(out, "]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_become_an_array_of_their_type() {
        assert_eq!(TaskValue::from_results(&[&TaskValue::Long(1), &TaskValue::Long(2)]), TaskValue::Longs(vec![1, 2]));
        assert_eq!(TaskValue::from_results(&[&TaskValue::Double(0.5)]), TaskValue::Doubles(vec![0.5]));
        let rows = [TaskValue::Ints(vec![1]), TaskValue::Ints(vec![2, 3])];
        assert_eq!(TaskValue::from_results(&[&rows[0], &rows[1]]), TaskValue::List(rows.to_vec()));
    }

    #[test]
    fn equality_is_bitwise() {
        assert_eq!(TaskValue::Double(f64::NAN), TaskValue::Double(f64::NAN));
        assert_ne!(TaskValue::Double(0.0), TaskValue::Double(-0.0));
        assert_ne!(TaskValue::Int(1), TaskValue::Long(1));
    }

    #[test]
    fn a_long_array_is_elided() {
        assert_eq!(TaskValue::Ints((0..12).collect()).to_string(), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 12 in total]");
    }
}
