//! A whole processor out of one macro, names and types and all.

#![deny(warnings)]

macro_rules! pipe {
    ($($name:ident from $from:literal to $to:literal of $key:ty, $value:ty;)*) => { $(
        mod $name {
            use kproc::prelude::*;

            const FROM: Topic<$key, $value> = Topic::new($from);
            const TO: Topic<$key, $value> = Topic::new($to);

            #[processor(name = $from)]
            #[derive(Default)]
            pub(super) struct Pipe {
                #[state(name = $to)]
                last: Table<$key, $value>,
            }

            #[processor(sends(TO))]
            impl Pipe {
                #[on_message(FROM, start = latest)]
                fn pass(&mut self, ctx: &mut Context<'_>, key: Option<$key>, value: Option<$value>) -> Result<()> {
                    if let (Some(key), Some(value)) = (&key, &value) {
                        self.last.put(key, value)?;
                    }
                    Ok(ctx.send(&TO, key.as_ref(), value.as_ref())?)
                }

                #[every("1s")]
                fn tick(&mut self, _ctx: &mut Context<'_>, _now: Timestamp) {}
            }
        }
    )* };
}

pipe! {
    one from "a" to "b" of u64, i64;
    two from "c" to "d" of u32, bool;
}

#[test]
fn builds() {
    let _ = kproc::App::new("app")
        .processor::<one::Pipe>()
        .processor::<two::Pipe>();
}
