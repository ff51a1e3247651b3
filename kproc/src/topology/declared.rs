//! Writes down what a processor reads, keeps and is woken for.

use std::borrow::Cow;

use kproc_store::Store;

use super::ProcessorSpec;
use crate::processor::{Declare, InputSpec, OutputSpec, StoreOptions, TimerSpec};

impl ProcessorSpec {
    /// Writes down what the processor of this name declares.
    pub(crate) fn read(name: Cow<'static, str>, declare: impl FnOnce(&mut dyn Declare)) -> Self {
        let mut spec = Self {
            name,
            inputs: Vec::new(),
            outputs: Vec::new(),
            timers: Vec::new(),
            stores: Vec::new(),
            texts: Vec::new(),
            scheduled: false,
            hears_stream_time: false,
        };
        declare(&mut spec);
        spec.inputs.sort_by_key(|input| input.number);
        spec
    }
}

impl Declare for ProcessorSpec {
    fn add_input(&mut self, input: InputSpec) {
        self.inputs.push(input);
    }

    fn add_output(&mut self, output: OutputSpec) {
        self.outputs.push(output);
    }

    fn add_timer(&mut self, timer: TimerSpec) {
        self.timers.push(timer);
    }

    fn add_store(&mut self, name: Cow<'static, str>, options: StoreOptions, store: &mut dyn Store) {
        self.stores.push((store.spec(name), options));
        self.texts.push(store.text());
    }

    fn handles_scheduled(&mut self) {
        self.scheduled = true;
    }

    fn handles_stream_time(&mut self) {
        self.hears_stream_time = true;
    }
}
