//! Holds the goldens in `syntax/` and `types/` to what a good message is. It reads files and compiles nothing; that
//! the compiler says what the goldens say is tested by `ui`.
//!
//! A case marks its mistakes: a comment `//~^` under a line says that the line above it has one, `//~^^` that the line
//! above that has one. Then
//!
//! - each mistake gives one error, whose place is on the marked line, and there is no other error;
//! - no message says a name that only generated code knows, or that it comes from a macro;
//! - nothing is reported as missing that the user did not write.
//!
//! What the compiler does not let us reach is in `exceptions`, case by case, with the reason.

#[path = "goldens/exceptions.rs"]
mod exceptions;

use exceptions::{EXCEPTIONS, Rule};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// What only generated code says.
const INTERNALS: [&str; 4] = [
    "__",
    "in this attribute macro expansion",
    "in this derive macro expansion",
    "this error originates in",
];

/// What the compiler says of names that are not there: a follow-up, if it is not the mistake itself.
const NOT_FOUND: [&str; 6] = ["E0405", "E0412", "E0425", "E0432", "E0433", "cannot find"];

/// A golden, and the case that it belongs to.
struct Case {
    /// `syntax/m13_self_missing`.
    name: String,
    source: String,
    golden: String,
}

/// An error of a golden: its text, and the line that it points at if that is in the case itself.
struct Reported<'a> {
    text: &'a str,
    line: Option<usize>,
}

impl Reported<'_> {
    /// Whether the text has this in it. (Lines that the compiler draws are made of `_`, too.)
    fn says(&self, internal: &str) -> bool {
        let is_drawn =
            |rest: &str| internal == "__" && !rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        let mut found = self.text.match_indices(internal);
        found.any(|(at, word)| !is_drawn(&self.text[at + word.len()..]))
    }
}

impl Case {
    fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for folder in ["syntax", "types"] {
            for path in files(folder, "rs") {
                let name = format!("{folder}/{}", stem(&path));
                let golden = path.with_extension("stderr");
                let golden = fs::read_to_string(&golden).unwrap_or_else(|error| panic!("{name}: {error}"));
                let source = fs::read_to_string(&path).expect("a case can be read");
                cases.push(Self { name, source, golden });
            }
        }
        cases
    }

    /// The lines of the mistakes, as marked, in order.
    fn mistakes(&self) -> Vec<usize> {
        let mark = |(number, line): (usize, &str)| {
            let carets = line.trim_start().strip_prefix("//~")?;
            let up = carets.chars().take_while(|c| *c == '^').count();
            assert!(up > 0, "{}: `//~` without `^` in line {}", self.name, number + 1);
            Some(number + 1 - up)
        };
        let mut lines: Vec<_> = self.source.lines().enumerate().filter_map(mark).collect();
        lines.sort_unstable();
        lines
    }

    fn errors(&self) -> Vec<Reported<'_>> {
        let mut errors = Vec::new();
        let mut rest = self.golden.as_str();
        while !rest.is_empty() {
            let end = rest.find("\n\nerror").map_or(rest.len(), |end| end + 2);
            let (text, after) = rest.split_at(end);
            let place = text
                .lines()
                .find_map(|line| line.trim_start().strip_prefix("--> "));
            let line = place.and_then(|place| {
                let mut parts = place.strip_prefix(&format!("{}.rs:", self.name))?.split(':');
                parts.next()?.parse().ok()
            });
            errors.push(Reported { text, line });
            rest = after;
        }
        errors
    }

    /// The rules that the case breaks, with what breaks them.
    fn faults(&self) -> Vec<(Rule, String)> {
        let mut faults = Vec::new();
        let marked = self.mistakes();
        let errors = self.errors();
        for error in &errors {
            if error.line.is_none() {
                faults.push((Rule::Place, error.text.to_owned()));
            }
            let internal = INTERNALS.iter().find(|word| error.says(word));
            faults.extend(internal.map(|word| (Rule::Words, format!("{word:?} in {}", error.text))));
            if NOT_FOUND.iter().any(|word| error.text.contains(word)) {
                faults.push((Rule::NotFound, error.text.to_owned()));
            }
        }
        let mut reported: Vec<_> = errors.iter().filter_map(|error| error.line).collect();
        reported.sort_unstable();
        if reported != marked || errors.len() != marked.len() {
            let fault = format!("mistakes in lines {marked:?}, errors in lines {reported:?}");
            faults.push((Rule::OnePerMistake, fault));
        }
        faults
    }
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}/: {error}"));
    let mut files: Vec<_> = all
        .map(|file| file.expect("a folder can be read").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .expect("a file has a name")
        .to_string_lossy()
        .into_owned()
}

#[test]
fn each_mistake_is_one_error_at_its_place_in_plain_words() {
    let mut problems = Vec::new();
    let mut excused = BTreeSet::new();
    for case in Case::all() {
        for (rule, fault) in case.faults() {
            if EXCEPTIONS
                .iter()
                .any(|(name, excuse, _)| *name == case.name && *excuse == rule)
            {
                excused.insert((case.name.clone(), rule));
            } else {
                problems.push(format!("{}: {rule:?}: {fault}", case.name));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    for (name, rule, reason) in EXCEPTIONS {
        let used = excused.contains(&((*name).to_owned(), *rule));
        assert!(
            used,
            "{name} needs no exception from {rule:?} any more ({reason})"
        );
    }
}

/// A case says what it is about, and marks something; a golden has a case.
#[test]
fn cases_are_complete() {
    let cases = Case::all();
    for case in &cases {
        assert!(
            case.source.starts_with("//! "),
            "{} does not say what it is about",
            case.name
        );
        assert!(!case.mistakes().is_empty(), "{} marks no mistake", case.name);
        assert!(!case.golden.is_empty(), "{} has an empty golden", case.name);
    }
    for folder in ["syntax", "types"] {
        for golden in files(folder, "stderr") {
            let case = golden.with_extension("rs");
            assert!(case.exists(), "{} has no case", golden.display());
        }
    }
    let right = files("tests/pass", "rs").len() - 1;
    println!(
        "{} cases of mistakes, {right} programs that are right",
        cases.len()
    );
    assert!(cases.len() >= 320, "cases were lost: there are {}", cases.len());
    assert!(right >= 35, "programs were lost: there are {right}");
}

/// The page on scenarios names what there is.
#[test]
fn the_page_names_cases_that_exist() {
    let page = fs::read_to_string("README.md").expect("the page can be read");
    let (_, scenarios) = page
        .split_once("## Where the scenarios are")
        .expect("the page has the table");
    let named: Vec<_> = scenarios
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains('/'))
        .collect();
    assert!(named.len() > 50, "the table was lost: it names {named:?}");
    for name in named {
        let exists = Path::new(name).exists() || Path::new("..").join(name).exists();
        assert!(exists, "{name} is in the table and not there");
    }
}
