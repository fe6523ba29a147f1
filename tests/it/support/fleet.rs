//! Recorders on one file, killed and started again while clients call.

use rustix::process::{Pid, Signal, kill_process};

use super::swarm::Swarm;
use super::{Scene, Server, Upstream};

/// Several recorders on a scene's recording.
pub(crate) struct Fleet<'a> {
    scene: &'a Scene,
    upstream: &'a Upstream,
    flags: Vec<&'a str>,
    /// By seat.
    pub(crate) servers: Vec<Server>,
    /// Grows when all of them have died: the next recorder begins a new run.
    run: usize,
}

impl<'a> Fleet<'a> {
    /// Starts as many recorders and tells the swarm where they are.
    #[track_caller]
    pub(crate) fn start(
        scene: &'a Scene,
        upstream: &'a Upstream,
        flags: &[&'a str],
        size: usize,
        swarm: &Swarm,
    ) -> Self {
        let mut fleet =
            Self { scene, upstream, flags: flags.to_vec(), servers: Vec::new(), run: 0 };
        fleet.fill(size, swarm);
        fleet
    }

    #[track_caller]
    fn fill(&mut self, size: usize, swarm: &Swarm) {
        while self.servers.len() < size {
            let server = self.scene.record(self.upstream, &self.flags);
            swarm.seat(self.servers.len(), server.address, self.run);
            self.servers.push(server);
        }
    }

    /// Kills one and starts another in its seat; the run goes on with the others.
    #[track_caller]
    pub(crate) fn replace(&mut self, seat: usize, swarm: &Swarm) {
        kill(&self.servers[seat]);
        let server = self.scene.record(self.upstream, &self.flags);
        swarm.seat(seat, server.address, self.run);
        let old = std::mem::replace(&mut self.servers[seat], server);
        old.process.wait().expect(-9);
    }

    /// Kills all of them at once, and waits until they are dead.
    #[track_caller]
    pub(crate) fn kill_all(&mut self) {
        self.servers.iter().for_each(kill);
        self.servers.drain(..).for_each(|server| drop(server.process.wait().expect(-9)));
        self.run += 1;
    }

    /// Starts as many again, in a new run.
    #[track_caller]
    pub(crate) fn restart(&mut self, size: usize, swarm: &Swarm) {
        self.fill(size, swarm);
    }

    /// Ends them as Ctrl-C would; each must find everything kept.
    #[track_caller]
    pub(crate) fn stop(self) {
        self.servers.iter().for_each(|server| server.process.signal("INT"));
        self.servers.into_iter().for_each(|server| drop(server.process.wait().expect(0)));
    }
}

/// Kills a recorder this instant.
pub(crate) fn kill(server: &Server) {
    let pid = Pid::from_raw(server.process.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}
