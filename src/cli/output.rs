//! What a command says, on stdout.
//!
//! Whoever reads it may have seen enough (`defib status | head -1`): that is no error, and the exit code still says what was
//! found. Anything else that keeps the answer from being written is one, since a script that reads nothing must not
//! take it for "all is well".

use std::{
    error::Error,
    fmt,
    io::{self, Write},
};

/// A writer that goes on in silence when its reader is gone.
pub struct Output<W> {
    out: W,
    is_gone: bool,
}

impl<W: Write> Output<W> {
    /// Writes to `out`.
    pub fn to(out: W) -> Self {
        Self { out, is_gone: false }
    }

    /// What a command came to, if all it said was written.
    ///
    /// # Errors
    /// Where it was not.
    pub fn close<T>(mut self, came_to: io::Result<T>) -> Result<T, Unsaid> {
        let came_to = came_to.map_err(Unsaid)?;
        self.flush().map_err(Unsaid)?;
        Ok(came_to)
    }

    fn unless_gone<T>(
        &mut self,
        gone: T,
        write: impl FnOnce(&mut W) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.is_gone {
            return Ok(gone);
        }
        match write(&mut self.out) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_gone = true;
                Ok(gone)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_gone(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_gone((), Write::flush)
    }
}

/// The answer could not be written.
#[derive(Debug)]
pub struct Unsaid(io::Error);

impl fmt::Display for Unsaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed to write the answer to standard output")
    }
}

impl Error for Unsaid {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
