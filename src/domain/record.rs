//! What must outlive us. A state record replaces the last one of the same key; a history record is appended.
//!
//! State records are whole: any later one makes the earlier ones of its key superfluous. So after a refusal it is enough to
//! write the present state again, and no refusal is ever made good by replaying the past.

use super::{
    acting::{
        attempt::{Ending, Rung},
        brake::Brake,
        budget::HostSpending,
        hold::Hold,
    },
    message::{MessageKind, Severity},
    moment::{BootId, Moment, Stamp},
    name::{AttemptId, IncidentId, ReplicaName, ServiceName, SinkName},
    telling::{IncidentKey, incident::Incident, row::Row},
    watching::replica::ReplicaRecord,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing to keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// State: the host.
    Host(Box<HostRecord>),
    /// State: one replica.
    Replica(Box<OnBoot<ReplicaRecord>>),
    /// State: one incident that is open, or not told to its end.
    Incident(Box<OnBoot<Incident>>),
    /// State: how much of an incident one sink was told.
    Delivery(Box<OnBoot<DeliveryRecord>>),
    /// State: what is known of a sink.
    Sink(SinkRecord),
    /// A state record is no longer needed.
    Forgotten(RecordKey),
    /// No state record of before is needed: all that are follow. After a refusal what was forgotten may still be there.
    Cleared,
    /// History: what was decided and why.
    Decided(Box<DecisionRecord>),
}

/// A thing whose moments belong to one boot of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnBoot<T> {
    /// Which boot.
    pub boot_id: BootId,
    /// The thing.
    pub kept: T,
}

/// Where a state record is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordKey {
    /// What kind of thing: a short word.
    pub kind: String,
    /// Which of them.
    pub id: String,
}

/// What the host as a whole keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostRecord {
    /// The boot that the moments in here belong to.
    pub boot_id: BootId,
    /// The last numbers given to attempts, incidents and messages.
    pub serials: Serials,
    /// The host's restarts.
    pub spending: HostSpending,
    /// The host-wide hold.
    pub brake: Brake,
    /// Since when the engine has refused to act, and what it said.
    pub refused: Option<(Moment, String)>,
    /// What began before this was judged by the brake that was released then, and does not put it on again.
    #[serde(default)]
    pub judged_until: Option<Moment>,
}

/// The last numbers given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serials {
    /// To attempts.
    pub attempt: u64,
    /// To incidents.
    pub incident: u64,
    /// To messages.
    pub message: u64,
}

/// How much of an incident one sink was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryRecord {
    /// Where to.
    pub sink: SinkName,
    /// About what.
    pub incident: IncidentKey,
    /// How much.
    pub row: Row,
}

/// What is known of a sink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkRecord {
    /// Which.
    pub sink: SinkName,
    /// Whether it has ever confirmed a message (P10).
    pub proven: bool,
    /// As what it was defined when it did.
    #[serde(default)]
    pub definition: u64,
}

/// What was decided and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// When.
    pub at: Stamp,
    /// About which service, where about one.
    pub service: Option<ServiceName>,
    /// About which replica, where about one.
    pub replica: Option<ReplicaName>,
    /// What.
    pub decision: Decision,
}

/// A decision. Doing nothing is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Decision {
    /// A replica's trouble began.
    TroubleBegan {
        /// What it shows.
        shows: String,
    },
    /// A replica in trouble that had been healthy again fails once more.
    FailsAgain {
        /// What it shows.
        shows: String,
    },
    /// A replica in trouble is healthy again, by no attempt of ours. Its trouble is over when it has stayed so.
    Recovered,
    /// A replica's trouble is over.
    TroubleOver,
    /// It runs no more, by no act of ours.
    StandsStill {
        /// In what state it is, with its exit code where that is known.
        state: String,
    },
    /// It runs again, by no act of ours, and has for long enough to be back.
    RunsAgain,
    /// It is not restarted.
    Held(Hold),
    /// A restart is paid for.
    Spent(AttemptId),
    /// A rung is begun.
    Acting(AttemptId, Rung),
    /// An attempt ended.
    Ended(AttemptId, Ending),
    /// An attempt was taken up again after a restart of ours.
    Resumed(AttemptId),
    /// The host-wide hold went on.
    BrakeEngaged,
    /// One replica may be restarted all the same.
    TrialChosen,
    /// The host-wide hold went off.
    BrakeReleased(String),
    /// An incident was opened.
    Opened(IncidentId, IncidentKey, Severity),
    /// A notice became a page.
    Raised(IncidentId, Severity),
    /// An incident is over.
    Resolved(IncidentId),
    /// A sink confirmed a message.
    Told(SinkName, IncidentId, MessageKind),
    /// A sink will never take a message.
    Undeliverable(SinkName, IncidentId, String),
    /// A sink takes nothing, or nothing can be sent to it: why, and in how many seconds it is tried again.
    SinkFails(SinkName, String, u64),
    /// A sink asks to be left alone: with what words, and in how many seconds it is tried again.
    SinkWaits(SinkName, String, u64),
    /// These services of the config match no container of this host.
    Unmatched(Vec<ServiceName>),
    /// A sink takes messages again.
    SinkWorks(SinkName),
}

/// Where a record goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// Replaces what is there under this key.
    State(RecordKey),
    /// Removes what is there under this key.
    Removed(RecordKey),
    /// Removes everything that is there, but for the history.
    AllRemoved,
    /// Appended to the history.
    History,
}

impl RecordKey {
    fn new(kind: &str, id: impl fmt::Display) -> Self {
        Self { kind: kind.to_owned(), id: id.to_string() }
    }

    /// Of a replica.
    pub fn replica(name: &ReplicaName) -> Self {
        Self::new("replica", name)
    }

    /// Of an incident.
    pub fn incident(key: &IncidentKey) -> Self {
        Self::new("incident", key)
    }

    /// Of what one sink was told of one incident.
    pub fn delivery(sink: &SinkName, incident: &IncidentKey) -> Self {
        Self::new("delivery", format_args!("{sink}/{incident}"))
    }
}

impl Record {
    /// Where it goes. The store needs to know nothing else about a record.
    pub fn shelf(&self) -> Shelf {
        match self {
            Record::Host(_) => Shelf::State(RecordKey::new("host", "host")),
            Record::Replica(replica) => Shelf::State(RecordKey::replica(&replica.kept.name)),
            Record::Incident(incident) => Shelf::State(RecordKey::incident(&incident.kept.key)),
            Record::Delivery(delivery) => {
                Shelf::State(RecordKey::delivery(&delivery.kept.sink, &delivery.kept.incident))
            }
            Record::Sink(sink) => Shelf::State(RecordKey::new("sink", &sink.sink)),
            Record::Forgotten(key) => Shelf::Removed(key.clone()),
            Record::Cleared => Shelf::AllRemoved,
            Record::Decided(_) => Shelf::History,
        }
    }
}

/// Moments that become this boot's, or move on by a stall. Those of another boot count as its first millisecond; their wall
/// time stays.
pub trait Rebase {
    /// Maps every moment in here.
    fn rebase(&mut self, map: &impl Fn(&mut Moment));
}

impl<T: Rebase> OnBoot<T> {
    /// The thing, with moments of this boot.
    pub(crate) fn into_kept(mut self, boot_id: &BootId, now: Moment) -> T {
        let same = &self.boot_id == boot_id;
        self.kept.rebase(&|moment| rebase_moment(moment, same, now));
        self.kept
    }
}

/// One moment of a record, as seen from this boot.
pub(crate) fn rebase_moment(moment: &mut Moment, same_boot: bool, now: Moment) {
    if same_boot {
        moment.awake = moment.awake.min(now.awake);
        moment.boot = moment.boot.min(now.boot);
    } else {
        moment.awake = super::moment::AwakeMs(0);
        moment.boot = super::moment::BootMs(0);
    }
}

impl Rebase for ReplicaRecord {
    fn rebase(&mut self, map: &impl Fn(&mut Moment)) {
        if let Some(trouble) = &mut self.trouble {
            map(&mut trouble.since);
            map(&mut trouble.onset);
        }
        if let Some(attempt) = &mut self.attempt {
            map(&mut attempt.began);
            map(&mut attempt.phase_since);
        }
        for streak in self.streaks.values_mut() {
            streak.since.as_mut().map(map);
        }
        self.absent_since.as_mut().map(map);
        self.stopped_by_hand.as_mut().map(map);
        self.unanswered_since.as_mut().map(map);
        if let Some(touch) = &mut self.touched {
            map(&mut touch.at);
        }
    }
}

impl Rebase for Incident {
    fn rebase(&mut self, map: &impl Fn(&mut Moment)) {
        map(&mut self.since);
        map(&mut self.reminded);
        self.ended.as_mut().map(map);
    }
}

impl Rebase for DeliveryRecord {
    fn rebase(&mut self, map: &impl Fn(&mut Moment)) {
        if let Some(outgoing) = &mut self.row.outgoing {
            map(&mut outgoing.decided);
            if let Some(refused) = &mut outgoing.refused {
                map(&mut refused.since);
            }
        }
        if let Some(rejected) = &mut self.row.rejected {
            map(&mut rejected.since);
        }
    }
}
