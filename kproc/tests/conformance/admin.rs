//! Administration.

use kproc::{
    TopicPartition,
    cluster::{
        Admin, ClusterErrorKind, CommittedOffset, NewTopic, Operation, Operations, Resource, TopicDescription,
    },
};

use crate::{
    harness::{World, at, part, texts, value_in},
    peer::{Peer, settle},
};

async fn describe(
    world: &World,
    admin: &mut dyn Admin,
    topic: &std::sync::Arc<str>,
) -> Option<TopicDescription> {
    let mut found = world.within(admin.describe(vec![topic.clone()])).await.unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

pub(crate) async fn create_describe_delete(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let (here, none) = (world.name("here"), world.name("none"));
    let new = NewTopic {
        name: here.clone(),
        partitions: 3,
        config: vec![],
    };
    assert_eq!(
        world.within(admin.create(vec![new.clone()])).await.unwrap(),
        [Ok(())]
    );

    let found = world
        .within(admin.describe(vec![none.clone(), here.clone()]))
        .await
        .unwrap();
    assert_eq!(found[0], None);
    let found = found[1].clone().unwrap();
    assert_eq!((found.name, found.partitions), (here.clone(), 3));
    assert!(!found.id.is_nil());

    // One result for each: a failure does not keep the others from being made.
    let other = NewTopic {
        name: world.name("other"),
        partitions: 1,
        config: vec![],
    };
    let outcomes = world
        .within(admin.create(vec![new, other.clone()]))
        .await
        .unwrap();
    assert_eq!(
        outcomes[0].as_ref().unwrap_err().kind,
        ClusterErrorKind::TopicExists
    );
    assert_eq!(outcomes[1], Ok(()));

    // Nothing to be deleted is no mistake.
    assert_eq!(world.within(admin.delete(vec![])).await.unwrap(), []);
    let outcomes = world
        .within(admin.delete(vec![none, here.clone(), other.name.clone()]))
        .await
        .unwrap();
    assert_eq!(
        outcomes[0].as_ref().unwrap_err().kind,
        ClusterErrorKind::UnknownTopic
    );
    assert_eq!(outcomes[1..], [Ok(()), Ok(())]);
    assert_eq!(describe(world, &mut *admin, &here).await, None);
}

/// Scenario C21: who remembers the id notices.
pub(crate) async fn c21_a_topic_made_again_has_another_id(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let topic = world.topic(1).await;
    world.produce(&topic, &[value_in(0, "former")]).await;
    let before = describe(world, &mut *admin, &topic).await.unwrap();
    assert_eq!(describe(world, &mut *admin, &topic).await.unwrap().id, before.id);
    assert_eq!(
        world.within(admin.delete(vec![topic.clone()])).await.unwrap(),
        [Ok(())]
    );
    let new = NewTopic {
        name: topic.clone(),
        partitions: 1,
        config: vec![],
    };
    assert_eq!(world.within(admin.create(vec![new])).await.unwrap(), [Ok(())]);
    let after = describe(world, &mut *admin, &topic).await.unwrap();
    assert_ne!(after.id, before.id);
    let identified = world.within(admin.identify(vec![topic.clone()])).await.unwrap();
    let identified = identified[0].as_ref().unwrap();
    assert_eq!(
        (identified.id, identified.partitions, &identified.config[..]),
        (after.id, after.partitions, &[][..])
    );
    world.produce(&topic, &[value_in(0, "new")]).await;
    assert_eq!(texts(&world.read_all(part(&topic, 0)).await), ["new"]);
}

pub(crate) async fn settings_are_described_and_checked(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let given = [
        ("cleanup.policy", "compact"),
        ("delete.retention.ms", "1234"),
        ("max.message.bytes", "5000"),
        ("retention.ms", "-1"),
    ];
    let topic = world.topic_with(1, &given).await;
    let config = describe(world, &mut *admin, &topic).await.unwrap().config;
    for (name, value) in given {
        assert!(
            config.contains(&(name.into(), value.into())),
            "{name}: {config:?}"
        );
    }
    let plain = world.topic(1).await;
    let config = describe(world, &mut *admin, &plain).await.unwrap().config;
    for (name, value) in [("cleanup.policy", "delete"), ("delete.retention.ms", "86400000")] {
        assert!(
            config.contains(&(name.into(), value.into())),
            "{name}: {config:?}"
        );
    }
    for wrong in [
        ("retention.millis", "1"),
        ("cleanup.policy", "shred"),
        ("max.message.bytes", "many"),
    ] {
        let config = vec![(wrong.0.into(), wrong.1.into())];
        let new = NewTopic {
            name: world.name("wrong"),
            partitions: 1,
            config,
        };
        let outcome = world.within(admin.create(vec![new])).await.unwrap().remove(0);
        assert_eq!(outcome.unwrap_err().kind, ClusterErrorKind::Fatal, "{wrong:?}");
    }
}

/// Scenario B21, at the cluster.
pub(crate) async fn bad_names_and_counts_are_refused(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let long = "x".repeat(250);
    for name in ["a b", "", ".", "..", "ünï", &long] {
        let new = NewTopic {
            name: name.into(),
            partitions: 1,
            config: vec![],
        };
        let outcome = world.within(admin.create(vec![new])).await.unwrap().remove(0);
        assert_eq!(outcome.unwrap_err().kind, ClusterErrorKind::Fatal, "{name:?}");
    }
    let new = NewTopic {
        name: world.name("empty"),
        partitions: 0,
        config: vec![],
    };
    let outcome = world.within(admin.create(vec![new])).await.unwrap().remove(0);
    assert_eq!(outcome.unwrap_err().kind, ClusterErrorKind::Fatal);
}

pub(crate) async fn group_offsets_are_listed_and_set(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let (topic, group) = (world.topic(2).await, world.name("group"));
    assert_eq!(
        world
            .within(admin.group_offsets(group.to_string()))
            .await
            .unwrap(),
        []
    );

    let mut peer = Peer::join(world, world.join(&group, &[&topic]));
    settle(world, &mut [&mut peer], |peers| peers[0].owned.len() == 2).await;
    let place = part(&topic, 1);
    let offset = peer.offset(&place, 4, "text");
    world.within(peer.group.commit(vec![offset])).await.unwrap();
    let expected = (
        place.clone(),
        CommittedOffset {
            next: at(4),
            metadata: "text".into(),
        },
    );
    assert_eq!(
        world
            .within(admin.group_offsets(group.to_string()))
            .await
            .unwrap(),
        [expected]
    );

    let change = vec![(part(&topic, 0), Some(at(9))), (place, None)];
    let refused = world
        .within(admin.set_group_offsets(group.to_string(), change.clone()))
        .await;
    assert_eq!(
        refused.unwrap_err().kind,
        ClusterErrorKind::Fatal,
        "the group has a member"
    );
    peer.leave(world).await;
    world
        .within(admin.set_group_offsets(group.to_string(), change))
        .await
        .unwrap();
    let offsets = world
        .within(admin.group_offsets(group.to_string()))
        .await
        .unwrap();
    let offsets: Vec<(TopicPartition, _)> = offsets.into_iter().map(|(place, it)| (place, it.next)).collect();
    assert_eq!(offsets, [(part(&topic, 0), at(9))]);
}

pub(crate) async fn records_are_deleted_by_offset(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let topic = world.topic(1).await;
    let place = part(&topic, 0);
    world
        .produce(&topic, &["a", "b", "c"].map(|value| value_in(0, value)))
        .await;
    world
        .within(admin.delete_records(vec![(place.clone(), at(1))]))
        .await
        .unwrap();
    assert_eq!(texts(&world.read_all(place.clone()).await), ["b", "c"]);
    // Backwards is nothing; past the end is an error.
    world
        .within(admin.delete_records(vec![(place.clone(), at(0))]))
        .await
        .unwrap();
    assert_eq!(texts(&world.read_all(place.clone()).await), ["b", "c"]);
    let beyond = world
        .within(admin.delete_records(vec![(place.clone(), at(4))]))
        .await
        .unwrap_err();
    assert_eq!(beyond.kind, ClusterErrorKind::OffsetOutOfRange);
    world
        .within(admin.delete_records(vec![(place.clone(), at(3))]))
        .await
        .unwrap();
    assert_eq!(world.read_all(place.clone()).await, []);
    // The next record has the next offset all the same.
    world.produce(&topic, &[value_in(0, "d")]).await;
    assert_eq!(world.read_all(place).await[0].offset, 3);
}

pub(crate) async fn members_are_described(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let (topic, group) = (world.topic(2).await, world.name("group"));
    let mut members = async || {
        world
            .within(admin.group_members(group.to_string()))
            .await
            .unwrap()
    };
    assert_eq!(members().await, [], "there is no such group");

    let mut peers = ["one", "two"].map(|client_id| {
        let mut request = world.join(&group, &[&topic]);
        request.client_id = client_id.into();
        Peer::join(world, request)
    });
    let [one, two] = &mut peers;
    settle(world, &mut [one, two], |peers| {
        peers.iter().all(|peer| peer.owned.len() == 1)
    })
    .await;
    let found = members().await;
    let ids: Vec<_> = found.iter().map(|member| &*member.client_id).collect();
    assert_eq!(ids, ["one", "two"]);
    assert!(found.iter().all(|member| !member.host.is_empty()), "{found:?}");
    for peer in peers {
        peer.leave(world).await;
    }
    assert_eq!(members().await, [], "all have left");
}

pub(crate) async fn making_topics_can_be_tried(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let (there, new) = (world.topic(1).await, world.name("new"));
    let topic = |name: &std::sync::Arc<str>, setting: &str| NewTopic {
        name: name.clone(),
        partitions: 1,
        config: vec![("cleanup.policy".into(), setting.into())],
    };
    let wanted = vec![
        topic(&there, "compact"),
        topic(&new, "compact"),
        topic(&new, "nonsense"),
    ];
    let mut outcomes = Vec::new();
    // One at a time: a name may not come twice.
    for one in wanted {
        outcomes.extend(world.within(admin.try_create(vec![one])).await.unwrap());
    }
    assert_eq!(
        outcomes[0].as_ref().unwrap_err().kind,
        ClusterErrorKind::TopicExists
    );
    assert_eq!(outcomes[1], Ok(()));
    assert_eq!(outcomes[2].as_ref().unwrap_err().kind, ClusterErrorKind::Fatal);
    assert_eq!(describe(world, &mut *admin, &new).await, None, "nothing was made");
}

/// Without access control everything is allowed. (What is denied is tested on a broker that denies.)
pub(crate) async fn access_is_told(world: &World) {
    let mut admin = world.connect().admin().unwrap();
    let (topic, none, group) = (world.topic(1).await, world.name("none"), world.name("group"));
    let asked = vec![
        Resource::Topic(topic),
        Resource::Topic(none),
        Resource::Group(group),
        Resource::Cluster,
    ];
    let access = world.within(admin.access(asked)).await.unwrap();
    let allows = |access: &Option<Operations>, operation| {
        access.as_ref().is_none_or(|allowed| allowed.contains(&operation))
    };
    assert_eq!(access.len(), 4);
    assert!(access[0].as_ref().is_some_and(|it| it.contains(&Operation::Read)));
    assert!(allows(&access[0], Operation::Write));
    assert_eq!(access[1], None, "of what is not there, nothing is said");
    assert!(allows(&access[2], Operation::Read));
    assert!(allows(&access[3], Operation::Create));
}
