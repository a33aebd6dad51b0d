//! Signals as the engine writes them: by number, or by name, with or without `SIG`.

/// The number of a signal on Linux; `None` for a word that is none.
pub(super) fn number(text: &str) -> Option<u32> {
    let text = text.trim().to_ascii_uppercase();
    let name = text.strip_prefix("SIG").unwrap_or(&text);
    let numbered = [
        ("HUP", 1),
        ("INT", 2),
        ("QUIT", 3),
        ("ABRT", 6),
        ("KILL", 9),
        ("USR1", 10),
        ("USR2", 12),
        ("TERM", 15),
        ("WINCH", 28),
        ("PWR", 30),
        ("RTMIN", 34),
        ("RTMAX", 64),
    ];
    if let Some((_, number)) = numbered.iter().find(|(known, _)| *known == name) {
        return Some(*number);
    }
    if let Some(above) = name.strip_prefix("RTMIN+") {
        return above.parse::<u32>().ok().filter(|above| *above <= 30).map(|above| 34 + above);
    }
    if let Some(below) = name.strip_prefix("RTMAX-") {
        return below.parse::<u32>().ok().filter(|below| *below <= 30).map(|below| 64 - below);
    }
    name.parse().ok().filter(|number| (1..=64).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_read_and_nothing_else() {
        for (text, want) in [
            ("15", Some(15)),
            ("SIGQUIT", Some(3)),
            ("quit", Some(3)),
            ("SIGWINCH", Some(28)),
            ("SIGRTMIN+3", Some(37)),
            ("RTMAX-1", Some(63)),
            ("RTMIN+99999999999", None),
            ("0", None),
            ("-9", None),
            ("", None),
            ("SIGNOTHING", None),
        ] {
            assert_eq!(number(text), want, "{text}");
        }
    }
}
