//! The page with the findings: docs/performance.md, between two markers.

use std::path::Path;

use crate::fault::Fault;

const BEGIN: &str = "<!-- bench:begin -->\n";
const END: &str = "<!-- bench:end -->\n";

/// Replaces the previous findings.
///
/// # Errors
/// A page that cannot be read or written, or that has no markers.
pub fn put(findings: &str) -> Result<(), Fault> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/performance.md");
    let failed = |source| Fault::Io { what: "put the findings into docs/performance.md", source };
    let page = std::fs::read_to_string(&path).map_err(failed)?;
    let parts =
        page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        return Err(failed(std::io::Error::other("it has no bench:begin and bench:end")));
    };
    std::fs::write(&path, format!("{before}{BEGIN}\n{findings}\n{END}{after}")).map_err(failed)
}
