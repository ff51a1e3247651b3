//! Odd programs that are right: each module is one, named for its scenario. They are compiled, and by clippy too,
//! with their lints denied; what can be seen of them without a broker is asserted.

mod a01_raw_identifiers;
mod a03_cfg;
mod a04_cfg_on_the_struct;
mod a10_shadowed_names;
mod a12_lifetimes_of_a_handler;
mod a13_a14_generics;
mod a15_async;
mod a16_visibility;
mod a17_strict_lints;
mod codec_strict_lints;
mod derive_in_any_order;
mod made_by_macro_rules;

/// What a processor declares, in the order in which it does.
#[derive(Default, Debug, PartialEq)]
struct Declared {
    inputs: Vec<usize>,
    outputs: usize,
    timers: Vec<(usize, std::time::Duration, kproc::TimerClock)>,
    stores: Vec<(String, bool)>,
    scheduled: bool,
}

impl Declared {
    fn by(processor: &mut impl kproc::Processor) -> Self {
        let mut declared = Self::default();
        processor.declare(&mut declared);
        declared
    }
}

impl kproc::processor::Declare for Declared {
    fn add_input(&mut self, input: kproc::processor::InputSpec) {
        self.inputs.push(input.number);
    }

    fn add_output(&mut self, _: kproc::processor::OutputSpec) {
        self.outputs += 1;
    }

    fn add_timer(&mut self, timer: kproc::processor::TimerSpec) {
        self.timers.push((timer.number, timer.period, timer.clock));
    }

    fn add_store(
        &mut self,
        name: std::borrow::Cow<'static, str>,
        options: kproc::processor::StoreOptions,
        _: &mut dyn kproc::processor::Store,
    ) {
        self.stores.push((name.into_owned(), options.changelog));
    }

    fn handles_scheduled(&mut self) {
        self.scheduled = true;
    }
}
