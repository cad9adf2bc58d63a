//! Bytes that were fetched lately, up to a limit. Knows keys and lengths, no store.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;

/// Bytes held, as the reference says: 50 MiB.
pub const CACHE_BYTES_MAX: usize = 50 << 20;

/// Least recently used goes first. Media never change under their key, so nothing expires.
pub struct Cache {
    bytes_max: usize,
    bytes: usize,
    /// Counts uses.
    clock: u64,
    held: HashMap<String, (u64, Bytes)>,
    by_use: BTreeMap<u64, String>,
}

impl Cache {
    pub fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            bytes: 0,
            clock: 0,
            held: HashMap::new(),
            by_use: BTreeMap::new(),
        }
    }

    pub fn get(&mut self, key: &str) -> Option<Bytes> {
        let (used, bytes) = self.held.get_mut(key)?;
        self.by_use.remove(used);
        self.clock += 1;
        *used = self.clock;
        self.by_use.insert(self.clock, key.to_owned());
        Some(bytes.clone())
    }

    /// Hold it, unless it is over the limit alone: that would only push out everything else.
    pub fn put(&mut self, key: &str, bytes: Bytes) {
        self.remove(key);
        if bytes.len() > self.bytes_max {
            return;
        }
        while self.bytes + bytes.len() > self.bytes_max {
            let Some((_, oldest)) = self.by_use.pop_first() else {
                break;
            };
            self.remove(&oldest);
        }
        self.clock += 1;
        self.bytes += bytes.len();
        self.by_use.insert(self.clock, key.to_owned());
        self.held.insert(key.to_owned(), (self.clock, bytes));
    }

    pub fn remove(&mut self, key: &str) {
        if let Some((used, bytes)) = self.held.remove(key) {
            self.by_use.remove(&used);
            self.bytes -= bytes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(cache: &mut Cache, keys: &str) -> String {
        let there = keys
            .chars()
            .filter(|key| cache.held.contains_key(&key.to_string()));
        let there: String = there.collect();
        assert_eq!(cache.by_use.len(), cache.held.len());
        let sum: usize = cache.held.values().map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(cache.bytes, sum);
        there
    }

    fn of(length: usize) -> Bytes {
        Bytes::from(vec![7; length])
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut cache = Cache::new(10);
        for key in ["a", "b", "c"] {
            cache.put(key, of(3));
        }
        assert!(cache.get("a").is_some());
        cache.put("d", of(1));
        assert_eq!(held(&mut cache, "abcd"), "abcd", "ten are held");
        cache.put("e", of(1));
        assert_eq!(held(&mut cache, "abcde"), "acde", "one more pushes one out");
        cache.put("f", of(8));
        assert_eq!(held(&mut cache, "acdef"), "def");
    }

    #[test]
    fn an_item_at_the_limit_is_held_alone_and_one_over_it_not_at_all() {
        let mut cache = Cache::new(CACHE_BYTES_MAX);
        cache.put("small", of(1));
        cache.put("over", of(CACHE_BYTES_MAX + 1));
        assert!(cache.get("over").is_none() && cache.get("small").is_some());
        cache.put("whole", of(CACHE_BYTES_MAX));
        assert!(cache.get("whole").is_some() && cache.get("small").is_none());
        cache.put("half", of(CACHE_BYTES_MAX / 2));
        cache.put("other half", of(CACHE_BYTES_MAX / 2));
        assert!(cache.get("half").is_some() && cache.get("other half").is_some());
    }

    #[test]
    fn the_same_key_again_counts_once() {
        let mut cache = Cache::new(10);
        cache.put("a", of(6));
        cache.put("a", of(9));
        assert_eq!((held(&mut cache, "a").as_str(), cache.bytes), ("a", 9));
        cache.put("a", of(11));
        assert_eq!((held(&mut cache, "a").as_str(), cache.bytes), ("", 0));
        cache.remove("a");
        cache.put("empty", of(0));
        assert_eq!(cache.get("empty"), Some(Bytes::new()));
    }
}
