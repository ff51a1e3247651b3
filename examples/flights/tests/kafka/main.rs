//! The program on a real Kafka: the whole job, and what instances do to each other.
//!
//! What is judged is what Kafka's own console consumer reads, against answers that kproc had no part in.

#[path = "../whole/batch.rs"]
#[expect(dead_code, reason = "one of its answers is not in a topic")]
mod batch;
#[path = "../../../../kproc/tests/broker/mod.rs"]
mod broker;
mod handover;
mod kit;
mod part;
mod whole;
