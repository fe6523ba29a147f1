//! Where a rule for what clients make anew holds.

use std::fmt;

use super::place::PlacePattern;

/// Where a rule holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RulePlace {
    /// At these places of the body.
    Pointer(PlacePattern),
    /// In the texts of this role.
    Texts(TextRole),
}

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextRole {
    /// Instructions of the program, and the descriptions of its tools.
    System,
    /// Messages of the role of the user: what the program wraps around, and what a person wrote.
    User,
    /// Results of tools.
    Tool,
}

/// The roles, by name.
pub(super) const ROLES: [(&str, TextRole); 3] =
    [("system", TextRole::System), ("user", TextRole::User), ("tool", TextRole::Tool)];

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer(place) => place.fmt(f),
            Self::Texts(role) => {
                let named = ROLES.iter().find(|(_, known)| known == role);
                f.write_str(named.map_or("", |(name, _)| name))
            }
        }
    }
}
