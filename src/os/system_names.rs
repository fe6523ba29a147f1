//! The names of the machine and of its system.

/// The names of the machine and of its system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemNames {
    /// The name of the host.
    pub host: String,
    /// The release of the system's kernel.
    pub release: String,
    /// The version of the build of that release.
    pub version: String,
}

/// Returns the names of the machine and of its system.
pub fn system_names() -> SystemNames {
    let names = rustix::system::uname();
    SystemNames {
        host: names.nodename().to_string_lossy().into_owned(),
        release: names.release().to_string_lossy().into_owned(),
        version: names.version().to_string_lossy().into_owned(),
    }
}
