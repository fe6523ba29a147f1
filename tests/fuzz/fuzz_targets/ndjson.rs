#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec::provider::Framing;
use loomrec_fuzz::framing;

fuzz_target!(|data: &[u8]| framing::check(Framing::Lines, data));
