//! Whom the sinks' client trusts: the certificate authorities of the host, or Mozilla's where it has none.

use crate::tasks;
use rustls::RootCertStore;
use rustls_native_certs::{CertificateResult, load_native_certs};
use std::time::Duration;

/// Reading some hundred certificates takes milliseconds; a disk that hangs must not keep the daemon from starting.
const AUTHORITIES_WITHIN: Duration = Duration::from_secs(5);

/// The host's, or Mozilla's where it has none or they can't be read in time. Blocks for the disk.
pub(super) fn of_the_host() -> RootCertStore {
    authorities(load_native_certs, AUTHORITIES_WITHIN)
}

/// A host without `ca-certificates` is the usual minimal one, and the page must go out from it too; and from one whose disk
/// hangs.
fn authorities(
    load: impl FnOnce() -> CertificateResult + Send + 'static,
    within: Duration,
) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let (added, reason) = match tasks::within("authorities", within, load) {
        Ok(host) => {
            let (added, _) = roots.add_parsable_certificates(host.certs);
            (added, host.errors.first().map_or_else(String::new, ToString::to_string))
        }
        Err(not_back) => (0, not_back.to_string()),
    };
    if added == 0 {
        tracing::warn!(%reason, "no certificate authorities of the host could be read; until defib is started again sinks are checked against Mozilla's, and one with an authority of your own fails");
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_whose_authorities_can_not_be_read_is_no_reason_to_trust_nobody() {
        let (disk_is_mended, hangs) = std::sync::mpsc::sync_channel::<()>(0);
        let load = move || {
            hangs.recv().ok();
            CertificateResult::default()
        };
        let mozillas = webpki_root_certs::TLS_SERVER_ROOT_CERTS.len();
        assert_eq!(authorities(load, Duration::from_millis(50)).len(), mozillas);
        drop(disk_is_mended);
        let none = authorities(CertificateResult::default, Duration::from_secs(20));
        assert_eq!(none.len(), mozillas);
    }
}
