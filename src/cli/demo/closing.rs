//! What is said at the end: of each container what was expected and what was seen, and what was removed.

use super::{
    judgement::{Judgement, Row},
    stage::Cleared,
    voice::{Tone, Voice},
};

pub(super) fn table(judgement: &Judgement, voice: &mut Voice) {
    voice.line(Tone::Plain, "");
    for Row { role, expected, seen, right } in judgement.rows() {
        let (tone, word) = if right { (Tone::Good, "right") } else { (Tone::Bad, "WRONG") };
        voice.line(tone, &format!("{role:<9} {word}  expected: {expected}"));
        voice.line(tone, &format!("{:<9}        seen:     {seen}", ""));
    }
    for stray in judgement.strays() {
        voice.line(Tone::Bad, &format!("told of beside, which is WRONG: {stray}"));
    }
    let (tone, text) = if judgement.is_right() {
        (Tone::Good, "\nEach was handled rightly.")
    } else {
        (Tone::Bad, "\nNot each was handled rightly. DEFIB_LOG=debug shows what defib thought.")
    };
    voice.line(tone, text);
}

pub(super) fn removed(cleared: &Cleared) -> String {
    let many = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    match cleared.images {
        0 => format!("Removed: {}.", many(cleared.containers, "container")),
        images => {
            let (containers, images) =
                (many(cleared.containers, "container"), many(images, "image"));
            format!("Removed: {containers}, {images}.")
        }
    }
}
