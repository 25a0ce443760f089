//! Raw files of records of a fixed size, as the probe writes them.

/// The records of a raw file behind the first one, whose first word is a magic number; none if it has another one.
pub(super) fn raw_records<const WORDS: usize>(bytes: &[u8], magic: u64) -> impl Iterator<Item = [u64; WORDS]> + Clone {
    let mut records = bytes.chunks_exact(8 * WORDS).map(to_words);
    let is_known = records.next().is_some_and(|first| first[0] == magic);
    records.filter(move |_| is_known)
}

fn to_words<const WORDS: usize>(record: &[u8]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(record.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_follow_the_one_with_the_magic_number() {
        let bytes: Vec<u8> = [7_u64, 0, 1, 2, 3, 4, 5].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(raw_records(&bytes, 7).collect::<Vec<_>>(), [[1, 2], [3, 4]], "the last one is not complete");
        assert_eq!(raw_records::<2>(&bytes, 8).count() + raw_records::<2>(&[], 0).count(), 0);
    }
}
