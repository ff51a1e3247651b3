//! A failure, told to a person: what broke, what had happened before, and the commands to see it again.

use std::{fmt::Write, time::Duration};

use super::{
    log::run_logged,
    run::{Course, run},
    shrink::{Failing, shrink},
    trial::Trial,
};

/// So many runs may be spent to make a failing trial smaller.
pub(super) const RUNS: u32 = 400;

/// Tells of a trial that fails, and of a smaller one that does, with its log.
pub(super) fn tell(trial: Trial, course: Course) -> String {
    let mut told = format!("{}\n", heading(&trial, &course));
    let small = shrink(Failing { trial, course }, RUNS, &run);
    let (course, log) = run_logged(&small.trial);
    let _ = writeln!(
        told,
        "A smaller one:\n{}\n{}\nIts log:\n{log}",
        heading(&small.trial, &course),
        happened(&course)
    );
    told
}

/// The trial, what is wrong with it, and its command.
fn heading(trial: &Trial, course: &Course) -> String {
    match &course.verdict {
        Ok(()) => format!("{trial}: nothing is wrong"),
        Err(wrong) => format!("{trial}: {wrong}\n    {}", trial.command()),
    }
}

/// What has happened, in order.
pub(super) fn happened(course: &Course) -> String {
    let events = course.events.iter().map(|event| (event.at, event.what.clone()));
    let sprung = course.ambushes.iter().map(|sprung| &sprung.happened);
    let sprung = sprung.map(|happened| (happened.at, happened.what.clone()));
    let mishaps = course.mishaps.iter();
    let mishaps = mishaps.map(|mishap| (mishap.at, format!("mishap {}: {}", mishap.number, mishap.what)));
    let mut all: Vec<(Duration, String)> = events.chain(sprung).chain(mishaps).collect();
    all.sort_by_key(|(at, _)| *at);
    let mut told = String::new();
    for (at, what) in all {
        let _ = writeln!(told, "{:>12.6}s {what}", at.as_secs_f64());
    }
    let _ = write!(
        told,
        "{:>12.6}s the end: {} records written, {} processed, {} steps",
        course.time.as_secs_f64(),
        course.written,
        course.processed,
        course.steps
    );
    told
}
