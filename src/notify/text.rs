//! Text from outside, made harmless and made to fit.
//!
//! Names and probe output come from whoever runs the containers, so a page must survive anything in them: escape
//! sequences that rewrite a terminal, characters that turn the reading direction round, newlines that fake a second
//! message, 100 KB of emoji. Cleaning takes away what cannot be seen or would act on the reader's screen; cutting counts
//! in the sink's own measure and never splits a character. What a sink's markup makes of `<` or `*` is that sink's
//! matter. This file refuses to guess at meaning: it shortens and cleans, and never rewords.

use crate::redact::unseen::is_invisible;
use std::borrow::Cow;

/// What stands where something was cut away.
pub const MARK: &str = "…";

/// Shown in place of a newline where a field is one line.
const NEWLINE: &str = " ⏎ ";

/// Text of one line: escape sequences, control characters and everything invisible taken out, newlines shown as `⏎`,
/// tabs as a space, nothing at either end.
pub fn one_line(text: &str) -> String {
    let cleaned = cleaned(text);
    let mut line = String::with_capacity(cleaned.len());
    for (n, part) in cleaned.trim().split('\n').enumerate() {
        if n > 0 {
            line.push_str(NEWLINE);
        }
        line.push_str(part.trim_end());
    }
    line
}

/// Text that may have several lines, such as a note: cleaned like [`one_line`], the newlines kept.
pub fn several_lines(text: &str) -> String {
    cleaned(text).trim().to_owned()
}

/// At most `room` of the text, measured by `width` for each character, with [`MARK`] behind where it was cut.
///
/// The sinks count differently (characters, bytes, what escaping makes of them), hence the measure. The mark is part of
/// the room. A joined emoji may lose its last parts; a character is never split.
pub fn cut(text: &str, room: usize, width: impl Fn(char) -> usize) -> Cow<'_, str> {
    if text.chars().map(&width).sum::<usize>() <= room {
        return Cow::Borrowed(text);
    }
    let room = room.saturating_sub(MARK.chars().map(&width).sum());
    let mut used = 0;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += width(*c);
            used <= room
        })
        .collect();
    let kept = kept.trim_end_matches(|c: char| c == ZERO_WIDTH_JOINER || c.is_whitespace());
    Cow::Owned(format!("{kept}{MARK}"))
}

/// How much of a list may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// At most so many lines.
    pub lines: usize,
    /// Each at most so wide.
    pub each: usize,
    /// All together, a newline behind each counted.
    pub total: usize,
}

/// The first lines that have room, and if some have none, a last line that says how many. One line always stays.
pub fn fitting(lines: &[String], room: Room, width: impl Fn(char) -> usize) -> Vec<String> {
    /// For "… and 18446744073709551615 more", in every measure.
    const ROOM_FOR_THE_REST: usize = 40;
    let each = room.each.min(room.total.saturating_sub(ROOM_FOR_THE_REST));
    let mut kept: Vec<String> = Vec::new();
    let mut used = 0;
    for (n, line) in lines.iter().enumerate() {
        let line = cut(line, each, &width).into_owned();
        let needs = line.chars().map(&width).sum::<usize>() + width('\n');
        let left = lines.len() - n;
        let reserve = if left == 1 { 0 } else { ROOM_FOR_THE_REST };
        let is_full = used + needs + reserve > room.total || (n + 1 >= room.lines && left > 1);
        if n > 0 && is_full {
            kept.push(format!("{MARK} and {left} more"));
            break;
        }
        used += needs;
        kept.push(line);
    }
    kept
}

const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Escape sequences and invisible characters out, every kind of line break as `\n`, other blanks as a space.
fn cleaned(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape_sequence(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\r' => {
                if rest.peek() != Some(&'\n') {
                    clean.push('\n');
                }
            }
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => clean.push('\n'),
            '\t' => clean.push(' '),
            c if c.is_control() || is_invisible(c) => {}
            c => clean.push(c),
        }
    }
    clean
}

/// Whether a character acts on what it is shown on, or hides: a control or line break of any kind, a turned direction, nothing
/// to be seen. What is shown raw, as in the log, must escape these.
pub fn acts_on_a_screen(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// How far an escape sequence is followed before it counts as text that merely began with an escape: longer ones are not
/// in use, and one that never ends must not swallow the page.
const LONGEST_SEQUENCE: usize = 64;

/// The rest of a sequence whose escape character was just taken.
fn skip_escape_sequence(rest: &mut Chars<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        // Strings to the terminal (a title, a link): up to BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let mut ahead = rest.clone();
            for _ in 0..LONGEST_SEQUENCE {
                match ahead.next() {
                    Some('\u{7}' | '\u{9c}') => {
                        *rest = ahead;
                        return;
                    }
                    Some('\u{1b}') => {
                        if ahead.peek() == Some(&'\\') {
                            ahead.next();
                        }
                        *rest = ahead;
                        return;
                    }
                    Some(_) => {}
                    None => return,
                }
            }
        }
        // Two characters, or three where the first chooses a set.
        Some('(' | ')' | '*' | '+' | '#' | ' ' | '%') => {
            rest.next();
            rest.next_if(|c| c.is_ascii_graphic());
        }
        Some('0'..='~') => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

/// Parameters and the final letter of a control sequence.
fn skip_control_sequence(rest: &mut Chars<'_>) {
    for _ in 0..LONGEST_SEQUENCE {
        if rest.next_if(|c| (' '..='?').contains(c)).is_none() {
            break;
        }
    }
    rest.next_if(|c| ('@'..='~').contains(c));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_leave_nothing_behind() {
        assert_eq!(one_line("\u{1b}[31mred\u{1b}[0m \u{9b}1mbold"), "red bold");
        assert_eq!(one_line("\u{1b}]0;a title\u{7}text"), "text");
        assert_eq!(one_line("\u{1b}]8;;https://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(one_line("\u{1b}(Bplain\u{1b}c"), "plain");
    }

    #[test]
    fn a_sequence_that_never_ends_does_not_swallow_the_text() {
        let text = format!("\u{1b}]{}", "word ".repeat(100));
        assert!(one_line(&text).contains("word word"));
    }

    #[test]
    fn what_cannot_be_seen_is_gone_and_emoji_stay_whole() {
        assert_eq!(one_line("a\0b\u{202e}c\u{200b}d\u{feff}\u{7f}"), "abcd");
        assert_eq!(one_line("👩\u{200d}🚒 ❤\u{fe0f}"), "👩\u{200d}🚒 ❤\u{fe0f}");
    }

    #[test]
    fn newlines_of_every_kind_are_shown_in_one_line() {
        assert_eq!(one_line("a\r\nb\nc\rd\u{2028}e\n"), "a ⏎ b ⏎ c ⏎ d ⏎ e");
        assert_eq!(several_lines("a\r\nb\n\n"), "a\nb");
    }

    #[test]
    fn what_fits_is_not_marked() {
        assert_eq!(cut("ünder", 5, |_| 1), "ünder");
        assert_eq!(cut("ünder", 4, |_| 1), "ünd…");
        assert_eq!(cut("ünder", 5, char::len_utf8), "ü…");
    }

    #[test]
    fn a_joined_emoji_does_not_end_in_its_joiner() {
        assert_eq!(cut("👩\u{200d}🚒🚒", 3, |_| 1), "👩…");
    }

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        let lines: Vec<String> = (0..10).map(|n| format!("line {n} is here")).collect();
        assert_eq!(
            fitting(&lines, Room { lines: 50, each: 100, total: 80 }, |_| 1),
            ["line 0 is here", "line 1 is here", "… and 8 more"]
        );
        assert_eq!(
            fitting(&lines, Room { lines: 3, each: 8, total: 1000 }, |_| 1),
            ["line 0…", "line 1…", "… and 8 more"]
        );
        assert_eq!(fitting(&lines, Room { lines: 10, each: 100, total: 1000 }, |_| 1), lines);
    }

    proptest! {
        #[test]
        fn a_cut_text_fits_in_every_measure(text in any::<String>(), room in 3_usize..60) {
            prop_assert!(cut(&text, room, |_| 1).chars().count() <= room);
            prop_assert!(cut(&text, room, char::len_utf8).len() <= room);
            prop_assert!(cut(&text, room, char::len_utf16).encode_utf16().count() <= room);
        }

        #[test]
        fn a_line_holds_nothing_that_acts_on_a_screen(text in any::<String>()) {
            let line = one_line(&text);
            prop_assert!(!line.chars().any(|c| c.is_control() || is_invisible(c)), "{line:?}");
        }

        #[test]
        fn lines_fit_their_room(lines in proptest::collection::vec("[ -~]{0,80}", 0..30), room in 60_usize..500) {
            let kept = fitting(&lines, Room { lines: 8, each: 50, total: room }, char::len_utf8);
            prop_assert!(kept.len() <= 8);
            prop_assert!(kept.iter().map(|line| line.len() + 1).sum::<usize>() <= room);
        }
    }
}
