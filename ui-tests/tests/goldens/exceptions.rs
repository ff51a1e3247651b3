//! What a golden may do that no golden should: each with the reason, and none that is not needed.

/// What a good message keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
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
pub(crate) const EXCEPTIONS: &[(&str, Rule, &str)] = &[
    (
        "syntax/main_without_processors",
        Rule::Words,
        "`main!()` has no token to point at, and the compiler names the macro that it has expanded",
    ),
    (
        "types/codec_without_derive",
        Rule::NotFound,
        "without its derive the attribute is not ours, and the compiler says which derive is missing",
    ),
    (
        "types/half_typed",
        Rule::OnePerMistake,
        "the compiler's own parser and type checker go on with a half-written body",
    ),
    (
        "types/handler_without_fn",
        Rule::OnePerMistake,
        "the compiler's own parser says it of the attribute as well as of what follows",
    ),
    (
        "types/m03_struct_unmarked_with_state",
        Rule::OnePerMistake,
        "the compiler lets no attribute macro stand on a field, and the two halves do not see each other",
    ),
    (
        "types/m12_static_behind_an_alias",
        Rule::Words,
        "only the borrow checker sees through an alias, and it names the local that the record is in",
    ),
    (
        "types/mark_misspelt_on_a_field",
        Rule::NotFound,
        "the name that is not found is the mistake",
    ),
    (
        "types/mark_misspelt_on_a_method",
        Rule::NotFound,
        "the name that is not found is the mistake",
    ),
    (
        "types/processor_assigned",
        Rule::OnePerMistake,
        "the compiler refuses the form, and expands the macro as if it had parentheses",
    ),
    (
        "types/store_entry_of_a_borrowed_value",
        Rule::OnePerMistake,
        "the compiler checks the type of the result as well as the method",
    ),
    (
        "types/topic_unknown",
        Rule::NotFound,
        "the name that is not found is the mistake",
    ),
];
