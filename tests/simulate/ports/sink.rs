//! A sink in memory, with weather: what it answers and what truly arrives are two things.

use crate::{account::Fact, recorder::Recorder, scenario::SinkMood};
use defib::{
    domain::{effect::SendOrder, observation::DeliveryOutcome},
    notify::port::Sink,
    tasks::Pending,
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Half of the way to a sink and back.
const HALF_WAY: Duration = Duration::from_millis(40);

/// A sink in memory.
pub struct WeatherSink {
    /// Its name.
    pub name: &'static str,
    /// Its weather.
    pub mood: Arc<Mutex<SinkMood>>,
    /// What is written down.
    pub recorder: Arc<Recorder>,
}

impl WeatherSink {
    async fn answer(&self, send: u64, order: &SendOrder) -> DeliveryOutcome {
        let mood = *self.mood.lock().unwrap_or_else(PoisonError::into_inner);
        let landed = || self.recorder.note(Fact::Landed { send });
        let timed_out = || DeliveryOutcome::Unknown("no answer in time".to_owned());
        match mood {
            SinkMood::Fine => {
                tokio::time::sleep(HALF_WAY).await;
                landed();
                tokio::time::sleep(HALF_WAY).await;
                DeliveryOutcome::Delivered
            }
            SinkMood::Slow(takes) => {
                tokio::time::sleep(takes / 2).await;
                landed();
                tokio::time::sleep(takes / 2).await;
                DeliveryOutcome::Delivered
            }
            SinkMood::Hangs => {
                tokio::time::sleep(order.deadline).await;
                timed_out()
            }
            SinkMood::HangsAndDelivers => {
                tokio::time::sleep(HALF_WAY).await;
                landed();
                tokio::time::sleep(order.deadline.saturating_sub(HALF_WAY)).await;
                timed_out()
            }
            SinkMood::Errors => {
                tokio::time::sleep(HALF_WAY).await;
                DeliveryOutcome::Unknown("500".to_owned())
            }
            SinkMood::ErrorsAndDelivers => {
                tokio::time::sleep(HALF_WAY).await;
                landed();
                DeliveryOutcome::Unknown("500".to_owned())
            }
            SinkMood::Busy(wait) => {
                tokio::time::sleep(HALF_WAY).await;
                DeliveryOutcome::Paused { wait, reason: "429".to_owned() }
            }
            SinkMood::Broken => {
                tokio::time::sleep(HALF_WAY).await;
                DeliveryOutcome::Broken("404 no_active_hooks".to_owned())
            }
            SinkMood::Rejects => {
                tokio::time::sleep(HALF_WAY).await;
                DeliveryOutcome::Rejected("400 invalid_payload".to_owned())
            }
            SinkMood::Unready => DeliveryOutcome::NotSent("the secret can't be read".to_owned()),
        }
    }
}

impl Sink for WeatherSink {
    fn deliver(&self, order: Arc<SendOrder>) -> Pending<'_, DeliveryOutcome> {
        Box::pin(async move {
            let send = self.recorder.next_send();
            self.recorder.note(Fact::SendBegun {
                send,
                sink: self.name.to_owned(),
                message: Arc::new(order.message.clone()),
                attempt: order.attempt,
                durable: order.durable,
            });
            let outcome = self.answer(send, &order).await;
            self.recorder.note(Fact::SendAnswered { send, outcome: outcome.clone() });
            outcome
        })
    }
}
