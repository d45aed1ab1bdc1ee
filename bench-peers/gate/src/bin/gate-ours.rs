//! The build of ours as it is.

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    bench_gate::read(bench_gate::TURNS)
}
