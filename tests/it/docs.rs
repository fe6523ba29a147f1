//! Tests that the documents are true: flags, variables, exit codes, dependencies and links agree
//! with the source and the binary.

mod sentences;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use loomrec_identity::{IdentityRules, KeyForm, RequestKey, RequestParts};
use regex::Regex;

const COMMANDS: [&str; 26] = [
    "record", "replay", "ls", "show", "diff", "noise", "stats", "config", "trust", "doctor",
    "demo", "import", "export", "review", "rerecord", "merge", "edit", "prune", "redact", "verify",
    "journal", "ui", "push", "pull", "gc", "mcp",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every document, as a path from the root.
fn documents() -> Vec<PathBuf> {
    let pages = ["README.md", "recordings/README.md", "recordings/faults/README.md"];
    let mut found: Vec<_> = pages.map(PathBuf::from).into();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn captures<'t>(pattern: &str, text: &'t str) -> Vec<&'t str> {
    let regex = Regex::new(pattern).unwrap();
    regex.captures_iter(text).map(|found| found.get(1).unwrap().as_str()).collect()
}

/// The flags of a subcommand, long and short.
fn flags(command: &str) -> BTreeSet<String> {
    let binary = env!("CARGO_BIN_EXE_loomrec");
    let ask = if ["record", "replay"].contains(&command) { "--help-all" } else { "--help" };
    let help = Command::new(binary).args(command.split(' ')).arg(ask).output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let options = help.split_once("Options:").expect("options").1;
    let mut flags = BTreeSet::new();
    for line in options.lines() {
        let spelled = line.trim_start();
        if line.starts_with("  ") && spelled.starts_with('-') && line.len() - spelled.len() <= 6 {
            let named = captures(r"(?:^|, )(--?[a-z][a-z-]*)", spelled);
            flags.extend(named.into_iter().map(str::to_owned));
        }
    }
    assert!(flags.contains("--help"), "{help}");
    flags
}

/// The code in a text: the lines of its fenced blocks, and the text between backticks.
fn code(text: &str) -> Vec<String> {
    let (mut found, mut prose, mut fenced) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            found.push(line.to_owned());
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    found.extend(captures("`([^`\n]+)`", &prose).into_iter().map(str::to_owned));
    found
}

/// The flags that a command line passes to loomrec: those before ` -- `.
fn given(line: &str) -> Option<(String, Vec<String>)> {
    let (_, line) = line.split_once("loomrec ")?;
    let line = line.split(" -- ").next().unwrap().split('#').next().unwrap();
    let command = COMMANDS
        .iter()
        .find(|name| format!("{} ", line.trim()).starts_with(&format!("{name} ")))?;
    let flags = captures(r"(?:^|[\s\[(])(--?[a-z][a-z-]*)", line);
    Some(((*command).to_owned(), flags.into_iter().map(str::to_owned).collect()))
}

#[test]
fn the_help_begins_with_what_the_package_is() {
    let help = Command::new(env!("CARGO_BIN_EXE_loomrec")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let first = help.split("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(first.join(" "), env!("CARGO_PKG_DESCRIPTION"));
}

#[test]
fn brief_help_fits_on_two_screens_and_leads_to_all_flags() {
    for command in ["record", "replay"] {
        let help = |word: &str| {
            let mut help = Command::new(env!("CARGO_BIN_EXE_loomrec"));
            help.args([command, word]).env("COLUMNS", "80");
            String::from_utf8(help.output().unwrap().stdout).unwrap()
        };
        let (brief, all) = (help("--help"), help("--help-all"));
        assert_eq!(brief, help("-h"));
        assert!(brief.lines().count() <= 50, "{brief}");
        assert!(brief.lines().all(|line| line.chars().count() <= 80), "{brief}");
        assert!(brief.contains("--recording <FILE>") && brief.contains("--help-all"), "{brief}");
        assert!(!brief.contains("LOOMREC_") && !brief.contains("--max-body"), "{brief}");
        assert!(all.contains("LOOMREC_MAX_BODY") && all.contains("--max-body"), "{all}");
    }
}

#[test]
fn command_lines_in_the_documents_name_flags_that_exist() {
    let known: BTreeMap<&str, _> = COMMANDS.map(|command| (command, flags(command))).into();
    let mut seen = 0;
    for document in documents() {
        for line in code(&read(document.to_str().unwrap())) {
            let Some((command, flags)) = given(&line) else { continue };
            for flag in flags {
                let exists = known[command.as_str()].contains(&flag);
                assert!(exists, "{}: {command} has no {flag}: {line}", document.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "only {seen} flags were found: the search is broken");
}

#[test]
fn flags_in_running_text_are_flags_of_some_command() {
    let mut known: BTreeSet<String> = COMMANDS.iter().flat_map(|c| flags(c)).collect();
    // Flags of other programs.
    known.extend(["--release", "--locked", "--path", "--lib", "--test"].map(str::to_owned));
    known.extend(
        [
            "--stream",
            "--write-faults",
            "--merge",
            "--cached",
            "--name-only",
            "--diff-filter",
            "--stdin",
            "--prefix",
            "--git",
            "--rev",
            "--root",
            "--edit-last",
            "--body-file",
            "--loomrec",
        ]
        .map(str::to_owned),
    );
    // Flags of coding agents.
    let agents = "--permission-mode --allowed --sandbox --skip-trust --approval-mode --model \
                  --auth-type --yolo --yes-always --no-check-update --analytics-disable \
                  --no-show-model-warnings --message";
    known.extend(agents.split(' ').filter(|flag| !flag.is_empty()).map(str::to_owned));
    // The scripts list their options at their beginning.
    let scripts = [
        "scripts/bench",
        "scripts/fuzz",
        "scripts/package",
        "tests/package/run",
        "tests/agents/run",
    ]
    .map(|script| (script, read(script)));
    for document in documents() {
        for piece in code(&read(document.to_str().unwrap())) {
            // Commands of other programs, and of the Python module.
            let other = [
                "cargo ",
                "python -m ",
                "agentloom run ",
                "docker ",
                "apt-get ",
                "COPY ",
                "tar ",
                "sha256sum ",
                "gh ",
                "pytest ",
                "aws ",
                "pip ",
                "npm ",
                "claude --mcp-config",
            ];
            let is_other = other.iter().any(|command| piece.contains(command));
            let script = scripts.iter().find(|(name, _)| piece.contains(name));
            for flag in captures(r"(?:^|[\s(])(--[a-z][a-z-]*)", &piece) {
                let of_script = script.is_some_and(|(_, text)| text.contains(flag));
                let ours = known.contains(flag) || is_other || of_script;
                assert!(ours, "{}: no command has {flag}: {piece}", document.display());
            }
        }
    }
}

#[test]
fn every_exit_code_is_explained() {
    let source = read("src/cli/exit.rs");
    let table = read("docs/exit-codes.md");
    let codes = captures(r"pub const [A-Z_]+: u8 = (\d+);", &source);
    assert!(codes.len() >= 8, "{codes:?}");
    for code in codes {
        assert!(table.contains(&format!("\n| {code} |")), "docs/exit-codes.md lacks {code}");
    }
}

#[test]
fn every_variable_set_for_a_command_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut upstreams = Command::new(env!("CARGO_BIN_EXE_loomrec"));
    upstreams.current_dir(folder.path()).env_clear();
    upstreams.args(["record", "-r", "x.json", "--print-env"]);
    for name in ["azure", "vertex", "bedrock"] {
        upstreams.args(["--upstream", &format!("{name}=http://127.0.0.1:9")]);
    }
    let printed = String::from_utf8(upstreams.output().unwrap().stdout).unwrap();
    let names = captures(r"(?m)^export ([A-Za-z_]+)=", &printed);
    assert!(names.len() > 20, "{printed}");
    let keys = read("src/provider/directory/upstreams.rs");
    let keys = captures(r#""([A-Z_]+_API_KEY)""#, &keys);
    for (page, names) in [("docs/wrapped-commands.md", names), ("docs/commands-on-files.md", keys)]
    {
        let text = read(page);
        for name in names {
            assert!(text.contains(&format!("`{name}`")), "{page} lacks {name}");
        }
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let root = read("Cargo.toml");
    let members = captures(r#"path = "(src/[a-z]+)""#, &root);
    let manifests: Vec<String> =
        members.into_iter().map(|member| read(&format!("{member}/Cargo.toml"))).collect();
    let texts = manifests.iter().chain([&root]);
    let tables = texts.flat_map(|text| text.split("dependencies]").skip(1));
    let tables = tables.map(|table| table.split("\n[").next().unwrap_or_default());
    let names = tables.flat_map(|table| captures(r"(?m)^([a-z0-9_-]+)(?: =|\.)", table));
    // The members need no reason here, because docs/architecture.md gives it.
    let names: Vec<&str> = names.filter(|name| !name.starts_with("loomrec-")).collect();
    let reasons = read("docs/decisions/dependencies.md");
    assert!(names.contains(&"tokio") && names.contains(&"proptest"), "{names:?}");
    for name in names {
        assert!(reasons.contains(&format!("`{name}`")), "no reason is given for {name}");
    }
}

/// The pages of decisions stay few and short: a decision goes on its topic's page.
#[test]
fn decisions_are_few_short_pages_that_the_index_names() {
    let index = read("docs/decisions/README.md");
    let (mut pages, mut words) = (0, 0);
    for document in documents() {
        let Ok(page) = document.strip_prefix("docs/decisions") else { continue };
        let page = page.to_str().unwrap();
        pages += 1;
        words += read(document.to_str().unwrap()).split_whitespace().count();
        let named = page == "README.md" || index.contains(&format!("]({page})"));
        assert!(named, "docs/decisions/README.md does not name {page}");
    }
    assert!(pages > 20, "only {pages} pages were found: the search is broken");
    assert!(pages <= 30, "{pages} pages of decisions, at most 30");
    assert!(words <= 12_000, "{words} words of decisions, at most 12,000");
}

/// Who adds to a page looks for what may go.
#[test]
fn pages_together_have_at_most_sixty_thousand_words() {
    let pages = documents().into_iter().filter(|page| page.parent() == Some(Path::new("docs")));
    let count = |page: PathBuf| read(page.to_str().unwrap()).split_whitespace().count();
    let words: usize = pages.map(count).sum();
    assert!(words > 40_000, "only {words} words were found: the search is broken");
    assert!(words <= 60_000, "{words} words of docs, at most 60,000");
}

/// The anchors of a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let slug = |heading: &str| {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    captures(r"(?m)^#+ (.+)$", text).into_iter().map(slug).collect()
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut seen = 0;
    for document in documents() {
        let text = read(document.to_str().unwrap());
        for link in captures(r"\]\(([^)\s]+)\)", &text) {
            if link.starts_with("http") {
                continue;
            }
            seen += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = document.parent().unwrap_or(Path::new(""));
            let target = if path.is_empty() { document.clone() } else { folder.join(path) };
            let there = root().join(&target);
            assert!(there.exists(), "{}: {link} leads nowhere", document.display());
            if !anchor.is_empty() {
                let known = anchors(&read(target.to_str().unwrap()));
                assert!(known.contains(anchor), "{}: no heading for {link}", document.display());
            }
        }
    }
    assert!(seen > 30, "only {seen} links were found: the search is broken");
}

#[test]
fn worked_examples_of_keys_give_the_keys_they_name() {
    let text = read("docs/recording-format.md");
    let example = Regex::new(r"(?s)```python\n(.*?)```\n\nprints `([0-9a-f]{64})`").unwrap();
    let examples: Vec<_> = example.captures_iter(&text).collect();
    assert_eq!(examples.len(), 2, "the search is broken");
    for example in examples {
        let printed = Command::new("python3").args(["-c", &example[1]]).output().unwrap().stdout;
        assert_eq!(String::from_utf8(printed).unwrap().trim(), &example[2]);
    }
    let header = ("content-type".to_owned(), "application/json".to_owned());
    let version = ("anthropic-version".to_owned(), "2023-06-01".to_owned());
    let keys = [
        (KeyForm::Chat, "gpt-4o-mini", "Do I need an umbrella in Paris?", ""),
        (
            KeyForm::Tagged { target: "anthropic.messages", delivery: true, known: false },
            "claude-sonnet-4-5",
            "Hi",
            "\"max_tokens\":100,",
        ),
    ]
    .map(|(form, model, words, more)| {
        let body = format!(
            "{{{more}\"stream\":true,\"model\":\"{model}\",\
             \"messages\":[{{\"role\":\"user\",\"content\":\"{words}\"}}]}}"
        );
        let headers = [header.clone(), version.clone()];
        let parts = RequestParts {
            form,
            method: "POST",
            query: "",
            headers: &headers,
            body: body.as_bytes(),
        };
        RequestKey::from_parts(&parts, &IdentityRules::default()).to_string()
    });
    for key in keys {
        assert!(text.contains(&format!("prints `{key}`")), "{key} is not in the document");
    }
}
