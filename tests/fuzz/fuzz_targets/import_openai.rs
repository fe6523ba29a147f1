#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec_dialect::interchange::ForeignFormat;
use loomrec_fuzz::import;

fuzz_target!(|data: &[u8]| import::check(&[ForeignFormat::OpenAiChat], data));
