//! Everything that the public interface promises, on archives that the tests make themselves.

mod made;
mod round_trip;
