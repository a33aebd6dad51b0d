//! A byte stream cut into lines of bounded length.
//!
//! A line that is too long is left out and counted instead of ending the stream: a stream that is opened again from the same
//! time on would meet the same line again.

/// Collects pieces and gives out whole lines.
#[derive(Debug)]
pub(in crate::docker) struct Lines {
    kept: Vec<u8>,
    /// Up to here `kept` has no newline.
    searched: usize,
    longest: usize,
    /// The rest of a line that was too long is still coming.
    discarding: bool,
}

/// A line, or that there was one.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::docker) enum Line {
    /// Without its newline.
    Whole(Vec<u8>),
    /// One that was longer than the bound.
    TooLong,
}

impl Lines {
    /// Lines of at most `longest` bytes.
    pub(in crate::docker) fn up_to(longest: usize) -> Self {
        Self { kept: Vec::new(), searched: 0, longest, discarding: false }
    }

    /// Takes a piece in. Call [`Lines::next`] until it has nothing more before taking the next.
    pub(in crate::docker) fn push(&mut self, piece: &[u8]) {
        self.kept.extend_from_slice(piece);
    }

    /// The next line, where one is whole or known to be too long.
    pub(in crate::docker) fn next(&mut self) -> Option<Line> {
        loop {
            let newline = self.kept[self.searched..].iter().position(|byte| *byte == b'\n');
            let Some(offset) = newline else {
                self.searched = self.kept.len();
                if self.kept.len() <= self.longest {
                    return None;
                }
                self.kept = Vec::new();
                self.searched = 0;
                if std::mem::replace(&mut self.discarding, true) {
                    return None;
                }
                return Some(Line::TooLong);
            };
            let end = self.searched + offset;
            let mut line: Vec<u8> = self.kept.drain(..=end).collect();
            self.searched = 0;
            if std::mem::take(&mut self.discarding) {
                continue;
            }
            line.pop();
            if line.len() > self.longest {
                return Some(Line::TooLong);
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Some(Line::Whole(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(longest: usize, pieces: &[&str]) -> Vec<String> {
        let mut lines = Lines::up_to(longest);
        let mut taken = Vec::new();
        for piece in pieces {
            lines.push(piece.as_bytes());
            while let Some(line) = lines.next() {
                taken.push(match line {
                    Line::Whole(bytes) => String::from_utf8(bytes).unwrap(),
                    Line::TooLong => "(too long)".to_owned(),
                });
            }
            assert!(lines.kept.len() <= longest);
        }
        taken
    }

    #[test]
    fn pieces_become_lines_wherever_they_are_cut() {
        assert_eq!(taken(9, &["one\ntw", "o\n\n \r\nth"]), ["one", "two"]);
        assert_eq!(taken(9, &["o", "n", "e", "\n"]), ["one"]);
    }

    #[test]
    fn a_line_too_long_is_told_once_and_the_next_is_whole() {
        assert_eq!(taken(4, &["12345\nok\n"]), ["(too long)", "ok"]);
        assert_eq!(taken(4, &["123", "456", "789", "0\nok\n"]), ["(too long)", "ok"]);
        assert_eq!(taken(4, &["1234\n"]), ["1234"]);
    }
}
