//! Odd programs that are right: each module is one, named for its scenario. They are compiled, and by clippy too,
//! with their lints denied; what can be seen of them without a broker is asserted.

mod a01_raw_identifiers;
mod a03_cfg;
mod a04_cfg_on_the_struct;
mod a10_methods_of_everything;
mod a10_shadowed_names;
mod a12_lifetimes_of_a_handler;
mod a13_a14_generics;
mod a15_async;
mod a16_every_place;
mod a16_visibility;
mod a17_strict_lints;
mod a_timer_and_its_time;
mod aliases;
mod attributes_of_others;
mod codec_made_by_macro_rules;
mod codec_of_any_type;
mod codec_strict_lints;
mod derive_in_any_order;
mod every_kind_of_handler;
mod generic_without_static;
mod handlers_are_methods;
mod inside_a_function;
mod macro_fragments;
mod made_by_macro_rules;
mod names_of_processors;
mod nulls;
mod other_items_in_the_block;
mod owned_arguments;
mod processor_in_macro_rules;
mod results_of_handlers;
mod shared_self;
mod stores_of_all_kinds;
mod topic_by_two_paths;
mod topics_by_any_expression;
mod types_with_names_of_ours;

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
