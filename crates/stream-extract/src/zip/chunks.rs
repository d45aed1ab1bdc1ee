//! A list that grows without moving what it holds.
//!
//! A `Vec` doubles and copies: for a moment it takes three times what it holds. Here the records stay
//! where they are and a new chunk is added, an eighth of all chunks so far, so that at no moment more
//! than an eighth is unused. Chunks come in groups of eight; those of a group are equally long, and
//! those of the next one twice as long, which makes the place of a position a matter of two shifts.

/// Chunks of one length.
const GROUP: usize = 8;
/// Items of a chunk in the first group.
const FIRST: usize = 8;

#[derive(Debug)]
pub(crate) struct Chunks<T> {
    chunks: Vec<Box<[T]>>,
    len: usize,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<T: Copy + Default> Chunks<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Forgets the items and keeps the chunks.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn push(&mut self, item: T) {
        let (chunk, at) = place(self.len);
        if chunk == self.chunks.len() {
            self.chunks.push(vec![T::default(); length(chunk)].into_boxed_slice());
        }
        self.chunks[chunk][at] = item;
        self.len += 1;
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (chunk, at) = place(index);
        (index < self.len).then(|| &self.chunks[chunk][at])
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let (chunk, at) = place(index);
        (index < self.len).then(|| &mut self.chunks[chunk][at])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten().take(self.len)
    }

    /// Sorts by a key, in place and without memory (heapsort).
    pub(crate) fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        for root in (0..self.len / 2).rev() {
            self.sink(root, self.len, &key);
        }
        for end in (1..self.len).rev() {
            self.swap(0, end);
            self.sink(0, end, &key);
        }
    }

    /// Moves an item down the heap of the first `end` until no child is larger.
    fn sink<K: Ord>(&mut self, mut root: usize, end: usize, key: &impl Fn(&T) -> K) {
        loop {
            let children = [2 * root + 1, 2 * root + 2].into_iter().filter(|&child| child < end);
            match children.max_by_key(|&child| self.get(child).map(key)) {
                Some(child) if self.get(child).map(key) > self.get(root).map(key) => {
                    self.swap(root, child);
                    root = child;
                }
                _ => return,
            }
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        let (a, b) = (place(a), place(b));
        let item = self.chunks[a.0][a.1];
        self.chunks[a.0][a.1] = self.chunks[b.0][b.1];
        self.chunks[b.0][b.1] = item;
    }
}

/// The chunk of a position, and where in it.
fn place(index: usize) -> (usize, usize) {
    let group = (index / (GROUP * FIRST) + 1).ilog2();
    let behind = index - GROUP * FIRST * ((1 << group) - 1);
    let length = FIRST << group;
    (GROUP * group as usize + behind / length, behind % length)
}

/// Items of a chunk.
fn length(chunk: usize) -> usize {
    FIRST << (chunk / GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_fill_chunk_after_chunk() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(place(index), expected, "{index}");
            expected.1 += 1;
            if expected.1 == length(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn items_stay_in_order_and_sort() {
        let mut chunks = Chunks::default();
        for index in 0..10_000_u64 {
            chunks.push(index * 7919 % 10_007);
        }
        assert!(
            (0..10_000).all(|index| chunks.get(index) == Some(&(index as u64 * 7919 % 10_007)))
        );
        assert_eq!(chunks.get(10_000), None);
        chunks.sort_by_key(|&item| item);
        assert!(chunks.iter().is_sorted());
        assert_eq!(chunks.iter().count(), 10_000);
    }

    #[test]
    fn at_most_an_eighth_is_unused() {
        let mut chunks = Chunks::default();
        for index in 1..100_000 {
            chunks.push(index);
            let held: usize = chunks.chunks.iter().map(|chunk| chunk.len()).sum();
            assert!(held <= index + index / 8 + FIRST, "{held} for {index}");
        }
    }
}
