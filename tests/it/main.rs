//! The integration tests: one binary, real sockets, real files, real processes.

#[cfg(test)]
mod access;
#[cfg(test)]
mod agent_requests;
#[cfg(test)]
mod agentloom;
#[cfg(test)]
mod agentloom_hash;
#[cfg(test)]
mod answer_addresses;
#[cfg(test)]
mod answer_headers;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod bombs;
#[cfg(test)]
mod cassette_bodies;
#[cfg(test)]
mod ci;
#[cfg(test)]
mod cli_reference;
#[cfg(test)]
mod client_ids;
#[cfg(test)]
mod compressed;
#[cfg(test)]
mod compressed_requests;
#[cfg(test)]
mod config;
#[cfg(test)]
mod containers;
#[cfg(test)]
mod conversations;
#[cfg(test)]
mod cost_limit;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod cut_imports;
#[cfg(test)]
mod decoded;
#[cfg(test)]
mod default_recording;
#[cfg(test)]
mod delivery;
#[cfg(test)]
mod diff;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod doctor_clients;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod end_order;
#[cfg(test)]
mod exchange_messages;
#[cfg(test)]
mod expiry;
#[cfg(test)]
mod failed_answers;
#[cfg(test)]
mod failing;
#[cfg(test)]
mod fault;
#[cfg(test)]
mod framed;
#[cfg(test)]
mod framing;
#[cfg(test)]
mod fuzz_script;
#[cfg(test)]
mod generated_files;
#[cfg(test)]
mod git;
#[cfg(test)]
mod given_up;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod half_close;
#[cfg(test)]
mod header;
#[cfg(test)]
mod held;
#[cfg(test)]
mod hidden_folder;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod hub;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod import_bodies;
#[cfg(test)]
mod import_formats;
#[cfg(test)]
mod inspect;
#[cfg(test)]
mod inspector;
#[cfg(test)]
mod intercept;
#[cfg(test)]
mod interchange;
#[cfg(test)]
mod interchange_words;
#[cfg(test)]
mod journal;
#[cfg(test)]
mod large_recordings;
#[cfg(test)]
mod leaks;
#[cfg(test)]
mod limit;
#[cfg(test)]
mod listener_tls;
#[cfg(test)]
mod live;
#[cfg(test)]
mod logged;
#[cfg(test)]
mod long_results;
#[cfg(test)]
mod long_runs;
#[cfg(test)]
mod maintenance;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_stdio;
#[cfg(test)]
mod meddle;
#[cfg(test)]
mod merge;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod miss;
#[cfg(test)]
mod modes;
#[cfg(test)]
mod mutation;
#[cfg(test)]
mod named_folders;
#[cfg(test)]
mod noise;
#[cfg(test)]
mod order;
#[cfg(feature = "otel")]
#[cfg(test)]
mod otel;
#[cfg(test)]
mod other_form;
#[cfg(test)]
mod other_headers;
#[cfg(test)]
mod other_media_types;
#[cfg(test)]
mod other_user;
#[cfg(test)]
mod output_files;
#[cfg(test)]
mod path_spelling;
#[cfg(test)]
mod personal_values;
#[cfg(test)]
mod pieces;
#[cfg(test)]
mod placeholder;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod presets;
#[cfg(test)]
mod printed;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod prompt_cache;
#[cfg(test)]
mod prove;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod prune;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod record;
#[cfg(test)]
mod redact;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod repository_states;
#[cfg(test)]
mod rerecord;
#[cfg(test)]
mod review;
#[cfg(test)]
mod route;
#[cfg(test)]
mod rule_ends;
#[cfg(test)]
mod run_progress;
#[cfg(test)]
mod run_values;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod score;
#[cfg(test)]
mod script;
#[cfg(test)]
mod script_rules;
#[cfg(test)]
mod second_spelling;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod selecting_headers;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod setting;
#[cfg(test)]
mod shared_answers;
#[cfg(test)]
mod soak;
#[cfg(test)]
mod socket_upstream;
#[cfg(test)]
mod stand_ins;
#[cfg(test)]
mod stats;
#[cfg(test)]
mod step;
#[cfg(test)]
mod stop;
#[cfg(test)]
mod stranger;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod strict;
#[cfg(test)]
mod summary;
#[cfg(test)]
mod support;
#[cfg(test)]
mod takes;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod tool_results;
#[cfg(test)]
mod torn;
#[cfg(test)]
mod transport;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod unanswered;
#[cfg(test)]
mod unexplained;
#[cfg(test)]
mod unfolded;
#[cfg(test)]
mod unreadable;
#[cfg(test)]
mod upstream_names;
#[cfg(test)]
mod verify;
#[cfg(test)]
mod websocket;
#[cfg(test)]
mod wide_text;
#[cfg(test)]
mod wrap;
