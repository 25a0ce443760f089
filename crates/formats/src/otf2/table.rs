//! Things by the numbers that an archive gives them.
//!
//! Tools number densely from 0, so that most things are found by their place in a list; but nothing forbids any number.

use std::collections::HashMap;

/// Numbers from here on are not taken for places.
const MOST_PLACES: u32 = 1 << 16;

/// Things by number.
pub struct Table<T> {
    places: Vec<Option<T>>,
    others: HashMap<u32, T>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { places: Vec::new(), others: HashMap::new() }
    }
}

impl<T> Table<T> {
    /// Adds a thing, in place of another one with this number.
    pub fn insert(&mut self, number: u32, thing: T) {
        if number >= MOST_PLACES {
            self.others.insert(number, thing);
            return;
        }
        let place = number as usize;
        if place >= self.places.len() {
            self.places.resize_with(place + 1, || None);
        }
        self.places[place] = Some(thing);
    }

    /// The thing with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        if number < MOST_PLACES { self.places.get(number as usize)?.as_ref() } else { self.others.get(&number) }
    }

    /// All of them, with their numbers; in the order of these as far as they are places.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let places = (0..).zip(&self.places).filter_map(|(number, thing)| Some((number, thing.as_ref()?)));
        places.chain(self.others.iter().map(|(number, thing)| (*number, thing)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_will_do() {
        let mut table = Table::default();
        for number in [3, 70_000, u32::MAX, 0] {
            table.insert(number, number);
        }
        table.insert(3, 4);
        assert_eq!(
            [0, 1, 3, 70_000, u32::MAX, 70_001].map(|number| table.get(number).copied()),
            [Some(0), None, Some(4), Some(70_000), Some(u32::MAX), None]
        );
        assert_eq!(table.iter().count(), 4);
    }
}
