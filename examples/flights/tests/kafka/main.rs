//! The program on a real Kafka: the whole job, and what instances do to each other.
//!
//! What is judged is what Kafka's own console consumer reads, against answers that kproc had no part in.

#[path = "../whole/batch.rs"]
mod batch;
#[path = "../../../../kproc/tests/broker/mod.rs"]
mod broker;
mod chance;
mod exact;
mod handover;
mod kit;
mod part;
mod whole;
