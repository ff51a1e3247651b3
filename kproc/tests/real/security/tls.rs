//! Brokers behind TLS, and what goes with OpenSSL: SCRAM and OAUTHBEARER. Needs the cargo feature `kafka-tls` and the
//! `openssl` program.

use std::{path::Path, process::Command, sync::OnceLock, time::Duration};

use kproc::{
    Clock, SystemClock,
    cluster::{
        ClusterErrorKind,
        kafka::{Token, TokenProvider},
    },
};

use super::{counts, site, site_with};
use crate::{broker::TestBroker, kit::block_on};

/// Where certificates and keys are.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/tls");

/// What brokers show, and whom they believe.
const KEYSTORE: &str = concat!(
    "ssl.keystore.location=",
    env!("CARGO_TARGET_TMPDIR"),
    "/tls/broker.both"
);
const TRUSTSTORE: &str = concat!(
    "ssl.truststore.location=",
    env!("CARGO_TARGET_TMPDIR"),
    "/tls/ca.pem"
);

/// Wants a certificate of whoever connects.
static MUTUAL: TestBroker = TestBroker::new(&[
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:SSL",
    "ssl.keystore.type=PEM",
    KEYSTORE,
    "ssl.truststore.type=PEM",
    TRUSTSTORE,
    "ssl.client.auth=required",
]);

/// Wants a login, of any kind.
static LOGIN: TestBroker = TestBroker::new(&[
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_SSL",
    "ssl.keystore.type=PEM",
    KEYSTORE,
    "ssl.truststore.type=PEM",
    TRUSTSTORE,
    "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512,OAUTHBEARER",
    "sasl.mechanism.inter.broker.protocol=PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config=\
     org.apache.kafka.common.security.plain.PlainLoginModule required \
     username=\"broker\" password=\"inner\" user_broker=\"inner\" user_app=\"tiger\";",
    "listener.name.plaintext.scram-sha-512.sasl.jaas.config=\
     org.apache.kafka.common.security.scram.ScramLoginModule required;",
    "listener.name.plaintext.oauthbearer.sasl.jaas.config=\
     org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \
     unsecuredLoginStringClaim_sub=\"broker\";",
    "--add-scram=SCRAM-SHA-512=[name=app,password=tiger]",
]);

/// The broker's address, once there are certificates.
fn start(broker: &'static TestBroker) -> Option<&'static str> {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(make_certificates);
    broker.address()
}

/// An authority, and certificates of it for a broker and a client.
fn make_certificates() {
    std::fs::create_dir_all(FOLDER).unwrap();
    let openssl = |arguments: &str| {
        let output = Command::new("openssl")
            .args(arguments.split(' '))
            .current_dir(FOLDER)
            .output()
            .unwrap();
        assert!(output.status.success(), "openssl {arguments}: {output:?}");
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1";
    openssl(&format!(
        "req -x509 {key} -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"
    ));
    for name in ["broker", "client"] {
        let subject = format!("-subj /CN={name} -addext subjectAltName=IP:127.0.0.1");
        openssl(&format!(
            "req {key} -nodes -keyout {name}.key -out {name}.csr {subject}"
        ));
        openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -copy_extensions copy -out {name}.pem"
        ));
    }
    openssl("pkcs8 -topk8 -in client.key -passout pass:hunter2 -out client.locked");
    openssl("pkcs12 -export -in client.pem -inkey client.key -passout pass:hunter2 -out client.p12");
    let read = |name: &str| std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap();
    std::fs::write(
        Path::new(FOLDER).join("broker.both"),
        read("broker.key") + &read("broker.pem"),
    )
    .unwrap();
}

fn in_folder(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

#[test]
fn a_certificate_opens_the_broker() {
    let Some(brokers) = start(&MUTUAL) else { return };
    let (ca, pem, key, store) = (
        in_folder("ca.pem"),
        in_folder("client.pem"),
        in_folder("client.locked"),
        in_folder("client.p12"),
    );
    let base = [("security.protocol", "ssl"), ("ssl.ca.location", &*ca)];
    let files = [
        ("ssl.certificate.location", &*pem),
        ("ssl.key.location", &*key),
        ("ssl.key.password", "hunter2"),
    ];
    let properties = [&base[..], &files].concat();
    block_on(counts(&site(brokers, "mutual", &properties), &properties));
    let store = [
        ("ssl.keystore.location", &*store),
        ("ssl.keystore.password", "hunter2"),
    ];
    let properties = [&base[..], &store].concat();
    block_on(counts(&site(brokers, "store", &properties), &properties));
}

#[test]
fn an_authority_that_is_not_known_is_told() {
    let Some(brokers) = start(&LOGIN) else { return };
    // The system's authorities do not know ours.
    let properties = login("PLAIN", "tiger");
    let properties: Vec<_> = properties
        .into_iter()
        .filter(|(name, _)| *name != "ssl.ca.location")
        .collect();
    let site = site(brokers, "unknown", &properties);
    let error = block_on(async { site.admin().describe(vec!["t".into()]).await.unwrap_err() });
    assert_eq!(error.kind, ClusterErrorKind::Fatal, "{error}");
    assert!(error.message.contains("ssl.ca.location"), "{error}");
}

fn login(mechanism: &'static str, password: &'static str) -> Vec<(&'static str, &'static str)> {
    vec![
        ("security.protocol", "sasl_ssl"),
        (
            "ssl.ca.location",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/tls/ca.pem"),
        ),
        ("sasl.mechanism", mechanism),
        ("sasl.username", "app"),
        ("sasl.password", password),
    ]
}

#[test]
fn passwords_go_through_tls() {
    let Some(brokers) = start(&LOGIN) else { return };
    let properties = login("PLAIN", "tiger");
    block_on(counts(&site(brokers, "tls-plain", &properties), &properties));
    let properties = login("SCRAM-SHA-512", "tiger");
    block_on(counts(&site(brokers, "scram", &properties), &properties));
    let properties = login("SCRAM-SHA-512", "hunter2");
    let site = site(brokers, "scram-wrong", &properties);
    let error = block_on(async { site.admin().describe(vec!["t".into()]).await.unwrap_err() });
    assert_eq!(error.kind, ClusterErrorKind::Unauthorized, "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

/// Scenario H13: the first request of a client waits for its token, and for nothing else.
#[test]
fn h13_tokens_come_before_the_first_request() {
    let Some(brokers) = start(&LOGIN) else { return };
    let provider = TokenProvider::new(|| {
        let now = SystemClock::new().wall().as_millis() / 1000;
        let claims = format!(r#"{{"sub":"app","iat":{now},"exp":{}}}"#, now + 3600);
        let jwt = format!(
            "{}.{}.",
            base64url(br#"{"alg":"none"}"#),
            base64url(claims.as_bytes())
        );
        let expires = std::time::UNIX_EPOCH + Duration::from_secs(now as u64 + 3600);
        Ok(Token::new(jwt, expires))
    });
    let properties: Vec<_> = login("OAUTHBEARER", "-").into_iter().take(3).collect();
    let site = site_with(brokers, "tokens", &properties, Some(provider.clone()));
    block_on(async {
        let began = site.clock.now();
        site.admin().describe(vec!["t".into()]).await.unwrap();
        assert!(site.clock.now() < began + Duration::from_secs(5));
        super::counts_of(&site, &properties, |app| app.tokens(provider)).await;
    });
    let broken = TokenProvider::new(|| Err("no token today".into()));
    let site = site_with(brokers, "tokenless", &properties, Some(broken));
    let error = block_on(async { site.admin().describe(vec!["t".into()]).await.unwrap_err() });
    assert!(error.message.contains("no token today"), "{error}");
}

fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for piece in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*piece.get(at).unwrap_or(&0)));
        for at in 0..=piece.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}
