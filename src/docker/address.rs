//! Where the engine is.
//!
//! Three places may say it, in this order: an explicit argument or the config, `DOCKER_HOST`, the usual sockets. The values
//! are passed in, so that nothing in here reads the environment and a test can say what is there. Only `unix://` is spoken:
//! an engine on TCP is either open to its network or wants client certificates, which is a set-up of its own; it is refused
//! with words rather than half supported.

use super::raw::text::cleaned;
use crate::redact;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Sockets that are looked for where nothing was said, in this order.
pub const USUAL_SOCKETS: [&str; 2] = ["/var/run/docker.sock", "/run/podman/podman.sock"];

/// The longest path that fits a Unix socket address (`sun_path`, with its closing NUL).
const LONGEST_PATH: usize = 107;

/// So much of an address that cannot be used is quoted, in bytes.
const LONGEST_SHOWN: usize = 300;

/// Where an engine listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineAddress {
    /// A Unix socket.
    Unix(PathBuf),
}

impl EngineAddress {
    /// Reads `unix:///path`.
    ///
    /// # Errors
    /// Everything else, saying what is supported.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let refused = |problem| AddressError { address: shown(text), said_by: None, problem };
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(refused(AddressProblem::NoScheme));
        };
        if scheme != "unix" {
            return Err(refused(AddressProblem::Unsupported));
        }
        if !rest.starts_with('/') || rest.contains('\0') {
            return Err(refused(AddressProblem::NoAbsolutePath));
        }
        if rest.len() > LONGEST_PATH {
            return Err(refused(AddressProblem::TooLong));
        }
        Ok(Self::Unix(PathBuf::from(rest)))
    }

    /// Chooses: the argument or config value, else `DOCKER_HOST` (empty counts as unset, as with the docker command), else
    /// the first usual socket that exists, else Docker's, so that an engine that comes later is found where most are.
    ///
    /// # Errors
    /// Where what was said cannot be used. A value that was given is never passed over in silence for the next one.
    pub fn choose(
        given: Option<&str>,
        docker_host: Option<&str>,
        exists: impl Fn(&Path) -> bool,
    ) -> Result<Self, AddressError> {
        let said = [(given, Speaker::Given), (docker_host, Speaker::DockerHost)];
        for (value, speaker) in said {
            if let Some(text) = value.filter(|text| !text.is_empty()) {
                return Self::parse(text)
                    .map_err(|error| AddressError { said_by: Some(speaker), ..error });
            }
        }
        let socket = USUAL_SOCKETS.iter().find(|socket| exists(Path::new(socket)));
        Ok(Self::Unix(PathBuf::from(socket.unwrap_or(&USUAL_SOCKETS[0]))))
    }

    /// The socket's path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Unix(path) => path,
        }
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// Who named an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// An argument or the config.
    Given,
    /// The environment.
    DockerHost,
}

/// An address that cannot be used, for logs and people: it may be another engine's, with a password in it.
fn shown(address: &str) -> String {
    // Where the scheme was forgotten, what stands before the host is as secret as behind one.
    const SCHEME: &str = "tcp://";
    let without_scheme = !address.contains("://");
    let whole = if without_scheme { format!("{SCHEME}{address}") } else { address.to_owned() };
    let hidden = redact::text(&whole);
    let hidden = if without_scheme { hidden.strip_prefix(SCHEME) } else { None }.unwrap_or(&hidden);
    cleaned(hidden, LONGEST_SHOWN)
}

/// What is wrong with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressProblem {
    /// There is no `://` in it.
    NoScheme,
    /// A scheme that is not spoken (tcp, ssh, npipe, …).
    Unsupported,
    /// No absolute path behind `unix://`.
    NoAbsolutePath,
    /// The path does not fit a socket address.
    TooLong,
}

/// An engine's address that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    /// What was given, as it may be shown (P7).
    pub address: String,
    /// By whom; `None` where it was parsed by itself.
    pub said_by: Option<Speaker>,
    /// What is wrong.
    pub problem: AddressProblem,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.said_by {
            Some(Speaker::DockerHost) => "DOCKER_HOST",
            Some(Speaker::Given) | None => "the engine's address",
        };
        let address = &self.address;
        match self.problem {
            AddressProblem::NoScheme if address.starts_with('/') => {
                write!(f, "{subject} `{address}` has no scheme: write `unix://{address}`")
            }
            AddressProblem::NoScheme => {
                write!(f, "{subject} `{address}` has no scheme: write `unix:///path/to/the.sock`")
            }
            AddressProblem::Unsupported => write!(
                f,
                "{subject} `{address}` is not supported: defib watches the host it runs on, over \
                 `unix:///path/to/the.sock`"
            ),
            AddressProblem::NoAbsolutePath => write!(
                f,
                "{subject} `{address}` does not name an absolute path: write \
                 `unix:///path/to/the.sock`, with three slashes"
            ),
            AddressProblem::TooLong => write!(
                f,
                "{subject} `{address}` is longer than the {LONGEST_PATH} bytes that a socket's \
                 path may have: use a shorter path or a symbolic link"
            ),
        }
    }
}

impl std::error::Error for AddressError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn unix(path: &str) -> EngineAddress {
        EngineAddress::Unix(PathBuf::from(path))
    }

    #[test]
    fn what_was_given_beats_the_environment_and_that_beats_the_usual_sockets() {
        let choose = |given, host| EngineAddress::choose(given, host, |_| true).unwrap();
        assert_eq!(choose(Some("unix:///a"), Some("unix:///b")), unix("/a"));
        assert_eq!(choose(None, Some("unix:///b")), unix("/b"));
        assert_eq!(choose(None, Some("")), unix("/var/run/docker.sock"));
    }

    #[test]
    fn the_first_usual_socket_that_exists_is_taken_and_dockers_where_none_does() {
        let choose =
            |only: &str| EngineAddress::choose(None, None, |path| path == Path::new(only)).unwrap();
        assert_eq!(choose("/run/podman/podman.sock"), unix("/run/podman/podman.sock"));
        assert_eq!(choose("/nowhere"), unix("/var/run/docker.sock"));
    }

    #[test]
    fn an_unusable_value_is_an_error_and_not_passed_over() {
        let error = EngineAddress::choose(None, Some("tcp://10.0.0.1:2375"), |_| true).unwrap_err();
        assert_eq!(
            error.to_string(),
            "DOCKER_HOST `tcp://10.0.0.1:2375` is not supported: defib watches the host it runs \
             on, over `unix:///path/to/the.sock`"
        );
    }

    #[test]
    fn errors_say_what_to_write_instead() {
        let said = |text: &str| EngineAddress::parse(text).unwrap_err().to_string();
        assert_eq!(
            said("/run/d.sock"),
            "the engine's address `/run/d.sock` has no scheme: write `unix:///run/d.sock`"
        );
        assert!(said("unix://run/d.sock").contains("three slashes"));
        assert!(said("").contains("has no scheme"));
        assert!(said(&format!("unix:///{}", "x".repeat(200))).contains("107 bytes"));
    }

    #[test]
    fn no_error_shows_a_password_or_what_a_terminal_obeys() {
        for (given, shows) in [
            ("tcp://admin:hunter2@10.0.0.1:2375", "`tcp://admin:[redacted]@10.0.0.1:2375` is not"),
            ("ssh://admin:hunter2@host", "`ssh://admin:[redacted]@host` is not"),
            ("unix://admin:hunter2@host/x", "`unix://admin:[redacted]@host/x` does not"),
            ("admin:hunter2@10.0.0.1:2375", "`admin:[redacted]@10.0.0.1:2375` has no scheme"),
            ("https://host/?token=hunter2", "`https://host/?token=[redacted]` is not"),
            ("/run/d.sock\u{1b}[2J", "`/run/d.sock\u{fffd}[2J` has no scheme"),
        ] {
            for (argument, environment) in [(Some(given), None), (None, Some(given))] {
                let error = EngineAddress::choose(argument, environment, |_| true).unwrap_err();
                let said = format!("{error} {error:?}");
                assert!(said.contains(shows) && !said.contains("hunter2"), "{said}");
            }
        }
    }

    #[test]
    fn it_is_shown_as_it_is_written() {
        assert_eq!(unix("/run/d.sock").to_string(), "unix:///run/d.sock");
        assert_eq!(EngineAddress::parse(&unix("/run/d.sock").to_string()), Ok(unix("/run/d.sock")));
    }
}
