//! Bytes that compress as real ones do: words for text, runs and noise for native code.

use crate::rng::Rng;

const SYLLABLES: [&str; 16] = [
    "re", "con", "ta", "self", "num", "def", "ing", "ex", "pro", "li", "ver", "na", "set", "ma",
    "th", "un",
];

/// Lines of words from a vocabulary of its own: deflate makes a quarter to a third of it.
pub(super) fn text(rng: &mut Rng, size: usize) -> Vec<u8> {
    let vocabulary: Vec<String> = (0..150).map(|_| word(rng)).collect();
    let mut text = String::with_capacity(size + 16);
    while text.len() < size {
        // The lower of two draws: some words are frequent, as in every language.
        let at = rng.below(vocabulary.len()).min(rng.below(vocabulary.len()));
        text.push_str(&vocabulary[at]);
        text.push_str(if rng.below(9) == 0 { "\n    " } else { " " });
    }
    text.truncate(size);
    text.into_bytes()
}

fn word(rng: &mut Rng) -> String {
    let syllables = 1 + rng.below(3);
    let mut word: String = (0..syllables).map(|_| SYLLABLES[rng.below(16)]).collect();
    if rng.below(4) == 0 {
        word.push_str(&rng.below(1000).to_string());
    }
    word
}

/// Blocks of zeros, of repeated patterns and of noise in equal parts.
pub(super) fn library(rng: &mut Rng, size: usize) -> Vec<u8> {
    let mut bytes = b"\x7fELF".to_vec();
    while bytes.len() < size {
        let pattern = rng.next_u64();
        match rng.below(3) {
            0 => bytes.extend([0; 256]),
            1 => (0..32).for_each(|_| bytes.extend(pattern.to_le_bytes())),
            _ => (0..32).for_each(|_| bytes.extend(rng.next_u64().to_le_bytes())),
        }
    }
    bytes.truncate(size);
    bytes
}
