//! The cache through its public interface.

mod basics;
