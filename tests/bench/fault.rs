//! The errors that end the benchmark.

/// An error that ends the benchmark.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// An unknown argument.
    #[error("understand {words:?}: see the head of scripts/bench for the options")]
    Usage {
        /// All arguments.
        words: String,
    },
    /// An error of the system.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// A process that did not serve, or did not end with success.
    #[error("run {name}: {detail}")]
    Child {
        /// Its name in the table.
        name: &'static str,
        /// What happened.
        detail: String,
    },
    /// An answer that is not the expected one.
    #[error("get the right answer from {system}: {detail}")]
    Answer {
        /// The name of the system in the table.
        system: &'static str,
        /// What was wrong with it.
        detail: String,
    },
    /// A signal arrived.
    #[error("finish: it was told to stop")]
    Stopped,
    /// A client that could not be built.
    #[error("build the pass-through's client: {0}")]
    Client(#[from] reqwest::Error),
}
