//! Applications on a real Kafka, in this process: what clusters, groups and topics may do to them.
//!
//! What may be here: one file for each kind of trouble, with applications that are started by `App::start` on a broker
//! of Maven's. What may not: verbs of the cluster alone (the conformance suite's), and whole programs (the
//! examples' tests). Tests share a broker, and keep apart by the name of their [`Site`](kit::Site); whoever harms the
//! broker has one of their own.

mod acl;
mod ages;
mod authorization;
mod bereft;
#[path = "../broker/mod.rs"]
mod broker;
mod child;
mod coordinators;
mod copies;
mod diary;
mod exactly_once;
mod frozen;
mod heartbeats;
mod kit;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod leaks;
mod leaving;
mod life;
mod liveness;
mod memory;
mod metadata;
mod offsets;
mod outage;
mod production;
mod proxy;
mod rebalances;
mod records;
mod restores;
mod security;
mod startup;
mod tails;
mod topics;
mod transactions;
