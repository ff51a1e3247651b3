//! All that is wrong with the user's options, before any client is made. Faults never show the value of a secret.

use std::ffi::c_int;

use jiff::Timestamp;

use super::{KafkaOptions, files, owned::owner_of};
use crate::{
    cluster::kafka::{
        native::{Conf, Listener, NativeError, Refused, property_names},
        token::TokenProvider,
    },
    config::{Properties, did_you_mean, is_secret, nearest},
};

/// All faults, given what librdkafka was built with.
pub(super) fn faults(options: &KafkaOptions, features: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    if options.brokers.is_empty() {
        faults.push("there are no brokers: give at least one, as `host:port`".to_owned());
    }
    if options.brokers.iter().any(|broker| broker.contains('@')) {
        faults.push(
            "`brokers` has a user's name in it: set `sasl.username` and `sasl.password` instead".to_owned(),
        );
    }
    let mut names = None;
    let conf = Conf::new();
    for (name, value) in options.properties.iter() {
        faults.extend(property_fault(name, value, features, &conf, &mut names));
    }
    faults.extend(combination_faults(options));
    let now = Timestamp::from_millisecond(options.clock.wall().as_millis()).unwrap_or_default();
    faults.extend(files::faults(&options.properties, now));
    faults
}

fn property_fault(
    name: &str,
    value: &str,
    features: &[String],
    conf: &Conf,
    names: &mut Option<Vec<String>>,
) -> Option<String> {
    if let Some(why) = owner_of(name) {
        return Some(format!("property `{name}` cannot be set: {why}"));
    }
    if let Some((feature, switch)) = needed_feature(name, value)
        && !features.iter().any(|it| it == feature)
    {
        let what = if is_mechanism_or_so(name) {
            format!("`{name} = {value}`")
        } else {
            format!("property `{name}`")
        };
        return Some(format!(
            "{what} needs what this program was built without: {switch}"
        ));
    }
    match conf.set(name, value) {
        Ok(()) => None,
        Err(Refused::Unknown) => {
            let names = names.get_or_insert_with(property_names);
            let near = nearest(name, names.iter().map(String::as_str).chain(MORE_NAMES));
            Some(format!("there is no property `{name}`{}", did_you_mean(near)))
        }
        Err(Refused::Value(_)) if is_secret(name) => {
            Some(format!("property `{name}`: its value is not taken"))
        }
        Err(Refused::Value(reason)) => Some(format!("property `{name}`: {reason}")),
    }
}

/// Names of properties beside those that librdkafka tells: other names of the same, and those without a default. They
/// help to guess what was meant, no more.
const MORE_NAMES: [&str; 32] = [
    "acks",
    "client.rack",
    "compression.type",
    "debug",
    "delivery.timeout.ms",
    "linger.ms",
    "max.in.flight",
    "max.partition.fetch.bytes",
    "plugin.library.paths",
    "retries",
    "sasl.kerberos.keytab",
    "sasl.mechanism",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.extensions",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.password",
    "sasl.username",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.cipher.suites",
    "ssl.crl.location",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.sigalgs.list",
];

/// Names whose values are words of librdkafka's.
fn is_mechanism_or_so(name: &str) -> bool {
    matches!(
        name,
        "security.protocol"
            | "sasl.mechanism"
            | "sasl.mechanisms"
            | "compression.codec"
            | "compression.type"
            | "sasl.oauthbearer.method"
    )
}

/// What a property needs of librdkafka's build: its name there, and how to come by it.
fn needed_feature(name: &str, value: &str) -> Option<(&'static str, &'static str)> {
    const TLS: &str = "build it with kproc's cargo feature `kafka-tls` (or `kafka-tls-vendored`)";
    const GSSAPI: &str = "build it with kproc's cargo feature `kafka-gssapi`";
    const ZSTD: &str = "build it with kproc's cargo feature `kafka-zstd`";
    const OIDC: &str = "kproc has no HTTP client; fetch the tokens yourself and give them to `App::tokens`";
    let value = value.to_ascii_lowercase();
    Some(match name {
        "security.protocol" if matches!(&*value, "ssl" | "sasl_ssl") => ("ssl", TLS),
        "sasl.mechanism" | "sasl.mechanisms" => match &*value {
            "gssapi" => ("sasl_gssapi", GSSAPI),
            "scram-sha-256" | "scram-sha-512" => ("sasl_scram", TLS),
            "oauthbearer" => ("sasl_oauthbearer", TLS),
            _ => return None,
        },
        "compression.codec" | "compression.type" if value == "zstd" => ("zstd", ZSTD),
        "sasl.oauthbearer.method" if value == "oidc" => ("oidc", OIDC),
        _ if name.starts_with("ssl.")
            || name.starts_with("ssl_")
            || name == "enable.ssl.certificate.verification" =>
        {
            ("ssl", TLS)
        }
        _ if name.starts_with("sasl.oauthbearer.assertion.")
            || name.starts_with("sasl.oauthbearer.metadata.")
            || name.starts_with("https.") =>
        {
            ("oidc", OIDC)
        }
        _ if name.starts_with("sasl.oauthbearer.") || name == "enable.sasl.oauthbearer.unsecure.jwt" => {
            ("sasl_oauthbearer", TLS)
        }
        _ if name.starts_with("sasl.kerberos.") => ("sasl_gssapi", GSSAPI),
        _ => return None,
    })
}

/// Who logs in, and by what.
pub(super) struct Login<'p> {
    pub(super) sasl: bool,
    pub(super) tls: bool,
    /// In capitals; librdkafka's default is GSSAPI.
    pub(super) mechanism: Option<String>,
    properties: &'p Properties,
}

impl<'p> Login<'p> {
    pub(super) fn of(properties: &'p Properties) -> Self {
        let protocol = properties
            .get("security.protocol")
            .unwrap_or("plaintext")
            .to_ascii_lowercase();
        let mechanism = properties
            .get("sasl.mechanism")
            .or_else(|| properties.get("sasl.mechanisms"));
        Self {
            sasl: protocol.starts_with("sasl_"),
            tls: protocol.ends_with("ssl"),
            mechanism: mechanism.map(str::to_ascii_uppercase),
            properties,
        }
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.properties
            .get(name)
            .is_some_and(|it| it.eq_ignore_ascii_case(value))
    }

    /// librdkafka fetches the tokens, or makes them.
    fn has_own_tokens(&self) -> bool {
        self.is("sasl.oauthbearer.method", "oidc") || self.is("enable.sasl.oauthbearer.unsecure.jwt", "true")
    }

    /// Making a client does more than looking at its properties: it asks a server, or runs a program.
    pub(super) fn acts_at_once(&self) -> bool {
        self.sasl
            && (self.mechanism.as_deref().is_none_or(|it| it == "GSSAPI")
                || self.is("sasl.oauthbearer.method", "oidc"))
    }

    /// What weakens a protection that was asked for.
    pub(super) fn weaknesses(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        if self.sasl && !self.tls && self.mechanism.as_deref() == Some("PLAIN") {
            found.push("the password goes over the network unencrypted (`security.protocol = sasl_plaintext`, `sasl.mechanism = PLAIN`)");
        }
        if self.tls && self.is("enable.ssl.certificate.verification", "false") {
            found.push(
                "the brokers' certificates are not verified (`enable.ssl.certificate.verification = false`)",
            );
        } else if self.tls && self.is("ssl.endpoint.identification.algorithm", "none") {
            found.push("the brokers' names are not compared with their certificates (`ssl.endpoint.identification.algorithm = none`)");
        }
        if self.sasl && self.is("enable.sasl.oauthbearer.unsecure.jwt", "true") {
            found.push("tokens are not signed (`enable.sasl.oauthbearer.unsecure.jwt = true`)");
        }
        found
    }
}

/// What does not fit together. librdkafka would pass over most of it, and connect without the protection.
fn combination_faults(options: &KafkaOptions) -> Vec<String> {
    let properties = &options.properties;
    let login = Login::of(properties);
    let mut faults = Vec::new();
    let given = |prefix: &str| {
        properties
            .iter()
            .map(|(name, _)| name)
            .find(|name| name.starts_with(prefix))
    };
    if let Some(name) = given("sasl.")
        && !login.sasl
    {
        faults.push(format!(
            "`{name}` is set, but nobody logs in: set `security.protocol` to `sasl_ssl` (or `sasl_plaintext`)"
        ));
    }
    if let Some(name) = given("ssl.")
        && !login.tls
    {
        faults.push(format!(
            "`{name}` is set, but nothing is encrypted: set `security.protocol` to `ssl` or `sasl_ssl`"
        ));
    }
    if login.sasl && login.mechanism.is_none() {
        faults.push(
            "`security.protocol` wants a login, and `sasl.mechanism` does not say which: PLAIN, SCRAM-SHA-256, \
             SCRAM-SHA-512, OAUTHBEARER or GSSAPI"
                .into(),
        );
    }
    if properties.get("sasl.mechanism").is_some() && properties.get("sasl.mechanisms").is_some() {
        faults.push("`sasl.mechanism` and `sasl.mechanisms` are the same property: set one".into());
    }
    let bearer = login.sasl && login.mechanism.as_deref() == Some("OAUTHBEARER");
    let provided = options.tokens.is_some();
    if bearer && !provided && !login.has_own_tokens() {
        faults.push(
            "the mechanism OAUTHBEARER needs tokens: give the program a source of them by `App::tokens`"
                .into(),
        );
    }
    if provided && !bearer {
        faults.push(
            "the program has a source of tokens, and does not log in by them: set `security.protocol = sasl_ssl` and \
             `sasl.mechanism = OAUTHBEARER`"
                .into(),
        );
    }
    if provided && login.has_own_tokens() {
        faults.push(
            "tokens come from the program: leave out `sasl.oauthbearer.method` and \
             `enable.sasl.oauthbearer.unsecure.jwt`"
                .into(),
        );
    }
    let needs_name = matches!(
        login.mechanism.as_deref(),
        Some("PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512")
    );
    if login.sasl && needs_name {
        for name in ["sasl.username", "sasl.password"] {
            if properties.get(name).is_none_or(str::is_empty) {
                faults.push(format!("`{name}` is missing"));
            }
        }
    }
    faults
}

/// Hears nothing: for clients that are made to see whether they can be.
pub(super) struct Deaf;

impl Listener for Deaf {
    fn line(&self, _: c_int, _: &str, _: &str) {}
    fn error(&self, _: &NativeError) {}
    fn statistics(&self, _: &str) {}
    fn tokens(&self) -> Option<&TokenProvider> {
        None
    }
}

#[cfg(test)]
mod tests;
