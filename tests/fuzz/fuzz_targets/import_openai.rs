#![no_main]

use libfuzzer_sys::fuzz_target;
use loomrec::interchange::Format;
use loomrec_fuzz::import;

fuzz_target!(|data: &[u8]| import::check(&[Format::OpenAiBatch, Format::OpenAiChat], data));
