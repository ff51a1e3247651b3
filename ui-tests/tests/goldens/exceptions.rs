//! What a golden may do that no golden should: each with the reason, and none that is not needed.

/// What a good message keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Each mistake is one error on its own line.
    OnePerMistake,
    /// Errors point into the user's code.
    Place,
    /// No word of generated code.
    Words,
    /// Nothing that the user named is reported as not found.
    NotFound,
}

/// The case, the rule that it breaks, and why that cannot be helped.
pub const EXCEPTIONS: &[(&str, Rule, &str)] = &[
    (
        "syntax/main_without_processors",
        Rule::Words,
        "`main!()` has no token to point at, and the compiler names the macro that it has expanded",
    ),
    (
        "types/half_typed",
        Rule::OnePerMistake,
        "the compiler's own parser and type checker go on with a half-written body",
    ),
    (
        "types/m03_struct_unmarked_with_state",
        Rule::OnePerMistake,
        "the compiler lets no attribute macro stand on a field, and the two halves do not see each other",
    ),
    (
        "types/mark_misspelt",
        Rule::NotFound,
        "the name that is not found is the mistake",
    ),
    (
        "types/topic_unknown",
        Rule::NotFound,
        "the name that is not found is the mistake",
    ),
];
