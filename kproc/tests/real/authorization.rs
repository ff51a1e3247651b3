//! A broker that allows only what it must: what is missing at the start, and what is withdrawn later.

use std::{path::Path, sync::Arc, time::Duration};

use kproc::{
    App, Clock, RunError, SystemClock,
    cluster::{
        Cluster, Operation, Resource,
        kafka::{KafkaCluster, KafkaOptions},
    },
    config::Processing,
    prelude::*,
};

use crate::{
    acl::{Acls, GUARDED, properties},
    exactly_once::up_to,
    kit::{COUNTS, KEYS, PATIENCE, SHORT_SESSION, Site, block_on, stop},
};

/// A user on the guarded broker, and the administrator's site there; all are named alike.
struct Guarded {
    site: Site,
    user: &'static str,
    acls: Acls,
}

impl Guarded {
    fn user(user: &'static str) -> Option<Self> {
        let brokers = GUARDED.address()?;
        Some(Self {
            site: Site {
                brokers: brokers.to_owned(),
                name: user,
                cluster: cluster(brokers, "admin"),
                clock: Arc::new(SystemClock::new()),
            },
            user,
            acls: Acls::connect(brokers),
        })
    }

    fn as_user(&self, app: App) -> App {
        app.configure(|settings| {
            for (name, value) in properties(self.user) {
                settings.librdkafka.set(name, value);
            }
        })
    }

    fn app(&self, state: &Path) -> App {
        self.as_user(self.site.app_of(self.user, state))
            .processor::<Count>()
    }

    fn topic(&self, name: &str) -> Resource {
        Resource::Topic(self.site.topic(name).into())
    }

    fn group(&self) -> Resource {
        Resource::Group(self.site.name.into())
    }

    /// Allows these, and waits until the broker has heard of it.
    async fn allow(&mut self, all: &[(Resource, Operation)]) {
        for (resource, operation) in all {
            self.acls.allow(self.user, resource, *operation);
        }
        self.until(
            |allows| {
                all.iter()
                    .all(|(resource, operation)| allows(resource, *operation))
            },
            all,
        )
        .await;
    }

    /// Allows that no more, and waits until the broker has heard of it.
    async fn withdraw(&mut self, resource: Resource, operation: Operation) {
        self.acls.withdraw(self.user, &resource, operation);
        let all = [(resource, operation)];
        self.until(|allows| !allows(&all[0].0, operation), &all).await;
    }

    /// Waits until what the broker says of the user's permissions is so.
    async fn until(
        &self,
        so: impl Fn(&dyn Fn(&Resource, Operation) -> bool) -> bool,
        asked: &[(Resource, Operation)],
    ) {
        let asked: Vec<Resource> = asked
            .iter()
            .map(|(resource, _)| resource.clone())
            .filter(|resource| !is_untold(resource))
            .collect();
        let mut admin = cluster(&self.site.brokers, self.user).admin().unwrap();
        let end = self.site.clock.now() + PATIENCE;
        loop {
            let access = admin.access(asked.clone()).await.unwrap();
            let allows = |resource: &Resource, operation: Operation| {
                let mut found = asked.iter().zip(&access).filter(|(asked, _)| *asked == resource);
                is_untold(resource)
                    || found.any(|(_, access)| access.as_ref().is_some_and(|it| it.contains(&operation)))
            };
            if so(&allows) {
                return;
            }
            assert!(self.site.clock.now() < end, "{access:?}");
            self.site.pause(Duration::from_millis(20)).await;
        }
    }
}

/// Of transactional ids brokers tell nobody, and of the cluster only those who may describe it.
fn is_untold(resource: &Resource) -> bool {
    matches!(resource, Resource::Cluster | Resource::TransactionalIds(_))
}

fn cluster(brokers: &str, user: &str) -> Arc<KafkaCluster> {
    let mut options = KafkaOptions::new(vec![brokers.to_owned()], Arc::new(SystemClock::new()));
    for (name, value) in properties(user) {
        options.properties.set(name, value);
    }
    Arc::new(KafkaCluster::new(options).unwrap())
}

/// What an application comes to, which does not run long.
async fn failure(app: App) -> RunError {
    let running = app.start().unwrap();
    running.wait().await.unwrap_err()
}

/// Scenarios H05, H08, H12: all that is missing is told at once, and what is told is all that it takes.
#[test]
fn h05_h08_h12_what_the_message_asks_for_is_enough() {
    let Some(mut guarded) = Guarded::user("minimal") else {
        return;
    };
    block_on(async {
        guarded.site.make_topics(2).await;
        let state = tempfile::tempdir().unwrap();
        let text = failure(guarded.app(state.path())).await.to_string();
        for part in [
            "topic `minimal-keys`, an input, does not exist, or this program may not see it",
            "--add --allow-principal User:minimal --operation Read --topic minimal-keys",
            "--add --allow-principal User:minimal --operation Write --topic minimal-counts",
            "--add --allow-principal User:minimal --operation Read --operation Write --topic minimal-count-counts-changelog",
            "--add --allow-principal User:minimal --operation Read --group minimal",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }

        let changelog = guarded.topic("count-counts-changelog");
        let granted = [
            (guarded.topic("keys"), Operation::Read),
            (guarded.group(), Operation::Read),
        ];
        guarded.allow(&granted).await;
        for (resource, operation) in [
            (guarded.topic("counts"), Operation::Write),
            (changelog.clone(), Operation::Read),
            (changelog.clone(), Operation::Write),
        ] {
            guarded.acls.allow("minimal", &resource, operation);
        }
        guarded
            .until(
                |allows| allows(&guarded.topic("counts"), Operation::Write),
                &[(guarded.topic("counts"), Operation::Write)],
            )
            .await;
        let text = failure(guarded.app(state.path())).await.to_string();
        for part in [
            "kafka-topics.sh --create --topic minimal-count-counts-changelog --partitions 2 --config cleanup.policy=compact",
            "--add --allow-principal User:minimal --operation Create --cluster",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("minimal-keys"), "that is allowed now: {text}");

        // An administrator makes it.
        guarded.site.make_changelog(2).await;
        let running = guarded.app(state.path()).start().unwrap();
        guarded.site.write(["apple", "plum", "apple"]).await;
        let counts = guarded.site.counted(&[&running], 3).await;
        assert_eq!((&*counts["apple"], &*counts["plum"]), (&[1, 2][..], &[1][..]));
        stop(&running, Duration::from_secs(20)).await;
    });
}

/// Scenarios H06, H07: a permission that is withdrawn ends the run with its name; nothing is skipped.
#[test]
fn h06_h07_what_is_withdrawn_is_named_and_nothing_is_skipped() {
    let Some(mut guarded) = Guarded::user("withdrawn") else {
        return;
    };
    block_on(async {
        guarded.site.make_topics(1).await;
        guarded.site.make_changelog(1).await;
        let changelog = guarded.topic("count-counts-changelog");
        let all = [
            (guarded.topic("keys"), Operation::Read),
            (guarded.topic("counts"), Operation::Write),
            (changelog.clone(), Operation::Read),
            (changelog.clone(), Operation::Write),
            (guarded.group(), Operation::Read),
            // A member whose group is closed to it cannot leave, and is waited for: without this its session would be the broker's,
            // of 45 s.
            (guarded.group(), Operation::AlterConfigs),
        ];
        guarded.allow(&all).await;
        let state = tempfile::tempdir().unwrap();
        let app = |guarded: &Guarded| {
            let app = guarded.app(state.path());
            app.configure(|settings| settings.session_timeout = SHORT_SESSION)
        };
        let mut written = 0;
        for (resource, operation) in [
            (guarded.topic("keys"), Operation::Read),
            (guarded.group(), Operation::Read),
            (changelog.clone(), Operation::Write),
        ] {
            let running = app(&guarded).start().unwrap();
            guarded.site.write(["apple"]).await;
            written += 1;
            let counts = guarded.site.counted(&[&running], written).await;
            // Nothing is skipped. What was written before the offsets were refused is there twice.
            let mut apples = counts["apple"].clone();
            apples.dedup();
            assert_eq!(apples, up_to(apples.len()), "{resource}");
            running.drained().await.unwrap();

            guarded.withdraw(resource.clone(), operation).await;
            let begun = guarded.site.clock.now();
            if operation == Operation::Write {
                // The output is not refused: it comes again.
                let mut outputs = guarded.site.counts().await["apple"].len();
                guarded.site.write(["plum"]).await;
                let failure = running.wait().await.unwrap_err().to_string();
                eprintln!(
                    "{resource}, after {:?}: {failure}",
                    guarded.site.clock.now().saturating_sub(begun)
                );
                assert!(failure.contains(&resource.grant(None, &[operation])), "{failure}");
                guarded.allow(&[(resource, operation)]).await;
                let again = app(&guarded).start().unwrap();
                outputs += 2;
                let counts = guarded.site.counted(&[&again], outputs).await;
                assert_eq!(counts["plum"].last(), Some(&1), "{counts:?}");
                stop(&again, Duration::from_secs(20)).await;
                continue;
            }
            guarded.site.write(["apple"]).await;
            written += 1;
            let failure = running.wait().await.unwrap_err().to_string();
            eprintln!(
                "{resource}, after {:?}: {failure}",
                guarded.site.clock.now().saturating_sub(begun)
            );
            let grant = resource.grant(Some("User:withdrawn"), &[operation]);
            let unnamed = resource.grant(None, &[operation]);
            assert!(
                failure.contains(&grant) || failure.contains(&unnamed),
                "{failure}"
            );
            guarded.allow(&[(resource, operation)]).await;
        }
    });
}

/// Counts keys, and says what it sends to.
#[processor]
#[derive(Default)]
struct Count {
    #[state]
    counts: Table<String, u64>,
}

#[processor(sends(COUNTS))]
impl Count {
    #[on_message(KEYS)]
    fn count(&mut self, ctx: &mut Context<'_>, key: &str, _value: &str) -> Result<()> {
        let mut count = self.counts.entry(key)?.or_default();
        *count += 1;
        ctx.send(&COUNTS, key, &*count)?;
        Ok(())
    }
}

/// Reads and remembers nothing.
#[processor]
#[derive(Default)]
struct Silent {}

#[processor]
impl Silent {
    #[on_message(KEYS)]
    fn hear(&mut self, ctx: &mut Context<'_>, _key: &str, _value: &str) {
        ctx.commit();
    }
}

/// Scenario H11: who writes nothing needs no permission to write, not even that of producers that repeat nothing.
#[test]
fn h11_who_writes_nothing_needs_no_permission_to_write() {
    let Some(mut guarded) = Guarded::user("silent") else {
        return;
    };
    block_on(async {
        guarded.site.make_topics(1).await;
        guarded
            .allow(&[
                (guarded.topic("keys"), Operation::Read),
                (guarded.group(), Operation::Read),
            ])
            .await;
        let state = tempfile::tempdir().unwrap();
        let app = guarded.site.app_of("silent", state.path()).processor::<Silent>();
        let running = guarded.as_user(app).start().unwrap();
        guarded.site.write(["apple"]).await;
        running.drained().await.unwrap();
        stop(&running, Duration::from_secs(20)).await;
        let committed = guarded.site.admin().group_offsets("silent".into()).await.unwrap();
        assert_eq!(committed[0].1.next.get(), 1);
    });
}

/// Scenario H10: ids of transactions that are not allowed are told at the start; allowed as the message says, each record
/// counts once.
#[test]
fn h10_transactions_that_are_not_allowed_are_told_at_the_start() {
    let Some(mut guarded) = Guarded::user("exact") else {
        return;
    };
    block_on(async {
        guarded.site.make_topics(1).await;
        guarded.site.make_changelog(1).await;
        let changelog = guarded.topic("count-counts-changelog");
        guarded
            .allow(&[
                (guarded.topic("keys"), Operation::Read),
                (guarded.topic("counts"), Operation::Write),
                (changelog.clone(), Operation::Read),
                (changelog, Operation::Write),
                (guarded.group(), Operation::Read),
            ])
            .await;
        let state = tempfile::tempdir().unwrap();
        let app = |guarded: &Guarded| {
            guarded
                .app(state.path())
                .configure(|settings| settings.processing = Processing::ExactlyOnce)
        };
        let RunError::Check(faults) = failure(app(&guarded)).await else {
            panic!("it is no fault of the check");
        };
        assert_eq!(faults.len(), 1, "{faults:#?}");
        for part in [
            "its id `exact-",
            "--add --allow-principal User:exact --operation Write --transactional-id exact- --resource-pattern-type prefixed",
        ] {
            assert!(faults[0].contains(part), "{part}: {faults:#?}");
        }

        // Brokers hear of permissions in order, and tell of the second one only.
        let ids = Resource::TransactionalIds("exact-".into());
        guarded
            .allow(&[
                (ids, Operation::Write),
                (guarded.group(), Operation::AlterConfigs),
            ])
            .await;
        let running = app(&guarded).start().unwrap();
        guarded.site.write(["apple", "plum", "apple"]).await;
        let counts = guarded.site.counted(&[&running], 3).await;
        assert_eq!((&*counts["apple"], &*counts["plum"]), (&[1, 2][..], &[1][..]));
        running.drained().await.unwrap();
        stop(&running, Duration::from_secs(20)).await;
        assert_eq!(guarded.site.counts().await, counts);
        let committed = guarded.site.admin().group_offsets("exact".into()).await.unwrap();
        // Behind the records, and the marker of the transaction that wrote them.
        assert!(committed[0].1.next.get() >= 3, "{committed:?}");
    });
}
