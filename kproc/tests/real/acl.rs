//! Gives and takes permissions on a broker that asks who is there: the four requests of Kafka's protocol that it takes.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use kproc::cluster::{Operation, Resource};

use crate::broker::TestBroker;

/// A broker on which nothing is allowed but to `admin`. The password of each user is its name.
pub(crate) static GUARDED: TestBroker = TestBroker::new(&[
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms=PLAIN",
    // It also asks itself, whether a partition belongs to a transaction.
    "inter.broker.listener.name=PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol=PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config=\
     org.apache.kafka.common.security.plain.PlainLoginModule required \
     username=\"admin\" password=\"admin\" user_admin=\"admin\" user_minimal=\"minimal\" user_withdrawn=\"withdrawn\" \
     user_exact=\"exact\" user_silent=\"silent\";",
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    // The controller's listener knows no names.
    "super.users=User:admin;User:ANONYMOUS",
]);

/// The properties of a client of this user.
pub(crate) fn properties(user: &str) -> [(&'static str, &str); 4] {
    [
        ("security.protocol", "sasl_plaintext"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", user),
        ("sasl.password", user),
    ]
}

const SASL_HANDSHAKE: i16 = 17;
const CREATE_ACLS: i16 = 30;
const DELETE_ACLS: i16 = 31;
const SASL_AUTHENTICATE: i16 = 36;

/// The administrator's connection.
pub(crate) struct Acls(TcpStream);

impl Acls {
    pub(crate) fn connect(broker: &str) -> Self {
        let mut acls = Self(TcpStream::connect(broker).unwrap());
        let mut mechanism = Vec::new();
        string(&mut mechanism, "PLAIN");
        let answer = acls.ask(SASL_HANDSHAKE, 1, &mechanism);
        assert_eq!(answer[..2], [0, 0], "the handshake is refused");
        let token = b"\0admin\0admin";
        let mut body = (token.len() as i32).to_be_bytes().to_vec();
        body.extend(token);
        let answer = acls.ask(SASL_AUTHENTICATE, 0, &body);
        assert_eq!(answer[..2], [0, 0], "the password is refused");
        acls
    }

    /// Allows a user to do something.
    pub(crate) fn allow(&mut self, user: &str, resource: &Resource, operation: Operation) {
        let mut body = 1_i32.to_be_bytes().to_vec();
        entry(&mut body, user, resource, operation);
        let answer = self.ask(CREATE_ACLS, 1, &body);
        // Time, how many, the first one's error.
        assert_eq!(answer[4..10], [0, 0, 0, 1, 0, 0], "{resource}: {answer:?}");
    }

    /// Allows it no more.
    pub(crate) fn withdraw(&mut self, user: &str, resource: &Resource, operation: Operation) {
        let mut body = 1_i32.to_be_bytes().to_vec();
        entry(&mut body, user, resource, operation);
        let answer = self.ask(DELETE_ACLS, 1, &body);
        assert_eq!(answer[4..10], [0, 0, 0, 1, 0, 0], "{resource}: {answer:?}");
    }

    fn ask(&mut self, request: i16, version: i16, body: &[u8]) -> Vec<u8> {
        let mut message = request.to_be_bytes().to_vec();
        message.extend(version.to_be_bytes());
        message.extend(7_i32.to_be_bytes());
        string(&mut message, "test");
        message.extend(body);
        self.0.write_all(&(message.len() as i32).to_be_bytes()).unwrap();
        self.0.write_all(&message).unwrap();
        let mut size = [0; 4];
        self.0.read_exact(&mut size).unwrap();
        let mut answer = vec![0; i32::from_be_bytes(size) as usize];
        self.0.read_exact(&mut answer).unwrap();
        assert_eq!(
            answer[..4],
            7_i32.to_be_bytes(),
            "it is the answer to another request"
        );
        answer.split_off(4)
    }
}

fn string(to: &mut Vec<u8>, text: &str) {
    to.extend((text.len() as i16).to_be_bytes());
    to.extend(text.as_bytes());
}

/// An entry, or the filter that finds it: they have the same form.
fn entry(to: &mut Vec<u8>, user: &str, resource: &Resource, operation: Operation) {
    let (kind, name): (u8, &str) = match resource {
        Resource::Topic(name) => (2, name),
        Resource::Group(name) => (3, name),
        Resource::Cluster => (4, "kafka-cluster"),
        Resource::TransactionalIds(prefix) => (5, prefix),
        other => panic!("{other} is not known here"),
    };
    to.push(kind);
    string(to, name);
    let prefixed = matches!(resource, Resource::TransactionalIds(_));
    to.push(if prefixed { 4 } else { 3 }); // Names that begin so, or the name as it is.
    string(to, &format!("User:{user}"));
    string(to, "*");
    to.push(match operation {
        Operation::Read => 3,
        Operation::Write => 4,
        Operation::Create => 5,
        Operation::Describe => 8,
        Operation::AlterConfigs => 11,
        other => panic!("{other} is not known here"),
    });
    to.push(3); // It is allowed.
}
