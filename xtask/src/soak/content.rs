//! Bytes that follow from their name: whoever reads them knows what they must be.

use super::dice::Dice;

/// The content of `name`: up to 20,000 bytes, now and then 300,000, sometimes none.
pub(super) fn of(name: u64) -> Vec<u8> {
    let mut dice = Dice::new(name);
    let most = if dice.one_in(40) { 300_000 } else { 20_000 };
    let length = dice.below(most) / 8;
    (0..length).flat_map(|_| dice.next().to_le_bytes()).collect()
}

/// An error that says which bytes are wrong where; its process ends and the run has failed.
pub(super) fn compare(what: &str, got: &[u8], name: u64) -> crate::Result<()> {
    let expected = of(name);
    if got == expected {
        return Ok(());
    }
    let at = got.iter().zip(&expected).take_while(|(got, expected)| got == expected).count();
    let (got, expected) = (got.len(), expected.len());
    Err(format!("WRONG DATA: {what}: {got} bytes, expected {expected}, differ at {at}").into())
}
