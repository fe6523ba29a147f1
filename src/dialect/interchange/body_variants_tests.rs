//! Generated test: each body of a good file of each format is removed, emptied, put elsewhere or
//! encoded in another way. The import may then end well only with the bytes of the good file.

mod good_file;

use std::io::Write as _;
use std::ops::ControlFlow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::import::tests::importer;
use super::{FoundItem, ImportRefusal, SkipCause, UpstreamAddresses, read};
use good_file::{GoodFile, cassettes, hars, words};
use loomrec_identity::IdentityRules;
use loomrec_recording::Entry;
use loomrec_recording::cost::PriceTable;
use loomrec_recording::entry_maker::EntryMaker;
use loomrec_recording::redact::Redactor;

/// How an import ended: the bodies of requests and answers in order, or `None` if a call was lost.
type Imported = Option<Vec<(Vec<u8>, Vec<u8>)>>;

fn answer_of(entry: &Entry) -> Vec<u8> {
    match &entry.response {
        Some(response) => response.payload.joined_bytes().to_vec(),
        None => json!([entry.content, entry.tool_calls.len()]).to_string().into_bytes(),
    }
}

fn import(maker: EntryMaker<'_>, good: &GoodFile, file: &Value) -> Imported {
    let (addresses, rules) = (UpstreamAddresses::default(), IdentityRules::default());
    let importer = importer(maker, &addresses, &rules);
    let (mut imported, mut is_lost) = (Vec::new(), false);
    let done = read(good.format, &mut file.to_string().as_bytes(), &mut |item| {
        let made = match item {
            FoundItem::Exchange(exchange) => importer.import_entry(*exchange),
            FoundItem::Words(words) => importer.import_text(*words),
            FoundItem::Entry(named) => importer.import_named(*named),
            FoundItem::Left(left) => {
                is_lost |= left.cause == SkipCause::Damaged;
                return ControlFlow::Continue(());
            }
        };
        match made {
            Ok(made) => {
                let request = made.entry.request.as_ref();
                let request = request.map(|request| request.body.to_vec()).unwrap_or_default();
                imported.push((request, answer_of(&made.entry)));
            }
            Err(ImportRefusal::Damaged(_)) => is_lost = true,
            Err(_) => {}
        }
        ControlFlow::Continue(())
    });
    (done.is_ok() && !is_lost && !imported.is_empty()).then_some(imported)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A body in another spelling, and names of the encodings that it may be said to have.
struct SpeltBody {
    value: Value,
    tags: Vec<&'static str>,
}

/// Values that hold nothing of a body, in its place.
fn empty_values(bytes: &[u8]) -> Vec<Value> {
    let empty = [Value::Null, json!(""), json!({}), json!([]), json!(false)];
    let elsewhere = [json!({"_file": "a.bin"}), json!({"_blob": STANDARD.encode(bytes)})];
    empty.into_iter().chain(elsewhere).collect()
}

/// Other spellings of a body. Those of a text are recognised whatever encoding they are said to
/// have; nothing shows that the bytes of a sound are wrong.
fn spellings(bytes: &[u8], is_text: bool) -> Vec<SpeltBody> {
    let packed = gzip(bytes);
    let half = bytes.len() / 2;
    let pieces = [STANDARD.encode(&bytes[..half]), STANDARD.encode(&bytes[half..])];
    let hex_pieces = [hex(&packed[..9]), hex(&packed[9..])];
    let in_base64 = [
        json!(STANDARD.encode(bytes)),
        json!(URL_SAFE_NO_PAD.encode(bytes)),
        json!(STANDARD.encode(&packed)),
        json!(pieces),
        json!(json!(pieces).to_string()),
    ];
    let in_hex = [
        json!(hex(bytes)),
        json!(hex(&packed)),
        json!(hex_pieces),
        json!(json!(hex_pieces).to_string()),
    ];
    let of = |value: Value, own: &'static str| {
        let tags =
            if is_text { vec!["base64", "hex", "gzip", "rot13"] } else { vec![own, "rot13"] };
        SpeltBody { value, tags }
    };
    let in_base64 = in_base64.into_iter().map(|value| of(value, "base64"));
    let in_hex = in_hex.into_iter().map(|value| of(value, "hex"));
    let garbage = [STANDARD.encode(STANDARD.encode(bytes)), STANDARD.encode([7; 90])];
    let garbage = garbage.into_iter().filter(|_| is_text).map(|text| of(json!(text), "base64"));
    in_base64.chain(in_hex).chain(garbage).collect()
}

/// The objects around a member, and its name.
fn at<'a>(file: &'a mut Value, pointer: &str) -> (&'a mut serde_json::Map<String, Value>, String) {
    let (around, name) = pointer.rsplit_once('/').unwrap();
    let around = file.pointer_mut(around).unwrap().as_object_mut().unwrap();
    (around, name.to_owned())
}

/// Files with one change of one body.
fn variants(good: &GoodFile, file: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for pointer in &good.bodies {
        let Some(body) = file.pointer(pointer).cloned() else { continue };
        let mut add = |what: String, change: &dyn Fn(&mut serde_json::Map<String, Value>, &str)| {
            let mut changed = file.clone();
            let (around, name) = at(&mut changed, pointer);
            change(around, &name);
            all.push((format!("{pointer}: {what}"), changed));
        };
        add("removed".to_owned(), &|around, name| drop(around.remove(name)));
        for other in ["_blob", "data", "payload"] {
            add(format!("moved to {other}"), &|around, name| {
                let body = around.remove(name).unwrap();
                around.insert(other.to_owned(), body);
            });
        }
        let bytes = match (&good.bytes, &body) {
            (Some(bytes), _) => bytes.clone(),
            (None, Value::String(text)) => text.as_bytes().to_vec(),
            (None, other) => other.to_string().into_bytes(),
        };
        for value in empty_values(&bytes) {
            add(format!("set to {value}"), &|around, name| {
                drop(around.insert(name.to_owned(), value.clone()));
            });
        }
        for SpeltBody { value, tags } in spellings(&bytes, good.bytes.is_none()) {
            if good.is_prose || !body.is_string() {
                break;
            }
            let named = tags.into_iter().map(|tag| ("encoding", json!(tag)));
            let others = [("isBase64Encoded", json!(true)), ("_file", json!("a.bin"))];
            let binary = [("_isBinary", json!(true))];
            for (tag, kind) in named.chain(others).chain(binary) {
                add(format!("set to {value} with {tag} {kind}"), &|around, name| {
                    around.remove("encoding");
                    around.insert(name.to_owned(), value.clone());
                    around.insert(tag.to_owned(), kind.clone());
                });
            }
            add(format!("set to {value}"), &|around, name| {
                around.remove("encoding");
                around.insert(name.to_owned(), value.clone());
            });
        }
    }
    all
}

#[test]
fn import_of_a_changed_body_ends_well_only_with_the_bytes_of_the_good_file() {
    let redactor = Redactor::new(&[]).unwrap();
    let prices = PriceTable::built_in();
    let maker = EntryMaker { redactor: &redactor, prices: &prices, max: 1 << 20 };
    let (mut tried, mut decoded, mut wrong) = (0, 0, Vec::new());
    for good in hars().into_iter().chain(cassettes()).chain(words()) {
        let truth = import(maker, &good, &good.file);
        let truth = truth.unwrap_or_else(|| panic!("{} is not imported", good.name));
        let mut check = |what: String, imported: Imported| {
            tried += 1;
            match imported {
                None => {}
                Some(imported) if imported == truth => decoded += 1,
                Some(imported) => {
                    let (_, said) = &imported[0];
                    wrong.push(format!("{}: {what}: {}", good.name, said.escape_ascii()));
                }
            }
        };
        for (what, file) in variants(&good, &good.file) {
            check(what, import(maker, &good, &file));
        }
    }
    assert!(tried > 3500 && decoded > 1000, "{tried} tried, {decoded} decoded");
    let shown: Vec<_> = wrong.iter().take(40).map(|line| &line[..line.len().min(400)]).collect();
    assert!(wrong.is_empty(), "{} of {tried} are wrong: {shown:#?}", wrong.len());
}
