//! The guard of a run and its interception: how they begin.

use std::net::SocketAddr;

use super::RunContext;
use crate::args::ServeArgs;
use crate::guard::{self, RunGuard};
use crate::interception::RunInterception;
use loomrec_cli::exit::CommandFailure;
use loomrec_proxy::guard::EscapePolicy;
use loomrec_proxy::server::ListenerEntrance;

impl RunContext {
    /// Starts the guard and the interception, if the run has them, beside the listener that is bound
    /// to this address.
    ///
    /// # Errors
    /// A port that cannot be opened, a file that cannot be written, or an invalid `--pass`.
    pub(super) async fn start_guard(
        &self,
        args: &ServeArgs,
        policy: Option<EscapePolicy>,
        bound: SocketAddr,
    ) -> Result<(RunGuard, Option<RunInterception>), CommandFailure> {
        let routes = &self.upstreams.routes;
        let interception = RunInterception::start(
            args,
            (bound.port(), guard::has_clients(args, bound.ip())),
            routes,
            (&self.current, self.authority.clone()),
            &self.output,
        )?;
        let terms = interception.as_ref().map(RunInterception::guard_policy);
        let guard = RunGuard::start(policy, args, bound, routes, terms).await?;
        Ok((guard, interception))
    }

    /// Returns how connections to the listener begin.
    pub(super) fn listener_entrance(
        &self,
        guard: &RunGuard,
        interception: Option<&RunInterception>,
    ) -> ListenerEntrance {
        ListenerEntrance {
            tls: self.tls.clone(),
            interception: interception.and_then(|it| it.of_listener(guard)),
        }
    }
}
