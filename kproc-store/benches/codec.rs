//! What reading and writing cost, per value: `cargo bench -p kproc-store --bench codec`.

#![allow(missing_docs, reason = "a bench has no readers of its docs")]

use divan::{Bencher, black_box};
use kproc_store::codec::{Codec, Encode, EncodeKey, KeyCodec, Postcard};

fn main() {
    divan::main();
}

#[divan::bench]
fn decode_i64(bencher: Bencher<'_, '_>) {
    let bytes = 7_i64.to_be_bytes();
    bencher.bench(|| i64::decode(black_box(&bytes)));
}

#[divan::bench]
fn decode_text_of_12(bencher: Bencher<'_, '_>) {
    bencher.bench(|| String::decode(black_box(b"twelve bytes")).map(str::len));
}

#[divan::bench]
fn encode_i64(bencher: Bencher<'_, '_>) {
    let mut out = Vec::with_capacity(64);
    bencher.bench_local(|| {
        out.clear();
        Encode::<i64>::encode(black_box(&7_i64), &mut out).is_ok()
    });
}

#[divan::bench]
fn put_key_of_text_and_i64(bencher: Bencher<'_, '_>) {
    let mut out = Vec::with_capacity(64);
    bencher.bench_local(|| {
        out.clear();
        EncodeKey::<(String, i64)>::put(black_box(&("twelve bytes", 7_i64)), &mut out, true).is_ok()
    });
}

#[divan::bench]
fn read_key_of_text_and_i64(bencher: Bencher<'_, '_>) {
    let mut key = Vec::new();
    EncodeKey::<(String, i64)>::put(&("twelve bytes", 7_i64), &mut key, true).expect("a key");
    bencher.bench(|| <(String, i64)>::decode_key(black_box(&key)).map(|(text, number)| (text.len(), number)));
}

#[divan::bench]
fn postcard_of_three_numbers(bencher: Bencher<'_, '_>) {
    let mut out = Vec::with_capacity(64);
    bencher.bench_local(|| {
        out.clear();
        let value = black_box((7_i64, 300_u32, true));
        let written = Encode::<Postcard<(i64, u32, bool)>>::encode(&value, &mut out).is_ok();
        written && Postcard::<(i64, u32, bool)>::decode(black_box(&out)).is_ok()
    });
}
