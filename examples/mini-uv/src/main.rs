//! A thin installer composed from the toolkit.

fn main() {}
