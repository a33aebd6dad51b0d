//! The ledger, with an ear at its door; and the witness, which hears the store's answers and the decisions.

use crate::{account::Fact, recorder::Recorder, scenario::CrashPoint};
use defib::{
    daemon::Witness,
    domain::{
        effect::{Batch, Effect},
        moment::Moment,
        name::Seq,
        observation::Observation,
        record::Record,
    },
    store::{
        ledger::Ledger,
        port::{NotTaken, Store},
    },
    tasks::Pending,
};
use std::sync::Arc;

/// The ledger, overheard.
pub struct HeardStore {
    /// What keeps the records.
    pub ledger: Ledger,
    /// What is written down.
    pub recorder: Arc<Recorder>,
}

impl Store for HeardStore {
    fn submit(&mut self, seq: Seq, records: Vec<Record>) -> Result<(), NotTaken> {
        let count = records.len();
        let taken = self.ledger.submit(seq, records);
        if taken.is_ok() {
            self.recorder.note(Fact::Submitted { seq: seq.0, records: count });
        }
        taken
    }

    fn close(self: Box<Self>) -> Pending<'static, ()> {
        Box::new(self.ledger).close()
    }
}

/// Hears what the loop takes in and gives out.
pub struct Ear {
    /// What is written down.
    pub recorder: Arc<Recorder>,
}

impl Witness for Ear {
    fn observed(&mut self, _now: Moment, observation: &Observation) {
        match observation {
            Observation::Committed(seq) => self.recorder.note(Fact::Committed { seq: seq.0 }),
            Observation::Refused { seq, .. } => {
                self.recorder.note(Fact::RecordsRefused { seq: seq.0 });
            }
            _ => {}
        }
    }

    fn decided(&mut self, _now: Moment, batch: &Batch) {
        self.recorder.beat();
        for record in &batch.records {
            if let Record::Decided(decided) = record {
                let replica = decided.replica.as_ref().map(ToString::to_string);
                let service = decided.service.as_ref().map(ToString::to_string);
                let whole = format!("{:?}", decided.decision);
                let end = whole.find(['(', ' ', '{']).unwrap_or(whole.len());
                self.recorder.note(Fact::Decided {
                    replica: replica.or(service),
                    decision: whole[..end].to_owned(),
                    reason: whole[end..].trim().to_owned(),
                });
            }
        }
        if batch.effects.iter().any(|effect| matches!(effect, Effect::GatherEvidence { .. })) {
            self.recorder.reached(CrashPoint::Evidence);
        }
    }
}
