//! Between wit-bindgen's types and the core's: the same shapes twice, so the mapping is written as lists
//! of members. No logic.

/// Conversion into `T`. A trait of our own, because neither side's types are ours to implement `From` for
/// once lists and options come in.
pub trait Convert<T> {
    fn convert(self) -> T;
}

macro_rules! same {
    ($($ty:ty),+ $(,)?) => { $(impl Convert<$ty> for $ty { fn convert(self) -> $ty { self } })+ };
}

same!(
    bool,
    u8,
    u32,
    u64,
    i32,
    String,
    Vec<u8>,
    Vec<u32>,
    Vec<String>,
    Vec<(String, String)>,
    (String, String)
);

impl<A: Convert<B>, B> Convert<Option<B>> for Option<A> {
    fn convert(self) -> Option<B> {
        self.map(Convert::convert)
    }
}

impl<A: Convert<B>, B> Convert<Box<B>> for A {
    fn convert(self) -> Box<B> {
        Box::new(Convert::convert(self))
    }
}

/// Lists of records. (`Vec<u8>` is `same!`, which a blanket `Vec<A>` would collide with.)
pub fn list<A: Convert<B>, B>(items: Vec<A>) -> Vec<B> {
    items.into_iter().map(Convert::convert).collect()
}

/// `record!(from => to { member, member; list list_member, list_member })`
macro_rules! record {
    ($from:ty => $to:path { $($member:ident),* $(; list $($items:ident),+)? }) => {
        impl $crate::convert::Convert<$to> for $from {
            fn convert(self) -> $to {
                $to {
                    $($member: $crate::convert::Convert::convert(self.$member),)*
                    $($($items: $crate::convert::list(self.$items),)+)?
                }
            }
        }
    };
}

/// `cases!(from => to { Case, Case(payload) })`
macro_rules! cases {
    ($from:ty => $to:ty { $($case:ident $(($payload:ident))?),+ $(,)? }) => {
        impl $crate::convert::Convert<$to> for $from {
            fn convert(self) -> $to {
                match self {
                    $(Self::$case $(($payload))? =>
                        <$to>::$case $(($crate::convert::Convert::convert($payload)))?,)+
                }
            }
        }
    };
}

pub(crate) use {cases, record};
