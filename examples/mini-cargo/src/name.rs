//! Names are compared far more often than they are read.
//!
//! The resolver asks "is this the same crate, the same feature" some hundred thousand times for a
//! large workspace. An interned name answers with one pointer comparison, copies for free and
//! hashes one word. The strings are leaked on purpose: the process lives for one command and
//! every name it met is needed until its last error message.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A crate, feature or dependency name; equal names are the same pointer.
#[derive(Clone, Copy)]
pub(crate) struct Name(&'static str);

thread_local! {
    static NAMES: RefCell<HashSet<&'static str>> = RefCell::default();
}

impl Name {
    pub(crate) fn new(text: &str) -> Self {
        NAMES.with_borrow_mut(|names| match names.get(text) {
            Some(known) => Self(known),
            None => Self(remember(names, text)),
        })
    }

    pub(crate) const fn as_str(self) -> &'static str {
        self.0
    }
}

fn remember(names: &mut HashSet<&'static str>, text: &str) -> &'static str {
    let leaked: &'static str = Box::leak(text.into());
    names.insert(leaked);
    leaked
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(other.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_text_is_the_same_name_and_order_is_the_order_of_the_text() {
        assert_eq!(Name::new("serde"), Name::new(&String::from("serde")));
        assert_ne!(Name::new("serde"), Name::new("serde_json"));
        assert!(Name::new("a") < Name::new("b"), "later interned, earlier in the alphabet");
        assert!(Name::new("") < Name::new("a"), "the empty name has an address of its own");
    }
}
