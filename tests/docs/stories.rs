//! What a sink is owed, asked of the code.

use crate::{
    domain::{
        message::Severity,
        telling::story::{Stage, Story, owed},
    },
    generated::{code, name, table},
};

fn story(level: Severity, stage: Stage) -> Story {
    Story { level, stage, given_up: 0, grown: 0, reminders: 0 }
}

pub fn owed_table() -> String {
    use Severity::{Notice, Page};
    use Stage::{Failing, Recovered, Resolved};
    let tolds = [
        ("nothing", None),
        ("a notice, `Failing`", Some(story(Notice, Failing))),
        ("a notice, `Recovered`", Some(story(Notice, Recovered))),
        ("a notice, `Resolved`", Some(story(Notice, Resolved))),
        ("a page, `Failing`", Some(story(Page, Failing))),
        ("a page, `Recovered`", Some(story(Page, Recovered))),
        ("a page, `Resolved`", Some(story(Page, Resolved))),
    ];
    let rows = tolds.map(|(said, told)| {
        let same = told.map_or(Notice, |told| told.level);
        let nows = [
            story(same, Failing),
            story(Page, Failing),
            Story { given_up: 2, ..story(same, Failing) },
            Story { grown: 1, ..story(same, Failing) },
            Story { reminders: 1, ..story(same, Failing) },
            story(same, Recovered),
            story(same, Resolved),
        ];
        let mut row = vec![said.to_owned()];
        row.extend(
            nows.map(|now| owed(told, now).map_or("·".to_owned(), |kind| code(name(&kind)))),
        );
        row
    });
    let head = [
        "the sink was told",
        "now `Failing`",
        "`Failing`, as a page",
        "`Failing`, given up",
        "`Failing`, more has come to it",
        "`Failing`, a reminder due",
        "`Recovered`",
        "`Resolved`",
    ];
    table(&head.map(str::to_owned), &rows)
}
