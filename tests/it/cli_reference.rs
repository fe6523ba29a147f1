//! The lists of flags in docs/cli.md, made from the binary's own help.

use std::collections::BTreeMap;
use std::process::Command;

use loomrec_arguments::COMMAND_GROUPS;

const BEGIN: &str = "<!-- reference:begin -->\n\n";
const END: &str = "\n<!-- reference:end -->";

/// The heading of the flags that are listed once.
const SEVERAL: &str = "Flags of several commands";

/// The longest text of a cell, in words.
const CELL_WORDS: usize = 40;

/// The pages that say more of a command.
const PAGES: [(&str, &str); 25] = [
    ("record", "guide.md"),
    ("replay", "strict.md"),
    ("mcp", "mcp.md#over-stdio"),
    ("ls", "commands-on-files.md#ls-and-show"),
    ("show", "commands-on-files.md#ls-and-show"),
    ("stats", "commands-on-files.md#stats"),
    ("diff", "commands-on-files.md#diff"),
    ("journal", "commands-on-files.md#journal"),
    ("ui", "inspector.md"),
    ("rerecord", "commands-on-files.md#rerecord"),
    ("review", "care.md#review"),
    ("verify", "commands-on-files.md#verify"),
    ("edit", "commands-on-files.md#edit"),
    ("merge", "commands-on-files.md#merge"),
    ("prune", "commands-on-files.md#prune"),
    ("redact", "commands-on-files.md#redact"),
    ("noise", "commands-on-files.md#noise"),
    ("push", "remote.md"),
    ("pull", "remote.md"),
    ("gc", "remote.md"),
    ("import", "interchange.md"),
    ("export", "interchange.md"),
    ("config", "settings.md#config"),
    ("trust", "settings.md#trust"),
    ("doctor", "settings.md#doctor"),
];

/// A flag, or an argument without a name, as the help of a command describes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FlagHelp {
    /// The flag as code, with its value.
    spelled: String,
    variable: String,
    meaning: String,
}

impl FlagHelp {
    /// The flag without its value.
    fn name(&self) -> String {
        let long = self.spelled.split(", ").last().unwrap().trim_matches('`');
        format!("`{}`", long.split(' ').next().unwrap())
    }
}

/// The help of a command.
#[derive(Debug, Default)]
struct CommandHelp {
    about: String,
    usage: String,
    arguments: Vec<FlagHelp>,
    flags: Vec<FlagHelp>,
    /// The flags under the heading "Faults".
    faults: Vec<FlagHelp>,
    commands: Vec<String>,
}

impl CommandHelp {
    fn all(&self) -> impl Iterator<Item = &FlagHelp> {
        self.arguments.iter().chain(&self.flags).chain(&self.faults)
    }

    /// Adds an item of a section: its first line, and the paragraphs under it.
    fn add(&mut self, section: &str, head: &str, paragraphs: &[String]) {
        if ["-h, --help", "--help-all", "-V, --version"].contains(&head) {
            return;
        }
        let spelled: Vec<String> =
            head.split(", ").map(|name| format!("`{}`", plain(name))).collect();
        let variable = paragraphs.iter().find_map(|line| line.strip_prefix("[env: "));
        let variable = variable.map(|rest| rest.split(['=', ']']).next().unwrap());
        let flag = FlagHelp {
            spelled: spelled.join(", "),
            variable: variable.map(|name| format!("`{name}`")).unwrap_or_default(),
            meaning: meaning(paragraphs),
        };
        assert!(!flag.meaning.is_empty(), "{head}");
        match section {
            "Arguments" => self.arguments.push(flag),
            "Options" => self.flags.push(flag),
            "Faults" => self.faults.push(flag),
            other => panic!("no list is made of {other:?}"),
        }
    }
}

/// Returns the help of a command, with each paragraph on one line.
fn help(command: &str) -> CommandHelp {
    let ask = if ["record", "replay"].contains(&command) { "--help-all" } else { "--help" };
    let mut asked = Command::new(env!("CARGO_BIN_EXE_loomrec"));
    asked.args(command.split_whitespace()).arg(ask).env_clear().env("COLUMNS", "1000");
    let text = String::from_utf8(asked.output().unwrap().stdout).unwrap();
    parse_help(&text)
}

/// Reads a help, in which the items of a section are indented by at most six columns, and their
/// paragraphs by more.
fn parse_help(text: &str) -> CommandHelp {
    let mut found = CommandHelp::default();
    let mut lines = text.lines();
    found.about = lines.next().unwrap().to_owned();
    let (mut section, mut item) = (String::new(), None::<(String, Vec<String>)>);
    for line in lines.chain(["end"]) {
        let words = line.trim();
        let indent = line.len() - line.trim_start().len();
        let begins = indent <= 6 && !words.is_empty();
        if begins && let Some((head, paragraphs)) = item.take() {
            found.add(&section, &head, &paragraphs);
        }
        match indent {
            _ if words.is_empty() => {}
            0 => {
                if let Some(usage) = line.strip_prefix("Usage: ") {
                    found.usage = usage.replace(" [OPTIONS]", "");
                }
                section = line.strip_suffix(':').unwrap_or_default().to_owned();
            }
            1..=6 if lists_commands(&section) => {
                let name = words.split(' ').next().filter(|name| *name != "help");
                found.commands.extend(name.map(str::to_owned));
            }
            1..=6 if words.starts_with('-') || section == "Arguments" => {
                item = Some((words.to_owned(), Vec::new()));
            }
            _ => {
                if let Some((_, paragraphs)) = &mut item {
                    paragraphs.push(words.to_owned());
                }
            }
        }
    }
    found
}

/// Whether a section of a help lists commands.
fn lists_commands(section: &str) -> bool {
    section == "Commands" || COMMAND_GROUPS.iter().any(|(title, _)| *title == section)
}

/// Returns a flag or an argument without the brackets around its value.
fn plain(head: &str) -> String {
    let head = match head.split_once(" [<") {
        Some((flag, value)) => format!("{flag} [{}", value.replacen('>', "", 1)),
        None => head.to_owned(),
    };
    head.replace(['<', '>'], "")
}

/// Returns what a flag means: its sentences, its values and its default.
fn meaning(paragraphs: &[String]) -> String {
    let (mut sentences, mut values, mut default) = (Vec::new(), Vec::new(), None);
    for line in paragraphs {
        if let Some(value) = line.strip_prefix("- ") {
            let (name, text) = value.split_once(':').unwrap();
            values.push(format!("`{name}`: {}", lower(text.trim())));
        } else if let Some(text) = line.strip_prefix("[default: ") {
            default = text.strip_suffix(']');
        } else if let Some(names) = line.strip_prefix("[possible values: ") {
            values.push(names.trim_end_matches(']').to_owned());
        } else if line != "Possible values:" && !line.starts_with("[env: ") {
            sentences.push(line.clone());
        }
    }
    let ended = |line: &String| line.trim_end_matches('.').to_owned() + ".";
    let mut text = sentences.iter().map(ended).collect::<Vec<_>>().join(" ");
    if !values.is_empty() {
        text = format!("{}: {}", text.trim_end_matches('.'), values.join("; "));
    }
    let default = default.map(|value| format!(" [default: {value}]")).unwrap_or_default();
    let text = format!("{}{default}", text.trim_end_matches('.'));
    let count = text.split_whitespace().count();
    assert!(count <= CELL_WORDS, "{count} words in one cell are too many: {text}");
    text.replace('*', "\\*").replace('<', "&lt;")
}

/// Begins a text with a small letter, unless it begins with a name in capitals.
fn lower(text: &str) -> String {
    let mut rest = text.chars();
    let (first, second) = (rest.next(), rest.clone().next());
    match (first, second) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(rest).collect()
        }
        _ => text.to_owned(),
    }
}

/// The help of each command, by its name.
fn commands() -> BTreeMap<String, CommandHelp> {
    let mut found = BTreeMap::new();
    let mut left: Vec<String> = help("").commands;
    while let Some(name) = left.pop() {
        let command = help(&name);
        left.extend(command.commands.iter().map(|inner| format!("{name} {inner}")));
        if command.commands.is_empty() {
            found.insert(name, command);
        }
    }
    found
}

/// Returns a list of flags, each with its variable.
fn list(flags: &[&FlagHelp]) -> String {
    let item = |FlagHelp { spelled, variable, meaning }: &FlagHelp| match variable.is_empty() {
        true => format!("* {spelled}: {meaning}\n"),
        false => format!("* {spelled} ({variable}): {meaning}\n"),
    };
    let items: String = flags.iter().map(|flag| item(flag)).collect();
    if items.is_empty() { items } else { format!("\n{items}") }
}

/// The flags that several commands have in the same words, with these commands.
fn shared(commands: &BTreeMap<String, CommandHelp>) -> BTreeMap<FlagHelp, Vec<String>> {
    let mut found: BTreeMap<FlagHelp, Vec<String>> = BTreeMap::new();
    for (name, command) in commands {
        for flag in command.all() {
            found.entry(flag.clone()).or_default().push(name.clone());
        }
    }
    found.retain(|_, names| {
        let is_of_run = ["record", "replay"].iter().all(|run| names.iter().any(|name| name == run));
        names.len() == commands.len() || (names.len() > 3 && !is_of_run)
    });
    found
}

/// The commands, and the flags that are listed once.
struct Reference {
    commands: BTreeMap<String, CommandHelp>,
    /// Flags of several commands, with these commands.
    shared: BTreeMap<FlagHelp, Vec<String>>,
    /// Flags that `record` and `replay` have.
    of_run: Vec<FlagHelp>,
}

impl Reference {
    fn new(commands: BTreeMap<String, CommandHelp>) -> Self {
        let shared = shared(&commands);
        let replay: Vec<&FlagHelp> = commands["replay"].all().collect();
        let are_of_run = |flag: &&FlagHelp| replay.contains(flag) && !shared.contains_key(*flag);
        let of_run = commands["record"].all().filter(are_of_run).cloned().collect();
        Self { commands, shared, of_run }
    }

    fn shared_list(&self) -> String {
        let mut text = format!("## {SEVERAL}\n\n");
        for (FlagHelp { spelled, variable, meaning }, names) in &self.shared {
            let names = match names.len() == self.commands.len() {
                true => "every command".to_owned(),
                false => names.join(", "),
            };
            let variable =
                if variable.is_empty() { String::new() } else { format!(" ({variable})") };
            text += &format!("* {spelled}{variable} of {names}: {meaning}\n");
        }
        text
    }

    fn run_lists(&self) -> String {
        let faults = &self.commands["record"].faults;
        let (faults, others): (Vec<&FlagHelp>, Vec<&FlagHelp>) =
            self.of_run.iter().partition(|flag| faults.contains(flag));
        let (faults, others) = (list(&faults), list(&others));
        format!(
            "\nBoth commands have these flags.\n{others}\n### Faults\n\n\
             Both have these, too. More: [faults.md](faults.md).\n{faults}"
        )
    }

    fn section(&self, name: &str) -> String {
        let command = &self.commands[name];
        let mut text = format!("\n### {name}\n\n{}.", command.about);
        if let Some((_, page)) = PAGES.iter().find(|(of, _)| *of == name) {
            text += &format!(" More: [{}]({page}).", page.split('#').next().unwrap());
        }
        text += &format!("\n\n`{}`\n", command.usage);
        let own =
            |flag: &&FlagHelp| !self.shared.contains_key(*flag) && !self.of_run.contains(flag);
        text += &list(&command.all().filter(own).collect::<Vec<_>>());
        let is_run = ["record", "replay"].contains(&name);
        let same = command.all().filter(|flag| !is_run && self.of_run.contains(flag));
        let same: Vec<String> = same.map(FlagHelp::name).collect();
        if !same.is_empty() {
            let same = same.join(", ");
            text += &format!("\nAs in [record and replay](#record-and-replay): {same}.\n");
        }
        text
    }

    fn text(&self) -> String {
        let mut text = self.shared_list();
        for (group, names) in COMMAND_GROUPS {
            text += &format!("\n## {group}\n");
            if names.contains(&"record") {
                text += &self.run_lists();
            }
            for name in names {
                let is_part = |known: &&String| known.split(' ').next() == Some(name);
                self.commands.keys().filter(is_part).for_each(|known| text += &self.section(known));
            }
        }
        for name in self.commands.keys() {
            let first = name.split(' ').next().unwrap_or_default();
            let is_listed = COMMAND_GROUPS.iter().any(|(_, names)| names.contains(&first));
            assert!(is_listed, "no group of commands has {name}");
        }
        text
    }
}

#[test]
fn reference_is_what_the_help_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cli.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (there, after) = rest.split_once(END).unwrap();
    let reference = Reference::new(commands()).text();
    if std::env::var_os("LOOMREC_WRITE_DOCS").is_some() {
        return std::fs::write(path, format!("{before}{BEGIN}{reference}{END}{after}")).unwrap();
    }
    let how = "to write it anew: LOOMREC_WRITE_DOCS=1 cargo test-all --test it cli_reference";
    assert!(there == reference, "{how}\n{reference}");
}
