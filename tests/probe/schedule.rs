//! The schedule in virtual time: minutes in milliseconds, the same for the same seed.

use crate::{
    virtual_time::{EVERY, SECOND, bench, bench_with, watched},
    watches::{instance, target},
};
use defib::domain::{
    effect::ProbeOrder,
    observation::{Phase, ProbeOutcome, Sample},
};
use std::{collections::BTreeMap, sync::atomic::Ordering, time::Duration};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn the_rate_is_fixed_and_the_first_run_comes_within_the_interval() {
    let mut bench = bench(512);
    let began = bench.now();
    bench.watch("fine/1", EVERY);
    let samples = bench.samples_for(Duration::from_secs(3_600)).await;
    assert!((719..=721).contains(&samples.len()), "{}", samples.len());
    assert!(samples[0].0 - began <= 5_500);
    for pair in samples.windows(2) {
        let gap = pair[1].0 - pair[0].0;
        assert!((4_500..=5_500).contains(&gap), "{gap}");
    }
    assert!(samples.iter().all(|(_, sample)| sample.skipped == 0 && sample.lag.is_zero()));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_targets_spread_over_the_interval() {
    let mut bench = bench(512);
    let began = bench.now();
    for n in 0..10_000 {
        bench.watch(&format!("fine/{n}"), EVERY);
    }
    let samples = bench.samples_for(Duration::from_millis(5_500)).await;
    assert!(samples.len() >= 10_000);
    let mut by_half_second = BTreeMap::<u64, u32>::new();
    for (at, sample) in &samples {
        assert!(sample.lag < Duration::from_millis(50), "{sample:?}");
        *by_half_second.entry((at - began) / 500).or_default() += 1;
    }
    assert!(by_half_second.values().all(|count| *count < 1_300), "{by_half_second:?}");
    let stats = bench.handle.stats();
    assert_eq!((stats.targets, stats.skipped), (10_000, 0));
}

#[tokio::test(start_paused = true)]
async fn a_rare_target_is_first_seen_soon_and_then_keeps_its_interval() {
    let mut bench = bench(8);
    let began = bench.now();
    bench.watch("fine/1", Duration::from_secs(600));
    let samples = bench.samples_for(Duration::from_secs(3_600)).await;
    assert!(samples[0].0 - began <= 5_001, "{}", samples[0].0 - began);
    for pair in samples[1..].windows(2) {
        assert!((540_000..=660_000).contains(&(pair[1].0 - pair[0].0)));
    }
}

#[tokio::test(start_paused = true)]
async fn case_9_a_target_slower_than_its_interval_never_overlaps_and_its_missed_ticks_are_counted()
{
    let mut bench = bench(512);
    // Its own total allows the 7 s that it takes.
    let mut slow = watched("slow/1", 1, EVERY);
    slow.probe.timeout = 8 * SECOND;
    bench.handle.order(ProbeOrder::Watch(Box::new(slow)));
    let samples = bench.samples_for(Duration::from_secs(600)).await;
    assert!((58..=60).contains(&samples.len()), "{}", samples.len());
    assert!(!bench.prober.log.lock().unwrap().overlapped);
    let skipped: u32 = samples.iter().map(|(_, sample)| sample.skipped).sum();
    assert!(samples.iter().all(|(_, sample)| sample.skipped == 1), "every second tick");
    assert!((u64::from(skipped)..=u64::from(skipped) + 1).contains(&bench.handle.stats().skipped));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_pace_takes_effect_at_once_and_keeps_the_phase() {
    let mut bench = bench(8);
    bench.watch("fine/1", EVERY);
    let slow = bench.samples_for(Duration::from_secs(30)).await;
    bench.watch("fine/1", SECOND);
    let fast = bench.samples_for(Duration::from_secs(30)).await;
    assert!((29..=31).contains(&fast.len()), "{}", fast.len());
    bench.watch("fine/1", EVERY);
    let again = bench.samples_for(Duration::from_secs(30)).await;
    let off = |at: u64| (at - slow[0].0 + 2_500) % 5_000;
    assert!(again.iter().all(|(at, _)| (2_000..=3_000).contains(&off(*at))), "the phase stays");
}

#[tokio::test(start_paused = true)]
async fn a_pace_ordered_again_and_again_never_puts_the_tick_off() {
    let mut bench = bench(8);
    bench.watch("fine/1", EVERY);
    let mut count = 0;
    for second in 0..60 {
        let every = if second % 2 == 0 { EVERY } else { 2 * EVERY };
        bench.watch("fine/1", every);
        count += bench.samples_for(SECOND).await.len();
    }
    assert!(count >= 5, "{count}");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_targets_sample_ends_at_once_as_gone_and_nothing_follows() {
    let mut bench = bench(8);
    bench.watch("hung/1", EVERY);
    bench.running("hung/1").await;
    let at = bench.now();
    bench.handle.order(ProbeOrder::Drop(target("hung/1")));
    let sample = bench.one().await;
    assert_eq!((bench.now(), &sample.outcome), (at, &ProbeOutcome::Gone));
    assert_eq!(sample.instance, Some(instance("hung/1", 1)));
    assert!(bench.samples_for(Duration::from_secs(60)).await.is_empty());
    assert_eq!(bench.handle.stats().in_flight, 0, "its place came back");
}

#[tokio::test(start_paused = true)]
async fn a_new_instance_ends_the_old_ones_sample_as_gone_and_begins_its_own() {
    let mut bench = bench(8);
    bench.watch("hung/1", EVERY);
    bench.running("hung/1").await;
    bench.handle.order(ProbeOrder::Watch(Box::new(watched("hung/1", 2, EVERY))));
    let gone = bench.one().await;
    assert_eq!((gone.outcome, gone.instance), (ProbeOutcome::Gone, Some(instance("hung/1", 1))));
    let next = bench.one().await;
    assert_eq!(next.outcome, ProbeOutcome::Timeout(Phase::FirstByte));
    assert_eq!(next.instance, Some(instance("hung/1", 2)));
    assert!(!bench.prober.log.lock().unwrap().overlapped);
}

#[tokio::test(start_paused = true)]
async fn the_same_watch_again_changes_nothing_in_flight() {
    let mut bench = bench(8);
    bench.watch("hung/1", EVERY);
    bench.running("hung/1").await;
    bench.watch("hung/1", EVERY);
    assert_eq!(bench.one().await.outcome, ProbeOutcome::Timeout(Phase::FirstByte));
    assert_eq!(bench.runs_of("hung"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_pace_leaves_what_is_in_flight_to_end_by_itself() {
    let mut bench = bench(8);
    bench.watch("hung/1", EVERY);
    bench.running("hung/1").await;
    bench.watch("hung/1", 2 * EVERY);
    assert_eq!(bench.one().await.outcome, ProbeOutcome::Timeout(Phase::FirstByte));
    assert_eq!(bench.runs_of("hung"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_drop_and_a_watch_in_one_breath_still_end_what_is_in_flight() {
    let mut bench = bench(8);
    bench.watch("hung/1", EVERY);
    bench.running("hung/1").await;
    bench.handle.order(ProbeOrder::Drop(target("hung/1")));
    bench.watch("hung/1", EVERY);
    assert_eq!(bench.one().await.outcome, ProbeOutcome::Gone);
    assert_eq!(bench.one().await.outcome, ProbeOutcome::Timeout(Phase::FirstByte));
}

#[tokio::test(start_paused = true)]
async fn those_that_hang_hold_at_most_half_the_pool_and_the_others_keep_their_rate() {
    let mut bench = bench(8);
    for n in 0..40 {
        bench.watch(&format!("hung/{n}"), EVERY);
    }
    // So that all of them are known to be down.
    bench.samples_for(Duration::from_secs(60)).await;
    for n in 0..20 {
        bench.watch(&format!("fine/{n}"), EVERY);
    }
    let samples = bench.samples_for(Duration::from_secs(120)).await;
    let fine = samples.iter().filter(|(_, s)| s.target.replica.as_str().starts_with("fine"));
    let fine: Vec<&Sample> = fine.map(|(_, sample)| sample).collect();
    assert!(fine.len() >= 20 * 23, "{}", fine.len());
    assert!(fine.iter().all(|sample| sample.lag <= Duration::from_millis(10)));
    assert_eq!(bench.handle.stats().in_flight_down, 4);
    // 40 targets, 4 places, 2 s each: one round takes 20 s, and that is lag and no failure of another kind.
    let hung: Vec<&Sample> = samples
        .iter()
        .map(|(_, sample)| sample)
        .filter(|sample| sample.target.replica.as_str().starts_with("hung"))
        .collect();
    assert!((220..=260).contains(&hung.len()), "{}", hung.len());
    assert!(hung.iter().all(|sample| sample.phases.total == 2 * SECOND));
    assert!(hung.iter().any(|sample| sample.lag > 10 * SECOND));
    assert!(bench.prober.log.lock().unwrap().most_at_once <= 8);
}

#[tokio::test(start_paused = true)]
async fn a_sample_that_is_not_taken_holds_back_its_own_target_and_no_other() {
    let mut bench = bench(8);
    bench.watch("fine/1", EVERY);
    bench.watch("fine/2", EVERY);
    sleep(Duration::from_secs(31)).await;
    // One sample each waits in the lane; nothing ran since.
    assert_eq!(bench.runs_of("fine"), 2);
    assert_eq!(bench.handle.stats().held, 2);
    let first = bench.one().await;
    let other = if first.target == target("fine/1") { "fine/2" } else { "fine/1" };
    bench.running(first.target.replica.as_str()).await;
    assert_eq!(bench.runs_of(other), 1, "the other one still waits for its own slot");
    let second = bench.one().await;
    assert_eq!(second.target, target(other));
    let third = bench.one().await;
    assert_eq!(third.target, first.target);
    assert!(third.lag > 20 * SECOND && third.skipped >= 4, "{third:?}");
}

#[tokio::test(start_paused = true)]
async fn samples_in_flight_under_a_host_that_slept_are_no_evidence() {
    let mut bench = bench(8);
    bench.watch("hung/1", EVERY);
    bench.running("hung/1").await;
    bench.handle.host_resumed(Duration::from_secs(180));
    let sample = bench.one().await;
    let ProbeOutcome::Local(why) = &sample.outcome else { panic!("{sample:?}") };
    assert!(why.contains("slept for 3m while"), "{why}");
    assert_eq!(bench.one().await.outcome, ProbeOutcome::Timeout(Phase::FirstByte));
}

#[tokio::test(start_paused = true)]
async fn the_scheduler_sees_by_itself_that_the_host_slept() {
    let mut bench = bench(8);
    bench.watch("hung/1", EVERY);
    bench.running("hung/1").await;
    bench.clock.slept_ms.store(3_600_000, Ordering::SeqCst);
    let sample = bench.one().await;
    assert!(matches!(sample.outcome, ProbeOutcome::Local(_)), "{sample:?}");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_panics_or_never_ends_costs_one_sample_and_never_the_next_tick() {
    let mut bench = bench(8);
    bench.watch("panics/1", EVERY);
    bench.watch("endless/1", EVERY);
    let samples = bench.samples_for(Duration::from_secs(60)).await;
    for name in ["panics/1", "endless/1"] {
        let of: Vec<_> = samples.iter().filter(|(_, s)| s.target == target(name)).collect();
        assert!(of.len() >= 10, "{name}: {}", of.len());
        assert!(of.iter().all(|(_, s)| matches!(s.outcome, ProbeOutcome::Local(_))), "{of:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_its_handles_and_takes_along_what_is_in_flight() {
    let mut bench = bench(8);
    bench.watch("hung/1", EVERY);
    bench.running("hung/1").await;
    drop(bench.handle);
    assert_eq!(bench.samples.recv().await, None);
    while bench.prober.log.lock().unwrap().running["hung/1"] > 0 {
        tokio::task::yield_now().await;
    }
}

/// What a busy quarter of an hour looks like, with everything in it.
async fn transcript(seed: u64) -> Vec<String> {
    let mut bench = bench_with(6, seed);
    for n in 0..20 {
        let kind = ["fine", "hung", "slow", "panics"][n % 4];
        bench.watch(&format!("{kind}/{n}"), EVERY);
    }
    let mut lines = Vec::new();
    for minute in 0..15_u32 {
        for (at, sample) in bench.samples_for(Duration::from_secs(60)).await {
            lines.push(format!("{at} {sample:?}"));
        }
        let name = format!("hung/{}", 1 + 4 * (minute % 5));
        let order = match minute % 3 {
            0 => ProbeOrder::Drop(target(&name)),
            1 => ProbeOrder::Watch(Box::new(watched(&name, minute % 10, EVERY))),
            _ => ProbeOrder::Watch(Box::new(watched(&name, 1, SECOND))),
        };
        bench.handle.order(order);
    }
    lines
}

#[test]
fn the_same_seed_gives_the_same_samples_at_the_same_times() {
    let run = |seed| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(transcript(seed))
    };
    let first = run(1);
    assert!(first.len() > 1_000, "{}", first.len());
    assert_eq!(first, run(1));
    assert_ne!(first, run(2), "another seed, other phases");
}
