//! A processor that comes out of a `macro_rules!` macro, with each kind of fragment where it may stand.

#![deny(warnings)]
#![allow(unused_qualifications)]
#![allow(clippy::unused_unit)]

use kproc::prelude::*;

const WORDS: Topic<String, i64> = Topic::new("words");

macro_rules! processor_of {
    (
        $(#[$on_struct:meta])*
        $vis:vis struct $name:ident<$parameter:ident: $bound:path> {
            $($(#[$on_field:meta])* $field_vis:vis $field:ident: $field_ty:ty,)*
        }
        $(#[$on_impl:meta])*
        impl { $($constant:item)* }
        $(
            $(#[$on_method:meta])*
            $method_vis:vis fn $method:ident($($argument:pat_param in $argument_ty:ty),*) -> $result:ty $body:block
        )*
    ) => {
        $(#[$on_struct])*
        $vis struct $name<$parameter: $bound> {
            $($(#[$on_field])* $field_vis $field: $field_ty,)*
        }

        $(#[$on_impl])*
        impl<$parameter: $bound> $name<$parameter> {
            $(
                $(#[$on_method])*
                $method_vis fn $method(&mut self, $($argument: $argument_ty),*) -> $result $body
            )*
        }
    };
}

processor_of! {
    /// Documented.
    #[processor(name = "of-a-macro")]
    #[derive(Default)]
    pub(crate) struct Counter<T: Number> {
        /// Documented.
        #[state(name = "of-words")]
        pub(crate) totals: Table<String, i64>,
        #[allow(dead_code)]
        pub(crate) plain: Option<T>,
    }
    #[processor(sends(WORDS))]
    impl {}
    #[on_message(WORDS, start = latest)]
    fn add(ctx in &mut Context<'_>, word in &str, n in i64) -> Result<()> {
        ctx.send(&WORDS, word, &n)?;
        Ok(())
    }
    /// Documented.
    #[every("1s", stream_time)]
    pub(crate) fn publish(_now in Timestamp) -> () {}
    #[kproc::on_start]
    fn begin() -> Result<()> { Err("too early".into()) }
    #[on_stop]
    fn end() -> () {}
}

pub(crate) trait Number: Copy + Send + 'static {}
impl Number for u8 {}

/// The arguments of the marks.
macro_rules! with_arguments {
    ($name:ident, $text:literal, $topic:path, $expression:expr, $word:ident, $period:literal, $store:literal, $yes:literal, $lifetime:lifetime, $ty:ty) => {
        #[processor(name = $text)]
        #[derive(Default)]
        struct $name {
            #[state(name = $store, changelog = $yes)]
            store: $ty,
        }

        #[processor(sends($topic, $expression))]
        impl $name {
            #[on_message($topic, start = $word)]
            fn by_path<$lifetime>(&mut self, _word: &$lifetime str, _n: i64) {
                let _ = &self.store;
            }
            #[on_message($expression)]
            fn by_expression(&mut self, _n: i64) {}
            #[every($period)]
            fn every(&mut self) {}
        }
    };
}

with_arguments!(Arguments, "arguments", self::WORDS, *Box::leak(Box::new(WORDS)), latest, "1m", "stored", false, 'lent, Table<String, u8>);

/// A handler out of one macro, in a block out of another, by its tokens.
macro_rules! block {
    ($ty:ty, $($tokens:tt)*) => {
        #[processor]
        impl $ty { $($tokens)* }
    };
}

#[processor]
#[derive(Default)]
struct Tokens {}

block! { Tokens, #[on_message(WORDS)] async fn add(&mut self, _n: i64) {} #[on_start] fn begin(&self) {} }

#[test]
fn builds() {
    let _ = App::new("app")
        .processor::<Counter<u8>>()
        .processor::<Arguments>()
        .processor::<Tokens>();
    let declared = crate::Declared::by(&mut Arguments::default());
    assert_eq!(declared.stores, [("stored".to_owned(), false)]);
    assert_eq!(
        (declared.inputs.len(), declared.outputs, declared.timers.len()),
        (2, 2, 1)
    );
    let declared = crate::Declared::by(&mut Counter {
        plain: Some(3_u8),
        ..Counter::default()
    });
    assert_eq!(declared.stores, [("of-words".to_owned(), true)]);
}
