//! The user's folders for what loomrec keeps outside of projects: its cache and its state.

use std::path::{Path, PathBuf};

/// One of these folders, by the variables that name it.
#[derive(Clone, Copy, Debug)]
pub struct UserFolder {
    /// The variable that names loomrec's own folder.
    own: &'static str,
    /// The variable that names the folder of all programs.
    shared: &'static str,
    /// The folder of all programs below the home directory, if no variable names one.
    below_home: &'static str,
}

impl UserFolder {
    /// What can be fetched again: `LOOMREC_CACHE`, or `loomrec` in the user's folder for caches.
    pub const CACHE: Self =
        Self { own: "LOOMREC_CACHE", shared: "XDG_CACHE_HOME", below_home: ".cache" };
    /// What must stay: `LOOMREC_STATE`, or `loomrec` in the user's folder for state.
    pub const STATE: Self =
        Self { own: "LOOMREC_STATE", shared: "XDG_STATE_HOME", below_home: ".local/state" };

    /// Returns the path. Without a home directory, it is in the folder for temporary files.
    pub fn path(self) -> PathBuf {
        if let Some(own) = variable_path(self.own) {
            return own;
        }
        self.of_user().unwrap_or_else(|| self.path_below(&std::env::temp_dir()))
    }

    /// Returns the path if it does not depend on the working directory and no other user can have
    /// created it: `None` without a home directory. A relative path counts as none.
    pub fn private_path(self) -> Option<PathBuf> {
        variable_path(self.own).filter(|path| path.is_absolute()).or_else(|| self.of_user())
    }

    /// Returns the folder of the user. A relative path is invalid here, by the XDG specification.
    fn of_user(self) -> Option<PathBuf> {
        let shared = variable_path(self.shared).filter(|path| path.is_absolute());
        let shared = shared.map(|folder| folder.join("loomrec"));
        shared.or_else(|| variable_path("HOME").map(|home| self.path_below(&home)))
    }

    fn path_below(self, home: &Path) -> PathBuf {
        home.join(self.below_home).join("loomrec")
    }
}

fn variable_path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
