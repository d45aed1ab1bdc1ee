//! The build of ours that is slowed on purpose.

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    bench_gate::read(bench_gate::TURNS_SLOWED)
}
