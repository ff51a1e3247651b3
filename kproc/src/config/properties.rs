//! Properties that are passed through to the Kafka client, some of which are secrets.

use std::{collections::BTreeMap, fmt};

/// Properties by librdkafka's names, such as `sasl.password`. `Debug` shows no secrets.
///
/// ```
/// use kproc::config::Properties;
///
/// let mut properties = Properties::default();
/// properties.set("sasl.username", "app");
/// properties.set("sasl.password", "tiger");
/// assert_eq!(properties.get("sasl.password"), Some("tiger"));
/// assert_eq!(format!("{properties:?}"), r#"{"sasl.password": <secret>, "sasl.username": "app"}"#);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Sets a property.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All properties, by name. The values may be secrets.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(name, value)| {
                let shown: &dyn fmt::Debug = if is_secret(name) {
                    &format_args!("<secret>")
                } else {
                    &WithoutCredentials(value)
                };
                // `entries` wants one type for all; the text is made here, while the borrow lasts.
                (name, Verbatim(format!("{shown:?}")))
            }))
            .finish()
    }
}

struct Verbatim(String);

impl fmt::Debug for Verbatim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a property of this name may hold a secret. Names that nobody has thought of yet, and mistyped ones, are judged
/// by their parts, and rather too strictly.
pub(crate) fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "pass",
        "pwd",
        "secret",
        "jaas",
        "pem",
        "token",
        "credential",
        "private",
        "oauthbearer.config",
        "bearer.ext",
    ];
    // What is known of the rest of these families is no secret; what is not known may be.
    const KNOWN: [&str; 20] = [
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.username",
        "sasl.kerberos.service.name",
        "sasl.kerberos.principal",
        "sasl.kerberos.keytab",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.client.id",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.keystore.location",
        "ssl.crl.location",
        "ssl.cipher.suites",
        "ssl.curves.list",
        "ssl.sigalgs.list",
        "ssl.endpoint.identification.algorithm",
        "ssl.engine.location",
    ];
    let name = name.to_ascii_lowercase().replace(['_', '-'], ".");
    let family = name.starts_with("sasl.") || name.starts_with("ssl.");
    PARTS.iter().any(|part| name.contains(part))
        || name.ends_with("key")
        || (family && !KNOWN.contains(&&*name))
}

/// The `Debug` form of something, without the names and passwords that URLs in it may have (`https://user:word@host`).
pub(crate) struct WithoutCredentials<'t, T: ?Sized>(pub(crate) &'t T);

impl<T: fmt::Debug + ?Sized> fmt::Debug for WithoutCredentials<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if f.alternate() {
            format!("{:#?}", self.0)
        } else {
            format!("{:?}", self.0)
        };
        f.write_str(&without_credentials(&text))
    }
}

fn without_credentials(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let start = rest[..at]
            .rfind(|c: char| c.is_whitespace() || "/\"',".contains(c))
            .map_or(0, |it| it + 1);
        let (before, user) = rest[..at].split_at(start);
        shown.push_str(before);
        shown.push_str(if user.contains(':') { "<secret>" } else { user });
        shown.push('@');
        rest = &rest[at + 1..];
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h03_secrets_are_not_shown() {
        let mut properties = Properties::default();
        for name in [
            "sasl.password",
            "ssl.key.password",
            "ssl.key.pem",
            "ssl_key",
            "ssl.keystore.password",
            "SASL.JAAS.CONFIG",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.config",
            "my.very.own.password.file",
            "access-token",
            // Mistyped.
            "sasl.passwrd",
            "sasl.pasword",
            "passwrd",
            "ssl.kye",
        ] {
            properties.set(name, "hunter2");
        }
        properties.set("ssl.ca.location", "/etc/ca");
        properties.set("some.url", "https://me:hunter2@host/path,//you:hunter2@other");
        let shown = format!("{properties:?} {properties:#?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("/etc/ca"), "{shown}");
        assert!(
            shown.contains("https://<secret>@host/path,//<secret>@other"),
            "{shown}"
        );
        assert_eq!(
            without_credentials("kafka/host@REALM, a@b"),
            "kafka/host@REALM, a@b"
        );
    }
}
