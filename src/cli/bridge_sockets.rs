//! The folder of a run for the sockets of `loomrec mcp`, and the variables by which the bridges find it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The variable with the URL of a run.
pub const URL_VARIABLE: &str = "LOOMREC_URL";
/// The variable that names the folder.
pub const FOLDER_VARIABLE: &str = "LOOMREC_MCP";
/// The variable with what a run changed in the environment of CMD.
pub const CHANGES_VARIABLE: &str = "LOOMREC_MCP_ENV";

/// The folder of a run for sockets. It is removed with this.
#[derive(Debug)]
pub struct BridgeSockets(TempDir);

/// What a run changed in the environment of CMD: each variable, with its value and the one before.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EnvironmentChanges(Vec<VariableChange>);

/// A variable that a run set.
#[derive(Debug, PartialEq, Eq)]
struct VariableChange {
    name: String,
    value: String,
    before: Option<String>,
}

impl BridgeSockets {
    /// Creates a folder that only the user may enter.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn create() -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("loomrec-mcp-").tempdir()?;
        loomrec_os::create_private_folder(&folder.path().join(PRIVATE))?;
        Ok(Self(folder))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> PathBuf {
        self.0.path().join(PRIVATE)
    }

    /// Creates the folder for launchers of servers, and returns its path.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn create_launcher_folder(&self) -> std::io::Result<PathBuf> {
        let path = self.path().join(LAUNCHERS);
        loomrec_os::create_private_folder(&path)?;
        Ok(path)
    }

    /// Returns the variables for CMD, which gets `set` beside them.
    pub fn command_variables<'v>(
        &self,
        set: impl Iterator<Item = &'v (String, String)>,
        current: &BTreeMap<String, String>,
    ) -> Vec<(String, String)> {
        let change = |(name, value): &(String, String)| VariableChange {
            name: name.clone(),
            value: value.clone(),
            before: current.get(name).cloned(),
        };
        let changes = EnvironmentChanges(set.map(change).collect());
        let folder = self.path().display().to_string();
        vec![(FOLDER_VARIABLE.to_owned(), folder), (CHANGES_VARIABLE.to_owned(), changes.to_text())]
    }
}

/// The folder within the temporary one.
const PRIVATE: &str = "s";
/// The folder for launchers within it.
const LAUNCHERS: &str = "bin";

impl EnvironmentChanges {
    /// Reads the value of the variable. An invalid value means no changes.
    pub fn read(text: &str) -> Self {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let change = |(name, pair): (&String, &Value)| {
            Some(VariableChange {
                name: name.clone(),
                value: pair.get(0)?.as_str()?.to_owned(),
                before: pair.get(1)?.as_str().map(str::to_owned),
            })
        };
        Self(value.as_object().into_iter().flatten().filter_map(change).collect())
    }

    /// Returns what makes an environment what it was: each variable that still has the value of the
    /// run, with the one before.
    pub fn original_values<'c>(
        &'c self,
        current: impl Fn(&str) -> Option<String> + 'c,
    ) -> impl Iterator<Item = (&'c str, Option<&'c str>)> {
        let is_of_run = move |change: &&VariableChange| {
            current(&change.name).as_deref() == Some(change.value.as_str())
        };
        let changes = self.0.iter().filter(is_of_run);
        changes.map(|change| (change.name.as_str(), change.before.as_deref()))
    }

    fn to_text(&self) -> String {
        let pair =
            |change: &VariableChange| (change.name.clone(), json!([change.value, change.before]));
        Value::Object(self.0.iter().map(pair).collect()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_run_are_undone_unless_somebody_changed_them() {
        let current = BTreeMap::from([("A".to_owned(), "mine".to_owned())]);
        let set = ["A", "B", "C"].map(|name| (name.to_owned(), "run".to_owned()));
        let sockets = BridgeSockets::create().unwrap();
        let variables = sockets.command_variables(set.iter(), &current);
        assert_eq!(variables[0].0, FOLDER_VARIABLE);
        let changes = EnvironmentChanges::read(&variables[1].1);
        let now = |name: &str| Some(if name == "C" { "agent" } else { "run" }.to_owned());
        let undone: Vec<_> = changes.original_values(now).collect();
        assert_eq!(undone, [("A", Some("mine")), ("B", None)]);
        assert_eq!(EnvironmentChanges::read("no json"), EnvironmentChanges::default());
    }

    #[test]
    fn folder_is_private_and_goes_with_the_run() {
        let sockets = BridgeSockets::create().unwrap();
        let path = sockets.path();
        let status = loomrec_os::FileStatus::at_path(&path).unwrap().unwrap();
        assert_eq!(status.mode & 0o777, 0o700);
        drop(sockets);
        assert!(!path.exists());
    }
}
