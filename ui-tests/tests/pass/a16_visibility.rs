//! Private and half-private processors.

#![deny(warnings, private_interfaces, private_bounds)]
#![allow(unreachable_pub)]

pub mod outer {
    pub mod inner {
        use kproc::prelude::*;

        struct Hidden(u8);
        const WORDS: Topic<String, i64> = Topic::new("words");

        #[processor]
        #[derive(Default)]
        struct Private {
            hidden: Option<Hidden>,
        }

        #[processor]
        impl Private {
            #[on_message(WORDS)]
            fn add(&mut self, _n: i64) {
                let _ = self.hidden.as_ref().map(|hidden| hidden.0);
            }
        }

        #[processor]
        #[derive(Default)]
        pub(super) struct Half {
            #[state]
            pub(in crate::a16_visibility::outer) totals: Table<String, i64>,
        }

        #[processor]
        impl Half {
            #[on_message(WORDS)]
            fn add(&mut self, _n: i64) {}
        }

        pub fn app() -> App {
            App::new("app").processor::<Private>().processor::<Half>()
        }
    }

    pub fn half() {
        let _ = inner::Half::default().totals;
    }
}

#[test]
fn builds() {
    outer::half();
    let _ = outer::inner::app();
}
