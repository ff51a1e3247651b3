//! What instances tell each other of themselves: marks of what they read, process and keep, in their client id.
//!
//! Its form: `<application>.kproc1.i<marks>.p<marks>.s<marks>`, of inputs, processors and stores. Of many there is one
//! mark of all together, after a capital letter. All characters are allowed in names of metrics and quotas.

use std::fmt;

use crate::{mark::Mark, topology::Topology};

/// Version of the form. Whoever writes another one cannot be compared.
const VERSION: &str = "kproc1";

/// More than so many get one mark together: client ids are kept for each request in the brokers' logs and metrics.
const MOST: usize = 12;

/// What is compared: a letter, and what it is called.
const KINDS: [(char, &str, &str); 3] = [
    ('i', "input", "inputs"),
    ('p', "processor", "processors"),
    ('s', "store", "stores"),
];

/// What an application is, as far as its instances must agree.
pub(super) struct Fingerprint {
    app: String,
    /// For each kind: names, with what else counts.
    parts: [Vec<Part>; 3],
}

/// One input, processor or store.
struct Part {
    /// What it is called.
    name: String,
    mark: Mark,
}

impl Part {
    fn new(name: String, rest: &[&str]) -> Self {
        // No name has a line's end in it.
        let mark = Mark::of(&format!("{name}\n{}", rest.join("\n")));
        Self { name, mark }
    }
}

impl Fingerprint {
    pub(super) fn of(topology: &Topology) -> Self {
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        let [inputs, processors, stores] = &mut parts;
        inputs.extend(topology.inputs().map(|input| Part::new(input.to_string(), &[])));
        for (number, processor) in topology.processors.iter().enumerate() {
            let mut reads: Vec<_> = processor
                .inputs
                .iter()
                .map(|input| topology.bound(&input.topic.name))
                .collect();
            reads.sort();
            let reads: Vec<&str> = reads.iter().map(|name| &**name).collect();
            processors.push(Part::new(processor.name.to_string(), &reads));
            for (store, (spec, options)) in processor.stores.iter().enumerate() {
                let changelog = options.changelog.then(|| topology.changelog(number, store));
                let rest = [
                    spec.kind,
                    &spec.key,
                    &spec.value,
                    changelog.as_deref().unwrap_or(""),
                ];
                stores.push(Part::new(format!("{}/{}", processor.name, spec.name), &rest));
            }
        }
        for parts in &mut parts {
            parts.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Self {
            app: topology.app.to_string(),
            parts,
        }
    }

    /// In what a member that calls itself so differs from us; `None`: in nothing.
    pub(super) fn difference(&self, client_id: &str) -> Option<String> {
        if client_id == self.to_string() {
            return None;
        }
        let sections = client_id
            .strip_prefix(&*self.app)
            .and_then(|rest| rest.strip_prefix('.')?.strip_prefix(VERSION)?.strip_prefix('.'));
        let sections: Vec<&str> = sections.map(|rest| rest.split('.').collect()).unwrap_or_default();
        if sections.len() != KINDS.len() {
            return Some(format!(
                "it calls itself `{client_id}`, and so is no instance of this version of kproc"
            ));
        }
        let mut differences = Vec::new();
        for (((letter, one, many), parts), theirs) in KINDS.iter().zip(&self.parts).zip(sections) {
            if theirs == section(*letter, parts) {
                continue;
            }
            let marks = theirs.strip_prefix(*letter).and_then(Mark::all_in);
            let Some(marks) = marks.filter(|_| parts.len() <= MOST) else {
                differences.push(format!("it has other {many}"));
                continue;
            };
            let lacking = parts.iter().filter(|part| !marks.contains(&part.mark));
            let lacking: Vec<_> = lacking.map(|part| format!("`{}`", part.name)).collect();
            let unknown = marks
                .iter()
                .filter(|mark| parts.iter().all(|part| part.mark != **mark))
                .count();
            if !lacking.is_empty() {
                let called = if lacking.len() == 1 { one } else { many };
                differences.push(format!(
                    "it does not have the {called} {}, as it is here",
                    lacking.join(", ")
                ));
            }
            match unknown {
                0 => {}
                1 => differences.push(format!("it has 1 {one} that is not here")),
                more => differences.push(format!("it has {more} {many} that are not here")),
            }
        }
        Some(differences.join("; "))
    }
}

/// The marks of one kind.
fn section(letter: char, parts: &[Part]) -> String {
    let marks: String = parts.iter().map(|part| part.mark.to_string()).collect();
    if parts.len() > MOST {
        format!("{}{}", letter.to_ascii_uppercase(), Mark::of(&marks))
    } else {
        format!("{letter}{marks}")
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{VERSION}", self.app)?;
        KINDS
            .iter()
            .zip(&self.parts)
            .try_for_each(|((letter, ..), parts)| write!(f, ".{}", section(*letter, parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(app: &str, parts: [&[&str]; 3]) -> Fingerprint {
        let parts = parts.map(|names| {
            let part = |name: &&str| Part::new((*name).to_owned(), &[]);
            names.iter().map(part).collect()
        });
        Fingerprint {
            app: app.into(),
            parts,
        }
    }

    #[test]
    fn what_differs_is_named() {
        let own = print("a.b", [&["words"], &["count"], &["count/totals", "count/latest"]]);
        let difference = |parts| own.difference(&print("a.b", parts).to_string());
        assert_eq!(
            difference([&["words"], &["count"], &["count/totals", "count/latest"]]),
            None
        );
        assert_eq!(
            difference([&["words"], &["count", "other"], &["count/totals"]]).unwrap(),
            "it has 1 processor that is not here; it does not have the store `count/latest`, as it is here"
        );
        assert_eq!(
            difference([&["x", "y"], &["count"], &["count/totals", "count/latest"]]).unwrap(),
            "it does not have the input `words`, as it is here; it has 2 inputs that are not here"
        );
    }

    #[test]
    fn strangers_are_named_as_they_are() {
        let own = print("app", [&["words"], &["count"], &[]]);
        for stranger in [
            "app",
            "console-consumer",
            "app.kproc2.i.p.s",
            "app.kproc1.i.p",
            "",
        ] {
            let difference = own.difference(stranger).unwrap();
            assert!(difference.contains(&format!("`{stranger}`")), "{difference}");
        }
        assert_eq!(
            own.difference("app.kproc1.xx.i.\u{e4}"),
            Some("it has other inputs; it has other processors; it has other stores".into())
        );
    }

    #[test]
    fn many_things_fit_into_few_characters() {
        let names: Vec<String> = (0..100).map(|number| format!("store{number}")).collect();
        let many: Vec<&str> = names.iter().map(|name| &**name).collect();
        let own = print("app", [&["words"], &["count"], &many]);
        assert!(own.to_string().len() < 40, "{own}");
        assert_eq!(own.difference(&own.to_string()), None);
        let other = print("app", [&["words"], &["count"], &many[1..]]);
        assert_eq!(own.difference(&other.to_string()).unwrap(), "it has other stores");
        let few = print("app", [&["words"], &["count"], &["store1"]]);
        assert_eq!(few.difference(&own.to_string()).unwrap(), "it has other stores");
    }
}
