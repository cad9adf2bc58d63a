//! Field types of solven (spec/solven.md). Knows no template.

use super::{is_plain_id, text_field};

text_field!(
    /// A solven thread; a ticket is a thread, too.
    ThreadId,
    "thread id",
    "1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit",
    |text| is_plain_id(text, 128)
);

text_field!(
    /// A solven user. `system` is the directory of the shared skills, `user` the view's other name for
    /// the user's own.
    UserId,
    "user id",
    "1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit, and not `system` or `user`",
    |text| is_plain_id(text, 128) && text != "system" && text != "user"
);
