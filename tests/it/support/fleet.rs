//! Recorders of one recording, killed and restarted while clients call.

use rustix::process::{Pid, Signal, kill_process};

use super::swarm::Swarm;
use super::{Scene, Server, Upstream};

/// Several recorders on a scene's recording.
pub(crate) struct Fleet<'a> {
    scene: &'a Scene,
    upstream: &'a Upstream,
    flags: Vec<&'a str>,
    /// The recorders, by seat.
    pub(crate) servers: Vec<Server>,
    /// The number of the run. It grows when all recorders have died, because the next one begins a
    /// new run.
    run: usize,
}

impl<'a> Fleet<'a> {
    /// Starts this many recorders and gives the swarm their addresses.
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

    /// Starts this many again, in a new run.
    #[track_caller]
    pub(crate) fn restart(&mut self, size: usize, swarm: &Swarm) {
        self.fill(size, swarm);
    }

    /// Ends them as Ctrl-C would; each must report that everything was kept.
    #[track_caller]
    pub(crate) fn stop(self) {
        self.servers.iter().for_each(|server| server.process.signal("INT"));
        self.servers.into_iter().for_each(|server| drop(server.process.wait().expect(0)));
    }
}

/// Kills a recorder at once.
pub(crate) fn kill(server: &Server) {
    let pid = Pid::from_raw(server.process.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}
