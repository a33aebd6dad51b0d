//! Characters that can't be seen, in one list for all: what one place lets pass another would have to take out, and two names
//! that look the same would be two.
//!
//! What turns the direction of reading round, breaks a line where no line ends, hides, or fills space with nothing. By
//! Unicode's `Default_Ignorable_Code_Point`, with the line breaks, the marks of direction and the blanks that are letters.
//! Spaces can be seen and are none of these. Control characters are not in here: `char::is_control` knows them.
//!
//! The joiner and the variation selectors are apart: emoji are built with them, so running text keeps them, and only in a
//! name they count where they join nothing.

/// Whether nothing of it is ever seen.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether it is seen only by what it makes of the characters around it.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Whether a name holds anything that can't be seen: also a joiner behind a letter that it can't change.
pub fn hides_something(name: &str) -> bool {
    let mut before = 'a';
    name.chars().any(|c| {
        let joins_nothing = is_joiner(c) && before.is_ascii();
        before = c;
        c.is_control() || is_invisible(c) || joins_nothing
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_found_wherever_it_stands() {
        for c in "\u{ad}\u{61c}\u{115f}\u{180e}\u{200b}\u{200e}\u{2028}\u{2029}\u{202e}\u{2060}\u{2069}\u{3164}\u{feff}\u{ffa0}\
                  \u{e0000}\u{e0041}\u{e01ef}"
            .chars()
        {
            assert!(is_invisible(c), "{c:?}");
            for name in [format!("{c}web"), format!("w{c}eb"), format!("web{c}")] {
                assert!(hides_something(&name), "{name:?}");
            }
        }
        assert!(hides_something("web\u{200d}") && hides_something("\u{fe0f}web"));
        assert!(hides_something("a\0b") && hides_something("a\nb"));
    }

    #[test]
    fn what_people_write_can_be_seen() {
        for name in ["web-1", "größe", "口座", "हिन्दी", "a b", "👩\u{200d}🚒", "❤\u{fe0f} love", ""]
        {
            assert!(!hides_something(name), "{name:?}");
        }
    }
}
