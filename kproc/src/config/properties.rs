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
                    &value
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

/// Whether a property of this name may hold a secret. Names that nobody has thought of yet are judged by their
/// parts, and rather too strictly.
pub(crate) fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 9] = [
        "password",
        "passphrase",
        "secret",
        "jaas",
        "pem",
        "token",
        "credential",
        "private",
        "oauthbearer.config",
    ];
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part)) || name.ends_with("key")
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
        ] {
            properties.set(name, "hunter2");
        }
        properties.set("ssl.ca.location", "/etc/ca");
        let shown = format!("{properties:?} {properties:#?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("/etc/ca"), "{shown}");
    }
}
