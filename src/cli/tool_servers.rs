//! The MCP servers over stdio that the settings of known agents name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use loomrec_os::{FileKind, FileStatus, read_input};

/// The most bytes of a settings file that are read.
const MOST: u64 = 16 << 20;

/// The flag of Claude Code that names further files, or has servers as its value.
const FILES_FLAG: &str = "--mcp-config";

/// The members with servers, of all agents.
const MEMBERS: [&str; 2] = ["mcpServers", "mcp_servers"];

/// The settings files of known agents. An agent that has one in both folders prefers the first.
const FILES: [(SettingsFolder, &str); 10] = [
    (SettingsFolder::Project, ".mcp.json"),
    (SettingsFolder::Project, ".codex/config.toml"),
    (SettingsFolder::Project, ".cursor/mcp.json"),
    (SettingsFolder::Project, ".gemini/settings.json"),
    (SettingsFolder::Project, "mcp.json"),
    (SettingsFolder::Claude, ".claude.json"),
    (SettingsFolder::Codex, "config.toml"),
    (SettingsFolder::Home, ".cursor/mcp.json"),
    (SettingsFolder::Home, ".gemini/settings.json"),
    (SettingsFolder::Home, ".claude.json"),
];

/// Where a settings file is.
#[derive(Clone, Copy, Debug)]
enum SettingsFolder {
    /// The working directory.
    Project,
    /// The home directory.
    Home,
    /// `CLAUDE_CONFIG_DIR`.
    Claude,
    /// `CODEX_HOME`, or `.codex` in the home directory.
    Codex,
}

impl SettingsFolder {
    fn path(self, project: &Path, current: &BTreeMap<String, String>) -> Option<PathBuf> {
        let variable = |name| current.get(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        match self {
            Self::Project => Some(project.to_owned()),
            Self::Home => variable("HOME"),
            Self::Claude => variable("CLAUDE_CONFIG_DIR"),
            Self::Codex => {
                variable("CODEX_HOME").or_else(|| Some(variable("HOME")?.join(".codex")))
            }
        }
    }
}

/// A server that an agent starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredServer {
    /// Its name in the settings.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments. Agents put values in the place of variables.
    pub args: Vec<String>,
    /// The file that names it, or the flag.
    pub source: String,
    /// The variables that the settings give it.
    pub env: Value,
}

impl ConfiguredServer {
    /// Whether it gets a `PATH` of its own.
    pub fn has_path(&self) -> bool {
        self.env.get("PATH").is_some()
    }

    /// Whether `loomrec mcp` is before it already.
    pub fn is_bridge(&self) -> bool {
        let is_loomrec = Path::new(&self.command).file_name().is_some_and(|it| it == "loomrec");
        is_loomrec && self.args.first().is_some_and(|it| it == "mcp")
    }

    /// Returns the name that it has behind `loomrec mcp`, if this is before it already.
    pub fn bridge_name(&self) -> Option<&str> {
        let mut words = self.args.iter().filter(|_| self.is_bridge()).take_while(|it| *it != "--");
        let found = words.find_map(|word| word.strip_prefix("--name"))?;
        if found.is_empty() { words.next().map(String::as_str) } else { found.strip_prefix('=') }
    }
}

/// What the settings of known agents say of servers.
#[derive(Debug, Default)]
pub struct AgentSettings {
    /// The servers over stdio.
    pub servers: Vec<ConfiguredServer>,
    /// What cannot be read, with the reason.
    pub unreadable: Vec<String>,
}

impl AgentSettings {
    /// Reads what concerns a command in this folder.
    pub fn read(project: &Path, current: &BTreeMap<String, String>, command: &[OsString]) -> Self {
        let mut settings = Self::default();
        settings.add_arguments(project, command);
        for (folder, name) in FILES {
            if let Some(folder) = folder.path(project, current) {
                settings.add_file(&folder.join(name), project);
            }
        }
        settings
    }

    /// Adds what the arguments of a command name.
    fn add_arguments(&mut self, project: &Path, command: &[OsString]) {
        let mut is_value = false;
        for word in command.iter().filter_map(|word| word.to_str()) {
            let value = match word.strip_prefix(FILES_FLAG) {
                Some("") => {
                    is_value = true;
                    continue;
                }
                Some(rest) => rest.strip_prefix('='),
                None => Some(word).filter(|word| is_value && !word.starts_with('-')),
            };
            is_value &= value.is_some();
            match value {
                Some(text) if text.trim_start().starts_with('{') => {
                    let read = serde_json::from_str(text).map_err(|error| error.to_string());
                    self.add_servers(FILES_FLAG, project, read);
                }
                Some(path) => self.add_file(&project.join(path), project),
                None => {}
            }
        }
    }

    fn add_file(&mut self, path: &Path, project: &Path) {
        if let Some(read) = read_settings(path) {
            self.add_servers(&path.display().to_string(), project, read);
        }
    }

    /// Adds the servers of settings, also those that they have for this project alone.
    fn add_servers(&mut self, source: &str, project: &Path, read: Result<Value, String>) {
        match read {
            Ok(value) => {
                let own = value.get("projects").and_then(|all| all.get(project.to_str()?));
                self.servers.extend(own.into_iter().flat_map(|own| servers_in(own, source)));
                self.servers.extend(servers_in(&value, source));
            }
            Err(why) => self.unreadable.push(format!("{source}: {why}")),
        }
    }
}

/// Reads a settings file in JSON or TOML. Returns `None` if the file does not exist.
fn read_settings(path: &Path) -> Option<Result<Value, String>> {
    let status = FileStatus::at_target(path).ok()??;
    if status.kind != FileKind::Regular {
        return None;
    }
    let text = match read_input(path, MOST).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => return Some(Err(error.to_string())),
        Err(error) => return Some(Err(error.to_string())),
    };
    Some(match path.extension().is_some_and(|it| it == "toml") {
        true => DeTable::parse(&text)
            .map(|table| table_value(table.get_ref()))
            .map_err(|error| error.message().to_owned()),
        false => serde_json::from_str(&text).map_err(|error| error.to_string()),
    })
}

/// Returns a table of TOML as JSON. Only texts, arrays and tables matter here.
fn table_value(table: &DeTable<'_>) -> Value {
    let member = |(name, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        (name.get_ref().to_string(), toml_value(value.get_ref()))
    };
    Value::Object(table.iter().map(member).collect())
}

fn toml_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Array(all) => all.iter().map(|it| toml_value(it.get_ref())).collect(),
        DeValue::Table(table) => table_value(table),
        _ => Value::Null,
    }
}

/// Returns the servers over stdio that settings have.
fn servers_in(settings: &Value, source: &str) -> Vec<ConfiguredServer> {
    let members = MEMBERS.iter().filter_map(|member| settings.get(member)?.as_object());
    let server = |(name, server): (&String, &Value)| {
        let args = server.get("args").and_then(Value::as_array).map(Vec::as_slice);
        let args = args.unwrap_or_default().iter().map(|it| it.as_str().map(str::to_owned));
        Some(ConfiguredServer {
            name: name.clone(),
            command: server.get("command")?.as_str()?.to_owned(),
            args: args.collect::<Option<_>>()?,
            source: source.to_owned(),
            env: server.get("env").cloned().unwrap_or_default(),
        })
    };
    members.flatten().filter_map(server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(servers: &[ConfiguredServer]) -> Vec<&str> {
        servers.iter().map(|server| server.name.as_str()).collect()
    }

    #[test]
    fn servers_over_stdio_are_found_in_the_files_of_each_agent() {
        let dir = tempfile::tempdir().unwrap();
        let (project, home) = (dir.path().join("p"), dir.path().join("h"));
        let write = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            project.join(".mcp.json"),
            r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}, "web": {"url": "http://x"}}}"#,
        );
        write(project.join("mcp.json"), r#"{"mcpServers": {"b": {"command": "uvx"}}}"#);
        write(
            home.join(".codex/config.toml"),
            "model = \"m\"\n[mcp_servers.c]\ncommand = \"node\"\nargs = [\"s.js\"]\nenv = {PATH = \"/\"}\n",
        );
        let own = project.display().to_string();
        let claude = serde_json::json!({
            "projects": {own: {"mcpServers": {"d": {"command": "d"}}}, "/other": {"mcpServers": {"no": {"command": "n"}}}},
            "mcpServers": {"e": {"command": "e", "args": [1]}, "f": {"command": "f"}},
        });
        write(home.join(".claude.json"), &claude.to_string());
        write(home.join(".cursor/mcp.json"), "{ // not JSON");
        let current = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
        let settings = AgentSettings::read(&project, &current, &[]);
        let found = &settings.servers;
        assert_eq!(names(found), ["a", "b", "c", "d", "f"]);
        assert_eq!(found[0].args, ["-y", "x"]);
        assert!(!found[0].has_path() && found[2].has_path());
        assert!(found[2].source.ends_with("config.toml"));
        let [unreadable] = settings.unreadable.as_slice() else { panic!("{settings:?}") };
        assert!(unreadable.contains(".cursor/mcp.json: key must be a string"), "{unreadable}");
    }

    #[test]
    fn server_behind_a_bridge_has_the_name_that_the_bridge_gives_it() {
        let named = |command: &str, args: &[&str]| {
            let settings =
                serde_json::json!({ "mcpServers": { "a": { "command": command, "args": args } } });
            let [server] = &servers_in(&settings, "file")[..] else { panic!("{settings}") };
            server.bridge_name().map(str::to_owned)
        };
        for (args, expected) in [
            (&["mcp", "--name", "files", "--", "npx"][..], Some("files")),
            (&["mcp", "--name=files", "--", "npx"], Some("files")),
            (&["mcp", "--fault", "none", "--name", "files"], Some("files")),
            (&["mcp", "--", "npx", "--name", "other"], None),
            (&["mcp", "--name"], None),
            (&["record", "--name", "files"], None),
        ] {
            assert_eq!(named("/usr/bin/loomrec", args).as_deref(), expected, "{args:?}");
            assert_eq!(named("npx", args), None);
        }
    }

    #[test]
    fn servers_are_found_in_the_arguments_of_a_command() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("one.json"), r#"{"mcpServers": {"one": {"command": "1"}}}"#)
            .unwrap();
        let none = BTreeMap::new();
        let found = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            AgentSettings::read(dir.path(), &none, &words).servers
        };
        let text = r#"{"mcpServers": {"two": {"command": "2"}}}"#;
        assert_eq!(
            names(&found(&["claude", "--mcp-config", "one.json", text, "-p", "x"])),
            ["one", "two"]
        );
        assert_eq!(names(&found(&["claude", "--mcp-config=one.json", "one.json"])), ["one"]);
        assert!(found(&["claude", "--mcp-config-x", "one.json"]).is_empty());
    }
}
