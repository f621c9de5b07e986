//! The shipped references, case by case, under `cargo test`.

use nack_contracts::shipped;

fn main() {
    let subjects = shipped().into_iter().filter_map(|source| {
        let name = source.file.strip_prefix("contracts/")?.strip_suffix(".toml")?.to_owned();
        Some((source, nack_subjects::reference(&name, None)?))
    });
    nack::conformance::main(subjects.collect());
}
