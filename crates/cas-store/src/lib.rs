//! A content-addressed store of files, placed by hard link.
