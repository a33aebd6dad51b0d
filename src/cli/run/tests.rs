use super::*;
use crate::domain::record::SinkRecord;

#[test]
fn pages_have_arrived_where_a_sink_for_them_was_proven_as_it_is_now() {
    let text = "[sink.a]\nterminal = {}\n[sink.b]\nterminal = {}\nseverities = ['ticket']\n";
    let host = HostName::new("kit-1");
    let mut config = config::parse("defib.toml", text, &host).unwrap().config;
    for sink in &mut config.policy.sinks {
        sink.definition = 7;
    }
    let arrived = |sink: &str, definition| {
        let sink = SinkName::new(sink);
        let record = Record::Sink(SinkRecord { sink, proven: true, definition });
        pages_have_arrived(&config, &HostClock::new(), &[record])
    };
    assert!(arrived("a", 7));
    assert!(!arrived("a", 8), "it went elsewhere then");
    assert!(!arrived("b", 7), "it takes no pages");
    assert!(!pages_have_arrived(&config, &HostClock::new(), &[]));
}
