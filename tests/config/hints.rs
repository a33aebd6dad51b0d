//! A slip of the pen is one problem, and its hint leads to what was meant.

use crate::problems;

const SINK: &str = "[sink.a]\nterminal = {}\n";

#[test]
fn a_misspelt_section_is_one_problem_with_the_nearest_known_key() {
    for (text, near) in [
        (format!("{SINK}[[service]]\nname = 'web'\n[[contaners]]\nname = 'web'\n"), "`containers`"),
        (
            format!(
                "{SINK}[[sevice]]\nname = 'web'\ncontainers = {{ name = 'web' }}\n\
                 [[service.probe]]\nhttp = ':80/'\n"
            ),
            "`service`",
        ),
        ("[snk.a]\nterminal = {}\n".to_owned(), "`sink`"),
        (format!("{SINK}[[hosts]]\nmatch = 'a'\nnever_act = true\n"), "`host`"),
        (
            format!("{SINK}[[service]]\nname = 'web'\n[[service.contaners]]\nname = 'web'\n"),
            "`containers`",
        ),
    ] {
        let found = problems(&text);
        assert_eq!(found.iter().count(), 1, "{text}{found}");
        let hint = found.iter().next().unwrap().hint.clone().unwrap_or_default();
        assert!(hint.contains(&format!("did you mean {near}?")), "{text}{hint}");
    }
}

#[test]
fn what_only_follows_from_a_key_that_is_refused_is_not_told() {
    for rest in [
        "contaners = { name = 'web' }\nreplicas = 2\n[[service.probe]]\nhttp = ':80/'\n",
        "replicas = 2\n",
        "containers = { name = 'web' }\ndepends_on = ['db']\n\
         [[service]]\nnmae = 'db'\ncontainers = { name = 'db' }\n",
        "containers = 'web'\nreplicas = 2\n[[service.probe]]\nhttp = ':80/'\n",
        "containers = { name = 3 }\nreplicas = 2\n[[service.probe]]\nhttp = ':80/'\n",
        "containers = { nmae = 'web' }\nreplicas = 2\n[[service.probe]]\nhttp = ':80/'\n",
        "containers = { name = 'web' }\nmin_healthy = 1\n[[service.prob]]\nhttp = ':80/'\n",
        "containers = { name = 'web' }\nmin_healthy = 1\n[[service.probe]]\nhtp = ':80/'\n",
        "containers = { name = 'web' }\nmin_healthy = 1\nprobe = { http = ':80/' }\n",
        "containers = { name = 'web' }\n[[service.prob]]\nhttp = ':80/'\n\
         [[service]]\nname = 'api'\ncontainers = { name = 'api' }\ndepends_on = ['web']\n",
    ] {
        let found = problems(&format!("{SINK}[[service]]\nname = 'web'\n{rest}"));
        assert_eq!(found.iter().count(), 1, "{rest}{found}");
    }
}

#[test]
fn no_hint_names_what_can_not_be_meant() {
    let text = format!(
        "{SINK}[[service]]\nname = 'a'\ncontainers = {{ name = 'a' }}\ndepends_on = ['b']\n\
         [[service]]\nname = 'web1'\ncontainers = {{ name = 'w' }}\nrestart = 'never'\n\
         depends_on = ['web2', 'db9']\n\
         [[service]]\nname = 'db9'\n[[service.probe]]\nhttp = 'http://a.example/'\n"
    );
    for problem in problems(&text).iter() {
        let hint = problem.hint.clone().unwrap_or_default();
        assert!(!hint.contains("did you mean"), "{}: {hint}", problem.title);
    }
}
