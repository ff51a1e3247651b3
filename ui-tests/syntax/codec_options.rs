//! Wrong options of `#[codec]`: every error in one build, and none about a type that is no codec.

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Codec)]
#[codec(jsn)]
struct Misspelt {
    cents: u64,
}

#[derive(Serialize, Deserialize, Codec)]
#[codec(json, postcard)]
struct Two<T> {
    cents: T,
}

#[derive(Serialize, Deserialize, Codec)]
struct Missing<'a> {
    sku: &'a str,
}

#[derive(Serialize, Deserialize, Codec)]
#[codec(json, json, crate = 5)]
#[codec(postcard)]
enum Repeated {
    #[codec(json)]
    Cents(#[codec(json)] u64),
}

#[derive(Clone, Copy, Codec)]
#[codec(postcard)]
union Either {
    cents: u64,
    rate: f64,
}

const MISSPELT: Topic<String, Misspelt> = Topic::new("misspelt");
const TWO: Topic<String, Two<u64>> = Topic::new("two");
const MISSING: Topic<String, Missing<'_>> = Topic::new("missing");
const REPEATED: Topic<String, Repeated> = Topic::new("repeated");
const EITHER: Topic<String, Either> = Topic::new("either");

fn main() {
    let _ = (MISSPELT, TWO, MISSING, REPEATED, EITHER);
}
