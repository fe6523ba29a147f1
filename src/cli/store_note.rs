//! The text of a store's event, as people name its files: relative to the working directory.

use loomrec_store::StoreEvent;

/// Returns an event as a sentence.
pub fn store_note(event: &StoreEvent) -> String {
    let folder = std::env::current_dir().unwrap_or_default();
    event.relative_to(&folder).to_string()
}
