//! State on disk: tables, environments, what happens to them. One program, so that it is linked once.

mod child;
mod common;
mod copies;
mod damage;
mod disk_faults;
mod disk_full;
mod growth;
mod kill;
mod limits;
mod model;
mod opening;
mod pages;
mod readers;
mod sizes;
mod table;
mod temporary;
mod undo;
