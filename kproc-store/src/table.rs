//! The keyed store.

use std::{borrow::Cow, marker::PhantomData};

use crate::{
    Buffer, Store, StoreSpec,
    codec::{Codec, KeyCodec},
};

/// A keyed store: values of `V` under keys of `K`, in key order.
pub struct Table<K, V> {
    buffer: Option<Box<Buffer>>,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self {
            buffer: None,
            types: PhantomData,
        }
    }
}

impl<K: KeyCodec, V: Codec> Store for Table<K, V> {
    fn spec(&self, name: Cow<'static, str>) -> StoreSpec {
        StoreSpec {
            name,
            kind: "table",
            key: K::key_name(),
            value: V::name(),
        }
    }

    fn attach(&mut self, buffer: Buffer) {
        self.buffer = Some(Box::new(buffer));
    }

    fn detach(&mut self) -> Option<Buffer> {
        self.buffer.take().map(|buffer| *buffer)
    }

    fn buffer(&mut self) -> Option<&mut Buffer> {
        self.buffer.as_deref_mut()
    }
}
