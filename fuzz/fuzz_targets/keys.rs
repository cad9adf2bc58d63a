//! See `haversack_fuzz::keys`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haversack_fuzz::keys(data));
