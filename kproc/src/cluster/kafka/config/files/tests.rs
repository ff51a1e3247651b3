use std::path::PathBuf;

use super::*;

/// A certificate that is valid from 2026 to 2126.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIUWyw4IAiOWQCoCv/YOH7VezeRVQYwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFa3Byb2MwIBcNMjYxMTI5MjEzNzU1WhgPMjEyNjExMDUyMTM3
NTVaMBAxDjAMBgNVBAMMBWtwcm9jMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
SfK74Jsh6TGT8boJqWu7/ZCNgJjUagXGUjGwxzleqGnpPK5k9hPBisv59fvkeSlV
kNVmVB+Mn2v0igqDZyTst6NTMFEwHQYDVR0OBBYEFB0YpvwLXudcakaZ9YNEn/iX
J+7CMB8GA1UdIwQYMBaAFB0YpvwLXudcakaZ9YNEn/iXJ+7CMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAOAFaDrqZVmmjc76mPRkrLy5U1x6n6Q6
Lc53WAu4g3DWAiA6TjVBV8AzMExHCUT1ID978KLnpwrXOIQgVSUrGlfYhg==
-----END CERTIFICATE-----
";

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }
}

fn block(label: &str) -> String {
    format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n")
}

fn at(year: i16) -> Timestamp {
    let time = jiff::civil::date(year, 1, 1).at(0, 0, 0, 0);
    jiff::tz::TimeZone::UTC.to_timestamp(time).unwrap()
}

fn found(properties: &[(&str, &str)], now: Timestamp) -> String {
    let mut all = Properties::default();
    for (name, value) in properties {
        all.set(*name, *value);
    }
    faults(&all, now).join("\n")
}

#[test]
fn h14_what_is_no_file_or_not_what_it_must_be_is_told_with_its_name() {
    let files = Files::new();
    let good = files.write("good", CERTIFICATE);
    let directory = files.path("").to_str().unwrap().to_owned();
    let missing = files.path("missing").to_str().unwrap().to_owned();
    for name in [
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.crl.location",
    ] {
        for (path, wanted) in [
            (&missing, "cannot be read: No such file"),
            (&files.write("empty", ""), "is an empty file"),
            (&files.write("der", b"\x30\x82\x01\x0a"), "is not in PEM form"),
            (
                &files.write(
                    "bad",
                    "-----BEGIN CERTIFICATE-----\n**\n-----END CERTIFICATE-----\n",
                ),
                "damaged",
            ),
            (
                &files.write("cut", "-----BEGIN CERTIFICATE-----\nAAAA\n"),
                "damaged",
            ),
            (
                &files.write("other", block("DH PARAMETERS")),
                "only `DH PARAMETERS`",
            ),
        ] {
            let text = found(&[(name, path)], at(2030));
            assert!(
                text.contains(wanted) && text.contains(&**path) && text.contains(name),
                "{name}: {text}"
            );
        }
        let text = found(&[(name, &directory)], at(2030));
        assert_eq!(
            text.contains("is a directory"),
            name != "ssl.ca.location",
            "{text}"
        );
    }
    assert_eq!(found(&[("ssl.ca.location", &good)], at(2030)), "");
    assert_eq!(found(&[("ssl.ca.location", "probe")], at(2030)), "");
    let text = found(&[("sasl.kerberos.keytab", &missing)], at(2030));
    assert!(text.contains("`sasl.kerberos.keytab"), "{text}");
}

#[test]
fn h14_a_certificate_that_is_not_valid_now_is_told() {
    let files = Files::new();
    let (certificate, key) = (
        files.write("certificate", CERTIFICATE),
        files.write("key", block("PRIVATE KEY")),
    );
    let pair = [
        ("ssl.certificate.location", &*certificate),
        ("ssl.key.location", &*key),
    ];
    assert_eq!(found(&pair, at(2030)), "");
    assert!(found(&pair, at(2127)).contains("has expired, at 2126-11-05T21:37:55Z"));
    assert!(found(&pair, at(2020)).contains("is valid from 2026-11-29T21:37:55Z on only"));
    let authorities = [("ssl.ca.location", &*certificate)];
    assert!(found(&authorities, at(2127)).contains("has expired"));
    let text = found(&[("ssl.ca.pem", CERTIFICATE)], at(2127));
    assert!(text.starts_with("`ssl.ca.pem` has expired"), "{text}");
    let broken = files.write("broken", block("CERTIFICATE"));
    assert!(found(&[("ssl.ca.location", &broken)], at(2030)).contains("cannot be read: compare"));
    // One that is good is enough.
    let both = files.write("both", format!("{}{CERTIFICATE}", block("CERTIFICATE")));
    assert_eq!(found(&[("ssl.ca.location", &both)], at(2030)), "");
}

#[test]
fn h14_keys_have_the_right_label_their_password_and_their_certificate() {
    let files = Files::new();
    let certificate = files.write("certificate", CERTIFICATE);
    let with_key = |content: &str| {
        let key = files.write("key", content);
        found(
            &[
                ("ssl.certificate.location", &certificate),
                ("ssl.key.location", &key),
            ],
            at(2030),
        )
    };
    assert_eq!(with_key(&block("PRIVATE KEY")), "");
    assert_eq!(
        with_key(&format!("{CERTIFICATE}{}", block("RSA PRIVATE KEY"))),
        ""
    );
    assert!(with_key(&block("ENCRYPTED PRIVATE KEY")).contains("is encrypted: set `ssl.key.password`"));
    let old = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END EC PRIVATE KEY-----\n";
    assert!(with_key(old).contains("is encrypted: set `ssl.key.password`"));
    assert!(with_key(CERTIFICATE).contains("has no private key in it, only `CERTIFICATE`"));
    let encrypted = files.write("key", block("ENCRYPTED PRIVATE KEY"));
    let text = found(
        &[
            ("ssl.certificate.location", &certificate),
            ("ssl.key.location", &encrypted),
            ("ssl.key.password", "x"),
        ],
        at(2030),
    );
    assert_eq!(text, "");
    let key = files.write("key", block("PRIVATE KEY"));
    assert!(found(&[("ssl.key.location", &key)], at(2030)).contains("without its certificate"));
    assert!(found(&[("ssl.certificate.location", &certificate)], at(2030)).contains("without its key"));
}

#[test]
fn h14_key_stores_have_the_form_that_openssl_reads() {
    let files = Files::new();
    let text = |content: &[u8]| {
        found(
            &[("ssl.keystore.location", &files.write("store", content))],
            at(2030),
        )
    };
    assert_eq!(text(b"\x30\x82\x09\x5f"), "");
    assert!(text(b"\xfe\xed\xfe\xed\0\0\0\x02").contains("keytool -importkeystore"));
    assert!(text(block("PRIVATE KEY").as_bytes()).contains("ssl.key.location"));
}

#[test]
fn h03_a_key_in_the_place_of_a_file_is_not_shown() {
    let text = found(&[("ssl.key.location", &block("PRIVATE KEY"))], at(2030));
    assert!(
        text.contains("set `ssl.key.pem`") && !text.contains("AAAA"),
        "{text}"
    );
    let text = found(
        &[("sasl.oauthbearer.assertion.private.key.file", "/hunter2")],
        at(2030),
    );
    assert!(
        text.contains("the file of `sasl.oauthbearer.assertion.private.key.file` cannot be read"),
        "{text}"
    );
}

/// H01: what an OpenSSL that is built in does not find by itself.
#[test]
fn h01_the_systems_authorities_are_found_where_systems_have_them() {
    let none = |_: &str| None;
    assert_eq!(authorities(none, |_| false), None);
    let red_hat = "/etc/pki/tls/certs/ca-bundle.crt";
    assert_eq!(
        authorities(none, |path| path == red_hat).as_deref(),
        Some(red_hat)
    );
    let variable = |name: &str| (name == "SSL_CERT_FILE").then(|| "/mine".to_owned());
    assert_eq!(authorities(variable, |_| true).as_deref(), Some("/mine"));
    assert_eq!(
        authorities(variable, |path| path == red_hat).as_deref(),
        Some(red_hat)
    );
}
