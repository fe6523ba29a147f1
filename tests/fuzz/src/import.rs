//! Properties that hold for every importer.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use loomrec_dialect::interchange::{
    EntryImporter, EntryToWrite, ExportWriter, ForeignExchange, ForeignFormat, FoundItem,
    ImportedEntry, UpstreamAddresses, read,
};
use loomrec_identity::IdentityRules;
use loomrec_recording::cost::PriceTable;
use loomrec_recording::entry_maker::EntryMaker;
use loomrec_recording::redact::{CallCredentials, Redactor, is_clean};
use loomrec_recording::{Entry, EntryName};
use serde_json::Value;

static REDACTOR: LazyLock<Redactor> =
    LazyLock::new(|| Redactor::new(&[]).expect("the redactor's own patterns"));
static PRICES: LazyLock<PriceTable> = LazyLock::new(PriceTable::built_in);

/// Reads a file in each of these formats, makes entries of its contents, and writes the entries in
/// every format.
pub fn check(formats: &[ForeignFormat], data: &[u8]) {
    let _ = ForeignFormat::from_beginning(data);
    for format in formats {
        let first = gather(*format, data);
        let second = gather(*format, data);
        assert_eq!(first.len(), second.len(), "a file always holds the same");
        for (name, entry) in first {
            check_entry(&name, &entry);
        }
    }
}

/// Returns the entries of a file, as far as it can be read.
fn gather(format: ForeignFormat, data: &[u8]) -> Vec<(EntryName, Entry)> {
    let (addresses, rules) = (UpstreamAddresses::new([]), IdentityRules::default());
    let import = EntryImporter {
        maker: EntryMaker { redactor: &REDACTOR, prices: &PRICES, max: 1 << 20 },
        addresses: &addresses,
        rules: &rules,
        credential_params: &[],
        all: true,
        assume: true,
        substitutes: &[],
        any_length: false,
    };
    let mut entries = Vec::new();
    let mut visit = |item: FoundItem| {
        let made = match item {
            FoundItem::Exchange(exchange) => {
                let secrets = secrets(&exchange);
                let made = import.import_entry(*exchange);
                if let Ok(made) = &made {
                    check_clean(made, &secrets);
                }
                made
            }
            FoundItem::Words(words) => import.import_text(*words),
            FoundItem::Entry(named) => import.import_named(*named),
            FoundItem::Left(left) => {
                assert!(left.reason.len() < 4096, "what is left out is said in a few words");
                return ControlFlow::Continue(());
            }
        };
        entries.extend(made.ok().map(|made| (made.name, made.entry)));
        ControlFlow::Continue(())
    };
    if let Err(error) = read(format, &mut &*data, &mut visit) {
        assert!(error.to_string().len() < 4096, "what is wrong is said in a few words");
    }
    entries
}

/// Returns the credentials in the headers of an exchange's request. Whether a query parameter is a
/// credential depends on the host, so the query is ignored.
fn secrets(exchange: &ForeignExchange) -> CallCredentials {
    CallCredentials::for_known_provider(&exchange.request.headers, "")
}

fn check_clean(made: &ImportedEntry, secrets: &CallCredentials) {
    assert!(is_clean(&made.entry.to_text(), secrets), "no credential comes over");
}

/// Checks that an imported entry is a valid entry of a recording.
fn check_entry(name: &EntryName, entry: &Entry) {
    let text = entry.to_text();
    let value: Value = serde_json::from_slice(&text).expect("an entry is JSON");
    let again = Entry::parse(&value).expect("an entry that came over can be read");
    assert_eq!(String::from_utf8_lossy(&again.to_text()), String::from_utf8_lossy(&text));
    if let (EntryName::Hash(key), Some(request)) = (name, &again.request) {
        let (_, made) = request.recognise_with_key(&IdentityRules::default());
        assert_eq!(made, *key, "a request that came over is found under its key");
    }
    let addresses = UpstreamAddresses::new([]);
    for format in ForeignFormat::ALL {
        let mut writer = ExportWriter::new(format, &addresses);
        writer.survey(&again);
        let _ = writer.opening_text();
        let key = name.take_key(1);
        let _ =
            writer.write_entry(&EntryToWrite { key: &key, step: name.step_id(), entry: &again });
        let _ = writer.closing_text();
    }
}
