//! Bounds and lanes of name resolution, against resolvers that hang, fail, or change their mind.

use super::*;
use std::sync::{
    Condvar,
    atomic::{AtomicUsize, Ordering},
};

const SOON: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(20);

/// A resolver that never answers for any name but `fine`, until it is let go.
#[derive(Default)]
struct Dead {
    calls: AtomicUsize,
    let_go: (Mutex<bool>, Condvar),
}

fn dead() -> (Arc<Dead>, Resolver) {
    let dead = Arc::new(Dead::default());
    let inside = Arc::clone(&dead);
    let resolver = Resolver::with_lookup(Arc::new(move |name: &str| {
        if name == "fine" {
            return Ok(vec![IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 1])]);
        }
        inside.calls.fetch_add(1, Ordering::SeqCst);
        let (gone, told) = &inside.let_go;
        drop(told.wait_while(gone.lock().unwrap(), |gone| !*gone).unwrap());
        Err(io::Error::other("down"))
    }));
    (dead, resolver)
}

impl Dead {
    fn let_go(&self) {
        *self.let_go.0.lock().unwrap() = true;
        self.let_go.1.notify_all();
    }
}

#[tokio::test]
async fn an_address_needs_no_resolver() {
    let resolver = Resolver::with_lookup(Arc::new(|_: &str| Err(io::Error::other("asked"))));
    for literal in ["127.0.0.1", "::1", "[::1]"] {
        assert_eq!(resolver.resolve(Lane::Probes, literal, SOON).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn the_system_knows_localhost() {
    let found = Resolver::system().resolve(Lane::Probes, "localhost", LONG).await.unwrap();
    assert!(found.iter().all(IpAddr::is_loopback), "{found:?}");
}

#[tokio::test]
async fn names_that_hang_take_a_bounded_number_of_threads_and_no_place_of_the_sinks() {
    let (dead, resolver) = dead();
    let resolver = &resolver;
    let names: Vec<String> = (0..30).map(|n| format!("dead-{n}")).collect();
    let asked = names.iter().map(|name| resolver.resolve(Lane::Probes, name, SOON));
    let answers = futures_util::future::join_all(asked).await;
    let timed_out =
        answers.iter().filter(|a| matches!(a, Err(ResolveFailure::TimedOut { .. }))).count();
    let busy = answers.iter().filter(|a| matches!(a, Err(ResolveFailure::Busy { .. }))).count();
    assert_eq!((timed_out, busy), (PROBE_THREADS, 30 - PROBE_THREADS));
    assert_eq!(dead.calls.load(Ordering::SeqCst), PROBE_THREADS);

    let fine = resolver.resolve(Lane::Sinks, "fine", LONG).await.unwrap();
    assert_eq!(fine, vec![IpAddr::from([10, 0, 0, 1])], "each address once");
    dead.let_go();
    // Once the system lets go, the lane works again.
    assert!(resolver.resolve(Lane::Probes, "fine", LONG).await.is_ok());
}

#[tokio::test]
async fn a_name_that_hangs_holds_one_thread_however_often_it_is_asked_for() {
    let (dead, resolver) = dead();
    for _ in 0..5 {
        let answer = resolver.resolve(Lane::Probes, "dead", SOON).await;
        assert!(matches!(answer, Err(ResolveFailure::TimedOut { .. })), "{answer:?}");
    }
    assert_eq!(dead.calls.load(Ordering::SeqCst), 1);
    dead.let_go();
}

#[tokio::test]
async fn the_last_good_addresses_outlive_the_resolver() {
    let up = Arc::new(AtomicUsize::new(1));
    let inside = Arc::clone(&up);
    let resolver = Resolver::with_lookup(Arc::new(move |_: &str| {
        if inside.load(Ordering::SeqCst) == 1 {
            Ok(vec![IpAddr::from([10, 0, 0, 7])])
        } else {
            Err(io::Error::other("no name server answers"))
        }
    }));
    assert_eq!(resolver.last_good("hooks.example"), None);
    assert!(resolver.resolve(Lane::Sinks, "hooks.example", LONG).await.is_ok());
    up.store(0, Ordering::SeqCst);
    let failure = resolver.resolve(Lane::Sinks, "hooks.example", LONG).await.unwrap_err();
    assert_eq!(failure.to_string(), "failed to resolve `hooks.example`");
    assert_eq!(resolver.last_good("hooks.example"), Some(vec![IpAddr::from([10, 0, 0, 7])]));
}

#[tokio::test]
async fn names_of_probes_are_not_kept_and_push_out_no_sinks_address() {
    let answers = Arc::new(|_: &str| Ok(vec![IpAddr::from([10, 0, 0, 7])]));
    let resolver = Resolver::with_lookup(answers);
    assert!(resolver.resolve(Lane::Sinks, "hooks.example", LONG).await.is_ok());
    for n in 0..=KEPT_NAMES {
        let name = format!("probed-{n}");
        assert!(resolver.resolve(Lane::Probes, &name, LONG).await.is_ok());
    }
    assert_eq!(resolver.last_good("probed-0"), None);
    assert_eq!(resolver.last_good("hooks.example"), Some(vec![IpAddr::from([10, 0, 0, 7])]));
}

#[test]
fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
    let mut kept = Kept::default();
    for n in 0..=KEPT_NAMES {
        kept.keep(Arc::from(format!("name-{n}")), vec![IpAddr::from([10, 0, 0, 1])]);
    }
    assert_eq!(kept.names.len(), KEPT_NAMES);
    assert!(!kept.names.contains_key("name-0") && kept.names.contains_key("name-1"));
}

#[tokio::test]
async fn a_lookup_that_panics_fails() {
    let resolver = Resolver::with_lookup(Arc::new(|_: &str| panic!("broken")));
    let answer = resolver.resolve(Lane::Probes, "x", LONG).await;
    assert!(matches!(answer, Err(ResolveFailure::Failed { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_lookup_for_which_no_thread_can_be_had_is_our_own_trouble() {
    let mut resolver = Resolver::with_lookup(Arc::new(|_: &str| panic!("never asked")));
    resolver.probes.threads =
        Threads::started_by(|_, _| Err(io::ErrorKind::WouldBlock.into()), "resolve", PROBE_THREADS);
    let failure = resolver.resolve(Lane::Probes, "x", LONG).await.unwrap_err();
    assert_eq!(failure.to_string(), "no thread could be had to resolve `x`");
}
