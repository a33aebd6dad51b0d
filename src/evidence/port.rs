//! Evidence as a primitive: one question, an answer within its time, never an error. What could not be read is simply not
//! in the answer.

use crate::{domain::name::Instance, tasks::Pending};

/// Reads from outside why a container fails.
pub trait EvidenceReader: Send + Sync + 'static {
    /// What is found about an instance whose first process is `pid`, each a sentence that claims no more than was seen. The
    /// caller bounds the wait.
    fn gather(&self, instance: Instance, pid: Option<u32>) -> Pending<'_, Vec<String>>;
}
