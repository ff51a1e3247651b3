//! What every implementation of the cluster's traits has to do: one set of test bodies, run against each of them.
//!
//! A body is an `async fn(&World)`; it sees the traits only, makes its own topics and groups, and is patient. To
//! add an implementation, write a [`harness::Harness`] for it and one more `conformance!` line.

mod admin;
#[cfg(feature = "kafka")]
#[path = "../broker/mod.rs"]
mod broker;
mod embedded;
mod fencing;
mod groups;
mod harness;
#[cfg(feature = "kafka")]
mod kafka;
mod peer;
mod queues;
mod reading;
mod records;
mod simulated;
mod transactions;

/// One `#[test]` for each body, against one implementation.
macro_rules! conformance {
    ($name:ident, $harness:expr) => {
        conformance!(@ $name, $harness;
            admin: [
                create_describe_delete,
                c21_a_topic_made_again_has_another_id,
                settings_are_described_and_checked,
                bad_names_and_counts_are_refused,
                group_offsets_are_listed_and_set,
                records_are_deleted_by_offset,
                members_are_described,
                making_topics_can_be_tried,
                access_is_told,
            ];
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
                a_returned_partition_has_another_number,
                committed_offsets_and_their_metadata,
                topics_made_after_joining_are_assigned,
            ];
            queues: [
                records_arrive_in_order,
                the_waker_wakes,
                an_old_queue_takes_nothing_from_its_successor,
                seek_earliest_latest_and_back,
                c17_nothing_of_before_a_seek,
                c22_out_of_range_is_an_error,
                c22_a_start_that_moves_before_it_is_read,
                the_known_end_moves,
                the_known_end_wakes,
                an_end_of_before_is_not_known,
                c13_order_holds_across_handovers,
            ];
            reading: [
                watermarks_move,
                an_empty_partition_reads_empty,
                c22_readers_do_not_jump,
                reading_waits_for_records,
                max_is_kept,
                d05_readers_pass_compacted_ranges,
            ];
            records: [
                content_survives,
                b01_null_and_empty_are_two_things,
                b06_headers_keep_order_nulls_and_repeats,
                b07_empty_keys_hash_and_null_keys_spread,
                b19_exactly_the_limit,
                partitions_are_those_of_the_java_client,
                an_explicit_partition_is_taken,
                b22_timestamps_are_kept_and_given,
                flush_says_where_records_are,
                order_within_a_partition,
            ];
            transactions: [
                records_are_seen_when_committed,
                e13_aborted_records_are_passed,
                e01_empty_transactions,
                records_and_offsets_go_together,
                offsets_of_lost_partitions_are_refused,
                b23_a_record_that_fails_poisons_the_transaction,
                e14_init_aborts_and_fences,
                e09_a_transaction_times_out,
                an_undecided_transaction_holds_what_comes_after,
                a_producer_without_an_id_has_no_transactions,
            ];
            fencing: [
                e09_a_replaced_producer_is_told_at_every_step,
                e02_an_abort_after_a_time_out,
                e02_an_abort_of_what_never_left,
                e06_a_time_out_beyond_the_brokers_is_refused,
                init_that_is_asked_for_again_is_the_same,
                offsets_of_a_member_that_has_left_are_refused,
                what_was_committed_is_heard_at_once,
            ];
        );
    };
    (@ $name:ident, $harness:expr; $($module:ident: [$($body:ident,)*];)*) => {
        mod $name {
            $($(
                #[test]
                fn $body() {
                    crate::harness::run($harness, &async |world| crate::$module::$body(world).await);
                }
            )*)*
        }
    };
}

conformance!(embedded_in_real_time, crate::embedded::real());
conformance!(embedded_simulated, crate::embedded::simulated());
#[cfg(feature = "kafka")]
conformance!(kafka_real, crate::kafka::real());

// What does not depend on partitions moving one by one.
#[cfg(feature = "kafka")]
conformance!(@ kafka_classic, crate::kafka::classic();
    groups: [
        one_member_gets_everything,
        two_members_share,
        co_partitions_stay_together,
        leaving_hands_over_at_once,
        c07_five_partitions_three_members,
        c08_more_members_than_partitions,
        committed_offsets_and_their_metadata,
    ];
    admin: [
        members_are_described,
    ];
    queues: [
        records_arrive_in_order,
        the_waker_wakes,
        seek_earliest_latest_and_back,
        c17_nothing_of_before_a_seek,
        the_known_end_moves,
        the_known_end_wakes,
        c13_order_holds_across_handovers,
    ];
    transactions: [
        records_and_offsets_go_together,
    ];
);
