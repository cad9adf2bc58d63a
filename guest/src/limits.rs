//! Every bound of haversack, with its unit. A bound that is not here does not exist.

/// Largest body that a store promises to take or give in one piece (wit/store/blobs.wit).
pub const VALUE_BYTES_MAX: u64 = 8 << 20;
/// Requests in one wave.
pub const WAVE_REQUESTS_MAX: usize = 256;
/// Bytes of answers in one wave.
pub const WAVE_BYTES_MAX: u64 = 16 << 20;
/// Keys in one delete: what S3 takes at once.
pub const DELETE_KEYS_MAX: usize = 1_000;
/// Keys in one list page.
pub const LIST_PAGE_MAX: u32 = 1_000;
/// Above this size of its result a concat takes only `if-absent` (wit/store/blobs.wit).
pub const CONCAT_CONDITION_BYTES_MAX: u64 = 64 << 20;

pub const KEY_BYTES_MAX: usize = 1_024;
pub const SEGMENT_BYTES_MAX: usize = 255;

/// How much of a workspace file, a daily file or a skill's text is read; more is cut and marked.
pub const WORKSPACE_FILE_BYTES_MAX: u64 = 1 << 20;
/// How much of a skill's file is read for the listing.
pub const SKILL_BYTES_MAX: u64 = 64 << 10;
/// A front matter block.
pub const FRONT_MATTER_BYTES_MAX: usize = 64 << 10;
pub const FRONT_MATTER_DEPTH_MAX: usize = 64;
/// Characters taken from a skill's body when it has no description.
pub const DESCRIPTION_CHARACTERS_MAX: usize = 200;
/// A tool's description in the Tooling section, in UTF-16 units; a longer one is cut to
/// [`TOOL_DESCRIPTION_KEPT`] plus `...`.
pub const TOOL_DESCRIPTION_UTF16_MAX: usize = 180;
pub const TOOL_DESCRIPTION_KEPT: usize = 177;

/// Offsets of time zones, in minutes either way (18 hours, as ISO 8601 libraries allow).
pub const UTC_OFFSET_MINUTES_MAX: u32 = 1_080;
/// The last millisecond of the year 9999, so that a date has four digits.
pub const NOW_MS_MAX: u64 = 253_402_300_799_999;

/// List pages that `layout.contents` and `layout.homes` read in one call.
pub const PAGES_PER_CALL_MAX: usize = 8;
/// Directories that `layout.homes` looks into in one call to tell systems apart.
pub const HOMES_PROBED_MAX: usize = WAVE_REQUESTS_MAX;

/// Nesting of a JSON document that `documents.set-member` edits; serde_json's own bound is 128.
pub const JSON_DEPTH_MAX: usize = 127;
/// Size of a JSON document that `documents.set-member` edits.
pub const JSON_DOCUMENT_BYTES_MAX: usize = 8 << 20;

/// Request ids that a document remembers (spec/protocols.md).
pub const REQUESTS_REMEMBERED: usize = 16;
/// Characters of a request id; so many remembered ones fit into an object's metadata.
pub const REQUEST_ID_CHARACTERS_MAX: usize = 64;
/// How often a write is tried against others before the conflict is returned.
pub const CONFLICT_TRIES_MAX: usize = 64;
/// A document that is edited by compare-and-swap.
pub const DOCUMENT_BYTES_MAX: u64 = VALUE_BYTES_MAX;

/// Entries of one append to a log, and their bytes.
pub const LOG_APPEND_ENTRIES_MAX: usize = 256;
pub const LOG_APPEND_BYTES_MAX: usize = 4 << 20;
/// One append in so many looks whether it is time to fold.
pub const LOG_FOLD_ONE_IN: u8 = 8;
/// A fold is due at so many pending segments, or so many bytes of them.
pub const LOG_FOLD_SEGMENTS: usize = 32;
pub const LOG_FOLD_BYTES: u64 = 256 << 10;
/// What one fold takes at most; their hashes fit into the head's metadata.
pub const LOG_BATCH_SEGMENTS_MAX: usize = 48;
pub const LOG_BATCH_BYTES_MAX: u64 = 4 << 20;
/// A head of so many batches or bytes is sealed before the next batch.
pub const LOG_HEAD_BATCHES_MAX: u64 = 2;
pub const LOG_HEAD_BYTES_MAX: u64 = 512 << 10;
/// Sealed pieces that a head and each sealed piece name.
pub const LOG_PREVIOUS_MAX: usize = 4;
/// How far back a repeated entry is recognised: the lesser of both.
pub const LOG_WINDOW_ENTRIES: usize = 256;
pub const LOG_WINDOW_BYTES: u64 = 8 << 20;
/// What is read of a log's end at first.
pub const LOG_TAIL_BYTES: u64 = 256 << 10;
/// Entries in one page of a log's history.
pub const LOG_PAGE_ENTRIES_MAX: usize = 1_000;
/// Bytes in one page of a log's history, unless a single entry is larger.
pub const LOG_PAGE_BYTES_MAX: u64 = 8 << 20;
/// How often a read begins again because a fold came in between.
pub const LOG_READ_TRIES_MAX: usize = 8;

// gsv: archives, compaction, media.

/// Raw bytes of one piece of an archive, compressed on its own.
pub const ARCHIVE_PIECE_RAW_BYTES_MAX: usize = 4 << 20;
/// Bytes that are archived in one step: 4 MiB, unless a single line is larger, and the summary before it.
pub const ARCHIVE_RUN_RAW_BYTES_MAX: usize = VALUE_BYTES_MAX as usize + (512 << 10);
/// Of 1 to 10, for archives. Chosen by measurement; see `format/gzip/tests.rs`.
pub const ARCHIVE_DEFLATE_LEVEL: u8 = 4;
/// Offsets in an archive's metadata, of 11 bytes each; a store takes 2 KiB of metadata.
pub const ARCHIVE_FOOTINGS_MAX: usize = 48;
/// Raw bytes that reading an archive gives in one step, whatever the archive claims.
pub const ARCHIVE_STEP_RAW_BYTES: usize = 64 << 10;
/// Compressed bytes that reading an archive asks for at once.
pub const ARCHIVE_READ_BYTES: u64 = 4 << 20;
/// Pieces that are joined in one step; every store takes so many.
pub const ARCHIVE_CONCAT_SOURCES_MAX: usize = 256;
/// Blocks of a message that are told apart; a message of more is shown as it stands. A parsed block takes
/// many times the bytes of the shortest one.
pub const MESSAGE_BLOCKS_MAX: usize = 10_000;
/// Tokens of an image, in every role, whatever its size (spec: gsv, Compaction).
pub const IMAGE_TOKENS: u64 = 1_600;
/// Tokens left free for the model's answer, unless the caller says otherwise.
pub const COMPACTION_RESERVE_TOKENS: u64 = 20_000;
/// Tokens of newest messages that a compaction keeps, unless the caller says otherwise.
pub const COMPACTION_KEEP_RECENT_TOKENS: u64 = 20_000;
/// A conversation of so few messages is never compacted.
pub const COMPACTION_MESSAGES_MIN: usize = 2;
/// The smallest window of a model that a conversation is cut into chunks for.
pub const WINDOW_TOKENS_MIN: u64 = 2_000;
/// Characters of a tool's result that the summarising model sees.
pub const TOOL_RESULT_CHARACTERS_MAX: usize = 2_000;
/// Decoded bytes of one attachment: the reference's 25 MB.
pub const MEDIA_BYTES_MAX: u64 = 25 << 20;
/// Minutes without activity that an `idle` reset policy may name: a year.
pub const IDLE_MINUTES_MAX: u32 = 525_600;

/// Text of one append to memory.
pub const MEMORY_TEXT_BYTES_MAX: usize = 256 << 10;
/// Days in a snapshot of memory, unless the caller says otherwise, and at most.
pub const MEMORY_DAYS_DEFAULT: u32 = 2;
pub const MEMORY_DAYS_MAX: u32 = 14;
/// Files of days that one snapshot reads until it has found enough that are not empty.
pub const MEMORY_DAYS_READ_MAX: usize = WAVE_REQUESTS_MAX;
/// Files that are read at once to replace blank ones; each has up to 1 MiB.
pub const MEMORY_REPLACEMENTS_MAX: usize = 8;
/// Lines that one call promotes.
pub const PROMOTED_LINES_MAX: usize = 1_000;
/// Days that pruning may be told to keep: a century.
pub const KEEP_DAYS_MAX: u32 = 36_525;
/// Bytes that are looked at of what may be a secret, so that a long line costs no more than its length.
pub const SECRET_BYTES_MAX: usize = 256;
/// Lines that a refusal of secrets names.
pub const SECRETS_NAMED_MAX: usize = 5;

/// Lines in one answer of `files.read-lines`, unless the caller says otherwise, and at most.
pub const FILES_LINES_DEFAULT: u32 = 2_000;
pub const FILES_LINES_MAX: u32 = 10_000;
/// Characters of such a line.
pub const FILES_NUMBERED_CHARACTERS_MAX: usize = 2_000;
/// Bytes of a file that are looked through for them.
pub const FILES_LINES_SCAN_BYTES_MAX: u64 = 32 << 20;
/// Files in one answer of `files.glob`; a list page has no more.
pub const FILES_GLOB_MAX: usize = LIST_PAGE_MAX as usize;
/// List pages that one search reads.
pub const FILES_LIST_PAGES_MAX: usize = 8;
/// Bytes of files that one search reads.
pub const FILES_GREP_BYTES_MAX: u64 = 32 << 20;
/// Matches in one answer of `files.grep`, and characters of a line in it.
pub const FILES_GREP_MATCHES_MAX: usize = 500;
pub const FILES_LINE_CHARACTERS_MAX: usize = 500;
/// Bytes of a regular expression.
pub const FILES_PATTERN_BYTES_MAX: usize = 1_024;
/// What it may compile to: each byte that is searched costs up to so much work.
pub const FILES_PATTERN_PROGRAM_BYTES_MAX: usize = 256 << 10;

/// Attachments in one plan, and blocks with base64 in one message.
pub const MEDIA_ITEMS_MAX: usize = 256;
/// Bytes of messages and keys in one call about media; base64 need not be in them.
pub const MEDIA_ARGUMENT_BYTES_MAX: usize = 8 << 20;
/// Media blocks in the messages of one `media.hydrate`.
pub const MEDIA_HYDRATED_BLOCKS_MAX: usize = 1_024;
/// Bytes of the seed that keys are drawn from.
pub const MEDIA_SEED_BYTES_MIN: usize = 16;
pub const MEDIA_SEED_BYTES_MAX: usize = 256;
/// Bytes of an attachment's file name in its metadata; fits also where the store encodes it.
pub const MEDIA_FILENAME_BYTES_MAX: usize = 512;
pub const MEDIA_MIME_CHARACTERS_MAX: usize = 255;

/// Earlier sessions that the state of a session key names.
pub const SESSIONS_REMEMBERED: usize = 16;
/// Characters of the seed that a session's id is made from.
pub const SEED_CHARACTERS_MIN: usize = 16;
/// Folds that closing a log does in one call: 48,000 segments.
pub const LOG_CLOSE_FOLDS_MAX: usize = 1_000;
/// Sealed pieces of a log that is read from its beginning.
pub const LOG_PIECES_MAX: usize = 100_000;
/// Messages of one page of a session's history, unless the caller says otherwise.
pub const HISTORY_MESSAGES_DEFAULT: u32 = 100;
/// Messages, and their bytes, that a session may stand at for `sessions.context`; more is to be compacted.
pub const CONTEXT_MESSAGES_MAX: usize = 10_000;
pub const CONTEXT_BYTES_MAX: u64 = 16 << 20;
/// Problems of the lines of a session, or of a page of it, that are told one by one; how many more there are is told.
pub const SESSION_PROBLEMS_MAX: usize = 256;
/// The same for each archive that a list counts.
pub const SESSIONS_COUNTED_PROBLEMS_MAX: usize = 16;
/// Sessions that follow each other while one append is on its way.
pub const APPEND_SESSIONS_MAX: usize = 8;
/// Sessions and archives in one page of a list; each is a request of a wave.
pub const SESSIONS_PAGE_MAX: u32 = WAVE_REQUESTS_MAX as u32;
/// Compressed bytes of archives without metadata that one page of a list counts, unless a single one is larger.
pub const SESSIONS_COUNTED_BYTES_MAX: u64 = 32 << 20;
/// Pieces of an archive that one call of a reset makes, 14 MiB of messages; the next call goes on.
pub const RESET_PIECES_PER_CALL: usize = 4;
/// Media that a reset is told to keep.
pub const RESET_KEEP_MEDIA_MAX: usize = 256;
/// Messages of a page of a transcript, and their bytes unless a single one is larger.
pub const TRANSCRIPT_MESSAGES_MAX: u32 = 1_000;
pub const TRANSCRIPT_BYTES_MAX: u64 = 4 << 20;

// moltbot: chat logs, users.

/// `lastActiveAt` of a user is written no oftener.
pub const TOUCH_EVERY_MS: u64 = 60_000;
/// Files of the template that a new user begins with, and their bytes.
pub const TEMPLATE_FILES_MAX: usize = 256;
pub const TEMPLATE_BYTES_MAX: usize = 4 << 20;
/// List pages that `tenants.usage` reads in one call, unless the caller says otherwise, and at most.
pub const USAGE_PAGES_DEFAULT: u32 = 8;
pub const USAGE_PAGES_MAX: u32 = 256;
/// Things that a list of a user's objects passed over, told one by one in one answer.
pub const TENANT_PROBLEMS_MAX: usize = 256;
/// Days of history that a tier may name: a century.
pub const HISTORY_DAYS_MAX: u32 = 36_525;
/// So many messages in a row that are older than a tier's days end a history.
pub const WITHHELD_MESSAGES_MAX: usize = 100;
/// meta.json of a user; a sweep reads so much of each.
pub const USER_META_BYTES_MAX: u64 = 64 << 10;
/// Days that the data of an ended subscription stay, and that its copies stay after that, unless the caller says
/// otherwise; and at most, a century.
pub const RETENTION_DAYS_DEFAULT: u32 = 90;
pub const GRACE_DAYS_DEFAULT: u32 = 30;
pub const RETENTION_DAYS_MAX: u32 = 36_525;
/// How long a user belongs to the sweep that claimed it. A call lasts 60 seconds at most, its deletes included: clocks
/// of hosts may differ by 30 seconds.
pub const RETENTION_LEASE_MS: u64 = 120_000;
/// Store requests that one call about one user makes, about; by default, at least and at most.
pub const RETENTION_REQUESTS_DEFAULT: u32 = 400;
pub const RETENTION_REQUESTS_MIN: u32 = 16;
pub const RETENTION_REQUESTS_MAX: u32 = 10_000;
/// Bytes that one such call copies, unless a single object is larger; the store copies them, in its own time.
pub const RETENTION_COPIED_BYTES_MAX: u64 = 1 << 30;
/// Objects that are looked at together, each at both its places.
pub const MOVING_BATCH_OBJECTS: usize = WAVE_REQUESTS_MAX / 2;
/// How often an object that changes while it is copied is copied again before the next call does.
pub const MOVING_ROUNDS_MAX: usize = 4;
/// Two objects up to this size are compared byte by byte where their versions do not tell.
pub const MOVING_COMPARED_BYTES_MAX: u64 = 1 << 20;
/// Bytes of the id that a message of a chat log carries.
pub const MESSAGE_ID_BYTES_MAX: usize = 256;
/// Reads of the log for one page of a chat history, where lines in it are no messages.
pub const CHAT_READS_MAX: usize = 16;
/// Folds that bringing a chat log's metadata up to date does in one call: 3,072 appends.
pub const CHAT_FOLDS_MAX: usize = 64;
/// Bytes of a single file whose messages are counted in one call; those of a longer one stay uncounted.
pub const CHAT_COUNTED_BYTES_MAX: u64 = 16 << 20;
/// What is read of a log's beginning, for the time of its first message.
pub const CHAT_BEGIN_BYTES: u64 = 64 << 10;
/// What is read of a log's end, for its last message.
pub const CHAT_END_BYTES: u64 = 8 << 10;

// run-agent: run-info.yaml, facts, the bus, the tree.

/// Of a run-info.yaml, a fact's front matter and home-folders.md: what is read, and what may be written. 256 of
/// them fit into a wave.
pub const RUN_FILE_BYTES_MAX: usize = FRONT_MATTER_BYTES_MAX;
/// A value of a run-info.yaml or a header of the bus.
pub const RUN_VALUE_BYTES_MAX: usize = 4 << 10;
/// A prompt, a task, its state, the body of a fact.
pub const RUN_TEXT_BYTES_MAX: usize = 4 << 20;
/// Names that a colliding run, task or fact is given one after the other.
pub const RUN_NAMES_TRIED_MAX: u32 = 64;
/// Folders of a project.
pub const HOME_FOLDERS_MAX: usize = 256;
/// Runs of a page of a project's tree, unless one task has more.
pub const TREE_RUNS_PER_PAGE: usize = 10_000;
/// Runs of one task, which are one page of the tree.
pub const TREE_RUNS_PER_TASK_MAX: usize = 20_000;
/// Tasks of a page of a project's tree: their runs are listed in one wave.
pub const TREE_TASKS_PER_PAGE: usize = WAVE_REQUESTS_MAX;
/// Facts of one page of a list.
pub const FACTS_PAGE_MAX: usize = WAVE_REQUESTS_MAX;
/// The body of a message of the bus.
pub const BUS_BODY_BYTES_MAX: usize = 1 << 20;
/// Parents, links and members of `meta` of a message, each.
pub const BUS_ITEMS_MAX: usize = 64;
/// Messages of a page of the bus, unless the caller says otherwise.
pub const BUS_MESSAGES_DEFAULT: u32 = 20;

/// Messages since the last compaction that one compaction looks at; their facts lie in memory together.
pub const COMPACTION_MESSAGES_MAX: usize = 150_000;
/// Bytes of the log in one page, looking back from its end.
pub const COMPACTION_PAGE_BYTES: u64 = 1 << 20;
/// Bytes of the log that one question is made from, unless a single entry is larger.
pub const COMPACTION_CHUNK_BYTES_MAX: u64 = 4 << 20;
/// A summary, and the memories of one compaction.
pub const COMPACTION_SUMMARY_BYTES_MAX: usize = 64 << 10;
/// The state of a compaction between two calls.
pub const COMPACTION_STATE_BYTES_MAX: usize = 1 << 20;
/// Pieces that one commit archives before it answers; 32 MiB of messages, as they are read.
pub const COMPACTION_PIECES_MAX: usize = 32;
/// Bytes of the log that become one piece of the archive.
pub const COMPACTION_PIECE_BYTES: u64 = 1 << 20;
/// After so long without a call, a commit counts as given up. A call lasts 60 seconds at most.
pub const COMPACTION_LEASE_MS: u64 = 120_000;
