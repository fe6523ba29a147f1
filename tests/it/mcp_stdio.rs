//! Tests of servers of tools over stdio, in front of which `loomrec mcp` stands.

mod cancelled;
mod declared;
mod fault;
mod outside;
mod recorded;
mod scene;
mod server_end;
mod settings;
mod transports;
