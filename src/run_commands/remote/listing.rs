//! `loomrec ls` of a prefix: the recordings below it.

use std::time::SystemTime;

use loomrec_remote::{ListedRecording, RemotePrefix, list_recordings};
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::failure::read_failure;
use super::transfer_notice::TransferNotice;
use crate::args::{LogFormat, LsArgs};
use loomrec_cli::amount::format_span;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, print};
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::terminal;
use loomrec_engine::upstream::install_crypto_provider;

/// Lists the recordings below a prefix. Returns `None` if the argument names a recording.
///
/// # Errors
/// A name that is wrong (2), or a store that cannot be used (4).
pub async fn run(args: &LsArgs) -> Result<Option<u8>, CommandFailure> {
    let Some(prefix) = RemotePrefix::parse(&args.file.display().to_string()) else {
        return Ok(None);
    };
    if !args.file.is_url() {
        return Ok(None);
    }
    let prefix = prefix.map_err(|error| CommandFailure::usage(format!("failed to {error}")))?;
    install_crypto_provider();
    let output = Output::new(LogFormat::Human, false, false);
    let notice = TransferNotice::start(&output, &prefix.to_string());
    let recordings = list_recordings(&prefix).await.map_err(read_failure)?;
    drop(notice);
    let now = SystemTime::now();
    let text = match args.json {
        true => json_text(&recordings),
        false if recordings.is_empty() => format!("{prefix}: there are no recordings\n"),
        false => table_text(&recordings, now, if args.full { None } else { terminal::width() }),
    };
    print(&text).map(Some)
}

fn table_text(recordings: &[ListedRecording], now: SystemTime, width: Option<usize>) -> String {
    let mut table = Table::new(vec![
        TableColumn::left("RECORDING"),
        TableColumn::right("BYTES"),
        TableColumn::right("CHANGED"),
        TableColumn::right("STATES").with_omission_turn(1),
        TableColumn::right("OBJECTS").with_omission_turn(2),
        TableColumn::right("SEGMENTS").with_omission_turn(3),
        TableColumn::left("NOTE"),
    ]);
    for listed in recordings {
        let age = listed.changed.map(|changed| now.duration_since(changed).unwrap_or_default());
        let is_lost = !listed.has_ref && listed.states > 0;
        table.add_row(
            is_lost,
            vec![
                terminal::printable_line(&listed.url).into_owned(),
                listed.bytes.to_string(),
                age.map_or_else(|| "-".to_owned(), |age| format!("{} ago", format_span(age))),
                listed.states.to_string(),
                listed.objects.to_string(),
                listed.segments.to_string(),
                if is_lost { "no ref" } else { "-" }.to_owned(),
            ],
        );
    }
    table.to_text(width)
}

fn json_text(recordings: &[ListedRecording]) -> String {
    let rows: Vec<_> = recordings
        .iter()
        .map(|listed| {
            let changed = listed.changed.map(OffsetDateTime::from);
            json!({
                "url": listed.url,
                "bytes": listed.bytes,
                "changed_at": changed.and_then(|changed| changed.format(&Rfc3339).ok()),
                "states": listed.states,
                "objects": listed.objects,
                "segments": listed.segments,
                "has_ref": listed.has_ref,
            })
        })
        .collect();
    format!("{}\n", terminal::printable_json(&format!("{:#}", json!(rows))))
}
