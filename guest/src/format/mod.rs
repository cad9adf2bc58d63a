//! Formats, one a file: `parse(bytes) -> value + problems`, `render(value) -> bytes`. They know no
//! store and no key.

pub mod text;
