#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec_fuzz::framing;
use loomrec_provider::Framing;

fuzz_target!(|data: &[u8]| framing::check(Framing::Lines, data));
