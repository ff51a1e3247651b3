//! Records that their topics do not take, or do not take any more.

use std::time::Duration;

use kproc::{App, Policy, RunError, prelude::*};

use crate::{
    broker::tool,
    kit::{KEYS, Site, block_on, stop},
};

const LARGE: Topic<String, String> = Topic::new("large");

/// Sends for each key, which is a number, a value of so many bytes.
#[processor]
#[derive(Default)]
struct Fill {}

#[processor]
impl Fill {
    #[on_message(KEYS)]
    fn fill(&mut self, ctx: &mut Context<'_>, key: &str, _value: &str) -> Result<()> {
        // Nothing that could be compressed.
        let mut noise = 1_u64;
        let step = |_| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (noise >> 33) as u8 % 95)
        };
        let value: String = (0..key.parse::<usize>()?).map(step).collect();
        Ok(ctx.send(&LARGE, "k", &value)?)
    }
}

/// What framing takes of a limit, with a key of one byte and a value of more than 8 KiB, and less than a MiB.
const FRAMING: usize = 61 + 3 + 3 + 2 + 3 + 1;

async fn lengths(site: &Site) -> Vec<usize> {
    use kproc::cluster::{Cluster, Isolation};
    let mut reader = site.cluster.reader(Isolation::ReadCommitted).unwrap();
    let place = site.partition("large", 0);
    let ends = reader.watermarks(place.clone()).await.unwrap();
    let (mut next, mut lengths) = (ends.earliest, Vec::new());
    while next < ends.stable {
        let mut read = reader
            .read(place.clone(), next, 1000, Duration::from_secs(10))
            .await
            .unwrap();
        next = read.next;
        while let Some(record) = read.batch.record(0, place.partition) {
            lengths.push(record.value.map_or(0, <[u8]>::len));
            read.batch.advance();
        }
    }
    lengths
}

fn app(site: &Site, state: &std::path::Path, policy: Policy) -> App {
    let app = site.app_of(site.name, state).bind(&LARGE, site.topic("large"));
    app.configure(|settings| settings.on_processing_error = policy)
        .processor::<Fill>()
}

async fn next(site: &Site) -> u64 {
    let offsets = site.admin().group_offsets(site.name.to_owned()).await.unwrap();
    offsets.first().map_or(0, |(_, offset)| offset.next.get())
}

#[test]
fn b19_what_is_at_the_limit_is_written_and_what_is_over_it_fails_in_its_handler() {
    let Some(site) = Site::shared("b19") else { return };
    block_on(async {
        let limit = 20_000;
        site.make_topics(1).await;
        site.make_topic("large", 1, &[("max.message.bytes", &limit.to_string())])
            .await;
        let most = limit - FRAMING;
        // Small ones, which must not make a batch that is too large, and then those that are on the edge.
        let small = std::iter::repeat_n(500, 200);
        let all: Vec<usize> = small.chain([most - 100, most, most + 1, 7]).collect();
        site.write(all.iter().map(usize::to_string)).await;
        let state = tempfile::tempdir().unwrap();
        let running = app(&site, state.path(), Policy::Stop).start().unwrap();
        let error = running.wait().await.unwrap_err();
        assert!(
            matches!(&error, RunError::Task(failure) if failure.processor == "fill"),
            "{error:?}"
        );
        let error = error.to_string();
        for part in [
            "b19-keys",
            "offset 202",
            "`large`",
            "20001 bytes",
            "20000 at most",
            "max.message.bytes",
        ] {
            let part = part.replace("b19-keys", "keys");
            assert!(error.contains(&part), "{part}: {error}");
        }
        assert_eq!(next(&site).await, 202, "b23: not past what was not written");

        let running = app(&site, state.path(), Policy::Skip).start().unwrap();
        running.drained().await.unwrap();
        stop(&running, Duration::from_secs(20)).await;
        assert_eq!(last_of_each(lengths(&site).await), [500, most - 100, most, 7]);
    });
}

#[test]
fn b23_a_limit_that_is_lowered_meanwhile_loses_nothing_and_skips_only_what_policy_says() {
    let Some(site) = Site::shared("b23") else { return };
    block_on(async {
        site.make_topics(1).await;
        site.make_topic("large", 1, &[]).await;
        let state = tempfile::tempdir().unwrap();
        site.write(["50000"]).await;
        let running = app(&site, state.path(), Policy::Stop).start().unwrap();
        running.drained().await.unwrap();
        let topic = site.topic("large");
        let change = ["--alter", "--entity-type", "topics", "--entity-name", &topic];
        let brokers = [
            "--bootstrap-server",
            &site.brokers,
            "--add-config",
            "max.message.bytes=10000",
        ];
        tool(
            "org.apache.kafka.tools.ConfigCommand",
            &[&change[..], &brokers[..]].concat(),
        );
        site.write(["100", "50000", "200"]).await;
        let error = running.wait().await.unwrap_err();
        assert!(matches!(error, RunError::Task(_)), "{error:?}");
        let error = error.to_string();
        for part in ["keys[0] offset 2", "`large`", "10000 at most"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(next(&site).await, 2, "not past what was not written");

        let running = app(&site, state.path(), Policy::Skip).start().unwrap();
        running.drained().await.unwrap();
        stop(&running, Duration::from_secs(20)).await;
        assert_eq!(last_of_each(lengths(&site).await), [50_000, 100, 200]);
    });
}

/// What was written before a record was refused may be written again: in the order of the last time.
fn last_of_each<T: PartialEq>(written: Vec<T>) -> Vec<T> {
    let mut last = Vec::new();
    for one in written.into_iter().rev() {
        if !last.contains(&one) {
            last.push(one);
        }
    }
    last.reverse();
    last
}
