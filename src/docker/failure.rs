//! Why the engine could not be asked or did not do it, in the domain's types, with the words a person needs: where, cause and
//! remedy. The texts of one cause are the same for every call, so that "logged when the text changes" logs it once.

use super::connection::CallError;
use crate::{
    domain::observation::{ActOutcome, LookFailure},
    redact,
};
use rustix::io::Errno;
use std::{error::Error, io};

/// A look that failed. `engine` is the address for people; `one` says that it was about one container, which only the answer
/// to that very path can miss.
pub(super) fn of_look(error: &CallError, engine: &str, one: bool) -> LookFailure {
    match error {
        CallError::Connect(cause) => match refusal(cause, engine) {
            Refusal::Denied(text) => LookFailure::Denied(text),
            Refusal::Local(text) => LookFailure::Local(text),
            Refusal::Nobody(text) => LookFailure::Unreachable(text),
        },
        CallError::Broken(cause) => LookFailure::Unreachable(broke(cause.as_ref(), engine)),
        CallError::TooLarge(_) | CallError::Garbled(_) | CallError::NoCommonApi(_) => {
            // What can't be decoded may be quoted in the error.
            LookFailure::Garbled(format!("{engine}: {}", redact::text(&error.to_string())))
        }
        CallError::Status { status: 404, .. } if one => LookFailure::NoSuchContainer,
        CallError::Status { status: 403, message }
        | CallError::VersionRefused { status: 403, message } => {
            LookFailure::Denied(refused(message, engine))
        }
        CallError::VersionRefused { status, message } => {
            let message = format!("{message} (asked for its version)");
            LookFailure::Engine { status: *status, message }
        }
        CallError::Status { status, message } => {
            LookFailure::Engine { status: *status, message: message.clone() }
        }
    }
}

/// An action that failed.
pub(super) fn of_act(error: &CallError, engine: &str) -> ActOutcome {
    match error {
        CallError::Connect(cause) => match refusal(cause, engine) {
            Refusal::Denied(text) => ActOutcome::Denied(text),
            Refusal::Local(text) | Refusal::Nobody(text) => ActOutcome::Unreachable(text),
        },
        CallError::Broken(cause) => ActOutcome::Unreachable(broke(cause.as_ref(), engine)),
        CallError::Status { status: 404, .. } => ActOutcome::NoSuchContainer,
        CallError::Status { status: 403, message }
        | CallError::VersionRefused { status: 403, message } => {
            ActOutcome::Denied(refused(message, engine))
        }
        CallError::VersionRefused { .. }
        | CallError::TooLarge(_)
        | CallError::Garbled(_)
        | CallError::NoCommonApi(_) => {
            let error = error.to_string();
            ActOutcome::Unreachable(format!("not sent to {engine}: {}", redact::text(&error)))
        }
        CallError::Status { status, message } => {
            ActOutcome::Failed { status: *status, message: message.clone() }
        }
    }
}

/// Why there is no connection.
enum Refusal {
    Denied(String),
    Local(String),
    Nobody(String),
}

fn refusal(cause: &io::Error, engine: &str) -> Refusal {
    use io::ErrorKind;
    let text = |what: &str, remedy: &str| format!("{engine}: {what} ({cause}); {remedy}");
    let errno = cause.raw_os_error().map(Errno::from_raw_os_error);
    if let Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) = errno {
        return Refusal::Local(text(
            "no connection could be made, for want of descriptors or memory of our own",
            "raise LimitNOFILE of defib's unit, or free memory",
        ));
    }
    match cause.kind() {
        ErrorKind::PermissionDenied => Refusal::Denied(text(
            "no rights on the engine's socket",
            "add defib's user to the group `docker` and start defib again, or run it as root",
        )),
        ErrorKind::NotFound => Refusal::Nobody(text(
            "there is no such socket",
            "start the engine (`systemctl start docker`), or name its socket in `engine.address` \
             or DOCKER_HOST",
        )),
        ErrorKind::ConnectionRefused => Refusal::Nobody(text(
            "nobody listens on the engine's socket",
            "start the engine (`systemctl start docker`)",
        )),
        ErrorKind::WouldBlock => Refusal::Nobody(text(
            "the engine takes no more connections, its queue is full",
            "it hangs: look at `journalctl -u docker`",
        )),
        _ => Refusal::Nobody(text(
            "the engine's socket cannot be connected to",
            "look at `systemctl status docker`",
        )),
    }
}

fn broke(cause: &(dyn Error + 'static), engine: &str) -> String {
    let mut text = format!("{engine}: the connection broke before the answer was whole: {cause}");
    let mut source = cause.source();
    while let Some(deeper) = source {
        text.push_str(&format!(": {deeper}"));
        source = deeper.source();
    }
    redact::text(&text).into_owned()
}

fn refused(message: &str, engine: &str) -> String {
    format!(
        "{engine} answered 403: {message}; if this is a socket proxy, allow defib to list, inspect, \
         hear events, and POST restart, kill and start"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKET: &str = "unix:///run/d.sock";

    fn connecting(errno: Errno) -> CallError {
        CallError::Connect(io::Error::from_raw_os_error(errno.raw_os_error()))
    }

    #[test]
    fn no_rights_is_denied_with_path_and_remedy() {
        let LookFailure::Denied(text) = of_look(&connecting(Errno::ACCESS), SOCKET, false) else {
            panic!("not denied")
        };
        assert_eq!(
            text,
            "unix:///run/d.sock: no rights on the engine's socket (Permission denied (os error 13)); \
             add defib's user to the group `docker` and start defib again, or run it as root"
        );
        assert!(matches!(of_act(&connecting(Errno::ACCESS), SOCKET), ActOutcome::Denied(_)));
    }

    #[test]
    fn nobody_there_is_unreachable_and_our_own_want_is_local() {
        for errno in [Errno::NOENT, Errno::CONNREFUSED, Errno::AGAIN, Errno::NOTSOCK] {
            let failure = of_look(&connecting(errno), SOCKET, true);
            assert!(matches!(failure, LookFailure::Unreachable(_)), "{failure:?}");
        }
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            assert!(matches!(of_look(&connecting(errno), SOCKET, true), LookFailure::Local(_)));
            assert!(matches!(of_act(&connecting(errno), SOCKET), ActOutcome::Unreachable(_)));
        }
    }

    #[test]
    fn only_a_look_at_one_container_can_miss_it() {
        let missing = CallError::Status { status: 404, message: "page not found".to_owned() };
        assert_eq!(of_look(&missing, SOCKET, true), LookFailure::NoSuchContainer);
        let message = "page not found".to_owned();
        assert_eq!(of_look(&missing, SOCKET, false), LookFailure::Engine { status: 404, message });
    }
}
