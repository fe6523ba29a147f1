//! The run that a bridge belongs to, as its environment names it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use loomrec_cli::bridge_sockets::{
    CHANGES_VARIABLE, EnvironmentChanges, FOLDER_VARIABLE, URL_VARIABLE,
};
use loomrec_cli::exit::CommandFailure;

/// The run of a bridge.
#[derive(Debug)]
pub(super) struct RunPlace {
    /// The URL of its listener.
    pub(super) url: Url,
    /// The folder for sockets.
    pub(super) folder: PathBuf,
    /// What the server's environment has beside that of this process: values, or `None` for variables
    /// that are of the run alone.
    pub(super) server_variables: BTreeMap<String, Option<String>>,
}

impl RunPlace {
    /// Finds the run: in the environment of this process, or else in that of the nearest process that
    /// it descends from. Clients start servers with few variables of their own.
    ///
    /// # Errors
    /// A run without a URL.
    pub(super) fn find() -> Result<Option<Self>, CommandFailure> {
        let own: BTreeMap<String, String> = loomrec_cli::serve_setup::read_environment();
        let is_set = |variables: &BTreeMap<String, String>| {
            variables.get(FOLDER_VARIABLE).is_some_and(|folder| !folder.is_empty())
        };
        let ancestor = || loomrec_os::ancestor_environment(FOLDER_VARIABLE).filter(is_set);
        let of_run = match is_set(&own) {
            true => Some(own.clone()),
            false => ancestor(),
        };
        let Some(of_run) = of_run else { return Ok(None) };
        let folder = of_run.get(FOLDER_VARIABLE).map(PathBuf::from).unwrap_or_default();
        let url = of_run.get(URL_VARIABLE).and_then(|url| Url::parse(url).ok());
        let Some(url) = url.filter(Url::has_host) else {
            return Err(CommandFailure::usage(format!(
                "{FOLDER_VARIABLE} names a run of loomrec, and {URL_VARIABLE} does not: keep both \
                 variables, or unset both"
            )));
        };
        Ok(Some(Self { url, folder, server_variables: server_variables(&own) }))
    }
}

/// Returns what makes an environment the one that the server would have without the run.
fn server_variables(own: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    let changes = own.get(CHANGES_VARIABLE).map(String::as_str).unwrap_or_default();
    let changes = EnvironmentChanges::read(changes);
    let undone = changes.original_values(|name| own.get(name).cloned());
    let undone = undone.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
    let mut variables: BTreeMap<String, Option<String>> = undone.collect();
    for name in [FOLDER_VARIABLE, CHANGES_VARIABLE] {
        variables.insert(name.to_owned(), None);
    }
    variables
}
