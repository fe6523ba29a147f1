//! Programs of a run that stand before others on CMD's `PATH`: they put `loomrec mcp` before the
//! MCP servers that an agent starts, so that its settings stay as they are.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::terminal::quote_word;
use super::tool_servers::ConfiguredServer;
use loomrec_engine::route::is_upstream_name;
use loomrec_provider::directory::KnownUpstream;

/// What the launchers of a run need to know.
#[derive(Debug)]
pub struct LauncherTerms<'a> {
    /// The folder for them. Only the user may enter it.
    pub folder: &'a Path,
    /// The program of loomrec.
    pub loomrec: &'a Path,
    /// The variables by which `loomrec mcp` finds the run.
    pub variables: &'a [(String, String)],
}

/// Returns the name of a server as an upstream: its own, or one that is made from it.
pub fn upstream_name(server: &ConfiguredServer) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() || "._-".contains(it) { it } else { '-' };
    let name: String = server.name.chars().map(plain).collect();
    match is_upstream_name(&name) && KnownUpstream::find(&name).is_none() {
        true => name,
        false => format!("mcp-{name}"),
    }
}

/// A server, and what keeps a launcher from coming before it.
#[derive(Debug)]
pub struct LaunchCheck<'a> {
    /// The server.
    pub server: &'a ConfiguredServer,
    /// Why there is no launcher; `None` if one comes before it.
    pub obstacle: Option<&'static str>,
}

/// Checks servers, of which the first has precedence. Repeated ones, and those that `loomrec mcp` is
/// before already, are left out.
pub fn check_servers(servers: &[ConfiguredServer]) -> Vec<LaunchCheck<'_>> {
    let mut checks: Vec<LaunchCheck<'_>> = Vec::new();
    for server in servers.iter().filter(|server| !server.is_bridge()) {
        if checks.iter().any(|check| is_same(check.server, server)) {
            continue;
        }
        let mut obstacle = own_obstacle(server);
        for check in checks.iter_mut().filter(|check| own_obstacle(check.server).is_none()) {
            if obstacle.is_none() && looks_like(check.server, server) {
                // Neither can be told from the other.
                obstacle = Some("another server has the same command");
                check.obstacle = obstacle;
            } else if upstream_name(check.server) == upstream_name(server) {
                obstacle = obstacle.or(Some("another server has its name"));
            }
        }
        checks.push(LaunchCheck { server, obstacle });
    }
    checks
}

/// Whether two files name the same server.
fn is_same(one: &ConfiguredServer, other: &ConfiguredServer) -> bool {
    let terms = |server: &ConfiguredServer| (server.command.clone(), server.args.clone());
    one.name == other.name && one.env == other.env && terms(one) == terms(other)
}

/// Whether a command line may be that of either server.
fn looks_like(one: &ConfiguredServer, other: &ConfiguredServer) -> bool {
    let is_either =
        |(one, other): (&String, &String)| one == other || has_variable(one) || has_variable(other);
    one.command == other.command
        && one.args.len() == other.args.len()
        && one.args.iter().zip(&other.args).all(is_either)
}

/// Whether the agent puts a value in the place of a variable.
fn has_variable(arg: &str) -> bool {
    arg.contains('$')
}

/// Returns what keeps a launcher from coming before a server, whatever others there are.
fn own_obstacle(server: &ConfiguredServer) -> Option<&'static str> {
    let command = server.command.as_str();
    if server.has_path() {
        Some("its env has a PATH")
    } else if command.is_empty() || command.starts_with('.') || command.contains(['/', '\0']) {
        Some("its command is a path")
    } else {
        None
    }
}

/// Returns what makes a server go through loomrec that has an obstacle.
pub fn launch_remedy(server: &ConfiguredServer) -> String {
    let name = upstream_name(server);
    format!("put `loomrec mcp --name {name} --` before its command in {}", server.source)
}

/// Writes a launcher for each program of these servers.
///
/// # Errors
/// An error of the file system.
pub fn write_launchers(terms: &LauncherTerms<'_>, servers: &[&ConfiguredServer]) -> io::Result<()> {
    let mut by_command: BTreeMap<&str, Vec<&ConfiguredServer>> = BTreeMap::new();
    for server in servers {
        by_command.entry(&server.command).or_default().push(server);
    }
    for (command, servers) in by_command {
        let path: PathBuf = terms.folder.join(command);
        std::fs::write(&path, launcher_script(terms, command, &servers))?;
        loomrec_os::set_mode(&std::fs::File::open(&path)?, 0o700)?;
        if !loomrec_os::may_execute(&path) {
            let why = format!("programs cannot be run in {}; set TMPDIR", terms.folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
    }
    Ok(())
}

/// Returns the script of a launcher.
fn launcher_script(
    terms: &LauncherTerms<'_>,
    command: &str,
    servers: &[&ConfiguredServer],
) -> String {
    let own = quote_word(&terms.folder.display().to_string());
    let loomrec = quote_word(&terms.loomrec.display().to_string());
    let program = quote_word(command);
    let mut text = format!(
        "#!/bin/sh\n\
         # loomrec wrote this for one run: `loomrec mcp` comes before the MCP servers of agents.\n\
         own={own}\n\
         all=$PATH\n\
         case :$PATH: in\n\
         *\":$own:\"*) rest=:$PATH:; rest=${{rest%%\":$own:\"*}}:${{rest#*\":$own:\"}} ;;\n\
         *) echo \"loomrec: $own is not in PATH\" >&2; exit 127 ;;\n\
         esac\n\
         rest=${{rest#:}}\n\
         PATH=${{rest%:}}\n"
    );
    for server in servers {
        let _ = write!(text, "if [ $# -eq {} ]", server.args.len());
        for (number, arg) in (1..).zip(&server.args) {
            if !has_variable(arg) {
                let _ = write!(text, " && [ \"${{{number}}}\" = {} ]", quote_word(arg));
            }
        }
        text.push_str("; then\n");
        for (name, value) in terms.variables {
            let value = quote_word(value);
            let _ = writeln!(text, "  [ -n \"${{{name}:-}}\" ] || export {name}={value}");
        }
        let name = quote_word(&upstream_name(server));
        let _ = writeln!(text, "  exec {loomrec} mcp --name {name} -- {program} \"$@\"\nfi");
    }
    // Another program of this name may start agents, so it gets the whole PATH.
    let _ = write!(
        text,
        "found=$(command -v {program}) || {{ echo {program}: not found >&2; exit 127; }}\n\
         PATH=$all\n\
         exec \"$found\" \"$@\"\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    use serde_json::{Value, json};

    use super::*;

    fn server(name: &str, command: &str, args: &[&str]) -> ConfiguredServer {
        ConfiguredServer {
            name: name.to_owned(),
            command: command.to_owned(),
            args: args.iter().map(|&it| it.to_owned()).collect(),
            source: ".mcp.json".to_owned(),
            env: Value::Null,
        }
    }

    /// Writes a program that prints its name, its arguments and what it finds.
    fn write_program(path: &Path, name: &str) {
        let text = format!("#!/bin/sh\necho {name} \"$@\"\necho \"$PATH|$LOOMREC_MCP\"\n");
        std::fs::write(path, text).unwrap();
        loomrec_os::set_mode(&std::fs::File::open(path).unwrap(), 0o700).unwrap();
    }

    fn lines(output: &Output) -> Vec<String> {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    #[test]
    fn launcher_puts_loomrec_before_the_servers_of_the_settings_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, other) = (dir.path().join("it's"), dir.path().join("bin"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::create_dir(&other).unwrap();
        let loomrec = other.join("loomrec");
        write_program(&loomrec, "loomrec");
        write_program(&other.join("npx"), "npx");
        let variables = [("LOOMREC_MCP".to_owned(), "the folder's".to_owned())];
        let terms = LauncherTerms { folder: &folder, loomrec: &loomrec, variables: &variables };
        let servers = [
            server("files", "npx", &["-y", "it's a (dir)", "${HOME}"]),
            server("openai", "npx", &[]),
            server("gone", "gone", &["x"]),
        ];
        write_launchers(&terms, &servers.iter().collect::<Vec<_>>()).unwrap();
        let (folder, other) = (folder.display(), other.display());
        let run = |program: &str, args: &[&str], path: &str| {
            let mut command = Command::new(format!("{folder}/{program}"));
            command.args(args).env("PATH", path).env_remove("LOOMREC_MCP").output().unwrap()
        };
        for path in [format!("{folder}:{other}:/bin"), format!("{other}:{folder}:/bin")] {
            let found = lines(&run("npx", &["-y", "it's a (dir)", "/h"], &path));
            assert_eq!(
                found,
                [
                    "loomrec mcp --name files -- npx -y it's a (dir) /h",
                    &format!("{other}:/bin|the folder's")
                ]
            );
            let found = lines(&run("npx", &[], &path));
            assert_eq!(found[0], "loomrec mcp --name mcp-openai -- npx");
            let found = lines(&run("npx", &["-y", "claude"], &path));
            assert_eq!(found, ["npx -y claude", &format!("{path}|")]);
        }
        let ended = run("gone", &["y"], &format!("{folder}:{other}:/bin"));
        assert_eq!(ended.status.code(), Some(127), "{ended:?}");
        let ended = run("npx", &["y"], "/bin");
        assert_eq!(ended.status.code(), Some(127), "{ended:?}");
    }

    /// The obstacles of servers, by name.
    fn obstacles(servers: &[ConfiguredServer]) -> Vec<(&str, &'static str)> {
        let checks = check_servers(servers).into_iter();
        checks.map(|check| (check.server.name.as_str(), check.obstacle.unwrap_or("none"))).collect()
    }

    #[test]
    fn launcher_comes_before_programs_that_the_path_finds() {
        assert_eq!(obstacles(&[server("my files", "npx", &[])]), [("my files", "none")]);
        for other in [
            server("a", "/usr/bin/node", &[]),
            server("a", "", &[]),
            server("a", "..", &[]),
            ConfiguredServer { env: json!({ "PATH": "/" }), ..server("a", "npx", &[]) },
        ] {
            assert_ne!(obstacles(&[other]), [("a", "none")]);
        }
        assert!(obstacles(&[server("a", "/bin/loomrec", &["mcp", "--name", "a"])]).is_empty());
        assert_eq!(upstream_name(&server("my files", "npx", &[])), "my-files");
    }

    #[test]
    fn servers_that_cannot_be_told_by_their_command_have_no_launcher() {
        let same = "another server has the same command";
        let with_env = |server: ConfiguredServer, token: &str| ConfiguredServer {
            env: json!({ "T": token }),
            ..server
        };
        let work = with_env(server("work", "npx", &["github"]), "1");
        let home = with_env(server("home", "npx", &["github"]), "2");
        let third = server("third", "npx", &["memory"]);
        let all = [work.clone(), home, third.clone()];
        assert_eq!(obstacles(&all), [("work", same), ("home", same), ("third", "none")]);
        let other_env = with_env(server("work", "npx", &["github"]), "2");
        assert_eq!(obstacles(&[work.clone(), other_env]), [("work", same), ("work", same)]);
        let variable = server("any", "npx", &["${SERVER}"]);
        assert_eq!(obstacles(&[third.clone(), variable]), [("third", same), ("any", same)]);
        // In two files, and in two folders.
        let elsewhere = ConfiguredServer { source: "~/.claude.json".to_owned(), ..work.clone() };
        assert_eq!(obstacles(&[work, elsewhere]), [("work", "none")]);
        let other = server("third", "npx", &["memory", "~"]);
        let named = "another server has its name";
        assert_eq!(obstacles(&[third, other]), [("third", "none"), ("third", named)]);
    }
}
