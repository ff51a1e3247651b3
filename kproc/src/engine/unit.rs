//! A processor without its type.

use std::{any::Any, borrow::Cow, convert::Infallible};

use kproc_store::Store;

use super::desk::{Desk, Turn};
use crate::{
    Context, Processor,
    clock::BoxFuture,
    context::Place,
    processor::{Declare, InputSpec, OutputSpec, StoreOptions, TimerSpec},
};

/// A processor without its type.
pub(crate) trait AnyUnit: Send {
    /// The processor's name.
    fn name(&self) -> Cow<'static, str>;
    /// The processor, for tests that look into it.
    fn any(&self) -> &(dyn Any + Send);
    /// See [`Processor::declare`].
    fn declare(&mut self, to: &mut dyn Declare);
    /// Calls `each` with every declared store and its number.
    fn stores(&mut self, each: &mut dyn FnMut(usize, &mut dyn Store));
    /// Takes turns at the desk until it is dropped. One future for many turns: its box is allocated once, and
    /// a turn costs one indirect call.
    fn take_turns<'a>(&'a mut self, desk: &'a Desk<'_>) -> BoxFuture<'a, Infallible>;
}

/// A unit of this processor.
pub(crate) fn unit<P: Processor>(processor: P) -> Box<dyn AnyUnit> {
    Box::new(Unit { processor })
}

struct Unit<P> {
    processor: P,
}

impl<P: Processor> AnyUnit for Unit<P> {
    fn name(&self) -> Cow<'static, str> {
        P::name()
    }

    fn any(&self) -> &(dyn Any + Send) {
        &self.processor
    }

    fn declare(&mut self, to: &mut dyn Declare) {
        self.processor.declare(to);
    }

    fn stores(&mut self, each: &mut dyn FnMut(usize, &mut dyn Store)) {
        self.processor.declare(&mut OnlyStores { number: 0, each });
    }

    fn take_turns<'a>(&'a mut self, desk: &'a Desk<'_>) -> BoxFuture<'a, Infallible> {
        Box::pin(self.turns(desk))
    }
}

impl<P: Processor> Unit<P> {
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "what lies on the desk is the unit's whose turn it is until it says that it has finished"
    )]
    async fn turns(&mut self, desk: &Desk<'_>) -> Infallible {
        let processor = &mut self.processor;
        loop {
            let turn = desk.next_turn().await;
            let papers = &mut *desk.papers.borrow_mut();
            let work = &mut *papers.work;
            let result = match turn {
                Turn::Record => {
                    let input = papers.inputs.get(papers.input);
                    let (partition, given) = (work.task.partition, work.timestamp);
                    if let Some(record) = input.record(papers.number, partition, given) {
                        let place = Place {
                            record: &record,
                            topic: &input.topic,
                        };
                        let mut ctx = Context::new(work, Some(place));
                        processor.process(&mut ctx, &record).await
                    } else {
                        Ok(())
                    }
                }
                Turn::Timer => {
                    if let Some((timer, now)) = papers.firing {
                        let mut ctx = Context::new(work, None);
                        processor.punctuate(&mut ctx, timer, now).await
                    } else {
                        Ok(())
                    }
                }
                Turn::StreamTime => processor.stream_time(&mut Context::new(work, None)).await,
                Turn::Start => processor.start(&mut Context::new(work, None)).await,
                Turn::Stop => processor.stop(&mut Context::new(work, None)).await,
            };
            desk.finish(result);
        }
    }
}

/// Hears of stores and of nothing else.
struct OnlyStores<'a> {
    number: usize,
    each: &'a mut dyn FnMut(usize, &mut dyn Store),
}

impl Declare for OnlyStores<'_> {
    fn add_input(&mut self, _: InputSpec) {}
    fn add_output(&mut self, _: OutputSpec) {}
    fn add_timer(&mut self, _: TimerSpec) {}
    fn add_store(&mut self, _: Cow<'static, str>, _: StoreOptions, store: &mut dyn Store) {
        (self.each)(self.number, store);
        self.number += 1;
    }
    fn handles_scheduled(&mut self) {}
}
