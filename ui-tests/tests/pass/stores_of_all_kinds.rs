//! Keys and values of stores.

#![deny(warnings)]

use kproc::prelude::*;
use serde::{Deserialize, Serialize};

const WORDS: Topic<String, i64> = Topic::new("words");
#[derive(Serialize, Deserialize, Codec)]
#[codec(postcard)]
struct Order<'a> {
    sku: &'a str,
}

#[processor]
#[derive(Default)]
pub(crate) struct Totals {
    #[state]
    pub(crate) plain: Table<String, i64>,
    #[state()]
    pairs: Table<(String, u64), f64>,
    #[state(changelog = true)]
    bytes: Table<[u8; 16], Vec<u8>>,
    #[state(name = "latest", changelog = false)]
    times: Table<Timestamp, String>,
    #[state(name = r"raw")]
    lent: Table<Option<u32>, Order<'static>>,
    #[state]
    json: Table<u8, Json<Vec<String>>>,
}

#[processor]
impl Totals {
    #[on_message(WORDS)]
    fn add(&mut self, word: &str, n: i64) -> Result<()> {
        self.plain.put(word, &n)?;
        self.pairs.put(&(word, 1), &0.5)?;
        self.bytes.put(&[0; 16], b"bytes".as_slice())?;
        self.times.put(&Timestamp::from_millis(n), word)?;
        self.lent.put(&None::<u32>, &Order { sku: word })?;
        self.json.put(&1, &vec![word.to_owned()])?;
        Ok(())
    }
}

#[test]
fn builds() {
    let declared = crate::Declared::by(&mut Totals::default());
    let names: Vec<_> = declared.stores.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["plain", "pairs", "bytes", "latest", "raw", "json"]);
}
