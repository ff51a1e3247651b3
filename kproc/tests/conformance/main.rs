//! What every implementation of the cluster's traits has to do: one set of test bodies, run against each of them.
//!
//! A body is an `async fn(&World)`; it sees the traits only, makes its own topics and groups, and is patient. To
//! add an implementation, write a [`harness::Harness`] for it and one more `conformance!` line.

mod embedded;
mod groups;
mod harness;
mod peer;

/// One `#[test]` for each body, against one implementation.
macro_rules! conformance {
    ($name:ident, $harness:expr) => {
        conformance!(@ $name, $harness;
            groups: [
                one_member_gets_everything,
                two_members_share,
                co_partitions_stay_together,
                incremental_revoke_leaves_the_others_running,
                a_token_holds_the_partition,
                a_late_token_loses_the_partition,
                leaving_hands_over_at_once,
                a_dead_member_times_out,
                c07_five_partitions_three_members,
                c08_more_members_than_partitions,
                c14_commits_of_lost_partitions_are_refused_whole,
                committed_offsets_and_their_metadata,
                topics_made_after_joining_are_assigned,
            ];
        );
    };
    (@ $name:ident, $harness:expr; $($module:ident: [$($body:ident,)*];)*) => {
        mod $name {
            $($(
                #[test]
                fn $body() {
                    crate::harness::run($harness, async |world| crate::$module::$body(world).await);
                }
            )*)*
        }
    };
}

conformance!(embedded_at_once, crate::embedded::at_once());
conformance!(embedded_with_latency, crate::embedded::with_latency());
