//! Lists of partitions with offsets.

use std::ptr::NonNull;

use rdkafka_sys as sys;

use super::{
    error::{Code, NativeError},
    owned, text,
};
use crate::{
    cluster::Result,
    record::{Partition, TopicPartition},
};

/// A list of partitions that is ours.
pub(in super::super) struct PartitionList(NonNull<sys::rd_kafka_topic_partition_list_t>);

// SAFETY: the list is plain data, used by whoever owns it.
unsafe impl Send for PartitionList {}

/// An entry of a list, copied.
#[derive(Debug, Clone)]
pub(in super::super) struct Entry {
    pub(in super::super) partition: TopicPartition,
    /// As librdkafka has it; negative ones have meanings of their own.
    pub(in super::super) offset: i64,
    pub(in super::super) metadata: String,
    pub(in super::super) error: Option<NativeError>,
}

impl PartitionList {
    /// Offset "the first record".
    pub(in super::super) const BEGINNING: i64 = sys::RD_KAFKA_OFFSET_BEGINNING as i64;
    /// Offset "after the last record".
    pub(in super::super) const END: i64 = sys::RD_KAFKA_OFFSET_END as i64;

    /// A list of nothing.
    pub(in super::super) fn new() -> Self {
        // SAFETY: no conditions.
        let list = NonNull::new(unsafe { sys::rd_kafka_topic_partition_list_new(8) });
        Self(list.expect("librdkafka ends the process when it is out of memory"))
    }

    /// A list of these places.
    pub(in super::super) fn of<'p>(
        places: impl IntoIterator<Item = (&'p TopicPartition, i64)>,
    ) -> Result<Self> {
        let mut list = Self::new();
        for (place, offset) in places {
            list.add(place, offset, "")?;
        }
        Ok(list)
    }

    /// Adds a place.
    pub(in super::super) fn add(
        &mut self,
        place: &TopicPartition,
        offset: i64,
        metadata: &str,
    ) -> Result<()> {
        let topic = text(&place.topic)?;
        // SAFETY: the list is alive; what `add` returns is an entry of it, valid until the next call. librdkafka
        // frees the metadata with the list, by `free`: so they are allocated by `malloc`, here by `strdup`'s kin.
        unsafe {
            let entry = sys::rd_kafka_topic_partition_list_add(
                self.ptr(),
                topic.as_ptr(),
                place.partition.get() as i32,
            );
            (*entry).offset = offset;
            if !metadata.is_empty() {
                let copy = rdkafka_malloc(metadata.len());
                if !copy.is_null() {
                    std::ptr::copy_nonoverlapping(metadata.as_ptr(), copy.cast::<u8>(), metadata.len());
                    (*entry).metadata = copy;
                    (*entry).metadata_size = metadata.len();
                }
            }
        }
        Ok(())
    }

    pub(super) fn ptr(&self) -> *mut sys::rd_kafka_topic_partition_list_t {
        self.0.as_ptr()
    }

    /// The entries.
    pub(in super::super) fn entries(&self) -> Vec<Entry> {
        // SAFETY: the list is alive.
        unsafe { entries(self.ptr()) }
    }

    /// Sets all offsets.
    pub(in super::super) fn set_offsets(&mut self, offset: i64) {
        // SAFETY: the list is alive, has as many entries as it says, and is ours alone.
        unsafe {
            for place in 0..usize::try_from((*self.ptr()).cnt).unwrap_or(0) {
                (*(*self.ptr()).elems.add(place)).offset = offset;
            }
        }
    }

    /// A copy of a list.
    ///
    /// # Safety
    /// `list` is a list that lives.
    pub(super) unsafe fn copy_of(list: *const sys::rd_kafka_topic_partition_list_t) -> Self {
        // SAFETY: by the caller's promise.
        let copy = NonNull::new(unsafe { sys::rd_kafka_topic_partition_list_copy(list) });
        Self(copy.expect("librdkafka ends the process when it is out of memory"))
    }
}

impl Drop for PartitionList {
    fn drop(&mut self) {
        // SAFETY: the list is ours.
        unsafe { sys::rd_kafka_topic_partition_list_destroy(self.ptr()) };
    }
}

/// Memory that librdkafka can free.
fn rdkafka_malloc(size: usize) -> *mut std::ffi::c_void {
    // SAFETY: the client may be null; the memory comes from the C library.
    unsafe { sys::rd_kafka_mem_malloc(std::ptr::null_mut(), size) }
}

/// The entries of a list, copied.
///
/// # Safety
/// `list` is null or a list that lives.
pub(super) unsafe fn entries(list: *const sys::rd_kafka_topic_partition_list_t) -> Vec<Entry> {
    // SAFETY: by the caller's promise; an empty list may have no elements at all.
    unsafe {
        if list.is_null() || (*list).elems.is_null() {
            return Vec::new();
        }
        let entries = std::slice::from_raw_parts((*list).elems, usize::try_from((*list).cnt).unwrap_or(0));
        entries.iter().map(|entry| copied(entry)).collect()
    }
}

/// # Safety
/// `entry` is an entry of a list that lives.
pub(super) unsafe fn copied(entry: &sys::rd_kafka_topic_partition_t) -> Entry {
    let metadata = if entry.metadata.is_null() {
        String::new()
    } else {
        // SAFETY: librdkafka says how long the metadata are.
        let bytes = unsafe { std::slice::from_raw_parts(entry.metadata.cast::<u8>(), entry.metadata_size) };
        String::from_utf8_lossy(bytes).into_owned()
    };
    // SAFETY: topics are texts that end with zero.
    let topic = unsafe { owned(entry.topic) };
    Entry {
        partition: TopicPartition::new(topic, Partition::new(entry.partition.max(0) as u32)),
        offset: entry.offset,
        metadata,
        error: (entry.err != Code::RD_KAFKA_RESP_ERR_NO_ERROR).then(|| NativeError::of(entry.err)),
    }
}
