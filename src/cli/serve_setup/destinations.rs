//! Where calls go: printed when a run starts, and checked when it ends.

use super::upstream::UpstreamSettings;
use super::upstream_address::without_secrets;
use loomrec_engine::route::MountedUpstream;
use loomrec_engine::upstream::origin_words;
use loomrec_identity::spelling;
use loomrec_provider::directory::KnownUpstream;
use url::Url;

impl UpstreamSettings {
    /// Returns where calls go, if the user gave an address.
    pub fn describe_destinations(&self) -> Option<String> {
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for upstream in self.routes.named.iter().filter(|upstream| self.is_given(upstream)) {
            let Some(address) = base_address(upstream) else { continue };
            match groups.iter_mut().find(|(known, _)| *known == address) {
                Some((_, names)) => names.push(&upstream.name),
                None => groups.push((address, vec![&upstream.name])),
            }
        }
        let mut parts: Vec<String> = groups
            .iter()
            .map(|(address, names)| format!("{} → {address}", names.join(", ")))
            .collect();
        match &self.routes.single {
            Some(base) => parts.push(format!("all others → {}", address_without_secrets(base))),
            None if parts.is_empty() => return None,
            None => parts.push("all others → their public addresses".to_owned()),
        }
        Some(format!("loomrec: upstreams: {}", parts.join(" · ")))
    }

    /// Returns a note about upstreams that `--upstream` names and that got no call: if they are
    /// not known ones, or if other calls went to an address that the user did not give. Either may
    /// be the sign of a misspelled name.
    pub fn unused_note(&self) -> Option<String> {
        let routes = &self.routes.named;
        let is_unused = |name: &&String| {
            routes.iter().any(|upstream| upstream.name == **name && !upstream.is_used())
        };
        let unused = self.declared.iter().filter(is_unused).map(String::as_str);
        let strays: Vec<&MountedUpstream> = routes
            .iter()
            .filter(|upstream| upstream.is_used() && !self.is_given(upstream))
            .filter(|upstream| self.routes.single.is_none() && upstream.base.is_some())
            .collect();
        let is_suspect = |name: &&str| !strays.is_empty() || KnownUpstream::find(name).is_none();
        let unused: Vec<&str> = unused.filter(is_suspect).collect();
        let mut text = match unused.as_slice() {
            [] => return None,
            [one] if strays.is_empty() => {
                format!("upstream {one} got no call; clients reach it below $LOOMREC_URL/{one}")
            }
            [one] => format!("upstream {one} got no call"),
            all => format!("upstreams {} got no call", all.join(", ")),
        };
        let places: Vec<String> = strays
            .iter()
            .filter_map(|stray| Some(format!("{} went to {}", stray.name, base_address(stray)?)))
            .collect();
        if !places.is_empty() {
            text.push_str(&format!("; calls to {}", places.join(", calls to ")));
        }
        let names: Vec<&str> = strays.iter().map(|stray| stray.name.as_str()).collect();
        let meant = match names.as_slice() {
            [one] => Some(*one),
            several => unused.iter().find_map(|name| spelling::nearest_name(name, several)),
        };
        if let Some(meant) = meant {
            text.push_str(&format!(": did you mean --upstream {meant}=URL?"));
        }
        Some(text)
    }

    fn is_given(&self, upstream: &MountedUpstream) -> bool {
        self.given.contains(&upstream.name)
    }
}

/// Returns the address of an upstream, without secrets.
fn base_address(upstream: &MountedUpstream) -> Option<String> {
    upstream.base.as_ref().map(address_without_secrets)
}

fn address_without_secrets(base: &Url) -> String {
    match base.scheme() {
        "http" | "https" => without_secrets(base.as_str()).trim_end_matches('/').to_owned(),
        _ => origin_words(base),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::super::upstreams_at;
    use super::*;

    /// The settings of these flags, after calls to these paths.
    fn called(flags: &[&str], paths: &[&'static str]) -> UpstreamSettings {
        let flags: Vec<String> = flags.iter().map(|text| (*text).to_owned()).collect();
        let settings = upstreams_at(&flags, Vec::new()).unwrap();
        for path in paths {
            let uri = http::Uri::from_static(path);
            settings.routes.find_route(&Method::POST, &uri, &HeaderMap::new()).unwrap();
        }
        settings
    }

    #[test]
    fn destinations_are_those_that_the_user_gave() {
        let told = |flags: &[&str]| called(flags, &[]).describe_destinations();
        assert_eq!(told(&[]), None);
        let flags = ["groq=http://a:1/x/", "openai=https://u:p@b", "mine=http://a:1/x"];
        assert_eq!(
            told(&flags).unwrap(),
            "loomrec: upstreams: openai → https://…@b · groq, mine → http://a:1/x · all others → \
             their public addresses"
        );
        assert_eq!(told(&["http://a:1"]).unwrap(), "loomrec: upstreams: all others → http://a:1");
    }

    #[test]
    fn upstream_without_a_call_is_told_where_another_was_called_instead() {
        let told = |flags: &[&str], paths: &[&'static str]| called(flags, paths).unused_note();
        let (openai, groq) = ("/openai/v1/models", "/groq/openai/v1/models");
        assert_eq!(
            told(&["gateway=http://a:1"], &[openai]).unwrap(),
            "upstream gateway got no call; calls to openai went to https://api.openai.com: did you \
             mean --upstream openai=URL?"
        );
        assert_eq!(
            told(&["anthropic=http://a:1", "grow=http://a:1"], &[openai, groq]).unwrap(),
            "upstreams anthropic, grow got no call; calls to openai went to \
             https://api.openai.com, calls to groq went to https://api.groq.com: did you mean \
             --upstream groq=URL?"
        );
        assert_eq!(
            told(&["mine=http://a"], &[]).unwrap(),
            "upstream mine got no call; clients reach it below $LOOMREC_URL/mine"
        );
        let both = ["openai=http://a:1", "anthropic=http://a:1"];
        assert_eq!(told(&both, &[openai]), None);
        assert_eq!(told(&["mine=http://a:1"], &["/mine/v1"]), None);
        assert_eq!(told(&["groq=http://a:1", "http://b:2"], &["/v1/models"]), None);
    }
}
