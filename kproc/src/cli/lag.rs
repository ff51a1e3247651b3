//! `lag`: how far the application is behind, as the cluster has it. What lag is says [`Lag`].

use serde::Serialize;

use super::{cluster, describe, failure::Failure, names, output::Output};
use crate::{
    app::App,
    config::Settings,
    lag::{Lag, PartitionLag},
    record::Offset,
    runtime::retried,
};

/// A partition, as a line of JSON.
#[derive(Serialize)]
struct Line<'l> {
    topic: &'l str,
    partition: u32,
    committed: Option<u64>,
    first: u64,
    end: u64,
    lag: u64,
}

/// Asks, and prints the answer: for people, or as JSON lines.
pub(crate) fn show(app: &App, settings: &Settings, json: bool, output: &mut Output) -> Result<(), Failure> {
    let topology = names::topology(app, settings)?;
    names::warn_of_unknown(app, settings, &topology);
    let lag = cluster::on(app, settings, async |cluster, clock| {
        let lag = retried(clock, cluster::PATIENCE, || Lag::of(&topology, cluster));
        lag.await.map_err(|error| {
            let why = cluster::why(&error, settings);
            Failure::run(format!("cannot find out how far `{}` is: {why}", topology.app))
        })
    })?;
    if json {
        return lag
            .partitions
            .iter()
            .try_for_each(|place| output.write(&line(place)));
    }
    output.write(text(&lag).as_bytes())
}

fn line(place: &PartitionLag) -> Vec<u8> {
    let line = Line {
        topic: &place.partition.topic,
        partition: place.partition.partition.get(),
        committed: place.committed.map(Offset::get),
        first: place.first.get(),
        end: place.end.get(),
        lag: place.lag(),
    };
    // Text and numbers can always be written.
    let mut line = serde_json::to_vec(&line).unwrap_or_default();
    line.push(b'\n');
    line
}

fn text(lag: &Lag) -> String {
    let head = ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", ""];
    let mut rows = vec![head.map(str::to_owned)];
    for place in &lag.partitions {
        rows.push([
            place.partition.topic.to_string(),
            place.partition.partition.to_string(),
            place.committed.map_or("-".into(), |offset| offset.to_string()),
            place.end.to_string(),
            place.lag().to_string(),
            remark(place),
        ]);
    }
    let total = lag.total().to_string();
    rows.push([
        "all".into(),
        String::new(),
        String::new(),
        String::new(),
        total,
        String::new(),
    ]);
    describe::table(&rows)
}

/// What is not as it should be.
fn remark(place: &PartitionLag) -> String {
    if place.has_lost_records() {
        format!(
            "records before {} were deleted before they were processed",
            place.first
        )
    } else if place.is_beyond_end() {
        "the topic ends before: it was made anew, or has lost records".into()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        processor::Start,
        record::{Offset, Partition, TopicPartition},
    };

    #[test]
    fn a_line_for_each_partition_and_one_for_all() {
        let place = |partition, committed: Option<u64>| PartitionLag {
            partition: TopicPartition::new("words", Partition::new(partition)),
            committed: committed.map(Offset::new),
            first: Offset::new(10),
            end: Offset::new(30),
            start: Start::Earliest,
        };
        let lag = Lag {
            partitions: vec![place(0, Some(29)), place(1, None), place(2, Some(7))],
        };
        let wanted = "\
TOPIC  PARTITION  COMMITTED  END  LAG
words  0          29         30   1
words  1          -          30   20
words  2          7          30   23   records before 10 were deleted before they were processed
all                               44
";
        assert_eq!(text(&lag), wanted);
        assert_eq!(
            String::from_utf8(line(&lag.partitions[1])).unwrap(),
            "{\"topic\":\"words\",\"partition\":1,\"committed\":null,\"first\":10,\"end\":30,\"lag\":20}\n"
        );
    }
}
