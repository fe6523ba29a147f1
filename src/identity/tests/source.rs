//! JSON texts of every shape, for property tests: the same value in many spellings, and edge cases
//! in which readers and writers disagree.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

/// Characters, and how each is spelled.
type Spelt = Vec<(char, u8)>;

/// A JSON value with its spelling.
#[derive(Clone, Debug)]
enum Node {
    Word(&'static str),
    Number(String),
    Text(Spelt),
    Array(Vec<Node>),
    Object(BTreeMap<String, (Spelt, Node)>),
}

/// The text of a JSON value.
pub(super) fn value() -> impl Strategy<Value = String> {
    (node(), spaces()).prop_map(|(node, spaces)| render(&node, &spaces))
}

/// The text of a chat body: an object with some of the members that enter the key.
pub(super) fn chat_body() -> impl Strategy<Value = String> {
    let names = [
        "messages",
        "model",
        "temperature",
        "max_tokens",
        "stream",
        "stream_options",
        "extra",
        "seed",
        "tools",
    ];
    let named = (select(names.to_vec()), 0..4_u8, node())
        .prop_map(|(name, style, node)| (name.chars().map(|c| (c, style)).collect(), node));
    let other = (spelt(), node());
    let members = prop::collection::vec(prop_oneof![4 => named, 1 => other], 0..9);
    (members, spaces()).prop_map(|(members, spaces)| render(&object(members), &spaces))
}

/// Damaged JSON.
pub(super) fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"0",
        b"-",
        b"1",
        b".",
        b"e",
        b"E+",
        b" ",
        b"\n",
        b"\t",
        b"\x0b",
        b"\x00",
        b"\x1f",
        b"\x7f",
        b"\xc2\x85",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\\u",
        b"\\ud83d",
        b"\\ude00",
        b"\\uD800\\u0041",
        b"\\x",
        b"null",
        b"NaN",
        b"-Infinity",
        b"true",
        b"//",
        b"'",
        b"\"a\":1,\"\\u0061\":2",
        b"\xef\xbb\xbf",
    ];
    let change = (any::<prop::sample::Index>(), 0..3_usize, select(pieces));
    (value(), prop::collection::vec(change, 1..3)).prop_map(|(text, changes)| {
        let mut bytes = text.into_bytes();
        for (at, removed, inserted) in changes {
            let at = at.index(bytes.len() + 1);
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, inserted.iter().copied());
        }
        bytes
    })
}

/// A number in a spelling that JSON allows.
pub(super) fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,30})",
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?",
        any::<u64>().prop_filter_map("finite", |bits| {
            let value = f64::from_bits(bits);
            value.is_finite().then(|| format!("{value:e}"))
        }),
        (-6..24_i32, 1..100_000_u32, any::<bool>()).prop_map(|(exponent, digits, negative)| {
            format!("{}{digits}e{exponent}", if negative { "-" } else { "" })
        }),
        any::<i64>().prop_map(|value| value.to_string()),
        // Midway between two texts of 16 or 17 digits.
        (1_u64 << 46..1 << 53, 1..6_i32)
            .prop_map(|(whole, shift)| format!("{:?}", whole as f64 / 2_f64.powi(shift))),
        select(vec![
            "-0",
            "-0.0",
            "0e0",
            "-0E-5",
            "1e400",
            "-1e400",
            "1e-400",
            "5e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "1.7976931348623157e308",
            "1.7976931348623159e308",
            "9007199254740993",
            "9007199254740993.0",
            "1e16",
            "1E15",
            "9999999999999999.0",
            "0.0001",
            "0.00001",
            "1e23",
            "1e22",
            "123456789012345678901234567890",
            "0.1e1",
            "100000e-5",
            "4.35",
            "0.000123456789012345678",
        ])
        .prop_map(str::to_owned),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        1 => select(vec!["null", "true", "false"]).prop_map(Node::Word),
        2 => number().prop_map(Node::Number),
        3 => spelt().prop_map(Node::Text),
    ];
    leaf.prop_recursive(8, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Node::Array),
            prop::collection::vec((spelt(), inner), 0..6).prop_map(object),
        ]
    })
}

fn object(members: Vec<(Spelt, Node)>) -> Node {
    let key = |spelt: &Spelt| spelt.iter().map(|(c, _)| *c).collect::<String>();
    Node::Object(members.into_iter().map(|(spelt, node)| (key(&spelt), (spelt, node))).collect())
}

fn spelt() -> impl Strategy<Value = Spelt> {
    let edges = [
        '"',
        '\\',
        '/',
        '\u{7f}',
        '\u{80}',
        '\u{2028}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '\u{10ffff}',
        '😀',
        'é',
        '漢',
    ];
    let c = prop_oneof![
        6 => proptest::char::range(' ', '~'),
        2 => any::<char>(),
        1 => proptest::char::range('\0', '\u{1f}'),
        2 => select(edges.to_vec()),
    ];
    prop::collection::vec((c, prop_oneof![6 => Just(0_u8), 1 => 1..4_u8]), 0..24)
}

fn spaces() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(vec!["", "", " ", "\n", "\t", "\r\n  "]), 1..12)
}

fn render(node: &Node, spaces: &[&str]) -> String {
    let mut text = String::new();
    let mut spaces = spaces.iter().copied().cycle();
    write(node, &mut spaces, &mut text);
    text
}

fn write<'s>(node: &Node, spaces: &mut impl Iterator<Item = &'s str>, text: &mut String) {
    text.extend(spaces.next());
    match node {
        Node::Word(word) => text.push_str(word),
        Node::Number(digits) => text.push_str(digits),
        Node::Text(spelt) => write_spelt(spelt, text),
        Node::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(item, spaces, text);
            }
            text.extend(spaces.next());
            text.push(']');
        }
        Node::Object(members) => {
            text.push('{');
            // The last key comes first, so that a writer has to sort.
            for (index, (spelt, value)) in members.values().rev().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                text.extend(spaces.next());
                write_spelt(spelt, text);
                text.extend(spaces.next());
                text.push(':');
                write(value, spaces, text);
            }
            text.extend(spaces.next());
            text.push('}');
        }
    }
    text.extend(spaces.next());
}

fn write_spelt(spelt: &Spelt, text: &mut String) {
    text.push('"');
    for (c, style) in spelt {
        let short = match c {
            '"' => Some('"'),
            '\\' => Some('\\'),
            '/' => Some('/'),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        let needed = matches!(c, '"' | '\\' | '\0'..='\u{1f}');
        match (style, short) {
            (0, _) if !needed => text.push(*c),
            (0 | 3, Some(short)) => text.extend(['\\', short]),
            (2, _) => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|u| text.push_str(&format!("\\u{u:04X}"))),
            _ => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|u| text.push_str(&format!("\\u{u:04x}"))),
        }
    }
    text.push('"');
}
