//! The variables of programs that are started beside a server: `--print-env`.

use super::RunContext;
use crate::args::ServeArgs;
use crate::interception;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::print;
use loomrec_cli::serve_setup::{self, UrlScheme};
use loomrec_cli::wrapped_command::StandInKeys;

impl RunContext {
    /// Prints the variables as shell commands.
    ///
    /// # Errors
    /// A stdout that cannot be written.
    pub fn print_environment(
        &self,
        args: &ServeArgs,
        stand_in_keys: &StandInKeys,
    ) -> Result<u8, CommandFailure> {
        let origin = match &self.public_url {
            Some(public) => public.as_str().to_owned(),
            None => serve_setup::local_url(self.address, self.listener_scheme()),
        };
        let note = serve_setup::local_note(self.address, self.public_url.as_ref());
        note.iter().for_each(|note| self.output.info(note));
        let mut environment = self.command_environment(args, &origin, stand_in_keys);
        let proxy = serve_setup::local_url(self.address, UrlScheme::Http);
        let place = (proxy.as_str(), self.address.port());
        let added = interception::printed_variables(args, place, &self.current)?;
        environment.variables.extend(added);
        print(&environment.to_shell_commands())
    }
}
