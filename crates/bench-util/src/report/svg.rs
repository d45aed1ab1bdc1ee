//! Pictures: drawn by hand, because two plots do not need a plotting library.
