use super::*;
use proptest::prelude::*;

/// `×` stands for what is hidden.
fn shown(text: &str) -> String {
    super::text(text).replace(HIDDEN, "×")
}

fn all(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(text, wanted)| (text, shown(text), wanted))
        .filter(|(_, shown, wanted)| shown != *wanted)
        .map(|(text, shown, wanted)| format!("{text}\n  is    {shown}\n  not   {wanted}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_a_name_sets_is_hidden() {
    all(&[
        ("GET /h?token=abc&x=1 failed", "GET /h?token=×&x=1 failed"),
        ("DB_PASSWORD=hunter2 exit 1", "DB_PASSWORD=× exit 1"),
        ("PGPASSWORD=x psql: error", "PGPASSWORD=× psql: error"),
        ("MYSQL_PWD=x", "MYSQL_PWD=×"),
        ("password: hunter2", "password: ×"),
        ("password:hunter2", "password:×"),
        ("Password = hunter2", "Password = ×"),
        ("password => 'hunter2'", "password => '×'"),
        ("token: abcdef, retrying", "token: ×, retrying"),
        ("token:Abcdef123456 rejected", "token:× rejected"),
        ("accessToken=abc, clientSecret=def", "accessToken=×, clientSecret=×"),
        ("status=down,token=abc,reason=timeout", "status=down,token=×,reason=timeout"),
        ("password=hun,ter;2) failed", "password=×) failed"),
        ("password=it's x", "password=× x"),
        ("(password=abc)", "(password=×)"),
        (
            "SECRET_KEY_BASE=abc API_KEYS=a TOKEN_2=b PASSWORD_OLD=c",
            "SECRET_KEY_BASE=× API_KEYS=× TOKEN_2=× PASSWORD_OLD=×",
        ),
        ("user=app pass=hunter2", "user=app pass=×"),
        ("SMTP_PASS=hunter2 dbPass=x1y2", "SMTP_PASS=× dbPass=×"),
        ("https://s3/x?X-Amz-Signature=abc&sig=def", "https://s3/x?X-Amz-Signature=×&sig=×"),
        (
            "AccountName=a;AccountKey=abc==;EndpointSuffix=b",
            "AccountName=a;AccountKey=×;EndpointSuffix=b",
        ),
        ("<password>hunter2</password>", "<password>×</password>"),
        ("password%3Dhunter2", "password%3D×"),
        ("Ünïcode password=ß!", "Ünïcode password=×"),
        ("password=🦀🦀 und", "password=× und"),
        ("password=", "password="),
        ("password=\nnext line", "password=\nnext line"),
    ]);
}

#[test]
fn short_names_of_a_password_are_understood() {
    all(&[
        ("pass: hunter2", "pass: ×"),
        ("user: app, pass: hunter2, host: db", "user: app, pass: ×, host: db"),
        ("pass: correcthorse", "pass: ×"),
        ("pass:hunter2", "pass:×"),
        ("PASS: hunter2 rejected", "PASS: × rejected"),
        (r#"{"user":"app","pass":"hunter2"}"#, r#"{"user":"app","pass":"×"}"#),
        ("smtp_pass: x1 dbPass: x2", "smtp_pass: × dbPass: ×"),
        ("pass=x pw=x passphrase=x", "pass=× pw=× passphrase=×"),
        ("pw: x pw=1234 db_pw=12 dbPw=x", "pw: × pw=× db_pw=× dbPw=×"),
        ("DB_PW=1 ADMIN_PW: abc", "DB_PW=× ADMIN_PW: ×"),
        ("passphrase: 'open se same'", "passphrase: '×'"),
        ("pass:\n  hunter2\nuser: a", "pass:\n  ×\nuser: a"),
    ]);
}

#[test]
fn quotes_and_json_are_understood() {
    all(&[
        (r#"{"password":"x","a":1}"#, r#"{"password":"×","a":1}"#),
        (r#"{"password": "p w", "a":1}"#, r#"{"password": "×", "a":1}"#),
        (r#"{"password":"a\"b","a":1}"#, r#"{"password":"×","a":1}"#),
        (r#"{\"token\":\"p w\",\"a\":1}"#, r#"{\"token\":\"×\",\"a\":1}"#),
        (r#"{"client_secret":"s"}"#, r#"{"client_secret":"×"}"#),
        (r#"{"secret":1234,"a":1}"#, r#"{"secret":×,"a":1}"#),
        (r#"{"tokens":["a","b"],"a":1}"#, r#"{"tokens":×,"a":1}"#),
        (r#"{"credentials":{"u":"a","p":"b"},"a":1}"#, r#"{"credentials":×,"a":1}"#),
        ("headers['Authorization'] = 'Bearer x'", "headers['Authorization'] = '×'"),
        ("password='never closed and long", "password='×"),
        (r#"{"msg":"password=abc","x":1}"#, r#"{"msg":"password=×","x":1}"#),
        (r"password=\hunter2 x", "password=× x"),
    ]);
}

#[test]
fn headers_and_schemes_are_hidden() {
    all(&[
        ("authorization: Basic dXNlcg== x", "authorization: × x"),
        ("Authorization: Bearer abc.def\r\nHost: a", "Authorization: ×\r\nHost: a"),
        ("Authorization:Basic dXNlcg==", "Authorization:×"),
        ("curl -H 'Authorization: Bearer abc' http://a/b", "curl -H 'Authorization: ×' http://a/b"),
        ("Authorization: Digest username=\"a\", response=\"b\"\nnext", "Authorization: ×\nnext"),
        ("Cookie: a=b; c=d\nnext", "Cookie: ×\nnext"),
        ("X-Api-Key: abc", "X-Api-Key: ×"),
        ("sent Bearer abc.def", "sent Bearer ×"),
        ("sent Basic dXNlcjpwYXNz.", "sent Basic ×."),
        ("bearer dGhpc0lzQVRva2Vu", "bearer ×"),
    ]);
}

#[test]
fn command_lines_are_understood() {
    all(&[
        ("app --password hunter2 --host a", "app --password × --host a"),
        ("app --password=hunter2", "app --password=×"),
        ("app --api-key 'a b' x", "app --api-key '×' x"),
        ("curl -u admin:hunter2 http://a", "curl -u admin:× http://a"),
        ("curl --user 'admin:hun ter' http://a", "curl --user 'admin:×' http://a"),
        ("app --password --host a", "app --password --host a"),
        ("app --token-file /run/secrets/x", "app --token-file /run/secrets/x"),
        ("--password is required", "--password is required"),
    ]);
}

#[test]
fn passwords_in_urls_are_hidden() {
    all(&[
        (
            "https://u:p@registry.npmjs.org/@babel/core",
            "https://u:×@registry.npmjs.org/@babel/core",
        ),
        ("git+https://u:t@github.com/o/r.git@v1.2", "git+https://u:×@github.com/o/r.git@v1.2"),
        ("postgres://app:hunter2@db:5432/x?y=z", "postgres://app:×@db:5432/x?y=z"),
        ("redis://:hunter2@cache down", "redis://:×@cache down"),
        ("amqp://u:p%40s%2Fs@mq/v", "amqp://u:×@mq/v"),
        ("http://u:p@ss@host/", "http://u:×@host/"),
        ("redis://:p/w@host", "redis://:×@host"),
        ("https://ghp0123456789abcdef@git/x", "https://×@git/x"),
        ("postgres%3A%2F%2Fapp%3Ahunter2%40db%2Fx", "postgres%3A%2F%2Fapp%3A×%40db%2Fx"),
        ("root:hunter2@tcp(db:3306)/x refused", "root:×@tcp(db:3306)/x refused"),
        ("https://hooks.slack.com/services/T0/B0/abc failed", "https://hooks.slack.com/× failed"),
        ("redis://:p@ss/word@h", "redis://:×@h"),
        ("redis://:p@ss/w@rd/x@h:6379/0 down", "redis://:×@h:6379/0 down"),
        ("mongodb://u:p@ss/w@h1:1,h2:2/db", "mongodb://u:×@h1:1,h2:2/db"),
        ("http://u:p@host/a?mail=b@c", "http://u:×@host/a?mail=b@c"),
        ("oci://u:p@host/a@sha256:0abc", "oci://u:×@host/a@sha256:0abc"),
        ("http://u:p@[::1]:80/", "http://u:×@[::1]:80/"),
        ("http://git@host:80/a@b", "http://git@host:80/a@b"),
        ("ssh://git@github.com/x", "ssh://git@github.com/x"),
        ("http://db:5432/a@b", "http://db:5432/a@b"),
        ("http://[::1]:8080/a@b", "http://[::1]:8080/a@b"),
        ("http://a/b:c@d", "http://a/b:c@d"),
    ]);
}

#[test]
fn what_is_formed_like_a_secret_is_one() {
    all(&[
        ("bad signature whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "bad signature ×"),
        ("[whsec_MfKQ+9r8/GKY==] is no key", "[×] is no key"),
        ("it begins with whsec_ and goes on", "it begins with whsec_ and goes on"),
        ("key AKIAIOSFODNN7EXAMPLE is", "key × is"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPx x", "AWS_SECRET_ACCESS_KEY=× x"),
        ("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AWS_ACCESS_KEY_ID=×"),
        ("ghp_0123456789abcdefghij", "×"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF-_123", "×"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- x",
            "-----BEGIN RSA PRIVATE KEY-----×-----END RSA PRIVATE KEY----- x",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----×"),
    ]);
}

#[test]
fn keys_of_known_forms_are_hidden_without_a_name() {
    let long =
        |begin: &str, more: usize| format!("{begin}{}", "aB3".repeat(30).get(..more).unwrap());
    for key in [
        long("sk-ant-api03-", 40),
        long("sk-proj-", 40),
        long("sk-svcacct-", 40),
        long("AIza", 35),
        long("npm_", 36),
        long("hf_", 34),
        format!("{}.{}", long("SG.", 22), long("", 43)),
    ] {
        let text = format!("the key {key} is not valid");
        assert_eq!(shown(&text), "the key × is not valid");
        // Half of it is a word like others.
        let half = key.get(..12).unwrap();
        assert_eq!(shown(half), half);
    }
    let bot = long("", 35);
    all(&[
        (&format!("123456789:{bot} answers 401"), "123456789:× answers 401"),
        (
            &format!("https://api.telegram.org/bot12345678:{bot}/getMe"),
            "https://api.telegram.org/bot12345678:×/getMe",
        ),
        (&format!("1234567:{bot}"), &format!("1234567:{bot}")),
        (&format!("123456789:{bot}x"), &format!("123456789:{bot}x")),
    ]);
}

#[test]
fn private_keys_are_hidden_in_every_dress() {
    let pem = "-----BEGIN RSA PRIVATE KEY-----";
    for text in [
        format!("{pem}\nMIIE\n-----END RSA PRIVATE KEY-----"),
        format!(r"config:\n{pem}\nMIIE\n-----END RSA PRIVATE KEY-----\n"),
        format!(r#"{{"key":"\n{pem}\nMIIE"#),
        format!("TLS_PRIVATE_KEY={pem}\nMIIE\nMIIE"),
        format!("private_key: \"{pem}\nMIIE\nMIIE\n-----END RSA PRIVATE KEY-----\""),
        format!("private_key: |\n  {pem}\n  MIIE\n  MIIE"),
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nMIIE\n-----END PGP PRIVATE KEY BLOCK-----"
            .to_owned(),
    ] {
        let shown = shown(&text);
        assert!(!shown.contains("MIIE") && shown.contains('×'), "{text}\n{shown}");
    }
}

#[test]
fn a_value_below_its_name_is_hidden() {
    all(&[
        ("password:\n  hunter2\nuser: a", "password:\n  ×\nuser: a"),
        ("password:\r\n\thunter2\r\nuser: a", "password:\r\n\t×\r\nuser: a"),
        ("password: |-\n  hunter2\nuser: a", "password: |-\n  ×\nuser: a"),
        ("password:\n  'hun ter'\nuser: a", "password:\n  '×'\nuser: a"),
        ("passwords:\n  - hunter2\n", "passwords:\n  - ×\n"),
        (r"a:\npassword:\n  hunter2\nuser: a", r"a:\npassword:\n  ×\nuser: a"),
        ("secret:\n  name: a\n  size: 3", "secret:\n  name: a\n  size: 3"),
        ("password:\n  aHVudGVyMg==\n", "password:\n  ×\n"),
        ("invalid token:\nexpired", "invalid token:\nexpired"),
        ("password:\n", "password:\n"),
        ("password:\n\n", "password:\n\n"),
    ]);
}

#[test]
fn a_tight_colon_sets_unless_it_is_a_version_or_a_place() {
    all(&[
        ("token:hunter2", "token:×"),
        ("secret:abcdefgh", "secret:×"),
        ("secret:1234", "secret:×"),
        ("token:9f8e7d6c5b4a rejected", "token:× rejected"),
        ("x-api-key:abc", "x-api-key:×"),
        ("token:12", "token:12"),
        ("Unexpected token:12:5", "Unexpected token:12:5"),
        ("token:v1.2.3-rc1", "token:v1.2.3-rc1"),
        ("token:stable-alpine", "token:stable-alpine"),
        ("token:expired", "token:expired"),
        ("secret://vault/a", "secret://vault/a"),
    ]);
}

#[test]
fn variables_for_secrets_are_hidden_whatever_they_hold() {
    all(&[
        ("REDIS_PASS=20231115 x", "REDIS_PASS=× x"),
        ("REDIS_PASS=1", "REDIS_PASS=×"),
        ("redis_pass=20231115", "redis_pass=×"),
        (
            "FTP_PWD=1 STRIPE_KEY=2 CI_TOKEN=3 APP_SECRET=4",
            "FTP_PWD=× STRIPE_KEY=× CI_TOKEN=× APP_SECRET=×",
        ),
        ("PGPASS=abc REDISCLI_AUTH=abc", "PGPASS=× REDISCLI_AUTH=×"),
        ("STRIPE_KEY: abc", "STRIPE_KEY: ×"),
        (
            "BYPASS=1 COMPASS=north PASS=12 sort_key=7 KEY=a tests_pass=12",
            "BYPASS=1 COMPASS=north PASS=12 sort_key=7 KEY=a tests_pass=12",
        ),
    ]);
}

#[test]
fn short_flags_are_understood_behind_their_programs() {
    all(&[
        ("mysqladmin -uroot -phunter2 ping", "mysqladmin -uroot -p× ping"),
        ("mysql -h db -p'hun ter' -e x", "mysql -h db -p'×' -e x"),
        ("/usr/bin/mysqldump -p hunter2 db", "/usr/bin/mysqldump -p × db"),
        ("mysql -phun$ter,2 db", "mysql -p× db"),
        ("sshpass -p hunter2 ssh -p 2222 a@b", "sshpass -p × ssh -p 2222 a@b"),
        ("redis-cli -h cache -a hunter2 ping", "redis-cli -h cache -a × ping"),
        (r#"["redis-cli","-a","hun ter","ping"]"#, r#"["redis-cli","-a","×","ping"]"#),
        (r#"["mysqladmin", "-phunter2", "ping"]"#, r#"["mysqladmin", "-p×", "ping"]"#),
        (r#"["app", "--password", "hunter2"]"#, r#"["app", "--password", "×"]"#),
        ("mysql -p -h db", "mysql -p -h db"),
        ("curl -a x -p 80", "curl -a x -p 80"),
        ("mysql is down\nnetstat -p 80", "mysql is down\nnetstat -p 80"),
        ("use --password, then", "use --password, then"),
    ]);
}

#[test]
fn a_blank_of_several_bytes_ends_what_stands_before_a_driver() {
    all(&[
        ("dial\u{3000}user:pw@tcp(db)", "dial\u{3000}user:×@tcp(db)"),
        ("dial\u{a0}user:pw@tcp(db)", "dial\u{a0}user:×@tcp(db)"),
    ]);
}

#[test]
fn a_text_may_begin_and_end_at_any_character() {
    let text = "é password:\r\n  - 'ß' \u{3000}u:p@tcp(é) mysql -p\u{3000}é -pé redis-cli\u{a0}-a é \
                \\n-----BEGIN é PRIVATE KEY BLOCK-----é REDIS_PASS=é http://é:é@é token:é \"tokens\":[\"é\"]";
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    for (n, from) in ends.iter().enumerate() {
        for to in &ends[n..] {
            super::text(&text[*from..*to]);
        }
    }
}

#[test]
fn everyday_text_stays_as_it_is() {
    for text in [
        "tokenizer ready",
        "tokenizer: ready",
        "password service is down",
        "password-service: down",
        "token_service=ok",
        "token-service:1.2",
        "token:latest",
        "registry/token:1.2.3-alpine",
        "no password given",
        "invalid token: expired",
        "Access denied for user 'root'@'localhost' (using password: YES)",
        "Unexpected token: }",
        r#"{"token":"ok","secret":null}"#,
        "secret",
        "password=",
        "key=value",
        "sort_key: 7",
        "tests pass: 12, fail: 3",
        "bypass=on compass: north pass=12",
        "compass=north compass: north bypass: on",
        "pass: 3 tests",
        "PASS: database",
        "--- PASS: TestQueue (0.01s)",
        "pass: 12/15, 98.5%",
        "pass: all tests",
        "Pass: ok",
        "second pass: done",
        "pass: 12ms",
        "pass:12",
        "password reset page",
        "npm_package_dependencies_with_a_very_long_name_indeed=1",
        "hf_hub_download_of_some_model_with_a_long_name failed",
        "sk-learn sk-proj AIza SG.io",
        "signature: mismatch",
        "basic authentication failed",
        "the bearer of bad news",
        "Bearer token missing",
        "WWW-Authenticate: Basic realm=\"api\"",
        "/etc/passwd: permission denied",
        "/run/secrets/db_password: no such file",
        "2026-11-29T10:00:00Z dial tcp 10.0.0.1:5432: connect: connection refused",
        "OCI runtime exec failed: exec failed: unable to start container process",
        "http://127.0.0.1:8080/health answered 503 in 12 ms",
        "a@tcp(x)",
        "",
    ] {
        assert!(matches!(super::text(text), Cow::Borrowed(_)), "{text}\n{}", shown(text));
    }
}

#[test]
fn what_was_redacted_stays_as_it_is() {
    for text in
        ["password=x y", "postgres://a:b@c", r#"{"token":"a b"}"#, "Authorization: Basic abc="]
    {
        let once = super::text(text).into_owned();
        assert_eq!(super::text(&once), once);
    }
}

#[test]
fn many_secrets_and_lines_without_end_cost_no_more_than_other_text() {
    let many = "password=hunter2 ".repeat(20_000);
    assert!(!super::text(&many).contains("hunter2"));
    for part in [
        "password=",
        "://",
        "a:b",
        "%3A%2F%2F",
        "@tcp(",
        "-----BEGIN ",
        "token=,",
        "password='\\",
        "--token -",
        "password:\n",
        "mysql -p ",
        "token:|-",
        "cookie:\\na=",
        "é://",
    ] {
        let hostile = part.repeat(100_000 / part.len());
        // That it comes back at all: each part is made to look far ahead.
        super::text(&hostile);
    }
}

#[test]
fn a_beginning_ends_before_a_secret_that_is_cut_in_two() {
    let text = format!("{} postgres://app:hunter2@db", "x".repeat(380));
    let beginning = beginning(&text, 100);
    assert!(!beginning.contains("hunter") && beginning.len() >= 100, "{beginning}");
    assert_eq!(super::beginning("password=x", 100), "password=[redacted]");
    assert_eq!(super::beginning(&"é".repeat(1000), 100), "é".repeat(200));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        super::text(&text);
    }

    #[test]
    fn nothing_made_of_its_signs_makes_it_panic_and_what_is_set_is_hidden(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("password"), Just("token"), Just("="), Just(": "), Just("\""), Just("'"), Just("\\"), Just("://"),
                Just("@"), Just("%3A%2F%2F"), Just("@tcp("), Just("bearer "), Just("--"), Just("é"), Just("\n"), Just(" "),
                Just("["), Just("-----BEGIN"), Just("\u{3000}"), Just("mysql"), Just("-p"), Just("redis-cli"), Just("-a"),
                Just(":\n"), Just("\\n"), Just("REDIS_PASS"), Just("|"), Just("- "), Just(","), Just("-----"), Just("PRIVATE KEY-----"), Just("/"), Just("<"), Just(">"), Just("&"),
            ],
            0..30,
        )
    ) {
        let text = parts.concat();
        super::text(&text);
        let named = format!("{text} password=hunter2");
        prop_assert!(!super::text(&named).contains("hunter2"), "{named}");
    }
}
