//! The labels of a rank. Nearly all files call them `l1`, `l2`, …, so these are looked up by their number.

use std::collections::HashMap;

/// Labels of a rank, and the operations that they name.
#[derive(Default)]
pub struct Labels {
    /// What stands before the numbers.
    letters: Vec<u8>,
    /// By number: one more than the operation, 0 for none.
    numbered: Vec<u32>,
    others: HashMap<Box<[u8]>, u32>,
}

impl Labels {
    /// Forgets the labels of the rank before.
    pub fn clear(&mut self) {
        self.numbered.clear();
        self.others.clear();
    }

    /// Names an operation; false if the label names another one already.
    pub fn define(&mut self, label: &[u8], operation: u32) -> bool {
        if self.letters.is_empty() {
            self.letters = label[..label.len() - digits(label)].to_vec();
        }
        match self.number(label) {
            Some(number) if number <= self.farthest() => {
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

    /// The operation of this name.
    pub fn find(&self, label: &[u8]) -> Option<u32> {
        let numbered = self.number(label).and_then(|number| self.numbered.get(number)).and_then(|operation| operation.checked_sub(1));
        numbered.or_else(|| self.others.get(label).copied())
    }

    /// Numbers up to here have a place of their own: those of a file that numbers its operations, whatever a single wild one says.
    fn farthest(&self) -> usize {
        self.numbered.len() * 2 + 1024
    }

    fn number(&self, label: &[u8]) -> Option<usize> {
        let number = label.strip_prefix(&self.letters[..])?;
        let plain = !number.is_empty() && number.len() < 10 && (number[0] != b'0' || number.len() == 1);
        let mut value = 0;
        for digit in plain.then_some(number)? {
            value = value * 10 + usize::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        }
        Some(value)
    }
}

/// How many digits a label ends with.
fn digits(label: &[u8]) -> usize {
    label.iter().rev().take_while(|letter| letter.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_and_without_numbers_name_their_operations() {
        let mut labels = Labels::default();
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
        let mut labels = Labels::default();
        assert!(labels.define(b"l1", 0) && labels.define(b"end", 1));
        assert!(!labels.define(b"l1", 2));
        assert!(!labels.define(b"end", 2));
    }
}
