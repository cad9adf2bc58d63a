//! The part of a URL behind its question mark, as names and values. Pure.

/// What a query may have; a signed history has six.
const PAIRS_MAX: usize = 16;

#[derive(Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The error is the rule that is broken, without what broke it: a query holds signatures.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (plain(name)?, plain(value)?);
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err("a parameter is given twice; give it once".to_owned());
            }
            if pairs.len() == PAIRS_MAX {
                return Err(format!("there are over {PAIRS_MAX} parameters"));
            }
            pairs.push((name, value));
        }
        Ok(Query(pairs))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        pairs.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    /// The first parameter that is none of these.
    pub fn unknown(&self, names: &[&str]) -> Option<&str> {
        let mut given = self.0.iter().map(|(name, _)| name.as_str());
        given.find(|name| !names.contains(name))
    }
}

/// Without `%XX` and `+`.
fn plain(text: &str) -> Result<String, String> {
    let rule =
        || "a `%` without two hexadecimal digits, or what they stand for is not UTF-8".to_owned();
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                (high.ok_or_else(rule)? << 4 | low.ok_or_else(rule)?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| rule())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        let query = Query::parse("a=1&b=%2Bx+y%C3%A9&&c&d==").expect("a query");
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.get("b"), Some("+x yé"));
        assert_eq!(query.get("c"), Some(""));
        assert_eq!(query.get("d"), Some("="));
        assert_eq!(query.get("e"), None);
        assert_eq!(query.unknown(&["a", "b", "c"]), Some("d"));
        for text in ["a=%", "a=%4", "a=%4g", "a=%+1", "%ff=1", "a=1&%61=2"] {
            assert!(Query::parse(text).is_err(), "{text}");
        }
        let many = |pairs: usize| (0..pairs).map(|n| format!("n{n}=1&")).collect::<String>();
        assert!(Query::parse(&many(PAIRS_MAX)).is_ok());
        assert!(Query::parse(&many(PAIRS_MAX + 1)).is_err());
    }
}
