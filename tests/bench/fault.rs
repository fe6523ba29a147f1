//! Why the benchmark could not go on.

/// Why the benchmark could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A word that is none of ours.
    #[error("understand {words:?}: see the head of scripts/bench for the options")]
    Usage {
        /// All words as they came.
        words: String,
    },
    /// The system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The system's word.
        #[source]
        source: std::io::Error,
    },
    /// A process that was to serve did not, or did not end well.
    #[error("run {name}: {detail}")]
    Child {
        /// What it is called in the table.
        name: &'static str,
        /// What happened.
        detail: String,
    },
    /// An answer that is not the one that was asked for.
    #[error("get the right answer from {system}: {detail}")]
    Answer {
        /// What it is called in the table.
        system: &'static str,
        /// What was wrong with it.
        detail: String,
    },
    /// A signal came.
    #[error("finish: it was told to stop")]
    Stopped,
    /// A client that could not be built.
    #[error("build the pass-through's client: {0}")]
    Client(#[from] reqwest::Error),
}
