//! A processor without its type.

use std::{any::Any, borrow::Cow, convert::Infallible};

use kproc_store::Store;

use super::desk::{Desk, Turn};
use crate::{
    Context, Processor,
    clock::BoxFuture,
    context::Place,
    error::Result,
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
        Box::pin(async move {
            loop {
                let turn = desk.next_turn().await;
                let result = self.take(turn, desk).await;
                desk.finish(result);
            }
        })
    }
}

impl<P: Processor> Unit<P> {
    #[inline]
    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "the desk belongs to the unit whose turn it is until it says that it has finished"
    )]
    async fn take(&mut self, turn: Turn, desk: &Desk<'_>) -> Result<()> {
        let mut work = desk.work.borrow_mut();
        let work = &mut **work;
        match turn {
            Turn::Record => {
                let inputs = desk.inputs.borrow();
                let input = inputs.get(desk.input.get());
                let Some(mut record) = input.record(desk.number.get(), work.task.partition) else {
                    return Ok(());
                };
                record.timestamp = work.timestamp;
                let place = Place {
                    record: &record,
                    topic: &input.topic,
                };
                self.processor
                    .process(&mut Context::new(work, Some(place)), &record)
                    .await
            }
            Turn::Timer => {
                let Some((timer, now)) = desk.firing.get() else {
                    return Ok(());
                };
                self.processor
                    .punctuate(&mut Context::new(work, None), timer, now)
                    .await
            }
            Turn::StreamTime => self.processor.stream_time(&mut Context::new(work, None)).await,
            Turn::Start => self.processor.start(&mut Context::new(work, None)).await,
            Turn::Stop => self.processor.stop(&mut Context::new(work, None)).await,
            Turn::Wait => Ok(()),
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
