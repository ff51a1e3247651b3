//! Names of topics that are given from outside: is there such a topic?
//!
//! Outputs need not be declared, so an unknown name may be right: that shows at the end of a run. One that is a
//! slip of the fingers away from a known name is refused before.

use super::failure::Failure;
use crate::{
    app::App,
    config::{Settings, did_you_mean, nearest},
    topology::Topology,
};

/// So many letters may be wrong, missing or swapped in a slip of the fingers.
const SLIPS: usize = 2;

/// The known name that was meant, if this one looks mistyped.
pub(crate) fn mistyped<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    nearest(name, known).filter(|near| strsim::damerau_levenshtein(name, near) <= SLIPS)
}

/// The application's topology, unless these settings bind a topic whose name is mistyped.
pub(crate) fn topology(app: &App, settings: &Settings) -> Result<Topology, Failure> {
    let topology = app.topology(settings).map_err(Failure::usage)?;
    let known = topology.declared_topics();
    for (name, bound) in unknown(app, settings, &topology) {
        if let Some(near) = mistyped(name, known.keys().map(|name| &**name)) {
            return Err(Failure::usage(format!(
                "topic `{name}` is bound to `{bound}`, and no processor declares a topic `{name}`{} (An output that \
                 is really called so is declared by `sends(…)`.)",
                did_you_mean(Some(near))
            )));
        }
    }
    Ok(topology)
}

/// Tells of bindings that nothing is known of, where nothing runs that could show whether they are used.
pub(crate) fn warn_of_unknown(app: &App, settings: &Settings, topology: &Topology) {
    for (name, bound) in unknown(app, settings, topology) {
        tracing::warn!(
            "topic `{name}` is bound to `{bound}`, and no processor declares a topic `{name}`: outputs are declared \
             by `sends(…)`"
        );
    }
}

/// Tells of bindings that a run had no use for.
pub(crate) fn warn_of_unused(settings: &Settings, topology: &Topology) {
    let used = topology.used_topics();
    let unused = |(name, _): &(&String, &String)| !used.contains_key(name.as_str());
    for (name, bound) in settings.topics.iter().filter(unused) {
        let near = did_you_mean(nearest(name, used.keys().map(|name| &**name)));
        tracing::warn!("topic `{name}` is bound to `{bound}`, and was neither read nor sent to{near}");
    }
}

/// Bindings of topics that no processor declares. What the program itself binds, it knows.
fn unknown<'s>(
    app: &'s App,
    settings: &'s Settings,
    topology: &Topology,
) -> impl Iterator<Item = (&'s String, &'s String)> {
    let declared = topology.declared_topics();
    let own = &app.settings.topics;
    let bindings = settings.topics.iter();
    bindings.filter(move |(name, _)| !declared.contains_key(name.as_str()) && !own.contains_key(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_name() {
        let known = ["lines", "words", "orders-eu-west"];
        for (name, meant) in [
            ("lnes", Some("lines")),
            ("word", Some("words")),
            ("orders-eu-wset", Some("orders-eu-west")),
            ("orders-us-east", None),
            ("counts", None),
            ("l", None),
        ] {
            assert_eq!(mistyped(name, known), meant, "{name}");
        }
    }
}
