//! What reads, writes and keeps what, in words.

use std::{collections::BTreeSet, fmt::Write};

use crate::{
    processor::Start,
    timer::TimerClock,
    topology::{ProcessorSpec, Topology},
};

/// The text of `topology`.
pub(crate) fn topology(topology: &Topology) -> String {
    let mut out = format!("application {}\n", topology.app);
    for (number, group) in topology.groups.iter().enumerate() {
        let inputs: Vec<_> = group
            .inputs
            .iter()
            .map(|topic| name(topology, &topic.name))
            .collect();
        line(
            &mut out,
            0,
            &format!("\ntask {number}: one for each partition of {}", inputs.join(", ")),
        );
        for processor in group
            .processors
            .iter()
            .map(|number| (*number, &topology.processors[*number]))
        {
            describe_processor(&mut out, topology, processor);
        }
    }
    out
}

fn describe_processor(out: &mut String, topology: &Topology, (number, processor): (usize, &ProcessorSpec)) {
    line(out, 1, &format!("processor {}", processor.name));
    for input in &processor.inputs {
        let start = if input.start == Start::Latest {
            ", from its end"
        } else {
            ""
        };
        let (key, value) = ((input.topic.key.name)(), (input.topic.value.name)());
        line(
            out,
            2,
            &format!(
                "reads   {} ({key} -> {value}){start}",
                name(topology, &input.topic.name)
            ),
        );
    }
    for output in &processor.outputs {
        let (key, value) = ((output.topic.key.name)(), (output.topic.value.name)());
        line(
            out,
            2,
            &format!(
                "sends   {} ({key} -> {value})",
                name(topology, &output.topic.name)
            ),
        );
    }
    for (store, (spec, options)) in processor.stores.iter().enumerate() {
        let changelog = if options.changelog {
            format!("changelog {}", topology.changelog(number, store))
        } else {
            "no changelog".into()
        };
        line(
            out,
            2,
            &format!(
                "keeps   {} {} ({} -> {}), {changelog}",
                spec.kind, spec.name, spec.key, spec.value
            ),
        );
    }
    for timer in &processor.timers {
        let clock = match timer.clock {
            TimerClock::Wall => "wall-clock time",
            TimerClock::Stream => "stream time",
        };
        line(
            out,
            2,
            &format!(
                "wakes   every {} of {clock}",
                humantime::format_duration(timer.period)
            ),
        );
    }
    if processor.scheduled {
        line(out, 2, "wakes   when it has scheduled it");
    }
}

/// The text of `topics`: what must be there, a topic a line.
pub(crate) fn topics(topology: &Topology) -> String {
    let row = |topic: &str, partitions: &str, settings: &str, by: &str| {
        [topic, partitions, settings, by].map(str::to_owned)
    };
    let mut rows = vec![row("TOPIC", "PARTITIONS", "SETTINGS", "NEEDED BY")];
    let mut read = BTreeSet::new();
    let mut changelogs = Vec::new();
    for group in &topology.groups {
        // The inputs of a group have one number of partitions, and its changelogs have it, too.
        let mut partitions = "any number".to_owned();
        for input in &group.inputs {
            let bound = topology.bound(&input.name);
            rows.push(row(
                &bound,
                &partitions,
                "",
                &format!("read by {}", readers(topology, &input.name)),
            ));
            if partitions == "any number" {
                partitions = format!("as {bound}");
            }
            read.insert(&input.name);
        }
        for &number in &group.processors {
            let processor = &topology.processors[number];
            for (store, (spec, _)) in processor
                .stores
                .iter()
                .enumerate()
                .filter(|(_, (_, options))| options.changelog)
            {
                let by = format!(
                    "state {} of {}; made at the first start",
                    spec.name, processor.name
                );
                changelogs.push(row(
                    &topology.changelog(number, store),
                    &partitions,
                    "cleanup.policy=compact",
                    &by,
                ));
            }
        }
    }
    let mut sent = BTreeSet::new();
    for processor in &topology.processors {
        for output in processor.outputs.iter().map(|output| &output.topic.name) {
            if !read.contains(output) && sent.insert(output) {
                rows.push(row(
                    &topology.bound(output),
                    "any number",
                    "",
                    &format!("sent to by {}", processor.name),
                ));
            }
        }
    }
    rows.append(&mut changelogs);
    table(&rows)
}

/// The processors that read a topic.
fn readers(topology: &Topology, topic: &str) -> String {
    let reads = |processor: &&ProcessorSpec| processor.inputs.iter().any(|input| &*input.topic.name == topic);
    let names: Vec<_> = topology
        .processors
        .iter()
        .filter(reads)
        .map(|processor| &*processor.name)
        .collect();
    names.join(", ")
}

/// Rows in columns; the first row is their head.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut out = String::new();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    for row in rows {
        let cells: Vec<_> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        line(&mut out, 0, cells.join("  ").trim_end());
    }
    out
}

fn name(topology: &Topology, topic: &str) -> String {
    match topology.bindings.get(topic) {
        Some(bound) if **bound != *topic => format!("{topic} (as {bound})"),
        _ => topic.to_owned(),
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{}{text}", "  ".repeat(depth));
}
