//! Files that properties name: certificates and keys. What is wrong with them is found here, and told in words that say
//! what to do, before librdkafka shows OpenSSL's.

use std::{fs, path::Path};

use jiff::Timestamp;

use super::certificate::validity;
use crate::config::{Properties, is_secret};

/// What a file must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Certificates of authorities (PEM), some of which may have expired.
    Authorities,
    /// A certificate of our own (PEM), perhaps followed by those between it and an authority.
    Certificate,
    /// A private key (PEM).
    Key,
    /// A revocation list (PEM).
    Revocations,
    /// Keys and certificates in the form PKCS#12.
    KeyStore,
    /// Anything.
    Bytes,
}

impl Content {
    /// Which property holds what, as a file's name or (`.pem`) in itself.
    fn of(property: &str) -> Option<Self> {
        Some(match property {
            "ssl.ca.location" | "ssl.ca.pem" | "https.ca.location" | "https.ca.pem" => Self::Authorities,
            "ssl.certificate.location" | "ssl.certificate.pem" => Self::Certificate,
            "ssl.key.location" | "ssl.key.pem" => Self::Key,
            "ssl.crl.location" => Self::Revocations,
            "ssl.keystore.location" => Self::KeyStore,
            "sasl.kerberos.keytab"
            | "sasl.oauthbearer.assertion.private.key.file"
            | "sasl.oauthbearer.assertion.file"
            | "sasl.oauthbearer.assertion.jwt.template.file" => Self::Bytes,
            _ => return None,
        })
    }

    /// Whether a block of PEM of this label is what is looked for.
    fn is_label(self, label: &str) -> bool {
        match self {
            Self::Authorities | Self::Certificate => {
                matches!(label, "CERTIFICATE" | "TRUSTED CERTIFICATE" | "X509 CERTIFICATE")
            }
            Self::Key => label.ends_with("PRIVATE KEY"),
            Self::Revocations => label == "X509 CRL",
            Self::KeyStore | Self::Bytes => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Authorities | Self::Certificate => "certificate",
            Self::Key => "private key",
            Self::Revocations => "revocation list",
            Self::KeyStore => "key store",
            Self::Bytes => "content",
        }
    }
}

/// All that is wrong with files and with what goes with them.
pub(super) fn faults(properties: &Properties, now: Timestamp) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, value) in properties.iter() {
        let Some(content) = Content::of(name) else {
            continue;
        };
        if let Some(fault) = fault(name, value, content, properties, now) {
            faults.push(fault);
        }
    }
    let has = |names: &[&str]| names.iter().any(|name| properties.get(name).is_some());
    let (key, certificate) = (
        has(&["ssl.key.location", "ssl.key.pem"]),
        has(&["ssl.certificate.location", "ssl.certificate.pem"]),
    );
    if key && !certificate {
        faults.push(
            "there is a key (`ssl.key…`) without its certificate: set `ssl.certificate.location`".into(),
        );
    }
    if certificate && !key {
        faults.push(
            "there is a certificate (`ssl.certificate…`) without its key: set `ssl.key.location`".into(),
        );
    }
    faults
}

fn fault(
    name: &str,
    value: &str,
    content: Content,
    properties: &Properties,
    now: Timestamp,
) -> Option<String> {
    if name.rsplit('.').next() == Some("pem") {
        return pem_fault(value.as_bytes(), content, properties, now).map(|what| format!("`{name}` {what}"));
    }
    // Somebody who has put the key itself here must not find it in a log.
    if value.contains("-----BEGIN") {
        let other = name.replace(".location", ".pem");
        return Some(format!(
            "`{name}` is the name of a file, and was given what belongs into one: set `{other}` to it instead"
        ));
    }
    let directory = Path::new(value).is_dir();
    if content == Content::Authorities && (value == "probe" || directory) {
        return None;
    }
    let shown = if is_secret(name) {
        format!("the file of `{name}`")
    } else {
        format!("`{name} = {value}`")
    };
    if directory {
        return Some(format!("{shown} is a directory, not a file"));
    }
    let what = match fs::read(value) {
        Err(error) => format!("cannot be read: {error}"),
        Ok(bytes) if bytes.is_empty() => "is an empty file".into(),
        Ok(bytes) => match content {
            Content::Bytes => return None,
            Content::KeyStore => key_store_fault(&bytes)?.into(),
            _ => pem_fault(&bytes, content, properties, now)?,
        },
    };
    Some(format!("{shown} {what}"))
}

fn key_store_fault(bytes: &[u8]) -> Option<&'static str> {
    /// What a file in Java's own form begins with.
    const JKS: &[u8] = b"\xfe\xed\xfe\xed";
    if bytes.starts_with(JKS) {
        Some(
            "is in Java's form JKS, which only Java reads; `keytool -importkeystore -deststoretype PKCS12` converts it",
        )
    } else if bytes.starts_with(b"-----BEGIN") {
        Some("is in PEM form: name it in `ssl.certificate.location` and `ssl.key.location` instead")
    } else {
        None
    }
}

/// What is wrong with a text in PEM form, as the end of a sentence.
fn pem_fault(bytes: &[u8], content: Content, properties: &Properties, now: Timestamp) -> Option<String> {
    let kind = content.name();
    if !bytes.windows(11).any(|window| window == b"-----BEGIN ") {
        return Some(
            "is not in PEM form (text with a line `-----BEGIN …`); openssl can convert it (`-inform DER`, or `openssl \
             pkcs12`)"
                .into(),
        );
    }
    // The reason may quote what was read, and what is cut off is passed over.
    let blocks = pem::parse_many(bytes).unwrap_or_default();
    if blocks.is_empty() {
        return Some("has a damaged PEM block in it: compare it with its origin".into());
    }
    let fit: Vec<_> = blocks
        .iter()
        .filter(|block| content.is_label(block.tag()))
        .collect();
    let Some(first) = fit.first() else {
        let found: Vec<_> = blocks.iter().map(|block| format!("`{}`", block.tag())).collect();
        return Some(format!("has no {kind} in it, only {}", found.join(", ")));
    };
    match content {
        Content::Key => {
            let encrypted = first.tag().starts_with("ENCRYPTED")
                || first
                    .headers()
                    .get("Proc-Type")
                    .is_some_and(|it| it.contains("ENCRYPTED"));
            (encrypted && properties.get("ssl.key.password").is_none())
                .then(|| "is encrypted: set `ssl.key.password`".into())
        }
        Content::Certificate => certificate_fault(first.contents(), now),
        Content::Authorities => {
            // Collections have old ones among them.
            let faults: Vec<_> = fit
                .iter()
                .map(|block| certificate_fault(block.contents(), now))
                .collect();
            if faults.iter().all(Option::is_some) {
                faults.into_iter().next()?
            } else {
                None
            }
        }
        Content::Revocations | Content::KeyStore | Content::Bytes => None,
    }
}

fn certificate_fault(der: &[u8], now: Timestamp) -> Option<String> {
    let Some((from, until)) = validity(der) else {
        return Some("has a certificate in it that cannot be read: compare it with its origin".into());
    };
    if now > until {
        Some(format!("has expired, at {until}: get a new certificate"))
    } else if now < from {
        Some(format!(
            "is valid from {from} on only: look at this machine's clock, or at the certificate"
        ))
    } else {
        None
    }
}

/// Where systems keep the certificates of well-known authorities.
const COLLECTIONS: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// The system's collection of authorities. An OpenSSL that is built into a program looks where it was built to, which is
/// mostly nowhere. OpenSSL's own variables win.
pub(super) fn authorities(
    variable: impl Fn(&str) -> Option<String>,
    exists: impl Fn(&str) -> bool,
) -> Option<String> {
    let given = variable("SSL_CERT_FILE").or_else(|| variable("SSL_CERT_DIR"));
    let known = COLLECTIONS.iter().map(|path| (*path).to_owned());
    given.into_iter().chain(known).find(|path| exists(path))
}

#[cfg(test)]
mod tests;
