//! Settings: one table of them, and the places they come from.
//!
//! Each setting is one row of the table in `table.rs`: name, type, default, what it means. Its flag
//! (`--commit-interval`), its variable (`KPROC_COMMIT_INTERVAL`), its key in a TOML file (`commit_interval`) and
//! its line in `--help` all come from that row. Where a setting has several values, a flag wins over a
//! variable, a variable over the file, and the file over the program.
//!
//! What may be here: settings and their text. Nothing here acts on a setting.

mod error;
mod layers;
mod properties;
mod table;
mod value;

pub use error::{ConfigError, ConfigProblem};
pub use properties::Properties;
pub use table::{LogFormat, Processing, Settings};
pub use value::{Size, parse_duration};

pub(crate) use layers::{Layers, Origin, did_you_mean, nearest};
pub(crate) use properties::WithoutCredentials;
#[cfg(feature = "kafka")]
pub(crate) use properties::is_secret;
pub(crate) use table::{Setting, TABLE};
