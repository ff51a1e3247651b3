//! The whole job: its answers, its stops and crashes, and how it is stopped from outside.

mod answers;
mod batch;
mod restarts;
mod signals;
