//! The clients whose requests have rules in a run.

use std::path::Path;

use crate::args::ServeArgs;
use loomrec_engine::KnownClients;
use loomrec_identity::ClientPreset;

/// Returns the clients that are recognised: those that their requests name, and the program of CMD if
/// it has no `user-agent` of its own.
pub fn known_clients(args: &ServeArgs) -> KnownClients {
    let values = &args.run_values;
    if values.has_no_preset() {
        return KnownClients::None;
    }
    let of_cmd = || {
        let program = Path::new(args.cmd.first()?).file_name()?.to_str()?;
        let preset = crate::preset::PRESETS.iter().find(|it| it.programs.contains(&program))?;
        ClientPreset::find_by_name(preset.name).filter(|preset| preset.user_agents.is_empty())
    };
    let named = values.preset_for_all().and_then(ClientPreset::find_by_name);
    named.or_else(of_cmd).map_or(KnownClients::ByHeader, KnownClients::All)
}
