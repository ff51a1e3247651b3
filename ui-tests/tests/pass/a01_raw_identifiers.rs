//! Raw identifiers keep their meaning and lose their `r#` in names.

#![deny(warnings)]

use kproc::{Processor, prelude::*};

#[allow(non_upper_case_globals)]
const r#loop: Topic<String, i64> = Topic::new("loop");

#[processor]
#[derive(Default)]
struct r#Try {
    #[state]
    r#type: Table<String, i64>,
    r#move: u8,
}

#[processor]
impl r#Try {
    #[on_message(r#loop)]
    fn r#match(&mut self, r#in: &str, r#dyn: i64) {
        let _ = (&self.r#type, self.r#move, r#in, r#dyn);
    }
}

#[test]
fn builds() {
    assert_eq!(r#Try::name(), "try");
    let declared = crate::Declared::by(&mut r#Try::default());
    assert_eq!(declared.stores, [("type".to_owned(), true)]);
}
