//! Runs a job, and says what it took.

use std::{sync::Arc, thread, time::Duration};

use kproc::{App, Clock, RunState, Running, SystemClock, TaskPhase};

use crate::{
    args::Args,
    fill,
    jobs::{COUNTS, Count, INPUT, MAPPED, Map, seen},
    measure::{Mark, memory_kib},
};

/// How often the clock is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// `map` and `count`: until so many records were handled.
pub(crate) fn process(args: &Args) -> Result<String, String> {
    let total = args.number("records", 1_000_000)?;
    let clock = SystemClock::new();
    let (running, begun) = start(args, &clock)?;
    let until = |records: u64| {
        while seen() < records {
            alive(&running)?;
            thread::sleep(LOOK);
        }
        Ok::<_, String>(Mark::now(&clock, seen()))
    };
    let first = until(1)?;
    let half = until(total / 2)?;
    let last = until(total)?;
    let anonymous = memory_kib("RssAnon");
    running.shutdown(Duration::from_secs(60));
    running.wait_blocking().map_err(|error| error.to_string())?;
    let closed = Mark::now(&clock, seen());
    let seconds = |from: Mark, to: Mark| to.time.saturating_sub(from.time).as_secs_f64();
    Ok(format!(
        "{{\"peer\":\"kproc\",\"records\":{},\"first_ms\":{},\"process_s\":{:.3},\"closed_s\":{:.3},\"cpu_s\":{:.3},\
         \"closed_cpu_s\":{:.3},\"warm_records\":{},\"warm_s\":{:.3},\"warm_cpu_s\":{:.3},\"rss_kib\":{},\"anon_kib\":{anonymous}}}",
        last.records,
        first.time.saturating_sub(begun).as_millis(),
        seconds(first, last),
        seconds(first, closed),
        last.cpu.as_secs_f64(),
        closed.cpu.as_secs_f64(),
        last.records - half.records,
        seconds(half, last),
        last.cpu.saturating_sub(half.cpu).as_secs_f64(),
        memory_kib("VmHWM"),
    ))
}

/// `restore`: until all tasks run again, whose state was removed.
pub(crate) fn restore(args: &Args) -> Result<String, String> {
    let clock = SystemClock::new();
    let (running, begun) = start(args, &clock)?;
    let partitions = args.number("partitions", 4)? as usize;
    let mut restored = 0;
    loop {
        alive(&running)?;
        let status = running.status();
        let mut passed = 0;
        let mut running_tasks = 0;
        for task in &status.tasks {
            match task.phase {
                TaskPhase::Running { .. } => running_tasks += 1,
                TaskPhase::Restoring { done, .. } => passed += done,
                _ => {}
            }
        }
        restored = restored.max(passed);
        if running_tasks == partitions {
            break;
        }
        thread::sleep(LOOK);
    }
    let back = Mark::now(&clock, restored);
    let peak = memory_kib("VmHWM");
    running.shutdown(Duration::from_secs(60));
    running.wait_blocking().map_err(|error| error.to_string())?;
    Ok(format!(
        "{{\"peer\":\"kproc\",\"mode\":\"restore\",\"running_ms\":{},\"cpu_s\":{:.3},\"rss_kib\":{peak}}}",
        back.time.saturating_sub(begun).as_millis(),
        back.cpu.as_secs_f64(),
    ))
}

fn alive(running: &Running) -> Result<(), String> {
    let status = running.status();
    match status.failure {
        Some(failure) => Err(failure.to_string()),
        None if status.state == RunState::Stopped => Err("it has stopped by itself".into()),
        None => Ok(()),
    }
}

/// Starts the application of a job, and says when.
fn start(args: &Args, clock: &SystemClock) -> Result<(Running, Duration), String> {
    let id = args.id();
    let (mapped, counted) = (format!("{id}-mapped"), format!("{id}-counted"));
    let output: Arc<str> = if args.job == "map" { &*mapped } else { &*counted }.into();
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let executor = executor.map_err(|error| error.to_string())?;
    executor.block_on(async {
        let cluster = fill::connect(args)?;
        fill::make_topic(&cluster, &output, args.number("partitions", 4)? as u32).await
    })?;
    let (brokers, input) = (args.text("brokers")?.to_owned(), args.text("topic")?);
    let threads = args.number("threads", 1)? as usize;
    let memory = args.number("memory-mib", 0)?;
    let exactly_once = args.number("exactly-once", 0)? > 0;
    let commit_ms = match args.number("commit-ms", 0)? {
        0 => None,
        millis => Some(Duration::from_millis(millis)),
    };
    let app = App::new(id)
        .bind(&INPUT, input)
        .bind(&MAPPED, mapped)
        .bind(&COUNTS, counted)
        .configure(|settings| {
            settings.brokers = brokers.split(',').map(str::to_owned).collect();
            settings.state_dir = Some(args.state());
            settings.threads = threads;
            if exactly_once {
                settings.processing = kproc::config::Processing::ExactlyOnce;
            }
            settings.commit_interval = commit_ms;
            if memory > 0 {
                settings.memory = kproc::config::Size(memory << 20);
            }
            for (name, value) in &args.properties {
                settings.librdkafka.set(name, value);
            }
        });
    let app = if args.job == "map" {
        app.processor::<Map>()
    } else {
        app.processor::<Count>()
    };
    let begun = clock.now();
    let running = app.start().map_err(|error| error.to_string())?;
    Ok((running, begun))
}
