//! See `haversack_fuzz::front_matter`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haversack_fuzz::front_matter(data));
