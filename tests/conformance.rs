//! `cargo test --test conformance [FILTER…]`: every case on every adapter. See `tests/README.md`.

fn main() -> std::process::ExitCode {
    haversack_tests::runner::main()
}
