//! A processor that is switched off leaves nothing behind, in either order of attributes.

#![deny(warnings)]

#[cfg(any())]
#[processor]
struct One {
    #[state]
    totals: Missing,
}

#[processor]
#[cfg(any())]
impl One {
    #[on_message(MISSING)]
    fn add(&mut self, _n: i64) {}
}

#[processor]
#[cfg(any())]
struct Two {
    #[state]
    totals: Missing,
}

#[cfg_attr(all(), cfg(any()))]
#[processor]
impl Two {
    #[on_message(MISSING)]
    fn add(&mut self, _n: i64) {}
}

#[processor]
#[cfg_attr(all(), cfg(any()))]
struct Three {
    plain: Missing,
}
