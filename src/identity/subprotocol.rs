//! The subprotocols that the handshake of a WebSocket offers. Some carry a key.

/// The header that offers subprotocols.
pub const SUBPROTOCOLS: &str = "sec-websocket-protocol";

/// The subprotocols that the key follows as the next one.
const BEFORE_KEYS: [&str; 2] = ["token", "bearer"];

/// Returns the subprotocols that carry a key, and the key of each, among those that a handshake
/// offers: browsers have no other place for it.
pub fn offered_keys(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut before = "";
    value.split(',').map(str::trim).filter_map(move |protocol| {
        let is_key = BEFORE_KEYS.contains(&before);
        before = protocol;
        let own = protocol.strip_prefix("openai-insecure-api-key.");
        own.or_else(|| is_key.then_some(protocol)).map(|key| (protocol, key))
    })
}

/// Returns the subprotocols that a handshake offers, without those that carry a key or name an
/// account. Those that a key followed are the last ones: nothing else is taken for it then.
pub(super) fn without_keys(value: &str) -> String {
    let mut found = offered_keys(value).map(|(protocol, _)| protocol).peekable();
    let is_plain = |protocol: &&str| {
        let is_key = found.next_if(|key| std::ptr::eq(*key, *protocol)).is_some();
        let names_account = ["openai-organization.", "openai-project."];
        !is_key && !names_account.iter().any(|prefix| protocol.starts_with(prefix))
    };
    let plain = value.split(',').map(str::trim).filter(is_plain);
    let (last, mut kept): (Vec<_>, Vec<_>) = plain.partition(|it| BEFORE_KEYS.contains(it));
    kept.extend(last);
    kept.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subprotocols_are_kept_without_keys() {
        for (value, kept) in [
            ("realtime", "realtime"),
            (
                "realtime, openai-insecure-api-key.sk-1,openai-beta.realtime-v1",
                "realtime, openai-beta.realtime-v1",
            ),
            ("openai-insecure-api-key.sk-1", ""),
            ("realtime, openai-organization.org-1, openai-project.p", "realtime"),
            ("token, 0123", "token"),
            ("bearer,KEY, chat", "chat, bearer"),
        ] {
            assert_eq!(without_keys(value), kept, "{value}");
            assert_eq!(without_keys(kept), kept, "{value}");
        }
        let found: Vec<_> = offered_keys("token, 0123").map(|(_, key)| key).collect();
        assert_eq!(found, ["0123"]);
    }
}
