//! Tests of the table in docs/security.md: what happens to a secret at each place in each output.

use super::{Case, Chance, OUTPUTS, PLACES, run};

const BEGIN: &str = "<!-- secrets: begin -->\n";
const END: &str = "<!-- secrets: end -->";

/// The table of a run: `removed` if the output has the mark in place of the secret, `absent` if it
/// has nothing from that place. Places of which the same holds share a row.
fn table() -> String {
    let mut chance = Chance::of(15);
    let marks = |cases: &[Case]| {
        let outputs = run(cases, 0).all;
        OUTPUTS.map(|name| {
            let count = |bytes: &[u8]| bytes.windows(10).filter(|w| *w == b"[REDACTED]").count();
            outputs
                .iter()
                .filter(|(output, _)| *output == name)
                .map(|(_, bytes)| count(bytes))
                .sum::<usize>()
        })
    };
    let mut text = format!(
        "| a secret in | {} |\n|---|{}\n",
        OUTPUTS.join(" | "),
        "---|".repeat(OUTPUTS.len())
    );
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for place in PLACES {
        let mut case = Case::new(place, &mut chance);
        case.spelled.clone_from(&case.secret);
        let found = marks(&[case]);
        let cells = found.map(|count| if count > 0 { "removed" } else { "absent" }).join(" | ");
        match rows.iter_mut().find(|(other, _)| *other == cells) {
            Some((_, places)) => places.push(place),
            None => rows.push((cells, vec![place])),
        }
    }
    for (cells, places) in rows {
        text.push_str(&format!("| {} | {cells} |\n", places.join(", ")));
    }
    text
}

#[test]
fn table_of_places_and_outputs_is_what_a_run_gives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/security.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (front, rest) = document.split_once(BEGIN).unwrap();
    let (held, back) = rest.split_once(END).unwrap();
    let write = std::env::var_os("WRITE_TABLES").is_some();
    let table = table();
    if write {
        std::fs::write(path, format!("{front}{BEGIN}{table}{END}{back}")).unwrap();
        return;
    }
    assert_eq!(held, table, "write it anew: WRITE_TABLES=1 cargo test --test it leaks::table");
}
