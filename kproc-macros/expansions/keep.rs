#[processor]
struct Keep<V: Codec> {
    #[state]
    last: Table<String, V>,
}

#[processor(crate = facade::kproc)]
impl<V: Codec> Keep<V> {
    #[on_message(Self::INPUT)]
    fn keep(&mut self, value: V::Item<'_>) {}
}
