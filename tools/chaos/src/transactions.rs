//! How many transactions there were, from the broker's own log of them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::broker;

/// What became of transactions.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transactions {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    /// How many ids there were: one for each worker of each process, and new ones whenever a state directory was lost.
    pub(crate) ids: usize,
}

/// Reads the log in the broker's directory, with Kafka's own tool.
pub(crate) fn count(directory: &Path) -> Result<Transactions, String> {
    let data = fs::read_dir(directory.join("data")).map_err(|error| error.to_string())?;
    let mut segments: Vec<PathBuf> = Vec::new();
    for partition in data.flatten() {
        if partition
            .file_name()
            .to_string_lossy()
            .starts_with("__transaction_state-")
        {
            let files = fs::read_dir(partition.path()).map_err(|error| error.to_string())?;
            let files = files.flatten().map(|file| file.path());
            segments
                .extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "log")));
        }
    }
    let segments: Vec<_> = segments.iter().map(|segment| segment.to_string_lossy()).collect();
    let output = Command::new("java")
        .args(["-XX:TieredStopAtLevel=1", "-cp"])
        .arg(broker::tools()?.join("target/libs/*"))
        .args([
            "org.apache.kafka.tools.DumpLogSegments",
            "--transaction-log-decoder",
            "--files",
        ])
        .arg(segments.join(","))
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

/// Each transaction comes to one of two ends, and a record of the log says to which.
fn read(dump: &str) -> Transactions {
    let mut transactions = Transactions::default();
    let mut ids = BTreeSet::new();
    for line in dump.lines() {
        let Some(id) = after(line, "\"transactionalId\":\"") else {
            continue;
        };
        ids.insert(id);
        match after(line, "\"transactionStatus\":\"") {
            Some("CompleteCommit") => transactions.committed += 1,
            Some("CompleteAbort") => transactions.aborted += 1,
            _ => {}
        }
    }
    transactions.ids = ids.len();
    transactions
}

fn after<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    line.split_once(name)?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_transactions_are_counted() {
        let record = |id: &str, status: &str| {
            format!(
                "| offset: 4 key: {{\"type\":\"0\",\"data\":{{\"transactionalId\":\"{id}\"}}}} payload: \
                 {{\"data\":{{\"producerId\":3,\"transactionStatus\":\"{status}\",\"transactionPartitions\":[]}}}}\n"
            )
        };
        let dump = [
            "Dumping 00000000000000000000.log\n".to_owned(),
            record("a", "Empty"),
            record("a", "Ongoing"),
            record("a", "PrepareCommit"),
            record("a", "CompleteCommit"),
            record("b", "PrepareAbort"),
            record("b", "CompleteAbort"),
            record("a", "CompleteCommit"),
        ];
        let wanted = Transactions {
            committed: 2,
            aborted: 1,
            ids: 2,
        };
        assert_eq!(read(&dump.concat()), wanted);
    }
}
