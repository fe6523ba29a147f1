//! The binary's entry: parse, run, turn the result into an exit code.

fn main() {}
