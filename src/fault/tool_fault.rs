//! How calls of tools and their results are broken.

use serde_json::{Map, Value};

/// How a tool call is changed.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolCallChange {
    /// It is broken.
    Broken(ToolFault),
    /// It stays well formed and asks for something else, so that the tool runs and fails.
    Replaced(ToolReplacement),
}

/// How a tool call is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolFault {
    /// Its arguments are cut short.
    #[default]
    InvalidJson,
    /// Its first argument is missing.
    MissingArgument,
    /// It names another tool.
    UnknownTool,
    /// Its first argument has another type.
    WrongType,
}

/// What a tool call asks for in place of what it asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolReplacement {
    /// The tool; if `None`, the answer's own.
    pub name: Option<String>,
    /// The arguments; if `None`, the answer's own.
    pub arguments: Option<Map<String, Value>>,
}

/// How the result of a tool is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolResultMode {
    /// It says that the tool failed.
    #[default]
    ToolError,
    /// It has no content.
    MalformedResult,
    /// A member of its structured content has another type.
    SchemaViolation,
    /// A block of its content has another type.
    WrongContent,
    /// The server ends before it sends a result.
    ServerDies,
}
