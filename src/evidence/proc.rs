//! Evidence from `/proc`: what the first thread is doing, and what waits in the accept queues of the container's network.
//!
//! Small reads of files that the kernel makes up, beside everything else, on a thread that may wait.
//!
//! A process's number comes from an inspection and may be another's by now: the container ended, and the kernel gave the
//! number away. A stranger's state in a page sends whoever reads it the wrong way. So findings are told only where the
//! number's cgroup names the container, before and after they were read, and where it is the same process both times, by its
//! start. Where cgroups do not name it (none at all, a parent of another's making, numbers of another PID namespace because we
//! run in a container without the host's), nothing is told.
//!
//! A table of sockets is read no further than needed. The kernel makes it up row by row: first what listens, then by a walk
//! through the table of all connections of the whole host, which takes it 2 to 10 ms even where there are none. That is
//! longer than everything else between a verdict and a restart, so it is read until the first row that does not listen, or
//! until as many rows as the network has sockets by the kernel's count.

use super::port::EvidenceReader;
use crate::{
    domain::name::{ContainerId, Instance},
    redact, tasks,
    tasks::Pending,
};
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
};

/// So many listening sockets are looked at in each table: more than any service has.
const MOST_ROWS: usize = 256;

/// So much is read of a file that says whose a process is: cgroups of the first version have some 13 lines of some 100 bytes.
const MOST_BYTES: u64 = 16 * 1024;

/// A message has room for so many queues; of more it says how many.
const MOST_QUEUES: usize = 4;

/// State `LISTEN` in the kernel's table.
const LISTEN: &str = "0A";

/// Reads `/proc` of this host.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcReader;

impl EvidenceReader for ProcReader {
    fn gather(&self, instance: Instance, pid: Option<u32>) -> Pending<'_, Vec<String>> {
        Box::pin(async move {
            let Some(pid) = pid else {
                return Vec::new();
            };
            // The kernel may keep a reader waiting for the process's own locks: nothing else may wait with it.
            let read = tasks::blocking(move || {
                let process = Path::new("/proc").join(pid.to_string());
                while_it_is_of(&instance.container, &process, || {
                    first_thread(&process).into_iter().chain(full_queues(&process)).collect()
                })
            });
            read.await.unwrap_or_else(|| vec!["the evidence could not be read".to_owned()])
        })
    }
}

/// What `read` finds, where the process is one of `container`'s, and the same one, before and after.
fn while_it_is_of(
    container: &ContainerId,
    process: &Path,
    read: impl FnOnce() -> Vec<String>,
) -> Vec<String> {
    let Some(before) = start_of_one_of(container, process) else {
        return Vec::new();
    };
    let found = read();
    if start_of_one_of(container, process) == Some(before) { found } else { Vec::new() }
}

/// When the process started, in the kernel's ticks since boot, where its cgroup names `container`.
fn start_of_one_of(container: &ContainerId, process: &Path) -> Option<u64> {
    let cgroups = beginning(&process.join("cgroup"))?;
    if !names(&cgroups, container) {
        return None;
    }
    let stat = beginning(&process.join("stat"))?;
    // Its own name stands in parentheses and may hold any byte; the 20th field after it is the start.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Whether one of the cgroups is called after the container: `/docker/ID`, `docker-ID.scope`, `libpod-ID.scope/container`.
fn names(cgroups: &str, container: &ContainerId) -> bool {
    let id = container.as_str();
    !id.is_empty() && cgroups.split(|c: char| !c.is_ascii_alphanumeric()).any(|piece| piece == id)
}

fn beginning(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(file).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
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
    // A process may call itself what it likes.
    Some(format!("first process `{}`: state {state}{place}", redact::text(name.trim())))
}

/// Listening sockets on which connections wait to be accepted.
fn full_queues(process: &Path) -> Vec<String> {
    let queues = [("net/tcp", "net/sockstat", "TCP:"), ("net/tcp6", "net/sockstat6", "TCP6:")]
        .into_iter()
        .flat_map(|(table, counts, kind)| {
            let sockets = fs::read_to_string(process.join(counts))
                .ok()
                .and_then(|counts| sockets_in_use(&counts, kind))
                .unwrap_or(MOST_ROWS);
            listening(&process.join(table), sockets.min(MOST_ROWS))
        })
        .filter_map(|row| waiting_connections(&row));
    told_of(&queues.collect::<Vec<_>>())
}

/// As many queues as there is room for, and how many more there are.
fn told_of(queues: &[(u16, u32)]) -> Vec<String> {
    let shown = queues.get(..MOST_QUEUES).unwrap_or(queues);
    let line = |(port, waiting): &(u16, u32)| {
        format!("port {port}: {waiting} connections wait to be accepted")
    };
    let more = match queues.len() - shown.len() {
        0 => None,
        more => Some(format!("and {more} more listening sockets on which connections wait")),
    };
    shown.iter().map(line).chain(more).collect()
}

/// How many sockets of a kind there are, by the kernel's count.
fn sockets_in_use(counts: &str, kind: &str) -> Option<usize> {
    let line = counts.lines().find_map(|line| line.strip_prefix(kind))?;
    let mut fields = line.split_ascii_whitespace().skip_while(|field| *field != "inuse").skip(1);
    fields.next()?.parse().ok()
}

/// The rows of what listens, which are a table's first; at most `most`.
fn listening(table: &Path, most: usize) -> Vec<String> {
    let Ok(file) = fs::File::open(table) else {
        return Vec::new();
    };
    // A byte at a time: the kernel makes up another row as soon as it is asked for one byte more than it has.
    let rows = BufReader::with_capacity(1, file).lines().map_while(Result::ok).skip(1);
    rows.take(most).take_while(|row| row.split_ascii_whitespace().nth(3) == Some(LISTEN)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::StartedAt;
    use std::net::{TcpListener, TcpStream};

    const ID: &str = "4f1c0de5a0b14f1c0de5a0b14f1c0de5a0b14f1c0de5a0b14f1c0de5a0b1cafe";

    /// A process of `cgroup` that started at `start`.
    fn becomes(process: &Path, cgroup: &str, start: u64) {
        fs::write(process.join("cgroup"), format!("0::{cgroup}\n")).unwrap();
        let stat = format!("7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0\n");
        fs::write(process.join("stat"), stat).unwrap();
    }

    fn found(process: &Path, meanwhile: impl FnOnce()) -> Vec<String> {
        while_it_is_of(&ContainerId::new(ID), process, || {
            meanwhile();
            vec!["found".to_owned()]
        })
    }

    #[test]
    fn a_cgroup_that_names_the_container_is_believed_however_it_is_called() {
        for path in [
            format!("/docker/{ID}"),
            format!("/system.slice/docker-{ID}.scope"),
            format!("/../docker-{ID}.scope"),
            format!("/machine.slice/libpod-{ID}.scope/container"),
            format!("/docker/{ID}/init.scope"),
        ] {
            assert!(names(&format!("0::{path}\n"), &ContainerId::new(ID)), "{path}");
        }
        let other = ID.replace("cafe", "beef");
        for path in ["/".to_owned(), format!("/docker/{other}"), format!("/docker/{ID}0")] {
            assert!(!names(&format!("0::{path}\n"), &ContainerId::new(ID)), "{path}");
        }
        assert!(!names("0::/\n", &ContainerId::new("")));
    }

    #[test]
    fn nothing_is_told_of_a_process_that_is_not_the_containers_or_no_longer() {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path();
        let own = format!("/docker/{ID}");
        assert!(found(process, || {}).is_empty(), "no such process");
        becomes(process, "/user.slice", 100);
        assert!(found(process, || {}).is_empty(), "a stranger has the number");
        becomes(process, &own, 100);
        assert_eq!(found(process, || {}), ["found"]);
        let gone = found(process, || becomes(process, "/user.slice", 100));
        assert!(gone.is_empty(), "it became a stranger's meanwhile");
        becomes(process, &own, 100);
        let again = found(process, || becomes(process, &own, 200));
        assert!(again.is_empty(), "it became another of the same container's meanwhile");
    }

    #[tokio::test]
    async fn a_number_that_is_another_processs_by_now_is_not_read() {
        let instance = Instance {
            container: ContainerId::new(ID),
            started_at: StartedAt::new("2026-09-01T00:00:00Z"),
        };
        let found = ProcReader.gather(instance, Some(std::process::id())).await;
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn the_kernel_says_when_this_very_process_started() {
        let process = Path::new("/proc/self");
        let stat = beginning(&process.join("stat")).unwrap();
        let start = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap();
        assert!(start.parse::<u64>().unwrap() > 0, "{stat}");
    }

    #[test]
    fn only_listening_sockets_with_a_queue_are_told_of() {
        let row = "   0: 0100007F:1F90 00000000:0000 0A 00000000:000001FE 00:00000000 00000000     0        0 1 1";
        assert_eq!(waiting_connections(row), Some((8080, 510)));
        assert_eq!(waiting_connections(&row.replace("000001FE", "00000000")), None);
        assert_eq!(waiting_connections(&row.replace(" 0A ", " 01 ")), None);
        assert_eq!(waiting_connections("garbage"), None);
    }

    #[test]
    fn a_queue_for_which_there_is_no_room_is_counted() {
        let queues = [(80, 1), (81, 2), (82, 3), (83, 4), (84, 5), (85, 6)];
        assert_eq!(told_of(&queues[..4]).len(), 4);
        assert_eq!(told_of(&queues[..4])[3], "port 83: 4 connections wait to be accepted");
        let told = told_of(&queues);
        assert_eq!(told.len(), 5);
        assert_eq!(told[4], "and 2 more listening sockets on which connections wait");
        assert_eq!(told_of(&[]), [""; 0]);
    }

    #[test]
    fn the_kernel_counts_sockets_by_their_kind() {
        let counts =
            "sockets: used 9\nTCP: inuse 4 orphan 0 tw 2 alloc 6 mem 1\nUDP: inuse 7 mem 0\n";
        assert_eq!(sockets_in_use(counts, "TCP:"), Some(4));
        assert_eq!(sockets_in_use("TCP6: inuse 0\n", "TCP6:"), Some(0));
        assert_eq!(sockets_in_use("TCP: orphan 0\n", "TCP:"), None);
    }

    #[test]
    fn a_full_queue_of_this_very_network_is_found_and_an_empty_one_is_not() {
        let [full, idle] = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let [full_at, idle_at] = [&full, &idle].map(|listener| listener.local_addr().unwrap());
        let _waits = TcpStream::connect(full_at).unwrap();
        let rows = listening(Path::new("/proc/self/net/tcp"), MOST_ROWS);
        let queues: Vec<_> = rows.iter().filter_map(|row| waiting_connections(row)).collect();
        assert!(queues.contains(&(full_at.port(), 1)), "{rows:?}");
        assert!(queues.iter().all(|(port, _)| *port != idle_at.port()), "{rows:?}");
        assert!(rows.iter().all(|row| row.contains(" 0A ")), "{rows:?}");
    }

    #[test]
    fn this_very_process_can_be_read() {
        let found = first_thread(Path::new("/proc/self")).unwrap();
        assert!(found.contains("state "), "{found}");
    }
}
