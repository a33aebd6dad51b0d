//! The known word that somebody probably meant. Says nothing rather than something far-fetched: a wrong guess costs the
//! reader more than none.

/// The nearest of the known words, where one is near: at most a third of the letters differ, one at least is allowed, and one
/// at least stays. Of equally near ones the first.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word: Vec<char> = word.to_lowercase().chars().take(LONGEST).collect();
    let allowed = (word.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let letters: Vec<char> = candidate.to_lowercase().chars().take(LONGEST).collect();
        if letters.len().abs_diff(word.len()) > allowed {
            continue;
        }
        let distance = distance(&word, &letters);
        // Of words of one letter each is one letter from every other.
        let is_near = distance <= allowed && distance < word.len().max(letters.len());
        if is_near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Words are compared by so many letters, so that a comparison costs little whatever stands in the file.
const LONGEST: usize = 64;

/// How many letters have to be put in, taken out, changed, or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const KEYS: [&str; 6] = ["restart", "restart_after", "page", "page_after", "severity", "name"];

    #[test]
    fn finds_swapped_left_out_and_wrong_letters() {
        assert_eq!(nearest("restrat", KEYS), Some("restart"));
        assert_eq!(nearest("sevrity", KEYS), Some("severity"));
        assert_eq!(nearest("page-after", KEYS), Some("page_after"));
        assert_eq!(nearest("Name", KEYS), Some("name"));
    }

    #[test]
    fn says_nothing_where_nothing_is_near() {
        assert_eq!(nearest("colour", KEYS), None);
        assert_eq!(nearest("", KEYS), None);
        assert_eq!(nearest("b", ["a"]), None);
        assert_eq!(nearest("x".repeat(100_000).as_str(), KEYS), None);
    }
}
