//! Typed topics.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

use kproc_store::codec::{Codec, DecodeError, EncodeError, Text};

/// A topic with the types of its keys and values.
///
/// ```
/// use kproc::Topic;
/// const WORDS: Topic<String, i64> = Topic::new("words");
/// assert_eq!(WORDS.name(), "words");
/// ```
///
/// A name that Kafka would refuse does not compile in a constant:
///
/// ```compile_fail
/// # use kproc::Topic;
/// const BAD: Topic<String, i64> = Topic::new("no spaces");
/// ```
// (The parameters need no size here, so that the compiler says of `Topic<str, _>` that `str` is no record type, and
// nothing else.)
pub struct Topic<K: ?Sized, V: ?Sized> {
    name: Name,
    types: PhantomData<fn() -> (*const K, *const V)>,
}

#[derive(Clone)]
enum Name {
    Fixed(&'static str),
    Dynamic(Arc<str>),
}

/// A name that Kafka does not allow for a topic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} cannot be the name of a topic: {problem}")]
pub struct TopicNameError {
    name: String,
    problem: &'static str,
}

impl<K: ?Sized, V: ?Sized> Topic<K, V> {
    /// The topic of this name.
    ///
    /// # Panics
    /// If Kafka does not allow the name: in a `const`, that is a compile error.
    #[track_caller]
    pub const fn new(name: &'static str) -> Self
    where
        K: Codec,
        V: Codec,
    {
        if let Some(problem) = name_problem(name.as_bytes()) {
            panic!("{}", problem);
        }
        Self {
            name: Name::Fixed(name),
            types: PhantomData,
        }
    }

    /// A topic whose name is known at run time only.
    pub fn named(name: impl Into<Arc<str>>) -> Result<Self, TopicNameError>
    where
        K: Codec,
        V: Codec,
    {
        let name = name.into();
        match name_problem(name.as_bytes()) {
            Some(problem) => Err(TopicNameError {
                name: name.to_string(),
                problem,
            }),
            None => Ok(Self {
                name: Name::Dynamic(name),
                types: PhantomData,
            }),
        }
    }

    /// The topic's name in the program; configuration may bind it to another one in the cluster.
    pub fn name(&self) -> &str {
        match &self.name {
            Name::Fixed(name) => name,
            Name::Dynamic(name) => name,
        }
    }

    /// The name, if it is one that never dies.
    #[inline]
    pub(crate) fn constant_name(&self) -> Option<&'static str> {
        match self.name {
            Name::Fixed(name) => Some(name),
            Name::Dynamic(_) => None,
        }
    }
}

impl<K, V> Clone for Topic<K, V> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            types: PhantomData,
        }
    }
}

impl<K, V> fmt::Debug for Topic<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Topic({:?})", self.name())
    }
}

/// Why Kafka would refuse this name, if it would.
pub(crate) const fn name_problem(name: &[u8]) -> Option<&'static str> {
    if name.is_empty() {
        return Some("a topic name cannot be empty");
    }
    if name.len() > 249 {
        return Some("a topic name has at most 249 characters");
    }
    if matches!(name, b"." | b"..") {
        return Some("a topic name cannot be `.` or `..`");
    }
    let mut i = 0;
    while i < name.len() {
        if !(name[i].is_ascii_alphanumeric() || matches!(name[i], b'.' | b'_' | b'-')) {
            return Some("a topic name is made of ASCII letters, digits, `.`, `_` and `-`");
        }
        i += 1;
    }
    None
}

/// A topic without its types: its name and the text forms of its keys and values.
#[derive(Debug, Clone)]
pub(crate) struct AnyTopic {
    /// The name in the program.
    pub(crate) name: Arc<str>,
    pub(crate) key: TextCodec,
    pub(crate) value: TextCodec,
}

/// The text form of a codec.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextCodec {
    pub(crate) name: fn() -> Cow<'static, str>,
    pub(crate) to_text: fn(&[u8]) -> Result<Text, DecodeError>,
    pub(crate) from_text: fn(&Text, &mut Vec<u8>) -> Result<(), EncodeError>,
}

impl TextCodec {
    pub(crate) fn of<C: Codec>() -> Self {
        Self {
            name: C::name,
            to_text: C::to_text,
            from_text: C::from_text,
        }
    }
}

impl<K: Codec, V: Codec> Topic<K, V> {
    /// The topic without its types.
    pub(crate) fn any(&self) -> AnyTopic {
        let name = match &self.name {
            Name::Fixed(name) => Arc::from(*name),
            Name::Dynamic(name) => name.clone(),
        };
        AnyTopic {
            name,
            key: TextCodec::of::<K>(),
            value: TextCodec::of::<V>(),
        }
    }
}
