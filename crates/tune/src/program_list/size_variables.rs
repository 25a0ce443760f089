//! Variables that look like the size of a block, a chunk or a tile, and that the loops of the program read.

use std::path::Path;

use sintonia_symbols::{ListedVariable, ProgramImage, SymbolError, ValueType};

use super::initial_value;

/// An integer variable that may be the size of a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeVariable {
    /// The name to write.
    pub name: String,
    /// Its value in the file.
    pub value: i64,
}

/// Parts of names that mean a piece of work.
const PIECES: [&str; 8] = ["block", "blk", "chunk", "tile", "batch", "grain", "panel", "strip"];
/// Names that mean it only as a whole word.
const SHORT_NAMES: [&str; 2] = ["nb", "bs"];
/// Words with which it is a number or a position, not a size.
const NOT_SIZES: [&str; 10] = ["num", "count", "id", "index", "my", "local", "total", "first", "last", "cur"];
/// Values that can be sizes.
const SIZES: std::ops::RangeInclusive<i64> = 2..=1 << 20;

impl SizeVariable {
    /// The variables of a program that look like one.
    pub fn find_in(program: &Path) -> Result<Vec<SizeVariable>, SymbolError> {
        let image = ProgramImage::from_file(program)?;
        let named: Vec<ListedVariable> =
            image.list_variables().into_iter().filter(|variable| variable.is_settable() && is_size_name(&variable.name)).collect();
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let read = image.addresses_read_in_loops();
        let size = |variable: ListedVariable| {
            let resolved = variable.resolved.as_ref().filter(|found| matches!(found.value_type, ValueType::Integer { .. }))?;
            let is_read = resolved.location.fixed_address().is_some_and(|address| read.contains(&address));
            // A variable without a value in the file gets one by the program itself, later.
            let value = initial_value(&image, &variable)? as i64;
            (is_read && SIZES.contains(&value)).then_some(SizeVariable { name: variable.name, value })
        };
        Ok(named.into_iter().filter_map(size).collect())
    }

    /// Other values to try: a quarter to four times.
    pub fn other_values(&self) -> Vec<i64> {
        let mut values = vec![self.value / 4, self.value / 2, self.value * 2, self.value * 4];
        values.retain(|value| *value >= 1 && *value != self.value);
        values.dedup();
        values
    }
}

/// Whether a name means the size of a piece of work.
fn is_size_name(name: &str) -> bool {
    let words = split_words(name);
    let is_piece = |word: &String| PIECES.iter().any(|piece| word.contains(piece)) || SHORT_NAMES.contains(&word.as_str());
    // "blocks" and "nblocks" are numbers of blocks.
    let is_number = |word: &String| NOT_SIZES.contains(&word.as_str()) || PIECES.iter().any(|piece| word.ends_with(&format!("{piece}s")));
    words.iter().any(is_piece) && !words.iter().any(is_number)
}

/// The words of a name: `rowBlock_size` is row, block and size.
fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = '_';
    for letter in name.chars() {
        let begins = !letter.is_alphanumeric() || (letter.is_uppercase() && previous.is_lowercase());
        if begins {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        previous = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_known_by_their_names() {
        for name in ["block", "BLOCKSIZE", "blockSize", "tile_x", "cfg.chunk", "nb", "grain_size", "rowBlk", "config%batch"] {
            assert!(is_size_name(name), "{name}");
        }
        for name in ["n", "size", "blocks", "nblocks", "numBlocks", "block_id", "my_chunk", "number", "absolute", "blocking_count"] {
            assert!(!is_size_name(name), "{name}");
        }
    }

    #[test]
    fn smaller_and_larger_values_are_tried() {
        let values = |value| SizeVariable { name: "b".into(), value }.other_values();
        assert_eq!(values(64), [16, 32, 128, 256]);
        assert_eq!(values(2), [1, 4, 8]);
    }
}
