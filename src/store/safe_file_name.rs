//! Names of files for texts from outside.
//!
//! A name is made from a text, and is not interpreted when it is read. It is safe on the file
//! systems of Linux, macOS and Windows: two texts never have the same name there, even if upper and
//! lower case are equal, and no name leads out of its folder.

use sha2::{Digest as _, Sha256};

/// The most bytes of a name without its ending.
const LONGEST: usize = 100;

/// How many bytes of a longer name are kept, before its hash.
const KEPT: usize = 80;

/// Names that no file can have on Windows, whatever comes after a dot.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The same, with a digit after them.
const NUMBERED: [&str; 2] = ["com", "lpt"];

/// Returns the name of a file for a text from outside, with this ending. A byte that is not plain is
/// written as `%` and two hex digits. If the rest does not distinguish it from all other texts,
/// because it has a capital letter or was cut, a `~` and a part of the text's SHA-256 follow.
pub fn safe_file_name(text: &str, ending: &str) -> String {
    let mut name = safe_stem(text);
    name.push_str(ending);
    name
}

fn safe_stem(text: &str) -> String {
    let reserved = is_reserved(text);
    let mut stem = String::with_capacity(text.len());
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        let plain = match byte {
            b'.' => at > 0 && at + 1 < text.len(),
            b'-' => at > 0,
            b'#' | b'+' | b',' | b'=' | b'@' | b'_' => true,
            _ => byte.is_ascii_alphanumeric(),
        };
        match plain && !(reserved && at == 0) {
            true => stem.push(char::from(byte)),
            false => stem.push_str(&format!("%{byte:02x}")),
        }
    }
    if stem.is_empty() {
        stem.push('%');
    }
    let digits = match stem.len() > LONGEST {
        true => 16,
        false if text.bytes().any(|byte| byte.is_ascii_uppercase()) => 8,
        false => return stem,
    };
    if digits == 16 {
        // Not within the three characters of one byte.
        let cut = (KEPT - 2..KEPT).find(|&at| stem.as_bytes()[at] == b'%').unwrap_or(KEPT);
        stem.truncate(cut);
    }
    stem.push('~');
    for byte in Sha256::digest(text).iter().take(digits / 2) {
        stem.push_str(&format!("{byte:02x}"));
    }
    stem
}

fn is_reserved(text: &str) -> bool {
    let first = text.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered =
        |name: &str| matches!(first.strip_prefix(name).map(str::as_bytes), Some([b'0'..=b'9']));
    RESERVED.contains(&first.as_str()) || NUMBERED.into_iter().any(numbered)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_text(text: &str) -> String {
        safe_file_name(text, ".json")
    }

    #[test]
    fn plain_texts_are_names_as_they_are() {
        let hash = "0af9".repeat(16);
        for text in ["plan", "plan#2", "turn-1.search", "a=b,c+d@e_f", &hash, &format!("{hash}#12")]
        {
            assert_eq!(of_text(text), format!("{text}.json"));
        }
    }

    #[test]
    fn what_a_file_system_takes_otherwise_is_spelled_out() {
        for (text, name) in [
            ("../../x", "%2e.%2f..%2fx.json"),
            ("a/b", "a%2fb.json"),
            ("a\\b:c", "a%5cb%3ac.json"),
            (".hidden", "%2ehidden.json"),
            ("-rf", "%2drf.json"),
            ("dot.", "dot%2e.json"),
            ("end ", "end%20.json"),
            ("con", "%63on.json"),
            ("nul.txt", "%6eul.txt.json"),
            ("com1", "%63om1.json"),
            ("comb", "comb.json"),
            ("a%2fb", "a%252fb.json"),
            ("a~1", "a%7e1.json"),
            ("é\0", "%c3%a9%00.json"),
            ("", "%.json"),
            (".", "%2e.json"),
        ] {
            assert_eq!(of_text(text), name);
        }
    }

    #[test]
    fn capitals_and_long_texts_are_told_apart_by_a_hash() {
        assert!(of_text("Plan").starts_with("Plan~") && of_text("Plan").len() == 4 + 9 + 5);
        assert_ne!(of_text("Plan").to_lowercase(), of_text("plan").to_lowercase());
        assert_ne!(of_text("Plan").to_lowercase(), of_text("pLan").to_lowercase());
        let long = |end: &str| of_text(&format!("{}{end}", "x".repeat(250)));
        assert_ne!(long("a"), long("b"));
        assert_eq!(long("a").len(), KEPT + 17 + 5);
        assert!(!of_text(&"é".repeat(128)).contains("%~"));
    }

    proptest! {
        #[test]
        fn no_two_texts_have_one_name_and_none_leads_out(a in any::<String>(), b in "[aAbB/.%~#é ]{0,12}", c in "[aAbB/.%~#é ]{0,12}") {
            for text in [&a, &b, &c] {
                let name = of_text(text);
                prop_assert!(name.len() <= LONGEST + 9 + ".json".len());
                prop_assert!(!name.starts_with('.') && name.bytes().all(|b| b.is_ascii_graphic() && !b"/\\:*?\"<>|".contains(&b)));
            }
            prop_assert_eq!(b == c, of_text(&b).to_lowercase() == of_text(&c).to_lowercase());
        }
    }
}
