//! The `defib` binary.

fn main() {}
