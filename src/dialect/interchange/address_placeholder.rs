//! Placeholders that filters of cassettes write into addresses: `<AWS_REGION>`.

use super::assumption::ImportNote;

/// The most characters of an address that a message shows.
const SHOWN: usize = 120;

/// An address without placeholders that no URL can hold.
pub(super) struct FilledAddress {
    pub(super) url: String,
    pub(super) notes: Vec<ImportNote>,
}

/// Replaces the placeholders for which the user gave a value in a text.
pub(super) fn substitute_values(text: &str, values: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (name, value) in values {
        for written in [format!("<{name}>"), format!("%3C{name}%3E"), format!("%3c{name}%3e")] {
            text = text.replace(&written, value);
        }
    }
    text
}

/// Returns an address whose host is whole. A placeholder that is a part of the host gets a
/// stand-in, since the key does not depend on it. One in the path stays, escaped.
///
/// # Errors
/// If the host is a placeholder. The error names the address.
pub(super) fn fill_host(url: &str, values: &[(String, String)]) -> Result<FilledAddress, String> {
    let url = substitute_values(url, values);
    let mut notes = Vec::new();
    if !url.contains('<') {
        return Ok(FilledAddress { url, notes });
    }
    let scheme_end = url.find("://").map(|at| at + 3).unwrap_or_default();
    let host_end = url[scheme_end..].find(['/', '?']).map_or(url.len(), |at| scheme_end + at);
    let (host, rest) = (&url[scheme_end..host_end], &url[host_end..]);
    let is_whole = host.starts_with('<') && host.find('>').is_some_and(|end| end + 1 == host.len());
    if scheme_end == 0 || is_whole {
        let name = first_name(&url).unwrap_or("NAME");
        let shown: String = url.chars().take(SHOWN).collect();
        return Err(format!(
            "its address is {shown}, with a placeholder for the host: --substitute {name}=VALUE"
        ));
    }
    let host = replace_placeholders(host, |name| {
        let value = stand_in(name);
        notes.push(ImportNote::StandIn(format!("<{name}>: {value}")));
        value
    });
    let rest = replace_placeholders(rest, |name| {
        notes.push(ImportNote::Placeholder(name.to_owned()));
        format!("%3C{name}%3E")
    });
    Ok(FilledAddress { url: format!("{}{host}{rest}", &url[..scheme_end]), notes })
}

/// Returns the name of the first placeholder of a text.
fn first_name(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once('<')?;
    let (name, _) = behind.split_once('>')?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    (!name.is_empty() && name.chars().all(is_part)).then_some(name)
}

/// Replaces each placeholder of a text.
fn replace_placeholders(text: &str, mut value: impl FnMut(&str) -> String) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match first_name(rest) {
            Some(name) => {
                out.push_str(&value(name));
                rest = &rest[name.len() + 2..];
            }
            None => {
                out.push('<');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// Returns a label of a host for a placeholder.
fn stand_in(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    if upper.contains("REGION") {
        return "us-east-1".to_owned();
    }
    if upper.contains("LOCATION") {
        return "us-central1".to_owned();
    }
    let label = name.to_ascii_lowercase();
    let label = label.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    label.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholder_in_a_host_has_a_stand_in_and_one_in_a_path_stays() {
        let filled = |url: &str| fill_host(url, &[]).map(|filled| filled.url);
        for (url, wanted) in [
            ("https://b.<AWS_REGION>.amazonaws.com/a", "https://b.us-east-1.amazonaws.com/a"),
            ("https://<MY_NAME>.openai.azure.com", "https://my-name.openai.azure.com"),
            ("https://a.b/p/<PROJECT>/x?k=<KEY>", "https://a.b/p/%3CPROJECT%3E/x?k=%3CKEY%3E"),
            ("https://a.b/x", "https://a.b/x"),
        ] {
            assert_eq!(filled(url).as_deref(), Ok(wanted));
        }
        let told = filled("https://<HOST>/v1").unwrap_err();
        assert!(told.contains("https://<HOST>/v1") && told.contains("HOST=VALUE"), "{told}");
    }

    #[test]
    fn given_value_takes_the_place_of_its_name() {
        let values = [("PROJECT".to_owned(), "p1".to_owned())];
        let filled = fill_host("https://a.b/<PROJECT>/%3CPROJECT%3E", &values).unwrap();
        assert_eq!((filled.url.as_str(), filled.notes.len()), ("https://a.b/p1/p1", 0));
    }
}
