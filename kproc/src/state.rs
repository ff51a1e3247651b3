//! What `#[processor]` on the struct tells `#[processor]` on its impl block.

use std::{borrow::Cow, marker::PhantomData};

use kproc_store::Store;

use crate::{
    Context,
    processor::{Declare, default_name},
};

/// The declared fields of a processor, known from `#[processor]` on its struct.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not marked `#[processor]`",
    label = "add `#[processor]` above `struct {Self}`, too",
    note = "`#[processor]` goes on the struct (its `#[state]` fields) and on its `impl` block (its handlers)"
)]
pub trait State {
    /// The name given by `#[processor(name = "…")]`, or the one that a processor has by default.
    fn name() -> Cow<'static, str> {
        Cow::Owned(default_name(std::any::type_name::<Self>()))
    }
    /// Declares the stores.
    fn stores(&mut self, to: &mut dyn Declare);
}

/// Tells whether a type is a store: an inherent constant comes before a trait's.
#[derive(Debug)]
pub struct Probe<T: ?Sized>(PhantomData<T>);

impl<T: Store> Probe<T> {
    /// It is.
    pub const IS_STORE: bool = true;
}

/// Or a context, which a type of the user's own may be called, too.
impl Probe<Context<'static>> {
    /// It is.
    pub const IS_CONTEXT: bool = true;
}

/// What [`Probe`] falls back to.
pub trait Neither {
    /// It is not.
    const IS_STORE: bool = false;
    /// It is not.
    const IS_CONTEXT: bool = false;
}

impl<T: ?Sized> Neither for Probe<T> {}
