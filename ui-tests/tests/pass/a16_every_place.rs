//! Processors of every visibility, in modules and wherever else an item may stand.

#![deny(warnings, private_interfaces, private_bounds)]
#![allow(unreachable_pub, clippy::needless_pub_self)]

use kproc::prelude::*;

/// A processor of this visibility, with handlers and fields of all of them, which takes and keeps what nobody else knows.
macro_rules! processor {
    ($name:ident, $($vis:tt)*) => {
        #[derive(serde::Serialize, serde::Deserialize, Codec)]
        #[codec(json)]
        struct Hidden(u8);
        const HIDDEN: Topic<String, Hidden> = Topic::new("hidden");
        const WORDS: Topic<String, i64> = Topic::new("words");

        #[processor]
        #[derive(Default)]
        $($vis)* struct $name {
            #[state]
            private: Table<String, Hidden>,
            #[state]
            $($vis)* same: Table<String, i64>,
            #[state]
            pub public: Table<String, i64>,
        }

        #[processor(sends(HIDDEN))]
        impl $name {
            #[on_message(HIDDEN)]
            fn private(&mut self, hidden: Hidden) {
                let _ = (&self.private, hidden.0);
            }
            #[on_message(WORDS)]
            $($vis)* fn same(&mut self, _word: &str, _n: i64) {
                let _ = (&self.same, &self.public);
            }
            #[every("1s")]
            pub async fn public(&mut self) {}
            #[on_start]
            pub(crate) fn of_the_crate(&mut self) {}
        }
    };
}

mod outer {
    pub mod inner {
        use kproc::prelude::*;

        pub mod public {
            use kproc::prelude::*;
            processor!(Public, pub);
        }
        pub(super) mod of_the_crate {
            use kproc::prelude::*;
            processor!(OfTheCrate, pub(crate));
        }
        mod of_the_module_above {
            use kproc::prelude::*;
            processor!(OfTheModuleAbove, pub(super));
            pub(super) fn app(app: App) -> App {
                in_itself::app(app)
            }
            mod itself {
                use kproc::prelude::*;
                processor!(OfAPath, pub(in crate::a16_every_place::outer));
                pub(super) fn app(app: App) -> App {
                    app.processor::<OfAPath>()
                }
            }
            pub(super) fn with_a_path(app: App) -> App {
                itself::app(app)
            }
            mod in_itself {
                use kproc::prelude::*;
                processor!(Private, pub(self));
                pub(super) fn app(app: App) -> App {
                    app.processor::<Private>()
                }
            }
        }
        processor!(Private,);

        pub fn app(app: App) -> App {
            let app = of_the_module_above::with_a_path(of_the_module_above::app(app));
            app.processor::<Private>()
                .processor::<public::Public>()
                .processor::<of_the_crate::OfTheCrate>()
                .processor::<of_the_module_above::OfTheModuleAbove>()
        }
    }
}

/// In a method of a generic type, in a closure, in an `async` block, and in a constant.
struct Places<T>(T);

impl<T> Places<T> {
    fn method(self, app: App) -> App {
        processor!(InMethod,);
        drop(self.0);
        app.processor::<InMethod>()
    }
}

const IN_A_CONSTANT: fn(App) -> App = {
    processor!(InConstant,);
    |app| app.processor::<InConstant>()
};

#[test]
fn builds() {
    let app = outer::inner::app(App::new("app"));
    let app = Places(1).method(IN_A_CONSTANT(app));
    let in_closure = |app: App| {
        processor!(InClosure,);
        app.processor::<InClosure>()
    };
    let in_async = async {
        processor!(InAsync,);
        InAsync::default()
    };
    drop((in_closure(app), in_async));
}
