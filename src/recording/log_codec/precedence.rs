//! The effect of a logged take on earlier takes, as it is written in the log.

pub(super) const REPLACES: u8 = 1;
pub(super) const FAILED: u8 = 4;

/// The bytes of a position.
pub(super) const POSITION: usize = 8;

/// The effect of a take on the takes that earlier runs left under its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TakePrecedence {
    /// No effect: they stay.
    #[default]
    Further,
    /// It takes the place of one of them, and comes before those that stay.
    Replacing(RunPosition),
}

/// The place of a take among those that its run records of the same name and scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunPosition {
    /// How many calls failed before the first one that succeeded.
    pub failures: u32,
    /// How many takes there are before this one, counted from the first call that succeeded.
    pub takes: u32,
    /// Whether its own call failed.
    pub failed: bool,
}

impl TakePrecedence {
    /// Whether no call of its run has succeeded so far.
    pub fn is_failed(self) -> bool {
        matches!(self, Self::Replacing(RunPosition { failed: true, takes: 0, .. }))
    }

    pub(super) fn to_flags(self) -> u8 {
        match self {
            Self::Further => 0,
            Self::Replacing(position) if position.failed => REPLACES | FAILED,
            Self::Replacing(_) => REPLACES,
        }
    }

    pub(super) fn from_flags(flags: u8, failures: u32, takes: u32) -> Self {
        match flags & REPLACES {
            0 => Self::Further,
            _ => Self::Replacing(RunPosition { failures, takes, failed: flags & FAILED != 0 }),
        }
    }

    pub(super) fn position_bytes(self) -> [u8; POSITION] {
        let RunPosition { failures, takes, .. } = match self {
            Self::Further => RunPosition::default(),
            Self::Replacing(position) => position,
        };
        let mut bytes = [0; POSITION];
        bytes[..4].copy_from_slice(&failures.to_le_bytes());
        bytes[4..].copy_from_slice(&takes.to_le_bytes());
        bytes
    }
}
