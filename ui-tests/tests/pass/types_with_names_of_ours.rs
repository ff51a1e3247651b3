//! A user's own types may have the names of ours: what they are is told by their generic arguments, or by the compiler.

#![deny(warnings)]

use kproc::{App, Codec, Result, Topic, processor};
use serde::{Deserialize, Serialize};

/// What the user's module calls so.
mod own {
    use super::{Codec, Deserialize, Serialize};

    #[derive(Debug, Default, Clone, Serialize, Deserialize, Codec)]
    #[codec(json)]
    pub(super) struct Context<T> {
        pub(super) about: T,
    }

    /// As ours, to the last sign.
    pub(super) mod lent {
        #[derive(Debug, Default)]
        pub(in super::super) struct Context<'a>(pub(in super::super) std::borrow::Cow<'a, str>);
    }

    #[derive(Debug, Default, Serialize, Deserialize, Codec)]
    #[codec(json)]
    pub(super) enum Option {
        #[default]
        Neither,
        Either,
    }

    /// No format: a record.
    #[derive(Debug, Default, Serialize, Deserialize, Codec)]
    #[codec(json)]
    pub(super) struct Json<T> {
        pub(super) inner: T,
    }

    /// Three parameters, and a table in memory.
    #[derive(Debug, Default)]
    pub(super) struct Table<K, V, S>(pub(super) std::marker::PhantomData<(K, V, S)>);
}

use own::{Context, Json, Option, Table};

const CONTEXTS: Topic<String, Context<u64>> = Topic::new("contexts");
const OPTIONS: Topic<String, Option> = Topic::new("options");
const JSONS: Topic<String, Json<u64>> = Topic::new("jsons");

#[processor]
#[derive(Debug, Default)]
struct Namesakes {
    last: std::option::Option<Box<Context<u64>>>,
    note: own::lent::Context<'static>,
    memory: Table<String, std::option::Option<u8>, ()>,
    #[state]
    options: kproc::Table<String, Option>,
    sum: u64,
}

#[processor]
impl Namesakes {
    #[on_message(CONTEXTS)]
    fn context(&mut self, ctx: &mut kproc::Context<'_>, context: Context<u64>) {
        self.sum += context.about;
        self.last = Some(Box::new(context));
        self.memory = Table::default();
        self.note.0.to_mut().push('.');
        ctx.commit();
    }

    #[on_message(OPTIONS)]
    fn option(&mut self, key: &str, option: Option) -> Result<()> {
        self.sum += u64::from(matches!(option, Option::Either));
        Ok(self.options.put(key, &option)?)
    }

    #[on_message(JSONS)]
    fn json(&mut self, ctx: &mut kproc::Context<'_>, key: &str, json: Json<u64>) -> Result<()> {
        self.sum += json.inner;
        Ok(ctx.send(&JSONS, key, &json)?)
    }
}

#[test]
fn builds() {
    let _ = App::new("app").processor::<Namesakes>();
}
