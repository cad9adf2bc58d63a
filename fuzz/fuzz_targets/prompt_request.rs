//! See `haversack_fuzz::prompt_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haversack_fuzz::prompt_request(data));
