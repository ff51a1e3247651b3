//! What there is to see when nothing goes on: the group, its offsets, and the threads of each process.

use std::process::Command;

use kproc::cluster::{Cluster, kafka::KafkaCluster};

use crate::{count::APP, process::Process};

/// How many lines of each log are shown.
const LINES: usize = 30;

/// Tells it on standard error.
pub(crate) async fn tell(cluster: &KafkaCluster, processes: &[Process]) {
    match cluster.admin() {
        Ok(mut admin) => {
            eprintln!("members: {:#?}", admin.group_members(APP.to_owned()).await);
            eprintln!("offsets: {:#?}", admin.group_offsets(APP.to_owned()).await);
        }
        Err(error) => eprintln!("nothing can be asked: {error}"),
    }
    for process in processes {
        let Some(pid) = process.pid() else { continue };
        eprintln!(
            "process {} ({pid:?}), the end of {}:",
            process.number,
            process.log().display()
        );
        let log = std::fs::read_to_string(process.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(LINES).collect();
        lines.iter().rev().for_each(|line| eprintln!("  {line}"));
        let stacks = Command::new("gdb")
            .args(["--batch", "-ex", "thread apply all backtrace 30", "-p"])
            .arg(pid.as_raw_nonzero().to_string())
            .output();
        match stacks {
            Ok(output) => eprintln!("{}", String::from_utf8_lossy(&output.stdout)),
            Err(error) => eprintln!("its threads cannot be shown, for there is no gdb: {error}"),
        }
    }
}
