//! Archives as they are written, cut, broken and read again. Other readers than ours: guest/tests.
//!
//! Why level 4: 24 MB of session lines over real sources and documents, natively, optimised, gave 3.97 at
//! 115 MB/s with level 1, 5.21 at 73 with 4, 5.31 at 37 with 6, 5.33 at 21 with 9. From 4 to 6 the time
//! doubles for a fiftieth of the size.

use proptest::prelude::*;

use super::write::HEADER;
use super::*;
use crate::limits::{ARCHIVE_PIECE_RAW_BYTES_MAX, ARCHIVE_STEP_RAW_BYTES};

const PLENTY: usize = 64 << 20;

fn file_of(raw: &[u8]) -> Vec<u8> {
    let pieces = compress(raw).unwrap();
    pieces.into_iter().flat_map(|piece| piece.bytes).collect()
}

/// Bytes that compress about as session lines do.
fn lines(length: usize) -> Vec<u8> {
    let mut raw = Vec::with_capacity(length + 80);
    let mut number = 1u32;
    while raw.len() < length {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        raw.extend_from_slice(
            format!("{{\"role\":\"user\",\"content\":\"{number:08x}\"}}\n").as_bytes(),
        );
    }
    raw.truncate(length);
    raw
}

fn damage_of(file: &[u8]) -> (Vec<u8>, Option<Fault>) {
    let (raw, summary) = decode(file, PLENTY).unwrap();
    assert_eq!(summary.raw_bytes, raw.len() as u64);
    if let Some(damage) = &summary.damage {
        assert_eq!(damage.raw_bytes, summary.raw_bytes);
        assert!(damage.offset_bytes <= file.len() as u64);
        assert!(
            damage.to_string().contains("raw bytes were saved"),
            "{damage}"
        );
    }
    (raw, summary.damage.map(|damage| damage.fault))
}

/// The deflate stream between header and trailer, by another inflater than ours.
fn one_stream(file: &[u8]) -> Vec<u8> {
    let stream = &file[HEADER.len()..file.len() - 8];
    miniz_oxide::inflate::decompress_to_vec(stream).unwrap()
}

#[test]
fn a_member_begins_and_ends_as_the_format_says() {
    let empty = file_of(b"");
    assert_eq!(empty[..10], [31, 139, 8, 0, 0, 0, 0, 0, 0, 255]);
    assert_eq!(empty[10..], [3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let file = file_of(b"123456789");
    assert_eq!(file[file.len() - 8..], [0x26, 0x39, 0xf4, 0xcb, 9, 0, 0, 0]);
    assert_eq!(file_of(b"123456789"), file);
}

#[test]
fn pieces_at_the_edge_are_one_stream() {
    for (length, pieces) in [
        (0, 1),
        (1, 1),
        (ARCHIVE_PIECE_RAW_BYTES_MAX, 1),
        (ARCHIVE_PIECE_RAW_BYTES_MAX + 1, 2),
    ] {
        let raw = lines(length);
        assert_eq!(compress(&raw).unwrap().len(), pieces, "{length}");
        let file = file_of(&raw);
        assert!(one_stream(&file) == raw, "{length}");
        let (read, summary) = decode(&file, length).unwrap();
        assert!(read == raw, "{length}");
        assert_eq!((summary.members, summary.damage), (1, None));
    }
    let error = Piece::of(&vec![0; ARCHIVE_PIECE_RAW_BYTES_MAX + 1]).unwrap_err();
    assert!(error.message.contains("4194304"), "{}", error.message);
    assert!(error.message.contains("4194305"), "{}", error.message);
}

#[test]
fn the_length_is_recorded_modulo_two_to_the_32() {
    let whole = Checksum {
        crc32: 1,
        raw_bytes: (7 << 32) + 5,
    };
    assert_eq!(whole.trailer(), [1, 0, 0, 0, 5, 0, 0, 0]);
}

#[test]
fn every_optional_field_is_passed_over() {
    let file = file_of(b"text");
    for flags in 0..32u8 {
        let mut header = HEADER.to_vec();
        header[3] = flags;
        let fields: [(u8, &[u8]); 3] = [(4, b"\x03\x00a\0b"), (8, b"name\0"), (16, b"note\xff\0")];
        for (_, field) in fields.iter().filter(|(flag, _)| flags & flag != 0) {
            header.extend_from_slice(field);
        }
        if flags & 2 != 0 {
            let checksum = crc32fast::hash(&header) as u16;
            header.extend_from_slice(&checksum.to_le_bytes());
        }
        let whole = [&header, &file[10..]].concat();
        assert_eq!(damage_of(&whole), (b"text".to_vec(), None), "{flags}");
        if flags & 2 != 0 {
            let mut broken = whole;
            broken[4] ^= 1;
            let (raw, fault) = damage_of(&broken);
            assert_eq!(raw, b"");
            assert!(matches!(fault, Some(Fault::Header(_))), "{flags}");
        }
    }
    let empty_extra = [&[31, 139, 8, 4, 0, 0, 0, 0, 0, 3, 0, 0], &file[10..]].concat();
    assert_eq!(damage_of(&empty_extra), (b"text".to_vec(), None));
}

#[test]
fn damage_is_named() {
    let file = file_of(b"text");
    let end = file.len();
    let with = |at: usize, byte: u8| {
        let mut file = file.clone();
        file[at] = byte;
        damage_of(&file)
    };
    let text = || b"text".to_vec();
    assert_eq!(damage_of(b""), (vec![], Some(Fault::Torn)));
    assert_eq!(damage_of(b"PK\x03\x04"), (vec![], Some(Fault::NotGzip)));
    assert_eq!(with(1, 0x8c), (vec![], Some(Fault::NotGzip)));
    assert!(matches!(with(2, 7), (_, Some(Fault::Header(rule))) if rule.contains("deflate")));
    assert!(matches!(with(3, 32), (_, Some(Fault::Header(rule))) if rule.contains("reserved")));
    assert_eq!(with(10, 7), (vec![], Some(Fault::Data)));
    assert!(matches!(with(end - 8, 0), (raw, Some(Fault::Checksum { .. })) if raw == text()));
    let short = Fault::Length {
        recorded: 3,
        found: 4,
    };
    assert_eq!(with(end - 4, 3), (text(), Some(short)));
    let after = |tail: &[u8]| damage_of(&[file.as_slice(), tail].concat());
    assert_eq!(after(b"\0\0\0"), (text(), None));
    assert_eq!(after(b"\0\0\0x"), (text(), Some(Fault::Garbage)));
    assert_eq!(after(b"\x1fx"), (text(), Some(Fault::Garbage)));
    assert_eq!(after(b"\x1f\x8b"), (text(), Some(Fault::Torn)));
    assert_eq!(after(&file), (b"texttext".to_vec(), None));
    assert_eq!(
        after(&[b"\0\0", file.as_slice()].concat()),
        (b"texttext".to_vec(), None)
    );
}

#[test]
fn a_bomb_comes_out_a_step_at_a_time() {
    let raw = vec![0; ARCHIVE_PIECE_RAW_BYTES_MAX];
    let file = file_of(&raw);
    assert!(file.len() < 8 << 10);
    assert_eq!(decode(&file, raw.len() - 1), None);
    let (mut decoder, mut step, mut rest) = (
        Decoder::new(),
        vec![0; ARCHIVE_STEP_RAW_BYTES],
        file.as_slice(),
    );
    let first = decoder.feed(rest, &mut step);
    assert_eq!(first.written_bytes, step.len());
    rest = &rest[first.consumed_bytes..];
    assert!(!rest.is_empty());
}

#[test]
fn every_truncation_gives_a_prefix_and_says_so() {
    let raw = lines(700);
    let file = file_of(&raw);
    for length in 0..file.len() {
        let (read, fault) = damage_of(&file[..length]);
        assert!(raw.starts_with(&read), "{length}");
        assert_eq!(fault, Some(Fault::Torn), "{length}");
    }
    // All of it is there although the trailer is not.
    assert_eq!(damage_of(&file[..file.len() - 8]).0, raw);
}

/// Feed `file` in chunks of these sizes, in turn, into output of that size.
fn in_chunks(file: &[u8], sizes: &[usize], output_bytes: usize) -> (Vec<u8>, Summary) {
    let (mut decoder, mut raw) = (Decoder::new(), Vec::new());
    let mut output = vec![0; output_bytes];
    let (mut rest, mut sizes) = (file, sizes.iter().cycle());
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
        let mut chunk = chunk;
        loop {
            let progress = decoder.feed(chunk, &mut output);
            raw.extend_from_slice(&output[..progress.written_bytes]);
            chunk = &chunk[progress.consumed_bytes..];
            if chunk.is_empty() && progress.written_bytes < output.len() {
                break;
            }
        }
        rest = after;
    }
    (raw, decoder.finish())
}

proptest! {
    #[test]
    fn chunks_of_any_size_give_the_same(
        members in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..5),
        padding in 0usize..3,
        sizes in proptest::collection::vec(1usize..40, 1..5),
        output_bytes in 1usize..100,
    ) {
        let padding = vec![0; padding];
        let file: Vec<u8> = members.iter().flat_map(|raw| [file_of(raw), padding.clone()].concat()).collect();
        let (raw, summary) = in_chunks(&file, &sizes, output_bytes);
        prop_assert_eq!(raw, members.concat());
        prop_assert_eq!(summary.damage, None);
        prop_assert_eq!(summary.members, members.len() as u64);
    }

    #[test]
    fn pieces_of_any_size_make_one_member(raw in proptest::collection::vec(0u8..4, 0..600), piece_bytes in 1usize..100) {
        let pieces: Vec<Piece> = raw.chunks(piece_bytes).map(|raw| Piece::of(raw).unwrap()).collect();
        let whole = pieces.iter().fold(Checksum::default(), |whole, piece| whole.combine(piece.checksum));
        prop_assert_eq!(whole, Checksum::of(&raw));
        let end = Piece::of(&[]).unwrap().closed(whole);
        let file = [HEADER.to_vec(), pieces.iter().flat_map(|piece| piece.bytes.clone()).collect(), end.bytes].concat();
        prop_assert_eq!(one_stream(&file), raw.clone());
        prop_assert_eq!(damage_of(&file), (raw, None));
    }

    #[test]
    fn corruption_is_never_silent(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), 1u8..), 1..4),
        sizes in proptest::collection::vec(1usize..300, 1..3),
    ) {
        let raw = lines(900);
        let mut file = file_of(&raw);
        for (at, change) in changes {
            let at = at.index(file.len());
            file[at] ^= change;
        }
        let (read, summary) = in_chunks(&file, &sizes, 64);
        prop_assert!(summary.damage.is_some() || read == raw);
    }

    #[test]
    fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..300), as_member: bool) {
        let start: &[u8] = if as_member { &HEADER } else { &[] };
        let file = [start, &noise].concat();
        let (_, summary) = in_chunks(&file, &[7], 50);
        prop_assert!(summary.damage.is_some());
    }
}
