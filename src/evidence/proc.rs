//! Evidence from `/proc`: what the first thread is doing, and what waits in the accept queues of the container's network.
//!
//! Small reads of files that the kernel makes up; none of them can hang on the process they are about.

use super::port::EvidenceReader;
use crate::{docker::port::Pending, domain::name::Instance};
use std::{fs, io::Read, path::Path};

/// A table of sockets is read to at most so many bytes: some 20,000 connections.
const TABLE_BYTES: u64 = 3 * 1024 * 1024;

/// A message has room for so many queues.
const MOST_QUEUES: usize = 4;

/// State `LISTEN` in the kernel's table.
const LISTEN: &str = "0A";

/// Reads `/proc` of this host.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcReader;

impl EvidenceReader for ProcReader {
    fn gather(&self, _: Instance, pid: Option<u32>) -> Pending<'_, Vec<String>> {
        Box::pin(async move {
            let Some(pid) = pid else {
                return Vec::new();
            };
            let process = Path::new("/proc").join(pid.to_string());
            let mut findings = Vec::new();
            findings.extend(first_thread(&process));
            findings.extend(full_queues(&process));
            findings
        })
    }
}

/// What the process's first thread is doing, by the kernel's words.
fn first_thread(process: &Path) -> Option<String> {
    let state = fs::read_to_string(process.join("status")).ok()?;
    let state = state.lines().find_map(|line| line.strip_prefix("State:"))?.trim();
    let waits_in = fs::read_to_string(process.join("wchan"))
        .ok()
        .filter(|name| !name.is_empty() && name != "0");
    let name = fs::read_to_string(process.join("comm")).ok()?;
    let place =
        waits_in.map(|place| format!(", waiting in the kernel's {place}")).unwrap_or_default();
    Some(format!("first process `{}`: state {state}{place}", name.trim()))
}

/// Listening sockets on which connections wait to be accepted.
fn full_queues(process: &Path) -> Vec<String> {
    let tables =
        ["net/tcp", "net/tcp6"].map(|table| read_bounded(&process.join(table)).unwrap_or_default());
    let rows = tables.iter().flat_map(|table| table.lines().skip(1));
    rows.filter_map(waiting_connections)
        .take(MOST_QUEUES)
        .map(|(port, waiting)| format!("port {port}: {waiting} connections wait to be accepted"))
        .collect()
}

/// A row's port and queue, where it listens and something waits.
fn waiting_connections(row: &str) -> Option<(u16, u32)> {
    let mut fields = row.split_ascii_whitespace().skip(1);
    let (local, _, state, queues) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    let waiting = u32::from_str_radix(queues.split_once(':')?.1, 16).ok()?;
    (state == LISTEN && waiting > 0).then_some((port, waiting))
}

fn read_bounded(path: &Path) -> Option<String> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(TABLE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_with_a_queue_are_told_of() {
        let row = "   0: 0100007F:1F90 00000000:0000 0A 00000000:000001FE 00:00000000 00000000     0        0 1 1";
        assert_eq!(waiting_connections(row), Some((8080, 510)));
        assert_eq!(waiting_connections(&row.replace("000001FE", "00000000")), None);
        assert_eq!(waiting_connections(&row.replace(" 0A ", " 01 ")), None);
        assert_eq!(waiting_connections("garbage"), None);
    }

    #[test]
    fn this_very_process_can_be_read() {
        let found = first_thread(Path::new("/proc/self")).unwrap();
        assert!(found.contains("state "), "{found}");
    }
}
