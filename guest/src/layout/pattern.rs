//! Templates of keys, `agents/{agent}/memory/{date}.md`, and the [`places!`] macro that turns a table
//! of them into a typed enum. Knows no system and no field type.
//!
//! A field never crosses `/` unless its type is a path tail, which stands last. Where several fields
//! share a segment, the first split (shortest leading field first) at which every field is valid wins;
//! `layout::key_of` refuses a place that would be read back as another one.

/// A field of a kind, as a table of places declares it.
#[derive(Debug, Clone, Copy)]
pub struct FieldInfo {
    /// As in the template.
    pub name: &'static str,
    /// What its type is called in messages.
    pub what: &'static str,
    /// The rule of its type, for people.
    pub rule: &'static str,
    pub(super) tail: bool,
    pub(super) accepts: fn(&str) -> bool,
}

/// A kind of place: one line of a system's table.
#[derive(Debug, Clone, Copy)]
pub struct KindInfo {
    pub name: &'static str,
    pub template: &'static str,
    /// The doc comment's lines.
    pub doc: &'static [&'static str],
    pub fields: &'static [FieldInfo],
}

impl KindInfo {
    /// The doc comment as one line.
    pub fn description(&self) -> String {
        let lines: Vec<_> = self.doc.iter().map(|line| line.trim()).collect();
        lines.join(" ")
    }
}

/// The texts of the fields when `key` is of the template's shape.
pub fn match_template<'k>(
    template: &str,
    fields: &[FieldInfo],
    key: &'k str,
) -> Option<Vec<&'k str>> {
    let mut texts = Vec::with_capacity(fields.len());
    matches_from(template, fields, key, &mut texts).then_some(texts)
}

fn matches_from<'k>(
    template: &str,
    fields: &[FieldInfo],
    key: &'k str,
    texts: &mut Vec<&'k str>,
) -> bool {
    let Some((literal, rest)) = template.split_once('{') else {
        return key == template;
    };
    let Some(key) = key.strip_prefix(literal) else {
        return false;
    };
    let (Some((_, rest)), Some((field, fields))) = (rest.split_once('}'), fields.split_first())
    else {
        return false;
    };
    let segment_end = key.find('/').unwrap_or(key.len());
    let end = if field.tail { key.len() } else { segment_end };
    let literal = rest.split('{').next().unwrap_or_default();
    for (at, _) in key.char_indices().chain([(key.len(), ' ')]) {
        if at > end {
            break;
        }
        let (Some(text), Some(after)) = (key.get(..at), key.get(at..)) else {
            continue;
        };
        // The literal that follows decides cheaply; only then is the field asked.
        let fits = if literal.is_empty() {
            after.is_empty()
        } else {
            after.starts_with(literal)
        };
        if fits && (field.accepts)(text) {
            let taken = texts.len();
            texts.push(text);
            if matches_from(rest, fields, after, texts) {
                return true;
            }
            texts.truncate(taken);
        }
    }
    false
}

/// The template with its fields filled in, in order.
pub fn fill_template(template: &str, texts: &[String]) -> String {
    let mut key = String::with_capacity(template.len() + 32);
    let mut texts = texts.iter();
    for (index, part) in template.split('{').enumerate() {
        match part.split_once('}') {
            Some((_, literal)) if index > 0 => {
                key.push_str(texts.next().map_or("", String::as_str));
                key.push_str(literal);
            }
            _ => key.push_str(part),
        }
    }
    key
}

/// A system's table of places, most specific first:
///
/// ```text
/// places! { System::Gsv;
///     /// Notes of one day.
///     DailyMemory "daily-memory" { agent: AgentId, date: Date } = "agents/{agent}/memory/{date}.md";
/// }
/// ```
///
/// yields `enum Place` with `key`, `parse`, `kind`, `fields`, `from_fields` and the table `KINDS`. A
/// line may end in `where condition => "rule"`, for what one field cannot say alone.
macro_rules! places {
    ($system:expr; $(
        $(#[doc = $doc:literal])+
        $variant:ident $kind:literal { $($field:ident: $type:ty),+ $(,)? } = $template:literal
        $(where $condition:expr => $rule:literal)?;
    )+) => {
        /// Everything that this system has a key for.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Place {
            $( $(#[doc = $doc])+ $variant { $($field: $type),+ }, )+
        }

        impl Place {
            pub const SYSTEM: $crate::layout::System = $system;

            /// The table, most specific kind first.
            pub const KINDS: &'static [$crate::layout::pattern::KindInfo] = &[$(
                $crate::layout::pattern::KindInfo {
                    name: $kind,
                    template: $template,
                    doc: &[$($doc),+],
                    fields: &[$(
                        $crate::layout::pattern::FieldInfo {
                            name: stringify!($field),
                            what: <$type as $crate::layout::field::Field>::WHAT,
                            rule: <$type as $crate::layout::field::Field>::RULE,
                            tail: <$type as $crate::layout::field::Field>::TAIL,
                            accepts: <$type as $crate::layout::field::Field>::accepts_key,
                        }
                    ),+],
                }
            ),+];

            /// The name of its kind, `daily-memory`.
            pub fn kind(&self) -> &'static str {
                match self { $( Self::$variant { .. } => $kind, )+ }
            }

            /// Where it lies. `layout::key_of` also checks length and unambiguity.
            pub fn key(&self) -> String {
                match self { $(
                    Self::$variant { $($field),+ } => $crate::layout::pattern::fill_template(
                        $template,
                        &[$($crate::layout::field::Field::to_key($field)),+],
                    ),
                )+ }
            }

            /// The most specific place with this key; none when the system does not name it.
            pub fn parse(key: &str) -> Option<Self> {
                if !$crate::layout::key::is_key(key) {
                    return None;
                }
                let mut kinds = Self::KINDS.iter();
                $(
                    let kind = kinds.next()?;
                    if let Some(texts) =
                        $crate::layout::pattern::match_template(kind.template, kind.fields, key)
                        && let [$($field),+] = texts.as_slice()
                        && let ($(Ok($field),)+) =
                            ($(<$type as $crate::layout::field::Field>::from_key($field),)+)
                    {
                        let place = Self::$variant { $($field),+ };
                        if place.check().is_ok() {
                            return Some(place);
                        }
                    }
                )+
                None
            }

            /// Names and values, in the template's order.
            pub fn fields(&self) -> Vec<(String, String)> {
                match self { $(
                    Self::$variant { $($field),+ } => vec![$(
                        (
                            stringify!($field).to_owned(),
                            $crate::layout::field::Field::to_value($field),
                        )
                    ),+],
                )+ }
            }

            /// The inverse of `kind` and `fields`; the order of the fields does not matter.
            pub fn from_fields(
                kind: &str,
                fields: &[(String, String)],
            ) -> $crate::types::Result<Self> {
                let values = $crate::layout::field::Values::new(
                    $system, Self::KINDS, kind, fields,
                )?;
                let place = match kind {
                    $( $kind => Self::$variant {
                        $($field: values.get(stringify!($field))?),+
                    }, )+
                    _ => return Err(values.unknown_kind()),
                };
                place.check()?;
                Ok(place)
            }

            /// What one field cannot say alone.
            fn check(&self) -> $crate::types::Result<()> {
                match self { $(
                    #[allow(unused_variables)]
                    Self::$variant { $($field),+ } => {
                        $( if !($condition) {
                            return Err($crate::types::Error::invalid(
                                concat!("no place ", $kind, ": ", $rule)
                            ));
                        } )?
                        Ok(())
                    }
                )+ }
            }
        }
    };
}
pub(crate) use places;

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &'static str, tail: bool, accepts: fn(&str) -> bool) -> FieldInfo {
        FieldInfo {
            name,
            what: name,
            rule: "",
            tail,
            accepts,
        }
    }

    #[test]
    fn several_fields_in_a_segment_split_where_all_are_valid() {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let fields = [
            field("a", false, |text| !text.is_empty()),
            field("b", false, digits),
        ];
        let split = |key| match_template("{a}-part{b}.gz", &fields, key);
        assert_eq!(split("x-part1.gz"), Some(vec!["x", "1"]));
        assert_eq!(split("x-party-part2.gz"), Some(vec!["x-party", "2"]));
        assert_eq!(split("-part1.gz"), None);
        assert_eq!(split("x/y-part1.gz"), None);
        assert_eq!(split("x-part1.gzz"), None);
    }

    #[test]
    fn only_a_tail_crosses_a_slash() {
        let any = |text: &str| !text.is_empty();
        let fields = [field("a", false, any), field("tail", true, any)];
        let template = "r/{a}/{tail}";
        assert_eq!(
            match_template(template, &fields, "r/x/y/ü.md"),
            Some(vec!["x", "y/ü.md"])
        );
        assert_eq!(match_template(template, &fields, "r/x"), None);
        assert_eq!(match_template(template, &fields, "r//y"), None);
        assert_eq!(
            fill_template(template, &["x".into(), "y/z".into()]),
            "r/x/y/z"
        );
    }
}
