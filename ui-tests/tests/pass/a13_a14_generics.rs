//! Bounds inline and in where clauses, defaults, constants; bounds may stand on the impl block alone.

#![deny(warnings)]

use kproc::{
    Codec,
    codec::{Encode, KeyCodec},
    prelude::*,
};
use std::marker::PhantomData;

/// Bounds on the impl block only.
#[processor]
#[derive(Default)]
struct Keep<K, V = i64, const N: usize = 3> {
    #[state]
    last: Table<K, V>,
    #[state(name = "plain", changelog = false)]
    plain: Table<String, i64>,
    values: PhantomData<fn() -> V>,
}

#[processor(sends(Self::OUTPUT))]
impl<K: Codec + KeyCodec + 'static, V, const N: usize> Keep<K, V, N>
where
    V: Codec + 'static,
    for<'a> V::Item<'a>: Encode<V>,
{
    const INPUT: Topic<String, V> = Topic::new("generic");
    const OUTPUT: Topic<String, V> = Topic::new("generic-out");

    #[on_message(Self::INPUT, start = latest)]
    fn keep(&mut self, ctx: &mut Context<'_>, key: &str, value: V::Item<'_>) -> Result<()> {
        let _ = (&self.last, &self.plain, self.values, N);
        Ok(ctx.send(&Self::OUTPUT, key, &value)?)
    }
}

/// Bounds inline on both halves.
#[processor]
struct Inline<V: Codec + 'static> {
    #[state]
    last: Table<String, V>,
    list: Vec<V>,
}

#[processor]
impl<V: Codec + Send + 'static> Inline<V> {
    #[on_message(Topic::<i32, V>::new("inline"))]
    fn keep(&mut self, _value: Option<V::Item<'_>>) {
        let _ = (&self.last, &self.list);
    }
}

/// One instance only.
#[processor]
impl Other<u8> {
    #[on_message(Topic::<(), ()>::new("other"))]
    fn keep(&mut self, _value: ()) {
        let _ = &self.value;
    }
}

#[processor]
struct Other<T>
where
    T: Copy,
{
    value: T,
}

#[test]
fn builds() {
    let _ = App::new("app")
        .processor::<Keep<String>>()
        .processor::<Keep<i64, String, 5>>()
        .processor_with(|| Inline::<u64> {
            last: Table::default(),
            list: Vec::new(),
        })
        .processor_with(|| Other { value: 3 });
}

#[test]
fn options_are_declared() {
    let declared = crate::Declared::by(&mut Keep::<String>::default());
    assert_eq!(
        declared.stores,
        [("last".to_owned(), true), ("plain".to_owned(), false)]
    );
    assert_eq!((declared.inputs.len(), declared.outputs), (1, 1));
}
