//! What goes wrong in stores, told to the person who has to mend it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::codec::{DecodeError, EncodeError};

/// A store call that failed. The store is as it was before the call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store was used outside a task.
    #[error(
        "this {kind} is not open: stores can be used from `#[on_start]` on, and only in fields marked `#[state]`"
    )]
    Detached {
        /// What it is: `table`.
        kind: &'static str,
    },
    /// The key cannot be stored.
    #[error("store `{store}`: a key has 1 to {limit} bytes when encoded, this one has {length}")]
    KeySize {
        /// Name of the store.
        store: String,
        /// Length of the encoded key, in bytes.
        length: usize,
        /// The largest possible key, in bytes.
        limit: usize,
    },
    /// The value cannot be stored.
    #[error("store `{store}`: a value has at most {limit} bytes when encoded, this one has {length}")]
    ValueSize {
        /// Name of the store.
        store: String,
        /// Length of the encoded value, in bytes.
        length: usize,
        /// The largest possible value, in bytes.
        limit: usize,
    },
    /// The entry cannot be written to the store's changelog.
    #[error(
        "store `{store}`: the changelog takes keys and values of {limit} bytes together, and these have {length} when \
         encoded: keep less under one key, or raise the changelog topic's setting `max.message.bytes`"
    )]
    ChangelogSize {
        /// Name of the store.
        store: String,
        /// Length of the encoded key and value, in bytes.
        length: usize,
        /// What the changelog takes, in bytes.
        limit: usize,
    },
    /// A stored key or value is not what the store's types say.
    #[error("store `{store}`: {error}")]
    Decode {
        /// Name of the store.
        store: String,
        /// What is wrong with the bytes.
        error: DecodeError,
    },
    /// A key or value cannot be written.
    #[error("store `{store}`: {error}")]
    Encode {
        /// Name of the store.
        store: String,
        /// What is wrong with the value.
        error: EncodeError,
    },
    /// A stored value is damaged. Needs the option `checksum`; without it such damage goes unseen.
    #[error(
        "store `{store}`, key {key}: {what}; the disk or the memory is faulty; the state is rebuilt from its changelog when it is opened next"
    )]
    Corrupt {
        /// Name of the store.
        store: String,
        /// The encoded key, in hexadecimal.
        key: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The state's file is damaged.
    #[error(
        "state in {path} is damaged: {what}; the disk or the memory is faulty; the state is rebuilt from its changelog when it is opened next"
    )]
    Damaged {
        /// The environment's directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The state has outgrown the largest map allowed.
    #[error(
        "state in {path} is full: it has grown to the limit of {limit} bytes (`max_map_size`); nothing was lost, raise the limit and start again"
    )]
    MapFull {
        /// The environment's directory.
        path: PathBuf,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The disk is full.
    #[error(
        "the disk is full: {path} has {free} bytes free; nothing was lost, the write is repeated once there is room"
    )]
    DiskFull {
        /// The environment's directory.
        path: PathBuf,
        /// Bytes free on its file system.
        free: u64,
    },
    /// LMDB or the file system failed.
    #[error("state in {path}: {what}")]
    Io {
        /// The environment's directory.
        path: PathBuf,
        /// What failed, and why.
        what: String,
    },
}

/// A state directory that cannot be opened and that must not be touched.
///
/// Damage that a rebuild from the changelog repairs is not an error but a [`Condition`](crate::Condition).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Someone else has it open.
    #[error(
        "state directory {path} is in use by another process or another task of this one ({holder}); one writer at a time: stop it, or choose another state directory"
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// What is known of the holder.
        holder: String,
    },
    /// Written by a newer kproc.
    #[error(
        "state in {path} has format {found}, and this program knows formats up to {known}: run the newer program, or remove the directory to rebuild the state from its changelog"
    )]
    NewerFormat {
        /// The directory.
        path: PathBuf,
        /// The format found.
        found: u32,
        /// The newest format known.
        known: u32,
    },
    /// The store exists with other types.
    #[error(
        "store `{store}` in {path} holds {found}, and the program declares {declared}: keep the types, or give the store another name (it then begins empty)"
    )]
    Types {
        /// Name of the store.
        store: String,
        /// The directory.
        path: PathBuf,
        /// The types on disk.
        found: String,
        /// The types declared.
        declared: String,
    },
    /// The state is damaged. Told to those who only look; an application that opens it rebuilds it.
    #[error(
        "state in {path} is damaged: {what}; an application that opens it rebuilds it from its changelog"
    )]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file system cannot hold LMDB.
    #[error("state directory {path} is on a {kind} file system, on which LMDB is not safe: use a local disk")]
    NetworkFileSystem {
        /// The directory.
        path: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },
    /// The file system or LMDB failed.
    #[error("state directory {path}: {what}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// What failed, and why.
        what: String,
    },
}

impl StoreError {
    #[cold]
    pub(crate) fn decode(store: &str, error: DecodeError) -> Self {
        Self::Decode {
            store: store.to_owned(),
            error,
        }
    }

    #[cold]
    pub(crate) fn encode(store: &str, error: EncodeError) -> Self {
        Self::Encode {
            store: store.to_owned(),
            error,
        }
    }

    #[cold]
    pub(crate) fn corrupt(store: &str, key: &[u8], what: &'static str) -> Self {
        use fmt::Write;
        let mut hex = String::with_capacity(key.len() * 2);
        for byte in key {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        Self::Corrupt {
            store: store.to_owned(),
            key: hex,
            what,
        }
    }

    #[cold]
    pub(crate) fn io(path: &Path, what: impl Into<String>) -> Self {
        Self::Io {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    #[cold]
    pub(crate) fn lmdb(path: &Path, doing: &str, error: &heed::Error) -> Self {
        match crate::environment::damage(error) {
            Some(what) => Self::Damaged {
                path: path.to_owned(),
                what,
            },
            None => Self::io(path, format!("{doing}: {error}")),
        }
    }
}

impl OpenError {
    #[cold]
    pub(crate) fn io(path: &Path, doing: &str, error: &dyn fmt::Display) -> Self {
        Self::Io {
            path: path.to_owned(),
            what: format!("{doing}: {error}"),
        }
    }

    #[cold]
    pub(crate) fn lmdb(path: &Path, error: &heed::Error) -> Self {
        match error {
            heed::Error::EnvAlreadyOpened => Self::InUse {
                path: path.to_owned(),
                holder: "this process".into(),
            },
            error => Self::io(path, "LMDB", error),
        }
    }
}
