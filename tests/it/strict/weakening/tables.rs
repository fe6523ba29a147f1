//! The table of `docs/strict.md` that says what each flag and each request of a client can do to a strict
//! replay. It is made of loomrec's own tables.

use loomrec_arguments::StrictEffect;
use loomrec_engine::ClientEffect;
use loomrec_proxy::server::session::SESSION_MEMBERS;
use loomrec_proxy::server::{CLIENT_HEADERS, COMPAT_ENDPOINTS, CONTROL_ENDPOINTS};

const BEGIN: &str = "<!-- strict: begin -->\n";
const END: &str = "<!-- strict: end -->";

/// Returns the flags with this effect, as code.
fn flags(is_it: impl Fn(StrictEffect) -> bool) -> String {
    let command = loomrec_arguments::command_line();
    let replay = command.find_subcommand("replay").unwrap();
    let flags = replay.get_arguments().filter(|arg| {
        arg.get::<StrictEffect>().is_some() && is_it(StrictEffect::from_argument(arg))
    });
    let long = flags.filter_map(|arg| arg.get_long()).filter(|long| *long != "strict");
    long.map(|long| format!("`--{long}`")).collect::<Vec<_>>().join(", ")
}

/// Returns what clients ask for that weakens a strict replay, as code.
fn requests() -> String {
    let endpoints = CONTROL_ENDPOINTS.iter().chain(&COMPAT_ENDPOINTS);
    let endpoints = endpoints.filter(|endpoint| endpoint.effect == ClientEffect::Weakens);
    let endpoints = endpoints.map(|endpoint| format!("`{} {}`", endpoint.method, endpoint.path));
    let members = SESSION_MEMBERS.iter().filter(|it| it.effect == ClientEffect::Weakens);
    let members = members.map(|member| format!("`{}`", member.name)).collect::<Vec<_>>();
    let headers = CLIENT_HEADERS.iter().filter(|it| it.effect == ClientEffect::Weakens);
    let headers = headers.map(|header| match header.is_prefix {
        true => format!("`{}…`", header.name),
        false => format!("`{}`", header.name),
    });
    format!(
        "{}; of a session, the members {}; of a call, the headers {}",
        endpoints.collect::<Vec<_>>().join(", "),
        members.join(", "),
        headers.collect::<Vec<_>>().join(", ")
    )
}

fn table() -> String {
    use StrictEffect::{AddsRule, Contradicts, Harmless, Named, Reported, Weakens, WeakensCommand};
    let rows = [
        (
            flags(|effect| matches!(effect, Weakens { .. })),
            "weaken the replay. From a variable or from `loomrec.toml` they are set aside and named. Typed, they count and are named",
        ),
        (
            flags(|effect| effect == WeakensCommand),
            "the same, for what loomrec does with CMD. A server without CMD takes them from anywhere",
        ),
        (
            flags(|effect| matches!(effect, AddsRule { .. })),
            "rules that make requests equal: the same. A rule that the recording has too is in force by the recording",
        ),
        (
            flags(|effect| matches!(effect, Contradicts { .. })),
            "say the opposite of `--strict`. Typed, they are refused (exit 2), unless the value is `error`. Otherwise they are set aside and named",
        ),
        (
            flags(|effect| effect == Named),
            "say how the recording was made, or who may call. They count from anywhere, and are named unless they were typed",
        ),
        (flags(|effect| effect == Reported), "say what is replayed. The verdict names it"),
        (flags(|effect| effect == Harmless), "cannot weaken the replay, and count from anywhere"),
        (
            requests(),
            "of clients: are refused. With a typed `--allow-control` they count, and each is named with its number",
        ),
    ];
    let mut table = "| what | under `--strict` |\n|---|---|\n".to_owned();
    for (what, meaning) in rows {
        table.push_str(&format!("| {what} | {meaning} |\n"));
    }
    table
}

#[test]
fn document_says_what_each_flag_and_request_can_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/strict.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (front, rest) = document.split_once(BEGIN).unwrap();
    let (held, back) = rest.split_once(END).unwrap();
    let table = table();
    if std::env::var_os("WRITE_TABLES").is_some() {
        std::fs::write(path, format!("{front}{BEGIN}{table}{END}{back}")).unwrap();
        return;
    }
    let how = "write it anew: WRITE_TABLES=1 cargo test --test it weakening::tables";
    assert_eq!(held, table, "{how}");
}
