//! Stands in where the state directory cannot be used: defib watches and tells all the same.
//!
//! It refuses every batch with the reason for which no store could be opened. By the rules of the domain that means: no
//! restarts, for spending could not be recorded; messages from memory, marked as not durable.

use super::{
    batch::{self, Waiting},
    port::{NotTaken, Store},
};
use crate::{
    domain::{moment::WallMs, name::Seq, observation::Observation, record::Record},
    tasks::Pending,
};
use tokio::sync::mpsc;

/// A store that keeps nothing and says so.
pub struct AbsentStore {
    answers: mpsc::Sender<Observation>,
    reason: String,
}

impl AbsentStore {
    /// Refuses every batch for this reason.
    pub fn because(reason: impl Into<String>, answers: mpsc::Sender<Observation>) -> Self {
        Self { answers, reason: reason.into() }
    }
}

impl Store for AbsentStore {
    fn submit(&mut self, seq: Seq, records: Vec<Record>) -> Result<(), NotTaken> {
        let waiting = Waiting::reserve(seq, records, WallMs(0), &self.answers)?;
        batch::refused(vec![waiting], self.reason.clone());
        Ok(())
    }

    fn close(self: Box<Self>) -> Pending<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}
