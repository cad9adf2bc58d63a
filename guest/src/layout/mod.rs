//! Typed places and keys, both ways; the only code that spells a key. Knows no store.
