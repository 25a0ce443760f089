//! Labels of a rank's operations. Nearly all files use `l1`, `l2`, …, which are looked up by number.

use std::collections::HashMap;

#[derive(Default)]
pub(super) struct OperationLabels {
    /// The letters before the numbers.
    prefix: Vec<u8>,
    /// By number: the operation plus one, 0 for none.
    numbered: Vec<u32>,
    others: HashMap<Box<[u8]>, u32>,
}

impl OperationLabels {
    /// Forgets the labels of the previous rank.
    pub(super) fn clear(&mut self) {
        self.numbered.clear();
        self.others.clear();
    }

    /// Defines a label; false if it is already defined.
    pub(super) fn define(&mut self, label: &[u8], operation: u32) -> bool {
        if self.prefix.is_empty() {
            self.prefix = label[..label.len() - trailing_digits(label)].to_vec();
        }
        match self.label_number(label) {
            Some(number) if number <= self.max_dense_number() => {
                if number >= self.numbered.len() {
                    self.numbered.resize(number + 1, 0);
                }
                let free = self.numbered[number] == 0 && !self.others.contains_key(label);
                self.numbered[number] = operation + 1;
                free
            }
            _ => self.others.insert(label.into(), operation).is_none(),
        }
    }

    /// The operation with this label.
    pub(super) fn find(&self, label: &[u8]) -> Option<u32> {
        let numbered = self.label_number(label).and_then(|number| self.numbered.get(number)).and_then(|operation| operation.checked_sub(1));
        numbered.or_else(|| self.others.get(label).copied())
    }

    /// Labels up to this number are stored in the dense table; a single huge number must not make it huge.
    fn max_dense_number(&self) -> usize {
        self.numbered.len() * 2 + 1024
    }

    fn label_number(&self, label: &[u8]) -> Option<usize> {
        let number = label.strip_prefix(&self.prefix[..])?;
        let plain = !number.is_empty() && number.len() < 10 && (number[0] != b'0' || number.len() == 1);
        let mut value = 0;
        for digit in plain.then_some(number)? {
            value = value * 10 + usize::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        }
        Some(value)
    }
}

/// Number of trailing digits.
fn trailing_digits(label: &[u8]) -> usize {
    label.iter().rev().take_while(|letter| letter.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_and_without_numbers_name_their_operations() {
        let mut labels = OperationLabels::default();
        let names = ["l1", "l2", "l900000000", "start", "l", "l01", "m1", "l99999999999999"];
        for (operation, name) in names.iter().enumerate() {
            assert!(labels.define(name.as_bytes(), operation as u32), "{name}");
        }
        for (operation, name) in names.iter().enumerate() {
            assert_eq!(labels.find(name.as_bytes()), Some(operation as u32), "{name}");
        }
        assert_eq!(labels.find(b"l3"), None);
        labels.clear();
        assert!(names.iter().all(|name| labels.find(name.as_bytes()).is_none()));
    }

    #[test]
    fn a_label_is_given_only_once() {
        let mut labels = OperationLabels::default();
        assert!(labels.define(b"l1", 0) && labels.define(b"end", 1));
        assert!(!labels.define(b"l1", 2));
        assert!(!labels.define(b"end", 2));
    }
}
